"""Published JSON files: found in the data folder, read as a stream, each row checked; errors name file and row."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict

from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import Checked, validated

_Row = TypeVar("_Row", bound="PublishedRow")
_DEEPEST = 20
"""Levels of a JSON value; published rows have a few."""


class PublishedRow(Checked):
    """A row of a published file; fields that no case needs are let through."""

    model_config = ConfigDict(extra="ignore")


def remedy(benchmark: str) -> str:
    """Return what to do about a damaged file."""
    return f"fetch it again with `lct data fetch {benchmark}`"


def find_file(name: str, options: Options, benchmark: str, *, instead: str = "") -> Path:
    """Return the path of a published file, plain or gzipped.

    Raises:
        InputError: it is missing; with the remedies.
    """
    folder = data_dir(options, benchmark)
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    remedies = [
        f"`lct data fetch {benchmark}` downloads the published files",
        f"point LCT_DATA_DIR (or lct_data_dir) at a folder that holds {benchmark}/{name}",
        *([instead] if instead else []),
    ]
    listed = "; ".join(f"({number}) {each}" for number, each in enumerate(remedies, start=1))
    raise InputError(f"{folder / name}[.gz] is missing. Remedies: {listed}")


def checked_rows(path: Path, kind: type[_Row], benchmark: str) -> Iterator[tuple[str, _Row]]:
    """Yield the rows of a file as records of a kind, each with its place for messages (``FILE, row 3``).

    Raises:
        InputError: the file is damaged or empty, or a row is of another shape; file, row and remedy are named.
    """
    for place, row in json_rows(path, benchmark):
        yield place, validated(kind, row, place, remedy=remedy(benchmark))


def json_rows(path: Path, benchmark: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a JSON list or of JSON Lines, plain or gzipped, each with its place; only one row is in memory.

    Raises:
        InputError: not JSON, cut short, or no rows.
    """
    import ijson

    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            rows = _list_items(file) if _is_list(file) else _lines(file)
            for number, row in rows:
                yield f"{path}, row {number}", row
    except (ijson.JSONError, ValueError, RecursionError, EOFError, OSError, zlib.error) as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"{path}, after row {number}: damaged or cut short ({said}); {remedy(benchmark)}"
        ) from error
    if not number:
        raise InputError(f"{path}: holds no rows; {remedy(benchmark)}")


def _is_list(file: Any) -> bool:
    """Whether the first character that is no white space opens a list; the file is at its beginning afterwards."""
    head = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    file.seek(0)
    return bool(head.startswith(b"["))


def _list_items(file: Any) -> Iterator[tuple[int, Any]]:
    import ijson

    events = _shallow(ijson.basic_parse(file, use_float=True))
    return enumerate(ijson.items(ijson.parse(events), "item"), start=1)


def _shallow(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the same events; more levels than a row can have are an error, before reading them takes hours."""
    depth = 0
    for event, value in events:
        depth += event.startswith("start_") - event.startswith("end_")
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} values inside one another")
        yield event, value


def _lines(file: Any) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield number, json.loads(line)
