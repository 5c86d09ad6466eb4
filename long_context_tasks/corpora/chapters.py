"""Decide for a whole book which blocks are headings.

A block becomes a heading for one of four reasons:

1. Its words: "CHAPTER XII", "EPILOGUE" (:mod:`long_context_tasks.corpora.headings`).
2. Its number: "VII" and "ADVENTURE II." are headings if they continue a series, across parts or again from 1, with text of some
   length between them.
3. The table of contents lists it.
4. Its looks: short lines in capitals far apart in a book without other headings, or set as the numbered headings of that book.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median

from long_context_tasks.corpora.headings import (
    BARE_NUMBERS,
    HEADING_GAP,
    LONGEST_HEADING,
    MOST,
    TITLE_MARKS,
    Heading,
    count_in,
    is_closing,
    narrates,
    plain,
    read,
    readings,
    run_in_number,
    series_in,
    without_number,
)
from long_context_tasks.corpora.printed_text import (
    CUT,
    MOST_HEADING_LINES,
    MOST_TITLE_WORDS,
    QUOTES,
    Block,
    bare,
    ends_sentence,
    is_capitals,
    is_prose,
    is_synopsis,
    is_title,
    line_block,
)

_PAGE = re.compile(r"(?<![\s.·…_])[\s.·…_]*(?:\bpage\s*)?(?:\d{1,4}|\b[ivxlc]{1,7})\s*$", re.IGNORECASE)
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*")
ARGUMENT = re.compile(
    r"_?(?:In wh|Of |How |Wherein|Where |What |Why |Contain|Show|Treat|Concern|Relat|Tell|Describ)"
)
NO_CHAPTERS = ("front", "back", "named", "book", "part", "volume")
_FEWEST = 3  # headings that make a rule of a book
_MOSTLY = 0.8
_MOST_PLAIN_TITLE_WORDS = 12
_WORDS_A_CHAPTER = 300  # at least, between headings that only their looks make headings
_WORDS_A_SECTION = 40
_FEWEST_WORDS_OF_RUN_IN = 32  # titles with a number are shorter than paragraphs
_MOST_WORDS_OF_TITLES = 45
_LEAST_SPAN = 0.1  # of the words of a book, from the first number to the last
_FEWEST_REGULAR, _FEWEST_TENTHS = 6, 5  # lines in capitals, and tenths of a book with one
_FEWEST_PAGE_NUMBERS = 8
# Page numbers.
WORDS_A_PAGE = 600  # a series of digits whose median distance is less may number pages
_OF_PAGES = "0123456789[]"
_NUMBER = re.compile(
    r"[\s\[({\-–—|]*(?:(?:page|pg|p)\.?\s*)?(?P<number>\d{1,4})[\s\])}.\-–—|]*", re.IGNORECASE
)
_NOTE_MARK = re.compile(r"(?<=\S) ?(\[\d{1,3}\])")
_MISREAD_PAGE = re.compile(r"\d{1,3}[A-Z?]|[lISOQB]\d{1,2}")  # "1S" for "15"
_FEWEST_NUMBERS = 4
_SHARE = 0.6  # of the numbers on lines of their own that count up
_CUTTING = 0.2  # of them that are within a sentence
_MOST_PAGES_APART = 3
# Lines below a heading.
_ATTRIBUTION = re.compile(r"(?:--|—|–)\s*(?:_?[A-Z]|[\"“])[^\n]{1,60}$")
_MOST_MOTTO_WORDS = 130
_NEARLY_ALL, _FEWEST_SHORT = 0.9, 6  # share and number of the chapters with a short argument
_MOST_SHORT_WORDS = 15
_MOST_ARGUMENT_WORDS = 80
_MOST_AUTHOR_WORDS = 8
_FEWEST_TITLED = 5  # numbers above a short line that make such lines titles
_IN_BRACKETS = re.compile(r"_?\(.{1,80}\)_?|_?\[[^\[\]]{20,900}\]_?")
_AUTHOR_INDENT = 8  # columns
_LEAST_APART = 150  # words between headings without a keyword, the median; items of a list are closer


class Layout:
    """A book while its headings are being found; a block is a heading, dropped, or a part of the text."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.headings: dict[int, Heading] = {}  # headings and candidates by the index of their block
        self.dropped: dict[int, str] = {}  # index of a block -> why it is removed, one of books.REASONS
        # Number of words before each block, and of the whole book at the end.
        self.before = [0, *accumulate(block.size for block in blocks)]
        # The usual number of blank lines between blocks.
        self.gap = Counter(block.gap for block in blocks).most_common(1)[0][0] if blocks else 1

    def copy(self) -> Layout:
        """Return a layout whose labels may change independently."""
        other = Layout.__new__(Layout)
        other.__dict__ |= self.__dict__ | {"headings": dict(self.headings), "dropped": dict(self.dropped)}
        return other

    def is_text(self, i: int) -> bool:
        """Return whether a block is neither a heading nor dropped."""
        return i not in self.headings and i not in self.dropped

    def set_heading(self, i: int, heading: Heading) -> None:
        self.dropped.pop(i, None)
        self.headings[i] = heading

    def drop(self, i: int, reason: str = "headings") -> None:
        self.headings.pop(i, None)
        self.dropped[i] = reason

    def ordered(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Heading]]:
        """Yield the headings from block ``start`` to before block ``stop`` in the order of the book."""
        end = len(self.blocks) if stop is None else stop
        for i in sorted(self.headings):
            if start <= i < end:
                yield i, self.headings[i]

    def styles(self, start: int = 0, stop: int | None = None) -> set[str]:
        """Return the styles of numbered headings in a part of the book."""
        return {heading.style for _, heading in self.ordered(start, stop) if heading.number}

    def words(self, indices: Iterable[int], of: Callable[[Block], bool] = bool) -> int:
        return sum(block.size for block in map(self.blocks.__getitem__, indices) if of(block))

    def are_apart(self, places: Sequence[int]) -> bool:
        """Return whether blocks are far enough apart to be headings.

        The threshold is lower if a short book has many of them.
        """
        return self.median_apart(places) >= min(_LEAST_APART, self.before[-1] / (3 * len(places)))

    def median_apart(self, places: Sequence[int]) -> float:
        if len(places) < 2:
            return 0
        return median(self.before[b] - self.before[a] for a, b in pairwise(places))


# Numbers of printed pages, and of chapters in their first paragraphs.


def without_pages(blocks: list[Block]) -> list[Block]:
    """Put :data:`CUT` in place of page numbers on a line of their own directly above, below or within a paragraph."""
    lines = [
        (i, k, int(match["number"]))
        for i, block in enumerate(blocks)
        for k, line in enumerate(block.lines)
        if (k in (0, len(block.lines) - 1) or line.lstrip()[:1] in _OF_PAGES)
        and (match := _NUMBER.fullmatch(line))
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
    return len(block.lines) == 1 and bool(
        _NUMBER.fullmatch(block.text) or _MISREAD_PAGE.fullmatch(block.text)
    )


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


def separate_run_in(blocks: Sequence[Block]) -> list[Block]:
    """Move numbers that share a block with the story to blocks of their own if they count through the book."""
    marks = {mark for block in blocks if "[" in block.text for mark in _NOTE_MARK.findall(block.text)}
    found = {
        i: run_in
        for i, block in enumerate(blocks)
        if (run_in := run_in_number(block)) and not block.text.startswith(tuple(marks))
    }
    found = {
        i: run_in for i, run_in in found.items() if not run_in[3] or _may_be_told(blocks[i], *run_in[2:])
    }
    apart: set[int] = set()
    for kind in {number.keyword or number.kind for number, *_ in found.values()}:
        same = [i for i, (number, *_) in found.items() if (number.keyword or number.kind) == kind]
        counted = [same[k] for k in series_in([found[i][0].value for i in same])]
        run_ins = [i for i in counted if found[i][1] or found[i][3]]
        # "I" is a preposition in some languages: after the number comes "II", set in the same way.
        words = {i for i, k in pairwise(run_ins) if found[i][2] == "I" and found[k][2] != "II"}
        run_ins = [i for i in run_ins if i not in words]
        # Side by side, numbers are a list.
        listed = {i for pair in pairwise(run_ins) if pair[1] - pair[0] <= _FEWEST for i in pair}
        run_ins = [i for i in run_ins if i not in listed]
        others = {found[i][0].value for i in same if found[i][3] and i not in run_ins}
        glued = sum(found[i][2][-1].isalnum() for i in run_ins) >= MOST * len(run_ins)
        # Behind the end of a sentence, a numeral that the others lack is none of its words; at the beginning, "III" is none.
        clear = all(found[i][1] or (len(found[i][2]) > 1 and found[i][2].isupper()) for i in run_ins)
        behind = clear and len(counted) - len(run_ins) >= _FEWEST
        if (
            len(run_ins) >= (1 if behind else max(_FEWEST, MOST * len(others)))
            and _count_through(blocks, counted)
            and (glued or _are_told(blocks, run_ins))
        ):
            apart |= set(run_ins)
    separate: list[Block] = []
    for i, block in enumerate(blocks):
        if i in apart:
            _, above, head, below = found[i]
            separate += [Block(above, block.gap)] if above else []
            separate.append(Block((head,), 2 if above else max(block.gap, 2)))
            separate += [Block(below, 1)] if below else []
        else:
            separate.append(block)
    return separate


def _may_be_told(block: Block, head: str, rest: tuple[str, ...]) -> bool:
    """Return whether the text after a number may be the first paragraph of a chapter."""
    # What nothing separates from its number is no heading of its own, or one with a gap.
    glued = head[-1].isalnum() and (block.gap < 2 or ends_sentence(block.text))
    below = Block(rest, 0)
    return (glued or is_prose(below)) and not is_synopsis(below.text) and not ARGUMENT.match(rest[0])


def _count_through(blocks: Sequence[Block], places: Sequence[int]) -> bool:
    """Return whether numbers are far apart and not a list within one chapter."""
    layout = Layout(blocks)
    span = layout.before[places[-1]] - layout.before[places[0]]
    return span >= _LEAST_SPAN * layout.before[-1] and layout.are_apart(places)


def _are_told(blocks: Sequence[Block], run_ins: Sequence[int]) -> bool:
    """Return whether numbers with punctuation precede paragraphs of the story, not titles or arguments."""
    sizes = sorted(blocks[i].size for i in run_ins)
    if sizes[int(_NEARLY_ALL * len(sizes))] > _MOST_WORDS_OF_TITLES:
        return True  # first paragraphs may be as short as titles, but not all
    # Arguments have numbers too, but are short and in the present tense.
    long = [i for i in run_ins if blocks[i].size > MOST_TITLE_WORDS]
    return len(long) >= MOST * len(run_ins) and (
        median(blocks[i].size for i in long) >= _FEWEST_WORDS_OF_RUN_IN
        or sum(narrates(blocks[i].text) for i in long) >= MOST * len(long)
    )


def find_chapters(
    candidates: Layout, title: str, listed: frozenset[str] = frozenset(), start: int | None = None
) -> Layout:
    """Return a layout with the headings of a book; their titles may still be in the blocks below.

    Args:
        candidates: the blocks, each with every role that its text alone allows.
        title: the book's title; its repetitions are dropped.
        listed: titles in the table of contents and the front matter, each :func:`plain`.
        start: the first block after the front matter, or None if unknown; then only words and numbers make a heading.
    """
    layout = candidates.copy()
    _keep_counted(layout, listed)
    _find_counted_shapes(layout)
    _find_listed(layout, title, listed, start or 0)
    chapters = sum(heading.style not in NO_CHAPTERS for heading in layout.headings.values())
    # In a collection, one tale may have numbered sections while all have titles in capitals.
    capitals = _in_capitals(layout)
    for i in capitals if len(capitals) >= 2 * chapters else []:
        layout.set_heading(i, Heading("capitals", title=layout.blocks[i].text))
    if start is None:
        looks: list[int] = []  # lines of a title page look like titles
    else:
        # The first tale may have such a title too.
        if start and layout.is_text(start - 1) and _may_be_isolated(layout.blocks, start - 1):
            start -= 1
        while start and layout.is_text(start - 1) and is_capitals(layout.blocks[start - 1].text):
            start -= 1
        looks = [*_isolated(layout, start), *_regular(layout, start)]
    for i in looks:
        layout.set_heading(i, Heading("capitals", title=layout.blocks[i].text))
    for i, block in enumerate(layout.blocks[:-1]):
        if layout.is_text(i) and (
            (i + 1 in layout.headings and _is_above_heading(block))
            or (block.gap > layout.gap and _is_title_within(layout.blocks, i))
        ):
            layout.drop(i)
    _take_titles_below(layout)
    return layout


# Numbers: candidates that form a series.


def _keep_counted(layout: Layout, listed: frozenset[str]) -> None:
    """Remove the candidates whose numbers do not belong to a series."""
    styles: dict[str, list[int]] = defaultdict(list)
    for i, heading in layout.ordered():
        if not heading.sure:
            styles[heading.style].append(i)
    for style, places in styles.items():
        titles = [i for i in places if _may_be_title(layout, i)]
        kept = _in_series(layout, style, titles, listed)
        # Sentences with a number ("II. A day at the boat.") need each other, but side by side they are a list.
        others = set(places) - set(titles)
        both = [i for i in places if i not in others or not {i - 1, i + 1} & others]
        if len(both) >= max(_FEWEST, len(titles) + 1):
            kept = max(kept, _in_series(layout, style, both, listed), key=len)
        for i in places:
            if i not in kept:
                del layout.headings[i]
                if style == "arabic":
                    layout.drop(i, "page numbers")


def _may_be_title(layout: Layout, i: int) -> bool:
    """Return whether the text next to a number, if any, reads as a title."""
    block, title = layout.blocks[i], layout.headings[i].title
    short = block.gap >= 2 and block.size <= _MOST_PLAIN_TITLE_WORDS and block.text[-1] not in ".,;:"
    return not title or short or is_title(line_block(title), final_stop=True)


def _in_series(layout: Layout, style: str, places: Sequence[int], listed: frozenset[str]) -> set[int]:
    """Return the candidates of one style that are headings."""
    blocks, headings = layout.blocks, {i: layout.headings[i] for i in places}
    numbers = [headings[i].number or 0 for i in places]
    named = {i for i in places if plain(blocks[i].text) in listed or plain(headings[i].title) in listed}
    counted = count_in(numbers, again=True, step=1)
    in_order = len(counted) > 1 and len(counted) >= MOST * len(places)
    bare_number = style in BARE_NUMBERS
    if style == "word titled" and len(places) == 1 and numbers != [1]:
        return set()  # "QUARTO CENTENARIO", or in English "TO MY MOTHER", as "to" is two in Danish
    if bare_number:
        if style == "arabic" and _are_pages(layout, places, numbers):
            return set()
    elif not (2 * len(named) >= len(places) or (in_order and layout.are_apart(places))):
        return named
    kept: set[int] = set()
    # In a plain series, a number may be missing because it shares its line with other words.
    step = 2 if in_order and style != "arabic" and layout.are_apart(places) else 1
    # The first numbers may be of another form.
    last = numbers[counted[0]] - 1 if in_order and not bare_number else 0
    seen = 0
    for i, number in zip(places, numbers, strict=True):
        # The first section of a chapter may have no number.
        second = (
            number == 2 and style == "roman" and any(heading.sure for _, heading in layout.ordered(seen, i))
        )
        seen = i
        # Single letters that are also numerals sign letters, and digits out of order number pages.
        letters = blocks[i].text.strip(" ._").upper()
        apart = blocks[i].gap >= 2 and letters not in ("C", "L") and (number > last or bare_number)
        apart = apart or (style == "roman" and letters.isalpha() and len(letters) > 1)
        if (
            number == 1
            or last < number <= last + step
            or second
            or i in named
            or (apart and style != "arabic")
        ):
            kept.add(i)
            last = number
    return kept


def _are_pages(layout: Layout, places: Sequence[int], numbers: Sequence[int]) -> bool:
    """Return whether digits on lines of their own number pages: they never begin again, are close, or cut sentences."""
    if len(places) < _FEWEST_PAGE_NUMBERS or numbers.count(1) > 1:
        return False
    before = [layout.blocks[i - 1] for i in places if i]
    cutting = sum(is_prose(block) and not ends_sentence(block.text) for block in before)
    others = sum(h.sure and h.number is not None for h in layout.headings.values())
    return cutting >= 0.2 * len(places) or (
        others > 1
        and layout.median_apart(places) < WORDS_A_PAGE
        and median(layout.blocks[i].gap for i in places) < HEADING_GAP
    )


def _find_counted_shapes(layout: Layout) -> None:
    """Find lines of one shape that count: "The Story of Day II", "Adventure IV. The Mail", "Der zweite Tag"."""
    shapes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for i, block in enumerate(layout.blocks):
        if layout.is_text(i) and len(block.lines) <= 2 and len(block.text) <= LONGEST_HEADING:
            text = bare(block.text)
            for shape, number in readings(text) if block.text[0] not in QUOTES else ():
                shapes[shape].append((i, number.value, text[number.end :].strip(TITLE_MARKS)))
    for shape, same in shapes.items():
        members = [same[k] for k in count_in([value for _, value, _ in same], again=True, step=1)]
        places = [i for i, *_ in members]
        if len(members) >= max(_FEWEST, MOST * len(same)) and layout.are_apart(places):
            # The days of a diary count within their month.
            month = _MONTH.search(shape)
            style = month[0] if month else shape.replace("#", "").strip(TITLE_MARKS)
            for i, value, title in members:
                layout.set_heading(i, Heading(style, value, title))


# Titles of the table of contents.


def titles_listed(blocks: Sequence[Block]) -> frozenset[str]:
    """Return the titles in a table of contents, each :func:`plain`.

    They are each line, its title without number and page, and both for every two lines together.

    >>> sorted(titles_listed([Block(("   CHAPTER I.  THE PRISON-DOOR ..... 12", " II. Pearl"), 1)]))
    ['chapteritheprisondoor', 'iipearl', 'pearl', 'theprisondoor']
    """
    titles = set()
    lines = [line for block in blocks for line in block.lines]
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        entry = _without_page(line)
        continues = without_number(bare(following)) == bare(following)
        both = f"{entry} {_without_page(following)}" if continues else entry
        for text in (entry, both):
            titles |= {plain(text), plain(without_number(text))}
    return frozenset(title for title in titles if sum(map(str.isalpha, title)) > 1 and not _is_number(title))


def _without_page(line: str) -> str:
    match = _PAGE.search(line)
    return bare(
        line[: match.start()] if match and match.start() and not line[match.start()].isalnum() else line
    )


def _is_number(text: str) -> bool:
    number = read(text)
    return number is not None and number.end == len(text)


def _find_listed(layout: Layout, title: str, listed: frozenset[str], start: int) -> None:
    """Find titles of the table of contents in the text, and drop repetitions of the book's title."""
    own = {plain(title), plain(re.split(r"[:;,]| or ", title)[0])} - {""}
    others, longest = listed - own, 2 * max(map(len, listed | own), default=0)
    parts = [re.compile(rf"{re.escape(name)}(?:part|vol|volume|book)\w{{1,8}}") for name in own]
    for i, block in enumerate(layout.blocks[start:], start):
        speech = block.gap < 2 and block.text[:1] in QUOTES and i - 1 not in layout.headings
        long = len(block.text) > longest and not block.text.isupper()
        if len(block.lines) > MOST_HEADING_LINES or speech or long or not layout.is_text(i):
            continue
        if not (text := plain(block.text)):
            continue
        above = layout.headings.get(i - 1)
        below_number = above is not None and above.number is not None and not above.title
        apart = block.gap >= 2 or not is_prose(block)  # a title may end in a full stop
        if text in others and (below_number or (apart and _may_stand_alone(block))):
            layout.set_heading(i, Heading("listed", title=block.text))
        elif block.gap >= 2 and any(part.fullmatch(text) for part in parts):
            layout.set_heading(i, Heading("named", title=block.text))
        elif _is_other_title(block, text, own, listed) or (
            i and len(block.lines) == 1 and plain(layout.blocks[i - 1].text + block.text) in listed
        ):
            layout.drop(i)
    for i, heading in list(layout.ordered()):
        below = layout.headings.get(i + 1)
        if below and i in layout.headings and _is_its_title(heading, below):
            layout.set_heading(i, replace(heading, title=layout.blocks[i + 1].text))
            layout.drop(i + 1)
    alone = {i: plain(layout.blocks[i].text) for i, heading in layout.ordered() if heading.style == "listed"}
    times = Counter(alone.values())
    for i, text in alone.items():
        if times[text] > 2:
            del layout.headings[i]  # names the writer of the letter below, not a chapter


def _may_stand_alone(block: Block) -> bool:
    """Return whether a listed title can be a heading at this place and not speech."""
    text = bare(block.text)
    return (block.gap >= 2 or is_capitals(text) or is_title(block, final_stop=True)) and text[
        -1:
    ] not in ",;:"


def _is_other_title(block: Block, text: str, own: set[str], listed: frozenset[str]) -> bool:
    """Return whether a line in capitals is the book's title, a part of a listed title or a longer form of one."""
    if not is_capitals(block.text) or (block.gap < 2 and text not in own) or bare(block.text)[-1:] in "!?,;:":
        return False
    if text in own:
        return True
    if " " not in block.text:
        return block.gap >= HEADING_GAP and any(title.startswith(text) for title in listed)
    return any(text in title or (len(title) > 11 and text.startswith(title)) for title in listed)


def _is_its_title(heading: Heading, below: Heading) -> bool:
    """Return whether an apparent heading is the title of the numbered one above it ("Introduction" below "I")."""
    if heading.number is None or heading.title:
        return False
    if below.style == "listed" or (not below.sure and below.title):
        return True
    return below.style in ("front", "back", "named") and heading.style not in ("book", "part", "volume")


# Looks.


def _in_capitals(layout: Layout) -> list[int]:
    """Return the lines in capitals, or with large gaps, that open the chapters of a book without other headings."""
    titles = [
        i
        for i, block in enumerate(layout.blocks)
        if layout.is_text(i)
        and len(block.lines) <= 2
        and ((block.gap >= 2 and is_capitals(block.text)) or (block.gap >= 3 and is_title(block)))
        and bare(block.text)[:1] not in QUOTES
        and bare(block.text)[-1:] not in (",;:" if block.gap >= HEADING_GAP else "!?,;:")
    ]
    sizes = _words_until_next(layout, titles)
    long = sum(size >= _WORDS_A_CHAPTER for size in sizes)
    if long < 2 or long < MOST * len(titles):
        return []
    # In such a book a chapter may be short; the lines of a title page are closer.
    return [i for i, size in zip(titles, sizes, strict=True) if size >= _WORDS_A_SECTION]


def _regular(layout: Layout, start: int) -> list[int]:
    """Return short lines in capitals that occur all over a book, few of them twice, each above a passage of some length."""
    blocks = layout.blocks
    lines = [
        i
        for i, block in enumerate(blocks)
        if i >= start
        and layout.is_text(i)
        and block.size <= _MOST_PLAIN_TITLE_WORDS
        and block.text[0].isalpha()
        and is_capitals(block.text)
    ]
    beside = set(lines)
    titles = [
        i
        for i in lines
        if i - 1 not in beside
        and (not i or ends_sentence(blocks[i - 1].text))
        and (
            below := next(
                (block for j, block in enumerate(blocks[i + 1 : i + 5], i + 1) if j not in beside), None
            )
        )
        and is_prose(below)
        and not below.text[0].islower()
        and bare(blocks[i].text)[-1:] not in "!;:"
    ]
    sizes = _words_until_next(layout, titles)
    tenths = {10 * layout.before[i] // (layout.before[-1] or 1) for i in titles}
    numbered = sum(bool(heading.number) for heading in layout.headings.values())
    often = len(titles) >= max(_FEWEST_REGULAR, numbered / 2) and len(tenths) >= _FEWEST_TENTHS
    different = len({plain(blocks[i].text) for i in titles}) >= MOST * len(titles)
    long = sum(size >= _LEAST_APART for size in sizes) >= MOST * len(titles)
    return titles if often and different and long else []


def _words_until_next(layout: Layout, places: Sequence[int]) -> list[int]:
    return [layout.before[b] - layout.before[a] for a, b in pairwise([*places, len(layout.blocks)])]


def _isolated(layout: Layout, start: int) -> list[int]:
    """Return short lines below large gaps in a book in which nearly all large gaps are above headings or such lines."""
    blocks = layout.blocks
    large = [i for i in range(start, len(blocks) - 1) if blocks[i].gap >= max(HEADING_GAP, layout.gap + 2)]
    short = [i for i in large if i in layout.headings or (layout.is_text(i) and _may_be_isolated(blocks, i))]
    told = [i for i in large if i in short or layout.is_text(i)]
    lines = [i for i in short if layout.is_text(i)]
    gaps = [blocks[i].gap for i in short if i in layout.headings and layout.headings[i].number]
    if 2 * len(gaps) >= max(len(short), 2 * _FEWEST):
        # Among numbered chapters, only lines in capitals with as large a gap are no lines of the story.
        capitals = (i for i in large if layout.is_text(i) and is_capitals(blocks[i].text))
        lines = [i for i in capitals if blocks[i].gap >= median(gaps) and blocks[i + 1].gap >= 2]
        return [i for i in lines if bare(blocks[i].text)[-1:] not in "!?,;:" and len(blocks[i].lines) == 1]
    different = len({plain(blocks[i].text) for i in lines}) >= MOST * len(lines)
    return lines if different and len(short) >= max(_FEWEST, _MOSTLY * len(told)) else []


def _may_be_isolated(blocks: Sequence[Block], i: int) -> bool:
    block, text = blocks[i], bare(blocks[i].text)
    return (
        len(block.lines) <= 2
        and block.size <= _MOST_PLAIN_TITLE_WORDS
        and text[:1] not in f"{QUOTES}„—–-("
        and text[-1:] not in ",;:"
        and not text[:1].islower()
        and (not i or ends_sentence(blocks[i - 1].text))
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


def _is_title_within(blocks: Sequence[Block], i: int) -> bool:
    """Return whether a block with a large gap is the all-caps title of a tale within a chapter."""
    block = blocks[i]
    return (
        len(block.lines) == 1
        and block.text[0].isalpha()
        and block.text[-1].isalpha()
        and " " in block.text
        and is_capitals(block.text)
        # A sign in capitals may be part of a sentence that continues below.
        and (not blocks[i + 1].text[0].islower() or ends_sentence(blocks[max(0, i - 1)].text))
    )


# Repairs.


def _take_titles_below(layout: Layout) -> None:
    """Make the line right below a number its title in a book in which most numbers have a short line there."""
    below = {
        i: " ".join(layout.blocks[i].lines[-heading.rest :]).split()
        for i, heading in layout.ordered()
        if heading.rest
    }
    short = [
        i
        for i, words in below.items()
        if len(words) <= MOST_TITLE_WORDS and words[0][0] not in f"{QUOTES}—–-"
    ]
    if len(short) >= max(_FEWEST, MOST * len(below)):
        for i in short:
            layout.headings[i] = replace(layout.headings[i], title=" ".join(below[i]), rest=0)


# Lines below a heading that are not story: titles, arguments ("In which ..."), mottoes with their authors.


def drop_below_headings(layout: Layout) -> None:
    """Drop titles, synopses and mottoes below the headings; a heading keeps its title."""
    habits = _Habits.of(layout)
    below: list[int] = []
    heading = None  # the index of the last heading
    opens, title_found, argument_found = True, False, False
    for i, block in enumerate(layout.blocks):
        if i in layout.dropped:
            continue
        if i in layout.headings:
            heading, argument_found = i, False
            opens, title_found = not layout.headings[i].rest, bool(layout.headings[i].title)
        elif opens and (
            _belongs_to_heading(layout, i, title_found, habits)
            or (heading is not None and _continues_title(layout.headings[heading].title, block))
        ):
            if not title_found and heading is not None:
                layout.headings[heading] = replace(layout.headings[heading], title=block.text)
            title_found = True
            below.append(i)
        elif opens and not title_found and heading == i - 1 and _title_line(layout, i, habits.lines):
            layout.headings[i - 1] = replace(layout.headings[i - 1], title=block.text)
            title_found = argument_found = True  # whatever follows is the story
            below.append(i)
        elif opens and (
            (i - 1 not in layout.dropped and _IN_BRACKETS.fullmatch(block.text))
            or _is_motto(layout, i, habits)
            or (not argument_found and _is_argument(layout, i, habits))
        ):
            title_found = argument_found = True
            below.append(i)
        else:
            opens = False
    for i in below:
        layout.drop(i)


@dataclass(frozen=True)
class _Habits:
    """Text that usually follows a chapter heading in this book."""

    lines: frozenset[str]  # kinds of numbers with a title, which may be any short line below
    stops: bool  # titles that may end in a full stop, or synopses with dashes
    mottoes: bool  # quotations with their authors
    arguments: frozenset[str]  # the usual marks of an argument, see _argument_marks

    @classmethod
    def of(cls, layout: Layout) -> _Habits:
        blocks = layout.blocks
        untitled = [
            blocks[i + 1] for i, heading in layout.ordered() if not heading.title and _text_below(layout, i)
        ]
        stops = sum(_is_title_or_synopsis(block) for block in untitled)
        mottoes = sum(_is_indented(block) and _has_author(block) for block in untitled)
        return cls(
            _titled_numbers(layout),
            len(untitled) >= _FEWEST and stops >= MOST * len(untitled),
            mottoes >= _FEWEST,
            _usual_arguments(layout),
        )


def _continues_title(title: str, block: Block) -> bool:
    """Return whether a line in capitals below a title is its second line, or names the kind of tale."""
    return (
        bool(title)
        and block.size <= _MOST_PLAIN_TITLE_WORDS
        and is_capitals(block.text)
        and (is_capitals(title) or block.gap >= 2)
        and bare(block.text)[:1] not in QUOTES
    )


def _text_below(layout: Layout, i: int) -> bool:
    return i + 1 < len(layout.blocks) and layout.is_text(i + 1)


def _titled_numbers(layout: Layout) -> frozenset[str]:
    """Return the kinds of numbers ("chapter", "roman") most of which have a title or a short line below, few of them twice.

    A title beside its number says nothing about the line below.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    for i, heading in layout.ordered():
        if heading.number is not None and (heading.title or _text_below(layout, i)):
            beside = heading.title and heading.title in layout.blocks[i].text
            below = heading.title.strip() or _title_line(layout, i + 1)
            kinds[heading.style.removesuffix(" titled")].append("" if beside else below)
    least = {kind: max(_FEWEST_TITLED, _MOSTLY * len(titles)) for kind, titles in kinds.items()}
    return frozenset(kind for kind, titles in kinds.items() if len({*titles} - {""}) >= least[kind])


def _title_line(layout: Layout, i: int, kinds: Set[str] | None = None) -> str:
    """Return a block below a number, of one of ``kinds`` if given, if it may be its title, or an empty string."""
    if i + 1 >= len(layout.blocks) or (kinds is not None and layout.headings[i - 1].style not in kinds):
        return ""
    block, text = layout.blocks[i], bare(layout.blocks[i].text)
    # A story with many short paragraphs may begin with one too.
    below = max(each.size for each in layout.blocks[i + 1 : i + 4])
    most = min(_MOST_PLAIN_TITLE_WORDS if kinds is None else _MOST_SHORT_WORDS, below - 1)
    short = len(block.lines) == 1 and block.size <= most and not text[:1].islower()
    return block.text if short and text[:1] not in f"{QUOTES}„—–-(" and text[-1:] not in ",;:—-" else ""


def _is_title_or_synopsis(block: Block) -> bool:
    return is_title(block, final_stop=True) or is_synopsis(block.text)


def _usual_arguments(layout: Layout) -> frozenset[str]:
    blocks = layout.blocks
    first = []
    for i, heading in layout.ordered():
        if not heading.rest and _text_below(layout, i):
            place = i + 1 + (not heading.title and _is_title_or_synopsis(blocks[i + 1]))
            first += [place] if place < len(blocks) and layout.is_text(place) else []
    marks = Counter(mark for i in first for mark in _argument_marks(blocks, i))
    # If the next paragraph is in the present too, so is the story.
    marks["present"] -= 2 * sum("present" in _argument_marks(blocks, i + 1) for i in first)
    long = [block.text for block in blocks if block.size > MOST_TITLE_WORDS]
    if sum(" the " in text for text in long) < MOST * len(long):
        del marks["present"]  # only English tenses are known
    usual = {mark for mark, times in marks.items() if times >= max(_FEWEST, MOST * len(first))}
    if marks["short"] < max(_FEWEST_SHORT, _NEARLY_ALL * len(first)):
        usual.discard("short")
    return frozenset(usual)


def _argument_marks(blocks: Sequence[Block], i: int) -> frozenset[str]:
    """Return the marks of a chapter's synopsis that a block below a heading has.

    A paragraph of the story may have them too, so they count only if most chapters have them (:class:`_Habits`).
    """
    if i >= len(blocks) or len((text := blocks[i].text).split()) > _MOST_ARGUMENT_WORDS:
        return frozenset()
    after = [block.gap for block in blocks[i + 1 : i + 3]]
    marks = {
        "open": not ends_sentence(text),
        "words": ARGUMENT.match(text),
        "author": _has_author(blocks[i]),
        "apart": len(after) == 2 and after[0] >= 2 and after[0] > after[1],
        "short": len(after) > 0
        and blocks[i].size <= _MOST_SHORT_WORDS < blocks[i + 1].size
        and text[0] not in f"{QUOTES}—–-"
        and not narrates(text),
        "present": " " in text and not narrates(text),
    }
    return frozenset(mark for mark, shown in marks.items() if shown)


def _is_argument(layout: Layout, i: int, habits: _Habits) -> bool:
    """Return whether a block below a heading is a chapter's synopsis, given that most chapters have one."""
    return bool(habits.arguments and habits.arguments & _argument_marks(layout.blocks, i))


def _is_motto(layout: Layout, i: int, habits: _Habits) -> bool:
    """Return whether a block begins an indented quotation with its author, or any in a book full of mottoes."""
    blocks, end = layout.blocks, i
    while end < len(blocks) and layout.is_text(end) and _is_indented(blocks[end]):
        end += 1
    run = blocks[i:end]
    if not run or end == len(blocks) or sum(block.size for block in run) > _MOST_MOTTO_WORDS:
        return False
    # The author may have a block of its own.
    above, last = blocks[end - 2], blocks[end - 1]
    apart = end > 1 and len(above.lines) > 1 == len(last.lines) and _is_indented(above)
    return (
        habits.mottoes
        or any(map(_has_author, run))
        or (apart and _has_author(Block(above.lines + last.lines, 1)))
    )


def _has_author(block: Block) -> bool:
    """Return whether a quotation ends in its source: after a dash, or on a short line in italics or far to the right."""
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


def _belongs_to_heading(layout: Layout, i: int, title_found: bool, habits: _Habits) -> bool:
    """Return whether a block is the title of the heading above it, or the title's second line."""
    block = layout.blocks[i]
    if not title_found and is_title(block, final_stop=habits.stops):
        return True
    if not title_found and habits.stops and is_synopsis(block.text):
        return True
    return i + 1 in layout.headings and is_title(block)
