"""Is one model better than another? Paired comparison over the cases that both could take, clusters kept whole.

The difference is that of the means over common cases. Its interval is a t interval over clusters (see
:mod:`long_context_tasks.stats.intervals`; a percentile bootstrap over few clusters is too short). Its p is that of a
permutation test which swaps the two models in whole clusters (sign flips of the clusters' differences; Fisher 1935):
exact under the hypothesis that the names of the models do not matter, whatever the number and size of the clusters. For
hits and misses of independent cases it is McNemar's exact test.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.intervals import Array, Interval, cluster_sums, cluster_t

TestMethod = Literal["mcnemar", "exact", "monte_carlo"]
Alternative = Literal["less", "greater", "two-sided"]

MIN_TEST_CLUSTERS = 6
"""Fewest clusters for a test: with five, p is at least 2 / 2**5 = 0.06 even when all of them differ in the same direction."""

MONTE_CARLO = 9_999
"""Random sign flips where there are too many to take all; p = (1 + those as extreme) / (1 + MONTE_CARLO)."""

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

    @property
    def left_out(self) -> int:
        """Cases that only one of the models could take."""
        return self.only_first + self.only_second


def compare_paired(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    seed: int = 0,
) -> PairedComparison:
    """Compare two models, each a name and its scores in one order of cases; ``None`` is a case it could not take.

    >>> found = compare_paired(("a", [1, 1, 1, 0, None, 1, 1, 1]), ("b", [0, 1, 0, 0, 1, 0, 0, 0]), range(8))
    >>> found.n, found.left_out, round(found.difference, 3), found.method, found.p
    (7, 1, 0.714, 'mcnemar', 0.0625)

    Args:
        first: name and scores.
        second: name and scores.
        clusters: of the cases (meeting, book, question).
        seed: of the Monte Carlo test.

    Raises:
        ValueError: lengths differ.
    """
    cases = list(zip(first[1], second[1], clusters, strict=True))
    common = [(x, y, cluster) for x, y, cluster in cases if x is not None and y is not None]
    only_first = sum(x is not None and y is None for x, y, _ in cases)
    only_second = sum(x is None and y is not None for x, y, _ in cases)
    n, kept = len(common), [cluster for _, _, cluster in common]
    k = len(set(kept))
    counts = (n, k, only_first, only_second, len(cases) - n - only_first - only_second)
    if not n:
        nowhere = Interval(math.nan, math.nan)
        reason = "no case that both could take"
        return PairedComparison(
            first[0], second[0], *counts, math.nan, math.nan, math.nan, nowhere, math.nan, None, reason=reason
        )
    x, y = np.array([row[0] for row in common], float), np.array([row[1] for row in common], float)
    found = PairedComparison(
        first[0],
        second[0],
        *counts,
        mean_first=math.fsum(x) / n,
        mean_second=math.fsum(y) / n,
        difference=math.fsum(x - y) / n,
        interval=interval_of_difference(x, y, kept),
        p=math.nan,
        method=None,
    )
    if k < MIN_TEST_CLUSTERS:
        return replace(found, reason=f"{k} clusters; a test needs {MIN_TEST_CLUSTERS}")
    p, method = sign_flips(cluster_sums((x - y).tolist(), kept)[0], seed)
    return replace(found, p=p, method=method)


def interval_of_difference(
    first: Sequence[float] | Array, second: Sequence[float] | Array, clusters: Sequence[Hashable]
) -> Interval:
    """Return the 95 % interval of the difference of means over common cases.

    Two cases are added to hits and misses, one that only the first model hits and one that only the second, as Bonett and
    Price (2012), Journal of Educational and Behavioral Statistics 37(4), do for independent cases: where the models
    hardly ever differ, the plain interval would be far too short, or nothing at all.

    Raises:
        ValueError: no values, or lengths that differ.
    """
    x, y = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    differences = x - y
    if len(set(clusters)) < 2:
        return Interval(math.nan, math.nan)
    if not np.isin(np.concatenate([x, y]), (0.0, 1.0)).all():
        return cluster_t(differences.tolist(), clusters, skewed=False)
    # Cluster names in tuples, so that no name equals those of the two added cases.
    own: list[Hashable] = [(cluster,) for cluster in clusters]
    ends = cluster_t([*differences.tolist(), 1.0, -1.0], [*own, 0, 1], skewed=False)
    return Interval(max(-1.0, ends.low), min(1.0, ends.high))


def sign_flips(sums: Array, seed: int = 0) -> tuple[float, TestMethod]:
    """Return the two-sided p of the sum of the clusters' differences when each may as well have the other sign, and how it was found.

    All sign flips are taken where that is possible: by the binomial where every cluster that differs at all differs by
    the same amount (McNemar), by the distribution of the sum where the differences are whole numbers, one by one up to
    13 clusters; else :data:`MONTE_CARLO` random ones.
    """
    moved = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(sums).max(initial=0)))]
    if not len(moved):
        return 1.0, "exact"
    size = np.abs(moved)
    from scipy.stats import binomtest, permutation_test

    if np.ptp(size) <= 1e-9 * size.max():
        p = binomtest(int((moved > 0).sum()), len(moved)).pvalue
        return float(p), "mcnemar" if size[0] == 1 else "exact"
    whole = np.rint(size).astype(int)
    if whole.min() > 0 and np.abs(size - whole).max() < 1e-9 and len(whole) * int(whole.sum()) <= _MOST_SUMS:
        return _exact_whole(whole, int(np.rint(abs(moved.sum())))), "exact"
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


def _exact_whole(sizes: NDArray[np.int_], observed: int) -> float:
    """Chance that the sum of ``sizes`` with random signs is at least ``observed`` away from 0."""
    total = int(sizes.sum())
    # chances[s]: of the positive ones summing to s; the signed sum is then 2 s - total
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for size in sizes:
        shifted = np.zeros_like(chances)
        shifted[size:] = chances[:-size]
        chances = (chances + shifted) / 2
    signed = np.abs(2 * np.arange(total + 1) - total)
    return float(min(1.0, chances[signed >= observed].sum()))


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
    """Fill ``p_holm``, ``p_fdr`` and ``family``; all tests given are one family. Comparisons without a test do not count."""
    tested = [place for place, each in enumerate(comparisons) if not math.isnan(each.p)]
    ps = [comparisons[place].p for place in tested]
    found = list(comparisons)
    from scipy.stats import false_discovery_control

    by_fdr = false_discovery_control(ps).tolist() if ps else []
    for place, by_holm, fdr in zip(tested, holm(ps), by_fdr, strict=True):
        found[place] = replace(found[place], p_holm=by_holm, p_fdr=fdr, family=len(ps))
    return found


def compare_pairs(
    models: Mapping[str, Sequence[float | None]], clusters: Sequence[Hashable], seed: int = 0
) -> list[PairedComparison]:
    """Compare every pair of models once, in the order of the models, adjusted as one family.

    Raises:
        ValueError: lengths differ.
    """
    pairs = combinations(models.items(), 2)
    return adjust([compare_paired(first, second, clusters, seed) for first, second in pairs])


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
