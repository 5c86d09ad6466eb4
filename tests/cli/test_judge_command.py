"""`lct judge run` on the results of both hosts gives the scores of a run that had the judge from the start."""

import json
import math
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from collected_runs import Turn, run_of, write_lm_eval
from judge_server import Answer, JudgeServer, judge_server
from needs import needs
from run_commands import lct, published_data, served_model
from stored_runs import TASKS, judge_by_seed, judge_file, run_lm_eval, run_opencompass
from stub_server import stub_server
from tiny_model import make_tiny_model

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.results import StoredRun, find_runs

pytestmark = needs("lm_eval")

SEEDS = "2023,2024,2025"


@dataclass
class Judged:
    """Files and output of one call of `lct judge run`."""

    code: int
    out: str
    err: str
    numbers: dict[str, dict[str, Any]]
    rows: dict[str, list[dict[str, Any]]]


def judge(results: Path, *arguments: str | Path) -> Judged:
    """Run the command and read its files by task."""
    for path in results.rglob("judged"):
        shutil.rmtree(path)
    done = lct("judge", "run", results, *arguments)
    paths = sorted(results.rglob("judged/**/*.json"))
    numbers = {row["task"]: row for row in (json.loads(path.read_text()) for path in paths)}
    rows = {
        json.loads(path.read_text())["task"]: [
            json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()
        ]
        for path in paths
    }
    return Judged(*done, numbers, rows)


def hashes(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder except ours."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "judged" not in path.parts
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The archives of the invented meetings."""
    yield from published_data(tmp_path_factory.mktemp("published"), elitr_bench=0)


@pytest.fixture(scope="module")
def judging() -> Iterator[JudgeServer]:
    with judge_server(judge_by_seed) as server:
        yield server


@pytest.fixture(scope="module")
def stored(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of lm-eval without a judge."""
    output = tmp_path_factory.mktemp("lm_eval")
    with stub_server() as server:
        run_lm_eval(output, TASKS, served_model(server.url), {"lct_data_dir": str(data)})
    return output


@pytest.fixture
def results(stored: Path, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results, with its own cache and so its own store of replies."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    return Path(shutil.copytree(stored, tmp_path / "results"))


def by_task(folder: Path) -> dict[str, StoredRun]:
    found = find_runs(folder)
    assert not found.problems
    return {run.task: run for run in found.runs}


def assert_same(judged: Judged, runs: dict[str, StoredRun]) -> None:
    """Compare every number, score, reason and verdict of judged runs with those of runs with the judge."""
    assert set(judged.numbers) == set(runs) == set(TASKS)
    seen = set()
    for task, run in runs.items():
        numbers = {key: value for key, value in run.numbers.items() if key != "n_truncated"}
        ours = {k: math.nan if v is None else v for k, v in judged.numbers[task]["numbers"].items()}
        assert ours == pytest.approx(numbers, rel=0, abs=1e-9, nan_ok=True), task
        rows = iter(judged.rows[task])
        for case in run.cases():
            for turn in range(len(case.responses)):
                row = next(rows)
                assert (row["case"], row["turn"]) == (case.id, turn)
                assert row["scores"] == {name: values[turn] for name, values in case.scores.items()}
                assert row["reasons"].get("judge_score") == case.reasons[turn]
                assert row["verdicts"] == [dict(one) for one in (case.verdicts or ((),) * 9)[turn]]
                assert row["stub-judge"] == row["scores"]["judge_score"]
                seen.add(row["stub-judge"])
        assert next(rows, None) is None
    assert len(seen) > 3


@pytest.mark.slow
def test_lm_eval(results: Path, data: Path, judging: JudgeServer, tmp_path: Path) -> None:
    assert all(run.numbers["n_not_judged"] for run in by_task(results).values())
    file = judge_file(tmp_path / "judge.yaml", judging.url, seeds=[2023, 2024, 2025])
    before = hashes(results)
    judged = judge(results, "--judge", file)
    assert judged.code == 0, judged.err
    assert hashes(results) == before
    with stub_server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache2"))
        metadata = {"lct_data_dir": str(data), "lct_judge": str(file)}
        run_lm_eval(tmp_path / "again", TASKS, served_model(server.url), metadata)
    runs = by_task(tmp_path / "again")
    assert_same(judged, runs)
    assert all(judged.numbers[task]["judge"].items() >= run.judge.items() for task, run in runs.items())


@pytest.mark.hosts
def test_opencompass(
    data: Path, judging: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opencompass")
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    tokenizer = make_tiny_model(tmp_path / "tiny")
    options = {"LCT_DATA_DIR": str(data), "LCT_TOKENIZER": str(tokenizer)}
    with stub_server() as server:
        work, output = run_opencompass(tmp_path, TASKS, server.url, options)
        [time] = [path.name for path in work.iterdir()]
        assert f"lct judge run {work / time} --judge judge.yaml" in output
        before = hashes(work)
        judged = judge(work / time, "--judge", judge_file(tmp_path / "judge.yaml", judging.url, seeds=[1, 2]))
        assert judged.code == 0, judged.err
        assert hashes(work) == before
        # The host evaluates the same predictions with the judge, as it does in a run that has one from the start.
        shutil.rmtree(work / time / "results")
        judges = {
            **{"LCT_JUDGE_MODEL": "stub", "LCT_JUDGE_NAME": "stub-judge", "LCT_JUDGE_BASE_URL": judging.url},
            **{"LCT_JUDGE_ASKS": "1", "LCT_JUDGE_SEEDS": "1,2", "LCT_CACHE_DIR": str(tmp_path / "cache2")},
        }
        run_opencompass(tmp_path, TASKS, server.url, {**options, **judges}, "-m", "eval", "-r", time)
    assert_same(judged, by_task(work))


def test_seeds_are_averaged_and_kept_apart(results: Path, judging: JudgeServer, tmp_path: Path) -> None:
    file = judge_file(tmp_path / "judge.yaml", judging.url)
    judged = judge(results, "--judge", file, "--seeds", SEEDS)
    several = 0
    for task, rows in judged.rows.items():
        for row in rows:
            scores = [one["score"] for one in row["verdicts"] if one["score"] is not None]
            if scores and "judge_score" not in row["reasons"]:
                assert row["scores"]["judge_score"] == pytest.approx(statistics.fmean(scores))
                several += len(set(scores)) > 1
            assert [one["seed"] for one in row["verdicts"]] == [2023, 2024, 2025]
        assert set(judged.numbers[task]["by_seed"]) == set(SEEDS.split(","))
    assert several
    alone = judge(results, "--judge", file, "--seeds", "2024")
    for task, row in alone.numbers.items():
        assert row["by_seed"] == {}
        for name, value in judged.numbers[task]["by_seed"]["2024"].items():
            assert row["numbers"][name] == value, (task, name)
    assert "0 new replies" in alone.out


def test_judging_again_asks_nothing_and_other_seeds_have_a_folder_of_their_own(
    results: Path, tmp_path: Path
) -> None:
    with judge_server(judge_by_seed) as server:
        file = judge_file(tmp_path / "judge.yaml", server.url)
        first = judge(results, "--judge", file)
        n = len(server.bodies)
        written = {path: path.read_bytes() for path in results.rglob("judged/**/*.jsonl")}
        lct("judge", "run", results, "--judge", file)
        assert len(server.bodies) == n + 1  # one tiny call
        assert {path: path.read_bytes() for path in results.rglob("judged/**/*.jsonl")} == written
        lct("judge", "run", results, "--judge", file, "--seeds", "5")
    assert len(list(results.rglob("judged/**/*.jsonl"))) == 2 * len(written) == 2 * len(first.rows)
    assert len(find_runs(results).runs) == len(TASKS)  # judged results are not runs


def test_several_judges_and_their_comparison(results: Path, judging: JudgeServer, tmp_path: Path) -> None:
    one = judge_file(tmp_path / "one.yaml", judging.url, "judge-one")
    two = judge_file(tmp_path / "two.yaml", judging.url, "judge-two", seeds=[7])
    done = lct("judge", "run", results, "--judge", one, "--judge", two)
    assert done.code == 0, done.err
    for word in ("judge-one", "judge-two", "judge_score", "official_judge_score", *TASKS):
        assert word in done.out
    files = [str(path) for path in results.rglob("judged/**/*qa_dev*.jsonl")]
    compared = lct("judge", "compare", *files)
    assert compared.code == 0, compared.err
    assert "judge-one" in compared.out and "turn" not in compared.out


def test_a_judge_that_goes_away_costs_no_answers(results: Path, tmp_path: Path) -> None:
    working = [True]

    def behave(body: dict[str, Any], number: int) -> Answer:
        return judge_by_seed(body, number) if working[0] or number < 3 else Answer(status=500)

    with judge_server(behave) as server:
        file = judge_file(tmp_path / "judge.yaml", server.url, concurrency=1)
        working[0] = False
        broken = judge(results, "--judge", file)
        assert broken.code == 1 and "run the same command again" in broken.err
        assert "judge_failed" in broken.out
        failed = sum(row["not_scored"].get("judge_failed", 0) for row in broken.numbers.values())
        working[0] = True
        mended = judge(results, "--judge", file)
    assert failed and mended.code == 0
    assert not any(row["not_scored"].get("judge_failed") for row in mended.numbers.values())


@pytest.mark.parametrize(("scores", "code"), [(3, 1), (0, 2)])
def test_replies_without_a_score_show_in_the_exit_code(
    results: Path, tmp_path: Path, scores: int, code: int
) -> None:
    def behave(_: dict[str, Any], number: int) -> Answer:
        return Answer("\\boxed{7}" if 0 < number <= scores else "I would rather not say.")

    with judge_server(behave) as server:
        done = judge(results, "--judge", judge_file(tmp_path / "judge.yaml", server.url, concurrency=1))
    unparsable = sum(row["not_scored"].get("judge_unparsable", 0) for row in done.numbers.values())
    assert done.code == code and f"{unparsable} responses have no score" in done.err, done.err
    turns = [row["verdicts"] for rows in done.rows.values() for row in rows]
    # An empty response has the lowest score without a judge.
    assert any(one["score"] is not None for verdicts in turns for one in verdicts) is (scores > 0)
    assert any(row["numbers"]["n_scored"] for row in done.numbers.values())
    assert ("error: nothing was judged" in done.err) is (code == 2)


@pytest.mark.parametrize("reason", ["judge_unparsable", "does_not_fit"])
def test_nothing_judged_shows_although_a_rule_gives_the_headline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    task = load_task("elitr_bench_qa_synthetic", {"lct_n": 3})
    assert task.metrics[0] == "answer_found"
    unfit = reason == "does_not_fit"
    scores = dict.fromkeys(task.metrics, None if unfit else 0.0) | {"judge_score": None}
    turn = Turn(scores, reason if unfit else None, "I do not know.")
    write_lm_eval(tmp_path / "results", run_of(task, {case.id: [turn] for case in task.cases.cases}))
    with judge_server(lambda *_: Answer("I would rather not say.")) as server:
        done = judge(tmp_path / "results", "--judge", judge_file(tmp_path / "judge.yaml", server.url))
    assert done.code == 2 and f"error: nothing was judged: 3 {reason}" in done.err, done.err
    [numbers] = done.numbers.values()
    assert (numbers["headline"], numbers["numbers"]["n_scored"]) == ("judge_score", 0)
    assert numbers["not_scored"] == {reason: 3}


def test_what_cannot_be_judged_ends_with_code_2(results: Path, judging: JudgeServer, tmp_path: Path) -> None:
    working = judge_file(tmp_path / "judge.yaml", judging.url)
    unreachable = judge_file(tmp_path / "none.yaml", "http://127.0.0.1:9/v1")
    column = judge_file(tmp_path / "column.yaml", judging.url, "status")
    (tmp_path / "empty").mkdir()
    for folder, words, message in (
        (results, ("--judge", unreachable), "127.0.0.1:9"),
        (results, (), "--judge FILE"),
        (results, ("--judge", column), "another `name`"),
        (results, ("--judge", working, "--tasks", "elitr_bench_qa"), TASKS[0]),
        (tmp_path / "empty", ("--judge", working), "no runs"),
        (tmp_path / "nowhere", ("--judge", working), "does not exist"),
    ):
        done = judge(folder, *words)
        assert done.code == 2 and message in done.err and not done.numbers, message


def test_a_damaged_file_is_named_and_skipped(results: Path, judging: JudgeServer, tmp_path: Path) -> None:
    [damaged] = results.rglob(f"samples_{TASKS[0]}_*.jsonl")
    damaged.write_bytes(damaged.read_bytes()[:-40])
    done = judge(results, "--judge", judge_file(tmp_path / "judge.yaml", judging.url))
    assert done.code == 1 and set(done.numbers) == set(TASKS[1:])
    assert str(damaged) in done.err and "line 3" in done.err and "1 skipped" in done.err


def test_data_that_has_moved(results: Path, data: Path, judging: JudgeServer, tmp_path: Path) -> None:
    for path in results.rglob("results_*.json"):
        path.write_text(path.read_text().replace(str(data), str(tmp_path / "gone")))
    file = judge_file(tmp_path / "judge.yaml", judging.url)
    lost = judge(results, "--judge", file)
    assert lost.code == 2 and "gone" in lost.err
    found = judge(results, "--judge", file, "--data-dir", data, "--tasks", TASKS[1])
    assert found.code == 0 and set(found.numbers) == {TASKS[1]}
