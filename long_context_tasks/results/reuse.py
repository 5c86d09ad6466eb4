"""Keep in the user's cache folder what reports compute from unchanged files.

A key is a hash of everything that a value is computed from, our code included, so that a value is never out of
date; a missing or damaged value is computed again.
"""

import hashlib
import io
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

import long_context_tasks
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema.options import cache_dir

_MOST_BYTES = 1 << 30  # of all values; those not used for the longest time go first
_BUFFER = 8 << 20  # bytes that are written in one transaction
_WAIT = 10.0  # seconds for another process's transaction
_CHECKSUM = 16  # bytes
# Seconds after which a changed file cannot change again within the same tick of its file system's clock.
_SETTLED = 2.0


class Reuse:
    """Values by key in an SQLite file, which several processes may use at a time.

    Without a path, or if the file cannot be used, nothing is kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._new, self._used = path, dict[bytes, bytes](), set[bytes]()
        self._size = 0  # bytes of the new values
        self._hour = int(time.time()) // 3600  # of use; values used in the earliest hours go first
        self._table: sqlite3.Connection | None = None
        if path is None:
            return
        with self._errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._table = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
            # Everything can be computed again, so that a crash of the machine may cost the file.
            self._table.execute("PRAGMA synchronous = OFF")
            self._table.execute(
                "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)"
            )

    @property
    def enabled(self) -> bool:
        return self._table is not None

    def key(self, kind: str, *parts: Any) -> bytes:
        """Return the key of a value of some kind that is computed from JSON values by the present code."""
        text = json.dumps([_code(), kind, *parts], sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    def get(self, key: bytes) -> bytes | None:
        found = self._new.get(key)
        if found is None and self._table is not None:
            with self._errors():
                rows = self._table.execute("SELECT value, used FROM kept WHERE key = ?", (key,)).fetchall()
                found, used = rows[0] if rows else (None, 0)
                if used != self._hour:  # writing it takes as long as writing the value
                    self._used.add(key)
        if not isinstance(found, bytes) or _checksum(value := found[_CHECKSUM:]) != found[:_CHECKSUM]:
            return None
        return value

    def put(self, key: bytes, value: bytes) -> None:
        if self._table is not None:
            self._new[key] = _checksum(value) + value
            self._size += len(value)
            if self._size > _BUFFER:
                self.save()

    def find(self, kind: Any, key: bytes | None) -> Any:
        """Return the kept value of a type that JSON can hold, or None, also if the value cannot be read."""
        found = self.get(key) if key else None
        with suppress(ValidationError):
            return None if found is None else _adapter(kind).validate_json(found)

    def keep(self, kind: Any, key: bytes | None, value: Any) -> None:
        if key:
            # In Python's JSON, because that of Pydantic has null for some NaN.
            self.put(key, json.dumps(_adapter(kind).dump_python(value), default=_plain).encode())

    def digest(self, paths: Sequence[Path], compute: Callable[[Sequence[Path]], str]) -> str:
        """Return what a function computes from the content of files.

        Files are not read again while their time of change, which no program can set back, and the rest of their state stay.

        Raises:
            OSError: a file cannot be read.
        """
        if not self.enabled:
            return compute(paths)
        now, states = time.time(), [state_of(path) for path in paths]
        key = self.key("digest", compute.__name__, [str(path.absolute()) for path in paths], states)
        known = self.get(key)
        if known is not None:
            return known.decode()
        made = compute(paths)
        settled = now - max((changed for *_, changed in states), default=0) / 1e9 > _SETTLED
        if settled and [state_of(path) for path in paths] == states:
            self.put(key, made.encode())
        return made

    def save(self) -> None:
        """Write new values, and remove those that have not been used for the longest time if there are too many."""
        if self._table is not None:
            with self._errors():
                self._write(self._table)
        self._new, self._used, self._size = {}, set(), 0

    def _write(self, table: sqlite3.Connection) -> None:
        table.execute("BEGIN IMMEDIATE")
        table.executemany("UPDATE kept SET used = ? WHERE key = ?", [(self._hour, key) for key in self._used])
        rows = [(key, self._hour, value) for key, value in self._new.items()]
        table.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
        table.execute(
            "DELETE FROM kept WHERE key IN (SELECT key FROM (SELECT key, sum(length(value)) OVER (ORDER BY used DESC, key) AS size"
            " FROM kept) WHERE size > ?)",
            (_MOST_BYTES,),
        )
        table.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            self._table = None
            # A damaged file. It stays if it is only busy or the disk is full: another process may be using it.
            if self._path is not None and type(error) is sqlite3.DatabaseError:
                with suppress(OSError):
                    self._path.unlink()


def kept_reports() -> Reuse:
    return Reuse(cache_dir() / "reports.sqlite")


NO_REUSE = Reuse()


@cache
def _code() -> str:
    """Return a hash that differs between states of our code, of the benchmarks and of the libraries that compute numbers."""
    folders = {Path(long_context_tasks.__file__).parent: None}
    for name in catalogue.benchmark_names():
        module = sys.modules[type(catalogue.benchmark(name)).__module__]
        if module.__file__ and not any(Path(module.__file__).is_relative_to(folder) for folder in folders):
            folders[Path(module.__file__).parent] = None
    libraries = [f"{name} {version(name)}" for name in ("numpy", "polars", "pydantic", "scipy")]
    state = [long_context_tasks.__version__, *libraries, *map(files_in, folders)]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def files_in(folder: Path) -> list[tuple[str, int, int]]:
    """Return path, size and time of change of each file below a folder, which need not exist."""
    return [state for path in sorted(folder.rglob("*")) if (state := file_state(path))]


def file_state(path: Path) -> tuple[str, int, int] | None:
    with suppress(OSError):
        if path.parent.name != "__pycache__" and path.is_file():
            state = path.stat()
            return str(path), state.st_size, state.st_mtime_ns
    return None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _plain(value: Any) -> Any:
    # The order of a set changes from process to process.
    return sorted(value) if isinstance(value, frozenset) else str(value)


def _checksum(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()[:_CHECKSUM]


def frame_bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer, compression="zstd")
    return buffer.getvalue()


def state_of(path: Path) -> tuple[int, ...]:
    """Return numbers that change with a file: device, inode, size in bytes, times of writing and change in nanoseconds."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def whole(paths: Sequence[Path]) -> str:
    """Return hashes of the content of each file."""
    digests = [hashlib.sha256() for _ in paths]
    for path, digest in zip(paths, digests, strict=True):
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return " ".join(digest.hexdigest() for digest in digests)
