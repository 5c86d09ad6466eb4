"""Extract the story from the plain text of a printed novel, as Project Gutenberg and others publish it.

The paper: "we meticulously remove identifiers such as chapter numbers and annotations from the content" (Wang et
al., NAACL 2024, section 3.3). Removed here: the text outside the START and END lines, credits, notes of the
transcriber, title page, prefaces, tables of contents, headings with their titles and attributed mottoes, footnotes
and their marks, captions of illustrations, publishers' lists and printers' notes, rows of asterisks, page numbers.
Whole unwrapped paragraphs remain. :mod:`long_context_tasks.corpora.chapters` finds the headings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from long_context_tasks.corpora.below_headings import Habits, belongs_to_heading, is_argument, is_motto
from long_context_tasks.corpora.blocks import Block, bare, is_prose, is_separator, is_title, line_block
from long_context_tasks.corpora.chapters import count_warnings, find_chapters, separate_run_in, titles_listed
from long_context_tasks.corpora.forms import form_of
from long_context_tasks.corpora.headings import Heading, heading_of, is_closing, is_contents, is_notes
from long_context_tasks.corpora.imprint import captions, list_of_books, patterns
from long_context_tasks.corpora.layout import Layout
from long_context_tasks.corpora.numerals import phrase_of, plain, read
from long_context_tasks.corpora.pages import CUT, is_page_number, without_pages
from long_context_tasks.corpora.printed_text import (
    SENTENCE_END,
    between_markers,
    to_blocks,
    unwrap,
    without_asides,
    without_markup,
)

# Why words are removed. "marks" are tags, frames and marks of notes, and words that a line end had cut.
REASONS = ("licence", "front matter", "back matter", "headings", "notes", "captions", "page numbers", "marks")
_OUTSIDE = "outside"  # a block between the story and a kept part above or below it

_TITLE = re.compile(r"^Title:[ \t]*(\S[^\n]*(?:\n[ \t]+\S[^\n]*)*)", re.M)
_CREDIT = re.compile(
    r"(?:(?:this )?(?:e-?book|e-?text|file) (?:was )?(?:produced|prepared|created)|produced by|transcribed (?:from|by)|"
    r"prepared by|scanned (?:and|by)|html version|proofread)",
    re.I,
)
_NOTE = re.compile(
    r"\s*(?:\((?:\*+|[†‡])\)\s*\S|\*(?![\s*]*\*)\s?\S|[†‡]\s?\S|\[(?P<mark>\d{1,3}|[A-Z](?!\][a-z]))\]\s*\S)"
)
_NOTE_NUMBER = re.compile(r"\[(\d{1,3}|[A-Z](?!\][a-z]))\]")
_NOTE_MARK = re.compile(r"[^\s*]\s?[*†‡](?!\s?[*])")
# Between its mark and the note; a note after a large gap may belong to any part of the text.
_MOST_BLOCKS_BEFORE_NOTE = 6
_LARGE_GAP = 3  # blank lines
# "[Here ends Volume I of the first edition.]"
_OF_EDITIONS = re.compile(r"\[[^\[\]]*\beditions?\b[^\[\]]*\]$")
_MOST_OF_EDITIONS = 600  # characters
_CONTENTS_ENTRY = re.compile(r"(?:\s{2}|\.\s?)\d{1,4}$")
# A paragraph that begins as speech does, unless it is a quotation with its author.
_TALK = re.compile(r"[\"“‘«„»'—–-](?!.*(?:--|—|–)\s?[_\"“(]*[A-Z][^—–]{1,80}$)", re.DOTALL)
_OPENING_QUOTES = '"“‘«'
_LEAST_TALK = 0.1  # of the paragraphs of a part with a heading of front or back matter that is story
_MOST_DROPPED = 1500  # words of prose outside the story without a heading of front or back matter
_MOST_DEDICATION = 400  # words of prose without a heading above the first chapter; more is a prologue
_FEWEST_STORY_WORDS = 60
# Shares of the words of a book.
_MOST_FRONT = 0.15
_MUCH_OF_SHORT = 0.05  # of a short book
_MOST_BACK = 0.15


@dataclass(frozen=True)
class Story:
    """A book without its apparatus."""

    title: str | None  # the title in the file's header, or None
    paragraphs: tuple[str, ...]  # in reading order, one line each; empty if no story is found
    chapters: tuple[int, ...]  # index of the first paragraph of each chapter, ascending from 0
    form: str = "novel"  # kind of work, see form_of
    headings: tuple[Heading, ...] = ()  # the removed headings in reading order
    warnings: tuple[str, ...] = ()  # doubts about their numbers and about kept parts, one sentence each
    # Number of removed words by reason (REASONS); with the words of the paragraphs, they add up to the words
    # of the text.
    dropped: Mapping[str, int] = field(default_factory=dict)


def clean(text: str) -> Story:
    """Return the story in the text of a printed book.

    A text without a START line is taken as a whole, minus what is recognised; a text without headings is one chapter.
    """
    removed = Counter({"marks": _count(text)})
    text = without_markup(text)
    body, marked = between_markers(text)
    removed["marks"] -= _count(text)
    removed["licence"] += _count(text) - _count(body)
    printed = without_asides(body)
    removed["notes"] += _count(body) - _count(printed)
    whole = to_blocks(printed)
    blocks = separate_run_in(without_pages(whole))
    removed["page numbers"] += _words(whole) - _words(blocks)
    titled = _TITLE.search(text, 0, 20_000)
    title = " ".join(titled[1].split()) if titled else None

    found = _find_story(_candidates(blocks), title or "", marked)
    layout, start, stop = found.layout, found.start, found.stop
    first = _headings_above(layout, start, stop)
    more = _story_outside(found)
    inside = {*range(start, stop), *(i for part in more for i in part)}
    for reason, outside in (("front matter", range(start)), ("back matter", range(stop, len(blocks)))):
        removed[reason] += _words(blocks[i] for i in outside if i not in inside)
    _keep_outside(layout, more, inside)
    story = layout.part(min(inside, default=start), max(inside, default=stop - 1) + 1)
    told = _Paragraphs(story)
    removed.update(_removed_inside(story, told))
    return Story(
        title,
        tuple(told.paragraphs),
        tuple(told.chapters),
        form_of(blocks, story.blocks, told.kept, told.headings),
        tuple(told.headings),
        (*count_warnings([*first, *told.headings]), *_doubts(blocks, more)),
        {reason: removed[reason] for reason in REASONS},
    )


def _count(text: str) -> int:
    return len(text.replace(CUT, " ").split())


def _words(blocks: Iterable[Block]) -> int:
    return sum(_count(block.text) if CUT in block.text else block.size for block in blocks)


def _candidates(blocks: Sequence[Block]) -> Layout:
    """Return the blocks with everything that each may be by its own words."""
    layout = Layout(blocks)
    marks: set[str] = set()
    for i, block in enumerate(blocks):
        short = len(block.lines) <= 2
        if _is_note(blocks, i, marks):
            layout.drop(i, "notes")
        elif short and patterns()["leftovers"].fullmatch(block.text):
            layout.drop(i, "page numbers" if is_page_number(block) else "captions")
        elif is_separator(block) or is_closing(block):
            layout.drop(i, "headings")
        elif heading := heading_of(block):
            layout.set_heading(i, heading)
        elif is_page_number(block) or (len(block.lines) == 1 and not block.text.strip(CUT + " ")):
            layout.drop(i, "page numbers")
        if "[" in block.text:
            marks |= set(_NOTE_NUMBER.findall(block.text))
    for i in captions(layout):
        layout.drop(i, "captions")
    if (end := list_of_books(blocks)) is not None:
        layout.set_heading(end, Heading("back"))
    return layout


def _is_note(blocks: Sequence[Block], i: int, marks: Set[str]) -> bool:
    """Return whether a block is a footnote whose mark is in the text above; ``marks`` has the numbers of marks so far."""
    block = blocks[i]
    if block.text[0] in "*†‡[(" and (note := _NOTE.match(block.lines[0])):
        near = 0 if block.gap >= _LARGE_GAP else max(0, i - _MOST_BLOCKS_BEFORE_NOTE)
        if note["mark"]:
            found = note["mark"] in marks
        else:
            found = any(_NOTE_MARK.search(line) for above in blocks[near:i] for line in above.lines)
        if found:
            return True
    return (
        block.text[0] == "["
        and len(block.text) < _MOST_OF_EDITIONS
        and _OF_EDITIONS.match(block.text) is not None
    )


# Where the story begins and ends.


@dataclass(frozen=True)
class _Found:
    """A book with its headings."""

    layout: Layout  # all blocks of the book
    start: int  # first block of the story
    stop: int  # first block after it
    listed: Set[int]  # blocks of tables of contents, and the first one of a list of books


def _find_story(candidates: Layout, title: str, marked: bool) -> _Found:
    """Find the headings of a book and the bounds of its story.

    Args:
        marked: whether the text has a START line, so that a title page precedes the story.
    """
    blocks = candidates.blocks
    listing, contents = _contents_pages(candidates)
    # The front matter ends where the story begins, which only headings show, so that they are found twice.
    start, _ = _bounds(find_chapters(candidates, title), marked)
    if contents and start == len(blocks):
        start = max(contents) + 1
    front = _entries(candidates, listing, contents) or [
        block for block in blocks[:start] if not is_prose(block)
    ]
    layout = find_chapters(candidates, title, titles_listed(front), start)
    start, stop = _bounds(layout, marked)
    for i in (*contents, *(i for i in range(stop) if i in layout.headings and is_notes(blocks[i]))):
        layout.drop(i)
    end = list_of_books(blocks)
    return _Found(layout, start, stop, contents | ({end} if end is not None else set()))


def _headings_above(layout: Layout, start: int, stop: int) -> list[Heading]:
    """Return the counted headings directly above the story: the heading of its first part is above that of its first chapter."""
    above = takewhile(
        lambda i: not layout.is_text(i) or not is_prose(layout.blocks[i]), reversed(range(start))
    )
    counted = layout.styles(start, stop)
    found = [layout.headings[i] for i in reversed(list(above)) if i in layout.headings]
    return [heading for heading in found if heading.style in counted]


def _contents_pages(layout: Layout) -> tuple[frozenset[int], frozenset[int]]:
    """Return the blocks of tables of contents up to a preface or the first prose, and those without its own headings."""
    inside: set[int] = set()
    own: set[int] = set()
    open_at = None
    for i, block in enumerate(layout.blocks):
        heading = layout.headings.get(i)
        if is_contents(block):
            open_at = i
        elif open_at is not None and (
            (heading and heading.style == "front" and block.gap >= 2 and len(block.lines) == 1)
            or ((heading is None or heading.rest) and is_prose(block) and not _is_list(block))
            or _begins_again(layout.blocks, open_at, i)
        ):
            above = i - 1
            while (
                above > open_at
                and len(layout.blocks[above].lines) <= 3
                and (above not in layout.headings or layout.headings[above].number in (None, 1))
            ):
                own.add(above)
                above -= 1
            open_at = None
        if open_at is not None:
            inside.add(i)
    return frozenset(inside), frozenset(inside - own)


def _begins_again(blocks: Sequence[Block], contents: int, i: int) -> bool:
    """Return whether a block repeats the first title of the contents above the story."""
    block = blocks[i]
    return (
        block.gap >= _LARGE_GAP
        and is_title(block)
        and plain(block.text) in titles_listed(blocks[contents + 1 : i])
        and any(is_prose(below) and not _is_list(below) for below in blocks[i + 1 : i + 4])
    )


def _is_list(block: Block) -> bool:
    """Return whether most lines of a block end in a page number, or are titles."""
    entries = sum(
        bool(_CONTENTS_ENTRY.search(line)) or is_title(line_block(line), final_stop=True)
        for line in block.lines
    )
    return 2 * entries >= len(block.lines) > 1


def _entries(layout: Layout, listing: Set[int], contents: Set[int]) -> list[Block]:
    """Return the blocks of the contents before the book begins with a repeated entry or a number 1."""
    seen: set[str] = set()
    end = None
    for i in sorted(listing):
        if i not in contents:
            if plain(layout.blocks[i].text) in seen:
                end = i
                break
            if end is None and i in layout.headings and layout.headings[i].number == 1:
                end = i
        seen |= titles_listed([layout.blocks[i]])
    return [layout.blocks[i] for i in sorted(listing) if end is None or i < end]


def _bounds(layout: Layout, marked: bool) -> tuple[int, int]:
    """Return the index of the first block of the story, and of the first one after it."""
    blocks = layout.blocks
    stop = _back_matter(layout)
    start = _first_told_heading(layout, stop)
    limit = stop if start is None else start
    if (unheaded := _story_below_front(layout, limit)) is not None:
        return unheaded, stop
    first_heading = min(layout.headings, default=len(blocks))
    fronted = any(heading.style == "front" for _, heading in layout.ordered(0, limit))
    if not marked and not fronted:
        # Nothing indicates a table of contents, so a short first chapter is not one of its lines.
        limit = min(limit, first_heading)
    before = [
        i
        for i in range(min(limit, first_heading))
        if layout.is_text(i) and is_prose(blocks[i]) and not _CREDIT.match(blocks[i].text)
    ]
    total = layout.before[-1] or 1
    most = _MOST_FRONT * total if fronted else min(_MOST_FRONT * total, _MOST_DEDICATION)
    if before and (not marked or layout.words(before) > most):
        return before[0], stop
    return limit, stop


def _back_matter(layout: Layout) -> int:
    total = layout.before[-1] or 1
    for i, heading in layout.ordered():
        if (
            heading.style == "back"
            and total - layout.before[i] < _MOST_BACK * total
            and layout.before[i]
            # Notes of one chapter are above the next one, whose number continues; notes at the end have their own numbers.
            and not (is_notes(layout.blocks[i]) and layout.styles(0, i) & layout.styles(i))
        ):
            return i
    return len(layout.blocks)


def _first_told_heading(layout: Layout, stop: int) -> int | None:
    """Return the first heading of the story: enough prose follows it, unlike an entry of a table of contents."""
    blocks, total = layout.blocks, layout.before[-1] or 1
    needed = min(_FEWEST_STORY_WORDS, max(6, total // 100))
    places = sorted(layout.headings)
    for i, following in pairwise([*places, len(blocks)]):
        heading = layout.headings[i]
        if heading.style in ("front", "back") or i >= stop:
            continue
        own = blocks[i].lines[len(blocks[i].lines) - heading.rest :]
        told = layout.words(range(i + 1, following), is_prose) + sum(len(line.split()) for line in own)
        if told >= needed:
            return i
    # A table of contents may be at the end.
    above = [i for i in places if i < stop and layout.before[i] < total / 2]
    if not above:
        return None
    # Only front matter has headings, so the story begins at the first large gap below them, or directly.
    last = above[-1] + 1
    start = next((i for i in range(last, stop) if blocks[i].gap >= _LARGE_GAP), last)
    return start if layout.before[start] < _MOST_FRONT * total else last


def _story_below_front(layout: Layout, limit: int) -> int | None:
    """Return the first block of a story without a heading between the front matter and the first chapter.

    A preface ends at a title, or at a large gap below its text, if much prose follows.
    """
    blocks = layout.blocks
    last = max((i for i, heading in layout.ordered(0, limit) if heading.style == "front"), default=None)
    if last is None:
        return None

    def words(start: int) -> int:
        told = (
            i for i in range(start, limit) if layout.is_text(i) and blocks[i].text[0] not in _OPENING_QUOTES
        )
        return layout.words(told, is_prose)

    much = min(_MOST_DROPPED, _MUCH_OF_SHORT * layout.before[-1])
    if words(last + 1) < much:
        return None
    breaks = (
        i
        for i in range(last + 2, limit)
        if i not in layout.headings
        and (blocks[i].gap >= _LARGE_GAP or (blocks[i].gap >= 2 and is_title(blocks[i])))
    )
    found = next(breaks, None)
    if found is not None and words(found) >= much:
        return found
    return last + 1 if words(last + 1) > _MOST_FRONT * layout.before[-1] else None


# Parts above and below the story that belong to it.


def _story_outside(found: _Found) -> list[range]:
    """Return the long parts outside the story that belong to it: without a heading of front or back matter, or with talk."""
    layout, start = found.layout, found.start
    parts: list[list[int]] = []
    for outside in (range(start), range(found.stop, len(layout.blocks))):
        parts.append([])
        known = False
        for i in outside:
            matter = _is_matter(layout, i)
            if i in layout.headings and (matter or known or i < start):
                known = matter and phrase_of(bare(layout.blocks[i].text)) != "ends"
                parts.append([i] if known else [])
            elif (parts[-1] or is_prose(layout.blocks[i])) and not layout.blocks[i].text.isspace():
                parts[-1].append(i)
    return [
        range(part[0], prose[-1] + 1)
        for part in parts
        if part and part[0] not in found.listed and (prose := _story_in(layout, part, found.listed))
    ]


def _is_matter(layout: Layout, i: int) -> bool:
    return i in layout.headings and layout.headings[i].style in ("front", "back")


def _story_in(layout: Layout, part: Sequence[int], listed: Set[int]) -> list[int]:
    """Return the paragraphs of a part outside the story if it is too long, or has too much talk, to be dropped."""
    blocks = layout.blocks
    prose = [
        i
        for i in part
        if layout.is_text(i) and i not in listed and is_prose(blocks[i]) and not read(blocks[i].text)
    ]
    if layout.words(prose) <= _MOST_DROPPED:
        return []
    if not _is_matter(layout, part[0]):
        return prose
    talk = sum(_TALK.match(blocks[i].text) is not None for i in prose)
    return prose if talk >= _LEAST_TALK * len(prose) and not is_notes(blocks[part[0]]) else []


def _keep_outside(layout: Layout, more: Sequence[range], inside: Set[int]) -> None:
    """Make the kept parts outside the story parts of it, and drop the rest there."""
    for i in range(len(layout.blocks)):
        if i not in inside:
            layout.drop(i, _OUTSIDE)
    for part in more:
        if part[0] in layout.headings:
            layout.set_heading(part[0], Heading("named", title=layout.blocks[part[0]].text))


def _doubts(blocks: Sequence[Block], more: Sequence[range]) -> list[str]:
    return [
        f"{_words(blocks[i] for i in part):,} words above or below the story are kept: {blocks[part[0]].text[:60]!r}"
        for part in more
    ]


# The paragraphs of the story.


class _Paragraphs:
    """The paragraphs of a story, without the lines between each heading and the story below it."""

    def __init__(self, story: Layout) -> None:
        self.paragraphs: list[str] = []
        self.chapters: list[int] = []  # index of the first paragraph of each chapter
        self.headings: list[Heading] = []  # with the titles found below them
        self.kept: list[Block] = []  # the whole blocks among the paragraphs
        self._opens, self._cut = True, False
        habits = Habits.of(story)
        title_found = argument_found = False
        for i, block in enumerate(story.blocks):
            if i in story.dropped:
                self._cut = (
                    self._cut or CUT in block.text or is_page_number(block) or story.dropped[i] == "captions"
                )
                continue
            if heading := story.headings.get(i):
                self.headings.append(heading)
                self._opens, title_found, argument_found = True, bool(heading.title), False
                self._tell(block.lines[-heading.rest :] if heading.rest else ())
            elif self._opens and (part := belongs_to_heading(story, i, title_found, habits)):
                if part == "title" and self.headings:
                    self.headings[-1] = replace(self.headings[-1], title=block.text)
                title_found = part == "title" or title_found
                argument_found = part == "argument" or argument_found
            elif self._opens and (
                is_motto(story, i, habits) or (not argument_found and is_argument(story, i, habits))
            ):
                title_found = argument_found = True
            else:
                self._tell(block.lines, block.text)
                self.kept.append(block)
            self._cut = False

    def _tell(self, lines: Sequence[str], joined: str | None = None) -> None:
        text = unwrap(lines, joined) if lines else ""
        if not text:
            return
        if self._opens:
            self.chapters.append(len(self.paragraphs))
            self._opens = False
        elif (
            self._cut
            and self.paragraphs
            and text[0].islower()
            and not SENTENCE_END.search(self.paragraphs[-1])
        ):
            # A picture or a page number had cut the paragraph in two.
            self.paragraphs[-1] += f" {text}"
            return
        self.paragraphs.append(text)


def _removed_inside(story: Layout, told: _Paragraphs) -> Counter[str]:
    """Count the words of a story's blocks that are not in its paragraphs, by reason."""
    removed: Counter[str] = Counter()
    for i, reason in story.dropped.items():
        if reason != _OUTSIDE:
            removed[reason] += _words([story.blocks[i]])
    # A number may share its block with the story.
    below_numbers = sum(
        len(" ".join(story.blocks[i].lines[-heading.rest :]).split())
        for i, heading in story.headings.items()
        if heading.rest
    )
    kept = _words(told.kept) + below_numbers
    in_text = (block for i, block in enumerate(story.blocks) if i not in story.dropped)
    removed["headings"] += _words(in_text) - kept
    removed["marks"] = kept - sum(map(_count, told.paragraphs))
    return removed
