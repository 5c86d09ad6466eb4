"""Files that are there whole or not at all; the one reader of JSON, JSON Lines and YAML, with its limits; and the error of bad input."""

import errno
import gzip
import importlib.resources
import json
import math
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

DEEPEST = 100
"""Levels of lists and mappings in a file; what reads further takes as many calls."""
MOST_VALUES = 4_000_000
"""Lists, mappings and members of both in a JSON text; each takes some 200 bytes of memory at most."""
MOST_DIGITS = 300
"""Digits of a number; the largest float has 309."""
LONGEST_ROW = 64 << 20
"""Bytes of a row of JSON Lines, unpacked."""
MOST_BYTES = 4 << 30
"""Bytes of a JSON file that is read at once."""
LONGEST_YAML, MOST_NODES = 1 << 20, 100_000
"""Characters of a YAML text, and values in it where aliases are written out."""


DISK_FAULTS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO))
"""Errors of a disk, which any writing may meet."""


class InputError(ValueError):
    """Bad input from outside: a file, an option, a missing data set.

    The message names the file, the line or row where there is one, and the remedy. The command line prints it
    without a traceback; hosts show it as the cause of a failed task. What it quotes may come from anybody and ends in a terminal, so
    it is :func:`visible`.
    """

    def __str__(self) -> str:
        """Return the message."""
        return visible(super().__str__())


_COMMANDS_OF_TERMINALS = (
    *range(9),
    *range(11, 32),
    *range(127, 160),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
_SHOWN_AS = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _COMMANDS_OF_TERMINALS}


def visible(text: str) -> str:
    """Return a text with escapes in place of what a terminal would obey: control characters, and marks that turn the direction.

    >>> print(visible("a\\x1b[31mb"))
    a\\x1b[31mb
    """
    return text.translate(_SHOWN_AS)


def write_whole(
    path: Path, content: bytes | str | Iterable[str], *, remedy: str = "choose another place"
) -> None:
    """Write a file beside its place, then move it there.

    Args:
        path: of the file; its folder is there.
        content: bytes; or text, whole or in pieces, as UTF-8. Half of a surrogate pair, which a model's response may hold, is
            written as an escape.
        remedy: what to do where it cannot be written.

    Raises:
        InputError: the file cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    pieces: Iterable[bytes | str] = [content] if isinstance(content, bytes | str) else content
    try:
        with part.open("wb") as file:
            for piece in pieces:
                file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace"))
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); {remedy}") from error
    finally:
        with suppress(OSError):  # it was moved, or not even made
            part.unlink()


def aside(folder: Path) -> Path:
    """Return the place where an old folder waits while a new one takes its place."""
    return folder.with_name(f".{folder.name}.old")


def bring_back(folder: Path) -> None:
    """Put an old folder back where a writer was killed after it had moved that aside."""
    if not folder.exists() and aside(folder).is_dir():
        aside(folder).replace(folder)


def put_in_place(part: Path, folder: Path) -> None:
    """Move a finished folder to its place. An older one, which cannot be replaced in one step, steps aside before and is removed."""
    if folder.exists():
        shutil.rmtree(aside(folder), ignore_errors=True)
        folder.replace(aside(folder))
    part.replace(folder)
    shutil.rmtree(aside(folder), ignore_errors=True)


@contextmanager
def whole_folder(folder: Path, *, remedy: str = "choose another place") -> Iterator[Path]:
    """Give a new folder to write into, which takes the place of ``folder`` when all went well and leaves no trace otherwise.

    Raises:
        InputError: it cannot be written.
    """
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        put_in_place(part, folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error}); {remedy}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def make_folder(folder: Path, *, remedy: str) -> None:
    """Make a folder, and those above it, where it is missing.

    Raises:
        InputError: the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror or error}); {remedy}") from error


def write_json(path: Path, content: Any, *, remedy: str = "choose another place") -> None:
    """Write a value as indented JSON, whole or not at all; ``null`` for numbers that are not finite.

    Raises:
        InputError: the file cannot be written.
    """
    text = json.dumps(json_value(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text, remedy=remedy)


def read_json(path: Path, expected: str) -> Any:
    """Return what a JSON file holds.

    Args:
        path: of the file, at most :data:`MOST_BYTES` long.
        expected: what it should hold, for messages.

    Raises:
        InputError: the file cannot be read, or is not JSON within the limits of :func:`loads`.
    """
    with _named(path, expected):
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES >> 20} MiB; expected {expected}")
        return loads(path.read_bytes())


def json_rows(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """The values of a JSON Lines file, each with its place for messages (``FILE, row 3``); blank lines are skipped.

    Args:
        path: of the file, gzipped when its name ends in ``.gz``; read line by line.
        expected: what it should hold, for messages.

    Raises:
        InputError: the file cannot be read, or a row is not UTF-8, too long for :func:`lines`, or not JSON within the limits of
            :func:`loads`.
    """
    with _named(path, expected), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        # Lines end as files' do, not as str.splitlines has it: JSON may hold U+2028.
        for number, line in enumerate(lines(file), start=1):
            if not line.strip(b"\xef\xbb\xbf \t\r\n"):
                continue
            place = f"{path}, row {number}"
            try:
                row = loads(line)
            except UnicodeDecodeError as error:
                raise InputError(f"{place}: not UTF-8 ({error.reason}); expected {expected}") from error
            except ValueError as error:
                raise InputError(f"{place}: not JSON ({error}); expected {expected}") from error
            yield place, row


def lines(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends.

    Raises:
        ValueError: a line is longer than :data:`LONGEST_ROW`; names its number.
    """
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_ROW + 1), b""), start=1):
        if len(line) > LONGEST_ROW:
            raise ValueError(f"line {number} is longer than {LONGEST_ROW >> 20} MiB")
        yield line


@contextmanager
def _named(path: Path, expected: str) -> Iterator[None]:
    """Name the file in errors of reading it."""
    try:
        yield
    except InputError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); expected {expected}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason}); expected {expected}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); expected {expected}") from error


def read_yaml(path: Path, what: str, *, remedy: str) -> Any:
    """Return what a YAML file holds. Messages do not repeat its text, which may hold a key.

    Args:
        path: of the file.
        what: begins messages: ``judge file``.
        remedy: what to write instead.

    Raises:
        InputError: the file cannot be read, or is not YAML within the limits of :func:`yaml_value`; names the line.
    """
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_YAML + 1).decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{what} {path}: there is no such file; {remedy}") from None
    except UnicodeDecodeError:
        raise InputError(f"{what} {path}: not UTF-8; {remedy}") from None
    except OSError as error:
        raise InputError(f"{what} {path}: cannot be read ({error.strerror or error}); {remedy}") from None
    return yaml_value(text, f"{what} {path}", remedy=remedy)


def yaml_value(text: str, place: str, *, remedy: str) -> Any:
    """Return what a YAML text holds: at most :data:`LONGEST_YAML` characters, :data:`DEEPEST` levels and, with each alias written out, :data:`MOST_NODES` values.

    Args:
        text: of the document.
        place: begins messages.
        remedy: ends them.

    Raises:
        InputError: not YAML, or beyond the limits; names the line and repeats no text.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if len(text) > LONGEST_YAML:
            raise ValueError(f"longer than {LONGEST_YAML >> 20} MiB")
        _weigh(yaml.parse(text, Loader=loader))
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{place}{line}: not YAML; {remedy}") from None
    except ValueError as error:
        # A limit of ours; or the library's own, such as that of a date with a month 13.
        raise InputError(f"{place}: not YAML ({error}); {remedy}") from None
    except (LookupError, AttributeError, TypeError, OverflowError, RecursionError):
        # The library's answer to a value that does not fit its tag: `!!int ""`, `!!timestamp x`.
        raise InputError(f"{place}: not YAML; {remedy}") from None


def _weigh(events: Iterable[Any]) -> None:
    """Refuse a YAML document that is nested too deeply, contains itself, holds a number of too many digits, or grows too much when aliases are written out."""
    from yaml import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent

    weights: dict[str, int] = {}
    size = 0
    opened: list[tuple[str | None, int]] = []
    for event in events:
        if isinstance(event, CollectionStartEvent):
            opened.append((event.anchor, size))
            if len(opened) > DEEPEST:
                raise ValueError(f"nested deeper than {DEEPEST} levels")
            size += 1
        elif isinstance(event, CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor:
                weights[anchor] = size - before
        elif isinstance(event, ScalarEvent):
            size += 1
            if event.anchor:
                weights[event.anchor] = 1
            # Also digits with underscores and colons, which YAML takes for one number.
            if (
                len(event.value) > MOST_DIGITS
                and event.value.lstrip("+-")[:1].isdigit()
                and event.implicit[0]
            ):
                raise ValueError(f"holds a number of more than {MOST_DIGITS} digits; write it in quotes")
        elif isinstance(event, AliasEvent):
            if event.anchor in (anchor for anchor, _ in opened):
                raise ValueError("a value contains itself")
            size += weights.get(str(event.anchor), 1)
        if size > MOST_NODES:
            raise ValueError(f"holds more than {MOST_NODES} values, aliases written out")


@cache
def packaged_text(package: str, *path: str) -> str:
    """Return the text of a file that a package brings, such as a prompt, to the byte."""
    return importlib.resources.files(package).joinpath(*path).read_bytes().decode("utf-8")


def packaged_yaml(package: str, name: str) -> Any:
    """Return what a YAML file holds that a package brings."""
    return yaml_value(packaged_text(package, name), name, remedy="install the package again")


def json_value(value: Any) -> Any:
    """A value with ``null`` for what is not a finite number, which JSON has no word for, and text as keys.

    >>> json_value({1: [float("nan"), 2.0]})
    {'1': [None, 2.0]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# The extra ``report`` brings orjson, which reads the hosts' files faster.
try:
    from orjson import loads as _fast
except ImportError:  # pragma: no cover - the standard library reads the same, some times slower
    _fast = None  # type: ignore[assignment]


def shallow(events: Iterator[tuple[str, Any]], deepest: int = DEEPEST) -> Iterator[tuple[str, Any]]:
    """Yield the events of a JSON parser; too many levels are a ValueError, before reading them takes hours or gigabytes."""
    depth = 0
    for event, value in events:
        depth += event.startswith("start_") - event.startswith("end_")
        if depth > deepest:
            raise ValueError(f"more than {deepest} values inside one another")
        yield event, value


def loads(data: bytes | str) -> Any:
    """Return a value from JSON; also with NaN and halves of surrogate pairs, which Python's own writer lets through.

    >>> loads(b'[1, "x"]'), loads(b'"\\ud800"')
    ([1, 'x'], '\\ud800')

    Raises:
        ValueError: not JSON; nested deeper than :data:`DEEPEST`, more than :data:`MOST_VALUES` values, or a number of more than
            :data:`MOST_DIGITS` digits. UnicodeDecodeError, which is one: not UTF-8.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    opened = raw.count(b"[") + raw.count(b"{")
    # Brackets and commas in texts count too: what seems too much is counted again without them.
    if opened + raw.count(b",") > MOST_VALUES:
        bare = _TEXT.sub(b"", raw)
        if sum(map(bare.count, (b"[", b"{", b","))) > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES} values")
    try:
        value = _parsed(data, raw.translate(_ONLY_DIGITS))
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    if opened > DEEPEST:
        level = [value]
        for _ in range(DEEPEST):
            inner = (
                value.values() if isinstance(value, dict) else value
                for value in level
                if isinstance(value, dict | list)
            )
            level = [each for values in inner for each in values if isinstance(each, dict | list)]
        if level:
            raise ValueError(f"nested deeper than {DEEPEST} levels")
    return value


def _parsed(data: bytes | str, digits: bytes) -> Any:
    # The fast parser makes inexact numbers of integers beyond 64 bits.
    if _fast is not None and b"0" * 19 not in digits:
        try:
            return _fast(data)
        except ValueError:
            pass  # NaN, say: the standard library decides
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    # The check of every number is slow, and mostly not needed.
    return (_CHECKED if b"0" * (MOST_DIGITS + 1) in digits else _PLAIN).decode(text)


def _whole(text: str) -> int:
    return int(_short(text))


def _short(text: str) -> str:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of more than {MOST_DIGITS} digits")
    return text


_PLAIN = json.JSONDecoder()
_CHECKED = json.JSONDecoder(parse_int=_whole, parse_float=lambda text: float(_short(text)))
_ONLY_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
