"""Predict an answer's rating without checking whether it is right: from the model that answered and the lengths of answer and reference.

A judge that does not beat these shortcuts has not shown that it judges correctness. Identity predicts the mean rating of the answering
model. Lengths add a kernel ridge regression (Gaussian, width 1, penalty 1) on their logarithms in characters and, with identity, an
indicator of each model.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from long_context_tasks.stats.intervals import Array, Interval
from long_context_tasks.stats.raters import cluster_numbers, correlate_raters, rho_within, rhos_within

IDENTITY = "identity only"
SHORTCUTS = {
    IDENTITY: (True, False),
    "identity + lengths": (True, True),
    "lengths only": (False, True),
}
"""Name to whether the shortcut uses the answering model, and the lengths."""
LEFT_OUT = "lengths only, model left out"
"""Lengths, fitted to the answers of the other models."""
_FOLDS = 10
# Fitting solves a dense system, so of more answers only every second, third, ... is used.
_MOST = 1_500


@dataclass(frozen=True)
class Traits:
    """Input of the shortcuts for an answer.

    Attributes:
        model: name of the answering model.
        candidate, reference: number of characters of the answer and of the reference.
    """

    model: str
    candidate: int
    reference: int


@dataclass(frozen=True)
class Levels:
    """Mean rating of all answers, and of the answers of each model."""

    overall: float
    of_model: Mapping[str, float]

    @classmethod
    def of(cls, traits: Sequence[Traits], ratings: Sequence[float]) -> "Levels":
        """Compute the means of rated answers."""
        own: dict[str, list[float]] = {}
        for each, rating in zip(traits, ratings, strict=True):
            own.setdefault(each.model, []).append(rating)
        return cls(fmean(ratings), {model: fmean(values) for model, values in own.items()})


def predict_by(
    shortcut: str,
    train: Sequence[Traits],
    ratings: Sequence[float],
    test: Sequence[Traits],
    levels: Levels | None = None,
) -> list[float]:
    """Predict ratings from traits.

    Args:
        shortcut: one of :data:`SHORTCUTS`.
        train: traits of the answers to fit to, not empty.
        ratings: in the order of ``train``.
        test: traits of the answers to predict; a model that is not in ``train`` gets the overall mean.
        levels: mean ratings to which the effect of lengths is added; None for those of ``train``.
    """
    identity, lengths = SHORTCUTS[shortcut]
    own = Levels.of(train, ratings)

    def level(traits: Sequence[Traits], means: Levels) -> Array:
        return np.array(
            [means.of_model.get(each.model, means.overall) if identity else means.overall for each in traits]
        )

    found = level(test, levels or own)
    if lengths:
        step = -(-len(train) // _MOST)
        known = _columns(train[::step], train if identity else ())
        target = np.array(ratings[::step], dtype=float) - level(train[::step], own)
        weights = np.linalg.solve(_kernel(known, known) + np.eye(len(known)), target)
        for start in range(0, len(test), _MOST):
            rows = _columns(test[start : start + _MOST], train if identity else ())
            found[start : start + _MOST] += _kernel(rows, known) @ weights
    # Equal traits get equal ratings, so that ties stay ties.
    return [round(each, 9) for each in found.tolist()]


def _columns(traits: Sequence[Traits], named: Sequence[Traits]) -> Array:
    models = sorted({each.model for each in named})
    return np.array(
        [
            [
                math.log1p(each.candidate),
                math.log1p(each.reference),
                *(float(each.model == model) for model in models),
            ]
            for each in traits
        ]
    )


def _kernel(rows: Array, known: Array) -> Array:
    near: Array = np.exp(-((rows[:, None] - known[None]) ** 2).sum(axis=2) / 2)
    return near


def cross_predicted(
    traits: Sequence[Traits], ratings: Sequence[float], clusters: Sequence[Hashable]
) -> dict[str, list[float]]:
    """Predict each rating by every shortcut; the effect of lengths is fitted to the answers of other clusters.

    The mean ratings of the models include the predicted answer: a mean without it is low exactly if its rating is high, which would
    reverse the ranking.

    Args:
        traits: traits of the answers.
        ratings: ratings in the same order.
        clusters: question of each answer, at least two; they are dealt into ten parts.

    Returns:
        Shortcut to predictions in the order of the answers; with two models or more also :data:`LEFT_OUT`.
    """
    levels = Levels.of(traits, ratings)
    by_question = [int(number) % _FOLDS for number in cluster_numbers(clusters)]
    plans = {name: (name, by_question) for name in SHORTCUTS}
    if len(levels.of_model) > 1:
        plans[LEFT_OUT] = ("lengths only", cluster_numbers([each.model for each in traits]).tolist())
    found = {}
    for title, (name, folds) in plans.items():
        predicted = [math.nan] * len(traits)
        for fold in sorted(set(folds)):
            test = [place for place, own in enumerate(folds) if own == fold]
            train = [place for place, own in enumerate(folds) if own != fold]
            values = predict_by(
                name,
                [traits[place] for place in train],
                [ratings[place] for place in train],
                [traits[place] for place in test],
                levels,
            )
            for place, value in zip(test, values, strict=True):
                predicted[place] = value
        found[title] = predicted
    return found


@dataclass(frozen=True)
class RankFigures:
    """Agreement of a rater, or a shortcut, with people's ratings.

    Attributes:
        name: name of the rater.
        n: number of answers that it scored.
        mae: mean absolute error, on the scale of the ratings.
        rho, interval: Spearman's correlation with the ratings, and its 95 % interval over questions.
        within, within_interval: mean of the correlations within each answering model, and its interval.
        by_model: correlation within each answering model with at least five answers.
    """

    name: str
    n: int
    mae: float
    rho: float
    interval: Interval
    within: float
    within_interval: Interval
    by_model: Mapping[str, float]


def rank_figures(
    raters: Mapping[str, Sequence[float | None]],
    ratings: Sequence[float],
    models: Sequence[str],
    clusters: Sequence[Hashable],
) -> list[RankFigures]:
    """Measure raters on the same answers.

    Args:
        raters: name to scores in the order of the answers; None marks a missing score.
        ratings: people's ratings.
        models: model that answered, for each answer.
        clusters: question of each answer.
    """
    found = []
    for name, scores in raters.items():
        rows = [
            (score, rating, model, cluster)
            for score, rating, model, cluster in zip(scores, ratings, models, clusters, strict=True)
            if score is not None
        ]
        if not rows:
            continue
        x, y, who, questions = (list(column) for column in zip(*rows, strict=True))
        rho = correlate_raters((name, x), ("people", y), questions, "spearman")
        if name == LEFT_OUT:  # a different fit predicts each model, so ranks across models are meaningless
            rho = replace(rho, value=math.nan, interval=Interval(math.nan, math.nan))
        within, interval = rho_within(x, y, who, questions)
        mae = math.fsum(abs(a - b) for a, b in zip(x, y, strict=True)) / len(rows)
        by_model = {str(model): value for model, value in rhos_within(x, y, who).items()}
        found.append(RankFigures(name, len(rows), mae, rho.value, rho.interval, within, interval, by_model))
    return found
