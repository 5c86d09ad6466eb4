"""Means with n, interval, coverage and reasons: per task, by label, and corrected by human ratings."""

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import TypeVar

import numpy as np

from long_context_tasks.schema import CaseScores, Score
from long_context_tasks.schema.response import REASONS
from long_context_tasks.stats.intervals import (
    Array,
    Interval,
    cluster_moments,
    cluster_share,
    cluster_t,
    t_ends,
)

Label = TypeVar("Label", bound=Hashable)
Scale = tuple[float, float]
"""Lowest and highest possible score of a metric."""
RATES: Scale = (0.0, 1.0)
Z_95 = statistics.NormalDist().inv_cdf(0.975)  # half the width of a 95 % interval, in standard deviations


@dataclass(frozen=True)
class Mean:
    value: float  # the mean; nan if no case was scored
    # low, high: 95 % interval. It is not the mean plus or minus 1.96 se, because it accounts for few clusters
    # and for the endpoints of the scale.
    low: float
    high: float
    n: int  # number of cases in the mean
    total: int  # number of all cases; n / total is the coverage
    # Number of cases by reason, for failures of the model (included in the mean) and of ours (excluded).
    reasons: Mapping[str, int]
    se: float = math.nan  # clustered standard error, for exports; nan if the spread is unknown

    @property
    def coverage(self) -> float:
        return self.n / self.total if self.total else math.nan


def mean_of_scores(
    scores: Sequence[Score], clusters: Sequence[Hashable], *, scale: Scale | None = RATES
) -> Mean:
    """Return the mean of the scores with a value, and its interval (see :func:`interval_of_mean`).

    If values are expected human scores (ORCA), the interval includes the human spread around them: it is the
    interval of the mean of one rater's scores.

    ``scale`` is None for an unbounded metric.

    >>> mean = mean_of_scores([Score(1.0), Score(0.0, "empty"), Score(None, "does_not_fit")], ["a", "b", "c"])
    >>> mean.value, mean.n, mean.total, dict(mean.reasons)
    (0.5, 2, 3, {'empty': 1, 'does_not_fit': 1})
    """
    values, reasons, stds = (
        [getattr(score, name) for score in scores] for name in ("value", "reason", "std")
    )
    return mean_of_values(values, reasons, stds, clusters, scale=scale)


def mean_of_values(
    values: Sequence[float | None],
    reasons: Iterable[str | None],
    stds: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    scale: Scale | None = RATES,
) -> Mean:
    """Return :func:`mean_of_scores` of scores whose values, reasons and standard deviations are in columns."""
    counts = dict(Counter(reason for reason in reasons if reason is not None))
    rows = [row for row in zip(values, clusters, stds, strict=True) if row[0] is not None]
    if not rows:
        return Mean(math.nan, math.nan, math.nan, 0, len(values), counts)
    scored, of_values, of_stds = zip(*rows, strict=True)
    ends = interval_of_mean(scored, of_values, scale=scale, stds=of_stds)
    value, se = math.fsum(scored) / len(scored), standard_error(scored, of_values, of_stds)
    return Mean(value, ends.low, ends.high, len(scored), len(values), counts, se)


def standard_error(
    values: Sequence[float], clusters: Sequence[Hashable], stds: Sequence[float] = ()
) -> float:
    """Return the cluster-robust standard error (CR2) of a mean; nan if the spread is unknown.

    It is unknown with a single cluster or if all cluster means are equal. If every cluster has one value, the
    result is the sample standard deviation over the square root of n.

    >>> round(standard_error([1.0, 0.0, 1.0, 1.0], range(4)), 4)
    0.25
    """
    estimate = cluster_moments(values, clusters, skewed=False)  # only the degrees of freedom would differ
    if estimate is None:
        return math.nan
    return math.sqrt(float(estimate.variance) + math.fsum(std**2 for std in stds) / len(values) ** 2)


def interval_of_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    scale: Scale | None = RATES,
    stds: Sequence[float] = (),
) -> Interval:
    """Return the 95 % interval of a mean.

    Values on a known scale get the interval of :func:`~long_context_tasks.stats.intervals.cluster_share`.
    Values without a scale get a t interval over clusters, as do all values if one is outside the scale.
    Bounds are nan if the spread between clusters is unknown: with a single cluster or, without a scale, if
    all clusters have the same mean.

    Args:
        scale: lowest and highest possible value; None without a scale.
        stds: if values are expectations, independent standard deviations around them; empty otherwise.
    """
    if scale is None or not all(scale[0] <= value <= scale[1] for value in values):
        ends = cluster_t(values, clusters)
    else:
        ends = cluster_share(values, clusters, scale=scale)
    return widened(ends, math.fsum(values) / len(values), stds, scale=scale) if any(stds) else ends


def widened(ends: Interval, mean: float, stds: Sequence[float], *, scale: Scale | None = RATES) -> Interval:
    """Widen the interval of a mean of expectations to that of the mean of the values themselves.

    The variance of the mean has two independent parts, between cases and within them, so distances from the
    mean add in quadrature (law of total variance).

    >>> widened(Interval(0.4, 0.6), 0.5, [0.5] * 25)
    Interval(low=0.2799..., high=0.7200...)
    """
    within = Z_95 * math.sqrt(math.fsum(std**2 for std in stds)) / len(stds)
    low, high = mean - math.hypot(mean - ends.low, within), mean + math.hypot(ends.high - mean, within)
    return Interval(low, high) if scale is None else Interval(max(low, scale[0]), min(high, scale[1]))


@dataclass(frozen=True)
class GroupMean:
    """Mean of the scores with one label (question type, answer position, gold score)."""

    n: int  # number of scores in the mean
    total: int  # number of items with this label; n / total is the coverage
    clusters: int  # number of clusters (meetings, books, ...) among the scores
    mean: float  # nan if no item was scored
    sd: float  # sample standard deviation of the scores; nan for fewer than two
    interval: Interval  # 95 %, over clusters; its bounds are nan for a single cluster


def group_mean(
    values: Sequence[float | None], clusters: Sequence[Hashable], scale: Scale | None = None
) -> GroupMean:
    """Return a group's mean; ``None`` marks an unscored item. For ``scale`` see :func:`interval_of_mean`."""
    rows = [(value, cluster) for value, cluster in zip(values, clusters, strict=True) if value is not None]
    if not rows:
        return GroupMean(0, len(values), 0, math.nan, math.nan, Interval(math.nan, math.nan))
    scores, of_scores = zip(*rows, strict=True)
    return GroupMean(
        n=len(scores),
        total=len(values),
        clusters=len(set(of_scores)),
        mean=math.fsum(scores) / len(scores),
        sd=statistics.stdev(scores) if len(scores) > 1 else math.nan,
        interval=interval_of_mean(scores, of_scores, scale=scale),
    )


def group_means(
    values: Sequence[float | None], labels: Sequence[Label], clusters: Sequence[Hashable]
) -> dict[Label, GroupMean]:
    """Return the mean per label, in order of first occurrence.

    >>> groups = group_means([9, 7, 5, None], ["who", "who", "what", "what"], ["a", "b", "a", "b"])
    >>> groups["who"].mean, groups["what"].n, groups["what"].total
    (8.0, 1, 2)
    """
    groups: dict[Label, list[tuple[float | None, Hashable]]] = {}
    for label, value, cluster in zip(labels, values, clusters, strict=True):
        groups.setdefault(label, []).append((value, cluster))
    return {label: group_mean(*zip(*rows, strict=True)) for label, rows in groups.items()}


def result_keys(metrics: Sequence[str], intervals: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of :func:`task_numbers`, in order.

    They do not depend on the data, because hosts reject metrics that appear later.
    """
    keys: list[str] = []
    for metric in metrics:
        keys.append(metric)
        if metric in intervals:
            keys += [f"{metric}_low", f"{metric}_high"]
    return (*keys, "n", "n_scored", "coverage", "n_truncated", *(f"n_{reason}" for reason in REASONS))


def task_numbers(
    scores: Sequence[CaseScores],
    clusters: Sequence[Hashable],
    metrics: Sequence[str],
    intervals: Sequence[str],
    n_truncated: float = 0,
    points: Mapping[str, Scale | None] = {},
) -> dict[str, float]:
    """Return a task's means, intervals and counts as flat numbers for a host's table and result file.

    Rates are from 0 to 1, nan if no case counts; ``n_truncated`` is nan if the window is unknown.
    """
    result: dict[str, float] = {}
    for metric in metrics:
        mean = mean_of_scores([case[metric] for case in scores], clusters, scale=points.get(metric, RATES))
        result[metric] = mean.value
        if metric in intervals:
            result |= {f"{metric}_low": mean.low, f"{metric}_high": mean.high}
    headline = mean_of_scores([case[metrics[0]] for case in scores], clusters)
    counts = {"n": headline.total, "n_scored": headline.n, "coverage": headline.coverage}
    reasons = {f"n_{reason}": headline.reasons.get(reason, 0) for reason in REASONS}
    return {**result, **counts, "n_truncated": n_truncated, **reasons}


Number = float | int | Decimal | Fraction

_CONTEXT = Context(prec=50, rounding=ROUND_HALF_UP)


def round_half_up(value: Number, places: int = 2) -> Decimal:
    """Round to ``places`` decimals, halves away from zero, as in the papers' tables.

    The result prints all its decimals. Python's ``round`` and format strings round halves to even, and round
    the binary value (``round(2.675, 2)`` is 2.67).

    >>> str(round_half_up(2.675)), str(round_half_up(4.695, 1)), str(round_half_up(8.5))
    ('2.68', '4.7', '8.50')

    Raises:
        ValueError: the number is not finite, or ``places`` is below 0.
    """
    if places < 0:
        raise ValueError(f"{places} decimals")
    if isinstance(value, Fraction):
        decimal = _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
    else:
        # The shortest decimal that reads back as the float; float() because numpy numbers have a different
        # repr.
        decimal = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if not decimal.is_finite():
        raise ValueError(f"cannot round {value}")
    return decimal.quantize(Decimal(1).scaleb(-places), context=_CONTEXT)


def round_twice(value: Number, places: int = 2) -> Decimal:
    """Round half up to three decimals, then to ``places``, to reproduce tables that were rounded twice.

    >>> str(round_half_up(Fraction(1202, 141))), str(round_twice(Fraction(1202, 141)))
    ('8.52', '8.53')
    """
    return round_half_up(round_half_up(value, 3), places)


def could_be_one_run(value: float, mean: float, sd: float, n: int) -> bool:
    """Check whether ``value`` can be one of ``n`` >= 2 runs with a given mean and standard deviation.

    No value is further from its sample's mean than (n - 1) / sqrt(n) sample standard deviations (Samuelson
    1968). Mean and standard deviation were printed with two decimals, so either may be off by half a unit in
    the last digit.

    >>> could_be_one_run(8.5154, 8.42, 0.09, 3), could_be_one_run(8.60, 8.42, 0.09, 3)
    (True, False)
    """
    half = 0.005
    return abs(value - mean) <= (n - 1) / math.sqrt(n) * (sd + half) + half


# Minimum number of rated answers, and of their clusters, for a correction.
MIN_RATED, MIN_CLUSTERS = 10, 5
# Minimum number of ratings, and of differences from the judge's scores, that are not the most frequent value.
# With fewer, a sample often misses the few that differ, and the interval is far too short.
MIN_UNLIKE = 5
# Bounds the division by 1 - leverage: a rated answer with a unique score determines the weight by itself
# (leverage 1).
_MOST_LEVERAGE = 0.8


@dataclass(frozen=True)
class CorrectedMean:
    """A judge's mean, and an estimate of the human mean."""

    n: int  # number of answers scored by the judge
    n_rated: int  # number of these also rated by a human
    raw: float  # mean judge score over all answers
    corrected: float  # estimated human mean over all answers
    interval: Interval  # of corrected, over the clusters with a rating
    rated_only: float  # human mean over the rated answers
    rated_interval: Interval  # of rated_only, over clusters
    bias: float  # mean of judge minus human over the rated answers
    bias_interval: Interval  # of bias, over clusters
    weight: float  # slope of human ratings on judge scores, over the rated answers


def corrected_mean(
    judged: Sequence[float],
    rated: Sequence[float | None],
    clusters: Sequence[Hashable],
) -> CorrectedMean:
    """Return a judge's mean corrected by human ratings, on the rating scale (PPI++).

    PPI++ is prediction-powered inference. The rated answers must be a random sample of all answers of the
    same model, because the judge's bias differs between models.

    Raises:
        ValueError: lengths differ; there are fewer than :data:`MIN_RATED` rated answers or
            :data:`MIN_CLUSTERS` clusters of them, or fewer than :data:`MIN_UNLIKE` ratings, or differences
            from the judge's scores, other than the most frequent one.
    """
    if not len(judged) == len(rated) == len(clusters):
        raise ValueError("judged, rated and clusters have different lengths")
    judge, person = np.asarray(judged, dtype=float), np.array(rated, dtype=float)
    chosen = ~np.isnan(person)
    of_rated = [cluster for cluster, value in zip(clusters, rated, strict=True) if value is not None]
    n_rated, n_clusters = len(of_rated), len(set(of_rated))
    if n_rated < MIN_RATED or n_clusters < MIN_CLUSTERS:
        raise ValueError(
            f"{n_rated} rated answers in {n_clusters} clusters: a correction needs {MIN_RATED} in {MIN_CLUSTERS}"
        )
    seen, truth = judge[chosen], person[chosen]
    for what, each in (("ratings", truth), ("differences of judge and person", seen - truth)):
        values, counts = np.unique(each, return_counts=True)
        if n_rated - counts.max() < MIN_UNLIKE:
            raise ValueError(
                f"{n_rated - counts.max()} of {n_rated} {what} are not {values[counts.argmax()]:g}: a correction needs {MIN_UNLIKE}"
            )
    spread = float(np.var(seen))
    weight = float(np.mean((seen - seen.mean()) * (truth - truth.mean()))) / spread if spread > 0 else 0.0
    rest = truth - weight * seen
    # Contribution of each answer to the estimate. Deviations are centred because the share of rated answers
    # in a cluster is random. They are scaled as if the weight were fitted without the answer (HC3), because
    # the interval would otherwise be too short with few rated answers.
    leverage = 1 / n_rated + ((seen - seen.mean()) ** 2 / (n_rated * spread) if spread > 0 else 0.0)
    apart = (rest - rest.mean()) / (1 - np.minimum(leverage, _MOST_LEVERAGE))
    shares = weight * judge + rest.mean()
    shares[chosen] += len(judge) / n_rated * (apart - apart.mean()) * _few_clusters(of_rated, clusters)
    estimate = cluster_moments(shares.tolist(), clusters)
    assert estimate is not None  # at least five clusters, and ratings differ
    # Most of the error comes from the rated clusters, so their number bounds the degrees of freedom.
    low, high = t_ends(replace(estimate, df=np.minimum(estimate.df, n_clusters - 1)))
    return CorrectedMean(
        n=len(judge),
        n_rated=n_rated,
        raw=float(judge.mean()),
        corrected=float(shares.mean()),
        interval=Interval(float(low), float(high)),
        rated_only=float(truth.mean()),
        rated_interval=cluster_t(truth.tolist(), of_rated),
        bias=float((seen - truth).mean()),
        bias_interval=cluster_t((seen - truth).tolist(), of_rated),
        weight=weight,
    )


def _few_clusters(rated: Sequence[Hashable], clusters: Sequence[Hashable]) -> Array:
    """Return factors that correct the rated answers' deviations for the number of rated clusters.

    Deviations from a mean over few clusters are too small, by ``1 - share`` of the cluster (CR2), and the
    interval corrects this only for the number of all clusters.
    """
    all_sizes, rated_sizes = Counter(clusters), Counter(rated)
    return np.sqrt(
        [
            (1 - all_sizes[cluster] / len(clusters)) / (1 - rated_sizes[cluster] / len(rated))
            for cluster in rated
        ]
    )
