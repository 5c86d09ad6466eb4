"""The mean of scores with everything that belongs to it: n, interval, coverage, reasons."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from long_context_tasks.schema import Score
from long_context_tasks.stats.intervals import Interval, cluster_bootstrap, wilson

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


def mean_of_scores(
    scores: Sequence[Score], clusters: Sequence[Hashable], seed: int = 0, *, rates: bool = True
) -> Mean:
    """Mean of the scores that have a value.

    Hits and misses of independent cases (each a cluster of its own) get a Wilson interval, anything else a bootstrap
    over the clusters. A single cluster of hits and misses falls back on Wilson, as nothing can be resampled; so do clusters that
    all hit or all miss, each counted as one case. Where values are a judge's expectations of what people would say, the interval
    includes how far people may be from them: it is that of the mean of one person's score of each case.

    Args:
        scores: values, reasons and standard deviations.
        clusters: the cluster of each score.
        seed: of the bootstrap.
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
    ends = interval_of_mean(values, kept, seed, rates=rates, stds=stds)
    return Mean(math.fsum(values) / len(values), ends.low, ends.high, len(values), len(scores), reasons)


def interval_of_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    seed: int = 0,
    *,
    rates: bool = True,
    stds: Sequence[float] = (),
) -> Interval:
    """The 95 % interval that fits the values; see :func:`mean_of_scores`.

    Points of a scale that are all equal tell nothing of how they spread: the ends are not a number.

    Args:
        values: at least one.
        clusters: of the values.
        seed: of the bootstrap.
        rates: the values are shares from 0 to 1.
        stds: standard deviation of what each value is the expectation of, independent of one another; empty where values are certain.
    """
    ends = _interval_of_values(values, clusters, seed, rates)
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


def _interval_of_values(
    values: Sequence[float], clusters: Sequence[Hashable], seed: int, rates: bool
) -> Interval:
    if not rates:
        spread = len(set(values)) > 1
        return cluster_bootstrap(values, clusters, seed) if spread else Interval(math.nan, math.nan)
    binary = all(value in (0.0, 1.0) for value in values)
    n_clusters = len(set(clusters))
    if binary and n_clusters in (1, len(values)):
        return wilson(round(sum(values)), len(values))
    if binary and len(set(values)) == 1:
        # Every draw of the bootstrap would be the same. As if each cluster were one case: wide, but no false certainty.
        return wilson(n_clusters if values[0] else 0, n_clusters)
    return cluster_bootstrap(values, clusters, seed)
