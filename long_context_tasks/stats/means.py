"""The mean of scores with everything that belongs to it: n, interval, coverage, reasons."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from long_context_tasks.schema import Score
from long_context_tasks.stats.intervals import Interval, cluster_bootstrap, wilson


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
    all hit or all miss, each counted as one case.

    Args:
        scores: values and reasons.
        clusters: the cluster of each score.
        seed: of the bootstrap.
        rates: scores of 0 and 1 are misses and hits; False for points of a scale, where they are points like others.

    >>> mean = mean_of_scores([Score(1.0), Score(0.0, "empty"), Score(None, "does_not_fit")], ["a", "b", "c"])
    >>> mean.value, mean.n, mean.total, dict(mean.reasons)
    (0.5, 2, 3, {'empty': 1, 'does_not_fit': 1})
    """
    reasons = dict(Counter(score.reason for score in scores if score.reason is not None))
    pairs = [
        (score.value, cluster)
        for score, cluster in zip(scores, clusters, strict=True)
        if score.value is not None
    ]
    if not pairs:
        return Mean(math.nan, math.nan, math.nan, 0, len(scores), reasons)
    values = [value for value, _ in pairs]
    kept = [cluster for _, cluster in pairs]
    ends = interval_of_mean(values, kept, seed, rates=rates)
    return Mean(math.fsum(values) / len(values), ends.low, ends.high, len(values), len(scores), reasons)


def interval_of_mean(
    values: Sequence[float], clusters: Sequence[Hashable], seed: int = 0, *, rates: bool = True
) -> Interval:
    """The 95 % interval that fits the values; see :func:`mean_of_scores`.

    Points of a scale that are all equal tell nothing of how they spread: the ends are not a number.
    """
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
