"""`lct report --section elitr_bench` on stored runs: invented ones, and the published responses and scores."""

import csv
import json
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from collected_runs import JUDGED_METRICS, Turn, run_of, write_lm_eval
from typer.testing import CliRunner, Result

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.elitr_bench import paper
from long_context_tasks.benchmarks.elitr_bench.archives import Archives
from long_context_tasks.cli import app
from long_context_tasks.results import find_runs
from long_context_tasks.results.evaluations import judged_evaluations, judged_path, write_judged
from long_context_tasks.schema import Case, LoadedTask, Options

QA, TALK, CONV = "elitr_bench_qa_dev", "elitr_bench_qa_dev_multiturn", "elitr_bench_conv_dev"


STUB = {"name": "stub", "model": "stub", "seeds": [0]}


def write_run(
    root: Path,
    options: Options,
    name: str,
    score: Callable[[Case, int], float | None],
    *,
    day: int | None = None,
    judge: Mapping[str, Any] = STUB,
    reason: str = "not_judged",
    **own: Any,
) -> LoadedTask:
    """Write a run on all cases of a task as lm-eval leaves it, with scores by case and turn; None has the reason."""
    task = load_task(name, options)
    folder = root / own.get("model", "owl")
    cases = {
        case.id: [_turn(score(case, n), reason) for n in range(len(case.turns))] for case in task.cases.cases
    }
    made = f"2026-01-0{day or len(list(folder.glob('results_*'))) + 1}T10-00-00.000000"
    write_lm_eval(root, run_of(task, cases, made=made, judge=judge, **own))
    return task


def _turn(value: float | None, reason: str) -> Turn:
    return Turn({**dict.fromkeys(JUDGED_METRICS, value), "answered": 1.0}, reason if value is None else None)


def lct(*words: Any) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, words), "--section", "elitr_bench"])


def tables(tmp_path: Path, *words: Any) -> dict[str, list[dict[str, str]]]:
    """The tables by name, as their CSV files have them."""
    result = lct(tmp_path / "runs", "--csv", tmp_path / "csv", *words)
    assert result.exit_code == 0, result.output
    found = {}
    for path in (tmp_path / "csv").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.stem] = list(csv.DictReader(file))
        assert all(cell in result.stdout for row in found[path.stem] for cell in row.values())
    return found


def question(case: Case, turn: int) -> str:
    return str(case.turns[turn].labels["question_id"])


def test_labels_and_wording(options: Options, tmp_path: Path) -> None:
    for name, gain in ((QA, 0.0), (TALK, 1.0), (CONV, -1.0)):
        write_run(
            tmp_path / "runs",
            options,
            name,
            lambda case, n, gain=gain: 5.0 + gain + (question(case, n) == "2"),
        )
    found = tables(tmp_path)
    labels = {(row["task"], row["label"]): row for row in found["labels"]}
    assert labels[QA, "all"]["judge_score"] == "5.33" and labels[QA, "all"]["n"] == "3"
    assert labels[CONV, "when"]["judge_score"] == "5.00" and labels[CONV, "QA/Conv differ"]["n"] == "1"
    assert "settings" not in labels[QA, "all"]
    rows = {row["setting"]: row["judge_score"] for row in found["differing"]}
    assert rows == {
        "QA, single-turn (dev)": "6.00",
        "QA, multi-turn (dev)": "7.00",
        "Conv, multi-turn (dev)": "5.00",
        "Conv - QA, multi-turn": "-2.00",
    }
    assert "noise" not in found and "seeds" not in found


def test_seeds_and_tests(options: Options, tmp_path: Path) -> None:
    for run, (model, base) in enumerate([("owl", 3.0), ("owl", 5.0), ("owl", 4.0), ("cat", 8.0)], start=1):
        write_run(
            tmp_path / "runs",
            options,
            QA,
            lambda case, n, base=base: base + (question(case, n) == "2") / 2,
            model=model,
            seed=2022 + run,
        )
    # Other settings are no seed of the same run.
    write_run(tmp_path / "runs", options, QA, lambda *_: 1.0, gen_kwargs={"temperature": 0.6})
    found = tables(tmp_path)
    [row] = found["seeds"]
    means = [base + 0.5 / 3 for base in (3.0, 5.0, 4.0)]
    assert (row["runs"], row["seeds"]) == ("3", "host 2023, host 2024, host 2025")
    assert row["mean"] == f"{statistics.fmean(means):.2f}"
    assert row["standard deviation"] == f"{statistics.stdev(means):.2f}"
    labels = {(row["model"], row["settings"], row["label"]): row for row in found["labels"]}
    assert labels["owl", "", "all"]["n"] == "3" and labels["owl", "", "all"]["runs"] == "3"
    assert labels["owl", "temperature=0.6", "all"]["judge_score"] == "1.00"


def test_scores_over_measured_noise(options: Options, tmp_path: Path) -> None:
    measured = {}
    for name, value in ((QA, 9.0), (f"{QA}_wer20", 7.0), (f"{QA}_wer100", 3.0)):
        task = write_run(tmp_path / "runs", options, name, lambda *_, value=value: value)
        rates = {case.cluster: case.labels.get("measured_wer", 0.0) for case in task.cases.cases}
        measured[name] = 100 * statistics.fmean(rates.values())
    found = tables(tmp_path)
    rows = [(row["target WER, %"], row["measured WER, %"], row["judge_score"]) for row in found["noise"]]
    assert rows == [
        ("0", "0.00", "9.00"),
        ("20", f"{measured[f'{QA}_wer20']:.2f}", "7.00"),
        ("100", f"{measured[f'{QA}_wer100']:.2f}", "3.00"),
    ]
    assert {row["task"] for row in found["noise"]} == {QA}


def test_later_judges_are_shown_next_to_the_first(options: Options, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", options, QA, lambda *_: 2.0, judge={"name": "first"})
    [run] = find_runs(tmp_path / "runs").runs
    rows = [
        {
            **{"case": case.id, "turn": 0, "repeat": 0, "cluster": case.cluster},
            **{"scores": {"judge_score": 6.0 if place else None}, "reasons": {}, "verdicts": []},
        }
        for place, case in enumerate(run.cases())
    ]
    description = {"name": "second", "seeds": [1, 2]}
    numbers = {
        "judge": {**description, "rubric": "gpt"},
        "numbers": {"judge_score": 6.0, "n": 3, "n_scored": 2},
        "by_seed": {"1": {"judge_score": 5.0}, "2": {"judge_score": 7.0}},
        "headline": "judge_score",
        "points": ["judge_score"],
        "version": run.version,
    }
    write_judged(judged_path(run, "second", description), numbers, rows)
    found = tables(tmp_path)
    shown = {row["judge"]: (row["n"], row["judge_score"]) for row in found["labels"] if row["label"] == "all"}
    assert shown == {"first": ("3", "2.00"), "second": ("2 of 3", "6.00")}
    [row] = found["seeds"]
    assert (row["judge"], row["seeds"], row["mean"]) == ("second", "judge 1, judge 2", "6.00")
    assert row["standard deviation"] == f"{statistics.stdev([5, 7]):.2f}"


def test_bad_input(options: Options, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    runs = tmp_path / "runs"
    write_run(runs, options, QA, lambda *_: None, judge={})
    for words, message in (
        ((tmp_path / "nowhere",), "nowhere: does not exist"),
        ((tmp_path / "empty",), "no run that can be used"),
        ((runs,), "no run has been judged yet; `lct judge run"),
        ((runs, "--metric", "accuracy"), "no run has been judged yet"),
    ):
        result = lct(*words)
        assert result.exit_code == 2 and message in result.stderr, result.output
    write_run(runs, options, QA, lambda *_: 2.0, day=2)
    for words, message in (
        (
            ("--metric", "accuracy"),
            "--metric accuracy: no judged run has it; there are answered, judge_score",
        ),
        (("--bins", "4"), "the report of elitr_bench has no scores by part of a context"),
    ):
        result = lct(runs, *words)
        assert result.exit_code == 2 and message in result.stderr, result.output
        # Before the tables.
        assert not result.stdout


def test_a_run_in_which_nothing_fitted_does_not_wait_for_a_judge(options: Options, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", options, QA, lambda *_: None, judge={}, reason="does_not_fit")
    rows = {row["label"]: row for row in tables(tmp_path)["labels"]}
    assert (rows["all"]["n"], rows["all"]["judge_score"]) == ("0 of 3", "-")


def test_runs_without_labels_are_refused(options: Options, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", options, QA, lambda *_: 2.0)
    [samples] = (tmp_path / "runs").rglob("samples_*")
    samples.write_text(samples.read_text(encoding="utf-8").replace("question_type", "type"), encoding="utf-8")
    result = lct(tmp_path / "runs")
    assert result.exit_code == 2 and "has no label 'question_type'; run the task again" in result.stderr


@pytest.mark.slow
@pytest.mark.vectors
def test_the_published_scores_come_out_as_in_the_paper(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fig. 3 and Table 10 of two models, by way of stored runs."""
    if not (shared / "data" / "elitr_bench" / "generated-responses.zip").is_file():
        pytest.skip("no ELITR-Bench archives")
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    options = Options(data_dir=shared / "data")
    scores = paper.Scores(Archives(shared / "data" / "elitr_bench"))
    names = {
        "st_qa": "elitr_bench_qa_{}",
        "mt_qa": "elitr_bench_qa_{}_multiturn",
        "mt_conv": "elitr_bench_conv_{}",
    }
    for model in ("GPT-4", "Vicuna-13B-v1.5"):
        for setting, name in names.items():
            for split in ("dev", "test"):
                published = {
                    (one.meeting, one.question.id): float(paper.score(one))
                    for one in scores.of(f"{setting}_{split}", model)
                }
                write_run(
                    tmp_path / "runs",
                    options,
                    name.format(split),
                    lambda case, n, published=published: published[case.cluster, question(case, n)],
                    model=model,
                )
    found = tables(tmp_path)
    figure = {(cell.row, cell.column): cell for cell in paper.paper_tables(scores, ["fig3"])["fig3"]}
    words = {"QA, single-turn": "st_qa", "QA, multi-turn": "mt_qa", "Conv, multi-turn": "mt_conv"}
    assert len(found["differing"]) == 8
    for row in found["differing"]:
        name = row["setting"].partition(" (")[0]
        cell = figure[row["model"], words.get(name, "mt_conv - mt_qa")]
        assert row["judge_score"] == cell.plain and row["n"] == str(cell.n) == "33"
    printed = paper.published()["table10"]
    for row in found["middle"]:
        if row["task"] == "elitr_bench_qa_test":
            assert f"{float(row['p']):.3f}" == f"{float(printed[row['model']]):.3f}"


def test_a_broken_file_of_a_later_judge_is_named(options: Options, tmp_path: Path) -> None:
    write_run(tmp_path / "runs", options, QA, lambda *_: 2.0)
    [run] = find_runs(tmp_path / "runs").runs
    path = judged_path(run, "second", {})
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"judge": {}}), encoding="utf-8")
    _, [problem] = judged_evaluations(run)
    assert "judged/second-" in problem and "make it again with `lct judge run`" in problem
