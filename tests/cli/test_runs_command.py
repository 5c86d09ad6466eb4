"""`lct runs` on results of a host: scored again, and equal to responses that are exported and scored outside the host."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from judge_server import judge_server
from needs import needs
from run_commands import (
    ADA,
    CONVERSATION,
    QA,
    exported,
    lct,
    own_responses,
    published_data,
    runs,
    served_model,
)
from stored_runs import TASKS, judge_by_seed, judge_file, only, run_lm_eval, run_opencompass
from stub_server import answer_by_hash, messages_hash, stub_server
from tiny_model import make_tiny_model

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.own.export import fill, load
from long_context_tasks.results import find_runs
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.results.evaluations import scored_cases, unjudged_evaluation

pytestmark = needs("lm_eval", "polars")


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"))


@dataclass
class Left:
    """Results of lm-eval, and the requests that its server got."""

    folder: Path
    sent: Counter[str]


@pytest.fixture(scope="module")
def left(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """A plain task, judged questions and a judged conversation, not judged yet."""
    output = tmp_path_factory.mktemp("left")
    with stub_server() as server:
        run_lm_eval(output, [ADA, QA, CONVERSATION], served_model(server.url), {"lct_data_dir": str(data)})
        return Left(output, Counter(map(messages_hash, server.requests)))


@pytest.fixture
def results(left: Left, tmp_path: Path) -> Path:
    return Path(shutil.copytree(left.folder, tmp_path / "results"))


def with_another_score(results: Path) -> tuple[str, float]:
    """Change the stored score of a case; return its id and the new score."""
    [path] = results.rglob(f"samples_{ADA}_*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["strict_accuracy"] = 1 - rows[0]["strict_accuracy"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows[0]["doc"]["case"], rows[0]["strict_accuracy"]


def written(results: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}


def test_rescore_shows_and_writes_what_changed(results: Path, tmp_path: Path) -> None:
    case, stored = with_another_score(results)
    before = written(results)
    done = runs("rescore", results, "--out", tmp_path / "changed.csv")
    assert done.code == 0, done.err
    assert ADA in done.out and "strict_accuracy" in done.out
    assert QA in done.out and "answered" in done.out and "1 of 3 scored runs changed" in done.out
    [row] = csv.DictReader((tmp_path / "changed.csv").open())
    assert (row["case"], row["metric"], row["task"], row["turn"]) == (case, "strict_accuracy", ADA, "0")
    assert (float(row["old"]), float(row["new"])) == (stored, 1 - stored)
    after = written(results)
    assert before.items() <= after.items()
    assert {path.parent.parent.name for path in set(after) - set(before)} == {"rescored"}
    run = only(results, ADA)
    assert unjudged_evaluation(run).rescored


def test_a_dry_run_writes_nothing(results: Path) -> None:
    with_another_score(results)
    before = written(results)
    done = runs("rescore", results, "--dry-run")
    assert done.code == 0 and "nothing was written" in done.out and "written to" not in done.out
    other = shutil.copytree(results, results.with_name("other"))
    # A folder inside another one is not counted twice.
    many = runs("rescore", results, other, next(results.iterdir()), "--dry-run")
    assert "2 of 6 scored runs changed" in many.out
    done = runs("rescore", results, "--dry-run", "--json", "--tasks", ADA)
    [table] = json.loads(done.out)["tables"]
    changed = {row["metric"]: row["cases changed"] for row in table["rows"]}
    assert changed.pop("strict_accuracy") == 1 and not any(changed.values())
    assert {row["version"] for row in table["rows"]} == {str(only(results, ADA).version)}
    assert written(results) == before


def test_rescore_skips_damaged_runs_and_names_them(results: Path, tmp_path: Path) -> None:
    [damaged] = results.rglob(f"samples_{QA}_*.jsonl")
    damaged.write_bytes(damaged.read_bytes()[:-40])
    [other] = results.rglob(f"samples_{ADA}_*.jsonl")
    other.write_text(other.read_text().replace('"case": "', '"case": "x'))
    done = runs("rescore", results)
    assert done.code == 1 and "2 skipped" in done.err
    assert str(damaged) in done.err and "--data-dir" in done.err and CONVERSATION in done.out
    for path in results.rglob("samples_*.jsonl"):
        path.unlink()
    nothing = runs("rescore", results)
    assert nothing.code == 2 and "--log_samples" in nothing.err and "and 2 more" in nothing.err
    assert nothing.err.count("\n") == 1
    empty = runs("rescore", tmp_path / "results" / "nowhere")
    assert empty.code == 2 and "does not exist" in empty.err
    (tmp_path / "empty").mkdir()
    assert "holds no runs of our tasks" in runs("rescore", tmp_path / "empty").err
    assert runs("rescore", results, "--tasks", "ada_leval").code == 2


@pytest.mark.hosts
def test_opencompass(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run OpenCompass with a judge; then make the result one of an older version with other scores and verdicts."""
    pytest.importorskip("opencompass")
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    options = {"LCT_DATA_DIR": str(data), "LCT_TOKENIZER": str(make_tiny_model(tmp_path / "tiny"))}
    with stub_server() as server, judge_server(judge_by_seed) as judging:
        judges = {"LCT_JUDGE_MODEL": "stub", "LCT_JUDGE_BASE_URL": judging.url, "LCT_JUDGE_ASKS": "1"}
        work, _ = run_opencompass(tmp_path, TASKS, server.url, {**options, **judges})
    same = runs("rescore", work, "--dry-run")
    assert same.code == 0 and f"0 of {len(TASKS)} scored runs changed" in same.out, same.err
    [path] = work.rglob(f"results/*/{QA}.json")
    result = json.loads(path.read_text())
    place = next(i for i, row in enumerate(result["details"]) if row["judge_score"][0] is not None)
    case, true = result["details"][place]["case"][0], result["details"][place]["judge_score"][0]
    result["details"][place]["judge_score"] = [10.0 - true / 2]
    result["judge_score"] = 9.0
    path.write_text(json.dumps(result))
    [path] = work.rglob(f"predictions/*/{QA}.json")
    rows = json.loads(path.read_text())
    for row in rows.values():
        row["lct_given"]["version"] = 0
    path.write_text(json.dumps(rows))
    done = runs("rescore", work, "--out", tmp_path / "changed.csv")
    assert done.code == 0, done.err
    assert "0 → " in done.out
    [row] = csv.DictReader((tmp_path / "changed.csv").open())
    assert (row["case"], row["metric"], float(row["new"])) == (case, "judge_score", true)
    cells = {cell.task: cell for cell in cells_of(collect([work]))}
    assert set(cells) == set(TASKS) and cells[QA].version == cells[TASKS[2]].version
    [numbers] = [json.loads(p.read_text())["numbers"] for p in work.rglob(f"rescored/*/*/{QA}.json")]
    assert cells[QA].mean.value == pytest.approx(numbers["judge_score"]) and cells[QA].mean.value != 9.0


def test_what_is_exported_is_what_was_sent(left: Left, data: Path, tmp_path: Path) -> None:
    """Compare with the requests of the host byte for byte, conversations with the model's own answers in them."""
    sent: Counter[str] = Counter()
    for task in (ADA, QA, CONVERSATION):
        out = tmp_path / f"{task}.jsonl"
        done = runs("export", task, "--data-dir", data, "--out", out)
        assert done.code == 0, done.err
        answers: dict[str, list[str]] = {}
        for row in exported(out):
            messages = fill(row["messages"], answers.setdefault(row["id"], []))
            later = row["turn"] > 0
            assert later == ("{{answer_" in json.dumps(row["messages"])) == (row["prompt_sha256"] is None)
            answers[row["id"]].append(answer_by_hash(messages))
            sent[messages_hash(messages)] += 1
            assert (row["temperature"], row["stop"]) == (0.0, [])
        loaded = load(task, resolve_options({"lct_data_dir": str(data)}, {}))
        assert list(answers) == [case.id for case in loaded.cases.cases]
        assert {row["max_gen_toks"] for row in exported(out)} == {loaded.answer_budget}
    assert sent == left.sent


def test_own_responses_are_scored_like_the_hosts(
    left: Left, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    out = tmp_path / "own"
    for task in (ADA, CONVERSATION):
        path = own_responses(task, data, tmp_path)
        words = ("--data-dir", data, "--model", "org/stub", "--out", out, "--pipeline", "mine 1.0")
        done = runs("score", task, path, *words)
        assert done.code == 0, done.err
        assert ("lct judge run" in done.out) == (task == CONVERSATION)
    for task in (ADA, CONVERSATION):
        ours, theirs = (unjudged_evaluation(only(place, task)) for place in (out, left.folder))
        assert ours.run.host == "own" and ours.run.model == "org/stub" and ours.version == theirs.version
        assert [turns for _, turns in scored_cases(ours)] == [turns for _, turns in scored_cases(theirs)]
        numbers = ({**one.numbers, "n_truncated": 0} for one in (ours, theirs))
        assert next(numbers) == pytest.approx(next(numbers), nan_ok=True)
        responses, expected = ([case.responses for case in one.run.cases()] for one in (ours, theirs))
        assert responses == expected
    assert "0 of 2 scored runs changed" in runs("rescore", out).out
    with judge_server(judge_by_seed) as judging:
        file = judge_file(tmp_path / "judge.yaml", judging.url)
        done = lct("judge", "run", out, "--judge", file)
    assert done.code == 0, done.err
    collection = collect([out])
    assert not collection.problems and len(find_runs(out).runs) == 2
    assert {(cell.task, cell.judge) for cell in cells_of(collection)} == {
        (ADA, None),
        (CONVERSATION, "stub-judge"),
    }
    assert all(json.loads(text)["pipeline"] == "mine 1.0" for text in collection.runs["provenance"])
