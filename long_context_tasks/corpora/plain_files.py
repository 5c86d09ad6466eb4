"""Text and JSON Lines files of raw sources, plain or gzipped, with errors that name file and row."""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Protocol, TypeVar

from pydantic import BeforeValidator, ConfigDict, model_validator

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.validated import Checked, validated

_CONTROL = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_MOST_CONTROL = 0.001
_CLOSED = re.compile(r"</(?:p|h[1-6]|div|body)>", re.IGNORECASE)
_CAPTION = re.compile(r"^(?:\d+:)?\d\d:\d\d[.,]\d{3} --> ", re.MULTILINE)
_FEWEST_MARKS = 3
_ENDINGS = re.compile(r"\.(txt|jsonl|json|csv|xml)(\.gz)?$", re.IGNORECASE)


class Record(Protocol):
    """What is read from a corpus and has an id of its own."""

    @property
    def id(self) -> str:
        """Of the record."""


R = TypeVar("R", bound=Record)
Reader = Callable[[Path], Iterator[tuple[str, R]]]
"""Reads the records of a file, each with its place."""


def _id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError("must be text or a number")
    return str(value).strip()


Id = Annotated[str, BeforeValidator(_id)]
"""The name of a record: text, or a number."""
Title = Annotated[
    str, BeforeValidator(lambda value: str(value).strip() if isinstance(value, str | int) else "")
]
"""Text without white space around it; empty for what is no text."""
ROW_REMEDY = "correct the row, or remove it"


class SourceRow(Checked):
    """A row of a source: fields that no reader needs are let through, and null means that a field is missing."""

    model_config = ConfigDict(extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        return {name: value for name, value in row.items() if value is not None}

    def record(self) -> Any:
        """Return what a reader makes of the row."""
        return self


def kind_of(path: Path) -> str:
    """``txt``, ``jsonl``, ``json``, ``csv``, ``xml``, or empty for other files.

    >>> kind_of(Path("a.jsonl.gz")), kind_of(Path("a.xml"))
    ('jsonl', 'xml')
    """
    match = _ENDINGS.search(path.name)
    return match[1].lower() if match else ""


def stem_of(path: Path) -> str:
    """Return the name of a file without its endings."""
    return _ENDINGS.sub("", path.name)


def data_files(path: Path, *kinds: str) -> list[Path]:
    """Return the files of some kinds that a path names: itself, or all in the folder and one level below, by name.

    Raises:
        InputError: the path is not there.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder; correct the path")
    if path.is_file():
        return [path] if kind_of(path) in kinds else []
    found = [*path.glob("*"), *path.glob("*/*")]
    return sorted(
        file
        for file in found
        if file.is_file()
        and kind_of(file) in kinds
        and not file.name.startswith(".")
        and not file.name.lower().startswith("readme")
    )


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, plain or gzipped.

    Raises:
        InputError: it cannot be read, or is damaged, while it is open.
    """
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[misc]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the compressed file is cut off or damaged ({error}); fetch it again"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error


def _binary(path: Path) -> InputError:
    return InputError(f"{path}: no text but a binary file; give plain text in UTF-8 or ISO-8859-1")


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text, one in memory at a time, in UTF-8, or in ISO-8859-1 from the first line on that is no UTF-8."""
    encoding = "utf-8-sig"
    with _opened(path) as file:
        for data in file:
            try:
                line = data.decode(encoding)
            except UnicodeDecodeError:
                encoding = "iso-8859-1"
                line = data.decode(encoding)
            encoding = encoding.removesuffix("-sig")
            if "\x00" in line:
                raise _binary(path)
            yield from line.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8 or ISO-8859-1, plain or gzipped, with ``\\n`` as line end.

    Raises:
        InputError: cannot be read, or is damaged.
    """
    with _opened(path) as file:
        data = file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")
    if "\x00" in text or len(data) - len(data.translate(None, _CONTROL)) > _MOST_CONTROL * len(text):
        raise _binary(path)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_plain(path: Path) -> str:
    """Return :func:`read_text`, refusing marked-up text, whose marks would stay in the cases.

    Raises:
        InputError: cannot be read, is HTML, or captions with their times.
    """
    text = read_text(path)
    for marks, form in ((_CLOSED, "HTML"), (_CAPTION, "captions with times")):
        if len(marks.findall(text, 0, 100_000)) >= _FEWEST_MARKS:
            raise InputError(f"{path}: is {form}, so that its marks would stay. Give plain text.")
    return text


def read_rows(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, each with its place (``FILE, line 3``), a line in memory at a time.

    Args:
        path: of the file.
        what: one object of it, for messages, e.g. ``a debate``.

    Raises:
        InputError: a line that is no JSON object.
    """
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            row = loads(line)
            if "\\ud" in line or "\\uD" in line:
                # Half a surrogate pair has no bytes; it becomes a question mark.
                row = loads(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        except ValueError as error:
            raise InputError(f"{place}: no JSON ({error}); write {what} as one JSON object a line") from error
        if not isinstance(row, dict):
            raise InputError(
                f"{place}: a {type(row).__name__} instead of an object; write {what} as one JSON object a line"
            )
        yield place, row


def read_checked(path: Path, kind: type[SourceRow], what: str) -> Iterator[tuple[str, Any]]:
    """Yield the record of each row of a JSON Lines file, with its place; ``kind`` checks the row and makes the record.

    Raises:
        InputError: a row of another form.
    """
    for place, row in read_rows(path, what):
        yield place, validated(kind, row, place, remedy=ROW_REMEDY).record()


def read_records(path: Path, readers: Mapping[str, Reader[R]], nothing: str) -> Iterator[tuple[str, R]]:
    """Yield the records of all files at a path, each with its place, one file in memory at a time.

    Args:
        path: a file, or a folder as for :func:`data_files`.
        readers: kind of file to what reads such a file.
        nothing: what to say where there is no record, after the path.

    Raises:
        InputError: no record, or two of one id.
    """
    found = (pair for file in data_files(path, *readers) for pair in readers[kind_of(file)](file))
    return unique(found, f"{path}: {nothing}")


def unique(records: Iterable[tuple[str, R]], nothing: str) -> Iterator[tuple[str, R]]:
    """Yield records with their places, each id once.

    Raises:
        InputError: no record (``nothing``), or two of one id.
    """
    seen: dict[str, str] = {}
    for place, record in records:
        if record.id in seen:
            raise InputError(f"{place}: the id {record.id!r} is also that of {seen[record.id]}; rename one")
        seen[record.id] = place
        yield place, record
    if not seen:
        raise InputError(nothing)
