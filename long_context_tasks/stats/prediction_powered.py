"""Means of a judge, corrected by people's ratings of some of the same answers.

Prediction-powered inference (Angelopoulos et al. 2023, Science 382; with the tuned weight of PPI++, arXiv 2311.01453) for a mean whose rated
answers are a random part of all answers: the mean of ``w * judge`` over all, and of ``person - w * judge`` over the rated ones. The weight ``w``
is the slope of people's ratings on the judge's scores, so that a judge who says nothing changes nothing.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from long_context_tasks.stats.intervals import LEVEL, Interval, cluster_t

MIN_RATED, MIN_CLUSTERS = 10, 5
"""Fewest rated answers, and fewest clusters with rated answers, for a correction."""
_MOST_LEVERAGE = 0.8
"""A rated answer whose score stands alone decides the weight by itself; without it there would be none."""


@dataclass(frozen=True)
class CorrectedMean:
    """A judge's mean beside the mean that people would give.

    Attributes:
        n: answers with a score of the judge.
        n_rated: those that a person rated, too.
        raw: mean of the judge's scores over all answers.
        corrected: estimate of people's mean over all answers.
        interval: of ``corrected``, over clusters.
        rated_only: people's mean over the rated answers.
        rated_interval: of ``rated_only``, over clusters.
        bias: mean of judge minus person over the rated answers.
        bias_interval: of ``bias``, over clusters.
        weight: of the judge's scores, see above.
    """

    n: int
    n_rated: int
    raw: float
    corrected: float
    interval: Interval
    rated_only: float
    rated_interval: Interval
    bias: float
    bias_interval: Interval
    weight: float


def corrected_mean(
    judged: Sequence[float],
    rated: Sequence[float | None],
    clusters: Sequence[Hashable],
    level: float = LEVEL,
) -> CorrectedMean:
    """Return a judge's mean corrected by people's ratings, on the scale of the ratings.

    The rated answers have to be a random part of all answers of the same model: ratings of another model's answers say nothing of the bias here.

    Args:
        judged: scores of the judge.
        rated: a person's rating of the same answer, on the same scale; None where there is none.
        clusters: of the answers (meetings, documents).
        level: of confidence.

    Raises:
        ValueError: lengths that differ, fewer than ten rated answers, or rated answers of fewer than five clusters.
    """
    if not len(judged) == len(rated) == len(clusters):
        raise ValueError("judged, rated and clusters have different lengths")
    chosen = np.array([value is not None for value in rated])
    judge = np.asarray(judged, dtype=float)
    person = np.array([math.nan if value is None else value for value in rated], dtype=float)
    where = [cluster for cluster, one in zip(clusters, chosen, strict=True) if one]
    n_rated = int(chosen.sum())
    if n_rated < MIN_RATED or len(set(where)) < MIN_CLUSTERS:
        raise ValueError(
            f"{n_rated} rated answers in {len(set(where))} clusters: a correction needs {MIN_RATED} in {MIN_CLUSTERS}"
        )
    seen, truth = judge[chosen], person[chosen]
    spread = float(np.var(seen))
    weight = float(np.mean((seen - seen.mean()) * (truth - truth.mean()))) / spread if spread > 0 else 0.0
    rest = truth - weight * seen
    # What each answer adds to the estimate. Deviations are centered, as the share of rated answers in a cluster is random itself, and
    # each is taken as if the weight were fitted without its answer (HC3): with few rated answers the interval is too short otherwise.
    leverage = 1 / n_rated + ((seen - seen.mean()) ** 2 / (n_rated * spread) if spread > 0 else 0.0)
    apart = (rest - rest.mean()) / (1 - np.minimum(leverage, _MOST_LEVERAGE))
    shares = weight * judge + rest.mean()
    shares[chosen] += len(judge) / n_rated * (apart - apart.mean())
    return CorrectedMean(
        n=len(judge),
        n_rated=n_rated,
        raw=float(judge.mean()),
        corrected=float(shares.mean()),
        interval=cluster_t(shares.tolist(), clusters, level),
        rated_only=float(truth.mean()),
        rated_interval=cluster_t(truth.tolist(), where, level),
        bias=float((seen - truth).mean()),
        bias_interval=cluster_t((seen - truth).tolist(), where, level),
        weight=weight,
    )
