"""Find the additions of publishers and printers to a story: lists of books, printers' notes, and captions of pictures.

Their phrases are data in ``imprint.yaml``.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from long_context_tasks.corpora.blocks import Block, bare, is_capitals, is_prose, is_title
from long_context_tasks.corpora.layout import Layout
from long_context_tasks.corpora.numerals import plain
from long_context_tasks.schema.files import packaged_yaml

_MOST_LIST_HEADING = 90  # characters
_MOST_PRINTED = 240  # characters of a printer's note
_NEAR_END = 25  # blocks in which a printer's note is looked for
_MOST_UNMARKED = 12  # neighbouring blocks of a list without size and price
_MOST_TAIL = 0.15  # of the words of a book that a list takes
_MOST_FOR_A_MARK = 8  # blocks of a list for each with a size or a price, on average
_MOST_PROSE = 60  # words of long paragraphs below a single mark

_QUOTES = "\"“«„'‘—"
_LONGEST_CAPTION, _FEWEST_CAPTION_WORDS, _FEWEST_REPEATED_WORDS = 200, 4, 6
_AROUND = 80  # blocks around a caption in which its words stand again


@cache
def patterns() -> Mapping[str, re.Pattern[str]]:
    """Return one expression for each kind of phrase in ``imprint.yaml``."""
    kinds = packaged_yaml("long_context_tasks.corpora", "imprint.yaml")
    joined = {kind: "|".join(phrases) for kind, phrases in kinds.items()}
    # A place or the name of a house may come first: "Paris.--Imprimerie A. Roe".
    joined["printed"] = (
        rf"[\W_]*(?:[^\W\d_][\w.,&' -]{{0,40}}?(?:[:;]|[.,]? ?(?:—|--|–)) ?)?(?:{joined['printed']})"
    )
    joined["prices"] = rf"(?:{joined['prices']})[^\w]*$"
    joined["lists"] = rf"(?:{joined['lists']})[.:;]?"
    joined["captions"] = rf"(?:{joined['captions']})\W*(?:\S.{{0,120}})?"
    joined["asides"] = rf"\s*(?:{joined['asides']})"
    joined["leftovers"] = rf"(?:{joined['leftovers']})[.]?"
    return {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in joined.items()}


def list_of_books(blocks: Sequence[Block]) -> int | None:
    """Return the first block of a publisher's list or a printer's note at the end of a text, or None."""
    left, first = _MOST_TAIL * sum(block.size for block in blocks), len(blocks)
    while first and left > 0:
        first -= 1
        left -= blocks[first].size
    tail = range(first, len(blocks))
    sure = {i for i in tail if _is_sure(blocks, i)}
    priced = patterns()["prices"]
    marks = [i for i in tail if i in sure or (priced.search(blocks[i].text) and not is_prose(blocks[i]))]
    begin = len(blocks)
    for mark, following in reversed(list(pairwise([*marks, len(blocks)]))):
        if following - mark > _MOST_UNMARKED:
            break
        # A list does not begin with a price, because stories have sums of money too.
        begin = mark if mark in sure else begin
    own = [mark for mark in marks if mark >= begin]
    prose = sum(block.size for block in blocks[begin:] if is_prose(block) and len(block.text) > _MOST_PRINTED)
    if (
        not own
        or len(own) * _MOST_FOR_A_MARK < len(blocks) - begin
        or (len(own) == 1 and prose > _MOST_PROSE)
    ):
        return None
    while begin > first and len(blocks[begin - 1].lines) <= 2 and is_title(blocks[begin - 1]):
        begin -= 1
    return begin


def _is_sure(blocks: Sequence[Block], i: int) -> bool:
    block = blocks[i]
    if block.text[0] in _QUOTES:
        return False
    heading = len(block.text) <= _MOST_LIST_HEADING and block.gap >= 2
    if heading and patterns()["lists"].fullmatch(bare(block.text)):
        return True
    if len(block.text) <= _MOST_PRINTED and len(blocks) - i <= _NEAR_END:
        names = sum(not word.islower() for word in block.text.split())
        if patterns()["printed"].match(block.text) or (
            patterns()["presses"].search(block.text) and 2 * names >= block.size
        ):
            return True
    return patterns()["formats"].search(block.text) is not None


def captions(layout: Layout) -> set[int]:
    """Return the captions: blocks in a list of pictures, with a word such as "Plate", or that repeat words of the text nearby."""
    blocks = layout.blocks
    listed: set[str] = set()
    own: set[int] = set()
    found: set[int] = set()
    for i, block in enumerate(blocks):
        if patterns()["pictures"].fullmatch(bare(block.text)):
            own = set(_listing(layout, i))
            listed |= {plain(re.sub(r"[\W\d]+$|^[\W\d]+", "", line)) for j in own for line in blocks[j].lines}
    listed = {entry for entry in listed if len(entry) > 8}
    for i, block in enumerate(blocks):
        if i in own or not layout.is_text(i) or len(block.text) > _LONGEST_CAPTION or len(block.lines) > 3:
            continue
        named = patterns()["captions"].fullmatch(block.text) is not None and not is_prose(block)
        # Below a heading comes its title, and a listed name may be called by somebody.
        called = block.text[0] in _QUOTES and block.size < _FEWEST_CAPTION_WORDS
        is_listed = bool(listed) and not called and plain(block.text) in listed
        if named or (i - 1 not in layout.headings and (is_listed or _is_said_near(blocks, i))):
            found.add(i)
    return found


def _listing(layout: Layout, heading: int) -> range:
    """Return the blocks of a list of pictures, which prose or another heading ends."""
    blocks, end = layout.blocks, heading + 1
    while (
        end < len(blocks)
        and end not in layout.headings
        and (len(blocks[end].lines) > 2 or not is_prose(blocks[end]))
    ):
        end += 1
    return range(heading + 1, end)


def _is_said_near(blocks: Sequence[Block], i: int) -> bool:
    """Return whether a block in capitals or italics repeats words of a longer one nearby."""
    text = blocks[i].text
    apart = is_capitals(text) or (text[0] == text[-1] == "_" and text.count("_") == 2 and blocks[i].gap >= 2)
    if not apart or blocks[i].size < _FEWEST_REPEATED_WORDS or text[-1] == ":":
        return False
    said = plain(text)
    around = blocks[max(0, i - _AROUND) : i + _AROUND]
    return any(
        block.size > blocks[i].size and is_prose(block) and said in plain(block.text) for block in around
    )
