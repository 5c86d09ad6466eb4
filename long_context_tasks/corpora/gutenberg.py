"""From the plain text of a printed novel, as Project Gutenberg and others give it, to the story alone.

The paper: "we meticulously remove identifiers such as chapter numbers and annotations from the content" (Wang et
al., NAACL 2024, section 3.3). Removed here: everything outside the START and END lines, credits, notes of the
transcriber, title page, prefaces, tables of contents, headings with their titles and attributed mottoes, footnotes
and their marks, captions of illustrations, rows of asterisks, page numbers. Left: whole paragraphs, unwrapped.

The text is cut into blocks; each is a heading, a title below one, a separator, something else that goes, or story.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice, pairwise


@dataclass(frozen=True)
class Block:
    """Consecutive lines without a blank one.

    Attributes:
        lines: as in the file.
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
    """Return the heading that a block is, None when it is none.

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
    if match := _ORDERED.match(text):
        return Heading(Kind.CHAPTER, _value(match["number"]))
    match = _BARE.match(text) or (_BARE_WORD.match(text) if block.gap >= 2 else None)
    # A leading zero numbers a picture or a page.
    return Heading(Kind.SECTION, _value(match["number"])) if match and text[0] != "0" else None


def _named(block: Block, text: str) -> Heading | None:
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
    """Return the number of a heading such as ``IV. THE CYLINDER OPENS``, None when the block is none."""
    match = _WITH_TITLE.match(_bare_text(block.text))
    if match is None or block.gap < 2 or not is_title(Block((match["title"],), 1), final_stop=True):
        return None
    return _value(match["number"])


def is_closing(block: Block, *, above_heading: bool = False) -> bool:
    """Return whether a block says that a part ends, as in "THE END OF THE FIRST PERIOD."."""
    if len(block.lines) > 2:
        return False
    text = _bare_text(block.text)
    apart = above_heading or block.gap >= 2 or text.isupper()
    return apart and len(text) < 90 and text[:1].isupper() and bool(_CLOSING.match(text))


def is_separator(block: Block) -> bool:
    """Return whether a block is a row of asterisks, dashes or the like."""
    return len(block.lines) <= _MOST_HEADING_LINES and all(_SEPARATOR.match(line) for line in block.lines)


def is_title(block: Block, *, final_stop: bool = False) -> bool:
    """Return whether a block, directly below a heading, reads as its title.

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
    """Return whether a text lists what happens in the chapter, the items parted by dashes."""
    dashes = len(re.findall(r"--|—|–| - ", text))
    return dashes >= _FEWEST_TITLE_DASHES and len(text.split()) < 14 * dashes and len(text) < 400


def _is_capitals(text: str) -> bool:
    # "JOURNAL--_continued_": what is in italics does not count.
    outside = re.sub(r"_[^_]*_", "", text)
    return outside.isupper() and sum(c.isalpha() for c in outside) > 1


def _bare_text(text: str) -> str:
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


_START = re.compile(
    r"^[ \t]*\*{3}[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG(?:[^*]{0,300}\*{3}|[^\n]*)", re.M | re.I
)
_END = re.compile(r"^[ \t]*\*{3}[ \t]*END OF (?:THE|THIS) PROJECT GUTENBERG", re.M | re.I)
_SMALL_PRINT = re.compile(r"\*END\*? ?THE SMALL PRINT![^\n]*\n", re.I)
_END_LINE = re.compile(
    r"^[ \t]*(?:\*{3}[ \t]*)?End of (?:the |this )?(?:Project Gutenberg|PG\b)(?:'s|’s|[^\n]*\b(?:e-?book|e-?text))",
    re.M | re.I,
)
_TITLE = re.compile(r"^Title:[ \t]*(\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)", re.M)

_ASIDE = re.compile(
    r"(?=[\[{])(?:\[\s*(?:Illustrations?\b|Footnotes?\b|Transcriber|Editor['’]s|Project Gutenberg|Etext|Sidenote|"
    r"Pg\b\.?|Page \d|p\. ?\d|\*)(?:[^\[\]]|\[[^\[\]]*\]){0,6000}\]"
    r"|(?<!_)\{(?:[^{}]{0,300}\.(?:jpe?g|png|gif)|\s*(?:Pg|Page|p\.)?\s*[\dxvi]+\s*)\})",
    re.I,
)
CUT = "\x00"
"""Stands for an aside; where that was a block of its own, a paragraph that it cut in two is joined again."""
_BLOCK = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|$))+")
_MARKS = re.compile(
    r"(?<=[^\s*_])\s?(?:\*(?!\s?\*)|[†‡])(?=[\s”\"’')\].,;:!?—-]|$)|\s?\[(?:\d{1,3}|\*+|[†‡])\]"
)
_ITALICS = re.compile(r"(?<!_)_(?:\{(\w{1,3})\})?(?!_)")
# Lines of a box drawn around a sign or a visiting card.
_FRAME = re.compile(r"\+-{2,}\+|(?<!\S)\|(?!\S)")
_SUSPECT = re.compile(r"[*†‡\[_|+\x00]")


def _between_markers(text: str) -> tuple[str, bool]:
    """Return what stands between the START and END lines, and whether there is a START line."""
    starts: list[int] = []
    ends: list[int] = []
    # Plain searches for the name, then a look at its line: ten times faster than patterns over the whole book.
    for place in _names(text):
        line = text.rfind("\n", 0, place) + 1
        if (start := _START.match(text, line) or _SMALL_PRINT.match(text, line)) and not starts:
            starts.append(start.end())
        elif _END.match(text, line) or _END_LINE.match(text, line):
            ends.append(line)
    begin = starts[0] if starts else 0
    return text[begin : next((end for end in ends if end >= begin), len(text))], bool(starts)


def _names(text: str) -> list[int]:
    """Return where the project's name may stand, ascending."""
    places = []
    for name in ("Gutenberg", "GUTENBERG", "SMALL PRINT!", "PG"):
        place = text.find(name)
        while place >= 0:
            places.append(place)
            place = text.find(name, place + 1)
    return sorted(places)


def _without_asides(text: str) -> str:
    """Return the text with a mark in place of every aside; only brackets are looked at."""
    pieces: list[str] = []
    done = place = 0
    while True:
        square, curly = text.find("[", place), text.find("{", place)
        place = min(square, curly) if square >= 0 and curly >= 0 else max(square, curly)
        if place < 0:
            return "".join([*pieces, text[done:]])
        if match := _ASIDE.match(text, place):
            pieces += [text[done:place], CUT]
            done = place = match.end()
        else:
            place += 1


def _blocks(text: str) -> list[Block]:
    blocks, end = [], 0
    for match in _BLOCK.finditer(text):
        gap = text.count("\n", end, match.start())
        blocks.append(Block(tuple(match[0].rstrip("\n").split("\n")), gap))
        end = match.end()
    return blocks


def unwrap(lines: Sequence[str], joined: str | None = None) -> str:
    """Return one paragraph on one line, without marks of notes and of emphasis; ``joined`` is its text with single spaces."""
    raw = "\n".join(lines)
    if joined is not None and not ("-\n" in raw or "—\n" in raw):
        text = joined
        if not _SUSPECT.search(text):
            return text
    else:
        text = lines[0]
        for line in lines[1:]:
            text = f"{text}{line}" if text[-1:] in "-—" and _goes_on(text, line) else f"{text} {line}"
    if _SUSPECT.search(text):
        text = text.replace(CUT, " ")
        # Most suspects only have words in italics: the other patterns are slow.
        if "*" in text or "[" in text or "†" in text or "‡" in text:
            text = _MARKS.sub("", text)
        text = _ITALICS.sub(r"\1", _FRAME.sub(" ", text) if "+-" in text or "|" in text else text)
    return " ".join(text.split())


def _goes_on(text: str, line: str) -> bool:
    """Return whether a line cut behind a hyphen or a dash goes on without a space, as it was printed."""
    if not line or (not line[0].isalnum() and line[0] not in "\"'“‘_"):
        return False
    if text.endswith(("--", "—")):
        return not text.endswith((" --", " —"))
    return line[0].islower() and text[-2:-1].isalpha()


@dataclass(frozen=True)
class Story:
    """A book without its apparatus.

    Attributes:
        title: As the file's header gives it, None without one.
        paragraphs: In reading order, each one line.
        chapters: Index of the first paragraph of each chapter, ascending, the first is 0; empty without paragraphs.
    """

    title: str | None
    paragraphs: tuple[str, ...]
    chapters: tuple[int, ...]


_CREDIT = re.compile(
    r"(?:(?:this )?(?:e-?book|e-?text|file) (?:was )?(?:produced|prepared|created)|produced by|transcribed (?:from|by)|"
    r"prepared by|scanned (?:and|by)|html version|proofread)",
    re.I,
)
_NOTE = re.compile(r"\s*(?:\*(?![\s*]*\*)\s?\S|[†‡]\s?\S|\[(?P<mark>\d{1,3}|[A-Z])\]\s*\S)")
_MARK_BEFORE = re.compile(r"[^\s*]\s?[*†‡](?!\s?[*])")
_SENTENCE_END = re.compile(r"[.!?…:;—-][\"'”’)\]_*]*$")
_ATTRIBUTION = re.compile(r"(?:--|—|–)\s*(?:_?[A-Z]|[\"“])[^\n]{1,60}$")

# Shares of the words of a book.
_MOST_FRONT = 0.15
_MOST_BACK = 0.15
_FEWEST_STORY_WORDS = 60
_HABIT = 0.6
_MOST_MOTTO_WORDS = 130
_CONTEXT_OF_NOTE = 6


def clean(text: str) -> Story:
    """Return the story in the text of a printed book.

    A text without a START line is taken as it stands, minus what is recognised; a text without headings is one
    chapter. The result has no paragraphs when no story is found.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    body, marked = _between_markers(text)
    blocks = _blocks(_without_asides(body).replace(f"{CUT}{CUT}", CUT))
    labels = _label(blocks)
    start, stop = _bounds(blocks, labels, marked)
    paragraphs, chapters = _walk(blocks[start:stop], labels[start:stop])
    title = _TITLE.search(text, 0, 20_000)
    return Story(" ".join(title[1].split()) if title else None, tuple(paragraphs), tuple(chapters))


@dataclass(frozen=True)
class _Label:
    """What becomes of a block: ``heading`` of one, or dropped, or kept when neither."""

    heading: Heading | None = None
    dropped: bool = False


_KEEP = _Label()
_DROP = _Label(dropped=True)


def _label(blocks: Sequence[Block]) -> list[_Label]:
    labels = []
    section = 0
    chapters = 0
    for i, block in enumerate(blocks):
        label = _label_alone(block, blocks[max(0, i - _CONTEXT_OF_NOTE) : i])
        heading = label.heading
        if heading is not None and heading.kind is Kind.SECTION:
            number = heading.number or 0
            in_order = number == section + 1
            # Single letters that are numerals too (C, D, L, M) sign letters; digits out of order number pages.
            letter = block.text.strip(" ._").upper() in ("C", "L")
            if (
                in_order
                or number == 1
                or (block.gap >= 2 and not letter and not block.text.strip(" .").isdigit())
            ):
                section = number
            else:
                label = _DROP if block.text.strip(" .").isdigit() else _KEEP
        elif heading is not None:
            section = 0
            chapters += heading.number is not None
        labels.append(label)
    if chapters < 2:
        _label_numerals_with_titles(blocks, labels)
    for i, (block, following) in enumerate(zip(blocks, islice(labels, 1, None), strict=False)):
        if labels[i] is _KEEP and following.heading and _is_above_heading(block):
            labels[i] = _DROP
    return labels


def _is_above_heading(block: Block) -> bool:
    """Return whether a block is a line such as "THE STORY" above "FIRST PERIOD" (not a signature), or closes a part."""
    text = block.text
    capitals = (
        block.gap >= 2
        and len(block.lines) == 1
        and text.isupper()
        and text[0].isalpha()
        and text[-1].isalpha()
    )
    return capitals or is_closing(block, above_heading=True)


def _label_alone(block: Block, before: Sequence[Block]) -> _Label:
    if (note := _NOTE.match(block.lines[0])) and _is_note(note, before):
        return _DROP
    if is_separator(block) or is_closing(block):
        return _DROP
    if heading := heading_of(block):
        return _Label(heading=heading)
    return (
        _DROP if len(block.lines) == 1 and (_is_number(block) or not block.text.strip(CUT + " ")) else _KEEP
    )


def _is_number(block: Block) -> bool:
    return block.text.strip(" .-–—()[]").isdigit()


def _is_note(note: re.Match[str], before: Sequence[Block]) -> bool:
    if mark := note["mark"]:
        return any(f"[{mark}]" in block.text for block in before)
    return any(_MARK_BEFORE.search(line) for block in before for line in block.lines)


def _label_numerals_with_titles(blocks: Sequence[Block], labels: list[_Label]) -> None:
    """Headings such as ``IV. The Fight``: only in books that have no others, and only in order."""
    found = [(i, n) for i, block in enumerate(blocks) if (n := is_numeral_with_title(block)) is not None]
    steps = sum(b == a + 1 for (_, a), (_, b) in pairwise(found))
    if len(found) > 1 and steps >= _HABIT * (len(found) - 1):
        for i, number in found:
            labels[i] = _Label(heading=Heading(Kind.CHAPTER, number, titled=True))


def _bounds(blocks: Sequence[Block], labels: Sequence[_Label], marked: bool) -> tuple[int, int]:
    """Index of the first block of the story and of the first one after it."""
    # A block's text has single spaces: counting them is ten times faster than splitting.
    sizes = [block.text.count(" ") + bool(block.text) for block in blocks]
    total = sum(sizes) or 1
    headings = [i for i, label in enumerate(labels) if label.heading] + [len(blocks)]
    stop = len(blocks)
    for i in headings[:-1]:
        heading = labels[i].heading
        if heading and heading.kind is Kind.BACK and sum(sizes[i:]) < _MOST_BACK * total and sum(sizes[:i]):
            stop = i
            break
    needed = min(_FEWEST_STORY_WORDS, max(6, total // 100))
    start = None
    for i, j in pairwise(headings):
        heading = labels[i].heading
        if heading is None or heading.kind in (Kind.FRONT, Kind.BACK) or i >= stop:
            continue
        told = sum(
            size for block, size in zip(blocks[i + 1 : j], sizes[i + 1 : j], strict=True) if _tells(block)
        )
        if (
            told + sum(len(line.split()) for line in blocks[i].lines[len(blocks[i].lines) - heading.rest :])
            >= needed
        ):
            start = i
            break
    limit = stop if start is None else start
    first_heading = headings[0]
    if not marked and not any(h.kind is Kind.FRONT for label in labels[:limit] if (h := label.heading)):
        # Nothing says that a table of contents came first, so the short first chapter is one.
        limit = min(limit, first_heading)
    before = [i for i in range(min(limit, first_heading)) if labels[i] is _KEEP and _is_story(blocks[i])]
    if before and (not marked or sum(sizes[i] for i in before) > _MOST_FRONT * total):
        return before[0], stop
    return limit, stop


def _is_story(block: Block) -> bool:
    return _tells(block) and not _CREDIT.match(block.text)


def _tells(block: Block) -> bool:
    """Return whether a block is made of sentences, as a line of a title page or of a table of contents is not."""
    words = block.text.split()
    lower = sum(word[0].islower() for word in words)
    if lower * 2 < len(words):
        return len(words) > 40 and lower * 3 > len(words)
    return bool(_SENTENCE_END.search(block.text)) or len(words) > 40


def _walk(blocks: Sequence[Block], labels: Sequence[_Label]) -> tuple[list[str], list[int]]:
    """Collect the paragraphs; what stands between a heading and the story below it is judged here."""
    stops_allowed, mottoes_usual = _habits(blocks, labels)
    paragraphs: list[str] = []
    chapters: list[int] = []
    opening: Heading | None = Heading(Kind.CHAPTER, titled=True)
    title_found = cut = False

    def tell(lines: Sequence[str], joined: str | None = None) -> None:
        nonlocal opening
        text = unwrap(lines, joined)
        if not text:
            return
        if opening is not None:
            chapters.append(len(paragraphs))
            opening = None
        elif cut and paragraphs and text[0].islower() and not _SENTENCE_END.search(paragraphs[-1]):
            paragraphs[-1] += f" {text}"
            return
        paragraphs.append(text)

    for i, (block, label) in enumerate(zip(blocks, labels, strict=True)):
        if label.heading is not None:
            opening, title_found = label.heading, label.heading.titled
            if opening.rest:
                tell(block.lines[-opening.rest :])
        elif label.dropped:
            cut = cut or CUT in block.text or _is_number(block)
            continue
        elif opening is not None and (taken := _below_heading(blocks, labels, i, title_found, stops_allowed)):
            title_found = taken == "title" or title_found
        elif opening is not None and _is_motto(blocks, labels, i, mottoes_usual):
            title_found = True
        else:
            tell(block.lines, block.text)
        cut = False
    return paragraphs, chapters


def _below_heading(
    blocks: Sequence[Block], labels: Sequence[_Label], i: int, title_found: bool, stops_allowed: bool
) -> str | None:
    """Return whether the block belongs to the heading above it: its "title", more of it ("rest"), or None."""
    block = blocks[i]
    text = block.text
    if not title_found and is_title(block, final_stop=stops_allowed):
        return "title"
    above_heading = i + 1 < len(blocks) and labels[i + 1].heading is not None
    if above_heading and (is_title(block) or (len(text.split()) <= 30 and not _SENTENCE_END.search(text))):
        return "rest"
    below_title = i > 0 and labels[i - 1] is _KEEP
    if title_found and below_title and re.fullmatch(r"_?\(.{1,80}\)_?", text):
        return "rest"
    return None


def _habits(blocks: Sequence[Block], labels: Sequence[_Label]) -> tuple[bool, bool]:
    """Return whether this book's chapters have titles that end in a full stop; and mottoes with their authors."""
    below = [
        blocks[i + 1]
        for i, label in enumerate(labels[:-1])
        if label.heading and not label.heading.titled and labels[i + 1] is _KEEP
    ]
    stops = sum(is_title(block, final_stop=True) for block in below)
    mottoes = sum(_is_indented(block) and bool(_ATTRIBUTION.search(block.lines[-1])) for block in below)
    return len(below) >= 3 and stops >= _HABIT * len(below), mottoes >= 3


def _is_motto(blocks: Sequence[Block], labels: Sequence[_Label], i: int, usual: bool) -> bool:
    """Return whether a block begins an indented quotation below a heading, with its author or in a book that is full of them."""
    end = i
    while end < len(blocks) and labels[end] is _KEEP and _is_indented(blocks[end]):
        end += 1
    run = blocks[i:end]
    if not run or end == len(blocks) or sum(len(block.text.split()) for block in run) > _MOST_MOTTO_WORDS:
        return False
    return usual or any(_ATTRIBUTION.search(block.lines[-1]) for block in run)


def _is_indented(block: Block) -> bool:
    return all(line.startswith(("  ", "\t")) for line in block.lines)
