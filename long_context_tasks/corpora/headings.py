"""Find the headings of a printed book: where its chapters begin, and what is no part of its story.

A block of lines is a heading for one of four reasons, and no reason asks where in the book it stands:

1. It says so: "CHAPTER XII", "BOOK THE SECOND--the Golden Thread", "EPILOGUE".
2. It counts: "VII", "IV. The Preparation", "ADVENTURE II." are headings where their numbers go up by one, across parts or
   from 1 again, with a text of some length between them. List items and page numbers do not.
3. The contents page lists it: then its title alone is enough.
4. Its looks: short lines in capitals far apart, in a book without other headings; or set as that book's numbered ones are.

The block below a heading may be its title, more of it, or a motto.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from statistics import median

from long_context_tasks.corpora.numerals import (
    Numbered,
    any_keyword,
    count_in,
    phrase_of,
    plain,
    read,
    readings,
)


@dataclass(frozen=True)
class Block:
    """Consecutive lines without a blank one.

    Attributes:
        lines: As in the file.
        gap: Number of blank lines before them.
        text: All words with single spaces (stored: every rule asks for it).
        size: Number of words.
    """

    lines: tuple[str, ...]
    gap: int
    text: str = field(init=False, compare=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Join the lines."""
        text = " ".join(self.lines)
        # Most blocks need no splitting, which takes longer than all else here; what is not printable may be a space.
        if "  " in text or text[:1] == " " or text[-1:] == " " or not text.isprintable():
            text = " ".join(text.split())
        object.__setattr__(self, "text", text)
        # Counting single spaces is ten times faster than splitting.
        object.__setattr__(self, "size", text.count(" ") + bool(text))


@dataclass(frozen=True)
class Heading:
    """A heading, or a block that is one if its number stands in a count.

    Attributes:
        style: What is counted: its keyword in lower case ("chapter", "adventure"), "roman", "arabic" or "word" for a bare
            number, "roman titled" and "arabic titled" for one with a title, "named" ("EPILOGUE"), "front", "back",
            "listed" (on the contents page) or "capitals".
        number: Its number, None without one, 0 for "the last".
        title: The title beside the number; empty if none, or if it is to be looked for below.
        rest: How many of the block's last lines belong to the story.
        sure: Whether it is a heading wherever it stands.
    """

    style: str
    number: int | None = None
    title: str = ""
    rest: int = 0
    sure: bool = True


_SMALL_WORDS = "a about above across after against along amid among an and are around as at away be before behind below beneath beside between beyond but by de des down du during for from her his how if in into is it its la le like my near no nor not of off on or our out over past round since so than that the their then through till to toward towards under until up upon van von was what when where which who with within without would your"
_SMALL = frozenset(_SMALL_WORDS.split())
# What follows the number is punctuation, a bracket or a space: "Chapter two was found" and "Part one of the plan" stay in the story.
_BESIDE_KEYWORD = re.compile(r"\s*(?:[.:;—–-]+|,(?=\s)|(?=[(\[])|(?=\s)|$)\s*(?P<title>.*)$", re.DOTALL)
_BESIDE_NUMBER = re.compile(
    r"(?:(?P<mark>[.:)\]](?:\s*[—–-]+)?|\s*[—–]|\s*--)|\s)\s*(?P<title>[\"“«¿¡_‘(]*[^\W\d_].*)$",
    re.DOTALL,
)
_AFTER_BARE = re.compile(r"\s?[.:)\]—–-]*$")
_BEFORE_NUMBER = re.compile(r"[\[(§—–-]*\s?(?:\d{1,2}\.(?=[\dIVXLC]))?")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*")
_SENTENCES = re.compile(r"[.!?]\s+[^\W\d_a-z]")
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)")
_LETTER = re.compile(r"\(([a-h])\)$")
# "IV. It was a hot day", "Chapter Two.--It was": the number stands in the first line of the story.
_RUN_IN = re.compile(r"(?:[.:]|(?=--|—))(?P<rest>(?:--|—|\s)\s*\S.*)")
_STORY_IF_APART = re.compile(r"(?:a )?note[.:]?$", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:the |table of |detailed |brief )?contents\b.{0,30}$", re.IGNORECASE)
_FRONT = re.compile(
    r"(?:(?:the |list of |author['’]?s |translator['’]?s |editor['’]?s |publisher['’]?s )?"
    r"(?:illustrations|dedication|etymology.{0,60}|extracts.{0,60}|errata|acknowledge?ments|to the reader|maps|"
    r"(?:preface|foreword|introduction|advertisement)(?: (?:to|by) .{1,50})?|note to .{1,40})"
    r"|(?:author|translator|editor|publisher|transcriber)['’]?s['’]? (?:note|introduction|preface)|(?:biographical|introductory) note)[.:]?$",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:a note on the (?:text|type|author)|(?:original )?transcriber['’]?s?['’]? notes?|"
    r"(?:historical|explanatory) notes|appendix.{0,30}|index|glossary|advertisements?|colophon|bibliography|"
    r"about the author|addendum)[.:!]?$",
    re.IGNORECASE,
)
_NOTES = re.compile(r"(?:historical|explanatory) notes[.:]?$", re.IGNORECASE)
_BEFORE_END = re.compile(r"(?:this is |here )?", re.IGNORECASE)
_FIRST_WORD = re.compile(r"[^\W\d_]+\.?\s+")
_SEPARATORS = "*_=~#•·.+-—–"
_SEPARATOR = re.compile(rf"[\s{re.escape(_SEPARATORS)}]+$")
_MARKED = re.compile(
    r"#{1,6}\s+(?P<behind>(?=\S)(?=[^\n]*\w)[^\n]*)$|(?P<above>\w[^\n]*)\n\s*(?:={4,}|-{4,}|~{4,})\s*$"
)
_QUOTED = re.compile(r"[\"“‘]([^\"“”]+)[\"”’]$")
_QUOTES = "\"'“”‘’«»‹›"
_LETTER_ADDRESS = re.compile(r"_?To (?:Mrs?|Miss|Dr|Sir|Lady|Lord|the|my)\b")
_SENTENCE_END = re.compile(r"[.!?…:;—-][\"'”’)\]_*†‡]*(?:\[\w{1,3}\])?$")
_ARGUMENT = re.compile(
    r"_?(?:In wh|Of |How |Wherein|Where |What |Why |Contain|Show|Treat|Concern|Relat|Tell|Describ)"
)
# Says "I", or what happened, or what somebody says.
_TELLS = re.compile(
    r"[\"“”«]|^[‘']|\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|us|you|was|were|had|said|did|could|would|came|went|saw|felt|"
    r"stood|sat|looked|took|gave|found|knew|thought|began|made|got)\b"
)
_INITIAL = re.compile(r"\W*(?:[A-Z][A-Z’']+|[AI] [A-Z]{2,})\b")
_SET_OFF = re.compile(r"(?:_[^_]+_|_?\(.+\)_?)[.]?$")
_ATTRIBUTION = re.compile(r"(?:--|—|–)\s*(?:_?[A-Z]|[\"“])[^\n]{1,60}$")
_YEARS = re.compile(r" \(\d{4}(?:[-–—]+\d{2,4})?\)")
_PAGE = re.compile(r"(?<![\s.·…_])[\s.·…_]*(?:\bpage\s*)?(?:\d{1,4}|\b[ivxlc]{1,7})\s*$", re.IGNORECASE)
_BARE_NUMBERS = ("roman", "lower roman", "arabic", "word")
_MOST_WORDS_APART = 8
_MOST_OTHERS = 0.25  # paragraphs with so much space above them, for each title
_NO_CHAPTERS = ("front", "back", "named", "book", "part", "volume")
_LONGEST_HEADING = 120  # characters
_LONGEST_NUMBERED = 300
_LONGEST_CLOSING = 90
_MOST_HEADING_LINES = 3
_MOST_HEADING_WORDS = 70
_MOST_WORDS_OF_TITLE = 45  # over more than three lines
_MOST_TITLE_WORDS = 22
_MOST_PLAIN_TITLE_WORDS = 12  # with capitals as in a sentence
_MOST_MOTTO_WORDS = 130
_MOST_ARGUMENT_WORDS = 80
_MOST_AUTHOR_WORDS = 8
_AUTHOR_INDENT = 8  # columns
_FEWEST_TITLE_DASHES = 2
_HABIT = 0.6
_ALL_BUT_FEW = 0.9
_FEWEST_ARGUMENTS = 6
_MOST_SHORT_WORDS = 15
_FEWEST_SHORT = 6
_MOST_ALL = 0.9
_OF_ARGUMENTS = frozenset(["open", "words", "set", "present"])
_FEWEST_WORDS_APART = 150  # between headings that only their count makes headings; the median
_FEWEST_WORDS_A_CHAPTER = 300  # between headings that nothing but their looks makes headings
_FEWEST_WORDS_A_SECTION = 40
_FEWEST_RUN_IN = 3
_FEWEST_WORDS_TOLD = 32  # of paragraphs with a number before them; most titles are shorter
_FEWEST_OF_A_SHAPE = 3
_FEWEST_SENTENCES = 3
_FEWEST_TITLES_BELOW = 3
_HIGHEST = 399  # number of a chapter
_HEADING_GAP = 3  # blank lines: only headings have so many above them
WORDS_A_PAGE = 600  # a count of digits whose median distance is less may number pages


def heading_of(block: Block) -> Heading | None:
    """Return the heading that a block is or may be, None when it cannot be one."""
    if (block.text[0] == "#" or block.text[-1] in "=-~") and (
        marked := _MARKED.match("\n".join(block.lines))
    ):
        # Marks make any line a heading; one that says what it is has more to tell.
        line = replace(block, lines=(marked["above"] or marked["behind"],), gap=_HEADING_GAP)
        said = heading_of(line)
        return said if said and said.sure else Heading("titled", title=bare(line.text))
    if block.text[0] == "[" and block.text[-1] == "]" and keyword_of(inside := block.text[1:-1].strip()):
        return heading_of(replace(block, lines=(inside,)))
    first = bare(block.lines[0])
    if (found := read(first)) and found.keyword and (heading := _numbered(block, first, found)):
        return heading
    if len(block.lines) > _MOST_HEADING_LINES:
        return None
    text = bare(block.text)
    if text[:1] in _QUOTES or len(text) > _LONGEST_NUMBERED:
        return None
    counting = _counting(block, text)
    return counting or (_named(block, text) if len(text) <= _LONGEST_HEADING else None)


def keyword_of(line: str) -> str:
    """Return what a line numbers: the English name of its keyword, empty without one."""
    found = read(line)
    return found.keyword if found else ""


def _numbered(block: Block, first: str, found: Numbered) -> Heading | None:
    """Return the heading that begins with a keyword and its number in the first line of a block."""
    beside = _BESIDE_KEYWORD.match(first, found.end)
    if beside is None or not _goes_on_as_heading(
        block, first, bare(beside["title"]), first[found.end :].lstrip()[:1]
    ):
        return None
    title = bare(beside["title"]).strip(" .:;—–-")
    style, number, sure = found.keyword, found.value, not found.rare
    rest = block.lines[1:]
    if not rest:
        return Heading(style, number, title, sure=sure) if len(title.split()) <= _MOST_HEADING_WORDS else None
    below = Block(rest, 0)
    if not title:
        # "CHAPTER I" with its title, or with the story itself, on the next line.
        if (
            is_title(below)
            or is_synopsis(below.text)
            or ((quoted := _QUOTED.match(below.text)) and is_title(Block((quoted[1],), 0)))
            or heading_of(below) is not None
        ):
            return Heading(style, number, below.text, sure=sure)
        return Heading(style, number, " ", rest=len(rest), sure=sure)
    if (
        len(block.text.split()) <= _MOST_HEADING_WORDS
        or is_synopsis(block.text)
        or _is_mostly_capitals(block.text)
    ):
        return Heading(style, number, " ".join([title, below.text]), sure=sure)
    return None


def _goes_on_as_heading(block: Block, first: str, title: str, mark: str) -> bool:
    """Return whether a line that begins with a keyword and a number is no sentence; ``mark`` comes after the number."""
    begins = next((character for character in title if character.isalpha()), "A")
    if (
        block.size > _MOST_WORDS_OF_TITLE
        and (_SENTENCES.search(bare(block.text), len(first) - len(title)) or _TELLS.search(block.text))
        and not (is_synopsis(block.text) or _is_mostly_capitals(block.text))
    ):
        return False
    if first[0].islower() and (block.gap < 2 or (title and mark not in ":-—–")):
        return False
    if mark == ",":
        return bool(keyword_of(title)) or block.gap >= _HEADING_GAP
    return begins.isupper() or (mark != "" and mark in "-—–[(:")


def _counting(block: Block, text: str) -> Heading | None:
    """Return a heading that is one only in a count."""
    if match := _LETTER.match(text):
        return Heading("letter of a section", ord(match[1]) - ord("a") + 1, sure=False)
    text = _BEFORE_NUMBER.sub("", text, count=1)
    found = read(text)
    if found is None or found.keyword or found.value > _HIGHEST:
        return None
    if _AFTER_BARE.match(text, found.end):
        # "C" and "L" sign letters; words alone may be said by somebody.
        word = found.kind == "word" and (block.gap < 2 or text[found.end :] not in ("", "."))
        lone = found.kind == "lower roman" and found.value in (50, 100)
        return None if word or lone else Heading(found.kind, found.value, sure=False)
    beside = _BESIDE_NUMBER.match(text, found.end)
    if beside is None or found.kind == "lower roman" or _DAY.match(text):
        return None
    title = beside["title"].strip(" .:;—–-")
    # Sentences begin with "One" and "I".
    marked = beside["mark"] is not None
    word = not marked or found.kind == "word"
    if not title or (word and not _is_title_of_word(block, title, marked or found.kind != "word")):
        return None
    return Heading(f"{found.kind} titled", found.value, title, sure=False)


def _is_title_of_word(block: Block, title: str, marked: bool) -> bool:
    """Return whether words after a number that may be a word, or without a mark between them, are a title."""
    short = block.size <= _MOST_TITLE_WORDS and block.text[-1] not in ".,;:"
    return block.gap >= 2 and not title[0].islower() and (is_capitals(title) or (marked and short))


def _may_be_title(block: Block, title: str) -> bool:
    """Return whether what stands next to a number reads as a title even outside a count."""
    return is_title(Block((title,), 1), final_stop=True) or (
        block.gap >= 2 and len(block.text.split()) <= _MOST_PLAIN_TITLE_WORDS and block.text[-1] not in ".,;:"
    )


def _named(block: Block, text: str) -> Heading | None:
    apart = block.gap >= 2
    phrase = phrase_of(text) if text[-1] not in ",;?" else ""
    if not apart and not text.isupper() and phrase != "ends":
        return None
    if phrase in ("notes", "ends") or (apart and (phrase == "back" or _BACK.match(text))):
        return Heading("back")
    if phrase in ("contents", "front") or _CONTENTS.match(text) or _FRONT.match(text):
        return Heading("front")
    if phrase == "story" or (apart and _STORY_IF_APART.match(text)):
        # "NOTE" has no title below it; the others may.
        return Heading("named", title=text if _STORY_IF_APART.match(text) else "")
    return None


def parted(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with chapter numbers in blocks of their own where the first paragraphs of most chapters begin with theirs."""
    found = {
        i: run_in
        for i, block in enumerate(blocks)
        if (run_in := _run_in(block))
        and is_prose(Block(run_in[2], 0))
        and not is_synopsis(block.text)
        and not _ARGUMENT.match(run_in[2][0])
    }
    page = Page(blocks)
    places = [i for i in found if page.sizes[i] > _MOST_TITLE_WORDS]
    numbers = [found[i][0] for i in places]
    steps = [b in (a + 1, 1) for a, b in pairwise(numbers)]
    if (
        len(places) < max(_FEWEST_RUN_IN, _HABIT * len(found))
        or sum(steps) < _HABIT * len(steps)
        or page.apart(places) < page.least_apart(len(places))
        # Arguments tell what happens in the present.
        or (
            median(page.sizes[i] for i in places) < _FEWEST_WORDS_TOLD
            and sum(_TELLS.search(blocks[i].text) is not None for i in places) < _HABIT * len(places)
        )
    ):
        return list(blocks)
    apart: list[Block] = []
    for i, block in enumerate(blocks):
        if i in found:
            _, head, rest = found[i]
            apart += [Block((head,), max(block.gap, 2)), Block(rest, 1)]
        else:
            apart.append(block)
    return apart


def _run_in(block: Block) -> tuple[int, str, tuple[str, ...]] | None:
    """Return the number with which a paragraph begins, the number as a heading, and the lines without it."""
    line = block.lines[0].lstrip()
    number = line.strip(" .—–-[]()_*")
    if len(block.lines) > 1 and (alone := read(number)) and alone.end == len(number) and not alone.keyword:
        return alone.value, line, block.lines[1:]
    found = read(line)
    if found is None or not (found.keyword or found.kind in ("roman", "arabic")):
        return None
    rest = _RUN_IN.match(line, found.end)
    if rest is None or _DAY.match(line):
        return None
    return found.value, line[: rest.start("rest")], (rest["rest"].lstrip(" -—"), *block.lines[1:])


def is_notes(block: Block) -> bool:
    """Return whether a block is the heading of footnotes."""
    return phrase_of(text := bare(block.text)) == "notes" or bool(_NOTES.match(text))


def is_contents(block: Block) -> bool:
    """Return whether a block is the heading of a contents page."""
    text = bare(block.text)
    return len(block.lines) == 1 and (phrase_of(text) == "contents" or bool(_CONTENTS.match(text)))


def is_closing(block: Block, *, above_heading: bool = False) -> bool:
    """Return whether a block says that a part ends, as in "THE END OF THE FIRST PERIOD."."""
    if len(block.lines) > 2 or len(block.text) > 2 * _LONGEST_CLOSING:
        return False
    text = bare(block.text)
    bracketed = f"{text[:1]}{text[-1:]}" in ("()", "[]")
    apart = above_heading or bracketed or block.gap >= 2 or text.isupper()
    text = bare(text[1:-1]) if bracketed else text
    return (
        apart
        and len(text) < _LONGEST_CLOSING
        and text[:1].isupper()
        and phrase_of(_BEFORE_END.sub("", text, count=1)) == "closing"
    )


def is_separator(block: Block) -> bool:
    """Return whether a block is a row of asterisks, dashes or the like."""
    return (
        block.text[0] in _SEPARATORS
        and len(block.lines) <= _MOST_HEADING_LINES
        and all(_SEPARATOR.match(line) for line in block.lines)
    )


def is_title(block: Block, *, final_stop: bool = False) -> bool:
    """Return whether a block, directly below a heading, reads as its title.

    Capitals throughout, or wholly in italics, or every word of weight with a capital and no full stop at the end
    (``final_stop`` allows one: for books in which nearly every chapter has such a line).
    """
    raw = block.text
    text = bare(raw)
    # '"The Girl I Left Behind Me"' is a title in quotation marks; speech has its punctuation inside them.
    quoted = len(text) > 2 and text[0] in _QUOTES and text[-1] in _QUOTES
    shown = final_stop and is_capitals(text)
    if quoted and ((text[-2].isalnum() and (shown or len(text) > 12)) or shown):
        text = text[1:-1]
    words = text.split()
    if not words or len(words) > _MOST_WORDS_OF_TITLE or text[0] in _QUOTES + "(":
        return False
    long = len(words) > _MOST_TITLE_WORDS or len(block.lines) > _MOST_HEADING_LINES
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
    weighty = [w for word in words if (w := word.strip(_QUOTES + "().,;:-—")) and w.lower() not in _SMALL]
    return bool(weighty) and text[0].isupper() and all(not word[0].islower() for word in weighty)


def is_synopsis(text: str) -> bool:
    """Return whether a text lists what happens in the chapter, the items parted by dashes."""
    dashes = len(re.findall(r"--|—|–| - ", text))
    return dashes >= _FEWEST_TITLE_DASHES and len(text.split()) < 14 * dashes and len(text) < 400


def is_capitals(text: str) -> bool:
    """Return whether all letters are capitals; what stands in italics does not count ("JOURNAL--_continued_")."""
    outside = re.sub(r"_[^_]*_", "", text) if "_" in text else text
    return outside.isupper() and sum(c.isalpha() for c in outside) > 1


def _is_mostly_capitals(text: str) -> bool:
    words = [word for word in text.split() if word[0].isalpha()]
    return sum(word.isupper() for word in words) >= 0.8 * len(words)


def bare(text: str) -> str:
    """Return a line without indentation, emphasis and double spaces."""
    if "  " in text or "\t" in text or "\xa0" in text:
        text = " ".join(text.split())
    return text.strip("_*=~# ")


def ends_sentence(text: str) -> bool:
    """Return whether a text ends where a sentence may end."""
    return bool(_SENTENCE_END.search(text))


def is_prose(block: Block) -> bool:
    """Return whether a block is made of sentences, as a line of a title page or of a table of contents is not."""
    words = block.text.split()
    lower = sum(map(str.islower, [word[0] for word in words]))
    if lower * 2 < len(words):
        return len(words) > 40 and lower * 3 > len(words)
    return bool(_SENTENCE_END.search(block.text)) or len(words) > 40


@dataclass(frozen=True)
class Label:
    """What becomes of a block: it is a ``heading``, or ``dropped``, or part of the story when neither."""

    heading: Heading | None = None
    dropped: bool = False


KEEP = Label()
DROP = Label(dropped=True)


class Page:
    """The blocks of a book with what every rule asks for: how many words stand before each, and the usual gap."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        """Count the words."""
        self.blocks = blocks
        self.sizes = [block.size for block in blocks]
        self.gap = Counter([block.gap for block in blocks]).most_common(1)[0][0] if blocks else 1
        self.before = [0, *accumulate(self.sizes)]

    def apart(self, places: Sequence[int]) -> float:
        """Return the median number of words between neighbours."""
        return median(self.before[b] - self.before[a] for a, b in pairwise(places)) if len(places) > 1 else 0

    def least_apart(self, number: int) -> float:
        """Return how many words must stand between so many headings: items of a list stand closer."""
        return min(_FEWEST_WORDS_APART, self.before[-1] / (3 * number))


def label(
    page: Page, title: str, labels: Sequence[Label], listed: frozenset[str] = frozenset(), start: int = 0
) -> list[Label]:
    """Find the headings of a book.

    Args:
        page: The blocks of the book.
        title: The book's own title, which is no part of the story where it is printed again.
        labels: What each block is by itself: its heading, sure or not; dropped; or kept.
        listed: Titles on the contents page and elsewhere in the front matter, in their :func:`plain` form.
        start: The first block behind the front matter.

    Returns:
        The labels with only those headings that are some, titles below headings not yet among them.
    """
    labels = _counted(page, labels, listed)
    _label_listed(page.blocks, labels, title, listed, start)
    chapters = sum(found.heading.style not in _NO_CHAPTERS for found in labels if found.heading)
    # A tale among others may have numbered sections.
    capitals = _in_capitals(page, labels)
    for i in max(capitals if len(capitals) >= 2 * chapters else [], _set_far_apart(page, labels), key=len):
        labels[i] = Label(Heading("capitals", title=page.blocks[i].text))
    for i in _set_as_headings(page.blocks, labels, start):
        labels[i] = Label(Heading("capitals", title=page.blocks[i].text))
    for i, following in enumerate(labels[1:]):
        if labels[i] is KEEP and (
            (following.heading and _is_above_heading(page.blocks[i]))
            or (page.blocks[i].gap > page.gap and _is_title_within(page.blocks, i))
        ):
            labels[i] = DROP
    for i in _misprinted(page.blocks, labels):
        labels[i] = Label(Heading("named", title=page.blocks[i].text))
    _number_introduction(page.blocks, labels)
    _take_titles_below(page.blocks, labels)
    return labels


def _misprinted(blocks: Sequence[Block], labels: Sequence[Label]) -> list[int]:
    """Return the lines that set a keyword next to a word, as this book's headings do, where the word is misprinted."""
    counted = Counter(
        bare(blocks[i].lines[0]).count(" ")
        for i, found in enumerate(labels)
        if found.heading and found.heading.number and found.heading.sure
    )
    styles = Counter(
        found.heading.style
        for found in labels
        if found.heading and found.heading.number and found.heading.sure
    )
    if counted[1] < _FEWEST_OF_A_SHAPE:
        return []
    return [
        i
        for i, block in enumerate(blocks)
        if labels[i] is KEEP
        and block.gap >= 2
        and block.size == 2
        and block.text[0].isupper()
        and block.text[-1] not in "!?,;:"
        and styles[any_keyword(block.text)] >= _FEWEST_OF_A_SHAPE
    ]


def _take_titles_below(blocks: Sequence[Block], labels: list[Label]) -> None:
    """Make the line right below a number its title, in a book in which most numbers have a short one there."""
    below = {
        i: " ".join(blocks[i].lines[-found.heading.rest :]).split()
        for i, found in enumerate(labels)
        if found.heading and found.heading.rest
    }
    short = [
        i
        for i, words in below.items()
        if len(words) <= _MOST_TITLE_WORDS and words[0][0] not in f"{_QUOTES}—–-"
    ]
    if len(short) >= max(_FEWEST_TITLES_BELOW, _HABIT * len(below)):
        for i in short:
            if heading := labels[i].heading:
                labels[i] = Label(replace(heading, title=" ".join(below[i]), rest=0))


def _number_introduction(blocks: Sequence[Block], labels: list[Label]) -> None:
    """Make the introduction the first chapter where the count of chapters begins with 2 below it."""
    front = None
    for i, found in enumerate(labels):
        if found.heading and found.heading.style == "front":
            front = i
        elif found.heading and found.heading.number:
            if front is not None and found.heading.number == 2:
                labels[front] = Label(Heading(found.heading.style, 1, blocks[front].text))
            return


def _is_title_within(blocks: Sequence[Block], i: int) -> bool:
    """Return whether a block, farther from the text than paragraphs, is the title in capitals of a tale within a chapter."""
    block = blocks[i]
    return (
        len(block.lines) == 1
        and block.text[0].isalpha()
        and block.text[-1].isalpha()
        and " " in block.text
        and is_capitals(block.text)
        # A sentence that runs through it needs it.
        and (not blocks[i + 1].text[0].islower() or bool(_SENTENCE_END.search(blocks[max(0, i - 1)].text)))
    )


def _counted(page: Page, labels: Sequence[Label], listed: frozenset[str]) -> list[Label]:
    """Return the labels without what only looks like a number in a count."""
    decided = list(labels)
    styles: dict[str, list[int]] = defaultdict(list)
    sure = 0
    for i, found in enumerate(labels):
        if found.heading and not found.heading.sure:
            styles[found.heading.style].append(i)
        elif found.heading:
            sure += found.heading.number is not None
    for style, places in styles.items():
        titles = [
            i
            for i in places
            if (h := labels[i].heading) and (not h.title or _may_be_title(page.blocks[i], h.title))
        ]
        kept = _in_count(page, labels, style, titles, listed, sure)
        # Sentences with a number ("II. A day at the boat.") are no titles by themselves, and side by side they are a list.
        others = set(places) - set(titles)
        both = [i for i in places if i not in others or not {i - 1, i + 1} & others]
        if len(both) >= max(_FEWEST_SENTENCES, len(titles) + 1):
            kept = max(kept, _in_count(page, labels, style, both, listed, sure), key=len)
        for i in places:
            if i not in kept:
                decided[i] = DROP if style == "arabic" else KEEP
    _count_shapes(page, decided)
    return decided


def _count_shapes(page: Page, labels: list[Label]) -> None:
    """Label lines of one shape that count ("The Story of Day II", "Adventure IV. The Mail", "Der zweite Tag")."""
    shapes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for i, block in enumerate(page.blocks):
        if (
            labels[i] is not KEEP
            or len(block.lines) > 2
            or len(block.text) > _LONGEST_HEADING
            or block.text[0] in _QUOTES
        ):
            continue
        text = bare(block.text)
        for shape, number in readings(text):
            shapes[shape].append((i, number.value, text[number.end :].strip(" .:;—–-")))
    for shape, same in shapes.items():
        counted = count_in([value for _, value, _ in same], again=True, step=1)
        members = [same[k] for k in counted]
        places = [i for i, *_ in members]
        if len(members) >= max(_FEWEST_OF_A_SHAPE, _HABIT * len(same)) and page.apart(
            places
        ) >= page.least_apart(len(members)):
            # A date is one of its month.
            style = month[0] if (month := _MONTH.search(shape)) else shape.replace("#", "").strip(" .:;—–-")
            for i, value, title in members:
                labels[i] = Label(Heading(style, value, title))


def _label_listed(
    blocks: Sequence[Block], labels: list[Label], title: str, listed: frozenset[str], start: int
) -> None:
    """Label titles of the contents page that stand in the text, and drop the book's title where it is printed again."""
    own = {plain(title), plain(re.split(r"[:;,]| or ", title)[0])} - {""}
    others, longest = listed - own, 2 * max(map(len, listed | own), default=0)
    for i, block in enumerate(blocks[start:], start):
        if len(block.lines) > _MOST_HEADING_LINES or labels[i] is not KEEP:
            continue
        speech = block.gap < 2 and block.text[:1] in _QUOTES and not (i and labels[i - 1].heading)
        if speech or (len(block.text) > longest and not block.text.isupper()):
            continue
        if text := plain(block.text):
            above = labels[i - 1].heading if i else None
            titles = above is not None and above.number is not None and not above.title
            apart = block.gap >= 2 or not is_prose(block)  # a title may end in a full stop
            if text in others and (titles or (apart and _may_stand_alone(block))):
                labels[i] = Label(Heading("listed", title=block.text))
            elif block.gap >= 2 and any(
                re.fullmatch(rf"{re.escape(name)}(?:part|vol|volume|book)\w{{1,8}}", text) for name in own
            ):
                labels[i] = Label(Heading("named", title=block.text))
            elif _is_other_title(block, text, own, listed) or (
                i and len(block.lines) == 1 and plain(blocks[i - 1].text + block.text) in listed
            ):
                labels[i] = DROP
    for i, (found, following) in enumerate(pairwise(labels)):
        if found.heading and following.heading and _is_its_title(found.heading, following.heading):
            labels[i], labels[i + 1] = Label(replace(found.heading, title=blocks[i + 1].text)), DROP
    alone = {
        i: plain(blocks[i].text)
        for i, found in enumerate(labels)
        if found.heading and found.heading.style == "listed"
    }
    times = Counter(alone.values())
    for i, text in alone.items():
        if times[text] > 2:
            labels[i] = KEEP  # whose letter or journal follows, not a chapter's title


def _is_other_title(block: Block, text: str, own: set[str], listed: frozenset[str]) -> bool:
    """Return whether a line in capitals is the book's title printed again, a part of a listed title, or a longer form of one."""
    if not is_capitals(block.text) or (block.gap < 2 and text not in own) or bare(block.text)[-1:] in "!?,;:":
        return False
    if text in own:
        return True
    if " " not in block.text:
        return block.gap >= _HEADING_GAP and any(title.startswith(text) for title in listed)
    return any(text in title or (len(title) > 11 and text.startswith(title)) for title in listed)


def _is_its_title(heading: Heading, below: Heading) -> bool:
    """Return whether what looks like a heading is the title of the numbered one above it ("Introduction" below "I")."""
    if heading.number is None or heading.title:
        return False
    if below.style == "listed" or (not below.sure and below.title):
        return True
    return below.style in ("front", "back", "named") and heading.style not in ("book", "part", "volume")


def _may_stand_alone(block: Block) -> bool:
    """Return whether a block that the contents page lists can be a heading, not what somebody says."""
    text = bare(block.text)
    return (block.gap >= 2 or is_capitals(text) or is_title(block, final_stop=True)) and text[
        -1:
    ] not in ",;:"


def _in_count(
    page: Page, labels: Sequence[Label], style: str, places: Sequence[int], listed: frozenset[str], sure: int
) -> set[int]:
    """Return which of the blocks that may be headings of one style are some."""
    blocks = page.blocks
    headings = {i: heading for i in places if (heading := labels[i].heading)}
    numbers = [headings[i].number or 0 for i in places]
    named = {
        i
        for i in places
        if plain(blocks[i].text) in listed or (headings[i].title and plain(headings[i].title) in listed)
    }
    counted = count_in(numbers, again=True, step=1)
    in_order = len(counted) > 1 and len(counted) >= _HABIT * len(places)
    bare_number = style in (*_BARE_NUMBERS, "letter of a section")
    if bare_number:
        if style == "arabic" and _are_pages(page, places, numbers, sure):
            return set()
    elif not (
        2 * len(named) >= len(places) or (in_order and page.apart(places) >= page.least_apart(len(places)))
    ):
        return named
    kept: set[int] = set()
    last = seen = 0
    for i, number in zip(places, numbers, strict=True):
        # The first section of a chapter may have no number.
        second = (
            number == 2
            and style in ("roman", "letter of a section")
            and any(h.sure for j in range(seen, i) if (h := labels[j].heading))
        )
        seen = i
        block = blocks[i]
        # Single letters that are numerals too sign letters; digits out of order number pages.
        letter = block.text.strip(" ._").upper() in ("C", "L")
        apart = block.gap >= 2 and not letter and (number > last or bare_number)
        if number in (last + 1, 1) or second or i in named or (apart and style != "arabic"):
            kept.add(i)
            last = number
    return kept


def _are_pages(page: Page, places: Sequence[int], numbers: Sequence[int], sure: int) -> bool:
    """Return whether digits that stand alone number pages: they never begin again, stand close, or cut sentences."""
    if len(places) < 8 or numbers.count(1) > 1:
        return False
    before = [page.blocks[i - 1] for i in places if i]
    cutting = sum(is_prose(block) and not _SENTENCE_END.search(block.text) for block in before)
    return cutting >= 0.2 * len(places) or (
        sure > 1
        and page.apart(places) < WORDS_A_PAGE
        and median(page.blocks[i].gap for i in places) < _HEADING_GAP
    )


def _in_capitals(page: Page, labels: Sequence[Label]) -> list[int]:
    """Return the lines in capitals, or far apart, that open the chapters of a book without other headings."""
    found = [
        i
        for i, block in enumerate(page.blocks)
        if labels[i] is KEEP
        and len(block.lines) <= 2
        and ((block.gap >= 2 and is_capitals(block.text)) or (block.gap >= 3 and is_title(block)))
        and bare(block.text)[:1] not in _QUOTES
        and bare(block.text)[-1:] not in (",;:" if block.gap >= _HEADING_GAP else "!?,;:")
    ]
    ends = [*found[1:], len(page.blocks)][: len(found)]
    far = [
        i
        for i, j in zip(found, ends, strict=True)
        if page.before[j] - page.before[i] >= _FEWEST_WORDS_A_CHAPTER
    ]
    if len(far) < 2 or len(far) < _HABIT * len(found):
        return []
    # In such a book a chapter may be short; the lines of a title page stand closer.
    return [
        i
        for i, j in zip(found, ends, strict=True)
        if page.before[j] - page.before[i] >= _FEWEST_WORDS_A_SECTION
    ]


def _set_far_apart(page: Page, labels: Sequence[Label]) -> list[int]:
    """Return the short lines, as in "The old ferryman.", that alone have so much space above them in a book without other titles.

    Below them stands prose, or the first of their sections, which have bare numbers.
    """
    if any(h.style not in (*_NO_CHAPTERS, *_BARE_NUMBERS) for found in labels if (h := found.heading)):
        return []
    sections = any(h.style in _BARE_NUMBERS for found in labels if (h := found.heading))
    found = [
        i
        for i, (block, below) in enumerate(pairwise(page.blocks))
        if labels[i] is KEEP
        and block.gap > page.gap
        and block.gap >= 2
        and len(block.lines) == 1
        and block.size <= _MOST_WORDS_APART
        and (text := bare(block.text))[:1].isupper()
        and (text[-1].isalpha() or text[-1] in ".)")
        and not _TELLS.search(text)
        and (
            ((h := labels[i + 1].heading) is not None and h.number == 1)
            if sections
            else labels[i + 1] is KEEP and is_prose(below) and below.size > _MOST_WORDS_APART
        )
    ]
    ends = [*found[1:], len(page.blocks)][: len(found)]
    far = sum(
        page.before[j] - page.before[i] >= _FEWEST_WORDS_A_CHAPTER for i, j in zip(found, ends, strict=True)
    )
    if far < max(_FEWEST_OF_A_SHAPE, _ALL_BUT_FEW * len(found)):
        return []
    usual = min(page.blocks[i].gap for i in found)
    inside = range(found[0], len(page.blocks))
    # Where a scene ends there is space too.
    others = sum(
        labels[i] is KEEP and page.blocks[i].gap >= usual and i not in found and i - 1 not in found
        for i in inside
    )
    return found if others <= _MOST_OTHERS * len(found) else []


def _set_as_headings(blocks: Sequence[Block], labels: Sequence[Label], start: int) -> list[int]:
    """Return the lines in capitals that stand as far from the text as this book's headings do."""
    gaps = [
        (block.gap, below.gap)
        for block, below, found in zip(blocks[start:], blocks[start + 1 :], labels[start:], strict=False)
        if found.heading and found.heading.number
    ]
    if len(gaps) < 3 or (above := median(gap for gap, _ in gaps)) < _HEADING_GAP:
        return []
    return [
        i
        for i, (block, following) in enumerate(pairwise(blocks))
        if i >= start and labels[i] is KEEP and block.gap >= above and is_set_apart(block, [following])
    ]


def is_set_apart(block: Block, following: Sequence[Block]) -> bool:
    """Return whether a block is a line in capitals, not said by anybody, with two blank lines above and below."""
    return (
        len(block.lines) == 1
        and min(below.gap for below in (block, *following)) >= 2
        and is_capitals(block.text)
        and bare(block.text)[:1] not in _QUOTES
        and bare(block.text)[-1:] not in "!?,;:"
    )


def _is_above_heading(block: Block) -> bool:
    """Return whether a block is a line such as "THE STORY" above "FIRST PERIOD" (not a signature), or closes a part."""
    text = block.text
    capitals = (
        block.gap >= 2
        and len(block.lines) == 1
        and text.isupper()
        and text[0].isalpha()
        and (text[-1].isalpha() or text[-1] in "?!")
    )
    return capitals or is_closing(block, above_heading=True)


def titles_listed(blocks: Sequence[Block]) -> frozenset[str]:
    """Return what a contents page lists, in its :func:`plain` form: each line, its title without number and page, and both over two lines.

    >>> sorted(titles_listed([Block(("   CHAPTER I.  THE PRISON-DOOR ..... 12", " II. Pearl"), 1)]))
    ['chapteritheprisondoor', 'iipearl', 'pearl', 'theprisondoor']
    """
    titles = set()
    lines = [line for block in blocks for line in block.lines]
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        entry = _without_page(line)
        both = (
            f"{entry} {_without_page(following)}"
            if _without_number(bare(following)) == bare(following)
            else entry
        )
        for text in (entry, both):
            titles |= {plain(text), plain(_without_number(text))}
    return frozenset(title for title in titles if sum(map(str.isalpha, title)) > 1 and not _is_numeral(title))


def _without_page(line: str) -> str:
    found = _PAGE.search(line)
    text = line[: found.start()] if found and found.start() and not line[found.start()].isalnum() else line
    return bare(text)


def _without_number(entry: str) -> str:
    found = read(entry)
    if found is None and (word := _FIRST_WORD.match(entry)) and (found := read(entry[word.end() :])):
        entry = entry[word.end() :]
    beside = (_BESIDE_KEYWORD if found.keyword else _BESIDE_NUMBER).match(entry, found.end) if found else None
    return bare(beside["title"]).strip(" .:;—–-") if beside else entry


def _is_numeral(text: str) -> bool:
    found = read(text)
    return found is not None and found.end == len(text)


@dataclass(frozen=True)
class Habits:
    """What this book has below the headings of most of its chapters.

    Attributes:
        stops: Titles, some with a full stop or as synopses of dashes.
        mottoes: Quotations with their authors.
        arguments: What marks the block below as none of the story, see :func:`argument_marks`.
    """

    stops: bool
    mottoes: bool
    arguments: frozenset[str]


def usual_below(blocks: Sequence[Block], labels: Sequence[Label]) -> Habits:
    """Return what stands below the headings of most chapters."""
    below = [
        blocks[i + 1]
        for i, found in enumerate(labels[:-1])
        if found.heading and not found.heading.title and labels[i + 1] is KEEP
    ]
    stops = sum(is_title(block, final_stop=True) or is_synopsis(block.text) for block in below)
    mottoes = sum(_is_indented(block) and _has_author(block) for block in below)
    first = [
        i
        + 1
        + (
            not found.heading.title
            and (is_title(blocks[i + 1], final_stop=True) or is_synopsis(blocks[i + 1].text))
        )
        for i, found in enumerate(labels[:-1])
        if found.heading and not found.heading.rest and labels[i + 1] is KEEP
    ]
    first = [i for i in first if labels[i] is KEEP]
    marks = Counter(mark for i in first for mark in argument_marks(blocks, i))
    # A story in the present goes on in it.
    marks["present"] -= 2 * sum("present" in argument_marks(blocks, i + 1) for i in first)
    long = [block.text for block in blocks if block.size > _MOST_TITLE_WORDS]
    if sum(" the " in text for text in long) < _HABIT * len(long):
        del marks["present"]  # tenses are known in English only
    usual = {mark for mark, times in marks.items() if times >= max(3, _HABIT * len(first))}
    if marks["short"] < max(_FEWEST_SHORT, _MOST_ALL * len(first)):
        usual.discard("short")
    shown = sum(bool(argument_marks(blocks, i) & _OF_ARGUMENTS) for i in first)
    if "present" in usual and len(first) >= _FEWEST_ARGUMENTS and shown >= _ALL_BUT_FEW * len(first):
        usual |= _OF_ARGUMENTS
    return Habits(len(below) >= 3 and stops >= _HABIT * len(below), mottoes >= 3, frozenset(usual))


def argument_marks(blocks: Sequence[Block], i: int) -> frozenset[str]:
    """Return the ways in which a block below a heading may show what the chapter holds, or its date, or its motto.

    It has no full stop, is short, begins as arguments do, is wholly in italics or brackets, names an author, has more space below
    it than paragraphs have, tells what happens in the present, or stands above a first word in capitals. A paragraph of the story may too: ask only where most chapters have the same (:class:`Habits`).
    """
    if i >= len(blocks) or len((text := blocks[i].text).split()) > _MOST_ARGUMENT_WORDS:
        return frozenset()
    after = [block.gap for block in blocks[i + 1 : i + 3]]
    below = blocks[i + 1].size if after else 0
    marks = {
        "open": not _SENTENCE_END.search(text),
        "words": _ARGUMENT.match(text),
        "set": _SET_OFF.match(text),
        "author": _has_author(blocks[i]),
        "apart": len(after) == 2 and after[0] >= 2 and after[0] > after[1],
        "short": blocks[i].size <= _MOST_SHORT_WORDS < below
        and text[0] not in f"{_QUOTES}—–-"
        and not _TELLS.search(text),
        "present": " " in text and not _TELLS.search(text),
        "initial": after
        and is_prose(blocks[i + 1])
        and _INITIAL.match(blocks[i + 1].text)
        and not _INITIAL.match(text),
    }
    return frozenset(mark for mark, found in marks.items() if found)


def is_motto(blocks: Sequence[Block], labels: Sequence[Label], i: int, usual: bool) -> bool:
    """Return whether a block begins an indented quotation below a heading, with its author or in a book full of them."""
    end = i
    while end < len(blocks) and labels[end] is KEEP and _is_indented(blocks[end]):
        end += 1
    run = blocks[i:end]
    if not run or end == len(blocks) or sum(len(block.text.split()) for block in run) > _MOST_MOTTO_WORDS:
        return False
    # The author may stand in a block of its own.
    above, last = blocks[end - 2], blocks[end - 1]
    apart = end > 1 and len(above.lines) > 1 == len(last.lines) and _is_indented(above)
    return usual or any(map(_has_author, run)) or (apart and _has_author(Block(above.lines + last.lines, 1)))


def _has_author(block: Block) -> bool:
    """Return whether a quotation ends in its source: behind a dash, or on a short line in italics or far to the right."""
    *above, last = block.lines
    if _ATTRIBUTION.search(last):
        return True
    if not above or len(last.split()) > _MOST_AUTHOR_WORDS or not last.strip("_ ")[:1].isupper():
        return False
    in_italics = re.fullmatch(r"\s*_[^_]+_\.?", last) and "_" not in above[-1]
    return bool(in_italics) or is_capitals(last) or _indent(last) >= max(map(_indent, above)) + _AUTHOR_INDENT


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_indented(block: Block) -> bool:
    return all(line.startswith(("  ", "\t")) for line in block.lines)


def count_warnings(headings: Sequence[Heading]) -> tuple[str, ...]:
    """Return what is doubtful in the numbers of a book's headings: gaps in a count, or no more than one heading."""
    warnings = []
    last: dict[str, int] = {}
    for heading in headings:
        if heading.number:
            before = last.get(heading.style, 0)
            both = heading.number == before and keyword_of(heading.title)
            if heading.number not in (before + 1, 1) and not both:  # "Book I, Chapter 2"
                warnings.append(
                    f"{heading.style} {heading.number} follows {heading.style} {before}"
                    if before
                    else f"the first {heading.style} has number {heading.number}"
                )
            last[heading.style] = heading.number
    if len(headings) < 2:
        warnings.append("only one heading is found" if headings else "no heading is found")
    return tuple(warnings)
