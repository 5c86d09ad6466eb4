"""A progress bar on a terminal whose clock goes on: a step can take minutes, and a line that stands still looks hung."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Event, Thread, Timer
from time import monotonic, sleep, time
from typing import Any

_EVERY = 30.0  # seconds between two lines of a step where no terminal shows its clock
# Without the rate, so that a long name leaves room for the bar in 80 columns.
_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"


@contextmanager
def progress(total: int, form: str = _BAR) -> Iterator[Any]:
    """Show a tqdm bar on standard error during a block; it is disabled where standard error is no terminal."""
    from tqdm import tqdm

    with tqdm(total=total, bar_format=form, disable=None, leave=False) as bar, refreshed(bar):
        yield bar


@contextmanager
def refreshed(bar: Any) -> Iterator[None]:
    """Show the clock of a tqdm bar during a block: every second on a terminal, every 30 s elsewhere."""
    if bar.disable:
        yield
        return
    with _repeated(bar.refresh, 1.0 if sys.stderr.isatty() else _EVERY):
        yield


@cache
def keep_clocks_going() -> None:
    """Show the clocks of all tqdm bars of this process from now on, for bars of other libraries that move too rarely."""

    def show() -> None:
        seconds = 5.0 if sys.stderr.isatty() else _EVERY
        while True:
            sleep(seconds)
            _refresh_bars(seconds)

    # A console keeps the bars of a failed call, and would show them for ever.
    if not hasattr(sys, "ps1"):
        Thread(target=show, daemon=True).start()


def _refresh_bars(seconds: float) -> None:
    """Redraw the bars that are not full and have not moved for some seconds."""
    from tqdm import tqdm

    # In a function of its own: a variable of the sleeping thread would keep a forgotten bar for ever.
    with tqdm.get_lock():  # type: ignore[no-untyped-call]
        for bar in list(getattr(tqdm, "_instances", ())):
            old = time() - getattr(bar, "last_print_t", time()) > seconds
            if old and (bar.total is None or bar.n < bar.total):
                bar.refresh(nolock=True)


@contextmanager
def _repeated(work: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call a function at intervals, in another thread, during a block."""
    ended = Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            work()

    clock = Thread(target=repeat, daemon=True)
    clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()


def _to_stderr(line: str) -> None:
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


@contextmanager
def step(
    text: str,
    report: Callable[[str], None] = _to_stderr,
    *,
    limit: float | None = None,
    after: float = 0.0,
) -> Iterator[None]:
    """Show a step and how long it has taken on a terminal during a block; elsewhere report its text, and the time every 30 s.

    Args:
        text: name of the step.
        report: receives the lines where no terminal shows the step, some of them in another thread.
        limit: seconds after which an attempt is given up; None if there is no limit.
        after: seconds before the first line, so that a quick step has none.
    """
    most = "" if limit is None else f", at most {limit:g} s per attempt"
    started = monotonic()
    # tqdm fits lines with a bar to the terminal, so the limit is before the text, and short.
    clock = "[{elapsed}]" if limit is None else f"[{{elapsed}}, {limit:g} s per attempt]"
    with progress(1, f"{clock} {{desc}}{{bar:0}}") as bar:
        bar.set_description_str(text)
        if not bar.disable:
            yield
            return
        first = Timer(after, report, [text + most])
        if after:
            first.start()
        else:
            report(text + most)
        try:
            with _repeated(lambda: report(f"{text}: {monotonic() - started:.0f} s{most}"), _EVERY):
                yield
        finally:
            first.cancel()


def each_with_progress(names: Iterable[str], doing: str) -> Iterator[str]:
    """Yield the names under a bar that says what is being done with which one."""
    names = list(names)
    with progress(len(names)) as bar:
        for name in names:
            bar.set_description_str(f"{doing} {name}")
            yield name
            bar.update()
