"""Clamping: a predicted mean near an end becomes that end where the predicted variance is small (paper, section 5.5).

The threshold of the variance is found on the development part and applied elsewhere. What is best is a weighted sum of Spearman's rho, Kendall's tau and the
mean absolute error: ``paper`` takes rho + tau - MAE, ``released`` (the released code's default) rho + tau.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.orca.metrics import Agreement, agreement
from long_context_tasks.schema import InputError

Weights = tuple[float, float, float]
COMPOSITES: dict[str, Weights] = {"paper": (1.0, 1.0, -1.0), "released": (1.0, 1.0, 0.0)}
"""Name to weights of rho, tau and MAE."""
MARGIN = 0.125
"""Half the distance of two ratings: what is nearer to an end than this may be clamped."""

_START, _FLOOR, _STEP_UP = 0.05, 1e-6, 1.15
_PATIENCE_DOWN, _PATIENCE_UP = 2, 6


@dataclass(frozen=True)
class Trial:
    """A threshold that was tried on the development part, and its figures."""

    threshold: float
    rho: float
    tau: float
    mae: float
    composite: float


@dataclass(frozen=True)
class ThresholdSearch:
    """What the search found.

    Attributes:
        best: the best threshold tried; the earlier one of two that are as good.
        trials: in order.
        baseline: figures without clamping.
        composite_baseline, composite_clamped: without clamping, and with ``best``.
    """

    best: float
    trials: tuple[Trial, ...]
    baseline: Agreement
    composite_baseline: float
    composite_clamped: float

    @property
    def threshold(self) -> float:
        """The threshold to apply: ``best``, or 0 (which clamps nothing of a positive variance) where clamping does not help."""
        return self.best if self.composite_clamped > self.composite_baseline else 0.0


def clamp(mean: float, variance: float, threshold: float) -> float:
    """One score, clamped.

    >>> clamp(0.1, 0.01, 0.05), clamp(0.1, 0.1, 0.05), clamp(0.9, 0.05, 0.05)
    (0.0, 0.1, 1.0)
    """
    if variance <= threshold:
        if mean < MARGIN:
            return 0.0
        if mean > 1.0 - MARGIN:
            return 1.0
    return mean


def clamp_all(means: Sequence[float], variances: Sequence[float], threshold: float) -> list[float]:
    """Every score, clamped.

    Raises:
        ValueError: lengths differ.
    """
    return [clamp(mean, variance, threshold) for mean, variance in zip(means, variances, strict=True)]


def weights_of(composite: str) -> Weights:
    """Weights of a composite by its name.

    Raises:
        InputError: there is none of this name.
    """
    if composite not in COMPOSITES:
        raise InputError(f"composite {composite!r} is none of {', '.join(COMPOSITES)}")
    return COMPOSITES[composite]


def composite_of(figures: Agreement | Trial, weights: Weights) -> float:
    """Weighted sum of rho, tau and MAE."""
    return weights[0] * figures.rho + weights[1] * figures.tau + weights[2] * figures.mae


def find_threshold(
    truth: Sequence[float],
    means: Sequence[float],
    variances: Sequence[float],
    weights: Weights = COMPOSITES["paper"],
) -> ThresholdSearch:
    """Search as the released code does: from 0.05 down by fifths and halves, then up from the best by 15 % a step.

    The way down ends after two steps that bring nothing or below 1e-6, the way up after six or above 0.05. A figure that is not a number
    brings nothing.

    Args:
        truth: mean human ratings, 0 ... 1.
        means: predicted.
        variances: predicted.
        weights: of rho, tau and MAE.

    Raises:
        InputError: fewer than two items, all with one rating, or no predicted variance to clamp by.
    """
    if len(truth) < 2 or len(set(truth)) == 1:
        raise InputError(
            f"the development part has {len(truth)} items with {len(set(truth))} different mean ratings; "
            "a threshold needs two or more of each"
        )
    if not any(variances):
        raise InputError("no predicted variance to clamp by: the bernoulli head predicts none")
    found: list[Trial] = []
    best = Trial(_START, math.nan, math.nan, math.nan, -math.inf)

    def improves(threshold: float) -> bool:
        nonlocal best
        figures = agreement(truth, clamp_all(means, variances, threshold))
        trial = Trial(threshold, figures.rho, figures.tau, figures.mae, composite_of(figures, weights))
        found.append(trial)
        if trial.composite > best.composite:
            best = trial
            return True
        return False

    threshold, useless, step = _START, 0, 0
    while useless < _PATIENCE_DOWN and threshold >= _FLOOR:
        useless = 0 if improves(threshold) else useless + 1
        threshold /= (5.0, 2.0)[step % 2]
        step += 1
    threshold, useless = best.threshold, 0
    while useless < _PATIENCE_UP and threshold <= _START:
        useless = 0 if improves(threshold) else useless + 1
        threshold *= _STEP_UP
    baseline = agreement(truth, means)
    return ThresholdSearch(
        best.threshold, tuple(found), baseline, composite_of(baseline, weights), best.composite
    )
