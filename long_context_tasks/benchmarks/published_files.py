"""Published files: downloaded, found in the data folder, read as a stream, each row checked; errors name file and row.

A download is resumed after a break, checked, and in place only when it is whole. The pieces that arrive stand in
``<name>.part`` with a small ``<name>.part.json`` that says which version of which address they belong to; the next attempt, in
this run or a later one, asks for the rest with a ``Range`` header.
"""

import asyncio
import gzip
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import ConfigDict

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, Options, file_sha256
from long_context_tasks.schema.files import lines, loads, shallow
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import Checked, validated

_Row = TypeVar("_Row", bound="PublishedRow")
_DEEPEST = 20
"""Levels of a JSON value; published rows have a few."""


class PublishedRow(Checked):
    """A row of a published file; fields that no case needs are let through."""

    model_config = ConfigDict(extra="ignore")


def remedy(benchmark: str) -> str:
    """Return what to do about a damaged file."""
    return f"fetch it again with `lct data fetch {benchmark}`"


def find_file(name: str, options: Options, benchmark: str, task: str = "") -> Path:
    """Return the path of a published file, plain or gzipped.

    Args:
        name: of the file.
        options: of the run.
        benchmark: its name.
        task: that reads the file, see :func:`missing_data`.

    Raises:
        InputError: it is missing; see :func:`missing_data`.
    """
    folder = data_dir(options, benchmark)
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise missing_data(f"{folder / name}[.gz]", f"{benchmark}/{name}", benchmark, task)


def missing_data(what: str, name: str, benchmark: str, task: str = "", why: str = "") -> InputError:
    """Return the error about published data that are not there, in the same words for every benchmark.

    Args:
        what: is missing, with its path.
        name: of the file below LCT_DATA_DIR.
        benchmark: its name.
        task: that reads the file; its remedies name a task that needs no data, and the command that builds cases of it.
        why: it could not be fetched either, where that was tried.
    """
    remedies = [
        f"`lct data fetch {benchmark}` downloads the published files",
        f"point LCT_DATA_DIR (or lct_data_dir) at a folder that holds {name}",
        *without_data(benchmark, task),
    ]
    listed = "; ".join(f"({number}) {each}" for number, each in enumerate(remedies, start=1))
    return InputError(f"{what} is missing{f', and {why}' if why else ''}. Remedies: {listed}")


def without_data(benchmark: str, task: str = "") -> list[str]:
    """Return what can be done without the published files of a benchmark: a task that is written from a seed, own cases.

    Args:
        benchmark: its name.
        task: the task that needs the files, where there is one: what is most like it is named.
    """
    seeded = [
        spec
        for spec in catalogue.task_specs()
        if spec.benchmark == benchmark and spec.source == "seed" and spec.scoring == "generate"
    ]
    found = catalogue.benchmark(benchmark)
    own = catalogue.parse_task(task) if task else None

    def likeness(spec: catalogue.TaskSpec) -> tuple[bool, ...]:
        return (
            own is not None and spec.task.removesuffix("_synthetic") == own.task,
            own is not None and spec.length == own.length,
            own is not None and spec.split == own.split,
            not spec.card.nano,
        )

    ways = []
    if seeded:
        ways.append(f"run {max(seeded, key=likeness).name}, which is written from a seed and needs no data")
    builders = [
        builder.name
        for builder in found.builders()
        if builder.source is not None
        and builder.source.name != "carriers"
        and (own is None or builder.task == own.task)
    ]
    if builders:
        ways.append(f"build your own cases with `lct build {builders[0]}` and give lct_cases")
    return ways


def checked_rows(path: Path, kind: type[_Row], benchmark: str) -> Iterator[tuple[str, _Row]]:
    """Yield the rows of a file as records of a kind, each with its place for messages (``FILE, row 3``).

    Raises:
        InputError: the file is damaged or empty, or a row is of another shape; file, row and remedy are named.
    """
    for place, row in json_rows(path, benchmark):
        yield place, validated(kind, row, place, remedy=remedy(benchmark))


def json_rows(path: Path, benchmark: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a JSON list or of JSON Lines, plain, gzipped or alone in a ZIP archive, each with its place.

    Only one row is in memory.

    Raises:
        InputError: not JSON, cut short, or no rows.
    """
    import ijson

    number = 0
    try:
        with _open(path) as file:
            is_list = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
            file.seek(0)
            rows: Iterator[tuple[int, Any]]
            if is_list:
                events = ijson.parse(shallow(ijson.basic_parse(file, use_float=True), _DEEPEST))
                rows = enumerate(ijson.items(events, "item"), start=1)
            else:
                rows = ((n, loads(line)) for n, line in enumerate(lines(file), start=1) if line.strip())
            for number, row in rows:
                yield f"{path}, row {number}", row
    except (
        ijson.JSONError,
        ValueError,
        EOFError,
        OSError,
        zlib.error,
        zipfile.BadZipFile,
    ) as error:
        said = " ".join(str(error).split())
        raise InputError(
            f"{path}, after row {number}: damaged or cut short ({said}); {remedy(benchmark)}"
        ) from error
    if not number:
        raise InputError(f"{path}: holds no rows; {remedy(benchmark)}")


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if path.suffix != ".zip":
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if ".json" in name and not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise ValueError(f"{len(names)} JSON files in the archive instead of one")
        with archive.open(names[0]) as member:
            yield member


OnBytes = Callable[[int, "int | None"], None]
"""Called with the bytes that are there and their number at the end (None: unknown)."""

_TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))


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
    import aiohttp
    import stamina
    from filelock import FileLock, Timeout

    from long_context_tasks.judges.client import wait_for

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
                        wait_for(_download(url, path, on_bytes))
                return _finish(url, path, sha256, check)
            except (aiohttp.ClientError, TimeoutError, asyncio.TimeoutError, _Unusable) as error:
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
    """Bytes that an earlier try left of this very address, and the version they are of."""
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
    """One try: ask for what is missing and append it; a server that ignores the range begins anew."""
    import aiohttp

    start, version = _arrived(url, path)
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if version:
            headers["If-Range"] = version
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30.0, sock_read=60.0)
    async with (
        aiohttp.ClientSession(timeout=timeout, trust_env=True, auto_decompress=False) as session,
        session.get(url, headers=headers) as response,
    ):
        status, sent = response.status, response.headers.get("Content-Range", "")
        if status == 416 and start and sent.lower() == f"bytes */{start}":
            return
        ranged = status == 206
        if (status == 416 and start) or (ranged and not sent.lower().startswith(f"bytes {start}-")):
            _forget(path)
            raise aiohttp.ClientPayloadError(
                "the server sent another range than was asked for; the file is fetched anew"
            )
        response.raise_for_status()
        etag = response.headers.get("ETag", "")
        # A weak tag promises no equal bytes, so it cannot be used to ask for the rest.
        version = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified")
        done = start if ranged else 0
        total = None if response.content_length is None else done + response.content_length
        with _part(path).open("ab" if done else "wb") as file:
            _notes(path).write_text(json.dumps({"url": url, "version": version}), encoding="utf-8")
            if on_bytes:
                on_bytes(done, total)
            # As it comes: pieces of a fixed size would be lost with the connection when they are not full.
            async for chunk in response.content.iter_any():
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


_OFFLINE = "HF_HUB_OFFLINE"
_HUB_MODULES = ("huggingface_hub.constants", "datasets.config")
"""They read the variable once, when they are imported."""
_TIMEOUT = 10.0
"""Seconds."""


def hub_answers(data_set: str) -> bool:
    """Return whether the hub answers a question about a data set, asked once; its own library asks an unreachable hub six times."""
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info(data_set, timeout=_TIMEOUT)
    except Exception as error:  # whatever its HTTP layer raises; a refusal is an answer
        return getattr(error, "response", None) is not None
    return True


@contextmanager
def without_downloads() -> Iterator[None]:
    """Fetch nothing from the hub in this block; its libraries take what they have in their caches."""
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
        # A module that came in between has read the variable.
        _set_offline(dict.fromkeys(_HUB_MODULES, before not in (None, "", "0")) | read)


def _set_offline(offline: dict[str, bool]) -> None:
    """Tell modules of the hub's libraries that are loaded, and drop open sessions, which know what held when they were made."""
    for name, value in offline.items():
        if name in sys.modules:
            setattr(sys.modules[name], _OFFLINE, value)
    http = sys.modules.get("huggingface_hub.utils._http")
    if reset := getattr(http, "reset_sessions", None):
        reset()
