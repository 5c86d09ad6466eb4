"""Read raw text, CSV, JSON and JSON Lines files, plain or gzipped, with errors that name file and row.

:func:`encoding_of` states the rule for encodings that all of them share.
"""

import codecs
import errno
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

_LONGEST_TEXT = 1 << 30  # bytes of a text, or of a line, without compression
_CONTROL = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_MOST_CONTROL = 0.001  # share of the characters
_CLOSING_TAG = re.compile(r"</(?:p|h[1-6]|div|body)>", re.IGNORECASE)
_CAPTION_TIME = re.compile(r"^(?:\d+:)?\d\d:\d\d[.,]\d{3} --> ", re.MULTILINE)
_FEWEST_MARKS = 3
_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE = 0.2  # share of NUL bytes from which a file is UTF-16 or UTF-32
UTF8, _WESTERN, _LATIN = "UTF-8", "Windows-1252", "ISO-8859-1"
_MIXED = "UTF-8 with some bytes in Windows-1252"
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH = bytes(range(0x80, 0x100))
_HIGH_CONTROLS = bytes(range(0x80, 0xA0))
_ACCENTED = bytes({*range(0xC0, 0x100)} - {0xD7, 0xF7})
_LETTERS = _ACCENTED + b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Western European text has fewer accents; in one-byte Cyrillic nearly all letters have codes of accented ones.
_MOST_ACCENTED = 0.4
# Other code pages have letters or quotation marks where Windows-1252 has no character, a capital or a mark inside a word.
_UNASSIGNED = rb"[\x81\x8d\x8f\x90\x9d]"
_CAPITAL_INSIDE = rb"(?<=[a-z])[\x8a\x8c\x8e\x9f\xc0-\xd6\xd8-\xde]"
_MARKS = rb"\x80\x82\x84\x86-\x89\x8b\x98\x99\x9b\xa1-\xa9\xac\xae-\xb3\xb5\xb6\xb8\xb9\xbc-\xbf"
_MARK_INSIDE = rb"(?<=[A-Za-z\xc0-\xff])[" + _MARKS + rb"](?=[A-Za-z\xc0-\xff])"
_FOREIGN = re.compile(rb"|".join([_UNASSIGNED, _CAPITAL_INSIDE, _MARK_INSIDE]))
_FEWEST_FOREIGN, _MOST_FOREIGN = 3, 0.03
_C1 = re.compile("[\x80-\x9f]")
_C1_MEANS = {code: bytes([code]).decode("cp1252", "replace") for code in _HIGH_CONTROLS}
_ESCAPED_C1 = re.compile(r"\\u00[89]", re.IGNORECASE)
_ENDINGS = re.compile(r"\.(txt|jsonl|json|csv|xml)(\.gz)?$", re.IGNORECASE)


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_HasId)
# Yields the records of a file, each with its place (file and row) for messages.
Reader = Callable[[Path], Iterator[tuple[str, R]]]


def _id(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError("must be text or a number")
    return str(value).strip()


def _title(value: object) -> str:
    return str(value).strip() if isinstance(value, str | int) else ""


Id = Annotated[str, BeforeValidator(_id)]
Title = Annotated[str, BeforeValidator(_title)]
ROW_REMEDY = "correct the row, or remove it"


class SourceRow(Checked):
    """A row of a source. Unknown fields are ignored, and null means that a field is missing."""

    model_config = ConfigDict(extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        return {name: value for name, value in row.items() if value is not None}

    def record(self) -> Any:
        return self


def kind_of(path: Path) -> str:
    """Return ``txt``, ``jsonl``, ``json``, ``csv``, ``xml``, or an empty string for other files.

    >>> kind_of(Path("a.jsonl.gz")), kind_of(Path("a.xml"))
    ('jsonl', 'xml')
    """
    match = _ENDINGS.search(path.name)
    return match[1].lower() if match else ""


def stem_of(path: Path) -> str:
    """Return the name of a file without its endings."""
    return _ENDINGS.sub("", path.name)


def data_files(path: Path, *kinds: str) -> list[Path]:
    """Return a file itself, or the files of a folder and its subfolders, if they are of one of the kinds; sorted by name."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder; correct the path")
    if path.is_file():
        return [path] if kind_of(path) in kinds else []
    paths = [*path.glob("*"), *path.glob("*/*")]
    return sorted(
        file
        for file in paths
        if file.is_file()
        and kind_of(file) in kinds
        and not file.name.startswith(".")
        and not file.name.lower().startswith("readme")
    )


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain or gzipped file."""
    try:
        # Opening a pipe would wait for ever.
        if path.exists() and not path.is_file() and not path.is_dir():
            raise OSError(errno.EINVAL, "not a regular file")
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[misc]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the compressed file is cut off or damaged ({error}); fetch it again"
        ) from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder; name the file in it") from error
    except MemoryError as error:
        raise InputError(f"{path}: needs more memory than there is; split it") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); check the path") from error


def _in_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("windows-1252", _in_windows_1252)


def refuse_wide(path: Path, start: bytes) -> None:
    """Refuse a file whose first bytes are UTF-16, UTF-32 or binary."""
    nul = start.count(0)
    if start.startswith(_BOMS) or nul > _WIDE * len(start):
        raise InputError(f"{path}: is text in UTF-16 or UTF-32; save it in UTF-8")
    if nul:
        raise _binary(path)


def _binary(path: Path) -> InputError:
    return InputError(f"{path}: is a binary file; give plain text in UTF-8 or Windows-1252")


def _encoding(path: Path, file: IO[bytes]) -> str:
    """Return :func:`encoding_of` an open file, and go back to its beginning."""
    refuse_wide(path, file.read(1 << 16))
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while data := file.read(1 << 20):
            decoder.decode(data)
        decoder.decode(b"", final=True)
        encoding = UTF8
    except UnicodeDecodeError:
        file.seek(0)
        encoding = _one_byte_encoding(path, file)
    file.seek(0)
    return encoding


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file's lines; read_text refuses one that is longer than a text, and unpacked it may not fit into memory."""
    return iter(lambda: file.readline(_LONGEST_TEXT), b"")


def _one_byte_encoding(path: Path, file: IO[bytes]) -> str:
    counts: Counter[str] = Counter()
    for line in _whole_lines(file):
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
    if encoding in (_WESTERN, _LATIN):
        return data.decode("cp1252", "replace")
    return without_c1(data.decode("utf-8", "windows-1252"))


def without_c1(text: str) -> str:
    r"""Replace the control characters from 0x80 to 0x9F by the characters of Windows-1252 with these codes.

    They come from text in Windows-1252 that was read as ISO-8859-1. An unassigned code becomes the replacement character.

    >>> without_c1("\x93Yes\x94")
    '“Yes”'
    """
    return text.translate(_C1_MEANS) if _C1.search(text) else text


def encoding_of(path: Path) -> str:
    """Return the encoding in which a plain or gzipped file is read.

    It is UTF-8 if all bytes are valid; UTF-8 with the invalid bytes in Windows-1252 if there are fewer of them than of valid
    sequences; otherwise Windows-1252, which is reported as ISO-8859-1 if no byte distinguishes the two.
    """
    with opened(path) as file:
        return _encoding(path, file)


def encodings_of(
    path: Path,
    files: Iterable[Path] | None = None,
    mapped: Callable[[Callable[[Path], str], Iterable[Path]], Iterable[str]] = map,
) -> dict[str, str]:
    """Return the encoding of text files at a path, by their names relative to it.

    Args:
        path: of a folder or a file.
        files: files at the path; all (:func:`data_files`) by default.
        mapped: calls a function with each file, perhaps in other processes.
    """
    files = list(data_files(path, "txt", "jsonl", "json", "csv", "xml") if files is None else files)
    names = (file.name if file == path else file.relative_to(path).as_posix() for file in files)
    return dict(zip(names, mapped(encoding_of, files), strict=True))


def read_text(path: Path) -> str:
    """Return the text of a plain or gzipped file with ``\\n`` as line end."""
    pieces, size = [], 0
    with opened(path) as file:
        while piece := file.read(1 << 20):
            pieces.append(piece)
            size += len(piece)
            if size > _LONGEST_TEXT:
                raise InputError(f"{path}: more than {_LONGEST_TEXT >> 20} MiB of text; split it")
    data = b"".join(pieces)
    text = _decoded(data.removeprefix(codecs.BOM_UTF8), _encoding(path, io.BytesIO(data)))
    if "\x00" in text or len(data) - len(data.translate(None, _CONTROL)) > _MOST_CONTROL * len(text):
        raise _binary(path)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_plain(path: Path) -> str:
    """Return :func:`read_text`, but refuse HTML and subtitles, whose tags and times would end up in the cases."""
    text = read_text(path)
    for marks, form in ((_CLOSING_TAG, "HTML"), (_CAPTION_TIME, "captions with times")):
        if len(marks.findall(text, 0, 100_000)) >= _FEWEST_MARKS:
            raise InputError(f"{path}: is {form}, so that its marks would stay. Give plain text.")
    return text


def read_value(path: Path, what: str) -> Any:
    """Return the value of a JSON file; ``what`` is the expected content, for messages, e.g. ``a record of MS^2``."""
    try:
        return _value(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); give {what}") from error


def _value(text: str) -> Any:
    value = loads(text)
    if "\\ud" in text or "\\uD" in text or _ESCAPED_C1.search(text):
        # Escapes can spell control characters and halves of surrogate pairs; a lone half becomes a question mark, as it
        # cannot be written in UTF-8.
        plain = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
        value = loads(without_c1(plain))
    return value


def _lines(path: Path) -> Iterator[str]:
    with opened(path) as file:
        encoding = _encoding(path, file)
        for number, data in enumerate(file):
            line = _decoded(data.removeprefix(b"" if number else codecs.BOM_UTF8), encoding)
            if "\x00" in line:
                raise _binary(path)
            yield from line.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def read_rows(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the location (``FILE, line 3``) and object of each line; ``what`` names an object in messages (``a debate``)."""
    remedy = f"write {what} as one JSON object a line"
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            row = _value(line)
        except ValueError as error:
            raise InputError(f"{place}: not JSON ({error}); {remedy}") from error
        if not isinstance(row, dict):
            raise InputError(f"{place}: a {type(row).__name__} instead of an object; {remedy}")
        yield place, row


def read_checked(path: Path, kind: type[SourceRow], what: str) -> Iterator[tuple[str, Any]]:
    """Yield location and record of each row of a JSON Lines file; ``kind`` checks and builds the record."""
    for place, row in read_rows(path, what):
        yield place, validated(kind, row, place, remedy=ROW_REMEDY).record()


def read_records(path: Path, readers: Mapping[str, Reader[R]], nothing: str) -> Iterator[tuple[str, R]]:
    """Yield the location and record of each row in all files at a path; ``nothing`` ends the error if there are no records."""
    records = (pair for file in data_files(path, *readers) for pair in readers[kind_of(file)](file))
    return unique(records, f"{path}: {nothing}")


def unique(records: Iterable[tuple[str, R]], nothing: str) -> Iterator[tuple[str, R]]:
    seen: dict[str, str] = {}
    for place, record in records:
        if record.id in seen:
            raise InputError(f"{place}: the id {record.id!r} is also that of {seen[record.id]}; rename one")
        seen[record.id] = place
        yield place, record
    if not seen:
        raise InputError(nothing)
