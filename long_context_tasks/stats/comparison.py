"""Is one model better than another? Paired comparison over the cases that both could take, clusters kept whole.

The difference is that of the means over common cases. Its interval is a t interval over clusters (see
:mod:`long_context_tasks.stats.intervals`; a percentile bootstrap over few clusters is too short). Its p is that of a
permutation test which swaps the two models in whole clusters (sign flips of the clusters' differences; Fisher 1935):
exact under the hypothesis that the names of the models do not matter, whatever the number and size of the clusters. For
hits and misses of independent cases it is McNemar's test with mid-p, which counts half of the probability of what was observed
(Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13): the exact test errs far less often than it may. It tests
exchangeability, not means: two models of equal means whose differences are skewed may fail it. A claim that a model is better therefore needs the interval of the difference beside a small p
(:attr:`PairedComparison.better`).

That two models are the same within a margin is shown by two one-sided t tests over clusters (Schuirmann 1987), equal to a 90 % interval
of the difference within the margin.

What a number of cases can detect follows from the power of the two-sided t test on cluster means, by the noncentral t distribution.
Clusters enlarge the variance by the design effect 1 + (m - 1) * icc (Kish 1965); its degrees of freedom are the clusters less one
(paired) or less two (unpaired). Two models that answer the same cases are compared paired: the spread that counts is that of their
differences, which is the smaller, the more alike they are.
"""

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from long_context_tasks.stats.intervals import (
    Array,
    Interval,
    Moments,
    cluster_moments,
    cluster_sums,
    t_ends,
    t_quantile,
)

TestMethod = Literal["mcnemar", "exact", "monte_carlo"]
Alternative = Literal["less", "greater", "two-sided"]

MIN_TEST_CLUSTERS = 6
"""Fewest clusters for a test: with five, p is at least 2 / 2**5 = 0.06 even when all of them differ in the same direction."""

MONTE_CARLO = 9_999
"""Random sign flips where there are too many to take all; p = (1 + those as extreme) / (1 + MONTE_CARLO)."""

POWER = 0.8
ALPHA = 0.05

_MOST_SUMS = 2_000_000
"""Largest table of exact sums for differences that are whole numbers."""


@dataclass(frozen=True)
class PairedComparison:
    """Two models over the cases that both could take.

    Attributes:
        first, second: names.
        n: common cases, which alone are in the means, the difference and the test.
        clusters: clusters of these.
        only_first, only_second: cases that only one of them could take, left out.
        neither: cases that neither could take.
        mean_first, mean_second: over the common cases.
        difference: first minus second; nan without common cases.
        interval: 95 %, over clusters; ends are nan when the spread is unknown.
        p: two-sided; nan without a test.
        method: how p was found; None without a test.
        p_holm: p for the whole family, chance of any false claim (Holm 1979); filled by :func:`adjust`.
        p_fdr: p for the whole family, share of false claims (Benjamini and Hochberg 1995); filled by :func:`adjust`.
        family: tests in that family; 0 before :func:`adjust`.
        margin: differences below it count as none; None where no margin was asked for.
        p_same: of the hypothesis that the models differ by the margin or more; nan without a margin, a test or a known spread.
        p_same_holm: the same for all tests of a margin in the family.
        reason: why there is no test; None with one.
    """

    first: str
    second: str
    n: int
    clusters: int
    only_first: int
    only_second: int
    neither: int
    mean_first: float
    mean_second: float
    difference: float
    interval: Interval
    p: float
    method: TestMethod | None
    p_holm: float = math.nan
    p_fdr: float = math.nan
    family: int = 0
    reason: str | None = None
    margin: float | None = None
    p_same: float = math.nan
    p_same_holm: float = math.nan

    @property
    def left_out(self) -> int:
        """Cases that only one of the models could take."""
        return self.only_first + self.only_second

    @property
    def agrees(self) -> bool:
        """Whether the interval leaves out 0, so far as there is one."""
        return not self.interval.low <= 0 <= self.interval.high

    @property
    def better(self) -> str | None:
        """The model that is better after :func:`adjust`, by the test and by the interval; None where neither is shown to be."""
        if not (self.p_holm < ALPHA and self.agrees):
            return None
        return self.first if self.difference > 0 else self.second

    @property
    def same(self) -> bool:
        """Whether the models are shown to be the same within the margin, after :func:`adjust`."""
        return self.p_same_holm < ALPHA


def compare_paired(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    seed: int = 0,
    margin: float | None = None,
) -> PairedComparison:
    """Compare two models, each a name and its scores in one order of cases; ``None`` is a case it could not take.

    >>> found = compare_paired(("a", [1, 1, 1, 0, None, 1, 1, 1]), ("b", [0, 1, 0, 0, 1, 0, 0, 0]), range(8))
    >>> found.n, found.left_out, round(found.difference, 3), found.method, round(found.p, 3)
    (7, 1, 0.714, 'mcnemar', 0.031)

    Args:
        first: name and scores.
        second: name and scores.
        clusters: of the cases (meeting, book, question).
        seed: of the Monte Carlo test.
        margin: difference of means below which the models count as the same; None tests no such thing.

    Raises:
        ValueError: lengths differ, or a margin that is not above 0.
    """
    if margin is not None and not margin > 0:
        raise ValueError(f"a margin of {margin}; nothing is the same within it")
    cases = list(zip(first[1], second[1], clusters, strict=True))
    common = [(x, y, cluster) for x, y, cluster in cases if x is not None and y is not None]
    n, kept = len(common), [cluster for _, _, cluster in common]
    k = len(set(kept))
    x, y = np.array([row[0] for row in common], float), np.array([row[1] for row in common], float)
    reason, p, p_same, method = None, math.nan, math.nan, None
    if k < MIN_TEST_CLUSTERS:
        reason = f"{k} clusters; a test needs {MIN_TEST_CLUSTERS}" if n else "no case that both could take"
    else:
        hits = k == n and are_hits(x, y)
        p, method = sign_flips(cluster_sums((x - y).tolist(), kept)[0], seed, hits=hits)
        if margin is not None and (found := moments_of_difference(x, y, kept)) is not None:
            p_same = float(p_of_same(found, margin))
    return PairedComparison(
        first[0],
        second[0],
        n=n,
        clusters=k,
        only_first=sum(x is not None and y is None for x, y, _ in cases),
        only_second=sum(x is None and y is not None for x, y, _ in cases),
        neither=sum(x is None and y is None for x, y, _ in cases),
        mean_first=math.fsum(x) / n if n else math.nan,
        mean_second=math.fsum(y) / n if n else math.nan,
        difference=math.fsum(x - y) / n if n else math.nan,
        interval=interval_of_difference(x, y, kept),
        p=p,
        method=method,
        reason=reason,
        margin=margin,
        p_same=p_same,
    )


def moments_of_difference(x: Array, y: Array, clusters: Sequence[Hashable]) -> Moments | None:
    """Return the mean difference over common cases and the variance of it; None where the spread between clusters is unknown.

    Two cases are added to hits and misses, one that only the first model hits and one that only the second, as Bonett and
    Price (2012), Journal of Educational and Behavioral Statistics 37(4), do for independent cases: where the models
    hardly ever differ, the plain variance would be far too small, or nothing at all.
    """
    if len(set(clusters)) < 2:
        return None
    differences = (x - y).tolist()
    if not are_hits(x, y):
        return cluster_moments(differences, clusters, skewed=False)
    # Cluster names in tuples, so that no name equals those of the two added cases.
    own: list[Hashable] = [(cluster,) for cluster in clusters]
    return cluster_moments([*differences, 1.0, -1.0], [*own, 0, 1], skewed=False)


def are_hits(x: Array, y: Array) -> bool:
    """Return whether all scores of two models are 0 or 1."""
    return bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())


def interval_of_difference(x: Array, y: Array, clusters: Sequence[Hashable]) -> Interval:
    """Return the 95 % interval of the difference of means over common cases; see :func:`moments_of_difference`."""
    found = moments_of_difference(x, y, clusters)
    if found is None:
        return Interval(math.nan, math.nan)
    low, high = map(float, t_ends(found))
    return Interval(max(-1.0, low), min(1.0, high)) if are_hits(x, y) else Interval(low, high)


def p_of_same(found: Moments, margin: float) -> Array:
    """Return p of the larger of two one-sided t tests: that the difference is not above minus the margin, and not below the margin."""
    from scipy.special import stdtr

    p: Array = stdtr(found.df, (np.abs(found.mean) - margin) / np.sqrt(found.variance))
    return p


def sign_flips(sums: Array, seed: int = 0, *, hits: bool = False) -> tuple[float, TestMethod]:
    """Return the two-sided p of the sum of the clusters' differences when each may as well have the other sign, and how it was found.

    All sign flips are taken where that is possible: by the binomial where every cluster that differs at all differs by
    the same amount (with mid-p for ``hits``, of independent cases: McNemar), by the distribution of the sum where the differences are whole numbers, one by one up to
    13 clusters; else :data:`MONTE_CARLO` random ones.
    """
    moved = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(sums).max(initial=0)))]
    if not len(moved):
        return 1.0, "exact"
    size = np.abs(moved)
    from scipy.stats import binom, permutation_test

    if np.ptp(size) <= 1e-9 * size.max():
        fewer = min(int((moved > 0).sum()), int((moved < 0).sum()))
        p = float(2 * binom.cdf(fewer, len(moved), 0.5))
        if hits:
            return min(1.0, p - float(binom.pmf(fewer, len(moved), 0.5))), "mcnemar"
        return min(1.0, p), "exact"
    whole = np.rint(size).astype(int)
    if whole.min() > 0 and np.abs(size - whole).max() < 1e-9 and len(whole) * int(whole.sum()) <= _MOST_SUMS:
        total, observed = int(whole.sum()), int(np.rint(abs(moved.sum())))
        # chances[s]: of the positive ones summing to s; the signed sum is then 2 s - total
        chances = np.zeros(total + 1)
        chances[0] = 1.0
        for step in whole:
            chances = (chances + np.concatenate([np.zeros(step), chances[:-step]])) / 2
        signed = np.abs(2 * np.arange(total + 1) - total)
        return float(min(1.0, chances[signed >= observed].sum())), "exact"
    test = permutation_test(
        (moved,),
        # Rounded, so that sums that are equal but for the order of adding count as equal.
        lambda d, axis=-1: np.round(d.sum(axis=axis) / size.max(), 10),
        permutation_type="samples",
        vectorized=True,
        n_resamples=MONTE_CARLO,
        batch=max(1, 1_000_000 // len(moved)),
        rng=np.random.default_rng(seed),
    )
    return float(min(1.0, test.pvalue)), "exact" if 2 ** len(moved) <= MONTE_CARLO else "monte_carlo"


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust the p values of a family after Holm (1979): the chance of any false claim stays below alpha.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = highest
    return adjusted


def adjust(comparisons: Sequence[PairedComparison]) -> list[PairedComparison]:
    """Fill ``p_holm``, ``p_fdr``, ``p_same_holm`` and ``family``; all tests given are one family, those of a margin another.

    Comparisons without a test do not count.
    """
    from scipy.stats import false_discovery_control

    found = list(comparisons)
    tested = [place for place, comparison in enumerate(found) if not math.isnan(comparison.p)]
    ps = [found[place].p for place in tested]
    by_fdr = false_discovery_control(ps).tolist() if ps else []
    for place, by_holm, fdr in zip(tested, holm(ps), by_fdr, strict=True):
        found[place] = replace(found[place], p_holm=by_holm, p_fdr=fdr, family=len(ps))
    same = [place for place, comparison in enumerate(found) if not math.isnan(comparison.p_same)]
    for place, by_holm in zip(same, holm([found[place].p_same for place in same]), strict=True):
        found[place] = replace(found[place], p_same_holm=by_holm)
    return found


@dataclass(frozen=True)
class WelchTest:
    """Outcome of the test of ``first`` against ``second``.

    Attributes:
        t: positive when the first mean is the higher one.
        df: degrees of freedom after Welch and Satterthwaite.
        p: of the alternative; nan when neither group varies.
        mean_first, mean_second, n_first, n_second: of the two groups.
    """

    t: float
    df: float
    p: float
    mean_first: float
    mean_second: float
    n_first: int
    n_second: int


def welch_test(
    first: Sequence[float], second: Sequence[float], alternative: Alternative = "less"
) -> WelchTest:
    """Test whether two groups differ in their mean, without assuming equal variances (Welch 1947; scipy's).

    By default one-tailed: the alternative is that the first mean is below the second. The test takes every score as independent;
    report an interval over clusters beside it where that matters.

    >>> test = welch_test([1, 2, 3, 4], [3, 4, 5, 8])
    >>> round(test.t, 4), round(test.df, 4), round(test.p, 4)
    (-1.9868, 4.9005, 0.0524)

    Raises:
        ValueError: fewer than two scores in a group.
    """
    if len(first) < 2 or len(second) < 2:
        raise ValueError(f"the test needs two scores in each group; there are {len(first)} and {len(second)}")
    from scipy.stats import ttest_ind

    result = ttest_ind(first, second, equal_var=False, alternative=alternative)
    return WelchTest(
        t=float(result.statistic),
        df=float(result.df),
        p=float(result.pvalue),
        mean_first=sum(first) / len(first),
        mean_second=sum(second) / len(second),
        n_first=len(first),
        n_second=len(second),
    )


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
        reason: why nothing is detected; None otherwise.
    """

    difference: float
    n: int
    clusters: int
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
        return Detectable(math.nan, n, clusters, f"{clusters} clusters; a test needs {MIN_TEST_CLUSTERS}")
    if spread.sd == 0:
        return Detectable(0.0, n, clusters)
    from scipy.optimize import brentq

    def lacking(difference: float) -> float:
        return power_of(difference, n, clusters, spread, paired=paired, alpha=alpha) - power

    step = high = spread.sd * math.sqrt(2 * spread.design_effect / n)
    while lacking(high) < 0:
        high *= 2
    return Detectable(float(brentq(lacking, 0.0, high, xtol=step * 1e-9)), n, clusters)


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
    low = max(MIN_TEST_CLUSTERS, high // 2)
    k = low + bisect_left(range(low, high), True, key=enough)
    return Detectable(abs(difference), round(k * spread.cluster_size), k)
