"""Agreement of raters (judges, people): correlation, distance from people, intraclass correlation (ICC), and the study of raters.

Pearson, Spearman and Kendall's tau-b are scipy's; Spearman and tau-b use average ranks, because ratings from 1 to 10 are full of
ties. Questions about one meeting share its transcript, its noise and its annotators, so their scores are not independent: intervals
come from leaving out whole meetings (books, threads).

Forms of the ICC after Shrout and Fleiss (1979), Psychological Bulletin 86(2), 420-428; for the choice of a form see Koo and Li (2016).
ICC(1, .): every target has its own raters (different annotators from meeting to meeting). ICC(2, .): the same raters, drawn from
many, scored every target; differences in level count as disagreement. ICC(3, .): the same raters, and only these; differences in
level do not count. (., 1) is the reliability of one rater, (., k) that of the mean of all k.
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

# Most groups of clusters that a jackknife leaves out. More groups take longer and do not make it more precise.
MOST_GROUPS = 100
_FLAT = 1e-12


Jackknifed = tuple[Array, Array]
"""A statistic of all rows, of any shape, and its values without each cluster, along one more axis."""


def fisher_ends(values: Jackknifed, share_df: float = 0.5) -> tuple[Array, Array]:
    """Return the ends of the 95 % interval of a correlation: t on Fisher's z, its variance that of the jackknife (Tukey 1958).

    The influence of a cluster on a correlation is roughly a product of two normal effects, which has long tails, so a few influences
    determine their spread less well than as many normal numbers would. Half of the degrees of freedom raise coverage from 88 to at least
    93 % if clusters differ in level (docs/simulations.md). The ends are nan if the spread is unknown: with a single cluster, if leaving
    out a cluster leaves no correlation or a perfect one, and if no cluster changes the value.

    Args:
        values: correlations from -1 to 1.
        share_df: share of the degrees of freedom (number of clusters less one) to use.
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
    """Return the ends of the 95 % interval of the difference of two correlations (Zou 2007, Psychological Methods 12(4)).

    The correlation of the jackknife values combines the two intervals: the result is short if both raters fail on the same clusters.
    The long tails cancel in the difference, so it uses all degrees of freedom.
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
    """Return ``statistic``, a function of row numbers, of all rows and of the rows without each cluster.

    More than :data:`MOST_GROUPS` clusters are left out in that many groups. If all rows give nan, no cluster is left out.
    """
    value = statistic(np.arange(len(clusters)))
    if math.isnan(value):
        return np.array(value), np.array([])
    groups = cluster_numbers(clusters) % MOST_GROUPS
    left = [statistic(np.flatnonzero(groups != group)) for group in range(int(groups.max()) + 1)]
    return np.array(value), np.array(left)


def _interval(ends: tuple[Array, Array]) -> Interval:
    return Interval(float(ends[0]), float(ends[1]))


@dataclass(frozen=True)
class Correlation:
    """Correlation of two raters over the items that both scored."""

    first: str
    second: str
    method: Method
    value: float  # nan if fewer than two items have both scores, or all scores of a rater are equal
    interval: Interval  # 95 %, over clusters
    n: int  # number of items with both scores
    clusters: int  # number of their clusters


def correlate(x: Sequence[float] | Array, y: Sequence[float] | Array, method: Method = "pearson") -> float:
    """Return the correlation of two lists of scores; nan if one is constant or there are fewer than two scores."""
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} scores")
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    import scipy.stats

    # scipy's spearmanr gives the same value, but computes p, which takes most of its time.
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
    """Return the correlation of two raters, each given as a name and scores in the order of ``clusters``; ``None`` marks a missing score."""
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
    """Return the 95 % interval of the first rater's Spearman correlation with the truth minus the second's; nan if one has none."""
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
"""Rater to scores, all in one order of items; ``None`` if a rater gave no score."""

MIN_TARGETS = 5


@dataclass(frozen=True)
class Icc:
    """One form of the intraclass correlation."""

    form: str  # ICC(1,1) ... ICC(3,k).
    value: float  # nan or infinite if nothing varies
    # 95 %, from the F distribution, with targets as independent; ends are nan if raters agree so much less
    # than by chance that the formula gives no interval.
    interval: Interval
    # targets, raters: size of the table
    targets: int
    raters: int


def icc(ratings: Sequence[Sequence[float]]) -> dict[str, Icc]:
    """Return all six forms for a complete table of ratings: a row for each target, a column for each rater.

    Coefficients after Shrout and Fleiss (1979), intervals after McGraw and Wong (1996), Psychological Methods 1(1), Table 7.
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
    forms = {}
    for kind in (1, 2, 3):
        # Raters in full agreement divide by 0, see Icc.value.
        with np.errstate(divide="ignore", invalid="ignore"):
            error, df = (within, n * (k - 1)) if kind == 1 else (rest, (n - 1) * (k - 1))
            level = k * (raters - rest) / n if kind == 2 else 0.0
            value = (targets - error) / (targets + (k - 1) * error + level)
            mean_value = (targets - error) / (targets + level / k)
            if kind == 2:
                ends = _two_way_ends((targets, raters, rest), value, n, k)
            else:
                ends = _ends_of_f(targets / error, n - 1, df, k)
            # Reliability of the mean of k raters from that of one (Spearman and Brown).
            mean_ends = [k * end / (1 + (k - 1) * end) for end in ends]
        for suffix, each, (low, high) in (("1", value, ends), ("k", mean_value, mean_ends)):
            # The formula has a pole if raters agree less than by chance; its ends then change places.
            interval = Interval(float(low), float(high)) if low <= high else Interval(math.nan, math.nan)
            form = f"ICC({kind},{suffix})"
            forms[form] = Icc(form, float(each), interval, n, k)
    return forms


def _f_quantile(df1: float | Float, df2: float | Float) -> Float:
    from scipy.special import fdtri

    quantile: Float = fdtri(df1, df2, (1 + LEVEL) / 2)
    return quantile


def _ends_of_f(f: Float, df1: int, df2: int, k: int) -> list[Float]:
    low, high = f / _f_quantile(df1, df2), f * _f_quantile(df2, df1)
    return [(low - 1) / (low + k - 1), (high - 1) / (high + k - 1)]


def _two_way_ends(squares: tuple[Float, Float, Float], value: Float, n: int, k: int) -> list[Float]:
    """Return the ends of ICC(2,1), whose error has two parts: Satterthwaite's degrees of freedom for their sum.

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
    """Return a rater's mean score for the items that the gold rater gave 1, 2, 3 ... (ELITR-Bench, Fig. 2a), bins in ascending order.

    A gold score between two bins (a mean over people) goes to the closer one, a half to the upper one.
    """
    bins = [int(round_half_up(score, 0)) for score in gold]
    return dict(sorted(group_means(values, bins, clusters).items()))


@dataclass(frozen=True)
class RaterStudy:
    """Means, correlations and distributions of raters."""

    items: int
    clusters: int
    means: Mapping[str, GroupMean]  # mean of each rater over the items that it scored
    correlations: Sequence[Correlation]  # every pair of raters by every method
    # Label to the means of each rater (Table 4, with the model as label); empty without labels.
    by_label: Mapping[str, Mapping[str, GroupMean]] = field(default_factory=dict)
    # Rater to its mean score in each bin of the gold rater (Fig. 2a); empty without a gold rater.
    bins: Mapping[str, Mapping[int, GroupMean]] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Agreement of several raters (Table 11)."""

    raters: tuple[str, ...]
    items: int  # number of items that all raters scored; the figures use only these
    left_out: int  # number of items that lack a score
    overall: Mapping[str, Icc]  # all forms over all items; read ICC(1,k) if the clusters had different raters
    by_cluster: Mapping[Hashable, Icc]  # ICC(2,k) of each cluster with at least five such items


def study_raters(
    ratings: Ratings,
    clusters: Sequence[Hashable],
    gold: str | None = None,
    labels: Sequence[str] | None = None,
    methods: Sequence[Method] = METHODS,
) -> RaterStudy:
    """Study raters of the same items; every interval is over clusters."""
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
    """Return the intraclass correlations of the raters, over all items and by cluster.

    Raises:
        ValueError: fewer than two raters, or fewer than five items that all of them scored.
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
