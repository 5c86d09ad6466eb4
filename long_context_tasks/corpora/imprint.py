"""Find what publishers and printers add to a story: their lists of books and their notes at the end, and captions of pictures.

What they write is data, in ``imprint.yaml``.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

from long_context_tasks.corpora.headings import KEEP, Block, Label, bare, is_capitals, is_prose, is_title
from long_context_tasks.corpora.numerals import plain
from long_context_tasks.schema.files import packaged_yaml

_MOST_LIST_HEADING = 90  # characters
_MOST_PRINTED = 240  # characters of a printer's note
_NEAR_END = 25  # blocks in which a printer's note is looked for
_GAP = 12  # blocks of a list that have neither size nor price, at most
_TAIL = 0.15
"""Share of the words of a book that a list takes, at most."""
_MOST_FOR_A_MARK = 8  # blocks of a list for each with a size or a price, on average
_MOST_TOLD = 60  # words of long paragraphs below a single mark

_QUOTES = "\"“«„'‘—"
_LONGEST_CAPTION, _FEWEST_CAPTION_WORDS, _FEWEST_REPEATED_WORDS = 200, 4, 6
_AROUND = 80  # blocks around a caption in which its words stand again


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return one expression for each kind of ``imprint.yaml``."""
    kinds = packaged_yaml("long_context_tasks.corpora", "imprint.yaml")
    joined = {kind: "|".join(phrases) for kind, phrases in kinds.items()}
    # A place or the name of a house may come first: "Paris.--Imprimerie A. Roe".
    joined["printed"] = (
        rf"[\W_]*(?:[^\W\d_][\w.,&' -]{{0,40}}?(?:[:;]|[.,]? ?(?:—|--|–)) ?)?(?:{joined['printed']})"
    )
    joined["prices"] = rf"(?:{joined['prices']})[^\w]*$"
    joined["lists"] = rf"(?:{joined['lists']})[.:;]?"
    joined["captions"] = rf"(?:{joined['captions']})\W*(?:\S.{{0,120}})?"
    return {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in joined.items()}


def list_of_books(blocks: Sequence[Block]) -> int | None:
    """Return the first block of a publisher's list or a printer's note at the end of a text, None without one."""
    left, first = _TAIL * sum(block.size for block in blocks), len(blocks)
    while first and left > 0:
        first -= 1
        left -= blocks[first].size
    tail = range(first, len(blocks))
    sure = {i for i in tail if _is_sure(blocks, i)}
    priced = _patterns()["prices"]
    marks = [i for i in tail if i in sure or (priced.search(blocks[i].text) and not is_prose(blocks[i]))]
    begin = len(blocks)
    for mark, following in reversed(list(pairwise([*marks, len(blocks)]))):
        if following - mark > _GAP:
            break
        # A sum of money stands in stories too.
        begin = mark if mark in sure else begin
    own = [mark for mark in marks if mark >= begin]
    told = sum(block.size for block in blocks[begin:] if is_prose(block) and len(block.text) > _MOST_PRINTED)
    if not own or len(own) * _MOST_FOR_A_MARK < len(blocks) - begin or (len(own) == 1 and told > _MOST_TOLD):
        return None
    while begin > first and len(blocks[begin - 1].lines) <= 2 and is_title(blocks[begin - 1]):
        begin -= 1
    return begin


def _is_sure(blocks: Sequence[Block], i: int) -> bool:
    block = blocks[i]
    if block.text[0] in _QUOTES:
        return False
    if (
        len(block.text) <= _MOST_LIST_HEADING
        and block.gap >= 2
        and _patterns()["lists"].fullmatch(bare(block.text))
    ):
        return True
    if len(block.text) <= _MOST_PRINTED and len(blocks) - i <= _NEAR_END:
        names = sum(not word.islower() for word in block.text.split())
        if _patterns()["printed"].match(block.text) or (
            _patterns()["presses"].search(block.text) and 2 * names >= block.size
        ):
            return True
    return _patterns()["formats"].search(block.text) is not None


def captions(blocks: Sequence[Block], labels: Sequence[Label]) -> set[int]:
    """Return the blocks that are captions: listed under pictures, named as one, or set apart with words that the text has near them."""
    listed: set[str] = set()
    own: set[int] = set()
    found: set[int] = set()
    for i, block in enumerate(blocks):
        if _patterns()["pictures"].fullmatch(bare(block.text)):
            own = set(_listing(blocks, labels, i))
            listed |= {plain(re.sub(r"[\W\d]+$|^[\W\d]+", "", line)) for j in own for line in blocks[j].lines}
    listed = {entry for entry in listed if len(entry) > 8}
    for i, block in enumerate(blocks):
        if i in own or labels[i] is not KEEP or len(block.text) > _LONGEST_CAPTION or len(block.lines) > 3:
            continue
        named = _patterns()["captions"].fullmatch(block.text) is not None and not is_prose(block)
        # Below a heading stands its title, and what is listed may be a name that somebody calls.
        below_title = i > 0 and labels[i - 1].heading is not None
        called = block.text[0] in _QUOTES and block.size < _FEWEST_CAPTION_WORDS
        is_listed = bool(listed) and not called and plain(block.text) in listed
        if named or (not below_title and (is_listed or _is_said_near(blocks, i))):
            found.add(i)
    return found


def _listing(blocks: Sequence[Block], labels: Sequence[Label], heading: int) -> range:
    """Return the blocks of a list of pictures: those below its heading, up to prose or another heading."""
    end = heading + 1
    while (
        end < len(blocks)
        and labels[end].heading is None
        and (len(blocks[end].lines) > 2 or not is_prose(blocks[end]))
    ):
        end += 1
    return range(heading + 1, end)


def _is_said_near(blocks: Sequence[Block], i: int) -> bool:
    """Return whether a block in capitals or italics repeats words of a longer one."""
    text = blocks[i].text
    apart = is_capitals(text) or (text[0] == text[-1] == "_" and text.count("_") == 2 and blocks[i].gap >= 2)
    if not apart or blocks[i].size < _FEWEST_REPEATED_WORDS or text[-1] == ":":
        return False
    said = plain(text)
    around = blocks[max(0, i - _AROUND) : i + _AROUND]
    return any(
        block.size > blocks[i].size and is_prose(block) and said in plain(block.text) for block in around
    )
