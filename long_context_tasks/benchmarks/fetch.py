"""Downloading a published file: resumed after a break, checked, and in place only when it is whole.

The pieces that arrive stand in ``<name>.part`` with a small ``<name>.part.json`` that says which version of which
address they belong to; the next attempt, in this run or a later one, asks for the rest with a ``Range`` header.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.schema import InputError, file_sha256

if TYPE_CHECKING:
    import httpx

__all__ = ["FetchedFile", "fetch_file"]

OnBytes = Callable[[int, "int | None"], None]
"""Called with the bytes that are there and their number at the end (None: unknown)."""

_TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
_WHOLE_RANGE = re.compile(r"bytes \*/(\d+)", re.IGNORECASE)
_FIRST_BYTE = re.compile(r"bytes (\d+)-", re.IGNORECASE)


@dataclass(frozen=True)
class FetchedFile:
    """A file that was downloaded.

    Attributes:
        path: where it lies.
        url: where it came from.
        sha256: of its bytes.
        size: in bytes.
        verified: its checksum was known before and agrees.
    """

    path: Path
    url: str
    sha256: str
    size: int
    verified: bool


class _Unusable(Exception):
    """An address that gives no good file; says why."""


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
    """Download a file from the first of several addresses that has it.

    Args:
        urls: addresses of the same file, tried in this order.
        path: where the file is put; replaced only by a whole, checked one.
        sha256: expected checksum, where it is known.
        check: looks at the finished file and says what is wrong with it, None when nothing is.
        on_bytes: for a progress bar.
        attempts: tries for each address after breaks and overload; wrong addresses are not tried again.
        wait: seconds before the second try; longer before later ones.

    Raises:
        InputError: no address gave the file; names each with its reason, and what to do.
    """
    import httpx
    import stamina
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
                        _download(url, path, on_bytes)
                return _finish(url, path, sha256, check)
            except (httpx.HTTPError, httpx.InvalidURL, _Unusable) as error:
                failures.append(f"{url}: {_reason(error)}")
            except OSError as error:
                raise InputError(
                    f"{_part(path)}: cannot be written ({error.strerror}); free some space"
                ) from error
    finally:
        # Removed while it is held, so that no two processes wait for different files.
        with suppress(OSError):
            path.with_name(f".{path.name}.lock").unlink(missing_ok=True)
        lock.release()
    kept = " (what has arrived is kept and the rest is asked for)" if _part(path).is_file() else ""
    raise InputError(
        f"{path.name} could not be fetched. {'; '.join(failures)}. What to do: try again later{kept}; or get the file "
        f"elsewhere and put it at {path}"
    )


def _is_passing(error: Exception) -> bool:
    """Return whether a later try can go better: breaks and overload, not wrong addresses."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _TRY_AGAIN
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)


def _reason(error: Exception) -> str:
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return f"the server answers {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx.ConnectError):
        return f"no connection ({error}); is there a network, or a proxy to set in HTTPS_PROXY?"
    return str(error) or type(error).__name__


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _notes(path: Path) -> Path:
    return path.with_name(f"{path.name}.part.json")


def _forget(path: Path) -> None:
    for left in (_part(path), _notes(path)):
        left.unlink(missing_ok=True)


def _arrived(url: str, path: Path) -> tuple[int, str | None]:
    """Bytes that an earlier try left of this very address, and the version they are of."""
    try:
        notes = json.loads(_notes(path).read_text(encoding="utf-8"))
        size = _part(path).stat().st_size
    except (OSError, ValueError):
        return 0, None
    if not isinstance(notes, dict) or notes.get("url") != url:
        return 0, None
    version = notes.get("version")
    return size, version if isinstance(version, str) else None


@contextmanager
def _response(url: str, start: int, version: str | None) -> Iterator["httpx.Response"]:
    import httpx

    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if version:
            headers["If-Range"] = version
    timeout = httpx.Timeout(30.0, read=60.0)
    with (
        httpx.Client(follow_redirects=True, timeout=timeout) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        yield response


def _download(url: str, path: Path, on_bytes: OnBytes | None) -> None:
    """One try: ask for what is missing and append it; a server that ignores the range begins anew."""
    start, version = _arrived(url, path)
    with _response(url, start, version) as response:
        if response.status_code == 416 and start:
            whole = _WHOLE_RANGE.match(response.headers.get("Content-Range", ""))
            if whole and int(whole[1]) == start:
                return
            _forget(path)
            raise _refused(response, "the rest of the file cannot be had; it is fetched anew")
        response.raise_for_status()
        if response.status_code == 206:
            first = _FIRST_BYTE.match(response.headers.get("Content-Range", ""))
            if first is None or int(first[1]) != start:
                _forget(path)
                raise _refused(response, "the server sent another range than was asked for")
        else:
            start = 0
        _keep(response, url, path, start, on_bytes)


def _refused(response: Any, text: str) -> Exception:
    import httpx

    return httpx.RemoteProtocolError(text, request=response.request)


def _keep(response: Any, url: str, path: Path, start: int, on_bytes: OnBytes | None) -> None:
    etag = response.headers.get("ETag", "")
    # A weak tag promises no equal bytes, so it cannot be used to ask for the rest.
    version = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified")
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdigit() else None
    with _part(path).open("ab" if start else "wb") as file:
        _notes(path).write_text(json.dumps({"url": url, "version": version}), encoding="utf-8")
        if on_bytes:
            on_bytes(start, total)
        # As it comes: pieces of a fixed size would be lost with the connection when they are not full.
        for chunk in response.iter_bytes():
            file.write(chunk)
            if on_bytes:
                on_bytes(file.tell(), total)


def _finish(
    url: str, path: Path, sha256: str | None, check: Callable[[Path], str | None] | None
) -> FetchedFile:
    part = _part(path)
    found = file_sha256(part)
    problem = check(part) if check else None
    if sha256 and found != sha256:
        wrong = f"wrong checksum: sha256 is {found}, expected {sha256}"
        problem = f"{problem} ({wrong})" if problem else wrong
    if problem:
        _forget(path)
        raise _Unusable(problem)
    size = part.stat().st_size
    part.replace(path)
    _forget(path)
    return FetchedFile(path=path, url=url, sha256=found, size=size, verified=sha256 is not None)
