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

import yaml

from long_context_tasks.orca.checkpoint import read_args, read_yaml_mapping
from long_context_tasks.orca.data import MIN_FOR_VARIANCE, SCALE, OrcaItem
from long_context_tasks.orca.metrics import Agreement, agreement
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, write_whole

if TYPE_CHECKING:
    from long_context_tasks.orca.scoring import OrcaScore

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
        if not isinstance(row.get("params") or [], list) or not _is_count(row.get("n_ratings", _MANY)):
            raise InputError(
                f"{path}, row {number}: params is no list or n_ratings no whole number; was it edited by hand? Score the answers again"
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


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


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


def released_scores(figures: Agreement, *, spread: bool) -> dict[str, Any]:
    """One entry of the released code's ``scores.yaml``, with its names and its six decimals; null for what is not a number.

    Args:
        figures: means and truth on 0 ... 1, as the released program brings them for every head.
        spread: whether the head predicts a variance; the released program leaves its figures out otherwise.
    """
    row: dict[str, Any] = {
        "n": figures.n,
        "mean_mae": round(figures.mae, 6),
        "rating_kendall_tau": round(figures.tau, 6),
        "rating_spearman_correlation": round(figures.rho, 6),
    }
    if spread:
        row |= {
            "n_var": figures.n_variance,
            "variance_mae": round(figures.variance_mae, 6),
            "variance_kendall_tau": round(figures.variance_tau, 6),
            "variance_spearman_correlation": round(figures.variance_rho, 6),
        }
    return dict(json_value(row))


def released_clamp_scores(figures: Agreement, threshold: float) -> dict[str, Any]:
    """One entry of the released code's ``score_clamp.yaml``.

    Args:
        figures: of the clamped means.
        threshold: of the variance.
    """
    row: dict[str, Any] = {
        "n": figures.n,
        "var_threshold": round(threshold, 8),
        "rating_kendall_tau": round(figures.tau, 6),
        "rating_spearman_correlation": round(figures.rho, 6),
        "mean_mae": round(figures.mae, 6),
    }
    if figures.n_variance:
        row |= {"n_var": figures.n_variance, "variance_mae": round(figures.variance_mae, 6)}
    return dict(json_value(row))


def add_released_scores(path: Path, stem: str, entry: Mapping[str, Any]) -> None:
    """Put one file's entry into a ``scores.yaml``, which may hold others.

    Raises:
        InputError: the file is no such one, or cannot be written.
    """
    found = read_yaml_mapping(path) if path.exists() else {}
    if any(not isinstance(each, dict) for each in found.values()):
        raise InputError(f"{path}: no scores.yaml, whose entries have figures; name another file")
    write_whole(path, yaml.safe_dump({**found, stem: dict(entry)}, sort_keys=False, allow_unicode=True))


def read_threshold(path: Path) -> float:
    """The threshold in a ``clamp.yaml``, or in a ``score_clamp.yaml`` of the released code, where all splits have it.

    Raises:
        InputError: there is none, or more than one.
    """
    found = read_yaml_mapping(path)
    each = [found, *(value for value in found.values() if isinstance(value, dict))]
    values = {row["var_threshold"] for row in each if isinstance(row.get("var_threshold"), int | float)}
    if len(values) != 1:
        raise InputError(
            f"{path}: {len(values) or 'no'} different var_threshold in it; name a clamp.yaml or score_clamp.yaml, or give --threshold"
        )
    return float(values.pop())
