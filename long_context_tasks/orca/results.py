"""Scored answers in a file, and back: rows of ``final_result.jsonl``, of the released code or of this package.

A row has the item's own fields and ``rating_orca``, ``variance_orca``, ``params``, ``n_ratings``; with ratings also ``rating_ground_truth`` and
``variance_ground_truth``. This package writes the truth on 0 ... 1 for every head (``ground_truth_scale`` says so), adds an interval (``low_orca``,
``high_orca``) and leaves the variance of fewer than three ratings null. In released files the truth of a multinomial model is on 1 ... 5; reading
brings it to 0 ... 1. Clamping adds ``rating_orca_clamped``.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import Field

from long_context_tasks.orca.checkpoint import read_args, read_yaml_mapping
from long_context_tasks.orca.data import (
    MIN_FOR_VARIANCE,
    MISMATCHED,
    NO_REFERENCE,
    SCALE,
    OrcaItem,
    Row,
)
from long_context_tasks.orca.metrics import (
    Agreement,
    ThresholdSearch,
    Weights,
    agreement,
    clamp,
    clamp_all,
    find_threshold,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, json_value, make_folder, write_whole
from long_context_tasks.schema.validated import Number, validated

if TYPE_CHECKING:
    from long_context_tasks.orca.scoring import OrcaScore

_MANY = 99
"""Ratings of a row that does not say how many, as in the released code."""
_MULTINOMIAL_OUTPUTS = 5
_RELEASED = {
    "rating_kendall_tau": "tau",
    "rating_spearman_correlation": "rho",
    "mean_mae": "mae",
    "n_var": "n_variance",
    "variance_mae": "variance_mae",
}
"""Names of figures in the released code's files."""
CONTROL_FIELDS = {MISMATCHED: "rating_orca_mismatched", NO_REFERENCE: "rating_orca_without_reference"}
"""Fields of the means with another question's reference, and with none."""
_SCORED = "answers that `lct orca score` scored"
_REMEDY = "name a file that `lct orca score` wrote, or score the answers again"


_Unit = Annotated[Number, Field(ge=0, le=1)]


class _ScoredRow(Row):
    rating_orca: _Unit | None
    variance_orca: _Unit | None
    low_orca: Number | None = None
    rating_ground_truth: Number | None = None
    variance_ground_truth: Number | None = None
    rating_orca_clamped: _Unit | None = None
    params: list[Number] | None = None
    n_ratings: Annotated[int, Field(ge=0)] = _MANY


@dataclass(frozen=True)
class Scored:
    """One scored answer, all on 0 ... 1.

    Attributes:
        id: of the row; empty without one.
        mean, variance: predicted; the variance is 0 from a head that predicts none.
        truth: mean human rating; None without ratings.
        truth_variance: None below three ratings.
        clamped: the clamped mean; None where the answer was not clamped.
        predicts_variance: False for a head that predicts no spread.
    """

    id: str
    mean: float
    variance: float
    truth: float | None = None
    truth_variance: float | None = None
    clamped: float | None = None
    predicts_variance: bool = True


def result_row(item: OrcaItem, score: "OrcaScore") -> dict[str, Any]:
    """Return the row of one item."""
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


def write_results(
    path: Path,
    items: Sequence[OrcaItem],
    scores: Sequence["OrcaScore"],
    further: Mapping[str, Sequence[float | None]] | None = None,
) -> None:
    """Write all rows in the order of the items, the file whole or not at all.

    Args:
        path: of the file.
        items: that were scored.
        scores: theirs.
        further: name to the values of another field.

    Raises:
        InputError: the file cannot be written.
        ValueError: lengths differ.
    """
    rows = [result_row(item, score) for item, score in zip(items, scores, strict=True)]
    for name, values in (further or {}).items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    write_whole(path, (json.dumps(json_value(row), ensure_ascii=False) + "\n" for row in rows))


def read_results(path: Path) -> list[Scored]:
    """Read scored rows; those without a score (``does_not_fit``) are left out.

    A row of a released multinomial model is known by ``score_type`` in an ``args.yaml`` above the file or by its five ``params``, else by a truth above 1.
    (The released program goes by ``args.yaml`` alone, and without it compares scales that differ.)

    Raises:
        InputError: the file cannot be read, or a row is no scored answer.
    """
    rows = [
        (validated(_ScoredRow, row, where, remedy=_REMEDY), row) for where, row in json_rows(path, _SCORED)
    ]
    score_type = read_args(path.parent).get("score_type")
    raw = (
        score_type == "multinomial"
        or any(len(row.params or ()) == _MULTINOMIAL_OUTPUTS for row, _ in rows)
        or (not isinstance(score_type, str) and any((row.rating_ground_truth or 0) > 1 for row, _ in rows))
    )
    width = SCALE[1] - SCALE[0]
    found = []
    for row, given in rows:
        if row.rating_orca is None or row.variance_orca is None:
            continue
        truth, variance = row.rating_ground_truth, row.variance_ground_truth
        if raw and "ground_truth_scale" not in given:
            truth = None if truth is None else (truth - SCALE[0]) / width
            variance = None if variance is None else variance / width**2
        found.append(
            Scored(
                str(given.get("id", "")),
                row.rating_orca,
                row.variance_orca,
                truth,
                variance if row.n_ratings >= MIN_FOR_VARIANCE else None,
                row.rating_orca_clamped,
                "low_orca" not in given or row.low_orca is not None,
            )
        )
    return found


def scored_agreement(rows: Sequence[Scored], means: Sequence[float] | None = None) -> Agreement:
    """Compute all figures of scored rows with a truth.

    Args:
        rows: scored.
        means: to take instead of the rows' own, such as clamped ones.
    """
    return agreement(
        [row.truth for row in rows],
        [row.mean for row in rows] if means is None else means,
        [row.truth_variance for row in rows],
        [row.variance for row in rows],
    )


def _released(figures: Agreement, *names: str) -> dict[str, Any]:
    """Return figures under the released code's names and with its six decimals; null for what is not a number."""
    return {name: json_value(round(getattr(figures, _RELEASED[name]), 6)) for name in names}


def read_threshold(path: Path) -> float:
    """Read the threshold in a ``clamp.yaml``, or in a ``score_clamp.yaml`` of the released code, where all splits have it.

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


@dataclass(frozen=True)
class Clamped:
    """Figures of a scored file before and after clamping.

    Attributes:
        path: of the scored file.
        changed: number of means that clamping moved.
        before, after: figures of the predicted and of the clamped means.
    """

    path: Path
    changed: int
    before: Agreement
    after: Agreement


def clamp_file(path: Path, threshold: float) -> Clamped:
    """Clamp the means of a scored file; nothing is written."""
    rows = read_results(path)
    means = clamp_all([row.mean for row in rows], [row.variance for row in rows], threshold)
    changed = sum(row.mean != mean for row, mean in zip(rows, means, strict=True))
    return Clamped(path, changed, scored_agreement(rows), scored_agreement(rows, means))


def dev_threshold(path: Path, weights: Weights) -> ThresholdSearch:
    """Search for the threshold on a scored development part."""
    rated = [(row.truth, row.mean, row.variance) for row in read_results(path) if row.truth is not None]
    truth, means, variances = zip(*rated, strict=True) if rated else ((), (), ())
    try:
        return find_threshold(truth, means, variances, weights)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_clamped(
    folder: Path, files: Sequence[Clamped], copied: Collection[Path], threshold: float, composite: str
) -> None:
    """Write ``clamp.yaml``, ``score_clamp.yaml`` in the released code's form, and copies of scored files with ``rating_orca_clamped``.

    Args:
        folder: for all of them.
        files: clamped; their names differ.
        copied: those of them to copy, usually all but the development part.
        threshold: of the variance.
        composite: name of the sum by which the threshold was chosen.

    Raises:
        InputError: a copy would be written over its source, or a file cannot be written.
    """
    make_folder(folder, remedy="choose another --out")
    for path in copied:
        target = folder / f"{path.stem}.jsonl"
        if target.resolve() == path.resolve():
            raise InputError(f"{target}: would be written over what it is made from; choose another --out")
        lines = []
        for _, row in json_rows(path, _SCORED):
            mean, variance = row["rating_orca"], row["variance_orca"]
            scored = mean is not None and variance is not None
            row["rating_orca_clamped"] = clamp(mean, variance, threshold) if scored else None
            lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        write_whole(target, lines)
    figures = {
        each.path.stem: {
            "n_clamped": each.changed,
            "before": asdict(each.before),
            "clamped": asdict(each.after),
        }
        for each in files
    }
    released = {}
    for each in files:
        released[each.path.stem] = {
            "n": each.after.n,
            "var_threshold": round(threshold, 8),
            **_released(each.after, "rating_kendall_tau", "rating_spearman_correlation", "mean_mae"),
            **(_released(each.after, "n_var", "variance_mae") if each.after.n_variance else {}),
        }
    summary = {"var_threshold": round(threshold, 8), "composite": composite, "files": json_value(figures)}
    write_whole(folder / "score_clamp.yaml", yaml.safe_dump(released, sort_keys=False, allow_unicode=True))
    write_whole(folder / "clamp.yaml", yaml.safe_dump(summary, sort_keys=False, allow_unicode=True))
