"""Agreement of raters (judges, people): correlation and nearness to people, intra-class correlation (ICC), and the study of raters.

Pearson, Spearman and Kendall's tau-b are scipy's; Spearman and tau-b with average ranks and the correction for ties, which
ratings from 1 to 10 are full of. Questions about one meeting share its transcript, its noise and its annotators, so their scores
are not independent: intervals resample whole meetings (books, threads; Davison and Hinkley 1997, section 3.8). With few clusters,
say under 20, percentile intervals are somewhat short.

All three coefficients are sums over rows or pairs of rows. Summed once for each cluster, or pair of clusters, a draw only weighs
these sums with how often it has each cluster, which saves thousands of calls; the results are scipy's on the drawn rows.

Forms of the ICC after Shrout and Fleiss (1979), Psychological Bulletin 86(2), 420-428; when to use which: Koo and Li (2016).
ICC(1, .): every target has raters of its own (different annotators from meeting to meeting). ICC(2, .): the same
raters, drawn from many, scored every target; differences in level count as disagreement. ICC(3, .): the same raters and
only these; differences in level do not count. (., 1) is the reliability of one rater, (., k) of the mean of all k.

The computation is pingouin's, which comes with ``pip install 'long_context_tasks[agreement]'``.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.schema import InputError
from long_context_tasks.stats.intervals import LEVEL, Array, Interval, cluster_t
from long_context_tasks.stats.means import GroupMean, group_mean, group_means, round_half_up

Method = Literal["pearson", "spearman", "kendall"]
METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
Outcome = Literal["wins", "loses", "open"]
Rows = NDArray[np.intp]

RESAMPLES = 2_000
"""Draws of a bootstrap."""
MOST_ROWS = 2_000
"""Above, comparing all pairs of rows takes more memory and time than sorting each draw."""
_FLAT = 1e-12


def drawn_clusters(n_clusters: int, seed: int = 0, resamples: int = RESAMPLES) -> Rows:
    """Return the numbers of the clusters in each draw: as many as there are, with replacement; a row for each draw.

    A seed gives the same draws for every statistic, so those of several pairs of raters belong together.
    """
    return np.random.default_rng(seed).integers(0, n_clusters, size=(resamples, n_clusters), dtype=np.intp)


def cluster_numbers(clusters: Sequence[Hashable]) -> Rows:
    """Return the clusters as numbers from 0, in the order in which they first occur."""
    index = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([index[cluster] for cluster in clusters], dtype=np.intp)


def cluster_draws(clusters: Sequence[Hashable], seed: int = 0, resamples: int = RESAMPLES) -> Iterator[Rows]:
    """Give the row numbers of each draw of :func:`drawn_clusters`: every cluster with all its rows."""
    numbers = cluster_numbers(clusters)
    rows = [np.flatnonzero(numbers == number) for number in range(len(set(clusters)))]
    for drawn in drawn_clusters(len(rows), seed, resamples):
        yield np.concatenate([rows[number] for number in drawn])


def cluster_interval(
    statistic: Callable[[Rows], float],
    clusters: Sequence[Hashable],
    seed: int = 0,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the percentile interval of ``statistic``, which takes the row numbers of a draw.

    Draws in which the statistic is nan (a correlation with a rater whose scores are all equal) are left out. The ends are nan with a
    single cluster, and when over half of the draws are left out.
    """
    if len(set(clusters)) < 2:
        return Interval(math.nan, math.nan)
    draws = cluster_draws(clusters, seed, resamples)
    return percentiles(np.array([statistic(rows) for rows in draws], dtype=float), level)


def percentiles(found: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Return the percentile interval of the values of all draws; see :func:`cluster_interval` for those that are nan."""
    kept = found[~np.isnan(found)]
    if 2 * len(kept) < len(found):
        return Interval(math.nan, math.nan)
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


Draws = tuple[Rows, Array]
"""Cluster of each row, from 0, of shape (rows,); and how often a draw has each cluster, of shape (draws, clusters)."""


def draws_of(clusters: Sequence[Hashable], drawn: Rows) -> Draws:
    """Count the clusters of each draw of :func:`drawn_clusters`."""
    counts = np.zeros((len(drawn), drawn.shape[1]))
    np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1.0)
    return cluster_numbers(clusters), counts


def _ratio(both: Array, first: Array, second: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Array = both / np.sqrt(first * second)
    return result


def pearson_of_draws(x: Array, y: Array, draws: Draws) -> Array:
    """Return Pearson's coefficient of every draw; nan for a draw in which a rater's scores are all equal."""
    numbers, counts = draws
    x, y = x - x.mean(), y - y.mean()
    columns = (np.ones_like(x), x, y, x * x, y * y, x * y)
    by_cluster = np.array([np.bincount(numbers, column, minlength=counts.shape[1]) for column in columns]).T
    n, sx, sy, sxx, syy, sxy = (counts @ by_cluster).T
    spread_x, spread_y = sxx - sx * sx / n, syy - sy * sy / n
    # What is left of a constant rater after rounding is no spread.
    spread_x[spread_x <= _FLAT * (x * x).sum()] = np.nan
    spread_y[spread_y <= _FLAT * (y * y).sum()] = np.nan
    return _ratio(sxy - sx * sy / n, spread_x, spread_y)


def _signs(scores: Array, own: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Of each row against each of a cluster's rows: 1 above, -1 below, 0 tied."""
    above, below = scores[:, None] > scores[own], scores[:, None] < scores[own]
    signs: NDArray[np.int8] = above.astype(np.int8) - below.astype(np.int8)
    return signs


def spearman_of_draws(x: Array, y: Array, draws: Draws) -> Array:
    """Return Spearman's coefficient of every draw: Pearson's of the average ranks within the draw.

    A row's rank, from the middle rank, is half the rows below it less half those above.
    """
    numbers, counts = draws
    weights = counts[:, numbers]
    own = [numbers == number for number in range(counts.shape[1])]
    first, second = (
        counts @ np.array([_signs(scores, rows).sum(axis=1, dtype=float) for rows in own])
        for scores in (x, y)
    )
    return _ratio(
        (weights * first * second).sum(axis=1),
        (weights * first * first).sum(axis=1),
        (weights * second * second).sum(axis=1),
    )


def kendall_of_draws(x: Array, y: Array, draws: Draws) -> Array:
    """Return Kendall's tau-b of every draw: pairs in the same order less pairs in opposite order, over pairs not tied."""
    numbers, counts = draws
    n_clusters = counts.shape[1]
    sums = np.zeros((3, n_clusters, n_clusters))
    for number in range(n_clusters):
        own = numbers == number
        signs_x, signs_y = _signs(x, own), _signs(y, own)
        for kind, product in enumerate((signs_x * signs_y, signs_x * signs_x, signs_y * signs_y)):
            by_row = product.sum(axis=1, dtype=float)
            sums[kind, :, number] = np.bincount(numbers, by_row, minlength=n_clusters)
    both, only_x, only_y = (((counts @ kind) * counts).sum(axis=1) for kind in sums)
    return _ratio(both, only_x, only_y)


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


_AT_ONCE: dict[Method, Callable[[Array, Array, Draws], Array]] = {
    "pearson": pearson_of_draws,
    "spearman": spearman_of_draws,
    "kendall": kendall_of_draws,
}


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

    functions: Mapping[Method, Callable[[Array, Array], Any]] = {
        "pearson": scipy.stats.pearsonr,
        "spearman": scipy.stats.spearmanr,
        "kendall": scipy.stats.kendalltau,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant input; the value is what it is
        return float(functions[method](first, second).statistic)


def _interval(
    at_once: Callable[[Draws], Array],
    of_rows: Callable[[Rows], float],
    clusters: Sequence[Hashable],
    seed: int,
) -> Interval:
    """Percentile interval of a statistic that is known for all draws at once, or for the rows of each."""
    n_clusters = len(set(clusters))
    if n_clusters > 1 and max(len(clusters), 4 * n_clusters) <= MOST_ROWS:
        return percentiles(at_once(draws_of(clusters, drawn_clusters(n_clusters, seed))))
    return cluster_interval(of_rows, clusters, seed)


def correlate_raters(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    method: Method = "pearson",
    seed: int = 0,
) -> Correlation:
    """Return the correlation of two raters, each a name and the scores in the order of ``clusters``; ``None`` is no score.

    Raises:
        ValueError: lengths differ.
    """
    rows = zip(first[1], second[1], clusters, strict=True)
    common = [(x, y, cluster) for x, y, cluster in rows if x is not None and y is not None]
    x, y = np.array([row[0] for row in common], float), np.array([row[1] for row in common], float)
    kept = [row[2] for row in common]
    value = correlate(x, y, method)
    interval = Interval(math.nan, math.nan)
    if not math.isnan(value):
        interval = _interval(
            lambda draws: _AT_ONCE[method](x, y, draws),
            lambda rows: correlate(x[rows], y[rows], method),
            kept,
            seed,
        )
    return Correlation(first[0], second[0], method, value, interval, len(common), len(set(kept)))


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


def _within_of_draws(x: Array, y: Array, groups: Sequence[Hashable], draws: Draws) -> Array:
    """Return :func:`mean_rho_within` of every draw."""
    numbers, counts = draws
    own = cluster_numbers(groups)
    found = []
    for group in range(int(own.max()) + 1):
        rows = own == group
        if rows.sum() >= FEWEST_WITHIN:
            present, clusters = np.unique(numbers[rows], return_inverse=True)
            found.append(spearman_of_draws(x[rows], y[rows], (clusters, counts[:, present])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a draw without any figure has none
        result: Array = np.nanmean(np.array(found), axis=0)
    return result


def rho_within(
    x: Sequence[float],
    y: Sequence[float],
    groups: Sequence[Hashable],
    clusters: Sequence[Hashable],
    seed: int = 0,
    minus: Sequence[float] | None = None,
) -> tuple[float, Interval]:
    """Return :func:`mean_rho_within` and its 95 % interval over clusters.

    Args:
        x: scores of a rater.
        y: those of another, or of people, in the same order.
        groups: answering model of each item.
        clusters: question of each item.
        seed: of the draws.
        minus: a third rater, whose figure with ``y`` is subtracted.
    """
    people = np.asarray(y, dtype=float)
    raters = [np.asarray(each, dtype=float) for each in (x, minus) if each is not None]

    def difference(values: Sequence[Any]) -> Any:
        return values[0] - values[1] if minus is not None else values[0]

    def of_rows(rows: Rows) -> float:
        own = [groups[row] for row in rows]
        return float(
            difference([mean_rho_within(each[rows].tolist(), people[rows].tolist(), own) for each in raters])
        )

    value = of_rows(np.arange(len(people)))
    if math.isnan(value):
        return value, Interval(math.nan, math.nan)
    n_clusters = len(set(clusters))
    # Pairs are compared within a group only.
    if n_clusters > 1 and max(Counter(groups).values()) <= MOST_ROWS // 2:
        draws = draws_of(clusters, drawn_clusters(n_clusters, seed))
        found = difference([_within_of_draws(each, people, groups, draws) for each in raters])
        return value, percentiles(found)
    return value, cluster_interval(of_rows, clusters, seed)


def correlation_matrix(
    raters: Mapping[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    methods: Sequence[Method] = METHODS,
    seed: int = 0,
) -> list[Correlation]:
    """Correlate every pair of raters once, by every method; pairs in the order of the raters.

    Raises:
        ValueError: lengths differ.
    """
    return [
        correlate_raters((first, raters[first]), (second, raters[second]), clusters, method, seed)
        for method in methods
        for first, second in combinations(raters, 2)
    ]


@dataclass(frozen=True)
class Difference:
    """First rater minus second.

    Attributes:
        value: of all items.
        interval: 95 %, over clusters; both raters have the same draws.
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
    first: Sequence[float],
    second: Sequence[float],
    truth: Sequence[float],
    clusters: Sequence[Hashable],
    seed: int = 0,
) -> Difference:
    """Return the difference of two raters' Spearman correlations with the truth.

    Raises:
        ValueError: lengths differ.
    """
    x, y, people = (np.asarray(each, dtype=float) for each in (first, second, truth))
    value = correlate(x, people, "spearman") - correlate(y, people, "spearman")
    if len(people) != len(clusters):
        raise ValueError(f"{len(people)} items and {len(clusters)} clusters")
    interval = Interval(math.nan, math.nan)
    if not math.isnan(value):
        interval = _interval(
            lambda draws: spearman_of_draws(x, people, draws) - spearman_of_draws(y, people, draws),
            lambda rows: (
                correlate(x[rows], people[rows], "spearman") - correlate(y[rows], people[rows], "spearman")
            ),
            clusters,
            seed,
        )
    return _difference(value, interval, 1)


def within_difference(
    first: Sequence[float],
    second: Sequence[float],
    truth: Sequence[float],
    groups: Sequence[Hashable],
    clusters: Sequence[Hashable],
    seed: int = 0,
) -> Difference:
    """Return the difference of two raters' :func:`mean_rho_within` with the truth."""
    return _difference(*rho_within(first, truth, groups, clusters, seed, minus=second), 1)


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
    try:
        import pandas
        import pingouin
    except ImportError as error:
        raise InputError(
            f"ICC needs the library {error.name}: pip install 'long_context_tasks[agreement]'"
        ) from error
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
    seed: int = 0,
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
        correlations=correlation_matrix(ratings, clusters, methods, seed),
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
