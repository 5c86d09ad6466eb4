"""`lct runs export` and `lct runs score`: requests for a user's own pipeline, and its responses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from run_commands import ADA, CONVERSATION, QA, Said, exported, own_responses, published_data, runs
from stored_runs import only
from written_book import sorting_cases

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.own.export import export_rows, fill, load
from long_context_tasks.results import find_runs
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.schema import Case, CaseWriter, Turn

pytestmark = needs("lm_eval", "polars")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"))


def test_export_options_and_gold(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert runs("export", ADA, "--data-dir", data, "--n", "3", "--with-gold").code == 0
    rows = exported(tmp_path / f"{ADA}.jsonl")
    assert len(rows) == 3 and all(row["gold"] and row["num_tokens"]["cl100k"] for row in rows)
    assert rows[0]["options"]["lct_n"] == 3 and rows[0]["options"]["version"] == rows[1]["options"]["version"]
    done = runs("export", ADA, "--data-dir", data, "--n", "3", "--out", "x.jsonl", "--json")
    assert json.loads(done.out)["result"]["requests"] == 3
    plain = exported(tmp_path / "x.jsonl")
    assert plain == [{key: row[key] for key in row if key != "gold"} for row in rows]
    refused = runs("export", QA, "--data-dir", data, "--with-gold")
    assert refused.code == 2 and "do not allow" in refused.err and not (tmp_path / f"{QA}.jsonl").exists()
    kept = runs("export", QA, "--data-dir", data)
    assert kept.code == 0 and "keep the file to yourself" in kept.out + kept.err
    assert runs("export", "ada_leval_nothing").code == 2
    assert runs("export", ADA, "--data-dir", data, "--out", tmp_path / "no" / "where.jsonl").code == 2


def test_the_row_on_the_page_is_that_of_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    page = (Path(__file__).parents[2] / "docs" / "rescoring.md").read_text(encoding="utf-8")
    shown = json.loads(page.split("```json\n")[1].split("```")[0])
    command = "export ada_leval_bestanswer_2k_synthetic --n 20"
    assert f"lct runs {command}" in page
    assert runs(*command.split(), "--out", tmp_path / "prompts.jsonl").code == 0
    row = exported(tmp_path / "prompts.jsonl")[0]
    assert row["prompt_sha256"].startswith(shown.pop("prompt_sha256").removesuffix("..."))
    [message], [whole] = shown.pop("messages"), row["messages"]
    assert (
        whole["content"].startswith(message["content"].removesuffix(" ..."))
        and whole["role"] == message["role"]
    )
    assert shown == {key: row[key] for key in row if key not in ("prompt_sha256", "messages")}


def test_gold_of_own_cases_and_of_cases_from_a_seed_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owners of published data decide on their own data only."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    inputs = {"system": "", "user": "u"}
    case = Case("1", "ethic_recall_books", inputs, (Turn(["Anne"]),), "b", labels={"domain": "books"})
    with CaseWriter(tmp_path / "cases" / "ethic_recall", {}) as writer:
        writer.add_documents([("u", "### Context:\nAnne came.\n### Instruction: list the names")])
        writer.add_cases("ethic_recall_books", [case])
    for words in (
        ("ethic_recall_books", "--cases", tmp_path / "cases"),
        ("elitr_bench_qa_synthetic", "--length", "1k", "--n", "1"),
    ):
        done = runs("export", *words, "--with-gold", "--out", tmp_path / "out.jsonl")
        assert done.code == 0 and "keep the file to yourself" not in done.out, done
        assert exported(tmp_path / "out.jsonl")[0]["gold"]


def test_conversations_whose_history_is_known_or_cannot_be_left_open(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "gold.jsonl"
    done = runs("export", "elitr_bench_qa_dev_multiturn_goldhistory", "--data-dir", data, "--out", out)
    assert done.code == 0, done.err
    rows = exported(out)
    assert any(row["turn"] for row in rows) and all(row["prompt_sha256"] for row in rows)
    assert "{{answer_" not in out.read_text() and len(rows[1]["messages"]) > len(rows[0]["messages"])
    words = ("--data-dir", data, "--prompt-style", "vicuna_v1.1", "--out", tmp_path / "v")
    refused = runs("export", CONVERSATION, *words)
    assert refused.code == 2 and "chat style" in refused.err and not (tmp_path / "v").exists()
    assert runs("export", "elitr_bench_qa_dev_multiturn_goldhistory", *words).code == 0
    assert (tmp_path / "v").exists()
    first, second = ({"role": role, "content": "{{answer_0}}"} for role in ("user", "assistant"))
    assert fill([first, second], ["<think>y</think>x"]) == [first, {"role": "assistant", "content": "x"}]
    assert fill([first, second], [None]) == [first]


def test_candidates_are_exported(tmp_path: Path) -> None:
    task = "ada_leval_tsort_any_ppl"
    options = ("--length", "1k", "--cases", sorting_cases(tmp_path / "cases"))
    out = tmp_path / "ppl.jsonl"
    assert runs("export", task, *options, "--out", out).code == 0
    rows = exported(out)
    assert [len(row["candidates"]) for row in rows] == [24, 24] and "messages" not in rows[0]
    (tmp_path / "r.jsonl").write_text(json.dumps({"id": rows[0]["id"], "response": "x"}) + "\n")
    done = runs("score", task, tmp_path / "r.jsonl", "--model", "m", *options)
    assert done.code == 2 and "log-likelihoods" in done.err


def test_nothing_is_left_of_an_export_that_fails(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rows are made one at a time: the first is written before the second case is rendered.
    task = load(ADA, resolve_options({"lct_data_dir": str(data)}, {}))
    rows = export_rows(task)
    next(rows)
    monkeypatch.setattr(type(task), "messages", lambda *_: (_ for _ in ()).throw(OSError("gone")))
    with pytest.raises(OSError, match="gone"):
        next(rows)
    for name in ("x.jsonl", "x.parquet"):
        assert runs("export", ADA, "--data-dir", data, "--out", tmp_path / name).code != 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": "nobody"}, "has no case nobody"),
        ({"turn": 1}, "no turn 1"),
        ({"turn": "0"}, "turn must be a whole number"),
        ({"turn": True}, "turn must be a whole number"),
        ({"response": None}, "the response is null"),
        ({"response": 7}, "response must be text"),
        ({"status": "lazy"}, "status must be 'does_not_fit' or 'endpoint_failed'"),
    ],
)
def test_responses_that_cannot_be_scored(
    change: dict[str, Any], told: str, data: Path, tmp_path: Path
) -> None:
    task = load(ADA, resolve_options({"lct_data_dir": str(data)}, {}))
    good = {"id": task.cases.cases[0].id, "response": "A1"}
    path = tmp_path / "r.jsonl"

    def scored(*rows: Any) -> Said:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return runs("score", ADA, path, "--data-dir", data, "--model", "m", "--out", tmp_path / "own")

    done = scored({"id": task.cases.cases[1].id, "response": "A1"}, {**good, **change})
    assert done.code == 2 and told in done.err and f"{path}, row 2" in done.err
    assert "a second response" in scored(good, good).err
    assert "must be keys and values" in scored([good]).err and "holds no responses" in scored().err
    assert not (tmp_path / "own").exists()
    part = scored(good, {"id": task.cases.cases[1].id, "response": None, "status": "does_not_fit"})
    assert part.code == 0 and f"2 of {len(task.cases)} cases" in part.out
    assert only(tmp_path / "own", ADA).numbers["n_does_not_fit"] == 1
    [cell] = cells_of(collect([tmp_path / "own"]))
    assert not cell.ranked


def test_no_key_gets_into_the_files_of_a_run(data: Path, tmp_path: Path) -> None:
    said = own_responses(ADA, data, tmp_path)
    words = ("score", ADA, said, "--out", tmp_path / "out", "--data-dir", data)
    done = runs(*words, "--model", "http://anne:pw-of-anne@host/owl")
    assert done.code == 2 and "holds a key" in done.err and "pw-of-anne" not in done.err
    assert runs(*words, "--model", "owl", "--pipeline", "serve --api-key pw-of-anne").code == 0
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files and not any(b"pw-of-anne" in path.read_bytes() for path in files)


def test_a_conversation_needs_every_turn(data: Path, tmp_path: Path) -> None:
    task = load(CONVERSATION, resolve_options({"lct_data_dir": str(data)}, {}))
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"id": task.cases.cases[0].id, "response": "x"}) + "\n")
    done = runs("score", CONVERSATION, path, "--data-dir", data, "--model", "m", "--out", tmp_path / "own")
    assert done.code == 2 and "no response to turn 1" in done.err


def test_a_damaged_own_run_is_named(data: Path, tmp_path: Path) -> None:
    path = own_responses(ADA, data, tmp_path)
    assert runs("score", ADA, path, "--data-dir", data, "--model", "m", "--out", tmp_path / "own").code == 0
    [rows] = (tmp_path / "own").rglob("own_*.jsonl")
    rows.write_text("{}\n")
    done = runs("rescore", tmp_path / "own")
    assert done.code == 2 and f"{rows}, line 1" in done.err
    rows.with_suffix(".json").write_text("[1")
    [problem] = find_runs(tmp_path / "own").problems
    assert problem.startswith(f"{rows.with_suffix('.json')}: ")
