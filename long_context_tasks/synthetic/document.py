"""Paragraphs with known answers, and helpers that generate exactly as much text as a length needs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from long_context_tasks.schema import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str  # the paragraph without line breaks
    # The paragraph's recall answers as written, in order, without repetition.
    labels: tuple[str, ...] = ()
    reported: int = 0  # end offset of an abstract's first sentence if it reports on a study, otherwise 0


@dataclass(frozen=True)
class LabelledText:
    title: str
    paragraphs: tuple[Paragraph, ...]


class Growing(Generic[T]):
    """The beginning of an endless text. Parts are generated once, so a longer text extends a shorter one.

    >>> numbers = Growing(iter(range(100)))
    >>> next(iter(numbers)), [number for number, _ in zip(numbers, "abc")]
    (0, [0, 1, 2])
    """

    def __init__(self, written: Iterator[T]) -> None:
        self._written = written
        self._kept: list[T] = []

    def __iter__(self) -> Iterator[T]:
        # Parts generated for another length come first.
        yield from self._kept
        for part in self._written:
            self._kept.append(part)
            yield part

    def first(self, total: float, size: Callable[[T], int], least: int = 1) -> tuple[T, ...]:
        """Return the fewest parts, at least ``least``, whose sizes (characters or tokens) add up to ``total`` or more."""
        if total <= 0:
            raise InputError("a text of no tokens cannot be written; ask for at least 1 token")
        taken: list[T] = []
        length = 0
        for part in self:
            taken.append(part)
            length += size(part)
            if length >= total and len(taken) >= least:
                break
        return tuple(taken)


def filled(
    additions: Iterable[str],
    extended: Callable[[Sequence[str]], str],
    count: Callable[[str], int],
    least: int,
    most: int,
) -> tuple[str, int]:
    """Add neutral sentences to a text until it reaches a target length.

    Args:
        additions: sentences to try, in order.
        extended: returns the text with some of them.
        count: returns a text's token count.
        least: minimum number of tokens; the text may be shorter if the additions run out.
        most: maximum tokens of the text.

    Returns:
        The text and its token count.
    """
    added: list[str] = []
    text = extended(added)
    size = count(text)
    for addition in additions:
        if size >= least:
            break
        longer = extended([*added, addition])
        # A shorter addition may still fit after a long one did not.
        if (grown := count(longer)) <= most:
            added.append(addition)
            text, size = longer, grown
    return text, size
