"""Information coverage: the prompt, the parser, sampling, what is measured where the truth is known, and evaluators that fail."""

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from both_hosts import write_published_files
from ethic_oracle import answer, oracle, write_documents
from json_lines import write_rows
from judge_server import Answer, Behave, judge_server
from typer.testing import CliRunner, Result
from written_book import sorting_cases

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.cli import app
from long_context_tasks.cli.coverage import item_sources
from long_context_tasks.coverage import measure as coverage
from long_context_tasks.coverage.items import ItemSource
from long_context_tasks.coverage.measure import (
    CHUNK_TOKENS,
    evaluator_prompt,
    sample,
    split_context,
)
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn
from long_context_tasks.tokens import get_tokenizer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]

CUT = b'{"choices": [{"message": {"content": "The passage tells"}, "finish_reason": "length"}]}'
PLAIN = "plain words go on. " * 70
"""300 tokens or more, so that each paragraph is a chunk."""


def paragraph(number: int, place: int, words: str = "") -> str:
    return f"Paragraph {place}. Case {number}. {words}{PLAIN}"


def foreign(
    rng: random.Random, n: int, share: float, task: str = "toy"
) -> tuple[list[dict[str, Any]], float]:
    """Cases whose needed chunks hold the last word of the question; and the true coverage."""
    rows, truth = [], []
    for number in range(n):
        needed = [rng.random() < share for _ in range(20)]
        texts = [
            paragraph(number, place, "the mark xyzzy stands here. " if hit else "")
            for place, hit in enumerate(needed)
        ]
        asked = {"context": "\n\n".join(texts), "question": "Where stands the mark xyzzy?", "answer": "here"}
        rows.append({"id": number, "task": task, "domain": "toys", **asked})
        truth.append(sum(needed) / len(needed))
    return rows, sum(truth) / n


def right(body: dict[str, Any], _: int) -> Answer:
    return Answer(answer(body["messages"][-1]["content"]))


def measured(
    folder: Path, rows: list[dict[str, Any]], behave: Behave = right, *words: str, settings: str = "asks: 2"
) -> tuple[Result, dict[str, Any], int]:
    """The result of the command, the figures that it wrote, and the calls that it made."""
    write_rows(folder / "toy.jsonl", rows)
    out = folder / "c.json"
    with judge_server(behave) as server:
        (folder / "j.yaml").write_text(f"model: j\nbase_url: {server.url}\nretries: 0\n{settings}\n")
        command = ["coverage", f"{folder / 'toy.jsonl'}", "--judge", f"{folder / 'j.yaml'}", "-o", f"{out}"]
        result = CliRunner().invoke(app, [*command, *words])
        calls = len(server.bodies)
    return result, json.loads(out.read_text()) if out.is_file() else {}, calls


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_measured_coverage_is_the_true_one(tmp_path: Path, share: float) -> None:
    rows, truth = foreign(random.Random(share), 30, share)
    result, found, calls = measured(tmp_path, rows)
    assert result.exit_code == 0, result.output
    # One call a chunk, and one that checks the judge.
    assert calls == 30 * 20 + 1
    [group] = found["groups"]
    assert abs(group["coverage"] - truth) < 0.02
    assert group["low"] <= group["coverage"] <= group["high"] and group["high"] - group["low"] < 0.2
    assert (group["task"], group["domain"], group["cases"], group["chunks"]) == ("toy", "toys", 30, 600)
    assert f"{100 * group['coverage']:.1f}" in result.output
    assert all(
        len(case["chunks"]) == 20 and set(case["chunks"]) <= {"0", "1"} for case in group["every_case"]
    )
    assert found["evaluator"]["model"] == "j"
    # What was answered is not asked again; only the judge is checked.
    assert measured(tmp_path, rows)[2] == 1


def test_fifty_cases_of_each_task_are_sampled_by_a_seed(tmp_path: Path) -> None:
    def places(n: int | None, seed: int = 0, task: str = "t", size: int = 200) -> list[int]:
        return sample(ItemSource(task, "d", range(size), lambda *_: pytest.fail("read")), n, seed)

    first = places(50)
    assert len(first) == len(set(first)) == 50 and first == sorted(first) == places(50)
    assert first != places(50, seed=1) and first != places(50, task="u")
    assert places(50, size=20) == list(range(20)) == places(None, size=20)
    rows = [row for task in ("one", "two") for row in foreign(random.Random(1), 3, 0.5, task)[0]]
    result, found, _ = measured(tmp_path, rows, right, "--n", "2")
    assert result.exit_code == 0 and "2 of 3" in result.output
    assert [group["sampled"] for group in found["groups"]] == [2, 2]


def test_lengths_are_rows_of_their_own(tmp_path: Path) -> None:
    rows = [
        row | {"id": f"{length} {row['id']}", "length": length}
        for length, share in (("2k", 0.2), (8000, 0.8))
        for row in foreign(random.Random(3), 4, share)[0]
    ]
    result, found, _ = measured(tmp_path, rows, right, "--n", "3")
    short, long = found["groups"]
    assert (short["length"], long["length"]) == ("2k", "8k") and short["sampled"] == long["sampled"] == 3
    assert short["coverage"] < 0.4 < 0.6 < long["coverage"]
    assert re.search(r"toys +2k +3 of 4", result.output) and re.search(r"toys +8k +3 of 4", result.output)


def test_the_length_of_a_task_by_name() -> None:
    def lengths(name: str, length: str = "") -> list[tuple[str, str]]:
        sources = item_sources(name, resolve_options({"lct_n": 2, "lct_length": length}))
        return [(source.domain, source.length) for source in sources]

    assert lengths("ada_leval_bestanswer_2k_synthetic") == [("", "2k")]
    assert lengths("ada_leval_bestanswer_any_synthetic", "4k") == [("", "4k")]


def test_the_prompt_is_that_of_the_paper_to_the_byte() -> None:
    digest = hashlib.sha256(evaluator_prompt("<context>", "<query>").encode()).hexdigest()
    assert digest == "430629e882265fb9f0749af81af4228ce20a21935cafb117d4bde9ff43fc84e4"


def test_chunks_have_at_most_512_tokens() -> None:
    rng = random.Random(5)
    text = "\n\n".join("word " * rng.randint(1, 900) for _ in range(30))
    tokenizer = get_tokenizer("cl100k")
    chunks = split_context(text, tokenizer)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(tokenizer.count(chunk) <= CHUNK_TOKENS == 512 for chunk in chunks)


def test_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = foreign(random.Random(7), 5, 0.5)
    found = []
    for most in (10, 10**9):
        monkeypatch.setattr(coverage, "_MOST_CHARACTERS", most)
        result, figures, _ = measured(tmp_path, rows)
        assert result.exit_code == 0
        found.append(figures["groups"])
    assert found[0] == found[1]


def test_cases_of_all_benchmarks_are_taken_apart(tmp_path: Path) -> None:
    documents = write_documents(tmp_path / "documents", paragraphs=100)
    with oracle(tmp_path) as (_, annotator):
        settings = EthicSettings(lengths=(4000,), annotator=annotator, min_document=1000, domain="books")
        for family in ("ethic_recall", "ethic_organize", "ethic_summarize", "ethic_recall_counterparts"):
            ethic_build.build(family, documents, settings, tmp_path / "cases" / family)
    sorting_cases(tmp_path / "cases", 2000)
    command = ["build", "ada_leval_bestanswer_synthetic", "--length", "2k", "--n", "2"]
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "cases")]).exit_code == 0
    sources = {source.task: source for source in item_sources(str(tmp_path / "cases"), resolve_options({}))}
    assert len(sources) == 7
    for source in sources.values():
        item = source.read(0)
        assert len(item.context) > 1000 and item.context[:200] not in item.query and item.query
    assert sources["ethic_recall_books"].read(0).query.startswith("### Instruction:\nList every unique")
    assert "### Options:\n[1] It says" in sources["ethic_organize_books"].read(0).query
    assert sources["ethic_summarize_books"].read(0).context.startswith("<Section 1>\n")
    assert "Part 4: [...]" in sources["ada_leval_tsort_2k"].read(0).query
    question = sources["ada_leval_bestanswer_2k_synthetic"].read(0).query
    # Two of them are the example in the instruction.
    assert question.count("[...]") == len(re.findall(r"^A\d+:$", question, re.MULTILINE)) - 2 > 1
    only = item_sources(str(tmp_path / "cases"), resolve_options({}), ["ethic_recall_books"])
    assert [source.task for source in only] == ["ethic_recall_books"]


def test_published_tasks_by_name(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_DATA_DIR", str(shared / "data"))
    [source] = item_sources("elitr_bench_qa_test", resolve_options({}))
    assert len(source) == 130
    one, other = source.read(0), source.read(1)
    assert one.query == "Who attended the meeting?" or one.query.endswith("?")
    assert one.context == other.context and one.cluster == other.cluster and len(one.context) > 10_000
    [source] = item_sources("ada_leval_bestanswer_1k", resolve_options({}))
    assert len(source) == 1000 and source.length == "1k"


def test_a_group_is_its_tasks(tmp_path: Path) -> None:
    write_published_files("ethic", tmp_path, 2)
    options = resolve_options({"lct_data_dir": tmp_path})
    domains = ("books", "debates", "medicine", "law")
    names = [source.task for source in item_sources("ethic_recall", options)]
    assert names == [f"ethic_recall_{domain}" for domain in domains]
    # As many as the hosts' group has; built-only tasks stand in no group.
    assert len(item_sources("ethic", options)) == 12
    [only] = item_sources("ethic", options, ["ethic_attribute_law"])
    assert only.task == "ethic_attribute_law" and len(only) == 2


def test_folders_of_several_builds(tmp_path: Path) -> None:
    def write(folder: Path, name: str) -> None:
        case = Case(
            "x", name, {"system": "", "user": "u"}, (Turn(["Anne"]),), "x", labels={"domain": "books"}
        )
        with CaseWriter(folder, {}) as writer:
            writer.add_documents([("u", "### Context:\nAnne.\n\nNow, respond to the instruction.\n\nWho?")])
            writer.add_cases(name, [case])

    write(tmp_path / "one" / "ethic_recall", "ethic_recall_books")
    write(tmp_path / "one" / "ethic_organize", "ethic_organize_books")
    write(tmp_path / "two" / "ethic_recall", "ethic_recall_books")
    # An old folder that waits while its successor is written.
    write(tmp_path / "two" / ".ethic_organize.lct-old", "ethic_organize_books")
    names = [source.task for source in item_sources(str(tmp_path), resolve_options({}))]
    recall = [f"{build}/ethic_recall/ethic_recall_books" for build in ("one", "two")]
    assert names == ["ethic_organize_books", *recall]
    only = item_sources(str(tmp_path), resolve_options({}), ["ethic_recall_books"])
    assert [source.task for source in only] == recall and only[0].read(0).query == "Who?"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": 1, "context": "x"}], r"row 1: question is missing; the columns are id, task"),
        ([{"id": 1, "context": " ", "question": "q"}], r"row 1: context is empty; the columns are"),
        ([{"id": 1, "context": "x", "question": 3}], r"row 1: question must be text"),
        ([{"context": "x", "question": "q", "length": "long"}], r"row 1: length .*'long' is not a length"),
        ([3], r"row 1: must be keys and values; the columns are"),
        ([{"id": 1, "context": "x", "question": "q"}] * 2, r"row 2: the id '1' occurs twice"),
        ([], "holds no cases"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    write_rows(tmp_path / "x.jsonl", rows)
    with pytest.raises(InputError, match=message):
        item_sources(str(tmp_path / "x.jsonl"), resolve_options({}))


def test_what_is_no_set_of_cases_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"context": "a", "question": "b"}\nnonsense\n')
    (tmp_path / "x.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    for what, message in (
        ("x.jsonl", r"x.jsonl, row 2: not JSON"),
        ("x.txt", r"must be a .jsonl"),
        ("nothing", "not a folder of cases, a .jsonl file, a task or a group"),
        ("empty", "not a folder of cases"),
    ):
        with pytest.raises(InputError, match=message):
            item_sources(str(tmp_path / what), resolve_options({}))
    (tmp_path / "x.jsonl").write_text('{"context": "a", "question": "b"}\n')
    result = CliRunner().invoke(app, ["coverage", str(tmp_path / "x.jsonl")])
    assert result.exit_code == 2 and "no evaluator is named: add --judge" in result.output
    result = CliRunner().invoke(app, ["coverage", str(tmp_path / "x.jsonl"), "-o", str(tmp_path)])
    assert result.exit_code == 2 and "give the name of a file" in result.output


FOUR = [
    {
        "id": f"[{number},  2]",
        "context": "\n\n".join(paragraph(number, place) for place in range(10)),
        "question": "Where?",
    }
    for number in range(4)
]
"""Four cases of ten chunks each."""


def some(*failing: Answer) -> Behave:
    """The first paragraphs of every case get these answers, the others a score."""

    def behave(body: dict[str, Any], _: int) -> Answer:
        place = re.search(r"Paragraph (\d+)\.", body["messages"][-1]["content"])
        number = int(place[1]) if place else len(failing)
        return failing[number] if number < len(failing) else Answer("Final Score : 1")

    return behave


def test_replies_without_a_score_stay_outside_and_are_reported(tmp_path: Path) -> None:
    result, found, calls = measured(tmp_path, FOUR, some(*[Answer("I would rather not say.")] * 2))
    # Those without a score were asked for twice.
    assert calls == 4 * (8 + 2 * 2) + 1
    assert result.exit_code == 0 and "8 of 40 chunks have no judgement" in result.output
    assert "8 replies hold no score" in result.output and "different seeds" in result.output
    assert "run the same command again" not in result.output
    assert "100.0*" in result.output and "* only of the chunks that were judged" in result.output
    [group] = found["groups"]
    assert group["chunks_judged"] == 32 and group["coverage"] == 1 and group["reasons"] == {"unparsable": 4}
    assert group["chunks_failed"] == {"unparsable": 8}
    assert group["every_case"][0]["chunks"] == "--11111111"


def test_each_reason_has_a_remedy_of_its_own(tmp_path: Path) -> None:
    failing = (Answer(status=400), Answer(raw=CUT), Answer("Hm."))
    result, found, _ = measured(
        tmp_path, FOUR, some(*failing), settings="max_tokens: 64\nasks: 1\nconcurrency: 1"
    )
    assert result.exit_code == 0 and "12 of 40 chunks" in result.output
    for said in (
        "4 calls were not answered; run the same command again",
        "4 replies ended at max_tokens (64)",
        "4 replies hold no score",
    ):
        assert said in result.output
    assert found["groups"][0]["chunks_failed"] == {"endpoint_failed": 4, "cut": 4, "unparsable": 4}


@pytest.mark.parametrize(
    "failing", [Answer("I would rather not say."), Answer("<think>Final Score : 0"), Answer(raw=CUT)]
)
def test_where_nothing_was_judged_the_command_fails(tmp_path: Path, failing: Answer) -> None:
    result, found, _ = measured(tmp_path, FOUR, some(*[failing] * 10), settings="asks: 1")
    assert result.exit_code == 1 and "40 of 40 chunks have no judgement" in result.output
    [group] = found["groups"]
    assert group["coverage"] is None and group["every_case"][0]["chunks"] == "-" * 10


def test_an_evaluator_without_room_is_refused_before_the_first_call(tmp_path: Path) -> None:
    result, _, calls = measured(tmp_path, FOUR, some(), settings="max_tokens: 5")
    assert result.exit_code == 2 and "max_tokens: 5 ends replies before their score" in result.output
    assert calls == 0


def test_ids_are_written_as_they_are(tmp_path: Path) -> None:
    result, found, _ = measured(tmp_path, FOUR, some())
    assert result.exit_code == 0 and "*" not in result.output
    assert [case["id"] for case in found["groups"][0]["every_case"]] == [f"[{n},  2]" for n in range(4)]
