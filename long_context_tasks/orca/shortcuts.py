"""Predict an answer's rating without checking whether it is right: from the model that answered and the lengths of answer and reference.

A judge that does not beat these shortcuts has not shown that it judges correctness. Identity predicts the mean rating of the answering
model. Lengths add a kernel ridge regression (Gaussian, width 1, penalty 1) on their logarithms in characters and, with identity, an
indicator of each model.
"""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.splits import question_numbers
from long_context_tasks.stats.intervals import Array

# Name to whether the shortcut uses the answering model, and the lengths.
SHORTCUTS = {
    "identity only": (True, False),
    "identity + lengths": (True, True),
    "lengths only": (False, True),
}
_FOLDS = 10
# Fitting solves a dense system, so of more answers only every second, third, ... is used.
_MOST = 1_500


def predict_by_shortcuts(
    train: Sequence[OrcaItem], test: Sequence[OrcaItem], *, named: bool = True
) -> dict[str, list[float]]:
    """Predict the mean ratings of answers by each of :data:`SHORTCUTS`, on 0 to 1.

    Unless the answers are ``named``, that is, name their model, only shortcuts by length are returned.
    """
    return {
        name: _within_scale(_predict_by(name, train, test, train)) for name in shortcut_names(named=named)
    }


def predict_across_questions(answers: Sequence[OrcaItem], *, named: bool = True) -> dict[str, list[float]]:
    """Predict each mean rating by every shortcut; the effect of lengths is fitted to the answers to other questions.

    The mean ratings of the models include the predicted answer: a mean without it is low exactly if its rating is high, which would
    reverse the ranking.
    """
    folds = [number % _FOLDS for number in question_numbers(answers)]
    found = {}
    for name in shortcut_names(named=named):
        predicted = [math.nan] * len(answers)
        for fold in set(folds):
            places = [place for place, own in enumerate(folds) if own == fold]
            train = [answer for answer, own in zip(answers, folds, strict=True) if own != fold]
            values = _predict_by(name, train, [answers[place] for place in places], answers)
            for place, value in zip(places, values, strict=True):
                predicted[place] = value
        found[name] = _within_scale(predicted)
    return found


def shortcut_names(*, named: bool) -> list[str]:
    return [name for name, (identity, _) in SHORTCUTS.items() if named or not identity]


def _within_scale(predicted: Sequence[float]) -> list[float]:
    # A regression may leave the scale, which raters cannot.
    return [min(max(each, 0.0), 1.0) for each in predicted]


def _predict_by(
    shortcut: str, train: Sequence[OrcaItem], test: Sequence[OrcaItem], known: Sequence[OrcaItem]
) -> list[float]:
    """Fit a shortcut to the answers of ``train``; the effect of lengths is added to the mean ratings of ``known``."""
    identity, lengths = SHORTCUTS[shortcut]
    found = _levels(test, known, identity)
    if lengths:
        fitted = train[:: -(-len(train) // _MOST)]
        models = sorted({_model(each) for each in train}) if identity else []
        rows = _columns(fitted, models)
        target = np.array([_rating(each) for each in fitted]) - _levels(fitted, train, identity)
        weights = np.linalg.solve(_kernel(rows, rows) + np.eye(len(rows)), target)
        for start in range(0, len(test), _MOST):
            part = slice(start, start + _MOST)
            found[part] += _kernel(_columns(test[part], models), rows) @ weights
    # Equal traits get equal ratings, so that ties stay ties.
    return [round(each, 9) for each in found.tolist()]


def _levels(asked: Sequence[OrcaItem], known: Sequence[OrcaItem], identity: bool) -> Array:
    """Return the mean rating of each answer's model among the known answers, or of all of them for a model without any."""
    overall = fmean(map(_rating, known))
    own: dict[str, list[float]] = {}
    for each in known if identity else ():
        own.setdefault(_model(each), []).append(_rating(each))
    means = {model: fmean(ratings) for model, ratings in own.items()}
    return np.array([means.get(_model(each), overall) for each in asked])


def _model(item: OrcaItem) -> str:
    return item.model or ""


def _rating(item: OrcaItem) -> float:
    return float(item.rating_mean or 0)


def _columns(items: Sequence[OrcaItem], models: Sequence[str]) -> Array:
    return np.array(
        [
            [
                math.log1p(len(item.candidate or "")),
                math.log1p(len(item.reference or "")),
                *(float(_model(item) == model) for model in models),
            ]
            for item in items
        ]
    )


def _kernel(rows: Array, known: Array) -> Array:
    near: Array = np.exp(-((rows[:, None] - known[None]) ** 2).sum(axis=2) / 2)
    return near
