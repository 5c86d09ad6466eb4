"""What an engine is: it maps a function over items and yields the results in the order of the items. Two of them work on this machine.

Processes end when the work does, when it fails, and when the process that began it is killed.
"""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import Pipe, forkserver, get_context
from multiprocessing.connection import Connection
from typing import Protocol, TypeVar

from long_context_tasks.schema.files import InputError

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
        """See :class:`~long_context_tasks.engines.engine.Engine`."""

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
