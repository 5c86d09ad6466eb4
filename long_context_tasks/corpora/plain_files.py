"""Text, JSON and JSON Lines files of raw sources, plain or gzipped, with errors that name file and row.

All of them go through one rule for encodings, :func:`encoding_of`.
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections import Counter
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
_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE = 0.2
"""Share of NUL bytes from which a file is text with two or four bytes for each character."""
UTF8, _WESTERN, _LATIN = "UTF-8", "Windows-1252", "ISO-8859-1"
_MIXED = "UTF-8 with some bytes in Windows-1252"
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = bytes(range(0x80, 0x100))
_HIGH_CONTROLS = bytes(range(0x80, 0xA0))
_ACCENTED = bytes({*range(0xC0, 0x100)} - {0xD7, 0xF7})
_LETTERS = _ACCENTED + b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MOST_ACCENTED = 0.4
"""Share of letters with accents in western Europe, at most; in one-byte Cyrillic nearly all letters are in their place."""
# What Windows-1252 does not have, or not inside a word, where other code pages have letters or quotation marks.
_FOREIGN = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]|(?<=[a-z])[\x8a\x8c\x8e\x9f\xc0-\xd6\xd8-\xde]"
    rb"|(?<=[A-Za-z\xc0-\xff])[\x80\x82\x84\x86-\x89\x8b\x98\x99\x9b\xa1-\xa9\xac\xae-\xb3\xb5\xb6\xb8\xb9\xbc-\xbf](?=[A-Za-z\xc0-\xff])"
)
_FEWEST_FOREIGN, _MOST_FOREIGN = 3, 0.03
_C1 = re.compile("[\x80-\x9f]")
_C1_MEANS = {code: bytes([code]).decode("cp1252", "replace") for code in _HIGH_CONTROLS}
_ESCAPED_C1 = re.compile(r"\\u00[89]", re.IGNORECASE)
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


def _in_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("windows-1252", _in_windows_1252)


def _encoding(path: Path, file: IO[bytes]) -> str:
    """Return the encoding of an open file, see :func:`encoding_of`; the file is at its beginning again."""
    refuse_wide(path, file.read(1 << 16))
    file.seek(0)
    found = _named_encoding(path, file)
    file.seek(0)
    return found


def refuse_wide(path: Path, start: bytes) -> None:
    """Refuse a file whose first bytes are UTF-16, UTF-32 or binary.

    Raises:
        InputError: they are.
    """
    nul = start.count(0)
    if start.startswith(_BOMS) or nul > _WIDE * len(start):
        raise InputError(f"{path}: is text in UTF-16 or UTF-32; save it in UTF-8")
    if nul:
        raise _binary(path)


def _named_encoding(path: Path, file: IO[bytes]) -> str:
    for line in file:
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            break
    else:
        return UTF8
    file.seek(0)
    counts: Counter[str] = Counter()
    for line in file:
        counts["letters"] += len(line) - len(line.translate(None, _LETTERS))
        if line.isascii():
            continue
        counts["accented"] += len(line) - len(line.translate(None, _ACCENTED))
        counts["controls"] += len(line) - len(line.translate(None, _HIGH_CONTROLS))
        counts["high"] += len(line) - len(line.translate(None, _HIGH))
        counts["foreign"] += len(_FOREIGN.findall(line))
        sequences = _UTF8.findall(line)
        counts["sequences"] += len(sequences)
        counts["in sequences"] += sum(map(len, sequences))
    if counts["sequences"] > counts["high"] - counts["in sequences"]:
        return _MIXED
    if counts["accented"] > _MOST_ACCENTED * counts["letters"] or (
        counts["foreign"] >= max(_FEWEST_FOREIGN, _MOST_FOREIGN * counts["high"])
    ):
        raise InputError(
            f"{path}: is neither UTF-8 nor Windows-1252, but another code page, such as one of DOS, the Mac or Cyrillic; save it in UTF-8"
        )
    return _WESTERN if counts["controls"] else _LATIN


def _decoded(data: bytes, encoding: str) -> str:
    """Return a text, or a line of one, without control characters from 0x80 to 0x9F."""
    if encoding in (_WESTERN, _LATIN):
        return data.decode("cp1252", "replace")
    return without_c1(data.decode("utf-8", "windows-1252"))


def without_c1(text: str) -> str:
    r"""Return a text with the characters that Windows-1252 has in place of the control characters from 0x80 to 0x9F.

    They come from text in Windows-1252 that was read as ISO-8859-1. A code without a meaning becomes the replacement character.

    >>> without_c1("\x93Yes\x94")
    '“Yes”'
    """
    return text.translate(_C1_MEANS) if _C1.search(text) else text


def encoding_of(path: Path) -> str:
    """Return the encoding in which a file, plain or gzipped, is read.

    It is UTF-8 if all bytes are valid; UTF-8 with the invalid bytes in Windows-1252 if there are fewer of them than of valid
    sequences; else Windows-1252, which is called ISO-8859-1 if no byte tells the two apart.

    Raises:
        InputError: it cannot be read, or is UTF-16, UTF-32, another code page or binary.
    """
    with _opened(path) as file:
        return _encoding(path, file)


def encodings_of(path: Path) -> dict[str, str]:
    """Return the encodings of all texts that a path names, see :func:`data_files`, by the name of the file below the path."""
    files = data_files(path, "txt", "jsonl", "json", "csv", "xml")
    return {
        file.name if file == path else file.relative_to(path).as_posix(): encoding_of(file) for file in files
    }


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text, one in memory at a time."""
    with _opened(path) as file:
        encoding = _encoding(path, file)
        for number, data in enumerate(file):
            line = _decoded(data.removeprefix(b"" if number else codecs.BOM_UTF8), encoding)
            if "\x00" in line:
                raise _binary(path)
            yield from line.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _binary(path: Path) -> InputError:
    return InputError(f"{path}: is a binary file; give plain text in UTF-8 or Windows-1252")


def read_text(path: Path) -> str:
    """Return the text of a file, plain or gzipped, with ``\\n`` as line end; for its encoding see :func:`encoding_of`.

    Raises:
        InputError: cannot be read, or is damaged.
    """
    with _opened(path) as file:
        data = file.read()
    text = _decoded(data.removeprefix(codecs.BOM_UTF8), _encoding(path, io.BytesIO(data)))
    if "\x00" in text or len(data) - len(data.translate(None, _CONTROL)) > _MOST_CONTROL * len(text):
        raise _binary(path)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_value(path: Path, what: str) -> Any:
    """Return the value of a JSON file.

    Args:
        path: of the file.
        what: is expected, for messages, e.g. ``a record of MS^2``.

    Raises:
        InputError: cannot be read, or is not JSON.
    """
    try:
        return _value(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); give {what}") from error


def _value(text: str) -> Any:
    """Return the value of JSON text, without halves of surrogate pairs and control characters that were written as escapes."""
    value = loads(text)
    if "\\ud" in text or "\\uD" in text or _ESCAPED_C1.search(text):
        # Half a surrogate pair has no bytes; it becomes a question mark.
        plain = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
        value = loads(without_c1(plain))
    return value


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
            row = _value(line)
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
