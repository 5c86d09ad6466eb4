"""How far a training or a scoring has come: a bar on a terminal, in a file a line now and then."""

import sys
import time
from types import TracebackType

from tqdm import tqdm

SECONDS = 30.0
"""Between two lines; the first comes with the first update, so that what remains is known early."""


class Progress:
    """Shows on standard error how much is done; used in a ``with`` statement."""

    def __init__(self, what: str, unit: str, total: int, done: int = 0, *, shown: bool = True) -> None:
        """Begin.

        Args:
            what: is going on.
            unit: what is counted, in the singular.
            total: of all.
            done: before, such as by a run that was stopped.
            shown: False shows nothing.
        """
        self._what, self._unit, self._total = what, unit, total
        self._first, self._done = done, done
        self._began, self._said = time.monotonic(), -SECONDS
        terminal = sys.stderr.isatty()
        self._lines = shown and not terminal
        self._bar = tqdm(total=total, initial=done, desc=what, unit=unit, disable=not (shown and terminal))

    def __enter__(self) -> "Progress":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the bar."""
        self._bar.close()

    def update(self, n: int = 1, note: str = "") -> None:
        """Count what was done, with a figure to show beside it."""
        self._done += n
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(n)
        passed = time.monotonic() - self._began
        if not self._lines or (passed - self._said < SECONDS and self._done < self._total):
            return
        self._said = passed
        each = passed / (self._done - self._first)
        left = each * (self._total - self._done)
        line = f"{self._what}: {self._unit} {self._done} of {self._total}{note and f', {note}'}"
        tqdm.write(f"{line}; {each:.2g} s each, {left / 60:.0f} min left", file=sys.stderr)
        sys.stderr.flush()
