"""Agreement of predicted with human ratings: of the means, and of the variances where three or more people rated.

Rank correlations and mean absolute error as in the paper's section 5.4; everything on 0 ... 1.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.stats import Interval, correlate, correlate_raters, interval_of_mean


@dataclass(frozen=True)
class Agreement:
    """Figures over items; not a number where there is nothing to compute them from.

    Attributes:
        n: items with a prediction and a rating.
        rho, tau: Spearman's correlation and Kendall's tau-b of predicted and mean human rating.
        mae: mean absolute error of the mean.
        n_variance: items with three ratings or more, of which the other three are.
        variance_rho, variance_tau, variance_mae: the same of the variances.
    """

    n: int
    rho: float
    tau: float
    mae: float
    n_variance: int = 0
    variance_rho: float = math.nan
    variance_tau: float = math.nan
    variance_mae: float = math.nan


def _figures(truth: Sequence[float], predicted: Sequence[float]) -> tuple[float, float, float]:
    rho, tau = correlate(truth, predicted, "spearman"), correlate(truth, predicted, "kendall")
    return rho, tau, _mae(truth, predicted)


def _mae(truth: Sequence[float], predicted: Sequence[float]) -> float:
    errors = [abs(a - b) for a, b in zip(truth, predicted, strict=True)]
    return math.fsum(errors) / len(errors) if errors else math.nan


def agreement(
    truth: Sequence[float],
    predicted: Sequence[float],
    variance_truth: Sequence[float] = (),
    variance_predicted: Sequence[float] = (),
) -> Agreement:
    """All figures of lists of numbers.

    Args:
        truth: mean human rating of each item.
        predicted: its prediction.
        variance_truth: of the items with three ratings or more (any items; they need not be the same).
        variance_predicted: in the order of ``variance_truth``.

    Raises:
        ValueError: lengths differ.
    """
    return Agreement(
        len(truth),
        *_figures(truth, predicted),
        len(variance_truth),
        *_figures(variance_truth, variance_predicted),
    )


def item_agreement(
    items: Sequence[OrcaItem], means: Sequence[float | None], variances: Sequence[float | None] | None = None
) -> Agreement:
    """All figures of items with ratings; an item without a rating or a prediction is left out and shows in ``n``.

    Args:
        items: with ratings.
        means: predicted, in the order of the items.
        variances: likewise; without them, or where all are None, their figures are not numbers.

    Raises:
        ValueError: lengths differ.
    """
    pairs = [
        (item.rating_mean, mean)
        for item, mean in zip(items, means, strict=True)
        if item.rating_mean is not None and mean is not None
    ]
    spread = [
        (item.rating_variance, variance)
        for item, variance in zip(items, variances or [None] * len(items), strict=True)
        if item.rating_variance is not None and variance is not None
    ]
    truth, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    return agreement(truth, predicted, [a for a, _ in spread], [b for _, b in spread])


@dataclass(frozen=True)
class Disagreement:
    """How well a predicted variance tells answers that people rate differently from those that they rate alike.

    Attributes:
        differ, agree: answers with two ratings or more, whose ratings differ, or are all one.
        auc: probability that the variance of a drawn one that differs is above that of a drawn one that agrees (ties count half); 0.5 says
            nothing. Not a number without both.
    """

    differ: int
    agree: int
    auc: float


def disagreement(items: Sequence[OrcaItem], variances: Sequence[float | None]) -> Disagreement:
    """Two ratings are too few for a variance, but they can differ; see :class:`Disagreement`.

    Args:
        items: with ratings.
        variances: predicted, in the order of the items.

    Raises:
        ValueError: lengths differ.
    """
    from scipy.stats import mannwhitneyu

    rated = [
        (len(set(item.ratings)) > 1, variance)
        for item, variance in zip(items, variances, strict=True)
        if len(item.ratings) > 1 and variance is not None
    ]
    differ, agree = ([variance for differs, variance in rated if differs == which] for which in (True, False))
    auc = math.nan
    if differ and agree:
        auc = float(mannwhitneyu(differ, agree).statistic) / (len(differ) * len(agree))
    return Disagreement(len(differ), len(agree), auc)


@dataclass(frozen=True)
class Intervals:
    """95 % intervals of the figures of the mean, over clusters (questions, meetings)."""

    rho: Interval
    tau: Interval
    mae: Interval


def agreement_intervals(
    truth: Sequence[float], predicted: Sequence[float], clusters: Sequence[Hashable], seed: int = 0
) -> Intervals:
    """Intervals that draw whole clusters; see :mod:`long_context_tasks.stats`.

    Raises:
        ValueError: no items, or lengths differ.
    """
    raters = ("human", truth), ("predicted", predicted)
    rho = correlate_raters(*raters, clusters, "spearman", seed)
    tau = correlate_raters(*raters, clusters, "kendall", seed)
    errors = [abs(a - b) for a, b in zip(truth, predicted, strict=True)]
    return Intervals(rho.interval, tau.interval, interval_of_mean(errors, clusters, rates=False))
