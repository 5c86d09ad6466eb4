"""Where independent pieces of work run: in this process, in several, or on a Ray cluster.

Results come in the order of the items. So a caller that writes them one after the other writes the same bytes with every engine. Processes
end when the work does, when it fails, and when the process that began it is killed.
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

_AHEAD = 2
"""Results that may wait to be taken, for each worker."""


class Engine(Protocol):
    """Runs a function over items."""

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the result for each item, in order.

        Items are taken and results are kept a few ahead, so that memory does not grow with their number.

        Args:
            function: of a module, or a ``functools.partial`` of one: it is pickled. Its result depends on the item only.
            items: small, as they are pickled, too.

        Raises:
            InputError: raised by the function for an item; or a worker was lost.
        """


class InProcess:
    """Runs the function here, one item after the other."""

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """See :class:`Engine`."""
        return map(function, items)


def kept_ahead(
    submit: Callable[[T], Ticket], result: Callable[[Ticket], R], items: Iterable[T], workers: int
) -> Iterator[R]:
    """Yield the result of each item in order, while workers have enough to do beyond the one that is waited for."""
    waiting: deque[Ticket] = deque()
    for item in items:
        waiting.append(submit(item))
        if len(waiting) > _AHEAD * workers:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())


class Processes:
    """Runs the function in processes on this machine; made by :func:`processes`."""

    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        """Use a pool of so many processes."""
        self._pool, self._jobs = pool, jobs

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """See :class:`Engine`."""

        def submit(item: T) -> "Future[R]":
            return self._pool.submit(function, item)

        try:
            yield from kept_ahead(submit, Future.result, items, self._jobs)
        except BrokenProcessPool as error:
            raise InputError(
                "a worker process was killed, perhaps for want of memory; run the same again with fewer --jobs"
            ) from error


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """Run an engine of processes; they end with the block, or with this process, whatever ends it."""
    # Not forked from this process, which may have threads: from a server that has none.
    context = get_context("forkserver")
    context.set_forkserver_preload([name for name in sys.modules if name.startswith("long_context_tasks.")])
    theirs, ours = Pipe(duplex=False)
    with _interrupts_ignored():
        forkserver.ensure_running()
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (theirs, dict(os.environ)))
    try:
        yield Processes(pool, jobs)
    except BaseException:
        # Do not wait for work in progress.
        ours.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        ours.close()
        theirs.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let what is started in this block ignore Ctrl+C from its first moment; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(alive: Connection, environment: dict[str, str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    os.environ.clear()  # the server's is that of its own start
    os.environ.update(environment)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Connection) -> None:
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(1)


_TRIES_AGAIN = 5
"""How often a task whose worker is lost is started again."""


class RayCluster:
    """Runs the function on a Ray cluster, each item a task of its own; made by :func:`cluster`.

    Ray starts a task again whose worker or machine is lost; the others go on.
    """

    def __init__(self, ray: Any) -> None:
        """Use the cluster to which a module ``ray`` is connected."""
        self._ray = ray

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """See :class:`Engine`."""
        ray = self._ray
        run = ray.remote(max_retries=_TRIES_AGAIN)(_outcome)
        shared = ray.put(function)
        workers = int(ray.cluster_resources().get("CPU", 1))
        here = _Here(long_context_tasks.__version__, Path.cwd(), _settings())

        def submit(item: T) -> Any:
            return run.remote(shared, item, here)

        def result(ticket: Any) -> R:
            try:
                found, error = ray.get(ticket)
            except ray.exceptions.RayTaskError:  # an error of ours
                raise
            except ray.exceptions.RayError as lost:
                raise InputError(
                    f"Ray lost the worker of one piece {_TRIES_AGAIN + 1} times, perhaps for want of memory; give the "
                    "machines more, or each fewer processors (`ray start --num-cpus`), and run the same again"
                ) from lost
            if error is not None:
                raise error
            return found  # type: ignore[no-any-return]

        return kept_ahead(submit, result, items, workers)


class _Here(NamedTuple):
    """What workers share with the process that gives them work.

    Attributes:
        version: of the package.
        folder: from which relative paths count.
        settings: environment variables of the package; no secrets, which each machine has for itself.
    """

    version: str
    folder: Path
    settings: Mapping[str, str]


def _settings() -> Mapping[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("LCT_") and not is_secret_name(name)
    }


def _outcome(function: Callable[[T], R], item: T, here: _Here) -> tuple[R | None, InputError | None]:
    """Run on a worker. Bad input is a result like others: Ray would wrap the exception."""
    if long_context_tasks.__version__ != here.version:
        return None, InputError(
            f"a machine of the cluster has long_context_tasks {long_context_tasks.__version__}, this one {here.version}; install "
            "the same on all of them"
        )
    os.environ.update(here.settings)
    if here.folder.is_dir():
        os.chdir(here.folder)
    try:
        return function(item), None
    except InputError as error:
        return None, error


@contextmanager
def cluster(address: str) -> Iterator[RayCluster]:
    """Connect to a cluster for a block.

    Args:
        address: ``ray://host:10001``; empty for that of ``RAY_ADDRESS``, else of this machine, which is started where there is none.

    Raises:
        InputError: Ray is not installed, or no cluster answers.
    """
    require("ray", "--engine ray", "ray")
    import ray

    try:
        ray.init(address=address or None, logging_level="error", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"--engine ray{address.removeprefix('ray')}: no cluster answers ({said}); `ray start --head` starts one"
        ) from error
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def engine_of(jobs: int = 1, name: str = "") -> AbstractContextManager[Engine]:
    """Return the engine that a command line names, for a ``with`` statement.

    Args:
        jobs: processes on this machine.
        name: empty; or ``ray`` for the cluster of this machine (or of ``RAY_ADDRESS``), or Ray's address: ``ray://host:10001``.

    Raises:
        InputError: no such engine, fewer than 1 job, both kinds at once, or no cluster at the address.
    """
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: give 1 or more")
    if not name:
        return processes(jobs) if jobs > 1 else nullcontext(InProcess())
    if jobs > 1:
        raise InputError(f"--jobs and --engine {name}: give one of them; a cluster knows its processors")
    if name != "ray" and not name.startswith("ray://"):
        raise InputError(f"--engine {name}: there is only ray, or its address: ray://host:10001")
    return cluster("" if name == "ray" else name)
