"""Tests of whether a judge measures correctness: shortcut baselines, and wrong or empty references.

Shortcuts predict an answer's rating from the answering model's identity and the lengths of answer and
reference. A judge that does not beat them has not been shown to measure correctness. The identity shortcut
predicts the answering model's mean rating. The length shortcut adds kernel ridge regression (Gaussian kernel,
width 1, penalty 1) on log lengths in characters and, with identity, a model indicator.
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
"""Checkpoint file that stores the :class:`HeldOutAgreement`."""


# Shortcut name -> (uses the answering model, uses the lengths).
SHORTCUTS = {
    "identity only": (True, False),
    "identity + lengths": (True, True),
    "lengths only": (False, True),
}
_FOLDS = 10
# Fitting solves a dense system, so larger data are thinned to every second, third, ... answer.
_MOST = 1_500


def with_other_references(items: Sequence[OrcaItem]) -> list[OrcaItem]:
    """Pair each answer with the next question's reference that differs from its own."""
    numbers = question_numbers(items)
    references: dict[int, str | None] = {}
    for number, item in zip(numbers, items, strict=True):
        references.setdefault(number, item.reference)
    changed = []
    for number, item in zip(numbers, items, strict=True):
        # The next one instead of a random one, so that the control is reproducible.
        following = (references[(number + step) % len(references)] for step in range(1, len(references)))
        other = next((text for text in following if text != item.reference), None)
        if other is None:
            raise InputError("all answers have the same reference, so no other one can take its place")
        changed.append(replace(item, reference=other))
    return changed


def reference_controls(items: Sequence[OrcaItem]) -> list[tuple[str, list[OrcaItem]]]:
    """Return the name and answers of each control: a wrong reference (if references differ) and an empty one."""
    controls = [(NO_REFERENCE, [replace(item, reference="") for item in items])]
    # If all answers share one reference, there is no wrong one to use.
    if len({item.reference for item in items}) > 1:
        controls.insert(0, (MISMATCHED, with_other_references(items)))
    return controls


class HeldOutAgreement(Checked):
    """A judge's agreement with humans on held-out answers, compared with the best shortcut's."""

    answers: int
    questions: int
    # Spearman's correlation with mean human ratings; None if undefined, as for constant predictions
    rho: float | None
    # shortcut, shortcut_rho: the best of SHORTCUTS and its correlation; None if no shortcut has one
    shortcut: str | None
    shortcut_rho: float | None
    # low, high: 95 % interval, clustered by question, of rho minus shortcut_rho, or of rho without a shortcut
    low: float | None
    high: float | None

    @classmethod
    def measure(
        cls, train: Sequence[OrcaItem], held_out: Sequence[OrcaItem], means: Sequence[float]
    ) -> "HeldOutAgreement":
        """Compare a judge's predicted means on held-out answers with their ratings and with fitted shortcuts."""
        truth = [float(item.rating_mean or 0) for item in held_out]
        questions = question_numbers(held_out)
        predicted = predict_by_shortcuts(train, held_out)
        rhos = {name: correlate(values, truth, "spearman") for name, values in predicted.items()}
        # The correlation of constant predictions is undefined.
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
        """Reason to doubt the judge's scores; None if it agrees with humans better than the best shortcut."""
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
    """Return the reason to doubt a checkpoint's scores, based on its stored human agreement."""
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
    """Correlate scores with human ratings, followed by shortcuts fitted to the other questions' answers.

    ``scores`` maps each rater to its scores, in item order.
    """
    indices = [index for index, item in enumerate(items) if item.ratings]
    rated = [items[index] for index in indices]
    truth = [item.rating_mean for item in rated]
    questions = question_numbers(rated)
    raters: dict[str, Sequence[float | None]] = {
        name: [values[index] for index in indices] for name, values in scores.items()
    }
    # Shortcuts are tested on questions they were not fitted to.
    if len(set(questions)) > 1:
        raters |= predict_across_questions(rated)
    correlations = [
        correlate_raters((name, values), ("people", truth), questions, "spearman")
        for name, values in raters.items()
    ]
    return [each for each in correlations if each.n]


def predict_by_shortcuts(train: Sequence[OrcaItem], test: Sequence[OrcaItem]) -> dict[str, list[float]]:
    """Predict mean ratings on [0, 1] with each shortcut; only by length if no answer names its model."""
    named = any(item.model for item in (*train, *test))
    return {
        name: _predict_by(name, train, test, train) for name in SHORTCUTS if named or not SHORTCUTS[name][0]
    }


def predict_across_questions(answers: Sequence[OrcaItem]) -> dict[str, list[float]]:
    """Predict each mean rating from each shortcut, with length effects fitted to the other questions.

    The models' mean ratings include the predicted answer: a leave-one-out mean is low exactly when the
    held-out rating is high, which would reverse the ranking.
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
    """Fit a shortcut's length effects to ``train`` and add them to the models' mean ratings in ``known``."""
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
    # Regression may leave the rating scale. Rounding gives equal inputs equal predictions, so that ties stay
    # ties.
    return [round(each, 9) for each in predicted.clip(0.0, 1.0).tolist()]


def _levels(items: Sequence[OrcaItem], known: Sequence[OrcaItem], identity: bool) -> Array:
    """Return the mean known rating of each answer's model, or the overall mean if the model has none."""
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
