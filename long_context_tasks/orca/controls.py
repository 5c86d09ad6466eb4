"""Checks that a judge reads correctness: shortcuts that read no answer, and scores with another question's reference or none.

Shortcuts predict an answer's rating from the model that answered and the lengths of answer and reference. A judge that does not beat them has
not shown that it judges correctness. Identity predicts the mean rating of the answering model. Lengths add a kernel ridge regression
(Gaussian, width 1, penalty 1) on their logarithms in characters and, with identity, an indicator of each model.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

from long_context_tasks.orca.data import MISMATCHED, NO_REFERENCE, OrcaItem
from long_context_tasks.orca.splits import question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, read_json
from long_context_tasks.schema.validated import Checked, validated
from long_context_tasks.stats.intervals import Array
from long_context_tasks.stats.raters import (
    Correlation,
    correlate,
    correlate_raters,
    interval_of_rho_difference,
)

AGREEMENT = "agreement.json"
"""File of a checkpoint that holds its :class:`HeldOutAgreement`."""


# Name to whether the shortcut uses the answering model, and the lengths.
SHORTCUTS = {
    "identity only": (True, False),
    "identity + lengths": (True, True),
    "lengths only": (False, True),
}
_FOLDS = 10
# Fitting solves a dense system, so of more answers only every second, third, ... is used.
_MOST = 1_500


def with_other_references(items: Sequence[OrcaItem]) -> list[OrcaItem]:
    """Return the answers, each with the reference of the next question that has a different one."""
    numbers = question_numbers(items)
    references: dict[int, str | None] = {}
    for number, item in zip(numbers, items, strict=True):
        references.setdefault(number, item.reference)
    changed = []
    for number, item in zip(numbers, items, strict=True):
        # The next one, not a random one, so that a control can be repeated.
        following = (references[(number + step) % len(references)] for step in range(1, len(references)))
        other = next((text for text in following if text != item.reference), None)
        if other is None:
            raise InputError("all answers have the same reference, so no other one can take its place")
        changed.append(replace(item, reference=other))
    return changed


def reference_controls(items: Sequence[OrcaItem]) -> list[tuple[str, list[OrcaItem]]]:
    """Return name and answers of each control: another question's reference, if references differ, and an empty reference."""
    controls = [(NO_REFERENCE, [replace(item, reference="") for item in items])]
    # With one reference for all answers there is no other one to show.
    if len({item.reference for item in items}) > 1:
        controls.insert(0, (MISMATCHED, with_other_references(items)))
    return controls


class HeldOutAgreement(Checked):
    """Agreement of a judge with people on answers that it did not learn from, next to the best shortcut."""

    answers: int
    questions: int
    # Spearman's correlation with people's mean ratings; None if it does not exist, as for constant
    # predictions.
    rho: float | None
    # shortcut, shortcut_rho: the best of SHORTCUTS, and its correlation; None if none has one
    shortcut: str | None
    shortcut_rho: float | None
    # low, high: 95 % interval over questions of rho minus shortcut_rho, or of rho without a shortcut
    low: float | None
    high: float | None

    @classmethod
    def measure(
        cls, train: Sequence[OrcaItem], held_out: Sequence[OrcaItem], means: Sequence[float]
    ) -> "HeldOutAgreement":
        """Compare the predicted means of held-out answers with their ratings, and with shortcuts learned from the training answers."""
        truth = [float(item.rating_mean or 0) for item in held_out]
        questions = question_numbers(held_out)
        predicted = predict_by_shortcuts(train, held_out)
        rhos = {name: correlate(values, truth, "spearman") for name, values in predicted.items()}
        # A shortcut that predicts a constant has no correlation.
        existing = [name for name, rho in rhos.items() if not math.isnan(rho)]
        best = max(existing, key=rhos.__getitem__, default=None)
        if best is None:
            interval = correlate_raters(("", means), ("", truth), questions, "spearman").interval
        else:
            interval = interval_of_rho_difference(means, predicted[best], truth, questions)
        figures = {
            "answers": len(truth),
            "questions": len(set(questions)),
            "rho": correlate(means, truth, "spearman"),
            "shortcut": best,
            "shortcut_rho": None if best is None else rhos[best],
            "low": interval.low,
            "high": interval.high,
        }
        return cls.model_validate(json_value(figures))

    def write(self, folder: Path) -> None:
        text = json.dumps(self.model_dump(), indent=1) + "\n"
        (folder / AGREEMENT).write_text(text, encoding="utf-8")

    @property
    def doubt(self) -> str | None:
        """Reason to doubt the judge's scores; None if it agrees with people more than the best shortcut."""
        if self.low is not None and self.low > 0:
            return None
        rho = "none" if self.rho is None else f"{self.rho:.3f}"
        level = "0"
        if self.shortcut is not None:
            level = f"that of '{self.shortcut}', which reads no answer ({self.shortcut_rho:.3f})"
        return (
            f"on {self.answers} held-out answers its correlation with people ({rho}) is not shown to exceed {level}; "
            "do not rely on its scores. Train it longer or on more ratings"
        )


def doubt_of(checkpoint: Path) -> str | None:
    """Return the reason to doubt the scores of a checkpoint, by the agreement with people that it carries."""
    path = checkpoint / AGREEMENT
    if not path.is_file():
        return (
            f"the checkpoint does not state its agreement with people (no {AGREEMENT}); "
            "measure it with `lct orca score` on rated answers before you rely on its scores"
        )
    content = read_json(path, "a judge's agreement with people")
    remedy = "fetch or train the checkpoint again"
    return validated(HeldOutAgreement, content, str(path), remedy=remedy).doubt


def beside_shortcuts(
    items: Sequence[OrcaItem], scores: Mapping[str, Sequence[float | None]]
) -> list[Correlation]:
    """Correlate scores with the ratings of the rated answers, then shortcuts that learn from the other questions.

    ``scores`` has the scores of each rater in the order of the items.
    """
    indices = [index for index, item in enumerate(items) if item.ratings]
    rated = [items[index] for index in indices]
    truth = [item.rating_mean for item in rated]
    questions = question_numbers(rated)
    raters: dict[str, Sequence[float | None]] = {
        name: [values[index] for index in indices] for name, values in scores.items()
    }
    # Shortcuts are tested on questions that they did not learn from.
    if len(set(questions)) > 1:
        raters |= predict_across_questions(rated)
    correlations = [
        correlate_raters((name, values), ("people", truth), questions, "spearman")
        for name, values in raters.items()
    ]
    return [each for each in correlations if each.n]


def predict_by_shortcuts(train: Sequence[OrcaItem], test: Sequence[OrcaItem]) -> dict[str, list[float]]:
    """Predict the mean ratings of answers by each of :data:`SHORTCUTS`, on 0 to 1; only by length if no answer names its model."""
    named = any(item.model for item in (*train, *test))
    return {
        name: _predict_by(name, train, test, train) for name in SHORTCUTS if named or not SHORTCUTS[name][0]
    }


def predict_across_questions(answers: Sequence[OrcaItem]) -> dict[str, list[float]]:
    """Predict each mean rating by every shortcut; the effect of lengths is fitted to the answers to other questions.

    The mean ratings of the models include the predicted answer: a mean without it is low exactly if its rating is high, which would
    reverse the ranking.
    """
    folds = [number % _FOLDS for number in question_numbers(answers)]
    named = any(item.model for item in answers)
    predicted: dict[str, list[float]] = {}
    for name in SHORTCUTS if named else ["lengths only"]:
        means = predicted[name] = [math.nan] * len(answers)
        for fold in set(folds):
            train = [answer for answer, other in zip(answers, folds, strict=True) if other != fold]
            indices = [index for index, other in enumerate(folds) if other == fold]
            values = _predict_by(name, train, [answers[index] for index in indices], answers)
            for index, value in zip(indices, values, strict=True):
                means[index] = value
    return predicted


def _predict_by(
    shortcut: str, train: Sequence[OrcaItem], test: Sequence[OrcaItem], known: Sequence[OrcaItem]
) -> list[float]:
    """Fit a shortcut to the answers of ``train``; the effect of lengths is added to the mean ratings of ``known``."""
    identity, lengths = SHORTCUTS[shortcut]
    predicted = _levels(test, known, identity)
    if lengths:
        fitted = train[:: -(-len(train) // _MOST)]
        models = sorted({item.model or "" for item in train}) if identity else []
        rows = _columns(fitted, models)
        target = np.array([item.rating_mean or 0.0 for item in fitted]) - _levels(fitted, train, identity)
        weights = np.linalg.solve(_kernel(rows, rows) + np.eye(len(rows)), target)
        for start in range(0, len(test), _MOST):
            part = slice(start, start + _MOST)
            predicted[part] += _kernel(_columns(test[part], models), rows) @ weights
    # A regression may leave the scale, which raters cannot. Equal traits get equal ratings, so that ties stay ties.
    return [round(each, 9) for each in predicted.clip(0.0, 1.0).tolist()]


def _levels(items: Sequence[OrcaItem], known: Sequence[OrcaItem], identity: bool) -> Array:
    """Return the mean rating of each answer's model among the known answers, or of all of them for a model without any."""
    ratings: dict[str, list[float]] = {}
    for item in known if identity else ():
        ratings.setdefault(item.model or "", []).append(item.rating_mean or 0.0)
    means = {model: fmean(values) for model, values in ratings.items()}
    overall = fmean(item.rating_mean or 0.0 for item in known)
    return np.array([means.get(item.model or "", overall) for item in items])


def _columns(items: Sequence[OrcaItem], models: Sequence[str]) -> Array:
    lengths = [[math.log1p(len(text or "")) for text in (item.candidate, item.reference)] for item in items]
    indicators = [[float((item.model or "") == model) for model in models] for item in items]
    return np.column_stack([np.array(lengths), np.array(indicators).reshape(len(items), len(models))])


def _kernel(rows: Array, known: Array) -> Array:
    near: Array = np.exp(-((rows[:, None] - known[None]) ** 2).sum(axis=2) / 2)
    return near
