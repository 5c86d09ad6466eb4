"""A progress bar on a terminal whose clock goes on: a step can take minutes, and a line that stands still looks hung."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

# Without the rate, so that a long name leaves room for the bar in 80 columns.
_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"


@contextmanager
def progress(total: int, form: str = _BAR) -> Iterator[Any]:
    """Show a tqdm bar on standard error during a block; it is disabled where standard error is no terminal."""
    from tqdm import tqdm

    ended = Event()

    def tick() -> None:
        while not ended.wait(1.0):
            bar.refresh()

    with tqdm(total=total, bar_format=form, disable=None, leave=False) as bar:
        clock = Thread(target=tick, daemon=True)
        if not bar.disable:
            clock.start()
        try:
            yield bar
        finally:
            ended.set()
            if not bar.disable:
                clock.join()


@contextmanager
def step(text: str, report: Callable[[str], None]) -> Iterator[None]:
    """Show a step and how long it has taken on a terminal during a block; elsewhere report its text once."""
    with progress(1, "[{elapsed}] {desc}{bar:0}") as bar:  # tqdm fits lines with a bar to the terminal
        bar.set_description_str(text)
        if bar.disable:
            report(text)
        yield


def each_with_progress(names: Iterable[str], doing: str) -> Iterator[str]:
    """Yield the names under a bar that says what is being done with which one."""
    names = list(names)
    with progress(len(names)) as bar:
        for name in names:
            bar.set_description_str(f"{doing} {name}")
            yield name
            bar.update()
