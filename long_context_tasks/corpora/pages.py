"""Remove the numbers of printed pages, which cut paragraphs in two, and recognise their running heads."""

import re
from collections.abc import Sequence

from long_context_tasks.corpora.blocks import Block, ends_sentence
from long_context_tasks.corpora.numerals import any_keyword, count_in, plain

# Marks the place of a removed note, picture or page number; a paragraph that it cut in two is joined again.
CUT = "\x00"
WORDS_A_PAGE = 600  # a series of digits whose median distance is less may number pages
# The head of a scanned page: "46 THE LONG ROAD" or "THE LONG ROAD 47". Scanners misread capitals: "THE L0NG R0AD 47".
_HEAD = re.compile(
    r"\[?(?P<page>\d{1,4})\]? (?P<right>\D.{3,59})|(?P<left>.{3,59}\D) \[?(?P<number>\d{1,4})\]?"
)
_NO_TITLE = re.compile(r"[\d.!?]")
_MOST_HEAD = 70  # characters
_CAPITALS = 0.7  # of the letters
_FEWEST_CAPITALS = 4
_OF_PAGES = "0123456789[]"
_NUMBER = re.compile(
    r"[\s\[({\-–—|]*(?:(?:page|pg|p)\.?\s*)?(?P<number>\d{1,4})[\s\])}.\-–—|]*", re.IGNORECASE
)
_FEWEST_NUMBERS = 4
_SHARE = 0.6  # of the numbers on lines of their own that count up
_CUTTING = 0.2  # of them that are within a sentence
_MOST_PAGES_APART = 3


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


def without_pages(blocks: list[Block]) -> list[Block]:
    """Put :data:`CUT` in place of page numbers on a line of their own directly above, below or within a paragraph."""
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
