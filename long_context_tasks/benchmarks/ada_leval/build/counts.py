"""Tokens of prompts from the counts of their texts, so that no text is encoded twice, and many texts at the price of one call.

cl100k splits a text before it encodes, and never joins texts across a blank line. So
pieces that end in a blank line can be encoded as one text; where each begins is seen from the bytes of the tokens. One
call for many pieces also runs beside other work of the process.

The sums are exact for cl100k, an estimate for other tokenizers.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.tokens import CL100K, Tokenizer, cl100k_encoding

Ints = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")


def counted_ahead(items: Iterable[T], count: Callable[[T], R], ahead: int) -> Iterator[R]:
    """Yield what ``count`` returns for each item, in their order; it runs in another thread while later items are read.

    Args:
        items: read one after the other.
        count: releases the interpreter's lock for most of its time.
        ahead: items that may wait for it.
    """
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(max_workers=1) as beside:
        for item in items:
            waiting.append(beside.submit(count, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@lru_cache
def _token_sizes() -> Ints:
    """Bytes of every token of cl100k, by its number."""
    encoding = cl100k_encoding()
    sizes = [len(encoding.decode_single_token_bytes(token)) for token in range(encoding.n_vocab)]
    return np.array(sizes, dtype=np.int64)


def count_pieces(pieces: Sequence[str], tokenizer: Tokenizer) -> Ints:
    """Tokens of each piece; each must end in a blank line and begin with something else than a line end.

    Returns:
        int64 (n,), equal to counting them one by one.
    """
    counts = _counts_at_once(pieces) if tokenizer.name == CL100K else None
    return np.array(tokenizer.count_many(pieces), dtype=np.int64) if counts is None else counts


def _counts_at_once(pieces: Sequence[str]) -> Ints | None:
    try:
        sizes = [len(piece.encode()) for piece in pieces]
    except UnicodeEncodeError:  # half a surrogate pair: counted with what the tokenizer puts in its place
        return None
    tokens = cl100k_encoding().encode_to_numpy("".join(pieces), disallowed_special=())
    ends = np.concatenate([[0], np.cumsum(_token_sizes()[tokens])])
    borders = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    places = np.searchsorted(ends, borders)
    if places[-1] >= len(ends) or not np.array_equal(ends[places], borders):
        return None  # a token runs over a border, so these pieces do not add up
    return np.diff(places).astype(np.int64)


# cl100k splits text by a pattern before it merges bytes, from left to right and without looking back. Its matches either hold
# no white space but a first character, or are punctuation with the newlines behind it, or are white space alone, and a run of
# white space that holds a newline is cut behind its last one. So no match goes on from the last newline of such a run to
# what follows: there counts add up. Inside a run they do not, which is why blank lines that a text begins with go to the fixed
# part before it. White space is Unicode's; Python's \s has four more.
_SPACE = r"[^\S\x1c-\x1f]"
_LEADING_LINES = re.compile(rf"{_SPACE}*[\r\n]")
_BLANK = re.compile(rf"{_SPACE}*")


def split_lead(text: str) -> tuple[str, str]:
    """Split a text into the blank lines that it begins with, and the rest; counts of the two add up after a fixed part.

    The rest of a blank text is empty; such a text belongs to the fixed part with the gap that follows it.

    >>> split_lead("\\n\\n  Hello"), split_lead("\\n ")
    (('\\n\\n', '  Hello'), ('\\n ', ''))
    """
    match = _BLANK.fullmatch(text) or _LEADING_LINES.match(text)
    return (match[0], text[match.end() :]) if match else ("", text)


class PromptCounter:
    """Tokens of a BestAnswer prompt = ``questions`` + sum of ``answers`` + ``designations`` + ``after_last`` of the last answer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Use a tokenizer; its counts of short pieces are remembered."""
        self._tokenizer = tokenizer
        self._short = lru_cache(maxsize=4096)(tokenizer.count)
        self._around_question = lru_cache(maxsize=4096)(self._count_around_question)
        self._after_ending = lru_cache(maxsize=4096)(self._count_ending)
        self._designations = np.zeros(1, dtype=np.int64)

    def questions(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): everything before the first answer, for each question."""
        split = [split_lead(text) for text in texts]
        around = [self._around_question(lead, bool(body)) for lead, body in split]
        return np.array(around, dtype=np.int64) + self._bodies([body for _, body in split])

    def _count_around_question(self, lead: str, followed: bool) -> int:
        asked = prompts.QUESTION + lead + ("" if followed else prompts.GAP)
        return sum(map(self._tokenizer.count, (prompts.template("bestanswer"), asked, prompts.ANSWERS)))

    def _bodies(self, bodies: Sequence[str]) -> Ints:
        """int64 (n,): each body with the gap behind it; 0 for an empty one, whose gap belongs to what stands before it."""
        counts = np.zeros(len(bodies), dtype=np.int64)
        filled = [place for place, body in enumerate(bodies) if body]
        if filled:
            pieces = [bodies[place] + prompts.GAP for place in filled]
            counts[filled] = count_pieces(pieces, self._tokenizer)
        return counts

    def answers(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): each answer with the blank lines around it, without its designation."""
        split = [split_lead(text) for text in texts]
        # Blank lines that a text begins with melt into the colon and the newlines before them; so does the gap after a blank text.
        leads = [
            self._short(f"A1:\n\n{lead}" if body else f"A1:\n\n{lead}{prompts.GAP}") for lead, body in split
        ]
        bodies = self._bodies([body for _, body in split])
        return np.array(leads, dtype=np.int64) - self._short("A1") + bodies

    def designations(self, number: int) -> Ints:
        """int64 (number + 1,): tokens of the first k designations ("A1", "A2", ...), for every k."""
        if len(self._designations) <= number:
            start = len(self._designations)
            new = [self._short(f"A{place}") for place in range(start, 2 * number + 1)]
            self._designations = np.concatenate([self._designations, self._designations[-1] + np.cumsum(new)])
        return self._designations[: number + 1]

    def after_last(self, text: str) -> int:
        """Return the tokens of the closing line, and what the last answer has more because its gap runs into it."""
        if not split_lead(text)[1]:
            return self._after_ending(f"A1:\n\n{text}")
        # Only what stands behind the last letter or digit can melt into the gap.
        start = len(text)
        while start and not (text[start - 1].isascii() and text[start - 1].isalnum()):
            start -= 1
        return self._after_ending("x" + text[start:])

    def _count_ending(self, ending: str) -> int:
        count = self._tokenizer.count
        gap, newline, footer = prompts.GAP, prompts.FOOTER[0], prompts.FOOTER[1:]
        return count(ending + gap + newline) - count(ending + gap) + count(footer)


def least_tokens(length: int) -> int:
    """Fewest tokens of a synthetic prompt of a length.

    >>> least_tokens(1000), least_tokens(1001)
    (980, 981)
    """
    return -(-98 * length // 100)
