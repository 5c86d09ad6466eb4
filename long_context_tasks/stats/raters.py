"""Agreement of raters (judges and humans): correlation, intraclass correlation (ICC), rater study.

Pearson, Spearman and Kendall's tau-b come from scipy; Spearman and tau-b use average ranks, because ratings
from 1 to 10 have many ties. Questions about one meeting share its transcript, noise and annotators, so their
scores are not independent: intervals come from leaving out whole meetings (books, threads).

Forms of the ICC follow Shrout and Fleiss (1979), Psychological Bulletin 86(2), 420-428; for the choice of a
form see Koo and Li (2016). Both are the reliability of the mean of all k raters. ICC(1,k): every target has
its own raters (annotators differ between meetings). ICC(2,k): the same raters, drawn from a larger
population, scored every target; differences in level count as disagreement.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.intervals import LEVEL, Array, Interval, cluster_numbers, moments, t_quantile
from long_context_tasks.stats.means import GroupMean, group_mean, group_means, round_half_up

Method = Literal["pearson", "spearman", "kendall"]
METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
Rows = NDArray[np.intp]
Float = np.floating[Any]  # unlike float, it divides by 0 without an error

# Maximum number of cluster groups in a jackknife. More groups take longer without improving precision.
MOST_GROUPS = 100
_FLAT = 1e-12


Jackknifed = tuple[Array, Array]
"""A statistic over all rows, of any shape, and its leave-one-cluster-out values along an additional axis."""


def fisher_ends(values: Jackknifed, share_df: float = 0.5) -> tuple[Array, Array]:
    """Return the bounds of a correlation's 95 % interval: t on Fisher's z, jackknife variance (Tukey 1958).

    A cluster's influence on a correlation is roughly a product of two normal effects, which is heavy-tailed,
    so a few influences determine their spread less well than normal numbers would. Halving the degrees of
    freedom raises coverage from 88 to at least 93 % if clusters differ in level (docs/simulations.md). The
    bounds are nan if the spread is unknown: with a single cluster, if leaving out a cluster yields no
    correlation or a perfect one, and if no cluster changes the value.

    Args:
        values: correlations from -1 to 1.
        share_df: fraction of the degrees of freedom (number of clusters minus one) to use.
    """
    value, without = values
    k = without.shape[-1]
    if k < 2:
        unknown = np.full(value.shape, math.nan)
        return unknown, unknown
    with np.errstate(invalid="ignore", divide="ignore"):
        z, others = np.arctanh(value), np.arctanh(without)
        pseudo = moments(k * z[..., None] - (k - 1) * others, np.ones(without.shape))
        half = t_quantile(np.clip(np.minimum(pseudo.df, share_df * (k - 1)), 1, None), LEVEL)
        half = half * np.sqrt(pseudo.variance)
        inside = (np.abs(value) < 1 - _FLAT) & (np.abs(without) < 1 - _FLAT).all(axis=-1)
        half = np.where(inside & (np.ptp(without, axis=-1) > _FLAT), half, math.nan)
        return np.tanh(z - half), np.tanh(z + half)


def difference_ends(first: Jackknifed, second: Jackknifed) -> tuple[Array, Array]:
    """Return the bounds of the 95 % interval of a difference of two correlations (Zou 2007).

    From Psychological Methods 12(4). The two intervals are combined using the correlation of the jackknife
    values, so the result is short if both raters fail on the same clusters. The heavy tails cancel in the
    difference, so it uses all degrees of freedom.
    """
    (one, one_left), (other, other_left) = first, second
    low, high = fisher_ends(first, share_df=1)
    other_low, other_high = fisher_ends(second, share_df=1)
    x, y = (left - left.mean(axis=-1, keepdims=True) for left in (one_left, other_left))
    with np.errstate(invalid="ignore", divide="ignore"):
        shared = (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))

    def reach(a: Array, b: Array) -> Array:
        far: Array = np.sqrt(np.clip(a * a + b * b - 2 * shared * a * b, 0, None))
        return far

    value = one - other
    return value - reach(one - low, other_high - other), value + reach(high - one, other - other_low)


def jackknife(statistic: Callable[[Rows], float], clusters: Sequence[Hashable]) -> Jackknifed:
    """Return ``statistic``, a function of row numbers, over all rows and with each cluster left out.

    More than :data:`MOST_GROUPS` clusters are left out in that many groups. If the statistic over all rows is
    nan, no cluster is left out.
    """
    value = statistic(np.arange(len(clusters)))
    if math.isnan(value):
        return np.array(value), np.array([])
    groups = cluster_numbers(clusters) % MOST_GROUPS
    left = [statistic(np.flatnonzero(groups != group)) for group in range(int(groups.max()) + 1)]
    return np.array(value), np.array(left)


def _interval(ends: tuple[Array | Float | float, Array | Float | float]) -> Interval:
    return Interval(float(ends[0]), float(ends[1]))


@dataclass(frozen=True)
class Correlation:
    """Correlation of two raters over the items that both scored."""

    first: str
    second: str
    method: Method
    value: float  # nan if fewer than two items have both scores, or one rater's scores are all equal
    interval: Interval  # 95 %, over clusters
    n: int  # number of items with both scores
    clusters: int  # number of their clusters


def correlate(x: Sequence[float] | Array, y: Sequence[float] | Array, method: Method = "pearson") -> float:
    """Return the correlation of two lists of scores; nan if one is constant or has fewer than two scores."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} scores")
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    import scipy.stats

    # scipy's spearmanr gives the same value, but spends most of its time on p.
    if method == "spearman":
        return float(np.corrcoef(scipy.stats.rankdata([first, second], axis=1))[0, 1])
    function = {"pearson": scipy.stats.pearsonr, "kendall": scipy.stats.kendalltau}[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of nearly constant input, which resampling produces
        return float(function(first, second).statistic)


def correlate_raters(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    method: Method = "pearson",
) -> Correlation:
    """Return the correlation of two raters, each given as name and scores in the order of ``clusters``.

    ``None`` marks a missing score.
    """
    rows = zip(first[1], second[1], clusters, strict=True)
    common = [(x, y, cluster) for x, y, cluster in rows if x is not None and y is not None]
    x, y = (np.array([row[side] for row in common], float) for side in (0, 1))
    of_common = [cluster for _, _, cluster in common]
    values = jackknife(lambda rows: correlate(x[rows], y[rows], method), of_common)
    interval = _interval(fisher_ends(values))
    n_clusters = len(set(of_common))
    return Correlation(first[0], second[0], method, float(values[0]), interval, len(common), n_clusters)


def interval_of_rho_difference(
    first: Sequence[float], second: Sequence[float], truth: Sequence[float], clusters: Sequence[Hashable]
) -> Interval:
    """Return the 95 % interval of the first rater's Spearman correlation with the truth minus the second's.

    The bounds are nan if either correlation is undefined.
    """
    x, y, people = (np.asarray(each, dtype=float) for each in (first, second, truth))
    if not len(x) == len(y) == len(people) == len(clusters):
        raise ValueError(f"{len(people)} items and {len(clusters)} clusters")

    def rho(rater: Array) -> Jackknifed:
        return jackknife(lambda rows: correlate(rater[rows], people[rows], "spearman"), clusters)

    one, other = rho(x), rho(y)
    if math.isnan(one[0] - other[0]):
        return Interval(math.nan, math.nan)
    return _interval(difference_ends(one, other))


Ratings = Mapping[str, Sequence[float | None]]
"""Rater -> scores, all in the same item order; ``None`` marks a missing score."""

MIN_TARGETS = 5


@dataclass(frozen=True)
class Icc:
    """One form of the intraclass correlation."""

    form: str  # ICC(1,k) or ICC(2,k)
    value: float  # nan or infinite if nothing varies
    # 95 %, from the F distribution, treating targets as independent; bounds are nan if raters agree so much
    # less than by chance that the formula has no solution.
    interval: Interval
    # targets, raters: size of the table
    targets: int
    raters: int


def icc(ratings: Sequence[Sequence[float]]) -> dict[str, Icc]:
    """Return ICC(1,k) and ICC(2,k) of a complete table of ratings: one row per target, one column per rater.

    Coefficients follow Shrout and Fleiss (1979), intervals McGraw and Wong (1996), Psychological Methods
    1(1), Table 7.
    """
    sizes = {len(row) for row in ratings}
    if len(ratings) < MIN_TARGETS or len(sizes) != 1 or min(sizes) < 2:
        raise ValueError(
            f"ICC needs at least {MIN_TARGETS} targets, each with the same two or more raters; "
            f"there are {len(ratings)} targets with {sorted(sizes)} ratings"
        )
    table = np.asarray(ratings, dtype=float)
    if np.isnan(table).any():
        raise ValueError("ICC needs a complete table; a rating is not a number")
    n, k = table.shape
    mean, rows, columns = table.mean(), table.mean(axis=1), table.mean(axis=0)
    # Mean squares of the analysis of variance: between targets, within targets, between raters, residual.
    targets = k * ((rows - mean) ** 2).sum() / (n - 1)
    within = ((table - rows[:, None]) ** 2).sum() / (n * (k - 1))
    raters = n * ((columns - mean) ** 2).sum() / (k - 1)
    rest = ((table - rows[:, None] - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    level = k * (raters - rest) / n
    f, df = targets / within if within else math.nan, n * (k - 1)
    # Perfect agreement divides by 0; see Icc.value.
    with np.errstate(divide="ignore", invalid="ignore"):
        own_raters = [1 - _f_quantile(n - 1, df) / f, 1 - 1 / (f * _f_quantile(df, n - 1))]
        one = (targets - rest) / (targets + (k - 1) * rest + level)
        ends = _two_way_ends((targets, raters, rest), one, n, k)
        # Spearman-Brown: reliability of the mean of k raters from that of one.
        same_raters = [k * end / (1 + (k - 1) * end) for end in ends]
        forms = {
            "ICC(1,k)": ((targets - within) / targets, own_raters),
            "ICC(2,k)": ((targets - rest) / (targets + level / k), same_raters),
        }
    # The formula has a pole if raters agree less than by chance; its bounds are then swapped.
    return {
        form: Icc(form, float(value), _interval((low, high) if low <= high else (math.nan, math.nan)), n, k)
        for form, (value, (low, high)) in forms.items()
    }


def _f_quantile(df1: float | Float, df2: float | Float) -> Float:
    from scipy.special import fdtri

    quantile: Float = fdtri(df1, df2, (1 + LEVEL) / 2)
    return quantile


def _two_way_ends(squares: tuple[Float, Float, Float], value: Float, n: int, k: int) -> list[Float]:
    """Return the bounds of ICC(2,1), using Satterthwaite's degrees of freedom for its two error terms.

    ``squares`` are the mean squares between targets, between raters, and residual.
    """
    targets, raters, rest = squares
    of_raters = k * value / (n * (1 - value)) * raters
    of_rest = (1 + k * value * (n - 1) / (n * (1 - value))) * rest
    df = (of_raters + of_rest) ** 2 / (of_raters**2 / (k - 1) + of_rest**2 / ((n - 1) * (k - 1)))
    upper, lower = _f_quantile(n - 1, df), _f_quantile(df, n - 1)
    both = k * raters + (k * n - k - n) * rest
    return [
        n * (targets - upper * rest) / (upper * both + n * targets),
        n * (lower * targets - rest) / (both + n * lower * targets),
    ]


def means_by_gold_bin(
    values: Sequence[float | None], gold: Sequence[float], clusters: Sequence[Hashable]
) -> dict[int, GroupMean]:
    """Return a rater's mean score for items with gold score 1, 2, 3 ... (ELITR-Bench, Fig. 2a), ascending.

    A gold score between two bins (a mean over annotators) goes to the closer one, a half to the upper one.
    """
    bins = [int(round_half_up(score, 0)) for score in gold]
    return dict(sorted(group_means(values, bins, clusters).items()))


@dataclass(frozen=True)
class RaterStudy:
    items: int
    clusters: int
    means: Mapping[str, GroupMean]  # each rater's mean over the items it scored
    correlations: Sequence[Correlation]  # every pair of raters with every method
    # Label -> each rater's mean (Table 4, with the model as label); empty without labels.
    by_label: Mapping[str, Mapping[str, GroupMean]] = field(default_factory=dict)
    # Rater -> its mean score in each gold bin (Fig. 2a); empty without a gold rater.
    bins: Mapping[str, Mapping[int, GroupMean]] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Agreement of several raters (Table 11)."""

    raters: tuple[str, ...]
    items: int  # number of items scored by all raters; only these are used
    left_out: int  # number of items that lack a score
    overall: Mapping[str, Icc]  # both forms over all items; use ICC(1,k) if the clusters had different raters
    by_cluster: Mapping[Hashable, Icc]  # ICC(2,k) of each cluster with at least five such items


def study_raters(
    ratings: Ratings,
    clusters: Sequence[Hashable],
    gold: str | None = None,
    labels: Sequence[str] | None = None,
    methods: Sequence[Method] = METHODS,
) -> RaterStudy:
    """Compare raters of the same items; every interval is clustered."""
    by_label: dict[str, dict[str, GroupMean]] = {}
    for name, scores in ratings.items():
        for label, group in group_means(scores, labels or [], clusters).items() if labels else ():
            by_label.setdefault(label, {})[name] = group
    bins: dict[str, dict[int, GroupMean]] = {}
    if gold is not None:
        places = [place for place, score in enumerate(ratings[gold]) if score is not None]
        known = [score for score in ratings[gold] if score is not None]
        for name, scores in ratings.items():
            if name != gold:
                rated = [scores[place] for place in places]
                bins[name] = means_by_gold_bin(rated, known, [clusters[place] for place in places])
    return RaterStudy(
        items=len(clusters),
        clusters=len(set(clusters)),
        means={name: group_mean(scores, clusters) for name, scores in ratings.items()},
        correlations=[
            correlate_raters((first, ratings[first]), (second, ratings[second]), clusters, method)
            for method in methods
            for first, second in combinations(ratings, 2)
        ],
        by_label=by_label,
        bins=bins,
    )


def study_panel(ratings: Ratings, clusters: Sequence[Hashable]) -> Panel:
    """Return the raters' intraclass correlations, over all items and by cluster.

    Raises:
        ValueError: there are fewer than two raters, or fewer than five items scored by all of them.
    """
    tables: dict[Hashable, list[list[float]]] = {}
    for cluster, row in zip(clusters, zip(*ratings.values(), strict=True), strict=True):
        complete = [score for score in row if score is not None]
        if len(complete) == len(row):
            tables.setdefault(cluster, []).append(complete)
    rows = [row for table in tables.values() for row in table]
    by_cluster = {
        cluster: icc(table)["ICC(2,k)"] for cluster, table in tables.items() if len(table) >= MIN_TARGETS
    }
    return Panel(tuple(ratings), len(rows), len(clusters) - len(rows), icc(rows), by_cluster)
