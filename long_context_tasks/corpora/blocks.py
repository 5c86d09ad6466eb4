"""Blocks of printed lines and how they look: a title, a sentence, a row of asterisks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

QUOTES = "\"'“”‘’«»‹›"
_SMALL = (
    "a about above across after against along amid among an and are around as at away be before behind below beneath beside "
    "between beyond but by de des down du during for from her his how if in into is it its la le like my near no nor not of "
    "off on or our out over past round since so than that the their then through till to toward towards under until up upon "
    "van von was what when where which who with within without would your"
)
_SMALL_WORDS = frozenset(_SMALL.split())
_SENTENCE_END = re.compile(r"[.!?…:;—-][\"'”’)\]_*†‡]*(?:\[\w{1,3}\])?$")
_SEPARATORS = "*_=~#•·.+-—–"
_SEPARATOR = re.compile(rf"[\s{re.escape(_SEPARATORS)}]+$")
_SYNOPSIS_DASH = re.compile(r"--|—|–| - ")
_LETTER_ADDRESS = re.compile(r"_?To (?:Mrs?|Miss|Dr|Sir|Lady|Lord|the|my)\b")
_YEARS = re.compile(r" \(\d{4}(?:[-–—]+\d{2,4})?\)")
MOST_HEADING_LINES = 3
MOST_TITLE_WORDS = 22
_MOST_WORDS_OF_LONG_TITLE = 45  # in capitals, in italics, or over more than three lines


@dataclass(frozen=True)
class Block:
    """Consecutive lines without a blank line between them."""

    lines: tuple[str, ...]  # as in the file
    gap: int  # number of blank lines before them
    text: str = field(init=False, compare=False)  # all words with single spaces
    size: int = field(init=False, compare=False)  # number of words

    def __post_init__(self) -> None:
        """Join the lines once, because every rule reads the text."""
        text = " ".join(self.lines)
        # Most blocks need no splitting, which takes longer than everything else here. An unprintable character may be a space.
        if "  " in text or text[:1] == " " or text[-1:] == " " or not text.isprintable():
            text = " ".join(text.split())
        object.__setattr__(self, "text", text)
        # Counting single spaces is ten times faster than splitting.
        object.__setattr__(self, "size", text.count(" ") + bool(text))


def line_block(text: str) -> Block:
    return Block((text,), 1)


def bare(text: str) -> str:
    """Return a line without indentation, emphasis and double spaces."""
    if "  " in text or "\t" in text or "\xa0" in text:
        text = " ".join(text.split())
    return text.strip("_*=~# ")


def ends_sentence(text: str) -> bool:
    return bool(_SENTENCE_END.search(text))


def is_prose(block: Block) -> bool:
    """Return whether a block consists of sentences, unlike a line of a title page or of a table of contents."""
    words = block.text.split()
    lower = sum(map(str.islower, [word[0] for word in words]))
    if lower * 2 < len(words):
        return len(words) > 40 and lower * 3 > len(words)
    return ends_sentence(block.text) or len(words) > 40


def is_capitals(text: str) -> bool:
    """Return whether all letters outside italics are capitals ("JOURNAL--_continued_")."""
    outside = re.sub(r"_[^_]*_", "", text) if "_" in text else text
    return outside.isupper() and sum(c.isalpha() for c in outside) > 1


def is_mostly_capitals(text: str) -> bool:
    words = [word for word in text.split() if word[0].isalpha()]
    return sum(word.isupper() for word in words) >= 0.8 * len(words)


def is_separator(block: Block) -> bool:
    """Return whether a block is a row of asterisks, dashes or the like."""
    return (
        block.text[0] in _SEPARATORS
        and len(block.lines) <= MOST_HEADING_LINES
        and all(_SEPARATOR.match(line) for line in block.lines)
    )


def is_synopsis(text: str) -> bool:
    """Return whether a text lists the events of a chapter, separated by dashes."""
    dashes = len(_SYNOPSIS_DASH.findall(text))
    return dashes >= 2 and len(text.split()) < 14 * dashes and len(text) < 400


def is_title(block: Block, *, final_stop: bool = False) -> bool:
    """Return whether a block directly below a heading reads as its title.

    A title is in capitals or in italics throughout, or every word of weight has a capital and no full stop follows.

    Args:
        block: a block of any length.
        final_stop: accept a full stop at the end, for books in which nearly every chapter has such a line.
    """
    raw = block.text
    text = bare(raw)
    # '"The Girl I Left Behind Me"' is a title in quotation marks; speech has its punctuation inside them.
    quoted = len(text) > 2 and text[0] in QUOTES and text[-1] in QUOTES
    shown = final_stop and is_capitals(text)
    if quoted and ((text[-2].isalnum() and (shown or len(text) > 12)) or shown):
        text = text[1:-1]
    words = text.split()
    if not words or len(words) > _MOST_WORDS_OF_LONG_TITLE or text[0] in QUOTES + "(":
        return False
    long = len(words) > MOST_TITLE_WORDS or len(block.lines) > MOST_HEADING_LINES
    if is_capitals(raw):
        return not long or final_stop
    text = _YEARS.sub("", text)
    if any(character.isdigit() for character in text) or _LETTER_ADDRESS.match(text):
        return False
    if re.fullmatch(r"_[^_]+_[.]?", raw):
        return not long or final_stop
    if (
        long
        or text[-1] in ",;:—-"
        or (text[-1] in "!?" and len(words) < 3 and not final_stop)
        or (text[-1] == "." and not (final_stop and len(words) > 1))
    ):
        return False
    weighty = [
        w for word in words if (w := word.strip(QUOTES + "().,;:-—")) and w.lower() not in _SMALL_WORDS
    ]
    return bool(weighty) and text[0].isupper() and all(not word[0].islower() for word in weighty)


def is_set_apart(block: Block, following: Sequence[Block]) -> bool:
    """Return whether a block is a line in capitals, not speech, with two blank lines above and below."""
    return (
        len(block.lines) == 1
        and min(below.gap for below in (block, *following)) >= 2
        and is_capitals(block.text)
        and bare(block.text)[:1] not in QUOTES
        and bare(block.text)[-1:] not in "!?,;:"
    )
