"""Scores of cases to the flat numbers that a host's table and result file can hold. Both hosts and `lct runs rescore` use this.

Every mean has its interval and every reason its count, under the same keys in both hosts; keys never depend on
the data, as both hosts fail or complain when they do.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence

from long_context_tasks.schema import CaseScores
from long_context_tasks.schema.reasons import REASONS
from long_context_tasks.stats.means import mean_of_scores


def result_keys(metrics: Sequence[str], intervals: Sequence[str]) -> tuple[str, ...]:
    """Keys of :func:`summarize`, in order."""
    keys: list[str] = []
    for metric in metrics:
        keys.append(metric)
        if metric in intervals:
            keys += [f"{metric}_low", f"{metric}_high"]
    return (*keys, "n", "n_scored", "coverage", "n_truncated", *(f"n_{reason}" for reason in REASONS))


def summarize(
    scores: Sequence[CaseScores],
    clusters: Sequence[Hashable],
    metrics: Sequence[str],
    intervals: Sequence[str],
    n_truncated: float = 0,
    points: Collection[str] = (),
) -> dict[str, float]:
    """Means, intervals and counts of a task.

    Args:
        scores: one mapping per case, each with every metric.
        clusters: the cluster of each case.
        metrics: names, headline first: its reasons are the ones counted.
        intervals: the metrics that get ``_low`` and ``_high``.
        n_truncated: prompts that the host cut; nan when nobody knows, because the window is unknown.
        points: the metrics that are points of a scale and no rates.

    Returns:
        Metric values (rates from 0 to 1; nan when no case counts) and counts, keyed as :func:`result_keys`.
    """
    result: dict[str, float] = {}
    for metric in metrics:
        mean = mean_of_scores([case[metric] for case in scores], clusters, rates=metric not in points)
        result[metric] = mean.value
        if metric in intervals:
            result[f"{metric}_low"], result[f"{metric}_high"] = mean.low, mean.high
    headline = mean_of_scores([case[metrics[0]] for case in scores], clusters)
    result["n"] = headline.total
    result["n_scored"] = headline.n
    result["coverage"] = headline.coverage if scores else math.nan
    result["n_truncated"] = n_truncated
    counted: Mapping[str, int] = headline.reasons
    for reason in REASONS:
        result[f"n_{reason}"] = counted.get(reason, 0)
    return result
