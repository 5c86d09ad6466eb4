"""Agreement of several raters: intra-class correlation (ICC), and the study of judges and people of ELITR-Bench's section 6.

Forms of the ICC after Shrout and Fleiss (1979), Psychological Bulletin 86(2), 420-428; when to use which: Koo and Li (2016).
ICC(1, .): every target has raters of its own (different annotators from meeting to meeting). ICC(2, .): the same
raters, drawn from many, scored every target; differences in level count as disagreement. ICC(3, .): the same raters and
only these; differences in level do not count. (., 1) is the reliability of one rater, (., k) of the mean of all k.

The computation is pingouin's, which comes with ``pip install 'long_context_tasks[agreement]'``.
"""

import importlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from long_context_tasks.schema import InputError
from long_context_tasks.stats.correlation import METHODS, Correlation, Method, correlation_matrix
from long_context_tasks.stats.intervals import Interval
from long_context_tasks.stats.means import GroupMean, group_mean, group_means
from long_context_tasks.stats.rounding import round_half_up

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
    pandas, pingouin = _load("pandas"), _load("pingouin")
    raters = sizes.pop()
    table = pandas.DataFrame(
        [
            (target, rater, float(rating))
            for target, row in enumerate(ratings)
            for rater, rating in enumerate(row)
        ],
        columns=["target", "rater", "rating"],
    )
    # By default pingouin rounds intervals to two decimals; the setting is that of the whole process.
    before = dict(pingouin.options)
    pingouin.options["round.column.CI95"] = None
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # raters in full agreement; documented above
            found = pingouin.intraclass_corr(data=table, targets="target", raters="rater", ratings="rating")
    finally:
        pingouin.options.update(before)
    rows = found.set_index("Type")
    return {form: _coefficient(form, rows.loc[name], len(ratings), raters) for form, name in _FORMS.items()}


def _coefficient(form: str, row: Any, targets: int, raters: int) -> Icc:
    low, high = row["CI95"]
    if low > high:  # its formula has a pole where raters agree less than by chance
        low = high = math.nan
    return Icc(
        form=form,
        value=float(row["ICC"]),
        interval=Interval(float(low), float(high)),
        f=float(row["F"]),
        df1=int(row["df1"]),
        df2=int(row["df2"]),
        p=float(row["pval"]),
        targets=targets,
        raters=raters,
    )


def _load(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"ICC needs the library {name}: pip install 'long_context_tasks[agreement]'"
        ) from error


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
    means = {name: group_mean(scores, clusters) for name, scores in ratings.items()}
    split: dict[str, dict[str, GroupMean]] = {}
    for name, scores in ratings.items():
        for label, group in group_means(scores, labels or [], clusters).items() if labels else ():
            split.setdefault(label, {})[name] = group
    return RaterStudy(
        items=len(clusters),
        clusters=len(set(clusters)),
        means=means,
        correlations=correlation_matrix(ratings, clusters, methods, seed),
        by_label=split,
        bins={} if gold is None else _bins(ratings, clusters, gold),
    )


def _bins(ratings: Ratings, clusters: Sequence[Hashable], gold: str) -> dict[str, dict[int, GroupMean]]:
    known = [(place, score) for place, score in enumerate(ratings[gold]) if score is not None]
    return {
        name: means_by_gold_bin(
            [scores[place] for place, _ in known],
            [score for _, score in known],
            [clusters[place] for place, _ in known],
        )
        for name, scores in ratings.items()
        if name != gold
    }


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
