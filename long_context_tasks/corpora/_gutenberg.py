"""From the plain text of a printed novel, as Project Gutenberg and others give it, to the story alone.

The paper: "we meticulously remove identifiers such as chapter numbers and annotations from the content" (Wang et
al., NAACL 2024, section 3.3). Removed here: everything outside the START and END lines, credits, notes of the
transcriber, title page, prefaces, tables of contents, headings with their titles and attributed mottoes, footnotes
and their marks, captions of illustrations, rows of asterisks, page numbers. Left: whole paragraphs, unwrapped.

Here is decided which blocks of the text are the story; :mod:`~long_context_tasks.corpora._gutenberg_text` makes the
blocks, and a paragraph of each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from long_context_tasks.corpora._gutenberg_text import CUT, blocks_of, title_of, unwrap
from long_context_tasks.corpora._headings import (
    Block,
    Heading,
    Kind,
    heading_of,
    is_closing,
    is_numeral_with_title,
    is_separator,
    is_title,
)

__all__ = ["Story", "clean"]


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
    blocks, marked = blocks_of(text)
    labels = _label(blocks)
    start, stop = _bounds(blocks, labels, marked)
    paragraphs, chapters = _walk(blocks[start:stop], labels[start:stop])
    return Story(title_of(text), tuple(paragraphs), tuple(chapters))


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
    """A line such as "THE STORY" above "FIRST PERIOD" (not a signature), or one that closes a part."""
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
    """A footnote has its mark in one of the blocks before it."""
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
    """Whether a block is made of sentences, as a line of a title page or of a table of contents is not."""
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
    """Whether the block belongs to the heading above it: its "title", more of it ("rest"), or None."""
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
    """Whether this book's chapters have titles that end in a full stop; and mottoes with their authors."""
    below = [
        blocks[i + 1]
        for i, label in enumerate(labels[:-1])
        if label.heading and not label.heading.titled and labels[i + 1] is _KEEP
    ]
    stops = sum(is_title(block, final_stop=True) for block in below)
    mottoes = sum(_is_indented(block) and bool(_ATTRIBUTION.search(block.lines[-1])) for block in below)
    return len(below) >= 3 and stops >= _HABIT * len(below), mottoes >= 3


def _is_motto(blocks: Sequence[Block], labels: Sequence[_Label], i: int, usual: bool) -> bool:
    """An indented quotation between a heading and the story, with its author (or in a book that is full of them)."""
    end = i
    while end < len(blocks) and labels[end] is _KEEP and _is_indented(blocks[end]):
        end += 1
    run = blocks[i:end]
    if not run or end == len(blocks) or sum(len(block.text.split()) for block in run) > _MOST_MOTTO_WORDS:
        return False
    return usual or any(_ATTRIBUTION.search(block.lines[-1]) for block in run)


def _is_indented(block: Block) -> bool:
    return all(line.startswith(("  ", "\t")) for line in block.lines)
