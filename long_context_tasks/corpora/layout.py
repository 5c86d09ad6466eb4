"""The blocks of a book with the headings found among them and the blocks that are removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import median

from long_context_tasks.corpora.blocks import Block
from long_context_tasks.corpora.headings import Heading

_LEAST_APART = 150  # words between headings without a keyword, the median; items of a list are closer


class Layout:
    """A book while its headings are being found; a block is a heading, dropped, or a part of the text."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.headings: dict[int, Heading] = {}  # headings and candidates by the index of their block
        self.dropped: dict[int, str] = {}  # index of a block -> why it is removed, one of gutenberg.REASONS
        # Number of words before each block, and of the whole book at the end.
        self.before = [0, *accumulate(block.size for block in blocks)]
        # The usual number of blank lines between blocks.
        self.gap = Counter(block.gap for block in blocks).most_common(1)[0][0] if blocks else 1

    def copy(self) -> Layout:
        """Return a layout whose labels may change independently."""
        other = Layout.__new__(Layout)
        other.__dict__ |= self.__dict__ | {"headings": dict(self.headings), "dropped": dict(self.dropped)}
        return other

    def is_text(self, i: int) -> bool:
        """Return whether a block is neither a heading nor dropped."""
        return i not in self.headings and i not in self.dropped

    def set_heading(self, i: int, heading: Heading) -> None:
        self.dropped.pop(i, None)
        self.headings[i] = heading

    def drop(self, i: int, reason: str = "headings") -> None:
        self.headings.pop(i, None)
        self.dropped[i] = reason

    def ordered(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Heading]]:
        """Yield the headings from block ``start`` to before block ``stop`` in the order of the book."""
        end = len(self.blocks) if stop is None else stop
        for i in sorted(self.headings):
            if start <= i < end:
                yield i, self.headings[i]

    def styles(self, start: int = 0, stop: int | None = None) -> set[str]:
        """Return the styles of numbered headings in a part of the book."""
        return {heading.style for _, heading in self.ordered(start, stop) if heading.number}

    def words(self, indices: Iterable[int], of: Callable[[Block], bool] = bool) -> int:
        return sum(block.size for block in map(self.blocks.__getitem__, indices) if of(block))

    def are_apart(self, places: Sequence[int]) -> bool:
        """Return whether blocks are as far apart as headings; in a short book with many of them, they are closer."""
        return self.median_apart(places) >= min(_LEAST_APART, self.before[-1] / (3 * len(places)))

    def median_apart(self, places: Sequence[int]) -> float:
        if len(places) < 2:
            return 0
        return median(self.before[b] - self.before[a] for a, b in pairwise(places))

    def part(self, start: int, stop: int) -> Layout:
        part = Layout(self.blocks[start:stop])
        part.headings = {i - start: heading for i, heading in self.headings.items() if start <= i < stop}
        part.dropped = {i - start: reason for i, reason in self.dropped.items() if start <= i < stop}
        return part
