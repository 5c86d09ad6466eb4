"""Scored answers in a file, and back: rows of ``final_result.jsonl``, released or one's own.

A row has the item's own fields and ``rating_orca``, ``variance_orca``, ``params``, ``n_ratings``; with ratings also ``rating_ground_truth`` and
``variance_ground_truth``. Here the truth is on 0 ... 1 for every head (``ground_truth_scale`` says so), an interval (``low_orca``, ``high_orca``) stands beside the mean, and
the variance of fewer than three ratings is null. In released files the truth of a multinomial model is on 1 ... 5; reading brings it to 0 ... 1.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.judges.orca.checkpoint import read_args
from long_context_tasks.judges.orca.data import MIN_FOR_VARIANCE, SCALE, OrcaItem
from long_context_tasks.judges.orca.metrics import Agreement, agreement
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, write_whole

if TYPE_CHECKING:
    from long_context_tasks.judges.orca.scoring import OrcaScore

_MANY = 99
"""Ratings of a row that does not say how many, as in the released code."""
_MULTINOMIAL_OUTPUTS = 5


@dataclass(frozen=True)
class Scored:
    """One scored answer, all on 0 ... 1.

    Attributes:
        id: of the row; empty without one.
        mean, variance: predicted.
        truth: mean human rating; None without ratings.
        truth_variance: None below three ratings.
    """

    id: str
    mean: float
    variance: float
    truth: float | None = None
    truth_variance: float | None = None


def result_row(item: OrcaItem, score: "OrcaScore") -> dict[str, Any]:
    """The row of one item."""
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
    return row


def write_results(path: Path, items: Sequence[OrcaItem], scores: Sequence["OrcaScore"]) -> None:
    """Write all rows in the order of the items, the file whole or not at all.

    Raises:
        InputError: the file cannot be written.
        ValueError: lengths differ.
    """
    rows = (result_row(item, score) for item, score in zip(items, scores, strict=True))
    write_whole(path, (json.dumps(json_value(row), ensure_ascii=False) + "\n" for row in rows))


def read_results(path: Path) -> list[Scored]:
    """Read scored rows; those without a score (``does_not_fit``) are left out.

    A row of a released multinomial model is known by ``score_type`` in an ``args.yaml`` above the file or by its five ``params``, else by a truth above 1.
    (The released program goes by ``args.yaml`` alone, and without one compares scales that differ.)

    Raises:
        InputError: the file cannot be read, or a row is none of a scored answer.
    """
    try:
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read ({type(error).__name__}); name a file of scored answers"
        ) from error
    rows: list[Mapping[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, row {number}: not JSON ({error}); score the answers again") from error
        if not isinstance(row, dict) or not {"rating_orca", "variance_orca"} <= row.keys():
            raise InputError(
                f"{path}, row {number}: no rating_orca and variance_orca; name a file that `lct orca score` wrote"
            )
        rows.append(row)
    score_type = read_args(path.parent).get("score_type")
    return scored_rows(rows, str(path), score_type if isinstance(score_type, str) else None)


def scored_rows(
    rows: Sequence[Mapping[str, Any]], source: str, score_type: str | None = None
) -> list[Scored]:
    """Rows of one file, with all values on 0 ... 1; see :func:`read_results`.

    Args:
        rows: as written.
        source: names them in messages.
        score_type: the head's name, where it is known.

    Raises:
        InputError: a value is no number.
    """
    values = [
        {name: _number(row.get(name), name, f"{source}, row {number}") for name in _NUMBERS}
        for number, row in enumerate(rows, start=1)
    ]
    raw = (
        score_type == "multinomial"
        or any(len(row.get("params") or ()) == _MULTINOMIAL_OUTPUTS for row in rows)
        or (score_type is None and any((each["rating_ground_truth"] or 0) > 1 for each in values))
    )
    found = []
    for row, each in zip(rows, values, strict=True):
        if each["rating_orca"] is None or each["variance_orca"] is None:
            continue
        truth, variance = each["rating_ground_truth"], each["variance_ground_truth"]
        width = SCALE[1] - SCALE[0]
        if raw and "ground_truth_scale" not in row:
            truth = None if truth is None else (truth - SCALE[0]) / width
            variance = None if variance is None else variance / width**2
        enough = row.get("n_ratings", _MANY) >= MIN_FOR_VARIANCE
        found.append(
            Scored(
                str(row.get("id", "")),
                each["rating_orca"],
                each["variance_orca"],
                truth,
                variance if enough else None,
            )
        )
    return found


_NUMBERS = ("rating_orca", "variance_orca", "rating_ground_truth", "variance_ground_truth")


def _number(value: Any, name: str, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{where}: {name} is {json.dumps(value)[:40]}, no number; score the answers again")
    return float(value)


def scored_agreement(rows: Sequence[Scored], means: Sequence[float] | None = None) -> Agreement:
    """All figures of scored rows with a truth.

    Args:
        rows: scored.
        means: to take instead of the rows' own, such as clamped ones.

    Raises:
        ValueError: lengths differ.
    """
    taken = [row.mean for row in rows] if means is None else means
    rated = [(row.truth, mean) for row, mean in zip(rows, taken, strict=True) if row.truth is not None]
    spread = [(row.truth_variance, row.variance) for row in rows if row.truth_variance is not None]
    return agreement(
        [a for a, _ in rated], [b for _, b in rated], [a for a, _ in spread], [b for _, b in spread]
    )
