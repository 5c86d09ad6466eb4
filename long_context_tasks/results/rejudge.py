"""Stored runs scored again, with their results beside them: by a judge (``lct judge run``), or by today's rules (see ``rescore``)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import long_context_tasks
from long_context_tasks.hosts.stored import Responses, StoredRun, load_task, responses_to
from long_context_tasks.judges import JudgeConfig, Verdict
from long_context_tasks.judges.task_judge import Verdicts, score_turns, with_judge
from long_context_tasks.results.evaluations import judged_path, needs_no_judge, write_judged
from long_context_tasks.schema import CaseScores, InputError, LoadedTask
from long_context_tasks.schema.response import JUDGE_FAILED
from long_context_tasks.stats.means import task_numbers

ROW_KEYS = (
    *("id", "cluster", "host", "model", "task", "case", "turn", "repeat"),
    *("status", "scores", "reasons", "verdicts"),
)
"""Keys of a row beside the judge's own score, which stands under the judge's name; see docs/judges.md."""


@dataclass(frozen=True)
class ScoredAgain:
    """The scores of a run, turn by turn.

    Attributes:
        run: as the host left it.
        task: as it scores today, with this judge.
        repeats: the responses, one mapping for each repeat of the cases.
        verdicts: of a judge on them; empty mappings where nobody has judged.
        scores: of every turn, in the order of the responses.
        rubric: by which the judge scored; None without one.
    """

    run: StoredRun
    task: LoadedTask
    repeats: Sequence[Responses]
    verdicts: Sequence[Verdicts]
    scores: Sequence[CaseScores]
    rubric: str | None

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Means, intervals and counts over all turns (see :func:`long_context_tasks.stats.means.task_numbers`)."""
        return self._numbers(self.scores)

    @property
    def not_scored(self) -> dict[str, int]:
        """Reason to number of turns that have no headline score."""
        headline = self.task.metrics[0]
        values = [turn[headline] for turn in self.scores]
        return dict(Counter(str(score.reason) for score in values if score.value is None))

    def by_seed(self, seeds: Sequence[Any]) -> dict[str, dict[str, float]]:
        """Means of each seed of the judge alone, where there are several."""
        if len(seeds) < 2 or self.rubric is None:
            return {}
        found = {}
        for seed in seeds:
            only = [
                {case: [[v for v in turn if v.seed == seed] for turn in turns] for case, turns in one.items()}
                for one in self.verdicts
            ]
            numbers = self._numbers(scores_of(self.task, self.repeats, only, self.rubric))
            found[str(seed)] = {name: numbers[name] for name in (*self.task.metrics, "n_scored")}
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        run, task = self.run, self.task
        notes = []
        n, available = len({case for one in self.repeats for case in one}), len(task.cases)
        if n < available:
            notes.append(f"holds {n} of the task's {available} cases")
        if len(self.repeats) > 1:
            notes.append(f"every case was answered {len(self.repeats)} times; all answers count")
        if run.version is not None and run.version != task.version:
            word = "judged" if self.rubric is not None else "scored"
            notes.append(f"ran as version {run.version} of the task, {word} as version {task.version}")
        return tuple(notes)

    def told(self) -> dict[str, Any]:
        """What the file of the numbers says of the run and of today's task."""
        run, task = self.run, self.task
        return {
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
        }

    def rows(self, judge: str | None) -> Iterator[dict[str, Any]]:
        """A row for each turn; ``lct judge compare`` joins those of several judges by id.

        Args:
            judge: name under which the headline score stands once more; None: nowhere.
        """
        run, task = self.run, self.task
        left = iter(self.scores)
        for repeat, (responses, found) in enumerate(zip(self.repeats, self.verdicts, strict=True)):
            for case, turns in responses.items():
                for turn, response in enumerate(turns):
                    metrics = next(left)
                    said: Sequence[Verdict] = found[case][turn] if found else ()
                    place = (run.made, run.model, run.task, case, turn, *([repeat] if repeat else []))
                    headline = metrics[task.metrics[0]].value
                    yield {
                        "id": "/".join(map(str, place)),
                        "cluster": task.by_id[case].cluster,
                        "host": run.host,
                        "model": run.model,
                        "task": run.task,
                        "case": case,
                        "turn": turn,
                        "repeat": repeat,
                        "status": response.status,
                        **({} if judge is None else {judge: headline}),
                        "scores": {name: metrics[name].value for name in task.metrics},
                        "reasons": {
                            name: reason for name in task.metrics if (reason := metrics[name].reason)
                        },
                        "verdicts": [verdict.row() for verdict in said],
                    }

    def _numbers(self, scores: Sequence[CaseScores]) -> dict[str, float]:
        task = self.task
        clusters = [
            task.by_id[case].cluster for one in self.repeats for case, turns in one.items() for _ in turns
        ]
        numbers = task_numbers(scores, clusters, task.metrics, task.intervals, points=task.points)
        del numbers["n_truncated"]  # the host's run knows that, not this one
        return numbers


def scores_of(
    task: LoadedTask, repeats: Sequence[Responses], verdicts: Sequence[Verdicts], rubric: str | None
) -> list[CaseScores]:
    """Of every turn, in the order of the responses.

    Args:
        task: of the responses.
        repeats: see :class:`ScoredAgain`.
        verdicts: likewise.
        rubric: by which the judge scored; None: nobody has judged.
    """
    return [
        turn
        for responses, found in zip(repeats, verdicts, strict=True)
        for case, turns in responses.items()
        for turn in score_turns(task, task.by_id[case], turns, found.get(case, ()), rubric)
    ]


@dataclass(frozen=True)
class JudgedRun:
    """A run with what a judge made of it.

    Attributes:
        run: as the host left it.
        judge: name of the judge.
        metrics: of the task, headline first.
        points: the metrics that are no shares.
        numbers: means, intervals and counts over all turns (see :func:`long_context_tasks.stats.means.task_numbers`).
        not_scored: reason to number of turns that have no headline score.
        usage: what the judging cost, in words.
        path: the file that was written.
        notes: what a reader of the numbers should know.
    """

    run: StoredRun
    judge: str
    metrics: tuple[str, ...]
    points: frozenset[str]
    numbers: Mapping[str, float]
    not_scored: Mapping[str, int]
    usage: str
    path: Path
    notes: tuple[str, ...]

    @property
    def unanswered(self) -> int:
        """Turns without a verdict because the judge did not answer; another run asks for them."""
        return self.not_scored.get(JUDGE_FAILED, 0)


def prepare(
    runs: Sequence[StoredRun], data_dir: Path | None, *, any_task: bool = False
) -> tuple[list[tuple[StoredRun, LoadedTask]], list[str]]:
    """The runs that can be judged with their tasks, and what is wrong with others; everything is read once.

    Args:
        runs: any; those of tasks without a judge are passed over.
        data_dir: folder of the published files; None: the runs' own.
        any_task: among the judges is one that judges every task with free responses, also one that needs no judge.
    """
    tasks: dict[str, LoadedTask] = {}
    ready, skipped = [], []
    for run in runs:
        if not any_task and needs_no_judge(run):
            continue
        key = run.task_key
        try:
            task = tasks[key] = tasks.get(key) or load_task(run, data_dir)
            if task.judging is not None or (any_task and task.asked_and_right is not None):
                responses_to(run, task)
                ready.append((run, task))
        except InputError as error:
            skipped.append(naming(run, error))
    return ready, skipped


def naming(run: StoredRun, error: InputError) -> str:
    """What is wrong with a run, with the run named once."""
    message = str(error)
    return message if str(run.folder) in message or str(run) in message else f"{run}: {message}"


def judge_run(run: StoredRun, task: LoadedTask, config: JudgeConfig) -> JudgedRun | None:
    """Judge all responses of a run and write what came out; None where the task needs no judge of this kind.

    Raises:
        InputError: responses that are damaged or of other data, a rubric that the benchmark does not have, or files that
            cannot be written.
    """
    task, judge = with_judge(task, config)
    if judge is None:
        return None
    repeats = responses_to(run, task)
    verdicts, lines = [], []
    for responses in repeats:
        found, line = judge.verdicts(task, responses)
        verdicts.append(found)
        lines.append(line)
    rubric = judge.rubric_name
    scored = ScoredAgain(run, task, repeats, verdicts, scores_of(task, repeats, verdicts, rubric), rubric)
    description = judge.description()
    path = judged_path(run, config.name, description)
    result = {
        **scored.told(),
        "judge": description,
        "judged": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "by_seed": scored.by_seed(config.seeds),
        "usage": lines,
        "notes": list(scored.notes),
    }
    write_judged(path, result, scored.rows(config.name))
    return JudgedRun(
        run=run,
        judge=config.name,
        metrics=task.metrics,
        points=task.points,
        numbers=scored.numbers,
        not_scored=scored.not_scored,
        usage="; ".join(lines),
        path=path,
        notes=scored.notes,
    )


def with_seeds(config: JudgeConfig, text: str) -> JudgeConfig:
    """A judge ready for stored runs: with the seeds of ``--seeds 2023,2024``, or its own when the text is empty.

    Raises:
        InputError: no whole numbers, or one of them twice; or a judge with the name of a column of the rows.
    """
    if config.name in ROW_KEYS:
        raise InputError(
            f"judge {config.name}: the results have a column of that name; give the judge another `name`"
        )
    # The configuration reads the text as it reads a variable of the environment.
    return config.changed(seeds=text) if text else config
