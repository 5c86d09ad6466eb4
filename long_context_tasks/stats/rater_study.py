"""How judges and people compare: the study of ELITR-Bench's section 6 for any set of raters."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from long_context_tasks.stats.agreement import MIN_TARGETS, Icc, icc
from long_context_tasks.stats.breakdown import Group, breakdown, by_gold_bin, summarize
from long_context_tasks.stats.correlation import METHODS, Correlation, Method, correlation_matrix

Ratings = Mapping[str, Sequence[float | None]]
"""Rater to scores, all in one order of items; ``None`` where a rater gave none."""


@dataclass(frozen=True)
class RaterStudy:
    """What :func:`study_raters` finds.

    Attributes:
        items, clusters: how many.
        means: mean of each rater over what that rater scored.
        by_label: label to the means of each rater (Table 4 with the model as label); empty without labels.
        correlations: every pair by every method.
        bins: rater to scores in each bin of the gold rater (Fig. 2a); empty without one.
    """

    items: int
    clusters: int
    means: Mapping[str, Group]
    correlations: Sequence[Correlation]
    by_label: Mapping[str, Mapping[str, Group]] = field(default_factory=dict)
    bins: Mapping[str, Mapping[int, Group]] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """Agreement of several raters (Table 11).

    Attributes:
        raters: who.
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
    """Means, correlations and distributions of all raters; every interval is over clusters.

    Raises:
        ValueError: lengths differ. KeyError: ``gold`` is no rater.
    """
    means = {name: summarize(scores, clusters) for name, scores in ratings.items()}
    split: dict[str, dict[str, Group]] = {}
    for name, scores in ratings.items():
        for label, group in breakdown(scores, labels or [], clusters).items() if labels else ():
            split.setdefault(label, {})[name] = group
    return RaterStudy(
        items=len(clusters),
        clusters=len(set(clusters)),
        means=means,
        correlations=correlation_matrix(ratings, clusters, methods, seed),
        by_label=split,
        bins={} if gold is None else _bins(ratings, clusters, gold),
    )


def _bins(ratings: Ratings, clusters: Sequence[Hashable], gold: str) -> dict[str, dict[int, Group]]:
    known = [(place, score) for place, score in enumerate(ratings[gold]) if score is not None]
    return {
        name: by_gold_bin(
            [scores[place] for place, _ in known],
            [score for _, score in known],
            [clusters[place] for place, _ in known],
        )
        for name, scores in ratings.items()
        if name != gold
    }


def study_panel(ratings: Ratings, clusters: Sequence[Hashable]) -> Panel:
    """Intra-class correlations of the raters, over all items and cluster by cluster.

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
