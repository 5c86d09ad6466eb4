"""Agreement between predicted and human ratings, and clamping, which improves it; all values are on [0, 1].

Rank correlations and mean absolute error follow section 5.4 of the paper. Clamping (section 5.5) moves a
predicted mean near an endpoint to that endpoint if the predicted variance is small. The variance threshold is
tuned on the development set.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.schema import InputError

Weights = tuple[float, float, float]
COMPOSITES: dict[str, Weights] = {"paper": (1.0, 1.0, -1.0), "released": (1.0, 1.0, 0.0)}
"""Weights of rho, tau and MAE in the objective of the threshold search.

``released`` is the released code's default.
"""
MARGIN = 0.125
"""Half the distance between two ratings: only a mean nearer than this to an endpoint is clamped."""

# Parameters of the released code's search.
_START, _FLOOR, _STEP_UP = 0.05, 1e-6, 1.15
_PATIENCE_DOWN, _PATIENCE_UP = 2, 6


@dataclass(frozen=True)
class Agreement:
    """Agreement metrics over items; NaN if undefined."""

    n: int  # items with both a prediction and a rating
    # rho, tau: Spearman's rho and Kendall's tau-b between predicted and mean human ratings
    rho: float
    tau: float
    mae: float  # mean absolute error of the mean
    n_variance: int = 0  # items with at least three ratings and a predicted variance
    # variance_rho, variance_tau, variance_mae: the same metrics for the variances
    variance_rho: float = math.nan
    variance_tau: float = math.nan
    variance_mae: float = math.nan


def agreement(
    truth: Sequence[float | None],
    predicted: Sequence[float | None],
    variance_truth: Sequence[float | None] = (),
    variance_predicted: Sequence[float | None] = (),
) -> Agreement:
    """Compute all metrics for mean ratings, and for variances of the same or of other items.

    Pairs with a None are skipped.
    """
    return Agreement(*_figures(truth, predicted), *_figures(variance_truth, variance_predicted))


def _figures(
    truth: Sequence[float | None], predicted: Sequence[float | None]
) -> tuple[int, float, float, float]:
    # Loads scipy, which reading and splitting data does not need.
    from long_context_tasks.stats.raters import correlate

    pairs = [(a, b) for a, b in zip(truth, predicted, strict=True) if a is not None and b is not None]
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    # fsum, so that the result does not depend on item order.
    mae = math.fsum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else math.nan
    return len(pairs), correlate(x, y, "spearman"), correlate(x, y, "kendall"), mae


def item_agreement(
    items: Sequence[OrcaItem], means: Sequence[float | None], variances: Sequence[float | None] | None = None
) -> Agreement:
    """Compute all metrics from predicted means and variances, skipping items without a rating or prediction."""
    return agreement(
        [item.rating_mean for item in items],
        means,
        [item.rating_variance for item in items],
        variances or [None] * len(items),
    )


def clamp(mean: float, variance: float, threshold: float) -> float:
    """Return the endpoint nearest a mean if its variance is within the threshold; otherwise the mean."""
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
    best: float  # the best threshold tried; the earliest on ties
    trials: tuple[Trial, ...]  # in search order
    baseline: Agreement  # metrics without clamping
    # composite_baseline, composite_clamped: without clamping, and with best
    composite_baseline: float
    composite_clamped: float

    @property
    def threshold(self) -> float:
        """The threshold to apply: ``best``, or 0 if clamping does not help.

        A threshold of 0 clamps no positive variance. If a composite is NaN, ``best`` is applied, as in the
        released code.
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
    """Search as the released code does: from 0.05 down by fifths and halves, then up in 15 % steps.

    The upward search starts at the best threshold so far. The downward search ends after two steps without
    improvement or below 1e-6, the upward one after six or above 0.05. NaN never counts as an improvement: if
    all means are equal, so that no correlation is defined, the result is the first threshold, 0.05.

    Raises:
        InputError: there are fewer than two items, all have the same rating, or no variance is predicted.
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
    # The best threshold is tried again, as in the released code, so that the lists of trials stay comparable.
    threshold, useless = best.threshold if best else _START, 0
    while useless < _PATIENCE_UP and threshold <= _START:
        useless = 0 if improves(threshold) else useless + 1
        threshold *= _STEP_UP
    # If every composite is NaN, there is no best one.
    best = best or trials[0]
    baseline = agreement(truth, means)
    return ThresholdSearch(
        best.threshold, tuple(trials), baseline, composite_of(baseline, weights), best.composite
    )
