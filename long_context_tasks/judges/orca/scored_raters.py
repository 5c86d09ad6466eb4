"""ORCA's scored answers, one file a split, as rows of a comparison."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.judges.orca.comparison import Estimate, Estimates, Rater
from long_context_tasks.judges.orca.split_files import SplitItems
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows


def orca_raters(text: str, splits: Sequence[SplitItems]) -> list[Rater]:
    """ORCA's predictions from the files of ``NAME=PATTERN``; with a clamped column also those, as ``NAME clamped``.

    ``{split}`` in the pattern is the name of a split's folder, ``{number}`` its number.

    Raises:
        InputError: no name or pattern, a file is missing or no scored answers, or only some files are clamped.
    """
    name, _, pattern = text.partition("=")
    if not name.strip() or not ("{split}" in pattern or "{number}" in pattern):
        raise InputError(
            f"--orca {text}: write NAME=PATTERN with {{split}} in it, such as orca=scored/{{split}}/test.jsonl"
        )
    plain, clamped = [], []
    for split in splits:
        path = Path(pattern.replace("{split}", split.name).replace("{number}", split.number))
        as_predicted, with_clamping = _orca_file(path)
        plain.append(as_predicted)
        clamped.append(with_clamping)
    raters = [Rater(name.strip(), "orca", tuple(plain))]
    there = [each for each in clamped if each is not None]
    if there and len(there) < len(splits):
        raise InputError(
            f"--orca {text}: {len(there)} of {len(splits)} files have a clamped column; clamp all"
        )
    return [*raters, Rater(f"{name.strip()} clamped", "orca", tuple(there))] if there else raters


def _orca_file(path: Path) -> tuple[Estimates, Estimates | None]:
    plain: dict[str, Estimate] = {}
    clamped: dict[str, Estimate] = {}
    has_clamped = False
    for where, row in json_rows(path, "answers that `lct orca score` scored"):
        if not isinstance(row, dict) or not {"id", "rating_orca", "variance_orca"} <= row.keys():
            raise InputError(
                f"{where}: no id, rating_orca and variance_orca; name a file that `lct orca score` wrote"
            )
        name = str(row["id"])
        if name in plain:
            raise InputError(f"{where}: {name} stands there twice; score the answers again")
        # A head that predicts no spread has no interval either.
        predicts = not ("low_orca" in row and row["low_orca"] is None)
        variance = _unit(row["variance_orca"], f"{where}: variance_orca") if predicts else None
        mean = _unit(row["rating_orca"], f"{where}: rating_orca")
        if mean is not None:
            plain[name] = Estimate(mean, variance)
        if "rating_orca_clamped" in row:
            has_clamped = True
            mean = _unit(row["rating_orca_clamped"], f"{where}: rating_orca_clamped")
            if mean is not None:
                clamped[name] = Estimate(mean, variance)
    return plain, clamped if has_clamped else None


def _unit(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(
            f"{where} is {json.dumps(value)[:40]}, no number from 0 to 1; score the answers again"
        )
    return float(value)
