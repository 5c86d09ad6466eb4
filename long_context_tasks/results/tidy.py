"""The tidy schema of results, into which the runs of every host are read; docs/results_schema.md describes it for users."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from long_context_tasks.results.reuse import NO_REUSE, Reuse

RUNS: dict[str, pl.DataType] = {
    "run": pl.String(),  # 16 digits of a hash of host, model, task, options, judge, time and label
    "host": pl.String(),
    "model": pl.String(),  # as shown: a local path by its last folder
    "benchmark": pl.String(),
    "task": pl.String(),
    "family": pl.String(),  # the task without length and variant, toy_sort
    "length": pl.Int64(),  # tokens; null for a task without a length
    "variant": pl.String(),  # "" for the plain task
    "wer": pl.Int64(),  # target word error rate, percent; null without noise
    "made": pl.String(),  # as the host wrote it
    "version": pl.Int64(),  # of the task's scores
    "options": pl.String(),  # JSON
    "settings": pl.String(),  # JSON: what repeats share; neither seeds nor places of files
    "seed": pl.String(),
    "judge": pl.String(),  # name; null without a judge
    "judge_settings": pl.String(),  # JSON
    "headline": pl.String(),
    "metrics": pl.List(pl.String()),
    "points": pl.List(pl.String()),  # metrics that are points of a scale and not rates
    "n_cases_available": pl.Int64(),
    "n_truncated": pl.Float64(),  # NaN if unknown
    "window": pl.String(),
    "host_version": pl.String(),
    "package": pl.String(),
    "commit": pl.String(),  # of the host, or of the folder it ran in; null if not recorded
    "provenance": pl.String(),  # JSON: model arguments, generation settings and whatever else the host records
    "source": pl.String(),  # folder or bundle, as the user named it
}
"""A row for each run of a task with a model, by one judge."""

ORDER = ("benchmark", "family", "wer", "variant", "length", "task")
"""Columns by which tables are sorted; null comes first."""

SCORES: dict[str, pl.DataType] = {
    "run": pl.Categorical(),
    "case": pl.Categorical(),
    "cluster": pl.Categorical(),
    "turn": pl.Int16(),
    "repeat": pl.Int16(),
    "metric": pl.Categorical(),
    "value": pl.Float64(),  # null if not scored
    "std": pl.Float64(),  # of people's scores around the value; 0 if the value is certain
    "reason": pl.Categorical(),  # why the headline is missing or lowest; null without a reason, and in other metrics
    "labels": pl.Categorical(),  # JSON: labels of the turn and its case, such as question type and position; null without any
}
"""A row for each metric of each turn of each case. It holds neither prompts nor responses."""


@dataclass(frozen=True)
class Collection:
    """Runs and scores as tables."""

    runs: pl.DataFrame  # see RUNS
    scores: pl.DataFrame  # see SCORES
    problems: tuple[str, ...] = ()  # files that could not be used, each with the reason and a remedy
    notes: tuple[str, ...] = ()  # remarks on the numbers, such as names shown as one model
    # Hash of the files of each run, by its key; a run without one is computed from each time.
    contents: Mapping[str, str] = field(default_factory=dict, repr=False)
    reuse: Reuse = field(default=NO_REUSE, repr=False)  # results of earlier reports

    def key(self, kind: Any, runs: Iterable[str], *parts: Any) -> bytes | None:
        """Return the key of a value that is made from the scores of some runs and from ``parts``; None if it cannot be kept."""
        contents = [self.contents.get(run) for run in runs]
        return None if None in contents else self.reuse.key(str(kind), contents, *parts)

    def scores_by_run(self) -> dict[str, pl.DataFrame]:
        parts = self.scores.partition_by("run", as_dict=True, maintain_order=True)
        return {str(run): scores for (run,), scores in parts.items()}


@dataclass(frozen=True)
class TidyRun:
    """A run as rows of the tidy schema."""

    row: Mapping[str, Any]  # its row of RUNS
    label: str  # label of the judge, see judge_label
    scores: pl.DataFrame = field(repr=False)  # its rows of SCORES

    def numbers(self) -> dict[str, float]:
        """Compute means and counts from the scores, under the names that a host's result file has."""
        # As lists, because grouping a frame takes longer than going through a run's rows.
        metrics, values, reasons = (self.scores[name].to_list() for name in ("metric", "value", "reason"))
        scored: dict[str, list[float]] = {name: [] for name in metrics}
        for name, value in zip(metrics, values, strict=True):
            if value is not None:
                scored[name].append(value)
        numbers = {
            name: math.fsum(known) / len(known) if known else math.nan for name, known in scored.items()
        }
        headline, truncated = self.row["headline"], self.row["n_truncated"]
        numbers |= {"n": float(metrics.count(headline)), "n_scored": float(len(scored.get(headline, ())))}
        numbers["n_truncated"] = math.nan if truncated is None else float(truncated)
        of_headline = (reason for name, reason in zip(metrics, reasons, strict=True) if name == headline)
        counts = Counter(filter(None, of_headline))
        return numbers | {f"n_{name}": float(count) for name, count in counts.items()}


def moment(made: str) -> str:
    """Return the digits of a time as a host wrote it; times are sorted by them.

    >>> moment("2026-01-31T10-00-00.5"), moment("20260131_100000")
    ('202601311000005', '20260131100000')
    """
    return "".join(filter(str.isdecimal, made))[:20]
