"""Every answered call on disk, one JSON line each, so that a killed run goes on where it stopped.

Lines are only ever appended, whole and under a lock between processes. A reply is handed to the operating system before its
call counts as done, so that a killed process loses only calls in flight, and synchronised with the disk soon after. A process
that is killed while it writes leaves at most a broken line; readers skip and count it, the next writer begins a new line.

Lines, not SQLite as for token counts, which can be counted again: an append takes 0.02 ms, a safe commit 0.7 ms of every call; the
write-ahead log, which is as fast, does not work on the network file systems of clusters; a damaged line costs one reply, a damaged
page a database; and a person can read, cut and join these files with common tools.

The file holds replies, no prompts (those only as part of the key's hash), no addresses and no keys.
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
    """Return the default place of a judge's replies: in the user's cache, as they may quote gold answers."""
    return cache_dir() / "judges" / f"{config.name}.jsonl"


class Store:
    """An append-only file of replies by key; several threads and processes may use one file at the same time.

    Attributes:
        path: of the file.
        damaged: numbers of the lines that could not be read so far; they stay in the file, and count for nothing.
    """

    def __init__(self, path: Path) -> None:
        """Open a store and read what it holds; a missing file is made.

        Raises:
            InputError: the place cannot be read or written.
        """
        self.path = path
        self.damaged: list[int] = []
        self._replies: dict[str, Reply] = {}
        self._read_to = self._lines = 0
        self._claims: int | None = None
        # Reading must not wait for the disk while another thread writes: the event loop reads.
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        with self._named_failures():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Under the lock no process is in the middle of a line: an unfinished line was left by a process that died.
            with self._locked() as file:
                self._refresh()
                unfinished = os.fstat(file).st_size > self._read_to
        numbers = [*self.damaged, *([self._lines + 1] if unfinished else ())]
        if numbers:
            shown = ", ".join(map(str, numbers[:_SHOWN])) + (", ..." if len(numbers) > _SHOWN else "")
            text = "%s: %d damaged line(s) passed over (line %s), as a killed run leaves them; these calls are made again"
            _LOG.warning(text, path, len(numbers), shown)

    def __len__(self) -> int:
        """Number of replies."""
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """Return the stored reply to a call, also of another process."""
        if key not in self._replies:
            with self._named_failures():
                self._refresh()
        return self._replies.get(key)

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        """Keep other processes from making a call; whether it may be made, as no other process makes it now.

        The claim ends with the block or the process. Where files cannot be locked, every call may be made.
        """
        # Not in the file of replies: closing that one would end the claims of this process.
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
        """Store replies. When this returns, the death of the process cannot lose them; nor, with ``sync``, that of the machine.

        A key that is there already keeps its first reply.

        Args:
            rows: key and reply.
            sync: wait for the disk; without it :meth:`sync` does that later, for many replies at once.

        Raises:
            InputError: the file cannot be written (no space, no permission).
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
        """Wait until all that was appended is on the disk.

        Raises:
            InputError: the disk fails.
        """
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
                f"store of judge replies {self.path}: cannot be used ({reason}); free some space or name another file"
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The open file, locked against other processes until the block or this process ends."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _write(self, file: int, replies: dict[str, Reply]) -> None:
        """Append whole lines; an unfinished line at the end of the file is closed first."""
        text = "".join(map(_line, replies, replies.values()))
        size = os.fstat(file).st_size
        # What was read ends with a whole line; what follows it, now that no other process writes, was broken off.
        unfinished = size != self._read_to
        data = memoryview((("\n" if unfinished else "") + text).encode("ascii"))
        while data:
            data = data[os.write(file, data) :]
        with self._reading:
            if self._read_to == size:
                # Nothing to read again, then; otherwise the next reading meets these lines and the broken line.
                self._replies.update(replies)
                self._read_to += len(text)
                self._lines += len(replies)

    def _refresh(self) -> None:
        """Read the whole lines that were added since the last time."""
        with self._reading:
            try:
                size = self.path.stat().st_size
            except FileNotFoundError:
                size = 0
            if size < self._read_to:
                # Somebody cut or removed the file; what was read stays known.
                self._read_to = self._lines = 0
                self.damaged.clear()
            if size == self._read_to:
                return
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            # Not splitlines, which ends lines at other bytes too.
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


def _line(key: str, reply: Reply) -> str:
    row = {"key": key, "reply": reply.text} | {name: getattr(reply, name) for name in _FIELDS}
    if reply.top_logprobs is not None:
        row["top_logprobs"] = reply.top_logprobs
    if reply.thinking:
        row["thinking"] = reply.thinking
    return json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n"


def _row(line: bytes) -> tuple[str, Reply]:
    row = loads(line)
    top = row.get("top_logprobs")
    likely = None
    if top is not None:
        likely = tuple((str(token), None if value is None else float(value)) for token, value in top)
    key, text, *tokens, reason = (row[name] for name in ("key", "reply", *_FIELDS))
    thinking = row.get("thinking", "")
    if not all(isinstance(value, str) for value in (key, text, thinking, reason or "")):
        raise TypeError("a field is no text")
    if not all(number is None or type(number) is int for number in tokens):
        raise TypeError("a number of tokens is none")
    return key, Reply(text, tokens[0], tokens[1], reason, likely, thinking)
