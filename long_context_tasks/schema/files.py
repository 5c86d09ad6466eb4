"""Files that are there whole or not at all, JSON Lines, values that JSON has words for; and the error of bad input."""

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """Bad input from outside: a file, an option, a missing data set.

    The message names the file, the line or row where there is one, and the remedy. The command line prints it
    without a traceback; hosts show it as the cause of a failed task.
    """


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
        part.unlink(missing_ok=True)


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


def json_rows(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """The values of a JSON Lines file, each with its place for messages (``FILE, row 3``); blank lines are skipped.

    Args:
        path: of the file, gzipped when its name ends in ``.gz``; read line by line.
        expected: what it should hold, for messages.

    Raises:
        InputError: the file cannot be read, or a row is not JSON.
    """
    try:
        # Lines end as files' do, not as str.splitlines has it: JSON may hold U+2028.
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8-sig") as file
        ):
            for number, line in enumerate(file, start=1):
                if line.strip():
                    place = f"{path}, row {number}"
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError) as error:
                        raise InputError(f"{place}: not JSON ({error}); expected {expected}") from error
                    yield place, row
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); expected {expected}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: cannot be read (not UTF-8: {error.reason}); expected {expected}"
        ) from error


def read_yaml(path: Path, what: str, *, remedy: str) -> Any:
    """Return what a YAML file holds. Messages do not repeat its text, which may hold a key.

    Args:
        path: of the file.
        what: begins messages: ``judge file``.
        remedy: what to write instead.

    Raises:
        InputError: the file cannot be read, or is not YAML; names the line.
    """
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{what} {path}: there is no such file; {remedy}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{what} {path}: cannot be read ({type(error).__name__}); {remedy}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{what} {path}{line}: not YAML; {remedy}") from None


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
    from orjson import loads as _strict
except ImportError:  # pragma: no cover - the standard library reads the same, some times slower
    _strict = None  # type: ignore[assignment]


def loads(data: bytes) -> Any:
    """A value from JSON; also with NaN and halves of surrogate pairs, which Python's own writer lets through.

    >>> loads(b'[1, "x"]'), loads(b'"\\\\ud800"')
    ([1, 'x'], '\\ud800')

    Raises:
        ValueError: not JSON, or nested beyond all reason.
    """
    if _strict is not None:
        try:
            return _strict(data)
        except ValueError:
            pass  # NaN, say: the standard library decides
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
