"""ORCA's data: JSON Lines with one answer per row, including its human ratings.

A row has ``question``, ``reference``, ``candidate``; optionally ``rationale`` (the context),
``transcription``, ``ratings`` (a number or ``null`` per rater) and ``scale`` (lowest and highest rating, [1,
5] by default). Ratings are mapped from their scale to [1, 5], so a 0 on a scale that starts at 0 becomes a 1
and is kept.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows
from long_context_tasks.schema.validated import Checked, Number, validated

HeadName = Literal["beta", "multinomial", "bernoulli"]
HEAD_NAMES: tuple[HeadName, ...] = get_args(HeadName)
SCALE = (1.0, 5.0)
"""Rating scale used for training."""
MIN_FOR_VARIANCE = 3
"""Minimum number of ratings for an item's variance to be used."""
MISMATCHED, NO_REFERENCE = "mismatched reference", "no reference"
"""Names of the controls, in which a judge sees another question's reference or none."""
Rules = Literal["checked", "released"]
"""How rows are read.

``checked``: every fault is an error. ``released``: as in the released code, which masks ratings outside [0,
5], keeps a 0 below the [1, 5] scale, and writes "None" for a null text or transcription.
"""

ROWS = "JSON Lines, one rated answer a row"
# Field names in this package, in the released data and in collections of graded answers.
_MODEL_FIELDS = ("candidate_model", "source_model", "model")


def _rising(ends: list[float]) -> list[float]:
    if ends[0] >= ends[1]:
        raise ValueError("must rise from the lowest to the highest rating")
    return ends


Ends = Annotated[list[Number], Field(min_length=2, max_length=2), AfterValidator(_rising)]
"""Lowest and highest rating of a scale."""


class StrictRow(Checked):
    """Base for JSON rows: other fields are ignored, and values are not converted."""

    # Strict, because a rating of "4" or true is more likely a mistake than a number.
    model_config = ConfigDict(extra="ignore", strict=True)


class _AnswerRow(StrictRow):
    question: str
    reference: str
    candidate: str
    rationale: str | None = None
    transcription: str | None = None
    ratings: list[Number | None] | None = None
    scale: Ends | None = None


class _ReleasedRow(_AnswerRow):
    question: str | None  # type: ignore[assignment]
    reference: str | None  # type: ignore[assignment]
    candidate: str | None  # type: ignore[assignment]


_REMEDY = (
    "each row needs question, reference and candidate as text; rationale and transcription are text or null, ratings a list with a number or null "
    "for each rater, scale the lowest and the highest rating, such as [1, 5]"
)


@dataclass(frozen=True)
class OrcaItem:
    id: str  # from the row; otherwise "row N"
    # question, reference, candidate: original texts; None only under the released rules
    question: str | None
    reference: str | None
    candidate: str | None
    rationale: str | None = None  # context of the question, such as why the reference is right
    transcription: str | None = None
    # Ratings that are not null, on [1, 5] (under the released rules possibly 0).
    ratings: tuple[float, ...] = ()
    # question_id, model: used for splits
    question_id: str | None = None
    model: str | None = None
    # domain, category: strata for splits, from the fields of these names (or modality for domain); otherwise
    # the two parts of source
    domain: str = ""
    category: str = ""
    row: Mapping[str, Any] = field(default_factory=dict, compare=False)  # all original fields

    @property
    def unit_ratings(self) -> tuple[float, ...]:
        return tuple((rating - SCALE[0]) / (SCALE[1] - SCALE[0]) for rating in self.ratings)

    @property
    def rating_mean(self) -> float | None:
        """Mean rating on [0, 1]; None without ratings."""
        return statistics.fmean(self.unit_ratings) if self.ratings else None

    @property
    def rating_variance(self) -> float | None:
        """Unbiased variance (divisor n - 1) on [0, 1]; None with fewer than three ratings."""
        return statistics.variance(self.unit_ratings) if len(self.ratings) >= MIN_FOR_VARIANCE else None


def to_training_scale(rating: float, scale: tuple[float, float]) -> float:
    """Map a rating to [1, 5].

    >>> to_training_scale(0, (0, 1)), to_training_scale(10, (1, 10)), to_training_scale(2.5, (0, 5))
    (1.0, 5.0, 3.0)
    """
    # Returned unchanged, because the arithmetic below would round.
    if scale == SCALE:
        return float(rating)
    share = (rating - scale[0]) / (scale[1] - scale[0])
    return SCALE[0] + (SCALE[1] - SCALE[0]) * min(max(share, 0.0), 1.0)


def item_of_row(row: Any, where: str = "row", rules: Rules = "checked") -> OrcaItem:
    """Check one row and return its item; ``where`` locates it in messages, e.g. ``train.jsonl, row 3``.

    Raises:
        InputError: a field is missing or wrong, or a rating is outside its scale.
    """
    read = validated(_AnswerRow if rules == "checked" else _ReleasedRow, row, where, remedy=_REMEDY)
    # The released code checks only that the field exists and writes "None" for null.
    null = rules == "released" and "transcription" in row and read.transcription is None
    group, _, rest = str(row.get("source") or "").partition("/")
    model = next((row[name] for name in _MODEL_FIELDS if row.get(name) is not None), None)
    return OrcaItem(
        id=str(row["id"]) if row.get("id") is not None else where.rpartition(", ")[2],
        question=read.question,
        reference=read.reference,
        candidate=read.candidate,
        rationale=read.rationale,
        transcription="None" if null else read.transcription,
        ratings=_ratings(read, where, rules),
        question_id=None if row.get("question_id") is None else str(row["question_id"]),
        model=None if model is None else str(model),
        # The released data call this stratum "modality".
        domain=str(row.get("domain") or row.get("modality") or group),
        category=str(row.get("category") or rest),
        row=row,
    )


def _ratings(row: _AnswerRow, where: str, rules: Rules) -> tuple[float, ...]:
    low, high = row.scale or SCALE
    ratings = []
    for rating in row.ratings or ():
        if rating is None:
            continue
        # Test vectors of the released code have such ratings; elsewhere they are mistakes.
        if rules == "released" and (low, high) == SCALE:
            ratings += [rating] if 0 <= rating <= high else []
        elif low <= rating <= high:
            ratings.append(to_training_scale(rating, (low, high)))
        else:
            named = "" if row.scale else ' (the row has no "scale")'
            raise InputError(
                f"{where}: the rating {rating:g} is outside the scale {low:g} to {high:g}{named}; "
                'correct the rating, or give "scale": [lowest, highest]'
            )
    return tuple(ratings)


def read_items(path: Path, *, rules: Rules = "checked", need_ratings: bool = False) -> list[OrcaItem]:
    """Read a file of answers and check every row; with ``need_ratings``, each row must have a rating.

    Raises:
        InputError: the file or a row cannot be used, or an id is repeated (allowed under the ``released``
            rules).
    """
    items = []
    place_of: dict[str, str] = {}
    for where, row in json_rows(path, ROWS):
        item = item_of_row(row, where, rules)
        if rules != "released":
            check_own_id(item, where, place_of)
        if need_ratings and not item.ratings:
            raise InputError(
                f"{where}: no rating; remove the row (`lct orca score` scores answers without ratings)"
            )
        items.append(item)
    if not items:
        raise InputError(f"{path}: no rows; write one JSON object a line")
    return items


def check_own_id(item: OrcaItem, where: str, place_of: dict[str, str]) -> None:
    """Raise an error if an id is repeated, since results are joined by id.

    ``place_of`` maps earlier ids to their locations.
    """
    if item.id in place_of:
        raise InputError(
            f"{where}: the id {item.id!r} also belongs to {place_of[item.id]}; give every answer its own id, or remove one of the rows"
        )
    place_of[item.id] = where


def check_trainable(items: Sequence[OrcaItem], source: str) -> None:
    """Raise an error if a model cannot learn from the data; ``source`` names the data in messages."""
    values = {rating for item in items for rating in item.ratings}
    if not values:
        raise InputError(f"{source}: no ratings in {len(items)} rows; training needs rated answers")
    if len(values) == 1:
        raise InputError(
            f"{source}: every rating is {values.pop():g} (on 1 to 5), one class only; add answers with other ratings"
        )
