"""What a writer returns: paragraphs with the answers that are known because the writer decided them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from long_context_tasks.schema import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph.

    Attributes:
        text: without line breaks.
        labels: what a recall task asks for and this paragraph has, as the text writes it, in order, each once.
        reported: end of the first sentence of an abstract that reports on a study; 0 if there is none.
    """

    text: str
    labels: tuple[str, ...] = ()
    reported: int = 0


@dataclass(frozen=True)
class Document:
    """A text of any genre.

    Attributes:
        title: for people.
        paragraphs: in order.
    """

    title: str
    paragraphs: tuple[Paragraph, ...]


class Growing(Generic[T]):
    """The beginning of an endless text. What is written for one length is kept, and begins the longer ones.

    >>> numbers = Growing(iter(range(100)))
    >>> next(iter(numbers)), [number for number, _ in zip(numbers, "abc")]
    (0, [0, 1, 2])
    """

    def __init__(self, written: Iterator[T]) -> None:
        """Take what writes the text, part by part."""
        self._written = written
        self._kept: list[T] = []

    def __iter__(self) -> Iterator[T]:
        """Yield the parts from the first one on."""
        yield from self._kept
        for part in self._written:
            self._kept.append(part)
            yield part

    def first(self, characters: float, size: Callable[[T], int], least: int = 1) -> tuple[T, ...]:
        """Return the first parts: of at least so many characters, ``least`` parts, and at most one part more.

        Raises:
            InputError: no characters are asked for.
        """
        if characters <= 0:
            raise InputError("a text without a token cannot be written: ask for at least 1 token")
        taken: list[T] = []
        length = 0
        for part in self:
            taken.append(part)
            length += size(part)
            if length >= characters and len(taken) >= least:
                break
        return tuple(taken)


def begun(title: str, written: Iterator[Paragraph], characters_per_token: float) -> Callable[[int], Document]:
    """Return what gives the beginning of a document: at least so many tokens, and at most one paragraph more."""
    kept = Growing(written)

    def first(num_tokens: int) -> Document:
        # Paragraphs are joined by an empty line.
        paragraphs = kept.first(num_tokens * characters_per_token, lambda paragraph: len(paragraph.text) + 2)
        return Document(title, paragraphs)

    return first


def filled(
    additions: Iterable[str],
    extended: Callable[[Sequence[str]], str],
    count: Callable[[str], int],
    least: int,
    most: int,
) -> tuple[str, int]:
    """Add sentences that say nothing to a text until it fills a length; return it with its tokens.

    Additions are tried in order; ``extended`` makes the text with some of them. It is long enough at ``least`` tokens, and stays
    below where the additions do not suffice; no addition brings it above ``most``.
    """
    added: list[str] = []
    text = extended(added)
    size = count(text)
    for addition in additions:
        if size >= least:
            break
        longer = extended([*added, addition])
        if (grown := count(longer)) <= most:
            added.append(addition)
            text, size = longer, grown
    return text, size
