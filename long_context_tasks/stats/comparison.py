"""Paired comparison of two models over the cases that both have a score for, with clusters kept whole.

* Interval of the difference: t over clusters (see :mod:`long_context_tasks.stats.intervals`); with few
  clusters, percentile bootstrap intervals are too short.
* Test: sign flips of whole clusters' differences (Fisher 1935), exact for any number and size of clusters if
  the models are exchangeable. For hits and misses of independent cases this is McNemar's test, with mid-p
  (Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13), because the exact test is far too
  conservative.
* The test is about exchangeability, not means: two models with equal means but skewed differences may still
  yield a small p. Claiming that a model is better therefore requires both a small p and an interval that
  excludes 0 (:attr:`PairedComparison.better`).
* Equivalence within a margin: two one-sided t tests over clusters (Schuirmann 1987), equivalent to a 90 %
  interval inside the margin.
* Smallest detectable difference: power of the two-sided t test on cluster means, from the noncentral t
  distribution. Clustering inflates the variance by the design effect 1 + (m - 1) * icc (Kish 1965).
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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

ALPHA = 0.05
POWER = 0.8
# With five clusters, p is at least 2 / 2**5 = 0.06 even if all differ in the same direction.
MIN_TEST_CLUSTERS = 6
# Random sign flips, if too many to enumerate; p is (1 + number as extreme) / (1 + MONTE_CARLO).
MONTE_CARLO = 9_999
# Maximum cells (8 bytes each) in the table of sums of integer differences.
_MOST_SUMS = 2_000_000


@dataclass(frozen=True)
class PairedComparison:
    """Two models over the cases that both have a score for."""

    first: str
    second: str
    n: int  # number of common cases; means, difference and test use only these
    clusters: int
    # only_first, only_second: cases scored for only one model, which are excluded
    only_first: int
    only_second: int
    neither: int
    mean_first: float
    mean_second: float
    difference: float  # first minus second; nan without common cases
    interval: Interval  # 95 %, over clusters; bounds are nan if the spread is unknown
    p: float  # two-sided; nan without a test
    method: TestMethod | None  # method that produced p; None without a test
    # Holm-adjusted p (1979), controlling the chance of any false claim in the family; set by adjust.
    p_holm: float = math.nan
    # Benjamini-Hochberg-adjusted p (1995), controlling the share of false claims in the family; set by
    # adjust.
    p_fdr: float = math.nan
    family: int = 0  # number of tests in the family; 0 before adjust
    reason: str | None = None  # why the models were not tested; None if they were
    margin: float | None = None  # smallest difference that matters; None if equivalence was not tested
    # p for the hypothesis that the models differ by at least the margin; nan without a margin, a test or a
    # known spread.
    p_same: float = math.nan
    p_same_holm: float = math.nan  # the same, adjusted for all equivalence tests in the family

    @property
    def left_out(self) -> int:
        return self.only_first + self.only_second

    @property
    def agrees(self) -> bool:
        """Whether the interval excludes 0; True if the interval is unknown."""
        return not self.interval.low <= 0 <= self.interval.high

    @property
    def better(self) -> str | None:
        """The better model by both test and interval, after :func:`adjust`; None if neither is better."""
        if not (self.p_holm < ALPHA and self.agrees):
            return None
        return self.first if self.difference > 0 else self.second

    @property
    def same(self) -> bool:
        """Whether the models are shown to be equivalent within the margin, after :func:`adjust`."""
        return self.p_same_holm < ALPHA


def compare_paired(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    seed: int = 0,
    margin: float | None = None,
) -> PairedComparison:
    """Compare two models, each given as its name and its scores in a common case order.

    >>> found = compare_paired(("a", [1, 1, 1, 0, None, 1, 1, 1]), ("b", [0, 1, 0, 0, 1, 0, 0, 0]), range(8))
    >>> found.n, found.left_out, round(found.difference, 3), found.method, round(found.p, 3)
    (7, 1, 0.714, 'mcnemar', 0.031)

    ``None`` marks a case without a score. ``margin`` is the difference of means below which the models count
    as equivalent; None skips the equivalence test.
    """
    if margin is not None and not margin > 0:
        raise ValueError(f"margin {margin}: expected a number above 0")
    cases = list(zip(first[1], second[1], clusters, strict=True))
    common = [(x, y, cluster) for x, y, cluster in cases if x is not None and y is not None]
    n, of_common = len(common), [cluster for _, _, cluster in common]
    k = len(set(of_common))
    x, y = (np.array([row[side] for row in common], float) for side in (0, 1))
    reason, p, p_same, method = None, math.nan, math.nan, None
    if k < MIN_TEST_CLUSTERS:
        reason = f"{k} clusters; a test needs {MIN_TEST_CLUSTERS}" if n else "no case that both could take"
    else:
        hits = k == n and are_hits(x, y)
        p, method = sign_flips(cluster_sums((x - y).tolist(), of_common)[0], seed, hits=hits)
        if margin is not None and (estimate := moments_of_difference(x, y, of_common)) is not None:
            p_same = float(p_of_same(estimate, margin))
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
        interval=interval_of_difference(x, y, of_common),
        p=p,
        method=method,
        reason=reason,
        margin=margin,
        p_same=p_same,
    )


def moments_of_difference(x: Array, y: Array, clusters: Sequence[Hashable]) -> Moments | None:
    """Return the mean difference over common cases and its variance; None if the spread is unknown.

    Hits and misses get two extra cases, one hit only by the first model and one only by the second, as in
    Bonett and Price (2012), Journal of Educational and Behavioral Statistics 37(4), for independent cases. If
    the models hardly ever differ, the plain variance is far too small, or 0.
    """
    if len(set(clusters)) < 2:
        return None
    differences = (x - y).tolist()
    if not are_hits(x, y):
        return cluster_moments(differences, clusters, skewed=False)
    # Names are wrapped in tuples, so that none equals those of the two extra cases.
    names: list[Hashable] = [(cluster,) for cluster in clusters]
    return cluster_moments([*differences, 1.0, -1.0], [*names, 0, 1], skewed=False)


def are_hits(x: Array, y: Array) -> bool:
    return bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())


def interval_of_difference(x: Array, y: Array, clusters: Sequence[Hashable]) -> Interval:
    estimate = moments_of_difference(x, y, clusters)
    if estimate is None:
        return Interval(math.nan, math.nan)
    low, high = map(float, t_ends(estimate))
    return Interval(max(-1.0, low), min(1.0, high)) if are_hits(x, y) else Interval(low, high)


def p_of_same(estimate: Moments, margin: float) -> Array:
    """Return the larger p of two one-sided t tests: difference above -margin, and difference below margin."""
    from scipy.special import stdtr

    p: Array = stdtr(estimate.df, (np.abs(estimate.mean) - margin) / np.sqrt(estimate.variance))
    return p


def sign_flips(sums: Array, seed: int = 0, *, hits: bool = False) -> tuple[float, TestMethod]:
    """Return the two-sided sign-flip p of the summed cluster differences, and the method.

    ``sums`` has the difference of each cluster, ``(k,)``. ``hits`` means that they are differences of
    independent hits and misses, which get McNemar's test with mid-p.
    """
    moved = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(sums).max(initial=0)))]
    if not len(moved):
        return 1.0, "exact"
    size = np.abs(moved)
    if np.ptp(size) <= 1e-9 * size.max():
        return _sign_test(moved, mid_p=hits), "mcnemar" if hits else "exact"
    whole = np.rint(size).astype(int)
    if whole.min() > 0 and np.abs(size - whole).max() < 1e-9 and len(whole) * int(whole.sum()) <= _MOST_SUMS:
        return _exact_sum_test(whole, observed=int(np.rint(abs(moved.sum())))), "exact"
    from scipy.stats import permutation_test

    test = permutation_test(
        (moved,),
        # Rounded, because sums that differ only in the order of addition must compare equal.
        lambda d, axis=-1: np.round(d.sum(axis=axis) / size.max(), 10),
        permutation_type="samples",
        vectorized=True,
        n_resamples=MONTE_CARLO,
        batch=max(1, 1_000_000 // len(moved)),
        rng=np.random.default_rng(seed),
    )
    return float(min(1.0, test.pvalue)), "exact" if 2 ** len(moved) <= MONTE_CARLO else "monte_carlo"


def _sign_test(moved: Array, *, mid_p: bool) -> float:
    from scipy.stats import binom

    fewer = min(int((moved > 0).sum()), int((moved < 0).sum()))
    p = float(2 * binom.cdf(fewer, len(moved), 0.5))
    return min(1.0, p - float(binom.pmf(fewer, len(moved), 0.5)) if mid_p else p)


def _exact_sum_test(sizes: NDArray[np.int_], observed: int) -> float:
    total = int(sizes.sum())
    # chances[s] is the probability that the positive differences sum to s; the signed sum is then 2 s -
    # total.
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for step in sizes:
        chances = (chances + np.concatenate([np.zeros(step), chances[:-step]])) / 2
    signed = np.abs(2 * np.arange(total + 1) - total)
    return float(min(1.0, chances[signed >= observed].sum()))


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust the p-values of a family to control the chance of any false claim (Holm 1979).

    Implemented here because statsmodels would add pandas to the core dependencies.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps, kind="stable")
    adjusted = np.empty(len(ps))
    adjusted[order] = np.maximum.accumulate(np.asarray(ps, float)[order] * np.arange(len(ps), 0, -1))
    capped: list[float] = np.minimum(adjusted, 1.0).tolist()
    return capped


def adjust(comparisons: Sequence[PairedComparison]) -> list[PairedComparison]:
    """Set ``p_holm``, ``p_fdr``, ``p_same_holm`` and ``family``.

    The tests of a difference form one family, the equivalence tests another. Comparisons without a test do
    not count.
    """
    from scipy.stats import false_discovery_control

    adjusted = list(comparisons)
    tested = [place for place, comparison in enumerate(adjusted) if not math.isnan(comparison.p)]
    ps = [adjusted[place].p for place in tested]
    by_fdr = false_discovery_control(ps).tolist() if ps else []
    for place, by_holm, fdr in zip(tested, holm(ps), by_fdr, strict=True):
        adjusted[place] = replace(adjusted[place], p_holm=by_holm, p_fdr=fdr, family=len(ps))
    same = [place for place, comparison in enumerate(adjusted) if not math.isnan(comparison.p_same)]
    for place, by_holm in zip(same, holm([adjusted[place].p_same for place in same]), strict=True):
        adjusted[place] = replace(adjusted[place], p_same_holm=by_holm)
    return adjusted


@dataclass(frozen=True)
class WelchTest:
    t: float  # positive if the first mean is higher
    df: float  # Welch-Satterthwaite degrees of freedom
    p: float  # one-tailed p for a lower first mean; nan if neither group varies
    # mean_first, mean_second, n_first, n_second: mean and size of each group
    mean_first: float
    mean_second: float
    n_first: int
    n_second: int


def welch_test(first: Sequence[float], second: Sequence[float]) -> WelchTest:
    """Test whether the first mean is below the second, without assuming equal variances (Welch 1947).

    The test treats all scores as independent; if they are not, also report a clustered interval.

    >>> test = welch_test([1, 2, 3, 4], [3, 4, 5, 8])
    >>> round(test.t, 4), round(test.df, 4), round(test.p, 4)
    (-1.9868, 4.9005, 0.0524)
    """
    if len(first) < 2 or len(second) < 2:
        raise ValueError(f"the test needs two scores in each group; there are {len(first)} and {len(second)}")
    from scipy.stats import ttest_ind

    result = ttest_ind(first, second, equal_var=False, alternative="less")
    return WelchTest(
        t=float(result.statistic),
        df=float(result.df),
        p=float(result.pvalue),
        mean_first=sum(first) / len(first),
        mean_second=sum(second) / len(second),
        n_first=len(first),
        n_second=len(second),
    )


@dataclass(frozen=True)
class Spread:
    sd: float  # standard deviation of one case
    icc: float = 0.0  # intraclass correlation, 0 to 1: the share of the variance between clusters
    cluster_size: float = 1.0  # mean cluster size, weighted by size (sum of squares over sum)

    @property
    def design_effect(self) -> float:
        """Variance of the mean relative to that of the same number of independent cases."""
        return 1 + (self.cluster_size - 1) * self.icc


def spread_of(values: Sequence[float], clusters: Sequence[Hashable]) -> Spread:
    """Return the spread of paired score differences.

    The intraclass correlation is the ANOVA estimate (ICC(1,1) for unequal clusters; Donner 1986), at least 0.
    It is 0 if every cluster has one case.
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


@dataclass(frozen=True)
class Detectable:
    """Smallest difference of means that a comparison can detect."""

    difference: float  # nan if no difference is detectable
    n: int  # number of common cases
    clusters: int  # number of their clusters
    reason: str | None = None  # why no difference is detectable; None otherwise


def smallest_difference(n: int, clusters: int, spread: Spread) -> Detectable:
    """Return the smallest difference of means that a paired comparison detects with power 0.8, alpha 0.05.

    >>> round(smallest_difference(200, 200, Spread(sd=0.2**0.5)).difference, 4)
    0.089
    """
    if not 0 < clusters <= n:
        raise ValueError(f"{n} cases in {clusters} clusters")
    # The cases to compare may be in larger clusters than those used to measure the spread.
    spread = replace(spread, cluster_size=max(spread.cluster_size, n / clusters))
    if clusters < MIN_TEST_CLUSTERS:
        return Detectable(math.nan, n, clusters, f"{clusters} clusters; a test needs {MIN_TEST_CLUSTERS}")
    if spread.sd == 0:
        return Detectable(0.0, n, clusters)
    from scipy.optimize import brentq

    def lacking(difference: float) -> float:
        return power_of(difference, n, clusters, spread) - POWER

    step = high = spread.sd * math.sqrt(2 * spread.design_effect / n)
    while lacking(high) < 0:
        high *= 2
    return Detectable(float(brentq(lacking, 0.0, high, xtol=step * 1e-9)), n, clusters)


def power_of(difference: float, n: int, clusters: int, spread: Spread) -> float:
    """Return the power of the two-sided clustered t test to detect a given true difference in means."""
    error = spread.sd * math.sqrt(spread.design_effect / n)
    df = clusters - 1
    from scipy.stats import nct

    bar = float(t_quantile(np.array(df, dtype=float), 1 - ALPHA))
    shift = abs(difference) / error
    # For large shifts scipy's far tail is nan instead of 0.
    return float(nct.sf(bar, df, shift) + np.nan_to_num(nct.cdf(-bar, df, shift)))
