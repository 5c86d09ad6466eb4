"""Checks that a judge reads correctness: shortcuts that read no answer, and scores with another question's reference or none."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from long_context_tasks.orca.data import MISMATCHED, NO_REFERENCE, OrcaItem
from long_context_tasks.orca.shortcuts import predict_across_questions, predict_by_shortcuts
from long_context_tasks.orca.splits import question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, read_json
from long_context_tasks.schema.validated import Checked, validated
from long_context_tasks.stats.raters import (
    Correlation,
    correlate,
    correlate_raters,
    interval_of_rho_difference,
)

AGREEMENT = "agreement.json"
"""File of a checkpoint that holds its :class:`HeldOutAgreement`."""


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
        named = any(item.model for item in (*train, *held_out))
        predicted = predict_by_shortcuts(train, held_out, named=named)
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
    places = [place for place, item in enumerate(items) if item.ratings]
    rated = [items[place] for place in places]
    truth = [item.rating_mean for item in rated]
    questions = question_numbers(rated)
    raters: dict[str, Sequence[float | None]] = {
        name: [values[place] for place in places] for name, values in scores.items()
    }
    # Shortcuts are tested on questions that they did not learn from.
    if len(set(questions)) > 1:
        raters |= predict_across_questions(rated, named=any(item.model for item in rated))
    found = [
        correlate_raters((name, values), ("people", truth), questions, "spearman")
        for name, values in raters.items()
    ]
    return [each for each in found if each.n]
