"""Run independent pieces of work in this process, in several processes, or on a Ray cluster.

Results arrive in item order, so a caller that writes them sequentially writes the same bytes with every
engine. Worker processes end when the work ends or fails, and when their parent process is killed.
"""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing import Pipe, forkserver, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import long_context_tasks
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.secrets import is_secret_name

T = TypeVar("T")
R = TypeVar("R")
Ticket = TypeVar("Ticket")

# Maximum pending results per worker: enough to keep it busy, few enough for memory.
_AHEAD = 2


class Engine(Protocol):
    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the result for each item, in order, with only a few items and results in memory.

        The function (module-level, or a ``functools.partial`` of one) and the items must be picklable. Each
        result must depend only on its item.
        """


class InProcess:
    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        return map(function, items)


def kept_ahead(
    submit: Callable[[T], Ticket], result: Callable[[Ticket], R], items: Iterable[T], workers: int
) -> Iterator[R]:
    """Yield each item's result in order, submitting enough items ahead to keep all workers busy."""
    waiting: deque[Ticket] = deque()
    for item in items:
        waiting.append(submit(item))
        if len(waiting) > _AHEAD * workers:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())


class Processes:
    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        self._pool, self._jobs = pool, jobs

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        def submit(item: T) -> "Future[R]":
            return self._pool.submit(function, item)

        try:
            yield from kept_ahead(submit, Future.result, items, self._jobs)
        except BrokenProcessPool as error:
            raise InputError(
                "a worker process was killed, perhaps for lack of memory; run the same command with fewer --jobs"
            ) from error


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """Run a process engine whose workers end with the block or with this process."""
    # This process may have threads, which a fork would copy in an arbitrary state; the fork server has none.
    context = get_context("forkserver")
    context.set_forkserver_preload([name for name in sys.modules if name.startswith("long_context_tasks.")])
    theirs, ours = Pipe(duplex=False)
    with _interrupts_ignored():
        forkserver.ensure_running()
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (theirs, dict(os.environ)))
    try:
        yield Processes(pool, jobs)
    except BaseException:
        # Workers exit when the pipe closes, without finishing the work in progress.
        ours.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        ours.close()
        theirs.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes started in this block ignore Ctrl+C from the start."""
    # Python allows signal handlers only in the main thread.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(alive: Connection, environment: dict[str, str]) -> None:
    # The parent handles Ctrl+C and closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The fork server still has the environment from its own start.
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Connection) -> None:
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(1)


# Restarts of a task whose worker was lost.
_TRIES_AGAIN = 5


class RayCluster:
    """Run the function on a Ray cluster, one task per item; Ray restarts a task if its worker is lost."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        ray = self._ray
        run = ray.remote(max_retries=_TRIES_AGAIN)(_outcome)
        # Pickled once for the cluster instead of once per item.
        shared = ray.put(function)
        workers = int(ray.cluster_resources().get("CPU", 1))
        here = _Here(long_context_tasks.__version__, Path.cwd(), _settings())

        def submit(item: T) -> Any:
            return run.remote(shared, item, here)

        def result(ticket: Any) -> R:
            try:
                found, error = ray.get(ticket)
            except ray.exceptions.RayTaskError:  # raised by our code, not by Ray
                raise
            except ray.exceptions.RayError as lost:
                raise InputError(
                    f"Ray lost the worker of one piece {_TRIES_AGAIN + 1} times, perhaps for lack of memory; give the "
                    "machines more memory or fewer CPUs (`ray start --num-cpus`), and run the same command again"
                ) from lost
            if error is not None:
                raise error
            return found  # type: ignore[no-any-return]

        return kept_ahead(submit, result, items, workers)


class _Here(NamedTuple):
    """State of the submitting process that workers adopt."""

    version: str
    folder: Path  # working directory, for relative paths
    settings: Mapping[
        str, str
    ]  # the package's environment variables without secrets, which every machine sets itself


def _settings() -> Mapping[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("LCT_") and not is_secret_name(name)
    }


def _outcome(function: Callable[[T], R], item: T, here: _Here) -> tuple[R | None, InputError | None]:
    # Ray would wrap an exception and lose its class.
    if long_context_tasks.__version__ != here.version:
        return None, InputError(
            f"a machine of the cluster has long_context_tasks {long_context_tasks.__version__}, this one {here.version}; install "
            "the same version on all machines"
        )
    os.environ.update(here.settings)
    # Machines without a shared file system keep their own working directory.
    if here.folder.is_dir():
        os.chdir(here.folder)
    try:
        return function(item), None
    except InputError as error:
        return None, error


@contextmanager
def cluster(address: str) -> Iterator[RayCluster]:
    """Connect to a Ray cluster for the duration of a block.

    ``address`` is ``ray://host:10001``. If empty, ``RAY_ADDRESS`` is used or, without it, a cluster is
    started on this machine.
    """
    require("ray", "--engine ray", "ray")
    import ray

    try:
        ray.init(address=address or None, logging_level="error", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"--engine ray{address.removeprefix('ray')}: no cluster answers ({reason}); `ray start --head` starts one"
        ) from error
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def engine_of(jobs: int = 1, name: str = "") -> AbstractContextManager[Engine]:
    """Return the engine for a command line, as a context manager.

    ``name`` is empty for ``jobs`` local processes, ``ray`` for the cluster in ``RAY_ADDRESS`` or on this
    machine, or an address.
    """
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: give 1 or more")
    if not name:
        return processes(jobs) if jobs > 1 else nullcontext(InProcess())
    if jobs > 1:
        raise InputError(f"--jobs and --engine {name}: give one of them; a cluster uses its own CPUs")
    if name != "ray" and not name.startswith("ray://"):
        raise InputError(f"--engine {name}: there is only ray, or its address: ray://host:10001")
    return cluster("" if name == "ray" else name)
