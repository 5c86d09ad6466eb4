"""A progress bar on a terminal whose clock goes on: a step can take minutes, and a line that stands still looks hung."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any


@contextmanager
def progress(total: int, unit: str) -> Iterator[Any]:
    """Show a tqdm bar on standard error during a block; it is disabled where standard error is no terminal."""
    from tqdm import tqdm

    ended = Event()

    def tick() -> None:
        while not ended.wait(1.0):
            bar.refresh()

    with tqdm(total=total, unit=unit, disable=None, leave=False) as bar:
        clock = Thread(target=tick, daemon=True)
        if not bar.disable:
            clock.start()
        try:
            yield bar
        finally:
            ended.set()
            if not bar.disable:
                clock.join()


def each_with_progress(names: Iterable[str], doing: str, unit: str) -> Iterator[str]:
    """Yield the names under a bar that says what is being done with which one."""
    names = list(names)
    with progress(len(names), unit) as bar:
        for name in names:
            bar.set_description_str(f"{doing} {name}")
            yield name
            bar.update()
