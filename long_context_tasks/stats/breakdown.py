"""Scores split by a label (question type, answer position, gold score): n, mean and interval of each group."""

import math
import statistics
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from long_context_tasks.stats.clustered import cluster_t
from long_context_tasks.stats.intervals import Interval
from long_context_tasks.stats.rounding import round_half_up

Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True)
class Group:
    """Scores of one label.

    Attributes:
        n: scores in the mean.
        total: items with this label; ``n / total`` is the coverage.
        clusters: meetings (books, ...) that the scores come from.
        mean: not a number when nothing was scored.
        sd: sample standard deviation of the scores; not a number for fewer than two.
        interval: 95 %, of the mean, over clusters; its ends are not a number when there is a single cluster.
    """

    n: int
    total: int
    clusters: int
    mean: float
    sd: float
    interval: Interval


def summarize(values: Sequence[float | None], clusters: Sequence[Hashable]) -> Group:
    """The figures of one group; ``None`` is an item without a score.

    Raises:
        ValueError: lengths differ.
    """
    pairs = [(value, cluster) for value, cluster in zip(values, clusters, strict=True) if value is not None]
    if not pairs:
        return Group(0, len(values), 0, math.nan, math.nan, Interval(math.nan, math.nan))
    scores = [value for value, _ in pairs]
    kept = [cluster for _, cluster in pairs]
    return Group(
        n=len(scores),
        total=len(values),
        clusters=len(set(kept)),
        mean=math.fsum(scores) / len(scores),
        sd=statistics.stdev(scores) if len(scores) > 1 else math.nan,
        interval=cluster_t(scores, kept),
    )


def breakdown(
    values: Sequence[float | None], labels: Sequence[Label], clusters: Sequence[Hashable]
) -> dict[Label, Group]:
    """Figures of each label, in the order in which the labels first occur.

    >>> groups = breakdown([9, 7, 5, None], ["who", "who", "what", "what"], ["a", "b", "a", "b"])
    >>> groups["who"].mean, groups["what"].n, groups["what"].total
    (8.0, 1, 2)

    Raises:
        ValueError: lengths differ.
    """
    places: dict[Label, list[int]] = {}
    for place, (label, _, _) in enumerate(zip(labels, values, clusters, strict=True)):
        places.setdefault(label, []).append(place)
    return {
        label: summarize([values[place] for place in group], [clusters[place] for place in group])
        for label, group in places.items()
    }


def by_gold_bin(
    values: Sequence[float | None], gold: Sequence[float], clusters: Sequence[Hashable]
) -> dict[int, Group]:
    """How a rater scores what the gold rater gave 1, 2, 3 ... (ELITR-Bench, Fig. 2a), bins in ascending order.

    A gold score between two bins (a mean over people) goes to the nearer one, a half to the upper.

    Raises:
        ValueError: lengths differ, or a gold score is not a finite number.
    """
    bins = [int(round_half_up(score, 0)) for score in gold]
    return dict(sorted(breakdown(values, bins, clusters).items()))
