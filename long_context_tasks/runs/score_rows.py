"""The scores of a run as rows of :data:`long_context_tasks.report.schema.SCORES`."""

from collections.abc import Callable

import polars as pl

from long_context_tasks.report.schema import SCORES
from long_context_tasks.runs.evaluations import TurnScores
from long_context_tasks.schema.response import writable

NOT_SCORED = "not_scored"
"""Reason of a case that the host has not scored though it has scored others."""


def _no_labels(case: str, turn: int) -> str | None:
    return None


class ScoreColumns:
    """Gathers the turns of a run; a column is a list, and a row of the table is made at the end.

    Attributes:
        metrics: of all turns so far, headline first.
    """

    def __init__(
        self,
        run: str,
        headline: str | None,
        cluster_of: Callable[[str], str],
        labels_of: Callable[[str, int], str | None] = _no_labels,
    ) -> None:
        """Begin.

        Args:
            run: key of the run.
            headline: the metric whose reasons are kept; None: the first one.
            cluster_of: tells the cluster of a case where the files do not.
            labels_of: case and turn to their labels as JSON; None without any.
        """
        self._run = run
        self._headline = headline
        self._cluster_of = cluster_of
        self._labels_of = labels_of
        self._turns: list[tuple[str, str, int, int, str | None, str | None]] = []
        self._values: dict[str, list[float | None]] = {}
        self._stds: dict[str, dict[int, float]] = {}

    @property
    def metrics(self) -> list[str]:
        """See the class."""
        return sorted(self._values, key=lambda name: name != self._headline)

    def add(self, turn: TurnScores) -> None:
        """Take a turn."""
        place = len(self._turns)
        cluster = turn.cluster if turn.cluster is not None else self._cluster_of(turn.case)
        reason = turn.reason if turn.scores else NOT_SCORED
        labels = self._labels_of(turn.case, turn.turn)
        self._turns.append((writable(turn.case), writable(cluster), turn.turn, turn.repeat, reason, labels))
        for name in turn.scores:
            if name not in self._values:
                self._values[name] = [None] * place
        for name, values in self._values.items():
            values.append(turn.scores.get(name))
        for name, std in turn.stds.items():
            self._stds.setdefault(name, {})[place] = std

    def frame(self) -> pl.DataFrame:
        """The rows, metric by metric."""
        turns = pl.DataFrame(
            self._turns,
            schema={
                "case": pl.Categorical(),
                "cluster": pl.Categorical(),
                "turn": pl.Int16(),
                "repeat": pl.Int16(),
                "reason": pl.Categorical(),
                "labels": pl.Categorical(),
            },
            orient="row",
        )
        none = pl.lit(None, pl.Categorical())
        metrics = self.metrics
        frames = []
        for name in metrics:
            stds = self._stds.get(name, {})
            frames.append(
                turns.with_columns(
                    pl.lit(self._run, pl.Categorical()).alias("run"),
                    pl.lit(name, pl.Categorical()).alias("metric"),
                    pl.Series("value", self._values[name], pl.Float64()),
                    pl.Series("std", [stds.get(place, 0.0) for place in range(len(turns))], pl.Float64())
                    if stds
                    else pl.lit(0.0).alias("std"),
                    *([] if name == metrics[0] else [none.alias("reason")]),
                ).select(*SCORES)
            )
        return pl.concat(frames)


def empty_scores() -> pl.DataFrame:
    """The table without rows."""
    return pl.DataFrame(schema=SCORES)
