"""Runs as both hosts leave them, written without them: invented answers to a task, scored by the task itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import collected_runs
from collected_runs import Run, Turn, run_of

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.judges.verdict import JudgeRequest, Verdict
from long_context_tasks.schema import Case, CaseScores, LoadedTask, Options

Answers = Callable[[LoadedTask, Case], str]
Rates = Callable[[Case, JudgeRequest], float | None]
TIME = "2026-01-01T10-00-00.{:06}"
JUDGE = {"name": "stub", "model": "stub", "seeds": [0]}


def forgets_the_end(task: LoadedTask, case: Case) -> str:
    """Return the labels of the first half of the context, or all sections but the last."""
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


def _stored(task: LoadedTask, answer: Answers, rate: Rates | None, model: str, made: str) -> Run:
    cases = {}
    rows = scored(task, answer, rate)
    for case, text, verdicts, scores in rows:
        values = {name: score.value for name, score in scores.items()}
        cases[case.id] = [Turn(values, scores[task.metrics[0]].reason, text, tuple(verdicts))]
    judge = JUDGE if any(row[2] for row in rows) else {}
    return run_of(task, cases, model=model, made=made, judge=judge, gen_kwargs={})


def write_lm_eval(
    root: Path, name: str, options: Options, answer: Answers, rate: Rates | None = None, model: str = "owl"
) -> LoadedTask:
    """Write results and samples of a run into ``root/<model>``; without ``rate`` nothing is judged."""
    task = load_task(name, options)
    made = TIME.format(len(list((root / model).glob("results_*"))))
    collected_runs.write_lm_eval(root, _stored(task, answer, rate, model, made))
    return task


def write_opencompass(
    root: Path, name: str, options: Options, answer: Answers, rate: Rates | None = None, model: str = "owl"
) -> LoadedTask:
    """Write predictions and results of a run into a folder of ``root``."""
    task = load_task(name, options)
    collected_runs.write_opencompass(root, _stored(task, answer, rate, model, "20260101_100000"))
    return task
