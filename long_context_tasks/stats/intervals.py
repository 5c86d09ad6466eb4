"""Confidence intervals of a mean: Wilson for independent hits and misses, bootstrap over clusters else."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, bootstrap

LEVEL = 0.95
RESAMPLES = 2_000


@dataclass(frozen=True)
class Interval:
    """Ends of a confidence interval."""

    low: float
    high: float


def wilson(hits: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927; as in scipy).

    >>> interval = wilson(8, 200)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0204, 0.0769)

    Raises:
        ValueError: ``n`` is 0 or ``hits`` outside 0..n.
    """
    ends = binomtest(hits, n).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(ends.low), float(ends.high))


def cluster_bootstrap(
    values: Sequence[float], clusters: Sequence[Hashable], seed: int = 0, level: float = LEVEL
) -> Interval:
    """Percentile bootstrap of the mean that draws whole clusters (books, questions, meetings).

    The mean of a draw is the sum of its values over their number, so clusters of different size keep their weight.
    With a single cluster there is nothing to resample: the ends are not a number.

    Raises:
        ValueError: no values, or lengths that differ.
    """
    if not values or len(values) != len(clusters):
        raise ValueError(f"{len(values)} values and {len(clusters)} clusters")
    index = {cluster: position for position, cluster in enumerate(dict.fromkeys(clusters))}
    position = np.array([index[cluster] for cluster in clusters])
    sums = np.bincount(position, weights=np.asarray(values, dtype=float), minlength=len(index))
    sizes = np.bincount(position, minlength=len(index)).astype(float)
    if len(index) < 2:
        return Interval(math.nan, math.nan)
    if np.all(sums / sizes == sums[0] / sizes[0]):
        # Every cluster has one mean: so has every draw.
        return Interval(float(sums[0] / sizes[0]), float(sums[0] / sizes[0]))
    result = bootstrap(
        (sums, sizes),
        lambda s, n, axis=-1: s.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // len(index)),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return Interval(float(result.confidence_interval.low), float(result.confidence_interval.high))
