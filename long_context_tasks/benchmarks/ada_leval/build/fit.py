"""Synthetic cases that fill their length: never longer, and at most two per cent shorter.

A novel and a forum are written, so there is always more to show. In TSort the text before and after the segments takes what room
these leave; in BestAnswer the asker adds sentences that say nothing. Answers stay as they were drawn: were one chosen or changed
for its length, the accepted one, which never is, could be told from the others.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from long_context_tasks.benchmarks.ada_leval.build.windows import Caps, CountedBook, Window
from long_context_tasks.synthetic.document import filled
from long_context_tasks.synthetic.forum import asides, with_asides
from long_context_tasks.tokens import CL100K, Tokenizer

_UNEVEN = 2
"""How many times as long as the other one the text before or after the segments may be."""


def least_tokens(length: int) -> int:
    """Fewest tokens of a prompt of a length.

    >>> least_tokens(1000), least_tokens(1001)
    (980, 981)
    """
    return -(-98 * length // 100)


def as_counted_together(counted: CountedBook, tokenizer: Tokenizer) -> CountedBook:
    """Return the book with the tokens that its paragraphs have in the whole text.

    Those of cl100k add up. In other tokenizers a paragraph alone may have a token more or less, always the same way.
    """
    if tokenizer.name == CL100K:
        return counted
    share = tokenizer.count(counted.document) / int(counted.cumulated[-1])
    return replace(counted, tokens=np.diff(np.rint(counted.cumulated * share).astype(np.int64)))


def filled_windows(counted: CountedBook, caps: Caps, segments: int, fixed: int) -> list[Window]:
    """Return every place of a novel at which a case fills its length, with the hints that are most equal.

    Segments take whole paragraphs up to their cap; the text before and after whole paragraphs that fill the rest.

    ``fixed`` are the tokens of the prompt beside its paragraphs; the caps of the text before and after do not count.
    """
    sums = counted.cumulated
    windows = []
    for first in range(1, len(counted.tokens)):
        edges = [first]
        for _ in range(segments):
            edges.append(int(np.searchsorted(sums, sums[edges[-1]] + caps.segment, side="right")) - 1)
        if edges[-1] >= len(counted.tokens):
            break
        around = fixed + int(sums[edges[-1]] - sums[first])
        most, least = caps.bound - around, least_tokens(caps.bound) - around
        if all(b > a for a, b in itertools.pairwise(edges)):
            hints = _equal_hints(counted, first, edges[-1], least, most)
            if hints is not None:
                windows.append(Window(hints[0], tuple(edges), hints[1]))
    return windows


def _equal_hints(
    counted: CountedBook, first: int, last: int, least: int, most: int
) -> tuple[int, int] | None:
    """Return where the text before begins and the text after ends, so that the two have so many tokens; None where it cannot be.

    For each beginning the latest end that fits counts.
    """
    sums = counted.cumulated
    best, found = _UNEVEN + 1e-9, None
    for start in range(first - 1, -1, -1):
        before = int(sums[first] - sums[start])
        if before >= most:
            break
        end = int(np.searchsorted(sums, sums[last] + most - before, side="right")) - 1
        after = int(sums[end] - sums[last])
        if end > last and before + after >= least:
            uneven = max(before, after) / min(before, after)
            if uneven < best:
                best, found = uneven, (start, end)
    return found


def filled_question(
    question: str, seed: int, count: Callable[[str], int], least: int, most: int
) -> str | None:
    """Return a question with sentences that say nothing, so that the prompt has at least and at most so many tokens.

    ``count`` gives the tokens of the prompt with a question. None when there are not enough sentences.
    """
    text, size = filled(
        asides(seed), lambda added: with_asides(question, added) if added else question, count, least, most
    )
    return text if size >= least else None
