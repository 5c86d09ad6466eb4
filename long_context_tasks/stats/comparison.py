"""Is one model better than another? Paired comparison over the cases that both could take, clusters kept whole.

The difference is that of the means over common cases. Its interval is a t interval over clusters (see
:mod:`long_context_tasks.stats.clustered`; a percentile bootstrap over few clusters is too short). Its p is that of a
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
from scipy.stats import binomtest, false_discovery_control, permutation_test

from long_context_tasks.stats.clustered import cluster_sums, cluster_t
from long_context_tasks.stats.intervals import Interval

Array = NDArray[np.float64]
Method = Literal["mcnemar", "exact", "monte_carlo"]

MIN_TEST_CLUSTERS = 6
"""Fewest clusters for a test: with five, p is at least 2 / 2**5 = 0.06 even when all of them point the same way."""

MONTE_CARLO = 9_999
"""Random sign flips where there are too many to take all; p = (1 + those as extreme) / (1 + MONTE_CARLO)."""

_MOST_SUMS = 2_000_000
"""Largest table of exact sums for differences that are whole numbers."""


@dataclass(frozen=True)
class Comparison:
    """Two models over the cases that both could take.

    Attributes:
        first, second: names.
        n: common cases, which alone are in the means, the difference and the test.
        clusters: clusters of these.
        only_first, only_second: cases that only one of them could take, left out.
        neither: cases that none could take.
        mean_first, mean_second: over the common cases.
        difference: first minus second; not a number without common cases.
        interval: 95 %, over clusters; ends are not a number when nothing tells the spread.
        p: two-sided; not a number when no test is claimed.
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
    method: Method | None
    p_holm: float = math.nan
    p_fdr: float = math.nan
    family: int = 0
    reason: str | None = None

    @property
    def left_out(self) -> int:
        """Cases that only one of the models could take."""
        return self.only_first + self.only_second


def compare(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    seed: int = 0,
) -> Comparison:
    """Compares two models, each a name and its scores in one order of cases; ``None`` is a case it could not take.

    >>> found = compare(("a", [1, 1, 1, 0, None, 1, 1, 1]), ("b", [0, 1, 0, 0, 1, 0, 0, 0]), range(8))
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
        return Comparison(
            first[0], second[0], *counts, math.nan, math.nan, math.nan, nowhere, math.nan, None, reason=reason
        )
    x, y = np.array([row[0] for row in common], float), np.array([row[1] for row in common], float)
    found = Comparison(
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
    """The 95 % interval of the difference of means over common cases.

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


def sign_flips(sums: Array, seed: int = 0) -> tuple[float, Method]:
    """Two-sided p of the sum of the clusters' differences when each may as well have the other sign.

    All sign flips are taken where that is possible: by the binomial where every cluster that differs at all differs by
    the same amount (McNemar), by the distribution of the sum where the differences are whole numbers, one by one up to
    13 clusters; else :data:`MONTE_CARLO` random ones.

    Args:
        sums: sum of the differences of each cluster.
        seed: of the random sign flips.
    """
    moved = sums[np.abs(sums) > 1e-12 * max(1.0, float(np.abs(sums).max(initial=0)))]
    if not len(moved):
        return 1.0, "exact"
    size = np.abs(moved)
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
    """Adjusted p values of a family after Holm (1979): the chance of any false claim stays below alpha.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = highest
    return adjusted


def adjust(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with ``p_holm``, ``p_fdr`` and ``family`` filled; all tests given are one family.

    Comparisons without a test do not count and stay without.
    """
    tested = [place for place, one in enumerate(comparisons) if not math.isnan(one.p)]
    ps = [comparisons[place].p for place in tested]
    found = list(comparisons)
    by_fdr = false_discovery_control(ps).tolist() if ps else []
    for place, by_holm, fdr in zip(tested, holm(ps), by_fdr, strict=True):
        found[place] = replace(found[place], p_holm=by_holm, p_fdr=fdr, family=len(ps))
    return found


def compare_all(
    models: Mapping[str, Sequence[float | None]], clusters: Sequence[Hashable], seed: int = 0
) -> list[Comparison]:
    """Every pair of models once, in the order of the models, adjusted as one family.

    Raises:
        ValueError: lengths differ.
    """
    pairs = combinations(models.items(), 2)
    return adjust([compare(first, second, clusters, seed) for first, second in pairs])
