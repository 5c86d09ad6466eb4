"""Bootstrap of any statistic that draws whole clusters.

Questions about one meeting share its transcript, its noise and its annotators, so their scores are not independent.
Intervals therefore resample meetings (books, threads), never single questions (Davison and Hinkley 1997, section 3.8).
With few clusters, say under 20, percentile intervals come out somewhat short.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.intervals import LEVEL, RESAMPLES, Interval

Rows = NDArray[np.intp]


def drawn_clusters(n_clusters: int, seed: int = 0, resamples: int = RESAMPLES) -> Rows:
    """Numbers of the clusters in each draw: as many as there are, with replacement; one row a draw.

    One seed gives the same draws for every statistic, so those of several pairs of raters belong together.
    """
    return np.random.default_rng(seed).integers(0, n_clusters, size=(resamples, n_clusters), dtype=np.intp)


def cluster_numbers(clusters: Sequence[Hashable]) -> Rows:
    """The clusters as numbers from 0, in the order in which they first occur."""
    index = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([index[cluster] for cluster in clusters], dtype=np.intp)


def cluster_draws(clusters: Sequence[Hashable], seed: int = 0, resamples: int = RESAMPLES) -> Iterator[Rows]:
    """Row numbers of each draw of :func:`drawn_clusters`: every cluster with all its rows."""
    numbers = cluster_numbers(clusters)
    rows = [np.flatnonzero(numbers == number) for number in range(len(set(clusters)))]
    for drawn in drawn_clusters(len(rows), seed, resamples):
        yield np.concatenate([rows[number] for number in drawn])


def cluster_interval(
    statistic: Callable[[Rows], float],
    clusters: Sequence[Hashable],
    seed: int = 0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """Percentile interval of ``statistic``, which takes the row numbers of a draw.

    Draws in which the statistic is not a number (a correlation with a rater who gave one score throughout) are left out.
    With a single cluster there is nothing to resample: the ends are not a number; nor are they when over half of the
    draws are left out.
    """
    if len(set(clusters)) < 2:
        return Interval(float("nan"), float("nan"))
    draws = cluster_draws(clusters, seed, resamples)
    return percentiles(np.array([statistic(rows) for rows in draws], dtype=float), level)


def percentiles(found: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Percentile interval of the values of all draws; see :func:`cluster_interval` for those that are not a number."""
    kept = found[~np.isnan(found)]
    if 2 * len(kept) < len(found):
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
