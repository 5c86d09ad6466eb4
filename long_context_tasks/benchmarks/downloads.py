"""Download files: resumed after a break, checked, and put in place only when they are complete.

Incomplete files are kept in ``<name>.part`` with a small ``<name>.part.json`` that records their address and version; the next
attempt, in this run or a later one, asks for the rest with a ``Range`` header.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.schema import InputError, file_sha256
from long_context_tasks.schema.files import loads

OnBytes = Callable[[int, "int | None"], None]
"""Called with the number of bytes that have arrived and their final number (None: unknown)."""

_TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))


@dataclass(frozen=True)
class FetchedFile:
    path: Path
    url: str  # address that it came from
    sha256: str  # hash of its bytes
    size: int  # number of bytes
    verified: bool  # whether its checksum was known before and agrees


class _Unusable(Exception):
    """An address returned a wrong or damaged file."""


def fetch_file(
    urls: Sequence[str],
    path: Path,
    *,
    sha256: str | None = None,
    check: Callable[[Path], str | None] | None = None,
    on_bytes: OnBytes | None = None,
    attempts: int = 5,
    wait: float = 0.5,
) -> FetchedFile:
    """Download a file from the first of several addresses that has it; only a complete, checked file replaces ``path``.

    Args:
        check: returns an error in the finished file, or None.
        attempts: tries for each address after breaks and overload; wrong addresses are not tried again.
        wait: seconds before the second try; longer before later ones.
    """
    import asyncio

    import aiohttp
    import stamina
    from filelock import FileLock, Timeout

    from long_context_tasks.judges.client import wait_for

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that append to the same part would damage it.
        lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
        lock.acquire()
    except Timeout:
        raise InputError(f"{path}: another process is fetching this file; wait for it") from None
    except OSError as error:
        raise InputError(f"{path.parent}: cannot write there ({error.strerror}); set LCT_DATA_DIR") from error
    failures = []
    try:
        for url in urls:
            try:
                for attempt in stamina.retry_context(
                    on=_is_passing, attempts=attempts, wait_initial=wait, wait_max=20.0, timeout=None
                ):
                    with attempt:
                        wait_for(_download(url, path, on_bytes))
                return _finish(url, path, sha256, check)
            except (aiohttp.ClientError, TimeoutError, asyncio.TimeoutError, _Unusable) as error:
                failures.append(f"{url}: {_reason(error)}")
            except OSError as error:
                raise InputError(
                    f"{_part(path)}: cannot be written ({error.strerror}); free some space"
                ) from error
    finally:
        # Removed while it is held, so that two processes never wait for different lock files.
        with suppress(OSError):
            path.with_name(f".{path.name}.lock").unlink(missing_ok=True)
        lock.release()
    resumable = " (what has arrived is kept and the rest is requested)" if _part(path).is_file() else ""
    raise InputError(
        f"{path.name} could not be fetched. {'; '.join(failures)}. What to do: try again later{resumable}; or get the file "
        f"elsewhere and put it at {path}"
    )


def _is_passing(error: Exception) -> bool:
    """Return whether a later try may succeed: after breaks and overload, not at wrong addresses."""
    import asyncio

    import aiohttp

    if isinstance(error, aiohttp.ClientResponseError):
        return error.status in _TRY_AGAIN
    passing = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError, asyncio.TimeoutError)
    return isinstance(error, passing)


def _reason(error: Exception) -> str:
    import aiohttp

    if isinstance(error, aiohttp.ClientResponseError):
        return f"the server answers {error.status} {error.message}".rstrip()
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection ({error}); check the network, or set HTTPS_PROXY to a proxy"
    return str(error) or type(error).__name__


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _notes(path: Path) -> Path:
    return path.with_name(f"{path.name}.part.json")


def _forget(path: Path) -> None:
    for left in (_part(path), _notes(path)):
        left.unlink(missing_ok=True)


def _arrived(url: str, path: Path) -> tuple[int, str | None]:
    """Return the number of bytes that an earlier try left of this address, and their version."""
    try:
        notes = loads(_notes(path).read_bytes())
        size = _part(path).stat().st_size
    except (OSError, ValueError):
        return 0, None
    if not isinstance(notes, dict) or notes.get("url") != url:
        return 0, None
    version = notes.get("version")
    return size, version if isinstance(version, str) else None


async def _download(url: str, path: Path, on_bytes: OnBytes | None) -> None:
    """Ask once for the missing bytes and append them; start from the beginning if the server ignores the range."""
    import aiohttp

    from long_context_tasks.judges.client import checked_proxy

    checked_proxy(url)
    start, version = _arrived(url, path)
    # A compressed transfer could not be resumed at a byte of the file.
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if version:
            # Without it, a changed file would be appended to the old part.
            headers["If-Range"] = version
    # No total limit: files of several gigabytes take hours on slow connections.
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30.0, sock_read=60.0)
    async with (
        aiohttp.ClientSession(timeout=timeout, trust_env=True, auto_decompress=False) as session,
        session.get(url, headers=headers) as response,
    ):
        status, sent = response.status, response.headers.get("Content-Range", "")
        # The part is complete already; only its check is missing.
        if status == 416 and start and sent.lower() == f"bytes */{start}":
            return
        ranged = status == 206
        if (status == 416 and start) or (ranged and not sent.lower().startswith(f"bytes {start}-")):
            _forget(path)
            raise aiohttp.ClientPayloadError(
                "the server sent a different range than requested; the file is fetched from the beginning"
            )
        response.raise_for_status()
        etag = response.headers.get("ETag", "")
        # A weak tag does not promise equal bytes, so the rest cannot be requested with it.
        version = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified")
        done = start if ranged else 0
        total = None if response.content_length is None else done + response.content_length
        with _part(path).open("ab" if done else "wb") as file:
            _notes(path).write_text(json.dumps({"url": url, "version": version}), encoding="utf-8")
            if on_bytes:
                on_bytes(done, total)
            # Chunks of a fixed size would be lost with the connection if they are not full.
            async for chunk in response.content.iter_any():
                file.write(chunk)
                if on_bytes:
                    on_bytes(file.tell(), total)


def _finish(
    url: str, path: Path, sha256: str | None, check: Callable[[Path], str | None] | None
) -> FetchedFile:
    part = _part(path)
    digest = file_sha256(part)
    problem = check(part) if check else None
    # Both problems are reported: an HTML error page has a wrong checksum, too.
    if sha256 and digest != sha256:
        wrong = f"wrong checksum: sha256 is {digest}, expected {sha256}"
        problem = f"{problem} ({wrong})" if problem else wrong
    if problem:
        _forget(path)
        raise _Unusable(problem)
    size = part.stat().st_size
    part.replace(path)
    _forget(path)
    return FetchedFile(path=path, url=url, sha256=digest, size=size, verified=sha256 is not None)


_OFFLINE = "HF_HUB_OFFLINE"
_HUB_MODULES = ("huggingface_hub.constants", "datasets.config")
"""Modules that read the variable only once, when they are imported."""
_TIMEOUT = 10.0


def hub_answers(data_set: str) -> bool:
    # Its own library tries an unreachable hub six times.
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info(data_set, timeout=_TIMEOUT)
    except Exception as error:  # any error of its HTTP layer; a refusal is an answer
        return getattr(error, "response", None) is not None
    return True


def in_hub_caches(data_set: str) -> bool:
    """Return whether the hub's libraries may have a data set in their caches."""
    from huggingface_hub import constants

    places = (
        (constants.HF_HUB_CACHE, f"datasets--{data_set.replace('/', '--')}"),
        (
            os.environ.get("HF_DATASETS_CACHE") or f"{constants.HF_HOME}/datasets",
            data_set.replace("/", "___"),
        ),
    )
    return any(
        path.name.lower() == name.lower() for folder, name in places for path in Path(folder).glob("*")
    )


@contextmanager
def without_downloads() -> Iterator[None]:
    """Use only the caches of the hub's libraries in this block, without any download."""
    before = os.environ.get(_OFFLINE)
    read = {name: getattr(sys.modules[name], _OFFLINE) for name in _HUB_MODULES if name in sys.modules}
    os.environ[_OFFLINE] = "1"
    _set_offline(dict.fromkeys(read, True))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_OFFLINE, None)
        else:
            os.environ[_OFFLINE] = before
        # A module that was imported in the block has read the variable.
        _set_offline(dict.fromkeys(_HUB_MODULES, before not in (None, "", "0")) | read)


def _set_offline(offline: dict[str, bool]) -> None:
    """Set the variable in loaded modules of the hub's libraries, and drop open sessions, which keep its old value."""
    for name, value in offline.items():
        if name in sys.modules:
            setattr(sys.modules[name], _OFFLINE, value)
    http = sys.modules.get("huggingface_hub.utils._http")
    if reset := getattr(http, "reset_sessions", None):
        reset()
