"""A stored run that was scored again, by a judge or by today's rules alone: scores, numbers, rows and notes in one form."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import long_context_tasks
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.hosts.stored_task import Responses
from long_context_tasks.judges import Verdict
from long_context_tasks.judges.task_judge import Verdicts, score_turns
from long_context_tasks.schema import CaseScores, LoadedTask
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
