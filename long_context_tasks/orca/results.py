"""Files of scored answers: rows of ``final_result.jsonl``, from the released code or this package.

A row has the item's own fields and ``rating_orca``, ``variance_orca``, ``params``, ``n_ratings``; with
ratings also ``rating_ground_truth`` and ``variance_ground_truth``. This package writes the truth on [0, 1]
for every head (marked by ``ground_truth_scale``), adds an interval (``low_orca``, ``high_orca``) and writes
null for the variance of fewer than three ratings. In released files a multinomial model's truth is on [1, 5];
reading maps it to [0, 1]. Clamped means are in ``rating_orca_clamped``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from long_context_tasks.orca.checkpoint import read_args
from long_context_tasks.orca.data import (
    MIN_FOR_VARIANCE,
    MISMATCHED,
    NO_REFERENCE,
    SCALE,
    OrcaItem,
    StrictRow,
)
from long_context_tasks.schema.files import json_rows
from long_context_tasks.schema.validated import Number, validated

if TYPE_CHECKING:
    from long_context_tasks.orca.scoring import OrcaScore

_UNCOUNTED = 99
"""Number of ratings assumed if a row does not state it, as in the released code."""
_MULTINOMIAL_OUTPUTS = 5
CLAMPED = "rating_orca_clamped"
CONTROL_FIELDS = {MISMATCHED: "rating_orca_mismatched", NO_REFERENCE: "rating_orca_without_reference"}
"""Fields for the means with another question's reference and with none."""

_Unit = Annotated[Number, Field(ge=0, le=1)]


class _ResultRow(StrictRow):
    id: Any = ""
    rating_orca: _Unit | None
    variance_orca: _Unit | None
    # Released files have no interval; null marks a head without spread, in our files only.
    low_orca: Number | None = 0.0
    rating_ground_truth: Number | None = None
    variance_ground_truth: Number | None = None
    ground_truth_scale: Any = None
    rating_orca_clamped: _Unit | None = None
    params: list[Number] | None = None
    n_ratings: Annotated[int, Field(ge=0)] = _UNCOUNTED


@dataclass(frozen=True)
class ScoredAnswer:
    """One scored answer; all values are on [0, 1]."""

    id: str  # empty if the row has none
    # mean, variance: predictions; the variance is 0 if the head predicts none
    mean: float
    variance: float
    truth: float | None = None  # mean human rating; None without ratings
    truth_variance: float | None = None  # None with fewer than three ratings
    clamped: float | None = None  # None if the answer was not clamped
    predicts_variance: bool = True  # False for a head that predicts no spread


def result_rows(
    items: Sequence[OrcaItem],
    scores: Sequence["OrcaScore"],
    further: Mapping[str, Sequence[float | None]] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a file, in item order; ``further`` maps additional fields to their values."""
    rows = []
    for index, (item, score) in enumerate(zip(items, scores, strict=True)):
        # The input fields come first, so that new values replace those of an earlier scoring.
        row: dict[str, Any] = {
            **item.row,
            "id": item.id,
            "rating_orca": score.mean,
            "variance_orca": score.variance,
            "low_orca": score.low,
            "high_orca": score.high,
            "params": None if score.params is None else list(score.params),
            "n_ratings": len(item.ratings),
        }
        if item.ratings:
            row |= {
                "rating_ground_truth": item.rating_mean,
                "variance_ground_truth": item.rating_variance,
                "ground_truth_scale": [0, 1],
            }
        if score.dropped_tokens:
            row["dropped_context_tokens"] = score.dropped_tokens
        if score.reason is not None:
            row["reason"] = score.reason
        rows.append(row | {name: values[index] for name, values in (further or {}).items()})
    return rows


def read_results(path: Path) -> list[ScoredAnswer]:
    """Read scored rows; those without a score (``does_not_fit``) are skipped.

    A row of a released multinomial model is recognised by ``score_type`` in an ``args.yaml`` above the file
    or by its five ``params``, otherwise by a truth above 1. (The released program uses only ``args.yaml``;
    without it, that program compares values on different scales.)
    """
    remedy = "name a file that `lct orca score` wrote, or score the answers again"
    rows = [
        validated(_ResultRow, row, where, remedy=remedy)
        for where, row in json_rows(path, "answers that `lct orca score` scored")
    ]
    score_type = read_args(path.parent).get("score_type")
    # Files of single splits may lack args.yaml or params, so three criteria are used.
    raw = (
        score_type == "multinomial"
        or any(len(row.params or ()) == _MULTINOMIAL_OUTPUTS for row in rows)
        or (not isinstance(score_type, str) and any((row.rating_ground_truth or 0) > 1 for row in rows))
    )
    width = SCALE[1] - SCALE[0]
    answers = []
    for row in rows:
        # Answers that did not fit the window.
        if row.rating_orca is None or row.variance_orca is None:
            continue
        truth, variance = row.rating_ground_truth, row.variance_ground_truth
        if raw and row.ground_truth_scale is None:
            truth = None if truth is None else (truth - SCALE[0]) / width
            variance = None if variance is None else variance / width**2
        answers.append(
            ScoredAnswer(
                str(row.id),
                row.rating_orca,
                row.variance_orca,
                truth,
                variance if row.n_ratings >= MIN_FOR_VARIANCE else None,
                row.rating_orca_clamped,
                row.low_orca is not None,
            )
        )
    return answers
