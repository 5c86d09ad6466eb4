"""A bound on processor time that no busy machine reaches, for inputs that would take hours."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Hangs(BaseException):
    """A block was stopped. Not an :class:`Exception`, which the code under test may turn into an error of its own."""


@contextmanager
def hang_guard(seconds: float = 60) -> Iterator[None]:
    """Stop the block after so many seconds of processor time.

    Give inputs that take a second when work grows with their length, and hours when it grows with the square.
    """

    def stop(*_: object) -> None:
        raise Hangs(f"not done after {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
