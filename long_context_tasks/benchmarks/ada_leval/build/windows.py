"""Places of TSort cases in a book: their sizes (Table 11 of the paper) and their paragraphs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval.build.counts import count_pieces
from long_context_tasks.benchmarks.ada_leval.settings import TSortSettings
from long_context_tasks.benchmarks.building import bound_of
from long_context_tasks.corpora.books import Book
from long_context_tasks.schema import InputError, format_length, parse_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens import Tokenizer

JOINT = "\n\n"
"""Between two paragraphs of a document."""


@dataclass(frozen=True)
class Caps:
    """Sizes of a case, in tokens but for the stride (paragraphs).

    Attributes:
        before, segment, after: most tokens of the text before, of each segment, of the text after.
        stride: paragraphs between two beginnings.
        bound: most tokens of the whole prompt.
    """

    before: int
    segment: int
    after: int
    stride: int
    bound: int


def caps_for(card: TaskCard, length: int, settings: TSortSettings) -> Caps:
    """Return Table 11's row of a length; for other lengths the hints and the stride of the next shorter row.

    The cap of a segment is (length - before - after - 200) / N, which gives the seven rows of the table.

    Raises:
        InputError: nothing is left for the segments.
    """
    table = {parse_length(name): row for name, row in card.build["rows"].items()}
    row = table[max((known for known in table if known <= length), default=min(table))]
    before = settings.before_cap or int(row["before"])
    after = settings.after_cap or int(row["after"])
    room = length - before - after - int(card.build["reserve"])
    segment = settings.segment_cap or room // settings.segments
    if segment < 1:
        raise InputError(
            f"length {format_length(length)}: {settings.segments} segments with {before} tokens before and {after} after "
            "them leave no room; take fewer segments or smaller --before-cap and --after-cap"
        )
    bound = length if settings.fill else bound_of(card, length)
    return Caps(before, segment, after, settings.stride or int(row["stride"]), bound)


@dataclass(frozen=True)
class Window:
    """Place of a case in a book, counted in paragraphs.

    ``[before, edges[0])`` is the text before, ``[edges[i], edges[i + 1])`` are the segments and ``[edges[-1], after)`` is the
    text after.
    """

    before: int
    edges: tuple[int, ...]
    after: int


@dataclass(frozen=True, eq=False)
class CountedBook:
    """A book with the tokens of its paragraphs.

    Attributes:
        book: the book.
        tokens: int64 (n,): tokens of every paragraph with the blank line after it.
        ends: int64 (n + 1,): character offset of every paragraph in the document, one more for the end.
    """

    book: Book
    tokens: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, book: Book, tokenizer: Tokenizer) -> "CountedBook":
        """Encode every paragraph of a book once."""
        tokens = count_pieces([f"{text}{JOINT}" for text in book.paragraphs], tokenizer)
        lengths = np.array([len(text) + len(JOINT) for text in book.paragraphs], dtype=np.int64)
        return cls(book, tokens, np.concatenate([[0], np.cumsum(lengths)]))

    @cached_property
    def cumulated(self) -> npt.NDArray[np.int64]:
        """int64 (n + 1,): tokens of all paragraphs before each one."""
        return np.concatenate([[0], np.cumsum(self.tokens)])

    @property
    def document(self) -> str:
        """The text that spans refer to."""
        return JOINT.join(self.book.paragraphs)

    def span(self, first: int, last: int) -> list[int]:
        """Return the character offsets of the paragraphs [first, last) in the document."""
        return [int(self.ends[first]), int(self.ends[last]) - len(JOINT)]

    def text(self, first: int, last: int) -> str:
        """Return the text of the paragraphs [first, last)."""
        return JOINT.join(self.book.paragraphs[first:last])


def find_windows(counted: CountedBook, caps: Caps, segments: int, dropped: Counter[str]) -> list[Window]:
    """Return every place of a book that gives a case; ``dropped`` counts why others give none."""
    sums = counted.cumulated
    n = len(counted.tokens)
    # The first case begins where there is enough text before it, so that its hint is as long as the others'.
    first = max(1, int(np.searchsorted(sums, caps.before)))
    edges = [np.arange(first, n, caps.stride)]
    for _ in range(segments):
        edges.append(np.searchsorted(sums, sums[edges[-1]] + caps.segment, side="right") - 1)
    table = np.stack(edges, axis=1)
    before = np.searchsorted(sums, sums[table[:, 0]] - caps.before, side="left")
    after = np.searchsorted(sums, sums[table[:, -1]] + caps.after, side="right") - 1

    # A segment that reaches the book's end is not full, and nothing follows it.
    ends = table[:, -1] >= n
    too_long = ~ends & (np.diff(table, axis=1) == 0).any(axis=1)
    no_hint = ~ends & ~too_long & ((before == table[:, 0]) | (after == table[:, -1]))
    reasons = (
        ("the book ends before the case does", ends),
        ("a paragraph is longer than a segment may be", too_long),
        ("the paragraph before or after the segments is longer than its cap", no_hint),
    )
    for reason, hits in reasons:
        if count := int(hits.sum()):
            dropped[reason] += count
    good = ~(ends | too_long | no_hint)
    return [
        Window(int(b), tuple(map(int, row)), int(a))
        for b, row, a in zip(before[good], table[good], after[good], strict=True)
    ]


def apart(windows: Iterable[Window], stride: int) -> Iterator[Window]:
    """Yield the windows that begin at least a stride after the last one taken."""
    free = 0
    for window in windows:
        if window.edges[0] >= free:
            free = window.edges[0] + stride
            yield window
