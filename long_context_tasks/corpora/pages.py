"""Remove the numbers and running heads of printed pages, which cut paragraphs in two."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from long_context_tasks.corpora.blocks import Block, ends_sentence
from long_context_tasks.corpora.numerals import any_keyword, count_in, plain

CUT = "\x00"
"""Marks the place of a removed note, picture or page number; a paragraph that it cut in two is joined again."""
WORDS_A_PAGE = 600  # a series of digits whose median distance is less may number pages
# The head of a scanned page: "46 THE LONG ROAD" or "THE LONG ROAD 47". Scanners misread capitals: "THE L0NG R0AD 47".
_HEAD = re.compile(
    r"\[?(?P<page>\d{1,4})\]? (?P<right>\D.{3,59})|(?P<left>.{3,59}\D) \[?(?P<number>\d{1,4})\]?"
)
_NO_TITLE = re.compile(r"[\d.!?]")
_MOST_HEAD = 70  # characters
_CAPITALS = 0.7  # of the letters
_FEWEST_CAPITALS = 4
_FEWEST_SHOUTED = 5
_FEWEST_WORDS_A_PAGE = 40
_MOST_HEADS_MISSED = 6  # pages
_ALIKE = 0.75  # of the letters of a head whose number is misread too
_OF_PAGES = "0123456789[]"
_FEWEST_HEADS = 3
_NUMBER = re.compile(
    r"[\s\[({\-–—|]*(?:(?:page|pg|p)\.?\s*)?(?P<number>\d{1,4})[\s\])}.\-–—|]*", re.IGNORECASE
)
_FEWEST_NUMBERS = 4
_SHARE = 0.6  # of the numbers on lines of their own that count up
_CUTTING = 0.2  # of them that are within a sentence
_MOST_PAGES_APART = 3


def without_pages(blocks: list[Block]) -> list[Block]:
    """Return the blocks with :data:`CUT` in place of the heads and numbers of pages."""
    return _without_numbers(_without_heads(blocks))


def _without_heads(blocks: list[Block]) -> list[Block]:
    """Replace the heads of scanned pages: a repeated title next to a page's number."""
    heads = {
        i: head for i, block in enumerate(blocks) if len(block.lines) == 1 and (head := head_of(block.text))
    }
    if len(heads) < _FEWEST_HEADS:
        return blocks
    before = [0, *accumulate(block.size for block in blocks)]
    places: dict[str, list[int]] = {}
    for i, (title, _) in heads.items():
        places.setdefault(title, []).append(i)
    sure = []
    shouted = [i for i in heads if is_shouted(blocks[i].text)]
    shouted = [
        shouted[k] for k in count_in([heads[i][1] for i in shouted], again=False, step=_MOST_HEADS_MISSED)
    ]
    # Lines of a table of contents are close.
    if len(shouted) < _FEWEST_SHOUTED or before[shouted[-1]] - before[
        shouted[0]
    ] < _FEWEST_WORDS_A_PAGE * len(shouted):
        shouted = []
    places[""] = shouted
    for same in places.values():
        pages = [heads[i][1] for i in same]
        # Chapters have numbers next to the same word too, but are longer than pages.
        if (
            len(same) >= _FEWEST_HEADS
            and pages == sorted(set(pages))
            and before[same[-1]] - before[same[0]] < WORDS_A_PAGE * (pages[-1] - pages[0])
        ):
            sure += same
    # Heads with the titles of chapters are between those with the title of the book.
    cut = {
        i
        for a, b in pairwise(sorted(sure))
        for i, (_, page) in heads.items()
        if a <= i <= b and heads[a][1] <= page <= heads[b][1]
    }
    if shouted and shouted[0] in sure:
        [(usual, _)] = Counter(heads[i][0] for i in shouted).most_common(1)
        cut |= {
            i
            for i in range(shouted[0], len(blocks))
            if before[i] < before[shouted[-1]] + WORDS_A_PAGE
            and len(blocks[i].lines) == 1
            and is_shouted(blocks[i].text)
            and not any_keyword(blocks[i].text)
            and plain(blocks[i].text) != usual  # a title without a number
            and SequenceMatcher(None, plain(blocks[i].text), usual).ratio() >= _ALIKE
        }
    return [Block((CUT,), block.gap) if i in cut else block for i, block in enumerate(blocks)]


def head_of(text: str) -> tuple[str, int] | None:
    """Return the letters and the number of a line that may be the head of a page."""
    if len(text) > _MOST_HEAD or not (text[0] in _OF_PAGES or text[-1] in _OF_PAGES):
        return None
    found = _HEAD.fullmatch(text)
    if found is None:
        return None
    title = found["right"] or found["left"]
    # "Kapitel 3" is a heading.
    if " " not in title or any_keyword(title) or (_NO_TITLE.search(title) and not is_shouted(title)):
        return None
    return plain(title), int(found["page"] or found["number"])


def is_shouted(text: str) -> bool:
    """Return whether most letters of a short line are capitals."""
    if len(text) > _MOST_HEAD:
        return False
    capitals = sum(map(str.isupper, text))
    return capitals >= max(_FEWEST_CAPITALS, _CAPITALS * sum(map(str.isalpha, text)))


def _without_numbers(blocks: list[Block]) -> list[Block]:
    """Replace page numbers that have a line of their own directly above, below or within a paragraph."""
    lines = [
        (i, k, int(found["number"]))
        for i, block in enumerate(blocks)
        for k, line in enumerate(block.lines)
        if (k in (0, len(block.lines) - 1) or line.lstrip()[:1] in _OF_PAGES)
        and (found := _NUMBER.fullmatch(line))
    ]
    beside = [i for i, _, _ in lines if len(blocks[i].lines) > 1]
    if len(beside) < _FEWEST_NUMBERS:
        return blocks
    counted = [
        lines[place]
        for place in count_in([number for *_, number in lines], again=False, step=_MOST_PAGES_APART)
    ]
    if len(counted) < max(_FEWEST_NUMBERS, _SHARE * len(lines)):
        return blocks
    # Numbers of chapters have lines of their own too, but do not cut sentences.
    if sum(_cuts(blocks, i, k) for i, k, _ in counted) < _CUTTING * len(counted):
        return blocks
    places: dict[int, list[int]] = {}
    for i, k, _ in counted:
        places.setdefault(i, []).append(k)
    parts: list[Block] = []
    for i, block in enumerate(blocks):
        parts += _cut(block, places[i]) if i in places else [block]
    return parts


def is_page_number(block: Block) -> bool:
    """Return whether a block is a number, perhaps with the word "page"."""
    return len(block.lines) == 1 and bool(_NUMBER.fullmatch(block.text))


def _cuts(blocks: Sequence[Block], i: int, k: int) -> bool:
    """Return whether an unfinished sentence precedes line ``k`` of a block."""
    above = blocks[i].lines[k - 1] if k else blocks[i - 1].text if i else ""
    return bool(above) and not ends_sentence(above)


def _cut(block: Block, numbers: Sequence[int]) -> list[Block]:
    """Return a block without some lines; a number above or below the others leaves a mark in a block of its own."""
    last = len(block.lines) - 1
    kept = tuple(line for k, line in enumerate(block.lines) if k not in numbers)
    parts = [Block((CUT,), block.gap)] if 0 in numbers else []
    if kept:
        parts.append(Block(kept, 1 if parts else block.gap))
    return [*parts, Block((CUT,), 1)] if last in numbers and kept else parts
