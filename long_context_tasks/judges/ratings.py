"""Scores of several raters for the same items, from files of JSON lines."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows
from long_context_tasks.stats.shortcuts import Traits

_NO_RATERS = ("id", "cluster", "turn", "repeat")
"""Fields that may hold a number and are no scores; the last two are in the rows of ``lct judge run``."""
# As `results.evaluations.judged_path` makes it.
_JUDGED = re.compile(r"/judged/(?P<label>(?P<name>[^/]+)-[0-9a-f]{8})/")
FORMAT = 'one JSON object a line: {"id": "m1/3", "cluster": "m1", "gpt-4": 9, "gold": 8.5}'


@dataclass(frozen=True)
class RatingTable:
    """Scores of several raters for the same items.

    Attributes:
        ids, clusters, labels: of the items; labels are empty when none were asked for.
        ratings: rater to scores in the order of the items, ``None`` where there is none.
        traits: answering model and lengths of each item, where rows have ``candidate`` and ``reference`` and name ``candidate_model``; else ``None``.
    """

    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    labels: tuple[str, ...]
    ratings: Mapping[str, tuple[float | None, ...]]
    traits: tuple[Traits | None, ...]


def read_ratings(
    files: Sequence[Path], raters: Sequence[str] = (), label: str | None = None, *, fewest: int = 2
) -> RatingTable:
    """Read scores from JSON lines; rows of several files (of a judge each, say) with the same id belong to an item.

    Every field that holds a number in some row is a rater, unless ``raters`` names them. A missing field or ``null`` is
    no score; other fields are passed over. A row of rated answers (with a ``candidate``) needs no cluster where another row of its id has one, and
    the mean of its ``ratings`` is the rater ``people``.

    Raises:
        InputError: a file that cannot be read, a row that is no object or lacks id or cluster, a score that is no finite
            number, an id that comes with two clusters, labels or scores of one rater, a rater that no row has, or ratings
            of two scales.
    """
    items: dict[str, dict[str, Any]] = {}
    numeric: dict[str, None] = {}
    for place, row in _rows(files):
        item = items.setdefault(row["id"], {})
        for name, value in row.items():
            if isinstance(value, dict | list):
                continue
            if name in item and item[name] != value and value is not None and item[name] is not None:
                raise InputError(
                    f"{place}: {name} of {row['id']} is {value!r}, before it was {item[name]!r}; give every item an id of "
                    "its own, e.g. meeting/question/model"
                )
            if value is not None or name not in item:
                item[name] = value
            if name not in (*_NO_RATERS, label) and _is_number(value):
                numeric.setdefault(name)
    chosen = list(raters) or list(numeric)
    if missing := [name for name in chosen if name not in numeric]:
        raise InputError(
            f"no row has a score of {', '.join(missing)}; there are: {', '.join(numeric) or 'none'}"
        )
    if len(chosen) < fewest:
        raise InputError(
            f"a comparison needs {'two raters' if fewest > 1 else 'a rater'}; found: {', '.join(chosen) or 'none'}. Expected {FORMAT}"
        )
    for key, item in items.items():
        _check(key, item, chosen, label)
    return RatingTable(
        ids=tuple(items),
        clusters=tuple(str(item["cluster"]) for item in items.values()),
        labels=tuple(str(item[label]) for item in items.values()) if label is not None else (),
        ratings={name: tuple(item.get(name) for item in items.values()) for name in chosen},
        traits=tuple(map(_traits, items.values())),
    )


def _check(key: str, item: Mapping[str, Any], raters: Sequence[str], label: str | None) -> None:
    if "cluster" not in item:
        raise InputError(f"{key}: no row of this id has a cluster; expected {FORMAT}")
    for name in raters:
        value = item.get(name)
        if value is not None and not (_is_number(value) and math.isfinite(value)):
            raise InputError(f"{key}: score of {name} is {value!r}, not a number; null means no score")
    if label is not None and item.get(label) is None:
        raise InputError(f"{key}: no field {label!r}, which --by names")


def _traits(item: Mapping[str, Any]) -> Traits | None:
    model, candidate, reference = (item.get(name) for name in ("candidate_model", "candidate", "reference"))
    if not (isinstance(model, str) and isinstance(candidate, str) and isinstance(reference, str)):
        return None
    return Traits(model, len(candidate), len(reference))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rows(files: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    # Judges of the same name with different settings differ in the label of their files.
    judged = {path: match for path in files if (match := _JUDGED.search(path.absolute().as_posix()))}
    names = Counter(name for name, _ in {(match["name"], match["label"]) for match in judged.values()})
    scale: Any = None
    for path in files:
        match = judged.get(path)
        labels: dict[str, str] = {match["name"]: match["label"]} if match and names[match["name"]] > 1 else {}
        for place, row in json_rows(path, FORMAT):
            if not isinstance(row, dict):
                raise InputError(f"{place}: a {type(row).__name__}, not an object; expected {FORMAT}")
            keys = ("id",) if "candidate" in row and "cluster" not in row else ("id", "cluster")
            for name in keys:
                value = row.get(name)
                if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
                    raise InputError(f"{place}: no {name}; expected {FORMAT}")
            named: dict[str, Any] = {str(labels.get(key, key)): value for key, value in row.items()}
            given = row.get("ratings") if "candidate" in row else None
            if isinstance(given, list) and (kept := [each for each in given if _is_number(each)]):
                named.setdefault("people", sum(kept) / len(kept))
                scale = scale or row.get("scale")
                if row.get("scale", scale) != scale:
                    raise InputError(
                        f"{place}: ratings from {row['scale']}, before it from {scale}; compare the answers of one scale at a time"
                    )
            yield place, {**named, **{name: str(row[name]) for name in keys}}
