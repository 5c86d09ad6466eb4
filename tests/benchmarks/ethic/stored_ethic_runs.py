"""Runs as both hosts leave them, written without them: invented answers to a task, scored by the task itself."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.judges import JudgeRequest, Verdict
from long_context_tasks.schema import Case, CaseScores, LoadedTask, Options
from long_context_tasks.stats.means import task_numbers

Answers = Callable[[LoadedTask, Case], str]
Rates = Callable[[Case, JudgeRequest], float | None]
TIME = "2026-01-01T10-00-00.{:06}"
JUDGE = {"name": "stub", "model": "stub", "seeds": [0]}


def forgets_the_end(task: LoadedTask, case: Case) -> str:
    """Of the labels only those of the first half of the context; all sections but the last."""
    [turn] = case.turns
    if "summarize" in task.name:
        return "\n".join(f"{marker}\nIt rains." for marker in turn.gold[:-1])
    half = case.labels["num_chunks"] / 2
    return ", ".join(
        label for label, chunk in zip(turn.gold, turn.labels["first_chunk"], strict=True) if chunk < half
    )


def rate(case: Case, request: JudgeRequest) -> float:
    """5 for the first section, 3 for the others."""
    return 5.0 if request.meta["section"] == case.turns[0].gold[0] else 3.0


def scored(
    task: LoadedTask, answer: Answers, rate: Rates | None
) -> list[tuple[Case, str, list[dict[str, Any]], CaseScores]]:
    """Case, answer, rows of verdicts and scores of every case."""
    found = []
    for case in task.cases.cases:
        text = answer(task, case)
        verdicts: list[Verdict] = []
        if task.judging is not None and rate is not None:
            for request in task.judging.requests(case, [text], task.judging.default):
                score = rate(case, request)
                reason = None if score is not None else "unparsable"
                verdicts.append(Verdict(score, reason, str(score), (str(score),), 0, "key"))
        if verdicts:
            assert task.judging is not None
            scores = task.judging.score_turn(case, 0, text, verdicts)
        else:
            scores = task.score(case, text, None)
        found.append((case, text, [one.row() for one in verdicts], scores))
    return found


def _numbers(task: LoadedTask, rows: Sequence[tuple[Case, str, Any, CaseScores]]) -> dict[str, float]:
    scores, clusters = [row[3] for row in rows], [row[0].cluster for row in rows]
    return task_numbers(scores, clusters, task.metrics, task.intervals, points=task.points)


def write_lm_eval(
    root: Path, name: str, options: Options, answer: Answers, rate: Rates | None = None, model: str = "owl"
) -> LoadedTask:
    """Results and samples of a run in ``root/<model>``.

    Args:
        root: what ``--output_path`` names.
        name: of the task.
        options: of the run.
        answer: task and case to what the model says.
        rate: case and question to the judge's rating; None: nobody judged.
        model: its name.
    """
    task = load_task(name, options)
    folder = root / model
    folder.mkdir(parents=True, exist_ok=True)
    time = TIME.format(len(list(folder.glob("results_*"))))
    rows = scored(task, answer, rate)
    with (folder / f"samples_{name}_{time}.jsonl").open("w", encoding="utf-8") as file:
        for case, text, verdicts, scores in rows:
            record = {"response": text, "status": None, "prompt_sha256": [], "verdicts": [verdicts]}
            values = {metric: math.nan if one.value is None else one.value for metric, one in scores.items()}
            sample = {
                "doc": {
                    "case": case.id,
                    "cluster": case.cluster,
                    "labels": json.dumps(dict(case.labels)),
                    "turn_labels": "[]",
                },
                "resps": [[text]],
                "filtered_resps": [json.dumps(record) if task.judging is not None else text],
                "metrics": [*values, "n"],
                **values,
                "n": 1,
            }
            file.write(json.dumps(sample) + "\n")
    metadata = {**task.description(), "benchmark": "ethic", "headline": task.metrics[0]}
    metadata["points"] = sorted(task.points)
    if any(row[2] for row in rows):
        metadata["judge"] = JUDGE
    result = {
        "model_name": model,
        "lm_eval_version": "0.4.13",
        "results": {name: {f"{key},none": value for key, value in _numbers(task, rows).items()}},
        "configs": {name: {"output_type": "generate_until", "metadata": metadata}},
        "config": {"model": "hf", "gen_kwargs": {}, "random_seed": 0},
        "n-samples": {name: {"original": len(rows), "effective": len(rows)}},
    }
    (folder / f"results_{time}.json").write_text(json.dumps(result), encoding="utf-8")
    return task


def write_opencompass(
    root: Path, name: str, options: Options, answer: Answers, rate: Rates | None = None, model: str = "owl"
) -> LoadedTask:
    """Predictions and results of a run in a folder of ``root``; the arguments are those of :func:`write_lm_eval`."""
    task = load_task(name, options)
    rows = scored(task, answer, rate)
    folder = root / "20260101_100000"
    given = task.description()
    predictions = {
        str(place): {"case": case.id, "prediction": text, "lct_status": None, "lct_given": given}
        for place, (case, text, _, _) in enumerate(rows)
    }
    details = [
        {
            "case": [case.id],
            "cluster": [case.cluster],
            "labels": [dict(case.labels)],
            **{metric: ["" if one.value is None else one.value] for metric, one in scores.items()},
            "reason": [scores[task.metrics[0]].reason or ""],
            "verdicts": [[verdicts]],
        }
        for case, _, verdicts, scores in rows
    ]
    numbers = {
        key: value
        if key.startswith("n") or key.removesuffix("_low").removesuffix("_high") in task.points
        else 100 * value
        for key, value in _numbers(task, rows).items()
    }
    result = {
        **numbers,
        "lct_task": [name],
        "headline": [task.metrics[0]],
        "points": [sorted(task.points)],
        "judge": [JUDGE if any(row[2] for row in rows) else {}],
        "options": [given],
        "details": details,
    }
    for kind, content in (("predictions", predictions), ("results", result)):
        path = folder / kind / model / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    return task
