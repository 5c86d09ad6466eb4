"""What a number of cases can detect: smallest difference of two means, and cases that a wanted difference needs.

Power of the two-sided t test on cluster means, by the noncentral t distribution. Clusters enlarge the variance by the
design effect 1 + (m - 1) * icc (Kish 1965); its degrees of freedom are the clusters less one (paired) or less two
(unpaired). Two models that answer the same cases are compared paired: the spread that counts is that of their
differences, which is the smaller, the more alike they are.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from long_context_tasks.stats.comparison import MIN_TEST_CLUSTERS
from long_context_tasks.stats.intervals import cluster_sums, t_quantile

POWER = 0.8
ALPHA = 0.05
_MOST_CASES = 10**8


@dataclass(frozen=True)
class Spread:
    """How scores (or differences of paired scores) spread.

    Attributes:
        sd: standard deviation of one case.
        icc: intraclass correlation, 0 to 1: the share of the variance that clusters have in common.
        cluster_size: cases in a cluster, weighted by size (sum of squares over sum).
    """

    sd: float
    icc: float = 0.0
    cluster_size: float = 1.0

    @property
    def design_effect(self) -> float:
        """Variance of the mean against that of as many independent cases."""
        return 1 + (self.cluster_size - 1) * self.icc


@dataclass(frozen=True)
class Detectable:
    """A difference, and the cases that find it with the stated power.

    Attributes:
        difference: smallest that is detected; nan where nothing is.
        n: cases (unpaired: of each model).
        clusters: of these cases.
        spread: assumed.
        paired: both models on the same cases.
        power, alpha: of the two-sided test.
        reason: why nothing is detected; None otherwise.
    """

    difference: float
    n: int
    clusters: int
    spread: Spread
    paired: bool
    power: float
    alpha: float
    reason: str | None = None


def spread_of(values: Sequence[float], clusters: Sequence[Hashable]) -> Spread:
    """Return the spread of scores, or of differences of paired scores.

    The intraclass correlation is that of the analysis of variance (ICC(1,1) for unequal clusters; Donner 1986), at least 0.
    It is 0 where every cluster has one case.

    Raises:
        ValueError: fewer than two clusters, or lengths that differ.
    """
    sums, sizes = cluster_sums(values, clusters)
    array = np.asarray(values, dtype=float)
    n, k = len(array), len(sums)
    if k < 2:
        raise ValueError(f"{k} cluster; the spread between clusters needs two")
    size = float((sizes**2).sum() / n)
    total = float(((array - array.mean()) ** 2).sum())
    if n == k or total == 0:
        return Spread(math.sqrt(total / (n - 1)), 0.0, size)
    between = float((sizes * (sums / sizes - array.mean()) ** 2).sum())
    within = max(0.0, total - between) / (n - k)
    typical = (n - size) / (k - 1)
    shared = max(0.0, (between / (k - 1) - within) / typical)
    return Spread(math.sqrt(shared + within), shared / (shared + within), size)


def hit_spread(rate: float, icc: float = 0.0, cluster_size: float = 1.0) -> Spread:
    """Return the spread of the hits and misses of a model with this rate.

    Raises:
        ValueError: ``rate`` outside 0 to 1.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate of {rate}")
    return Spread(math.sqrt(rate * (1 - rate)), icc, cluster_size)


def discordant_spread(
    discordant: float, difference: float = 0.0, icc: float = 0.0, cluster_size: float = 1.0
) -> Spread:
    """Return the spread of the differences of two models' hits and misses on the same cases.

    Args:
        discordant: share of the cases that exactly one of the models hits.
        difference: of the two rates; the spread is largest at 0.
        icc: intraclass correlation of the differences.
        cluster_size: cases in a cluster.

    Raises:
        ValueError: ``discordant`` outside 0 to 1, or below the difference.
    """
    if not abs(difference) <= discordant <= 1:
        raise ValueError(f"{discordant} of the cases cannot make a difference of {difference}")
    return Spread(math.sqrt(discordant - difference**2), icc, cluster_size)


def power_of(
    difference: float, n: int, clusters: int, spread: Spread, *, paired: bool = True, alpha: float = ALPHA
) -> float:
    """Return the chance that the two-sided t test over clusters finds a true difference.

    Args:
        difference: of the two means.
        n: cases (unpaired: of each model).
        clusters: of these cases.
        spread: of the paired differences; unpaired, of the scores of one model.
        paired: both models on the same cases.
        alpha: level of the test.
    """
    if clusters < 2:
        return 0.0
    sides = 1 if paired else 2
    error = spread.sd * math.sqrt(sides * spread.design_effect / n)
    if error == 0:
        return float(difference != 0)
    df = sides * (clusters - 1)
    from scipy.stats import nct

    bar = float(t_quantile(np.array(df, dtype=float), 1 - alpha))
    shift = abs(difference) / error
    # the far tail underflows to nan in scipy for large shifts, where it is 0
    return float(nct.sf(bar, df, shift) + np.nan_to_num(nct.cdf(-bar, df, shift)))


def smallest_difference(
    n: int,
    clusters: int,
    spread: Spread,
    *,
    paired: bool = True,
    power: float = POWER,
    alpha: float = ALPHA,
) -> Detectable:
    """Return the smallest difference of means that ``n`` cases in ``clusters`` clusters detect.

    >>> found = smallest_difference(200, 200, discordant_spread(0.2))
    >>> round(found.difference, 4)
    0.089

    Args:
        n: cases (unpaired: of each model).
        clusters: of these cases.
        spread: of the paired differences; unpaired, of the scores of one model. Its cluster size counts as ``n / clusters``
            where that is larger.
        paired: both models on the same cases.
        power: wanted.
        alpha: level of the two-sided test.

    Raises:
        ValueError: more clusters than cases, or none.
    """
    if not 0 < clusters <= n:
        raise ValueError(f"{n} cases in {clusters} clusters")
    spread = Spread(spread.sd, spread.icc, max(spread.cluster_size, n / clusters))
    if clusters < MIN_TEST_CLUSTERS:
        reason = f"{clusters} clusters; a test needs {MIN_TEST_CLUSTERS}"
        return Detectable(math.nan, n, clusters, spread, paired, power, alpha, reason)

    def lacking(difference: float) -> float:
        return power_of(difference, n, clusters, spread, paired=paired, alpha=alpha) - power

    found = 0.0 if spread.sd == 0 else _root(lacking, spread.sd * math.sqrt(2 * spread.design_effect / n))
    return Detectable(found, n, clusters, spread, paired, power, alpha)


def cases_needed(
    difference: float,
    spread: Spread,
    *,
    paired: bool = True,
    power: float = POWER,
    alpha: float = ALPHA,
) -> Detectable:
    """Return the fewest cases, in whole clusters of ``spread.cluster_size``, that detect ``difference``.

    >>> cases_needed(0.05, discordant_spread(0.2, 0.05)).n
    622

    Raises:
        ValueError: the difference is 0, or needs more than a hundred million clusters.
    """
    if difference == 0:
        raise ValueError("no number of cases detects a difference of 0")

    def enough(clusters: int) -> bool:
        n = max(1, round(clusters * spread.cluster_size))
        return power_of(difference, n, clusters, spread, paired=paired, alpha=alpha) >= power

    high = MIN_TEST_CLUSTERS
    while not enough(high):
        high *= 2
        if high > _MOST_CASES:
            raise ValueError(f"a difference of {difference} needs over {_MOST_CASES:,} clusters")
    low = max(MIN_TEST_CLUSTERS - 1, high // 2 if high > MIN_TEST_CLUSTERS else 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    n = round(high * spread.cluster_size)
    return Detectable(abs(difference), n, high, spread, paired, power, alpha)


def _root(lacking: Callable[[float], float], step: float) -> float:
    high = step
    while lacking(high) < 0:
        high *= 2
    from scipy.optimize import brentq

    return float(brentq(lacking, 0.0, high, xtol=step * 1e-9))
