"""New scores of stored runs in the form in which ``lct judge run`` and ``lct runs rescore`` write them, and the judging itself."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import long_context_tasks
from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.hosts.stored import (
    AS_IN_THE_RUN,
    Places,
    Responses,
    StoredRun,
    load_task,
    responses_to,
)
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.task_judge import Verdicts, score_turns, with_judge
from long_context_tasks.results.evaluations import judged_path, needs_no_judge, write_judged
from long_context_tasks.schema import CaseScores, InputError, LoadedTask
from long_context_tasks.stats.means import task_numbers

ROW_KEYS = (
    *("id", "cluster", "host", "model", "task", "case", "turn", "repeat"),
    *("status", "scores", "reasons", "verdicts"),
)
"""Keys of a row, next to the judge's score, which has the judge's name as key; see docs/judge_files.md."""


@dataclass(frozen=True)
class ScoreFigures:
    """Figures of a rescored run, without the individual scores: small enough to send between processes."""

    run: StoredRun  # the run as the host left it
    version: int  # current version of the task
    metrics: tuple[str, ...]  # headline first
    points: frozenset[str]  # metrics that are points of a scale
    numbers: Mapping[str, float]  # means, intervals and counts over all turns (see task_numbers)
    not_scored: Mapping[str, int]  # number of turns without a headline score, by reason
    notes: tuple[str, ...]  # notes for readers of the numbers


@dataclass(frozen=True)
class NewScores:
    run: StoredRun  # the run as the host left it
    task: LoadedTask  # current task, with the judge
    repeats: Sequence[Responses]  # the responses, one mapping for each repeat of the cases
    # Verdicts of a judge on the responses, one mapping for each repeat; empty without a judge.
    verdicts: Sequence[Verdicts]
    scores: Sequence[CaseScores]  # scores of every turn, in the order of the responses
    rubric: str | None  # rubric of the judge; None without a judge

    @cached_property
    def numbers(self) -> dict[str, float]:
        return self._numbers(self.scores)

    @property
    def not_scored(self) -> dict[str, int]:
        values = [turn[self.task.metrics[0]] for turn in self.scores]
        return dict(Counter(str(score.reason) for score in values if score.value is None))

    @property
    def notes(self) -> tuple[str, ...]:
        run, task = self.run, self.task
        notes = []
        n, available = len({case for repeat in self.repeats for case in repeat}), len(task.cases)
        if n < available:
            notes.append(f"holds {n} of the task's {available} cases")
        if len(self.repeats) > 1:
            notes.append(f"every case was answered {len(self.repeats)} times; all answers count")
        if run.version != task.version:
            word = "judged" if self.rubric is not None else "scored"
            notes.append(f"ran as version {run.version} of the task, {word} as version {task.version}")
        return tuple(notes)

    @property
    def figures(self) -> ScoreFigures:
        task, points = self.task, frozenset(self.task.points)
        numbers, not_scored, notes = self.numbers, self.not_scored, self.notes
        return ScoreFigures(self.run, task.version, task.metrics, points, numbers, not_scored, notes)

    def turns(self) -> Iterator[tuple[int, str, int, CaseScores]]:
        """Yield the repeat, case, turn and scores of every turn."""
        # Scores are flat and in the order of the responses.
        left = iter(self.scores)
        for repeat, responses in enumerate(self.repeats):
            for case, turns in responses.items():
                yield from ((repeat, case, turn, next(left)) for turn in range(len(turns)))

    def write(self, path: Path, judge: str | None, more: Mapping[str, Any]) -> None:
        """Write the numbers and a row for each turn, which repeats the headline score under ``judge``: ``lct judge compare`` joins judges by it."""
        run, task = self.run, self.task
        numbers = {
            "host": run.host,
            "model": run.model,
            "task": run.task,
            "made": run.made,
            "files": [str(file.relative_to(run.folder)) for file in run.files],
            "version": task.version,
            "options": task.description(),
            "package": long_context_tasks.__version__,
            "headline": task.metrics[0],
            "points": sorted(task.points),
            "numbers": self.numbers,
            "not_scored": self.not_scored,
            "of_the_run": {"version": run.version, "judge": dict(run.judge), "numbers": dict(run.numbers)},
            **more,
        }
        write_judged(path, numbers, self._rows(judge))

    def _rows(self, judge: str | None) -> Iterator[dict[str, Any]]:
        run, metrics = self.run, self.task.metrics
        for repeat, case, turn, scores in self.turns():
            verdicts = self.verdicts[repeat]
            place = (run.made, run.model, run.task, case, turn, *([repeat] if repeat else []))
            yield {
                "id": "/".join(map(str, place)),
                "cluster": self.task.by_id[case].cluster,
                "host": run.host,
                "model": run.model,
                "task": run.task,
                "case": case,
                "turn": turn,
                "repeat": repeat,
                "status": self.repeats[repeat][case][turn].status,
                **({} if judge is None else {judge: scores[metrics[0]].value}),
                "scores": {name: scores[name].value for name in metrics},
                "reasons": {name: reason for name in metrics if (reason := scores[name].reason)},
                "verdicts": [verdict.row() for verdict in (verdicts[case][turn] if verdicts else ())],
            }

    def by_seed(self, seeds: Sequence[Any]) -> dict[str, dict[str, float]]:
        if len(seeds) < 2 or self.rubric is None:
            return {}
        by_seed = {}
        for seed in seeds:
            of_seed = [
                {
                    case: [[verdict for verdict in turn if verdict.seed == seed] for turn in turns]
                    for case, turns in by_case.items()
                }
                for by_case in self.verdicts
            ]
            numbers = self._numbers(score_all(self.task, self.repeats, of_seed, self.rubric))
            by_seed[str(seed)] = {name: numbers[name] for name in (*self.task.metrics, "n_scored")}
        return by_seed

    def _numbers(self, scores: Sequence[CaseScores]) -> dict[str, float]:
        task = self.task
        clusters = [task.by_id[case].cluster for _, case, _, _ in self.turns()]
        numbers = task_numbers(scores, clusters, task.metrics, task.intervals, points=task.points)
        del numbers["n_truncated"]  # only the host knows how many prompts it cut
        return numbers


def score_all(
    task: LoadedTask, repeats: Sequence[Responses], verdicts: Sequence[Verdicts], rubric: str | None
) -> list[CaseScores]:
    return [
        turn
        for responses, by_case in zip(repeats, verdicts, strict=True)
        for case, turns in responses.items()
        for turn in score_turns(task, task.by_id[case], turns, by_case.get(case, ()), rubric)
    ]


@dataclass(frozen=True)
class RunTasks:
    """The runs' tasks, each loaded once per process."""

    places: Places = AS_IN_THE_RUN  # where their data are now
    _loaded: dict[str, LoadedTask] = field(default_factory=dict, repr=False)

    def of(self, run: StoredRun) -> LoadedTask:
        key = run.task_key
        if key not in self._loaded:
            self._loaded[key] = load_task(run, self.places)
        return self._loaded[key]

    def __reduce__(self) -> tuple[type["RunTasks"], tuple[Places]]:
        """Pickle only where to load the tasks from: loaded tasks can take gigabytes, and each process loads its own."""
        return type(self), (self.places,)


def error_of(run: StoredRun, error: InputError) -> str:
    """Return the message of an error about a run, with the run named once."""
    message = str(error)
    return message if str(run.folder) in message or str(run) in message else f"{run}: {message}"


def utc_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class JudgedRun:
    scored: ScoreFigures  # figures of the judge
    judge: str
    usage: str  # tokens and cost of the judging, in words
    path: Path  # file that was written
    judged: int  # number of turns with a score of the judge
    # Number of turns without such a score, by reason: the judge did not answer, nothing was there to judge ...
    unjudged: Mapping[str, int]


def prepare(
    runs: Sequence[StoredRun], tasks: RunTasks, *, any_task: bool = False
) -> tuple[list[StoredRun], list[str]]:
    """Return the runs that can be judged, and messages about the others; ``any_task`` admits tasks that need no judge."""
    ready, skipped = [], []
    for run in runs:
        try:
            if not any_task and needs_no_judge(run) and not parse_task(run.task).judged:
                continue
            task = tasks.of(run)
            # A trained judge compares a response with the right answer, which the task must provide.
            if task.judging is not None or (any_task and task.asked_and_right is not None):
                responses_to(run, task)
                ready.append(run)
        except InputError as error:
            skipped.append(error_of(run, error))
    return ready, skipped


def judge_run(run: StoredRun, task: LoadedTask, config: JudgeConfig) -> JudgedRun | None:
    """Judge all responses of a run and write the results; None if a judge of this kind cannot judge the task."""
    task, judge = with_judge(task, config)
    if judge is None:
        return None
    repeats = responses_to(run, task)
    judged = [judge.verdicts(task, responses) for responses in repeats]
    verdicts, usage = [by_case for by_case, _ in judged], [line for _, line in judged]
    rubric, description = judge.rubric_name, judge.description()
    scored = NewScores(run, task, repeats, verdicts, score_all(task, repeats, verdicts, rubric), rubric)
    path = judged_path(run, config.name, description)
    more = {
        "judge": description,
        "judged": utc_now(),
        "by_seed": scored.by_seed(config.seeds),
        "usage": usage,
        "notes": list(scored.notes),
    }
    scored.write(path, config.name, more)
    turns = [turn for by_case in verdicts for by_turn in by_case.values() for turn in by_turn]
    judged_turns = sum(any(verdict.score is not None for verdict in turn) for turn in turns)
    # The headline may be a rule's, which scores every turn.
    of_judge = [turn[task.judging.metrics[0]] for turn in scored.scores]
    unjudged = Counter(str(score.reason) for score in of_judge if score.value is None)
    return JudgedRun(scored.figures, config.name, "; ".join(usage), path, judged_turns, unjudged)


def judged_run(tasks: RunTasks, config: JudgeConfig, run: StoredRun) -> JudgedRun | str | None:
    """Run :func:`judge_run` in an engine's worker; return an error as a message, so that other runs continue."""
    try:
        return judge_run(run, tasks.of(run), config)
    except InputError as error:
        return str(error)


def with_seeds(config: JudgeConfig, text: str) -> JudgeConfig:
    """Return a judge with the seeds of ``--seeds 2023,2024``, or with its own if the text is empty."""
    if config.name in ROW_KEYS:
        raise InputError(
            f"judge {config.name}: the results have a column of that name; give the judge another `name`"
        )
    # The configuration parses the text like a variable of the environment.
    return config.changed(seeds=text) if text else config
