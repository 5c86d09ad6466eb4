"""ORCA's data: one answer a line, with the ratings that people gave it.

JSON Lines, plain or gzipped. A row has ``question``, ``reference``, ``candidate``; ``rationale`` (the context), ``transcription`` where there is
one; ``ratings``, a list of numbers with ``null`` for a rater who gave none; ``scale``, the lowest and the highest rating ([1, 5] without it).
Ratings are brought from their scale to 1 ... 5, so a 0 of a scale that begins at 0 becomes a 1 and is kept.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows

SCALE = (1.0, 5.0)
"""Lowest and highest rating as the models are trained on them."""
MIN_FOR_VARIANCE = 3
"""Ratings below which the variance of an item says nothing."""
Rules = Literal["checked", "released"]
"""How rows are read. ``checked``: what is wrong is an error. ``released``: as the released code reads them, which masks ratings outside 0 ... 5,
keeps a 0 below the scale of 1 ... 5, and writes None for a text that is null."""

ROWS = "JSON Lines, one rated answer a row"
"""What a file of answers holds, for messages."""
_MODEL_FIELDS = ("candidate_model", "source_model", "model")


@dataclass(frozen=True)
class OrcaItem:
    """One answer and its ratings.

    Attributes:
        id: from the row, else ``row N``.
        question, reference, candidate: texts, not stripped; None only under the ``released`` rules.
        rationale: why the reference is right, or any other context of the question.
        transcription: of what the question is about.
        ratings: those that count, on 1 ... 5 (under the ``released`` rules a 0 may be among them).
        masked: ratings that were null (or dropped by the ``released`` rules).
        question_id, model: who asked, who answered; for splits.
        domain, category: strata of splits: the fields of these names (``modality`` for domain), else the first part of ``source`` and its rest.
        row: all fields as they came.
    """

    id: str
    question: str | None
    reference: str | None
    candidate: str | None
    rationale: str | None = None
    transcription: str | None = None
    ratings: tuple[float, ...] = ()
    masked: int = 0
    question_id: str | None = None
    model: str | None = None
    domain: str = ""
    category: str = ""
    row: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def unit_ratings(self) -> tuple[float, ...]:
        """The ratings on 0 ... 1."""
        return tuple((rating - SCALE[0]) / (SCALE[1] - SCALE[0]) for rating in self.ratings)

    @property
    def rating_mean(self) -> float | None:
        """Mean rating on 0 ... 1; None without ratings."""
        return statistics.fmean(self.unit_ratings) if self.ratings else None

    @property
    def rating_variance(self) -> float | None:
        """Unbiased variance (divisor n - 1) on 0 ... 1; None below three ratings, where it says next to nothing."""
        return statistics.variance(self.unit_ratings) if len(self.ratings) >= MIN_FOR_VARIANCE else None


def to_training_scale(rating: float, scale: tuple[float, float]) -> float:
    """A rating on 1 ... 5.

    >>> to_training_scale(0, (0, 1)), to_training_scale(10, (1, 10)), to_training_scale(2.5, (0, 5))
    (1.0, 5.0, 3.0)
    """
    if scale == SCALE:
        return float(rating)
    share = (rating - scale[0]) / (scale[1] - scale[0])
    return SCALE[0] + (SCALE[1] - SCALE[0]) * min(max(share, 0.0), 1.0)


def from_unit(value: float, scale: tuple[float, float]) -> float:
    """A predicted mean of 0 ... 1 on a scale of ratings.

    >>> from_unit(0.5, (1, 10))
    5.5
    """
    return scale[0] + (scale[1] - scale[0]) * value


def item_of_row(row: Any, where: str = "row", rules: Rules = "checked") -> OrcaItem:
    """Check one row.

    Args:
        row: the JSON object.
        where: names it in messages, such as ``train.jsonl, row 3``.
        rules: see :data:`Rules`.

    Raises:
        InputError: a field is missing or is no text, a rating is no number or outside its scale.
    """
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: not a JSON object; write one object a line")
    texts = {name: _text(row, name, where, rules) for name in ("question", "reference", "candidate")}
    context = {name: _context(row, name, where) for name in ("rationale", "transcription")}
    ratings, masked = _ratings(row, where, rules)
    group, _, rest = str(row.get("source") or "").partition("/")
    model = next((row[name] for name in _MODEL_FIELDS if row.get(name) is not None), None)
    return OrcaItem(
        id=str(row["id"]) if row.get("id") is not None else where.rpartition(", ")[2],
        question=texts["question"],
        reference=texts["reference"],
        candidate=texts["candidate"],
        rationale=context["rationale"],
        transcription=context["transcription"],
        ratings=ratings,
        masked=masked,
        question_id=None if row.get("question_id") is None else str(row["question_id"]),
        model=None if model is None else str(model),
        domain=str(row.get("domain") or row.get("modality") or group),
        category=str(row.get("category") or rest),
        row=row,
    )


def _text(row: Mapping[str, Any], name: str, where: str, rules: Rules) -> str | None:
    if name not in row:
        raise InputError(f'{where}: no "{name}"; each row needs question, reference and candidate')
    value = row[name]
    if isinstance(value, str):
        return value
    if rules == "released" and value is None:
        return None
    raise InputError(
        f'{where}: "{name}" is not text but {json.dumps(value)[:40]}; write it in quotation marks'
    )


def _context(row: Mapping[str, Any], name: str, where: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f'{where}: "{name}" is not text but {json.dumps(value)[:40]}; write text or null')
    return value


def _scale(row: Mapping[str, Any], where: str) -> tuple[float, float]:
    given = row.get("scale")
    if given is None:
        return SCALE
    if (
        not isinstance(given, Sequence)
        or len(given) != 2
        or not all(map(_is_number, given))
        or given[0] >= given[1]
    ):
        raise InputError(
            f'{where}: "scale" is {json.dumps(given)[:40]}; write the lowest and the highest rating, such as [1, 5]'
        )
    return float(given[0]), float(given[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _ratings(row: Mapping[str, Any], where: str, rules: Rules) -> tuple[tuple[float, ...], int]:
    given = row.get("ratings")
    if given is None:
        return (), 0
    if not isinstance(given, list):
        raise InputError(
            f'{where}: "ratings" is {json.dumps(given)[:40]}; write a list with one number per rater'
        )
    scale = _scale(row, where)
    kept: list[float] = []
    for rating in given:
        if rating is None:
            continue
        if not _is_number(rating):
            raise InputError(
                f"{where}: the rating {json.dumps(rating)[:40]} is no number; write a number or null"
            )
        if rules == "released" and scale == SCALE:
            kept += [float(rating)] if 0 <= rating <= SCALE[1] else []
        elif scale[0] <= rating <= scale[1]:
            kept.append(to_training_scale(rating, scale))
        else:
            named = "" if row.get("scale") is not None else ' (the row has no "scale")'
            raise InputError(
                f"{where}: the rating {rating:g} is outside the scale {scale[0]:g} to {scale[1]:g}{named}; "
                'correct the rating, or give "scale": [lowest, highest]'
            )
    return tuple(kept), len(given) - len(kept)


def read_items(path: Path, *, rules: Rules = "checked", need_ratings: bool = False) -> list[OrcaItem]:
    """Read a file of answers, all rows checked before anything costly.

    Args:
        path: JSON Lines, gzipped when the name ends in ``.gz``. Blank lines are skipped.
        rules: see :data:`Rules`.
        need_ratings: refuse a row without any rating that counts; for training.

    Raises:
        InputError: the file or a row, also one with the id of another (but under the ``released`` rules); the message names the row,
            counted from 1.
    """
    items = []
    place_of: dict[str, str] = {}
    for where, row in json_rows(path, ROWS):
        item = item_of_row(row, where, rules)
        if rules != "released":
            check_own_id(item, where, place_of)
        if need_ratings and not item.ratings:
            raise InputError(
                f"{where}: no rating; take the row out (`lct orca score` scores answers without ratings)"
            )
        items.append(item)
    if not items:
        raise InputError(f"{path}: no rows; write one JSON object a line")
    return items


def check_own_id(item: OrcaItem, where: str, place_of: dict[str, str]) -> None:
    """Refuse a second answer of one id: scores, ratings and splits are joined to answers by it.

    Args:
        item: any.
        where: names its row in messages.
        place_of: id to the row that has it, of the answers before; this one is added.

    Raises:
        InputError: the id is another answer's.
    """
    if item.id in place_of:
        file, _, row = place_of[item.id].rpartition(", ")
        before = row if file == where.rpartition(", ")[0] else place_of[item.id]
        raise InputError(
            f"{where}: the id {item.id!r} is that of {before} too; give every answer an id of its own, or take one of the rows out"
        )
    place_of[item.id] = where


def check_trainable(items: Sequence[OrcaItem], source: str) -> None:
    """Refuse data that teach nothing, before a model is loaded.

    Args:
        items: of one part, such as the training part.
        source: names it in messages.

    Raises:
        InputError: there are no ratings, or all are equal.
    """
    values = {rating for item in items for rating in item.ratings}
    if not values:
        raise InputError(f"{source}: no ratings in {len(items)} rows; training needs rated answers")
    if len(values) == 1:
        raise InputError(
            f"{source}: every rating is {values.pop():g} (on 1 to 5), one class only; add answers that were rated otherwise"
        )
