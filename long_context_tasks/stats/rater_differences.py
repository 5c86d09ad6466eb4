"""Is one rater nearer to people than another? Differences of correlation and of error over the same items, with intervals that draw whole clusters."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from long_context_tasks.stats.clustered import cluster_t
from long_context_tasks.stats.correlation import correlate
from long_context_tasks.stats.correlation_draws import MOST_ROWS, draws_of, spearman_of_draws
from long_context_tasks.stats.intervals import Interval
from long_context_tasks.stats.resampling import cluster_interval, cluster_numbers, drawn_clusters, percentiles

Outcome = Literal["wins", "loses", "open"]


@dataclass(frozen=True)
class Difference:
    """First rater minus second.

    Attributes:
        value: of all items.
        interval: 95 %, over clusters; both raters are seen in the same draws.
        outcome: of the first: ``open`` where the interval holds 0 or there is none.
    """

    value: float
    interval: Interval
    outcome: Outcome


def _outcome(interval: Interval, *, more_is_better: bool) -> Outcome:
    if interval.low > 0:
        return "wins" if more_is_better else "loses"
    if interval.high < 0:
        return "loses" if more_is_better else "wins"
    return "open"


def rho_difference(
    first: Sequence[float],
    second: Sequence[float],
    truth: Sequence[float],
    clusters: Sequence[Hashable],
    seed: int = 0,
) -> Difference:
    """Difference of two raters' Spearman correlations with the truth.

    Raises:
        ValueError: lengths differ.
    """
    x, y, people = (np.asarray(each, dtype=float) for each in (first, second, truth))
    value = correlate(x, people, "spearman") - correlate(y, people, "spearman")
    if len(people) != len(clusters):
        raise ValueError(f"{len(people)} items and {len(clusters)} clusters")
    n_clusters = len(set(clusters))
    if math.isnan(value):
        interval = Interval(math.nan, math.nan)
    elif n_clusters > 1 and max(len(x), 4 * n_clusters) <= MOST_ROWS:
        draws = draws_of(cluster_numbers(clusters), drawn_clusters(n_clusters, seed))
        interval = percentiles(spearman_of_draws(x, people, draws) - spearman_of_draws(y, people, draws))
    else:
        interval = cluster_interval(
            lambda rows: (
                correlate(x[rows], people[rows], "spearman") - correlate(y[rows], people[rows], "spearman")
            ),
            clusters,
            seed,
        )
    return Difference(value, interval, _outcome(interval, more_is_better=True))


def mae_difference(
    first: Sequence[float],
    second: Sequence[float],
    truth: Sequence[float],
    clusters: Sequence[Hashable],
) -> Difference:
    """Difference of two raters' mean absolute errors; below 0 the first is nearer to the truth.

    Raises:
        ValueError: no items, or lengths differ.
    """
    values = [abs(a - t) - abs(b - t) for a, b, t in zip(first, second, truth, strict=True)]
    interval = cluster_t(values, clusters, skewed=False)
    return Difference(math.fsum(values) / len(values), interval, _outcome(interval, more_is_better=False))
