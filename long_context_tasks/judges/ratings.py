"""Scores of several raters for the same items, from JSON Lines files."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows

_SCALES = 'scales: give the lowest and the highest score of each rater, such as {"gpt-4": [1, 10]}'
_NO_RATERS = ("id", "cluster", "turn", "repeat", "version")
"""Numeric non-score fields of ``lct judge run`` (turn, repeat) and ``lct annotate export`` (version)."""
ORCA = "rating_orca"
"""Prefix of score fields in ``lct orca score`` output; its other numbers are variances, intervals and counts.
"""
# The path made by results.evaluations.judged_path.
_JUDGED = re.compile(r"/judged/(?P<label>(?P<name>[^/]+)-[0-9a-f]{8})/")
FORMAT = 'one JSON object a line: {"id": "m1/3", "cluster": "m1", "gpt-4": 9, "gold": 8.5}'


@dataclass(frozen=True)
class RatingTable:
    # ids, clusters, labels: id, cluster and label of each item; labels are empty if not requested
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    labels: tuple[str, ...]
    # Rater -> scores in item order; None marks a missing score.
    ratings: Mapping[str, tuple[float | None, ...]]
    # Rater -> lowest and highest score, for raters with a stated scale.
    scales: Mapping[str, tuple[float, float]]
    passed_over: tuple[str, ...]  # numeric fields that their rows do not name as scores

    @property
    def note(self) -> str:
        """Message about skipped fields; empty if none were skipped."""
        names = ", ".join(self.passed_over)
        return names and f"not raters, because their rows do not name them: {names}; --raters can add them"


def read_ratings(
    files: Sequence[Path],
    raters: Sequence[str] = (),
    label: str | None = None,
    *,
    also: Collection[str] = (),
    fewest: int = 2,
) -> RatingTable:
    """Read scores from JSON Lines; rows with the same id, even in different files, belong to the same item.

    Unless ``raters`` names them, the raters are: the fields named in a row's ``scales``; in a row of
    ``lct orca score`` its means (:data:`ORCA`); in a row that names none, every numeric field; and those of
    ``also``. A missing field or ``null`` marks a missing score.

    A row of a rated answer (with a ``candidate``) needs no cluster if another row with its id has one. If no
    row of any file has a cluster, an answer's cluster is its question. The mean of its ``ratings`` is the
    rater ``people``.
    """
    items: dict[str, dict[str, Any]] = {}
    numeric: dict[str, None] = {}
    default: dict[str, None] = {}
    scales: dict[str, tuple[float, float]] = {}
    for place, row, named in _rows(files):
        _add_scales(scales, row, place)
        item = items.setdefault(row["id"], {})
        for name, value in row.items():
            if isinstance(value, dict | list):
                continue
            if name in item and item[name] != value and value is not None and item[name] is not None:
                raise InputError(
                    f"{place}: {name} of {row['id']} is {value!r}, but was {item[name]!r} before; give every item its own id, "
                    "such as meeting/question/model"
                )
            if value is not None or name not in item:
                item[name] = value
            if name not in (*_NO_RATERS, label) and _is_number(value):
                numeric.setdefault(name)
                if named is None or name in named or name in also:
                    default.setdefault(name)
    chosen = list(raters) or list(default)
    if missing := [name for name in chosen if name not in numeric]:
        raise InputError(
            f"no row has a score of {', '.join(missing)}; raters found: {', '.join(numeric) or 'none'}"
        )
    if len(chosen) < fewest:
        raise InputError(
            f"a comparison needs {'two raters' if fewest > 1 else 'a rater'}; found: {', '.join(chosen) or 'none'}. Expected {FORMAT}"
        )
    if not any("cluster" in item for item in items.values()):
        _cluster_by_question(items.values())
    for key, item in items.items():
        _check(key, item, chosen, label)
    return RatingTable(
        ids=tuple(items),
        clusters=tuple(str(item["cluster"]) for item in items.values()),
        labels=tuple(str(item[label]) for item in items.values()) if label is not None else (),
        ratings={name: tuple(item.get(name) for item in items.values()) for name in chosen},
        scales={name: ends for name, ends in scales.items() if name in chosen},
        passed_over=() if raters else tuple(name for name in numeric if name not in default),
    )


def on_one_scale(
    table: RatingTable, raters: Sequence[str]
) -> tuple[Mapping[str, Sequence[float | None]], str]:
    """Return the raters' scores, ready for an intraclass correlation, and a note.

    Scores are rescaled to [0, 1] if the raters' scales differ, unless a rater's scale is unknown.
    """
    ratings = {name: table.ratings[name] for name in raters}
    scales = {name: table.scales[name] for name in raters if name in table.scales}
    if len(scales) < len(raters) or len(set(scales.values())) == 1:
        return ratings, ""
    note = ", ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in scales.items())
    mapped = {
        name: [None if score is None else (score - low) / (high - low) for score in ratings[name]]
        for name, (low, high) in scales.items()
    }
    return mapped, f"scores are mapped to 0 to 1 for the ICC: {note}"


_MOST = 1e9  # no scale reaches so far, and NaN is not smaller


def _check(key: str, item: Mapping[str, Any], raters: Sequence[str], label: str | None) -> None:
    if "cluster" not in item:
        raise InputError(f"{key}: no row of this id has a cluster; expected {FORMAT}")
    for name in raters:
        value = item.get(name)
        if value is not None and not (_is_number(value) and abs(value) <= _MOST):
            raise InputError(f"{key}: score of {name} is {value!r}, not a number; null means no score")
    if label is not None and item.get(label) is None:
        raise InputError(f"{key}: no field {label!r}, which --by names")


def _add_scales(scales: dict[str, tuple[float, float]], row: Mapping[str, Any], place: str) -> None:
    for name, ends in row["scales"].items():
        match ends:
            case [low, high] if _is_number(low) and _is_number(high) and low < high:
                first, last = scales.setdefault(name, (float(low), float(high)))
            case _:
                raise InputError(f"{place}: {_SCALES}")
        if (first, last) != (low, high):
            raise InputError(
                f"{place}: the scale of {name} is {low:g} to {high:g}, but was {first:g} to {last:g} before; compare one "
                "scale at a time"
            )


def _cluster_by_question(items: Iterable[dict[str, Any]]) -> None:
    for item in items:
        if "candidate" in item and (question := item.get("question_id") or item.get("question")):
            item["cluster"] = question


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rows(files: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any], Collection[str] | None]]:
    """Yield each row with its location and the raters it names, or None if it names none."""
    # Judges with the same name but different settings are distinguished by their files' label.
    judged = {path: match for path in files if (match := _JUDGED.search(path.absolute().as_posix()))}
    names = Counter(name for name, _ in {(match["name"], match["label"]) for match in judged.values()})
    for path in files:
        match = judged.get(path)
        labels: dict[str, str] = {match["name"]: match["label"]} if match and names[match["name"]] > 1 else {}
        for place, row in json_rows(path, FORMAT):
            if not isinstance(row, dict):
                raise InputError(f"{place}: found a {type(row).__name__}; expected {FORMAT}")
            keys = ("id",) if "candidate" in row and "cluster" not in row else ("id", "cluster")
            for name in keys:
                value = row.get(name)
                if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
                    raise InputError(f"{place}: no {name}; expected {FORMAT}")
            named: dict[str, Any] = {str(labels.get(key, key)): value for key, value in row.items()}
            scales = row.get("scales") or {}
            if not isinstance(scales, dict):
                raise InputError(f"{place}: {_SCALES}")
            if ORCA in row:
                scales = {**{name: [0, 1] for name in row if name.startswith(ORCA)}, **scales}
            raters = {*scales, "people"} if scales else None
            given = row.get("ratings") if "candidate" in row else None
            if isinstance(given, list) and (kept := [each for each in given if _is_number(each)]):
                named.setdefault("people", sum(kept) / len(kept))
                scales = {"people": row.get("scale") or [1, 5], **scales}
            yield place, {**named, "scales": scales, **{name: str(row[name]) for name in keys}}, raters
