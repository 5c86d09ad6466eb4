"""What an engine is: it maps a function over items and yields the results in the order of the items, whatever finishes first."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

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
