"""Confidence intervals: Wilson's of a proportion, and those of the mean of clustered scores.

A percentile bootstrap over clusters is too short when there are few of them (measured: 86 to 93 % of the 95 % intervals of
ratings contain the truth with 8 to 10 clusters). Three standard corrections together give what is stated:

* the variance of the mean from the residual sums of clusters, each scaled up for its leverage (CR2; Bell and McCaffrey
  2002, Survey Methodology 28(2));
* a t quantile, its degrees of freedom after Satterthwaite: those that follow from the sizes of the clusters, or, where
  fewer, those that the fourth moments of the cluster sums leave (Valliant and Rust 2010, Journal of Official Statistics
  26(4)). When hits are rare, a few clusters carry the variance, and K - 1 is far too many;
* for shares (values from 0 to 1), Wilson's interval with the effective number of cases, mean * (1 - mean) / variance, in
  place of n (Dean and Pagano 2015, Journal of Survey Statistics and Methodology 3(4)). It stays in 0 to 1.

With clusters of one case each this is Wilson's interval with a slightly larger quantile.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEVEL = 0.95

MIN_CLUSTERS = 60
"""From this many clusters on, 93 to 97 % of the 95 % intervals contain the truth for any share from 5 to 95 %.

Measured in simulation: beta-binomial and logit-normal cluster effects, intraclass correlation 0.05 to 0.3, clusters of 5
to 20 cases, hits and misses and graded scores: 93.6 to 96.2 % with 60 clusters,
93.1 to 96.1 % with 50 (``tests/stats/coverage_simulation.py``; docs/simulations.md).
"""

MIN_CLUSTERS_CENTRAL = 10
"""The same for shares from 20 to 80 %, and for ratings (levels from 5.5 to 9.5 of 10). Below either minimum the interval is
still given; it may then contain the truth less often, in the worst case measured 85 % of the time (5 %, 10 clusters)."""


@dataclass(frozen=True)
class Interval:
    """Ends of a confidence interval."""

    low: float
    high: float


@lru_cache(maxsize=10_000)
def wilson(hits: int, n: int, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a proportion (Wilson 1927; scipy's).

    >>> interval = wilson(8, 200)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0204, 0.0769)

    Raises:
        ValueError: ``n`` is 0 or ``hits`` outside 0..n.
    """
    from scipy.stats import binomtest

    ends = binomtest(hits, n).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(ends.low), float(ends.high))


@dataclass(frozen=True)
class Moments:
    """Mean, variance of the mean and degrees of freedom; one entry for each leading index of the sums."""

    mean: Array
    variance: Array
    df: Array


def cluster_sums(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[Array, Array]:
    """Return sum and number of the values of each cluster, in the order in which the clusters first occur.

    Raises:
        ValueError: no values, or lengths that differ.
    """
    if not len(values) or len(values) != len(clusters):
        raise ValueError(f"{len(values)} values and {len(clusters)} clusters")
    index = {cluster: position for position, cluster in enumerate(dict.fromkeys(clusters))}
    position = np.array([index[cluster] for cluster in clusters])
    sums: Array = np.bincount(position, weights=np.asarray(values, dtype=float)).astype(float)
    sizes: Array = np.bincount(position).astype(float)
    return sums, sizes


def t_quantile(df: Array, level: float) -> Array:
    """Quantile of Student's t that a two-sided interval of this level has."""
    from scipy.special import stdtrit

    found: Array = stdtrit(df, (1 + level) / 2)
    return found


def moments(sums: Array, sizes: Array, *, skewed: bool = True) -> Moments:
    """Return the mean of all cases, its cluster-robust variance (CR2) and the degrees of freedom of that variance.

    Args:
        sums: sum of the values of each cluster, along the last axis (two clusters or more).
        sizes: how many values, of the same shape.
        skewed: let fourth moments lower the degrees of freedom; False for differences, which are about symmetric.
    """
    clusters = sizes.shape[-1]
    n = sizes.sum(axis=-1)
    mean = sums.sum(axis=-1) / n
    share = sizes / n[..., None]
    squares = (sums - sizes * mean[..., None]) ** 2
    leverage = 1 / (1 - share)
    variance = (leverage * squares).sum(axis=-1) / n**2
    weights = leverage * share**2
    by_size = 1 / ((share**2).sum(axis=-1) + weights.sum(axis=-1) ** 2 - (weights**2).sum(axis=-1))
    if not skewed:
        return Moments(mean, variance, np.clip(by_size, 1, None))
    total = squares.sum(axis=-1)
    spread = (squares**2).sum(axis=-1) - total**2 / clusters
    with np.errstate(divide="ignore", invalid="ignore"):
        by_fourth = np.where(spread > 1e-12 * total**2, 2 * total**2 / spread, np.inf)
    return Moments(mean, variance, np.clip(np.minimum(by_size, by_fourth), 1, None))


def cluster_moments(
    values: Sequence[float], clusters: Sequence[Hashable], *, skewed: bool = True
) -> Moments | None:
    """Return :func:`moments` of clustered values; None with a single cluster and when no two cluster means differ: the spread is unknown.

    Raises:
        ValueError: no values, or lengths that differ.
    """
    sums, sizes = cluster_sums(values, clusters)
    return None if len(sums) < 2 or _all_equal(sums / sizes) else moments(sums, sizes, skewed=skewed)


def t_ends(found: Moments, level: float = LEVEL, quantile: Array | None = None) -> tuple[Array, Array]:
    """Return the ends of the t interval of each mean; ``quantile`` where it is already known."""
    q = t_quantile(found.df, level) if quantile is None else quantile
    half = q * np.sqrt(found.variance)
    return found.mean - half, found.mean + half


def wilson_ends(found: Moments, level: float = LEVEL, quantile: Array | None = None) -> tuple[Array, Array]:
    """Return the ends of Wilson's interval with the effective number of cases; nan where the variance is 0. ``quantile`` as in :func:`t_ends`."""
    mean = np.clip(found.mean, 0.0, 1.0)  # sums of fractions may overshoot in the last digit
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(found.variance > 0, mean * (1 - mean) / found.variance, math.nan)
    q = t_quantile(found.df, level) if quantile is None else quantile
    middle, half = _wilson(mean, n, q)
    return middle - half, middle + half


def share_ends(sums: Array, sizes: Array, *, hits: bool, level: float = LEVEL) -> tuple[Array, Array]:
    """Return the ends of Wilson's interval of clustered shares, along the last axis; nan where the spread between clusters is unknown.

    Args:
        sums: sum of the values of each cluster.
        sizes: how many values, of the same shape.
        hits: the values are 0 and 1 alone. All hits or all misses then count as one case for each cluster, and clusters of one
            case each are independent cases.
        level: of confidence.
    """
    clusters = sizes.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = moments(sums, sizes)
        low, high = wilson_ends(found, level)
    unknown = _all_equal(sums / sizes)
    low, high = np.where(unknown, math.nan, low), np.where(unknown, math.nan, high)
    if not hits:
        return low, high
    mean = sums.sum(axis=-1) / sizes.sum(axis=-1)
    same = (mean == 0) | (mean == 1)
    plain = same | (sizes == 1).all(axis=-1)
    if plain.any():
        q = t_quantile(np.array(math.inf), level)
        middle, half = _wilson(mean, np.array(float(clusters)), q)
        low, high = np.where(plain, middle - half, low), np.where(plain, middle + half, high)
    return low, high


def _wilson(mean: Array, n: Array, quantile: Array) -> tuple[Array, Array]:
    """Middle and half of the width."""
    square = quantile**2
    half = quantile * np.sqrt(mean * (1 - mean) * n + square / 4) / (n + square)
    return (mean * n + square / 2) / (n + square), half


def cluster_t(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = LEVEL, *, skewed: bool = True
) -> Interval:
    """Return the t interval of the mean of clustered values on any scale (ratings, errors, differences).

    Its ends are nan where the spread is unknown, see :func:`cluster_moments`. ``skewed`` as in :func:`moments`.

    Raises:
        ValueError: no values, or lengths that differ.
    """
    found = cluster_moments(values, clusters, skewed=skewed)
    if found is None:
        return Interval(math.nan, math.nan)
    low, high = t_ends(found, level)
    return Interval(float(low), float(high))


def cluster_wilson(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    level: float = LEVEL,
    scale: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return Wilson's interval with design effect, for hits and misses, graded shares, or ratings whose scale is known.

    All hits or all misses count as one case for each cluster. Clusters that all have the same mean in between count as
    independent cases. Ends are nan for a single cluster whose values differ, as the spread between clusters is then unknown, and when
    all values are the same and between the ends of the scale.

    Args:
        values: at least one.
        clusters: of each.
        level: of confidence.
        scale: lowest and highest value possible; values are taken as hits and misses on the scale from 0 to 1 only.

    Raises:
        ValueError: no values, values outside the scale, or lengths that differ.
    """
    lowest, highest = scale
    shares = (np.asarray(values, dtype=float) - lowest) / (highest - lowest)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"a score lies outside {lowest:g} to {highest:g}; without a scale, take cluster_t")
    sums, sizes = cluster_sums(shares.tolist(), clusters)
    k, n = len(sums), len(shares)
    if scale == (0.0, 1.0) and bool(np.isin(shares, (0.0, 1.0)).all()):
        if np.ptp(shares) == 0:
            return wilson(k if shares[0] else 0, k, level)
        if k == n:
            return wilson(round(float(shares.sum())), n, level)
    if np.ptp(shares) == 0 or k == 1:
        return Interval(math.nan, math.nan)
    if _all_equal(sums / sizes):
        sums, sizes = shares, np.ones(n)
    low, high = (float(end) for end in wilson_ends(moments(sums, sizes), level))
    width = highest - lowest
    return Interval(lowest + width * max(0.0, low), lowest + width * min(1.0, high))


def _all_equal(means: Array) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = np.ptp(means, axis=-1) <= 1e-12 * np.maximum(1.0, np.abs(means).max(axis=-1))
    return equal
