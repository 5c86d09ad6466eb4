"""Agreement of predicted with human ratings, and clamping, which improves it; everything on 0 ... 1.

Rank correlations and mean absolute error as in the paper's section 5.4. Clamping (section 5.5): a predicted mean near an end becomes that end
if the predicted variance is small. The threshold of the variance is found on the development part and applied elsewhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.schema import InputError

Weights = tuple[float, float, float]
COMPOSITES: dict[str, Weights] = {"paper": (1.0, 1.0, -1.0), "released": (1.0, 1.0, 0.0)}
"""Weights of rho, tau and MAE in the sum that the best threshold maximises; ``released`` is the default of the released code."""
MARGIN = 0.125
"""Half the distance of two ratings: a mean nearer to an end than this may be clamped."""

# The path of the search in the released code.
_START, _FLOOR, _STEP_UP = 0.05, 1e-6, 1.15
_PATIENCE_DOWN, _PATIENCE_UP = 2, 6


@dataclass(frozen=True)
class Agreement:
    """Figures over items; NaN if they cannot be computed."""

    n: int  # items with a prediction and a rating
    # rho, tau: Spearman's correlation and Kendall's tau-b of predicted and mean human rating
    rho: float
    tau: float
    mae: float  # mean absolute error of the mean
    n_variance: int = 0  # items with three ratings or more and a predicted variance
    # variance_rho, variance_tau, variance_mae: the same figures of the variances
    variance_rho: float = math.nan
    variance_tau: float = math.nan
    variance_mae: float = math.nan


def agreement(
    truth: Sequence[float | None],
    predicted: Sequence[float | None],
    variance_truth: Sequence[float | None] = (),
    variance_predicted: Sequence[float | None] = (),
) -> Agreement:
    """Compute all figures of mean ratings, and of variances of the same or of other items; a pair with a None is left out."""
    return Agreement(*_figures(truth, predicted), *_figures(variance_truth, variance_predicted))


def _figures(
    truth: Sequence[float | None], predicted: Sequence[float | None]
) -> tuple[int, float, float, float]:
    # Loads scipy, which reading and splitting data do not need.
    from long_context_tasks.stats.raters import correlate

    pairs = [(a, b) for a, b in zip(truth, predicted, strict=True) if a is not None and b is not None]
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    # fsum, so that the figure does not depend on the order of the items.
    mae = math.fsum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else math.nan
    return len(pairs), correlate(x, y, "spearman"), correlate(x, y, "kendall"), mae


def item_agreement(
    items: Sequence[OrcaItem], means: Sequence[float | None], variances: Sequence[float | None] | None = None
) -> Agreement:
    """Compute all figures of items, given predicted means and variances; items without a rating or a prediction are left out."""
    return agreement(
        [item.rating_mean for item in items],
        means,
        [item.rating_variance for item in items],
        variances or [None] * len(items),
    )


def clamp(mean: float, variance: float, threshold: float) -> float:
    """Return the end of the scale that a mean is near, if its variance is at most the threshold; otherwise the mean."""
    if variance <= threshold:
        if mean < MARGIN:
            return 0.0
        if mean > 1.0 - MARGIN:
            return 1.0
    return mean


def clamp_all(means: Sequence[float], variances: Sequence[float], threshold: float) -> list[float]:
    return [clamp(mean, variance, threshold) for mean, variance in zip(means, variances, strict=True)]


@dataclass(frozen=True)
class Trial:
    threshold: float
    rho: float
    tau: float
    mae: float
    composite: float


@dataclass(frozen=True)
class ThresholdSearch:
    best: float  # the best threshold tried, the earliest of equally good ones
    trials: tuple[Trial, ...]  # in order
    baseline: Agreement  # figures without clamping
    # composite_baseline, composite_clamped: without clamping, and with best
    composite_baseline: float
    composite_clamped: float

    @property
    def threshold(self) -> float:
        """The threshold to apply: ``best``, or 0 (which clamps nothing of a positive variance) if clamping does not help.

        If a composite is NaN, ``best`` is applied, as in the released code.
        """
        return 0.0 if self.composite_clamped <= self.composite_baseline else self.best


def composite_of(figures: Agreement | Trial, weights: Weights) -> float:
    return weights[0] * figures.rho + weights[1] * figures.tau + weights[2] * figures.mae


def find_threshold(
    truth: Sequence[float],
    means: Sequence[float],
    variances: Sequence[float],
    weights: Weights = COMPOSITES["paper"],
) -> ThresholdSearch:
    """Search as the released code does: from 0.05 down by fifths and halves, then up from the best by 15 % a step.

    The way down ends after two steps without a gain or below 1e-6, the way up after six or above 0.05. NaN is not a gain: if all means are
    equal, so that no correlation exists, the result is the first threshold, 0.05.

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
    trials: list[Trial] = []
    best: Trial | None = None

    def improves(threshold: float) -> bool:
        nonlocal best
        figures = agreement(truth, clamp_all(means, variances, threshold))
        trial = Trial(threshold, figures.rho, figures.tau, figures.mae, composite_of(figures, weights))
        trials.append(trial)
        if trial.composite > (-math.inf if best is None else best.composite):
            best = trial
            return True
        return False

    threshold, useless, step = _START, 0, 0
    while useless < _PATIENCE_DOWN and threshold >= _FLOOR:
        useless = 0 if improves(threshold) else useless + 1
        # 0.05, 0.01, 0.005, 0.001 ...
        threshold /= (5.0, 2.0)[step % 2]
        step += 1
    # The best threshold is tried again, as in the released code, with whose trials ours are compared.
    threshold, useless = best.threshold if best else _START, 0
    while useless < _PATIENCE_UP and threshold <= _START:
        useless = 0 if improves(threshold) else useless + 1
        threshold *= _STEP_UP
    # No best one exists if every composite is NaN.
    best = best or trials[0]
    baseline = agreement(truth, means)
    return ThresholdSearch(
        best.threshold, tuple(trials), baseline, composite_of(baseline, weights), best.composite
    )
