"""The mean of scores with everything that belongs to it: n, interval, coverage, reasons."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from long_context_tasks.schema import Score
from long_context_tasks.stats.clustered import cluster_t, cluster_wilson
from long_context_tasks.stats.intervals import Interval

Z_95 = NormalDist().inv_cdf(0.975)
"""Half the width of a 95 % interval, in standard deviations."""


@dataclass(frozen=True)
class Mean:
    """A mean over the cases that could be scored.

    Attributes:
        value: the mean; not a number when nothing was scored.
        low, high: 95 % interval.
        n: cases in the mean.
        total: all cases; ``n / total`` is the coverage.
        reasons: reason to count, of failures of the model (in the mean) and of ours (outside).
    """

    value: float
    low: float
    high: float
    n: int
    total: int
    reasons: Mapping[str, int]

    @property
    def coverage(self) -> float:
        """Share of the cases that could be scored."""
        return self.n / self.total if self.total else math.nan


def mean_of_scores(scores: Sequence[Score], clusters: Sequence[Hashable], *, rates: bool = True) -> Mean:
    """Mean of the scores that have a value.

    Hits and misses of independent cases (each a cluster of its own) get a Wilson interval, clustered shares one with design effect,
    points of a scale a t interval over clusters (:mod:`long_context_tasks.stats.clustered`); where nothing tells how far clusters differ, its ends are not a
    number. Where values are a judge's expectations of what people would say, the interval includes how far people may be from them: it is that of
    the mean of one person's score of each case.

    Args:
        scores: values, reasons and standard deviations.
        clusters: the cluster of each score.
        rates: scores of 0 and 1 are misses and hits; False for points of a scale, where they are points like others.

    >>> mean = mean_of_scores([Score(1.0), Score(0.0, "empty"), Score(None, "does_not_fit")], ["a", "b", "c"])
    >>> mean.value, mean.n, mean.total, dict(mean.reasons)
    (0.5, 2, 3, {'empty': 1, 'does_not_fit': 1})
    """
    reasons = dict(Counter(score.reason for score in scores if score.reason is not None))
    there = [
        (score.value, cluster, score.std)
        for score, cluster in zip(scores, clusters, strict=True)
        if score.value is not None
    ]
    if not there:
        return Mean(math.nan, math.nan, math.nan, 0, len(scores), reasons)
    values, kept, stds = zip(*there, strict=True)
    ends = interval_of_mean(values, kept, rates=rates, stds=stds)
    return Mean(math.fsum(values) / len(values), ends.low, ends.high, len(values), len(scores), reasons)


def interval_of_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    rates: bool = True,
    stds: Sequence[float] = (),
) -> Interval:
    """The 95 % interval that fits the values; see :func:`mean_of_scores`.

    Points of a scale that are all equal tell nothing of how they spread: the ends are not a number.

    Args:
        values: at least one.
        clusters: of the values.
        rates: the values are shares from 0 to 1.
        stds: standard deviation of what each value is the expectation of, independent of one another; empty where values are certain.
    """
    ends = _interval_of_values(values, clusters, rates)
    return widened(ends, math.fsum(values) / len(values), stds, rates=rates) if any(stds) else ends


def widened(ends: Interval, mean: float, stds: Sequence[float], *, rates: bool = True) -> Interval:
    """An interval of a mean of expectations as one of the mean of what was expected.

    The variance of the mean has two independent parts, that between cases and that within them; so the distance of each end from the
    mean grows in quadrature (law of total variance).

    Args:
        ends: for the values taken as certain.
        mean: of the values.
        stds: see :func:`interval_of_mean`.
        rates: the ends stay within 0 and 1.

    >>> widened(Interval(0.4, 0.6), 0.5, [0.5] * 25)
    Interval(low=0.2799..., high=0.7200...)
    """
    within = Z_95 * math.sqrt(math.fsum(std**2 for std in stds)) / len(stds)
    low, high = mean - math.hypot(mean - ends.low, within), mean + math.hypot(ends.high - mean, within)
    return Interval(max(low, 0.0), min(high, 1.0)) if rates else Interval(low, high)


def _interval_of_values(values: Sequence[float], clusters: Sequence[Hashable], rates: bool) -> Interval:
    if rates and all(0 <= value <= 1 for value in values):
        return cluster_wilson(values, clusters)
    return cluster_t(values, clusters)
