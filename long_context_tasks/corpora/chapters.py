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
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from long_context_tasks.corpora.blocks import (
    MOST_HEADING_LINES,
    MOST_TITLE_WORDS,
    QUOTES,
    Block,
    bare,
    ends_sentence,
    is_capitals,
    is_prose,
    is_set_apart,
    is_synopsis,
    is_title,
    line_block,
)
from long_context_tasks.corpora.headings import (
    BARE_NUMBERS,
    HEADING_GAP,
    LONGEST_HEADING,
    TITLE_MARKS,
    Heading,
    is_closing,
    narrates,
    run_in_number,
    without_number,
)
from long_context_tasks.corpora.layout import Layout
from long_context_tasks.corpora.numerals import any_keyword, count_in, keyword_of, plain, read, readings
from long_context_tasks.corpora.pages import WORDS_A_PAGE

_PAGE = re.compile(r"(?<![\s.·…_])[\s.·…_]*(?:\bpage\s*)?(?:\d{1,4}|\b[ivxlc]{1,7})\s*$", re.IGNORECASE)
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*")
ARGUMENT = re.compile(
    r"_?(?:In wh|Of |How |Wherein|Where |What |Why |Contain|Show|Treat|Concern|Relat|Tell|Describ)"
)
NO_CHAPTERS = ("front", "back", "named", "book", "part", "volume")
MOST = 0.6  # share of cases that makes a rule of a book
_NEARLY_ALL = 0.9
_FEWEST = 3  # headings that make a rule of a book
_MOST_PLAIN_TITLE_WORDS = 12
_MOST_WORDS_SET_APART = 8
_MOST_OTHER_GAPS = 0.25  # for each title; scenes end with a large gap too
_WORDS_A_CHAPTER = 300  # at least, between headings that only their looks make headings
_WORDS_A_SECTION = 40
_FEWEST_WORDS_OF_RUN_IN = 32  # titles with a number are shorter than paragraphs
_FEWEST_PAGE_NUMBERS = 8


def find_chapters(
    candidates: Layout, title: str, listed: frozenset[str] = frozenset(), start: int = 0
) -> Layout:
    """Return a layout with the headings of a book; their titles may still be in the blocks below.

    Args:
        candidates: the blocks with everything that each may be by its words.
        title: the title of the book, which is removed if it is printed again.
        listed: titles in the table of contents and the front matter, each :func:`plain`.
        start: the first block after the front matter.
    """
    layout = candidates.copy()
    _keep_counted(layout, listed)
    _find_counted_shapes(layout)
    _find_listed(layout, title, listed, start)
    chapters = sum(heading.style not in NO_CHAPTERS for heading in layout.headings.values())
    # In a collection, one tale may have numbered sections while all have titles in capitals.
    capitals = _in_capitals(layout)
    for i in max(capitals if len(capitals) >= 2 * chapters else [], _set_far_apart(layout), key=len):
        layout.set_heading(i, Heading("capitals", title=layout.blocks[i].text))
    for i in _set_as_headings(layout, start):
        layout.set_heading(i, Heading("capitals", title=layout.blocks[i].text))
    for i, block in enumerate(layout.blocks[:-1]):
        if layout.is_text(i) and (
            (i + 1 in layout.headings and _is_above_heading(block))
            or (block.gap > layout.gap and _is_title_within(layout.blocks, i))
        ):
            layout.drop(i)
    for i in _with_unknown_numbers(layout):
        layout.set_heading(i, Heading("named", title=layout.blocks[i].text))
    _number_introduction(layout)
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
    bare_number = style in (*BARE_NUMBERS, "letter of a section")
    if bare_number:
        if style == "arabic" and _are_pages(layout, places, numbers):
            return set()
    elif not (2 * len(named) >= len(places) or (in_order and layout.are_apart(places))):
        return named
    kept: set[int] = set()
    last = seen = 0
    for i, number in zip(places, numbers, strict=True):
        # The first section of a chapter may have no number.
        second = (
            number == 2
            and style in ("roman", "letter of a section")
            and any(heading.sure for _, heading in layout.ordered(seen, i))
        )
        seen = i
        # Single letters that are also numerals sign letters, and digits out of order number pages.
        initial = blocks[i].text.strip(" ._").upper() in ("C", "L")
        apart = blocks[i].gap >= 2 and not initial and (number > last or bare_number)
        if number in (last + 1, 1) or second or i in named or (apart and style != "arabic"):
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


def separate_run_in(blocks: Sequence[Block]) -> list[Block]:
    """Give chapter numbers blocks of their own if the first paragraphs of most chapters begin with theirs."""
    found = {
        i: run_in
        for i, block in enumerate(blocks)
        if (run_in := run_in_number(block))
        and is_prose(Block(run_in[2], 0))
        and not is_synopsis(block.text)
        and not ARGUMENT.match(run_in[2][0])
    }
    places = [i for i in found if blocks[i].size > MOST_TITLE_WORDS]
    numbers = [found[i][0] for i in places]
    steps = [b in (a + 1, 1) for a, b in pairwise(numbers)]
    if (
        len(places) < max(_FEWEST, MOST * len(found))
        or sum(steps) < MOST * len(steps)
        or not Layout(blocks).are_apart(places)
        # Arguments have numbers too, but are short and in the present tense.
        or (
            median(blocks[i].size for i in places) < _FEWEST_WORDS_OF_RUN_IN
            and sum(narrates(blocks[i].text) for i in places) < MOST * len(places)
        )
    ):
        return list(blocks)
    separate: list[Block] = []
    for i, block in enumerate(blocks):
        if i in found:
            _, head, rest = found[i]
            separate += [Block((head,), max(block.gap, 2)), Block(rest, 1)]
        else:
            separate.append(block)
    return separate


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
    found = _PAGE.search(line)
    return bare(
        line[: found.start()] if found and found.start() and not line[found.start()].isalnum() else line
    )


def _is_number(text: str) -> bool:
    found = read(text)
    return found is not None and found.end == len(text)


def _find_listed(layout: Layout, title: str, listed: frozenset[str], start: int) -> None:
    """Find titles of the table of contents in the text, and drop repetitions of the title of the book."""
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
    found = [
        i
        for i, block in enumerate(layout.blocks)
        if layout.is_text(i)
        and len(block.lines) <= 2
        and ((block.gap >= 2 and is_capitals(block.text)) or (block.gap >= 3 and is_title(block)))
        and bare(block.text)[:1] not in QUOTES
        and bare(block.text)[-1:] not in (",;:" if block.gap >= HEADING_GAP else "!?,;:")
    ]
    sizes = _words_until_next(layout, found)
    long = sum(size >= _WORDS_A_CHAPTER for size in sizes)
    if long < 2 or long < MOST * len(found):
        return []
    # In such a book a chapter may be short; the lines of a title page are closer.
    return [i for i, size in zip(found, sizes, strict=True) if size >= _WORDS_A_SECTION]


def _words_until_next(layout: Layout, places: Sequence[int]) -> list[int]:
    return [layout.before[b] - layout.before[a] for a, b in pairwise([*places, len(layout.blocks)])]


def _set_far_apart(layout: Layout) -> list[int]:
    """Return the short lines such as "The old ferryman." that have the largest gaps of a book without other titles.

    Below them comes prose, or the first of their sections, which have bare numbers.
    """
    styles = {heading.style for heading in layout.headings.values()}
    if styles - {*NO_CHAPTERS, *BARE_NUMBERS}:
        return []
    sections = bool(styles & {*BARE_NUMBERS})
    found = [
        i
        for i, (block, below) in enumerate(pairwise(layout.blocks))
        if layout.is_text(i)
        and block.gap > layout.gap
        and block.gap >= 2
        and len(block.lines) == 1
        and block.size <= _MOST_WORDS_SET_APART
        and (text := bare(block.text))[:1].isupper()
        and (text[-1].isalpha() or text[-1] in ".)")
        and not narrates(text)
        and (
            ((heading := layout.headings.get(i + 1)) is not None and heading.number == 1)
            if sections
            else layout.is_text(i + 1) and is_prose(below) and below.size > _MOST_WORDS_SET_APART
        )
    ]
    long = sum(size >= _WORDS_A_CHAPTER for size in _words_until_next(layout, found))
    if long < max(_FEWEST, _NEARLY_ALL * len(found)):
        return []
    usual = min(layout.blocks[i].gap for i in found)
    others = sum(
        layout.is_text(i) and layout.blocks[i].gap >= usual and i not in found and i - 1 not in found
        for i in range(found[0], len(layout.blocks))
    )
    return found if others <= _MOST_OTHER_GAPS * len(found) else []


def _set_as_headings(layout: Layout, start: int) -> list[int]:
    """Return the lines in capitals that have as large a gap as the numbered headings of this book."""
    gaps = [
        layout.blocks[i].gap for i, heading in layout.ordered(start, len(layout.blocks) - 1) if heading.number
    ]
    if len(gaps) < _FEWEST or (above := median(gaps)) < HEADING_GAP:
        return []
    return [
        i
        for i, (block, following) in enumerate(pairwise(layout.blocks))
        if i >= start and layout.is_text(i) and block.gap >= above and is_set_apart(block, [following])
    ]


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
    """Return whether a block with a large gap is the title in capitals of a tale within a chapter."""
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


def _with_unknown_numbers(layout: Layout) -> list[int]:
    """Return the lines of a keyword and an unknown word, as in "Fierde Scene", if the headings of this book have two words."""
    sure = [(i, heading) for i, heading in layout.headings.items() if heading.number and heading.sure]
    styles = Counter(heading.style for _, heading in sure)
    # The word is misprinted, or an ordinal in an old spelling.
    if sum(bare(layout.blocks[i].lines[0]).count(" ") == 1 for i, _ in sure) < _FEWEST:
        return []
    return [
        i
        for i, block in enumerate(layout.blocks)
        if layout.is_text(i)
        and block.gap >= 2
        and block.size == 2
        and block.text[0].isupper()
        and block.text[-1] not in "!?,;:"
        and styles[any_keyword(block.text)] >= _FEWEST
    ]


def _number_introduction(layout: Layout) -> None:
    """Make the introduction chapter 1 if the first number below it is 2."""
    front = None
    for i, heading in layout.ordered():
        if heading.style == "front":
            front = i
        elif heading.number:
            if front is not None and heading.number == 2:
                layout.set_heading(front, Heading(heading.style, 1, layout.blocks[front].text))
            return


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


def count_warnings(headings: Sequence[Heading]) -> tuple[str, ...]:
    """Return doubts about the numbers of a book's headings: gaps in a series, or at most one heading."""
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
