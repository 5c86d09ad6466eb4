"""Agreement of raters (judges, people): correlation and nearness to people, intra-class correlation (ICC), and the study of raters.

Pearson, Spearman and Kendall's tau-b are scipy's; Spearman and tau-b with average ranks and the correction for ties, which
ratings from 1 to 10 are full of. Questions about one meeting share its transcript, its noise and its annotators, so their scores
are not independent: intervals leave out whole meetings (books, threads).

Forms of the ICC after Shrout and Fleiss (1979), Psychological Bulletin 86(2), 420-428; when to use which: Koo and Li (2016).
ICC(1, .): every target has raters of its own (different annotators from meeting to meeting). ICC(2, .): the same
raters, drawn from many, scored every target; differences in level count as disagreement. ICC(3, .): the same raters and
only these; differences in level do not count. (., 1) is the reliability of one rater, (., k) of the mean of all k.

The computation is pingouin's, which comes with ``pip install 'long_context_tasks[agreement]'``.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.schema.extras import require
from long_context_tasks.stats.intervals import LEVEL, Array, Interval, cluster_t, moments, t_quantile
from long_context_tasks.stats.means import GroupMean, group_mean, group_means, round_half_up

Method = Literal["pearson", "spearman", "kendall"]
METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
Outcome = Literal["wins", "loses", "open"]
Rows = NDArray[np.intp]

MOST_GROUPS = 100
"""Groups of clusters that a jackknife leaves out, at the most: more make it no surer, and slow."""
_FLAT = 1e-12


def cluster_numbers(clusters: Sequence[Hashable]) -> Rows:
    """Return the clusters as numbers from 0, in the order in which they first occur."""
    index = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([index[cluster] for cluster in clusters], dtype=np.intp)


Jackknifed = tuple[Array, Array]
"""A statistic of all rows, of any shape; and without each cluster, along one more axis."""


def fisher_ends(found: Jackknifed, share_df: float = 0.5) -> tuple[Array, Array]:
    """Return the ends of the 95 % interval of a correlation: t on Fisher's z, its variance that of the jackknife (Tukey 1958).

    The pull of a cluster on a correlation is about a product of two normal effects, which has long tails: the spread of few pulls
    says less of their true spread than that of as many normal numbers. Half of the degrees of freedom bring coverage from 88 to 93 %
    and more where clusters differ in level (docs/simulations.md). The ends are nan with a single cluster, where leaving out one leaves no
    correlation or a perfect one, and where none changes the value: the spread is then unknown.

    Args:
        found: correlations from -1 to 1.
        share_df: of the degrees of freedom, clusters less one.
    """
    value, without = found
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

    The intervals of the two are joined by the correlation of their jackknife values: the result is short where both raters fail on the
    same clusters. In the difference the long tails cancel: it takes all degrees of freedom.
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
    """Return ``statistic``, which takes row numbers, of all rows and of those without each cluster.

    Of more than :data:`MOST_GROUPS` clusters so many groups are left out. Nothing is left out where all rows give nan.
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
    """Correlation of two raters over the items that both scored.

    Attributes:
        value: nan when fewer than two items have both scores or the scores of a rater are all equal.
        interval: 95 %, over clusters.
        n: items with both scores.
        clusters: clusters they come from.
    """

    first: str
    second: str
    method: Method
    value: float
    interval: Interval
    n: int
    clusters: int


def correlate(x: Sequence[float] | Array, y: Sequence[float] | Array, method: Method = "pearson") -> float:
    """Return the correlation of two lists of scores; nan when one is constant or there are fewer than two.

    Raises:
        ValueError: lengths differ.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} scores")
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    import scipy.stats

    if method == "spearman":  # what scipy's function does before it looks for p, which takes most of its time
        return float(np.corrcoef(scipy.stats.rankdata([first, second], axis=1))[0, 1])
    function = {"pearson": scipy.stats.pearsonr, "kendall": scipy.stats.kendalltau}[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant input; the value is what it is
        return float(function(first, second).statistic)


def correlate_raters(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    method: Method = "pearson",
) -> Correlation:
    """Return the correlation of two raters, each a name and the scores in the order of ``clusters``; ``None`` is no score.

    Raises:
        ValueError: lengths differ.
    """
    rows = zip(first[1], second[1], clusters, strict=True)
    common = [(x, y, cluster) for x, y, cluster in rows if x is not None and y is not None]
    x, y = np.array([row[0] for row in common], float), np.array([row[1] for row in common], float)
    kept = [row[2] for row in common]
    found = jackknife(lambda rows: correlate(x[rows], y[rows], method), kept)
    interval = _interval(fisher_ends(found))
    return Correlation(first[0], second[0], method, float(found[0]), interval, len(common), len(set(kept)))


G = TypeVar("G", bound=Hashable)
FEWEST_WITHIN = 5
"""Answers of a model below which their correlation says nothing."""


def rhos_within(x: Sequence[float], y: Sequence[float], groups: Sequence[G]) -> dict[G, float]:
    """Return Spearman's correlation within each group of five items or more, in the order of first occurrence; nan where x or y is constant."""
    places: dict[G, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    return {
        group: correlate([x[p] for p in rows], [y[p] for p in rows], "spearman")
        for group, rows in places.items()
        if len(rows) >= FEWEST_WITHIN
    }


def mean_rho_within(x: Sequence[float], y: Sequence[float], groups: Sequence[Hashable]) -> float:
    """Return the mean of :func:`rhos_within` over the groups that have one; nan without any.

    Who wrote an answer is the same for all items of a group, so it does not help here.
    """
    found = [each for each in rhos_within(x, y, groups).values() if not math.isnan(each)]
    return math.fsum(found) / len(found) if found else math.nan


def rho_within(
    x: Sequence[float], y: Sequence[float], groups: Sequence[Hashable], clusters: Sequence[Hashable]
) -> tuple[float, Interval]:
    """Return :func:`mean_rho_within` and its 95 % interval over clusters.

    Args:
        x: scores of a rater.
        y: those of another, or of people, in the same order.
        groups: answering model of each item.
        clusters: question of each item.
    """

    def within(rows: Rows) -> float:
        return mean_rho_within(*([values[row] for row in rows] for values in (x, y, groups)))

    found = jackknife(within, clusters)
    return float(found[0]), _interval(fisher_ends(found))


def correlation_matrix(
    raters: Mapping[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    methods: Sequence[Method] = METHODS,
) -> list[Correlation]:
    """Correlate every pair of raters once, by every method; pairs in the order of the raters.

    Raises:
        ValueError: lengths differ.
    """
    return [
        correlate_raters((first, raters[first]), (second, raters[second]), clusters, method)
        for method in methods
        for first, second in combinations(raters, 2)
    ]


@dataclass(frozen=True)
class Difference:
    """First rater minus second.

    Attributes:
        value: of all items.
        interval: 95 %, over clusters.
        outcome: of the first: ``open`` where the interval contains 0 or there is none.
    """

    value: float
    interval: Interval
    outcome: Outcome


def _difference(value: float, interval: Interval, better: float) -> Difference:
    """``better`` is 1 where the larger of two figures is the better one, else -1."""
    above = (interval.low > 0) - (interval.high < 0)
    outcomes: dict[float, Outcome] = {1: "wins", 0: "open", -1: "loses"}
    return Difference(value, interval, outcomes[above * better])


def rho_difference(
    first: Sequence[float], second: Sequence[float], truth: Sequence[float], clusters: Sequence[Hashable]
) -> Difference:
    """Return the difference of two raters' Spearman correlations with the truth.

    Raises:
        ValueError: lengths differ.
    """
    x, y, people = (np.asarray(each, dtype=float) for each in (first, second, truth))
    if not len(x) == len(y) == len(people) == len(clusters):
        raise ValueError(f"{len(people)} items and {len(clusters)} clusters")

    def rho(rater: Array) -> Jackknifed:
        return jackknife(lambda rows: correlate(rater[rows], people[rows], "spearman"), clusters)

    one, other = rho(x), rho(y)
    value = float(one[0] - other[0])
    if math.isnan(value):
        return Difference(value, Interval(math.nan, math.nan), "open")
    return _difference(value, _interval(difference_ends(one, other)), 1)


def mae_difference(
    first: Sequence[float],
    second: Sequence[float],
    truth: Sequence[float],
    clusters: Sequence[Hashable],
) -> Difference:
    """Return the difference of two raters' mean absolute errors; below 0 the first is nearer to the truth.

    Raises:
        ValueError: no items, or lengths differ.
    """
    values = [abs(a - t) - abs(b - t) for a, b, t in zip(first, second, truth, strict=True)]
    interval = cluster_t(values, clusters, skewed=False)
    return _difference(math.fsum(values) / len(values), interval, -1)


Ratings = Mapping[str, Sequence[float | None]]
"""Rater to scores, all in one order of items; ``None`` where a rater gave none."""

# As pingouin calls them from 0.6 on (A: absolute agreement, C: consistency).
_FORMS = {
    "ICC(1,1)": "ICC(1,1)",
    "ICC(2,1)": "ICC(A,1)",
    "ICC(3,1)": "ICC(C,1)",
    "ICC(1,k)": "ICC(1,k)",
    "ICC(2,k)": "ICC(A,k)",
    "ICC(3,k)": "ICC(C,k)",
}
MIN_TARGETS = 5


@dataclass(frozen=True)
class Icc:
    """One form of the coefficient.

    Attributes:
        form: ``ICC(1,1)`` ... ``ICC(3,k)``.
        value: nan or infinite when nothing varies.
        interval: 95 %, from the F distribution, targets as independent ones; ends are nan where raters agree so much less than by
            chance that its formula gives none.
        f, df1, df2, p: F test against no agreement.
        targets, raters: size of the table.
    """

    form: str
    value: float
    interval: Interval
    f: float
    df1: int
    df2: int
    p: float
    targets: int
    raters: int


def icc(ratings: Sequence[Sequence[float]]) -> dict[str, Icc]:
    """Return all six forms for a complete table of ratings: a row for each target, a column for each rater.

    Raises:
        InputError: pingouin is not installed.
        ValueError: fewer than five targets or two raters, rows of unequal length, or a rating that is no number.
    """
    sizes = {len(row) for row in ratings}
    if len(ratings) < MIN_TARGETS or len(sizes) != 1 or min(sizes) < 2:
        raise ValueError(
            f"ICC needs at least {MIN_TARGETS} targets, each with the same two or more raters; "
            f"there are {len(ratings)} targets with {sorted(sizes)} ratings"
        )
    if any(math.isnan(rating) for row in ratings for rating in row):
        raise ValueError("ICC needs a complete table; a rating is not a number")
    require("agreement", "ICC", "pandas", "pingouin")
    import pandas
    import pingouin

    raters = sizes.pop()
    table = pandas.DataFrame(ratings).melt(ignore_index=False, var_name="rater", value_name="rating")
    # By default pingouin rounds intervals to two decimals; the setting is that of the whole process.
    before = dict(pingouin.options)
    pingouin.options["round.column.CI95"] = None
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # raters in full agreement; documented above
            found = pingouin.intraclass_corr(
                data=table.astype(float).reset_index(names="target"),
                targets="target",
                raters="rater",
                ratings="rating",
            )
    finally:
        pingouin.options.update(before)
    rows = found.set_index("Type").to_dict("index")
    coefficients = {}
    for form, name in _FORMS.items():
        row = rows[name]
        low, high = map(float, row["CI95"])
        if low > high:  # its formula has a pole where raters agree less than by chance
            low = high = math.nan
        coefficients[form] = Icc(
            form=form,
            value=float(row["ICC"]),
            interval=Interval(low, high),
            f=float(row["F"]),
            df1=int(row["df1"]),
            df2=int(row["df2"]),
            p=float(row["pval"]),
            targets=len(ratings),
            raters=raters,
        )
    return coefficients


def means_by_gold_bin(
    values: Sequence[float | None], gold: Sequence[float], clusters: Sequence[Hashable]
) -> dict[int, GroupMean]:
    """Return how a rater scores what the gold rater gave 1, 2, 3 ... (ELITR-Bench, Fig. 2a), bins in ascending order.

    A gold score between two bins (a mean over people) goes to the nearer one, a half to the upper.

    Raises:
        ValueError: lengths differ, or a gold score is not a finite number.
    """
    bins = [int(round_half_up(score, 0)) for score in gold]
    return dict(sorted(group_means(values, bins, clusters).items()))


@dataclass(frozen=True)
class RaterStudy:
    """Means, correlations and distributions of raters.

    Attributes:
        items, clusters: how many.
        means: mean of each rater over what that rater scored.
        by_label: label to the means of each rater (Table 4 with the model as label); empty without labels.
        correlations: every pair by every method.
        bins: rater to scores in each bin of the gold rater (Fig. 2a); empty without one.
    """

    items: int
    clusters: int
    means: Mapping[str, GroupMean]
    correlations: Sequence[Correlation]
    by_label: Mapping[str, Mapping[str, GroupMean]] = field(default_factory=dict)
    bins: Mapping[str, Mapping[int, GroupMean]] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Agreement of several raters (Table 11).

    Attributes:
        items: items that all of them scored; only these are in it.
        left_out: items that lack a score.
        overall: all forms over all items; ICC(1,k) is the one where clusters had different people.
        by_cluster: ICC(2,k) of each cluster with five such items or more.
    """

    raters: tuple[str, ...]
    items: int
    left_out: int
    overall: Mapping[str, Icc]
    by_cluster: Mapping[Hashable, Icc]


def study_raters(
    ratings: Ratings,
    clusters: Sequence[Hashable],
    gold: str | None = None,
    labels: Sequence[str] | None = None,
    methods: Sequence[Method] = METHODS,
) -> RaterStudy:
    """Study raters that scored the same items; every interval is over clusters.

    Raises:
        ValueError: lengths differ. KeyError: ``gold`` is no rater.
    """
    split: dict[str, dict[str, GroupMean]] = {}
    for name, scores in ratings.items():
        for label, group in group_means(scores, labels or [], clusters).items() if labels else ():
            split.setdefault(label, {})[name] = group
    bins: dict[str, dict[int, GroupMean]] = {}
    if gold is not None:
        known = [(place, score) for place, score in enumerate(ratings[gold]) if score is not None]
        places, right = [place for place, _ in known], [score for _, score in known]
        where = [clusters[place] for place in places]
        for name in ratings:
            if name != gold:
                bins[name] = means_by_gold_bin([ratings[name][place] for place in places], right, where)
    return RaterStudy(
        items=len(clusters),
        clusters=len(set(clusters)),
        means={name: group_mean(scores, clusters) for name, scores in ratings.items()},
        correlations=correlation_matrix(ratings, clusters, methods),
        by_label=split,
        bins=bins,
    )


def study_panel(ratings: Ratings, clusters: Sequence[Hashable]) -> Panel:
    """Return the intra-class correlations of the raters, over all items and cluster by cluster.

    Raises:
        InputError: pingouin is not installed.
        ValueError: fewer than two raters, or fewer than five items that all of them scored.
    """
    table: list[list[float]] = []
    kept: list[Hashable] = []
    for cluster, row in zip(clusters, zip(*ratings.values(), strict=True), strict=True):
        complete = [score for score in row if score is not None]
        if len(complete) == len(row):
            table.append(complete)
            kept.append(cluster)
    overall = icc(table)
    rows: dict[Hashable, list[list[float]]] = {}
    for cluster, scores in zip(kept, table, strict=True):
        rows.setdefault(cluster, []).append(scores)
    by_cluster = {
        cluster: icc(scores)["ICC(2,k)"] for cluster, scores in rows.items() if len(scores) >= MIN_TARGETS
    }
    return Panel(tuple(ratings), len(table), len(clusters) - len(table), overall, by_cluster)
