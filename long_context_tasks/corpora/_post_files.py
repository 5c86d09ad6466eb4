"""Bytes of a forum dump, streamed, whatever the file is packed in.

The kind of file is told from its first bytes, not from its name: gzip, 7z (the archive's ``Posts.xml``), or plain.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from long_context_tasks.schema import InputError

__all__ = ["read_chunks"]

_CHUNK = 1 << 18
_GZIP = b"\x1f\x8b"
_SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the unpacked content of ``path`` in chunks; at most a few of them are in memory at once.

    Raises:
        InputError: The file is missing, cannot be read, is cut off or damaged, or the archive has no ``Posts.xml``.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_SEVEN_ZIP))
        if head == _SEVEN_ZIP:
            from long_context_tasks.corpora._seven_zip import read_member  # py7zr is slow to import

            yield from read_member(path, "Posts.xml")
            return
        with gzip.open(path) if head.startswith(_GZIP) else path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the compressed file is cut off or damaged ({error}). Fetch it again."
        ) from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder. Name the Posts.xml, .gz, .7z or .jsonl file in it.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}). Check the path.") from error
