"""One file inside a .7z archive, streamed in constant memory."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import py7zr
from py7zr.io import Py7zIO, WriterFactory

from long_context_tasks.schema import InputError

__all__ = ["read_member"]

# Chunks that wait between the thread that unpacks and the reader: a few, so that memory stays constant.
_WAITING = 8
_CHUNK = 1 << 18


class _Stopped(Exception):
    """The reader went away: stop unpacking."""


class _Pipe(Py7zIO):
    """What py7zr writes the unpacked bytes into: a bounded queue to the reading thread."""

    def __init__(self) -> None:
        self.chunks: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self.stopped = threading.Event()
        self._size = 0

    def write(self, s: bytes | bytearray) -> int:
        self._size += len(s)
        for start in range(0, len(s), _CHUNK):  # py7zr's own pieces are megabytes where a file packs well
            self.put(bytes(s[start : start + _CHUNK]))
        return len(s)

    def put(self, chunk: bytes | None) -> None:
        while True:
            if self.stopped.is_set():
                raise _Stopped
            try:
                self.chunks.put(chunk, timeout=0.2)
            except queue.Full:
                continue
            return

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        return

    def size(self) -> int:
        return self._size


class _Factory(WriterFactory):
    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    def create(self, filename: str) -> Py7zIO:
        return self._pipe


def read_member(path: Path, member: str) -> Iterator[bytes]:
    """Yield the content of the file called ``member`` inside the archive, in chunks.

    py7zr pushes and readers pull, so the unpacking runs in a thread of its own, at most a few chunks ahead. A reader
    that stops early stops the thread.

    Raises:
        InputError: The archive is damaged or holds no such file.
        OSError: The file cannot be read.
    """
    pipe = _Pipe()
    failures: list[Exception] = []

    def unpack() -> None:
        try:
            with py7zr.SevenZipFile(path) as archive:
                names = archive.getnames()
                wanted = [name for name in names if PurePosixPath(name).name == member]
                if not wanted:
                    shown = ", ".join(sorted(names)[:8]) or "nothing"
                    raise InputError(
                        f"{path}: the archive holds no {member} (it holds {shown}). Name the archive of a site's posts."
                    )
                archive.extract(targets=wanted[:1], factory=_Factory(pipe))
            pipe.put(None)
        except _Stopped:
            return
        except Exception as error:  # handed to the reading thread, which sorts it out
            failures.append(error)
            try:
                pipe.put(None)
            except _Stopped:
                return

    thread = threading.Thread(target=unpack, name="lct-unpack", daemon=True)
    thread.start()
    try:
        while (chunk := pipe.chunks.get()) is not None:
            yield chunk
    finally:
        pipe.stopped.set()
        thread.join()
    for error in failures:
        if isinstance(error, (InputError, OSError)):
            raise error
        raise InputError(
            f"{path}: the 7z archive is cut off or damaged ({type(error).__name__}: {error}). Fetch it again."
        ) from error
