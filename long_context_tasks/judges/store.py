"""On-disk store of a judge's replies, one JSON line each, so that a killed run can resume.

Whole lines are appended under an inter-process lock. A reply is written to the operating system before its
call counts as done, so a killed process loses only calls in flight; the disk is synced soon after. A process
killed while writing leaves at most one incomplete line, which readers skip and count; the next writer starts
a new line.

The format is JSON Lines instead of SQLite because a reply costs money. An append takes 0.02 ms, a safe commit
0.7 ms, and SQLite's equally fast write-ahead log does not work on cluster network file systems. A damaged
line loses one reply, a damaged page a database. Common tools can read, split and join the files.

The file contains replies, but no URLs, API keys or prompts (only their hash in a reply's key).
"""

import errno
import fcntl
import json
import logging
import os
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.options import cache_dir

_LOG = logging.getLogger(__name__)
_SHOWN = 10


def default_store_path(config: JudgeConfig) -> Path:
    """Return a judge's default store path, in the user's cache because replies may quote gold answers."""
    return cache_dir() / "judges" / f"{config.name}.jsonl"


class Store:
    """An append-only file of replies by key, safe for concurrent threads and processes."""

    def __init__(self, path: Path) -> None:
        """Open a store and read its replies; create a missing file."""
        self.path = path
        self.damaged: list[int] = []  # numbers of unreadable lines, which stay in the file
        self._replies: dict[str, Reply] = {}
        self._read_to = self._lines = 0
        self._claims: int | None = None
        # A separate lock, because the event loop reads and must not wait for another thread's disk write.
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        with self._named_failures():
            path.parent.mkdir(parents=True, exist_ok=True)
            # No process can write while this one holds the lock, so an unfinished line was left by a dead
            # process.
            with self._locked() as file:
                self._refresh()
                unfinished = os.fstat(file).st_size > self._read_to
        numbers = [*self.damaged, *([self._lines + 1] if unfinished else ())]
        if numbers:
            shown = ", ".join(map(str, numbers[:_SHOWN])) + (", ..." if len(numbers) > _SHOWN else "")
            text = "%s: skipped %d damaged line(s) (line %s), probably left by a killed run; these calls are made again"
            _LOG.warning(text, path, len(numbers), shown)

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """Return the stored reply to a call, including other processes' replies, or None."""
        if key not in self._replies:
            with self._named_failures():
                self._refresh()
        return self._replies.get(key)

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Claim a call against other processes; yield whether this process may make it.

        The claim ends with the block or the process. If the file system has no locks, every process may make
        the call.
        """
        # A separate file, because closing any handle of a file releases this process's locks on it.
        place = zlib.crc32(key.encode())
        try:
            if self._claims is None:
                path = self.path.with_name(f".{self.path.name}.claims")
                self._claims = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                weakref.finalize(self, os.close, self._claims)
            fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            yield error.errno not in (errno.EAGAIN, errno.EACCES)
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, place)

    def append(self, rows: Iterable[tuple[str, Reply]], *, sync: bool = True) -> None:
        """Store replies by key; if a key already exists, its first reply is kept.

        Replies survive a process crash and, with ``sync``, a machine crash. Syncing is slow, so it can be
        done later for many replies with :meth:`sync`.
        """
        with self._named_failures(), self._writing, self._locked() as file:
            self._refresh()
            new: dict[str, Reply] = {}
            for key, reply in rows:
                if key not in self._replies:
                    new.setdefault(key, reply)
            if new:
                self._write(file, new)
        if sync:
            self.sync()

    def sync(self) -> None:
        """Wait until all appended replies are on disk."""
        with self._named_failures():
            if self.path.exists():
                file = os.open(self.path, os.O_RDWR)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(
                f"store of judge replies {self.path}: {reason}; free some space or name another file"
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Yield the open file, locked against other processes until the block or this process ends."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _write(self, file: int, replies: dict[str, Reply]) -> None:
        """Append whole lines, after a line break if the file ends in an unfinished line."""
        text = "".join(map(_line, replies, replies.values()))
        size = os.fstat(file).st_size
        # Reading stops after the last whole line, and no other process can write now, so anything after it is
        # an unfinished line.
        unfinished = size != self._read_to
        data = memoryview((("\n" if unfinished else "") + text).encode("ascii"))
        while data:
            data = data[os.write(file, data) :]
        with self._reading:
            if self._read_to == size:
                # Only this process has written, so these lines need not be read. Otherwise _refresh reads
                # them and skips the unfinished line.
                self._replies.update(replies)
                self._read_to += len(text)
                self._lines += len(replies)

    def _refresh(self) -> None:
        """Read the whole lines added since the last call."""
        with self._reading:
            try:
                size = self.path.stat().st_size
            except FileNotFoundError:
                size = 0
            if size < self._read_to:
                # The file was truncated or removed; replies already read are kept.
                self._read_to = self._lines = 0
                self.damaged.clear()
            if size == self._read_to:
                return
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            # Not splitlines, which also splits at other characters.
            for number, line in enumerate(whole.split(b"\n"), start=self._lines + 1):
                if not line.strip():
                    continue
                try:
                    key, reply = _row(line)
                except (ValueError, LookupError, TypeError, AttributeError):
                    self.damaged.append(number)
                else:
                    self._replies.setdefault(key, reply)
            self._read_to += len(whole)
            self._lines += whole.count(b"\n")


_FIELDS = ("prompt_tokens", "completion_tokens", "finish_reason")
_SELDOM = ("thinking", "served")  # texts that are written only if there are any


def _line(key: str, reply: Reply) -> str:
    row = {"key": key, "reply": reply.text} | {name: getattr(reply, name) for name in _FIELDS}
    if reply.top_logprobs is not None:
        row["top_logprobs"] = reply.top_logprobs
    row |= {name: value for name in _SELDOM if (value := getattr(reply, name))}
    return json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n"


def _row(line: bytes) -> tuple[str, Reply]:
    row = loads(line)
    top = row.get("top_logprobs")
    likely = None
    if top is not None:
        likely = tuple((str(token), None if value is None else float(value)) for token, value in top)
    key, text, *tokens, reason = (row[name] for name in ("key", "reply", *_FIELDS))
    thinking, served = (row.get(name, "") for name in _SELDOM)
    if not all(isinstance(value, str) for value in (key, text, thinking, served, reason or "")):
        raise TypeError("a field is not text")
    if not all(number is None or type(number) is int for number in tokens):
        raise TypeError("a number of tokens is not a whole number")
    return key, Reply(text, tokens[0], tokens[1], reason, likely, thinking, served)
