"""The tidy schema of results: what every stored run of either host becomes. Described for users in docs/results_schema.md."""

import re
from dataclasses import dataclass

import polars as pl

RUNS: dict[str, pl.DataType] = {
    "run": pl.String(),  # 16 digits of a hash of host, model, task, options, judge, time and label
    "host": pl.String(),
    "model": pl.String(),  # as it is shown: a local path by its last folder
    "benchmark": pl.String(),
    "task": pl.String(),
    "family": pl.String(),  # the task without length and variant, toy_sort
    "length": pl.Int64(),  # tokens; null for a task that has none
    "variant": pl.String(),  # "" for the plain task
    "wer": pl.Int64(),  # target word error rate, percent; null without noise
    "made": pl.String(),  # as the host wrote it
    "version": pl.Int64(),  # of the task's scores
    "options": pl.String(),  # JSON
    "settings": pl.String(),  # JSON: what repeats of one another share; seeds and places of files are not in it
    "seed": pl.String(),
    "judge": pl.String(),  # name; null where none scored
    "judge_settings": pl.String(),  # JSON
    "headline": pl.String(),
    "metrics": pl.List(pl.String()),
    "points": pl.List(pl.String()),  # metrics that are points of a scale and no rates
    "n_cases_available": pl.Int64(),
    "n_truncated": pl.Float64(),  # not a number if unknown
    "window": pl.String(),
    "host_version": pl.String(),
    "package": pl.String(),
    "commit": pl.String(),  # of the host, or of the folder that it ran in, as it tells; null where it does not
    "provenance": pl.String(),  # JSON: model arguments, generation settings and what else the host tells
    "source": pl.String(),  # folder or bundle, as the user named it
}
"""A row for each run of a task with a model, by one judge."""

SCORES: dict[str, pl.DataType] = {
    "run": pl.Categorical(),
    "case": pl.Categorical(),
    "cluster": pl.Categorical(),
    "turn": pl.Int16(),
    "repeat": pl.Int16(),
    "metric": pl.Categorical(),
    "value": pl.Float64(),  # null where there is none
    "std": pl.Float64(),  # of people's scores around the value; 0 where the value is certain
    "reason": pl.Categorical(),  # why the headline has no value or the lowest; null without one, and in other metrics
    "labels": pl.Categorical(),  # JSON: labels of the turn and its case, as question type and position; null without any
}
"""A row for each metric of each turn of each case. Neither prompts nor responses are in it."""


@dataclass(frozen=True)
class Collection:
    """All that was read.

    Attributes:
        runs: see :data:`RUNS`.
        scores: see :data:`SCORES`.
        problems: files that could not be used, each with the reason and a remedy.
        notes: remarks on the numbers: names shown as one model, unknown clusters.
    """

    runs: pl.DataFrame
    scores: pl.DataFrame
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def moment(made: str) -> str:
    """Return the digits of a time as a host wrote it, by which times are sorted.

    >>> moment("2026-01-31T10-00-00.5"), moment("20260131_100000")
    ('202601311000005', '20260131100000')
    """
    return re.sub(r"\D", "", made)[:20]
