"""What one block of lines of a novel is: a heading, a title under one, a separator, or the story itself.

A block is what stands between blank lines. The rules here look at one block alone (and at the number of blank lines
before it); :mod:`~long_context_tasks.corpora._gutenberg` decides with its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

__all__ = [
    "Block",
    "Heading",
    "Kind",
    "heading_of",
    "is_closing",
    "is_numeral_with_title",
    "is_separator",
    "is_title",
    "roman",
]


@dataclass(frozen=True)
class Block:
    """Consecutive lines without a blank one.

    Attributes:
        lines: as they stand in the file.
        gap: blank lines before them.
        text: all words, single spaces (kept: every rule asks for it, and a cached property locks at each first use).
    """

    lines: tuple[str, ...]
    gap: int
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Join the lines."""
        object.__setattr__(self, "text", " ".join(" ".join(self.lines).split()))


class Kind(Enum):
    """What a heading opens."""

    CHAPTER = auto()
    SECTION = auto()
    """A bare number."""
    FRONT = auto()
    """Preface, contents, list of illustrations ...: no part of the story."""
    BACK = auto()
    """The end, or what comes after it."""


@dataclass(frozen=True)
class Heading:
    """A heading.

    Attributes:
        kind: What it opens.
        number: Its number, None when it has none.
        titled: Whether a title stands beside the number, so that none is to be looked for below.
        rest: How many of the block's last lines belong to the story.
    """

    kind: Kind
    number: int | None = None
    titled: bool = False
    rest: int = 0


_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_UNITS += " eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
)
_ORDINALS += " fifteenth sixteenth seventeenth eighteenth nineteenth"
_ORDINAL_TENS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"


def _number_words() -> dict[str, int]:
    words = {word: i for i, word in enumerate(_UNITS.split(), 1)}
    words |= {word: i for i, word in enumerate(_ORDINALS.split(), 1)}
    for i, (ten, tenth) in enumerate(zip(_TENS.split(), _ORDINAL_TENS.split(), strict=True), 2):
        words[ten] = words[tenth] = 10 * i
        for units in (_UNITS, _ORDINALS):
            words |= {f"{ten}-{unit}": 10 * i + j for j, unit in enumerate(units.split()[:9], 1)}
    return words


_WORDS = _number_words()
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True)).replace("-", "[- ]")
_ROMAN = r"(?=[IVXLC])(?:C{0,3})(?:X[CL]|L?X{0,4})(?:I[XV]|V?I{0,4})"
_NUMBER = rf"(?:\d{{1,3}}|(?-i:{_ROMAN})|(?-i:{_ROMAN.lower()})|(?:the )?(?:{_WORD}|last))"
_PARTS = "chapter|chap|book|part|volume|vol|letter|stave|canto|section|act|scene|episode|period|narrative|phase|story"
_SMALL_WORDS = "a after an and are as at be before behind between but by de des du for from how if in into is la le nor not of off on or over so"
_SMALL_WORDS += " than that the their then to up upon van von was what when where which who with"
_SMALL = frozenset(_SMALL_WORDS.split())

# "CHAPTER XII", "Chapter 1. Loomings.", "BOOK THE SECOND", "Vol. III--The Return"; what follows the number must be
# punctuation or a capital, so that "Chapter two was found" and "Part one of the plan" stay in the story.
_NUMBERED = re.compile(
    rf"(?P<part>(?i:{_PARTS}))\b\.?\s+(?P<number>(?i:{_NUMBER}))(?![\w'’])"
    r"(?P<title>\s*(?:[.:;—–-]+|(?=[(\[])|(?=\s))\s*.*)?$",
    re.DOTALL,
)
_ORDERED = re.compile(
    rf"(?:the )?(?P<number>{'|'.join(_ORDINALS.split())}|last) (?:{_PARTS}|epilogue|interlude)[.:]?$",
    re.IGNORECASE,
)
_BARE = re.compile(rf"(?P<number>(?:{_ROMAN})|\d{{1,3}})[.:]?$")
_BARE_WORD = re.compile(rf"(?P<number>{_WORD})[.]?$", re.IGNORECASE)
_WITH_TITLE = re.compile(
    rf"(?P<number>{_ROMAN}|\d{{1,3}})(?:[.:)]|\s*[—–]|\s--|\s(?=\s))\s*(?P<title>\S.*)$", re.DOTALL
)

_STORY_WORDS = "prologue|epilogue|prelude|finale|conclusion|interlude|postscript|coda|l'envoi|afterpiece"
_STORY = re.compile(rf"(?:the )?(?:{_STORY_WORDS})[.:]?$", re.IGNORECASE)
_STORY_IF_APART = re.compile(r"(?:a )?note[.:]?$", re.IGNORECASE)
_FRONT = re.compile(
    r"(?:(?:the |table of |list of |author'?s |translator'?s |editor'?s |publisher'?s )?"
    r"(?:contents|illustrations|preface|foreword|introduction|dedication|etymology|extracts|advertisement|errata|"
    r"acknowledge?ments|preface to .{1,40}|note to .{1,40}|introduction to .{1,40}|to the reader|maps)"
    r"|(?:author|translator|editor|publisher|transcriber)['’]s note)[.:]?$",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:the end|finis|fin|end|a note on the (?:text|type|author)|(?:original )?transcriber['’]?s?['’]? notes?|"
    r"(?:foot|end)?notes|appendix.{0,30}|index|glossary|advertisements?|colophon|bibliography|"
    r"about the author)[.:!]?$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"(?:this is )?(?:here )?(?:the )?ends?(?:eth)? (?:of )?(?:the )?(?:\w+ ){{0,3}}?"
    rf"(?:{_PARTS}|stage)\b.{{0,40}}$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[\s*_=~#•·+\-—–]+$")
_QUOTES = "\"'“”‘’«»‹›"
_LETTER_ADDRESS = re.compile(r"_?To (?:Mrs?|Miss|Dr|Sir|Lady|Lord|the|my)\b")
_LONGEST_HEADING = 120
_MOST_HEADING_LINES = 3
_MOST_HEADING_WORDS = 45
_MOST_TITLE_WORDS = 22
_FEWEST_TITLE_DASHES = 2


def roman(numeral: str) -> int:
    """Value of a Roman numeral.

    >>> roman("XXXIX"), roman("iv"), roman("CXXXV")
    (39, 4, 135)
    """
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[letter] for letter in numeral.upper()]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def heading_of(block: Block) -> Heading | None:
    """The heading that a block is, None when it is none.

    Bare numbers come back as :attr:`Kind.SECTION` and are to be judged by their order.
    """
    first = _bare_text(block.lines[0])
    if match := _NUMBERED.match(first):
        return _numbered(block, match)
    if len(block.lines) > _MOST_HEADING_LINES:
        return None
    text = _bare_text(block.text)
    if text[:1] in _QUOTES or text[:1].islower() or len(text) > _LONGEST_HEADING:
        return None
    return _numeral(block, text) or _named(block, text)


def _numeral(block: Block, text: str) -> Heading | None:
    """A number alone, or an ordered part."""
    if match := _ORDERED.match(text):
        return Heading(Kind.CHAPTER, _value(match["number"]))
    match = _BARE.match(text) or (_BARE_WORD.match(text) if block.gap >= 2 else None)
    # A leading zero numbers a picture or a page.
    return Heading(Kind.SECTION, _value(match["number"])) if match and text[0] != "0" else None


def _named(block: Block, text: str) -> Heading | None:
    """One of the words that head a part of a book without a number."""
    apart = block.gap >= 2
    kind = None
    if not apart and not text.isupper():
        return None
    if _BACK.match(text):
        kind = Kind.BACK
    elif _FRONT.match(text):
        kind = Kind.FRONT
    elif _STORY.match(text) or (apart and _STORY_IF_APART.match(text)):
        kind = Kind.CHAPTER
    # "NOTE" has no title below it; the others may.
    return Heading(kind, titled=bool(_STORY_IF_APART.match(text))) if kind else None


def is_numeral_with_title(block: Block) -> int | None:
    """The number of a heading such as ``IV. THE CYLINDER OPENS``, None when the block is none."""
    match = _WITH_TITLE.match(_bare_text(block.text))
    if match is None or block.gap < 2 or not is_title(Block((match["title"],), 1), final_stop=True):
        return None
    return _value(match["number"])


def is_closing(block: Block, *, above_heading: bool = False) -> bool:
    """Whether a block tells that a part ends, as in "THE END OF THE FIRST PERIOD."."""
    if len(block.lines) > 2:
        return False
    text = _bare_text(block.text)
    apart = above_heading or block.gap >= 2 or text.isupper()
    return apart and len(text) < 90 and text[:1].isupper() and bool(_CLOSING.match(text))


def is_separator(block: Block) -> bool:
    """Whether a block is a row of asterisks, dashes or the like."""
    return len(block.lines) <= _MOST_HEADING_LINES and all(_SEPARATOR.match(line) for line in block.lines)


def is_title(block: Block, *, final_stop: bool = False) -> bool:
    """Whether a block, directly below a heading, reads as its title.

    Capitals throughout, or wholly in italics, or every word of weight with a capital and no full stop at the end
    (``final_stop`` allows one: for books in which nearly every chapter has such a line).
    """
    raw = block.text
    text = _bare_text(raw)
    # '"The Girl I Left Behind Me"' is a title in quotation marks; speech has its punctuation inside them.
    if len(text) > 12 and text[0] in _QUOTES and text[-1] in _QUOTES and text[-2].isalnum():
        text = text[1:-1]
    words = text.split()
    if not words or len(words) > _MOST_TITLE_WORDS or len(block.lines) > 3 or text[0] in _QUOTES + "(":
        return False
    if _is_capitals(raw):
        return True
    if any(character.isdigit() for character in text) or _LETTER_ADDRESS.match(text):
        return False
    if re.fullmatch(r"_[^_]+_[.]?", raw):
        return True
    if text[-1] in ",;:!?—-" or (text[-1] == "." and not (final_stop and len(words) > 1)):
        return False
    weighty = [w for word in words if (w := word.strip(_QUOTES + "().,;:-—")) and w.lower() not in _SMALL]
    return bool(weighty) and text[0].isupper() and all(not word[0].islower() for word in weighty)


def _numbered(block: Block, match: re.Match[str]) -> Heading | None:
    part, title = match["part"], _bare_text(match["title"] or "")
    if part[0].islower() or (title and _title_start(title).islower()):
        return None
    heading = Heading(Kind.CHAPTER, _value(match["number"]), titled=bool(title.strip(" .:;—–-")))
    rest = block.lines[1:]
    if not rest:
        return heading if len(title.split()) <= _MOST_HEADING_WORDS else None
    below = Block(rest, 0)
    if not heading.titled:
        # "CHAPTER I" with its title, or with the story itself, on the next line.
        if is_title(below) or _is_synopsis(below.text) or heading_of(below) is not None:
            return Heading(Kind.CHAPTER, heading.number, titled=True)
        return Heading(Kind.CHAPTER, heading.number, titled=True, rest=len(rest))
    if len(block.text.split()) <= _MOST_HEADING_WORDS or _is_synopsis(block.text):
        return heading
    return None


def _title_start(title: str) -> str:
    letters = [character for character in title if character.isalpha()]
    return letters[0] if letters else "A"


def _is_synopsis(text: str) -> bool:
    """A list of what happens in the chapter, the items parted by dashes."""
    dashes = len(re.findall(r"--|—|–| - ", text))
    return dashes >= _FEWEST_TITLE_DASHES and len(text.split()) < 14 * dashes and len(text) < 400


def _is_capitals(text: str) -> bool:
    # "JOURNAL--_continued_": what is in italics does not count.
    outside = re.sub(r"_[^_]*_", "", text)
    return outside.isupper() and sum(c.isalpha() for c in outside) > 1


def _bare_text(text: str) -> str:
    """A line without the marks of emphasis around it."""
    if "  " in text or "\t" in text:
        text = " ".join(text.split())
    return text.strip("_*=~ ")


def _value(number: str) -> int:
    number = number.lower().removeprefix("the ").replace(" ", "-")
    if number.isdigit():
        return int(number)
    if number in _WORDS:
        return _WORDS[number]
    return 0 if number == "last" else roman(number)
