"""`lct orca rate`: scores per judge and condition, resuming, baselines, published judges, bad input."""

import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from correctness_data import rated_answers
from json_lines import read_rows, write_rows
from judge_server import Answer, judge_server
from orca_commands import good, orca
from typer.testing import CliRunner

from long_context_tasks.cli import app


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["judge", "compare", *map(str, arguments)])


def judge_file(path: Path, url: str, more: str = "") -> Path:
    path.write_text(f"model: tiny\nname: {path.stem}\nbase_url: {url}\nconcurrency: 1\n{more}")
    return path


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    made = rated_answers(3)
    for row in made:
        del row["ratings"]
    return write_rows(tmp_path / "answers.jsonl", [{**made[0], "rationale": "As she says."}, *made[1:]])


def asked(server: Any) -> list[str]:
    """Prompts that the server was sent, without the trial call before."""
    texts = [body["messages"][0]["content"] for body in server.bodies]
    return [text for text in texts if "andidate" in text]


def test_judges_conditions_and_baselines_in_one_file(tmp_path: Path, answers: Path) -> None:
    pytest.importorskip("rouge_score", reason="rouge-score (extra agreement) is not installed")

    def behave(body: dict[str, Any], _: int) -> Answer:
        return Answer(
            f"Explanation: x\n\nScore: {2 if '**Question:**' in body['messages'][0]['content'] else 1}"
        )

    with judge_server(behave) as server:
        files = [judge_file(tmp_path / f"{name}.yaml", server.url) for name in ("one", "two")]
        arguments = (
            *(
                "rate",
                answers,
                "--judge",
                files[0],
                "--judge",
                files[1],
                "--baselines",
                "-o",
                tmp_path / "r.jsonl",
            ),
            *("--condition", "without_question, with_context"),
        )
        done = orca(*arguments)
        assert done.exit_code == 0, done.output
        first = (tmp_path / "r.jsonl").read_bytes()
        calls = len(server.bodies)
        assert len(asked(server)) == 24
        again = orca(*arguments)
        assert again.exit_code == 0 and len(server.bodies) == calls and "0 new replies" in again.output
    # Nothing is asked, so the judge need not even be there.
    assert orca(*arguments).exit_code == 0
    assert (tmp_path / "r.jsonl").read_bytes() == first
    found = read_rows(tmp_path / "r.jsonl")
    assert list(found[0]) == [
        *("id", "cluster", "rouge_l", "exact_match"),
        *("one:with_context", "one:without_question", "two:with_context", "two:without_question", "scales"),
    ]
    assert [row["one:with_context"] for row in found] == [2] * 6
    assert [row["two:without_question"] for row in found] == [1] * 6
    assert found[0]["id"] == "q0/owl" and found[0]["cluster"] == "q0"
    assert found[0]["scales"]["rouge_l"] == [0, 1] and found[0]["scales"]["one:with_context"] == [1, 5]
    assert (
        "5 of 6 answers have no rationale" in done.output
        and "6 of 6 answers have no transcription" in done.output
    )
    compared = compare(tmp_path / "r.jsonl", "--raters", "one:with_context,rouge_l")
    assert compared.exit_code == 0 and "one:with_context" in compared.output


def test_all_is_every_condition_and_the_wording_is_named(tmp_path: Path, answers: Path) -> None:
    with judge_server(lambda *_: Answer("Score: 3")) as server:
        file = judge_file(tmp_path / "j.yaml", server.url)
        done = orca(
            *("rate", answers, "--judge", file, "--condition", "all", "--wording", "modified"),
            *("-o", tmp_path / "r.jsonl", "--seeds", "1,2"),
        )
        assert done.exit_code == 0, done.output
        assert all("expert LLM judge" in text for text in asked(server))
    [first, *_] = read_rows(tmp_path / "r.jsonl")
    names = [
        f"j:{name}:modified"
        for name in ("with_context", "without_transcription", "without_context", "without_question")
    ]
    assert [name for name in first if name.startswith("j:")] == names
    assert first["by_seed"] == {name: [3, 3] for name in names}


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path, answers: Path) -> None:
    broken = threading.Event()

    def behave(body: dict[str, Any], _: int) -> Answer:
        text = body["messages"][0]["content"]
        if "item-2" in text and not broken.is_set():
            return Answer(status=500)
        return Answer("Score: 5")

    with judge_server(behave) as server:
        file = judge_file(tmp_path / "j.yaml", server.url, "retries: 0\n")
        arguments = ("rate", answers, "--judge", file, "-o", tmp_path / "r.jsonl")
        done = orca(*arguments)
        assert done.exit_code == 1 and "2 endpoint_failed" in done.output
        assert [row["j:without_transcription"] for row in read_rows(tmp_path / "r.jsonl")] == [
            5,
            5,
            5,
            5,
            None,
            None,
        ]
        broken.set()
        before = len(asked(server))
        assert orca(*arguments).exit_code == 0
        assert len(asked(server)) == before + 2
    assert [row["j:without_transcription"] for row in read_rows(tmp_path / "r.jsonl")] == [5] * 6


def test_baselines_need_no_judge(tmp_path: Path) -> None:
    pytest.importorskip("rouge_score", reason="rouge-score (extra agreement) is not installed")
    made = [
        {"id": 1, "question": "Q", "reference": "The owl / a fox", "candidate": "Fox."},
        {"id": 2, "question": "Q", "reference": "owl", "candidate": "the fox"},
    ]
    done = orca("rate", write_rows(tmp_path / "a.jsonl", made), "--baselines", "-o", tmp_path / "r.jsonl")
    assert done.exit_code == 0, done.output
    found = read_rows(tmp_path / "r.jsonl")
    assert [row["exact_match"] for row in found] == [1, 0]
    assert [row["rouge_l"] for row in found] == [pytest.approx(2 / 3), 0]
    assert found[0]["cluster"] == found[1]["cluster"] != "Q"
    made[0]["reference"] = "梟"
    done = orca("rate", write_rows(tmp_path / "a.jsonl", made), "--baselines", "-o", tmp_path / "r.jsonl")
    assert done.exit_code == 1 and read_rows(tmp_path / "r.jsonl")[0]["rouge_l"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("{answers}", "--condition", "some"),
            "--condition some: there are with_context, without_transcription",
        ),
        (("{answers}", "--condition", " ,"), "--condition is empty"),
        (("{answers}",), "no judge is named"),
        (("--baselines",), "no answers"),
        (("{answers}", "--published", "elitr_bench"), "--published goes alone"),
        (("--published", "ethic"), "no benchmark of this name publishes ratings"),
        (("{twice}", "--baselines"), "twice.jsonl, row 7: the id 'q0/owl' also belongs to"),
        (("{answers}", "--judge", "{orca}"), "a judge of kind orca does not take prompts"),
        (("{answers}", "--judge", "{judge}", "--judge", "{judge}"), "two judges are called j"),
        (("missing.jsonl", "--baselines"), "missing.jsonl: cannot be read"),
        (("{answers}", "--baselines", "-o", "{here}/no/r.jsonl"), "in a folder that exists"),
    ],
)
def test_bad_input_costs_nothing(
    tmp_path: Path, answers: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "orca.yaml").write_text(f"model: {tmp_path}\nkind: orca\nrevision: x\n")
    twice = write_rows(tmp_path / "twice.jsonl", [*read_rows(answers), read_rows(answers)[0]])
    judge = judge_file(tmp_path / "j.yaml", "http://127.0.0.1:9/v1")
    places = {
        "answers": answers,
        "twice": twice,
        "orca": tmp_path / "orca.yaml",
        "judge": judge,
        "here": tmp_path,
    }
    words = [word.format(**places) for word in arguments]
    done = orca("rate", *([] if "-o" in words else ["-o", tmp_path / "r.jsonl"]), *words)
    assert done.exit_code == 2 and message in done.output, done.output
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.vectors
def test_the_published_judges_of_elitr_bench(shared: Path, tmp_path: Path) -> None:
    data = shared / "data"
    done = orca("rate", "--published", "elitr_bench", "-o", tmp_path / "p.jsonl", "--data-dir", data)
    assert done.exit_code == 0, done.output
    more = ("--raters", "gold", "--data-dir", data, "-o", tmp_path / "gold.jsonl")
    good("data", "--published", "elitr_bench", *more)
    found = read_rows(tmp_path / "p.jsonl")
    assert [row["id"] for row in found] == [row["id"] for row in read_rows(tmp_path / "gold.jsonl")]
    assert len(found) == 390 and list(found[0]) == ["id", "cluster", "gpt-4", "prometheus", "scales"]
    assert {row["prometheus"] for row in found} == {2, 4, 6, 8, 10}
    assert {row["gpt-4"] for row in found} == set(range(1, 11))
    assert found[0]["scales"] == {"gpt-4": [1, 10], "prometheus": [2, 10]}
    assert len({row["cluster"] for row in found}) == 130
    compared = compare(tmp_path / "p.jsonl")
    # Pearson's 0.82 of gold-human and GPT-4 is another pair; these two judges alone agree less.
    assert compared.exit_code == 0 and "prometheus" in compared.output
