"""Recognise the lines below a heading that are not story: titles, arguments ("In which ..."), mottoes with their authors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.corpora.blocks import (
    MOST_TITLE_WORDS,
    QUOTES,
    Block,
    ends_sentence,
    is_capitals,
    is_prose,
    is_set_apart,
    is_synopsis,
    is_title,
)
from long_context_tasks.corpora.chapters import ARGUMENT, MOST
from long_context_tasks.corpora.headings import narrates
from long_context_tasks.corpora.layout import Layout
from long_context_tasks.corpora.printed_text import SENTENCE_END

_FIRST_WORD_IN_CAPITALS = re.compile(r"\W*(?:[A-Z][A-Z’']+|[AI] [A-Z]{2,})\b")
_SET_OFF = re.compile(r"(?:_[^_]+_|_?\(.+\)_?)[.]?$")
_ATTRIBUTION = re.compile(r"(?:--|—|–)\s*(?:_?[A-Z]|[\"“])[^\n]{1,60}$")
_SYNOPSIS_IN_BRACKETS = re.compile(r"_?\[[^\[\]]{20,900}\]_?")
_LINE_IN_BRACKETS = re.compile(r"_?\(.{1,80}\)_?")
_OF_ARGUMENTS = frozenset(["open", "words", "set", "present"])
_NEARLY_ALL = 0.9  # of the chapters
_FEWEST = 3
_FEWEST_ARGUMENTS = 6
_MOST_MOTTO_WORDS = 130
_MOST_ARGUMENT_WORDS = 80
_MOST_SHORT_WORDS = 15
_MOST_AUTHOR_WORDS = 8
_MOST_TEASER_WORDS = 30
_AUTHOR_INDENT = 8  # columns


@dataclass(frozen=True)
class Habits:
    """Text that usually follows a chapter heading in this book."""

    stops: bool  # titles that may end in a full stop, or synopses with dashes
    mottoes: bool  # quotations with their authors
    arguments: frozenset[str]  # the usual marks of an argument, see _argument_marks

    @classmethod
    def of(cls, layout: Layout) -> Habits:
        blocks = layout.blocks
        untitled = [
            blocks[i + 1] for i, heading in layout.ordered() if not heading.title and _text_below(layout, i)
        ]
        stops = sum(_is_title_or_synopsis(block) for block in untitled)
        mottoes = sum(_is_indented(block) and _has_author(block) for block in untitled)
        return cls(
            len(untitled) >= _FEWEST and stops >= MOST * len(untitled),
            mottoes >= _FEWEST,
            _usual_arguments(layout),
        )


def _text_below(layout: Layout, i: int) -> bool:
    return i + 1 < len(layout.blocks) and layout.is_text(i + 1)


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
    if marks["short"] < max(_FEWEST_ARGUMENTS, _NEARLY_ALL * len(first)):
        usual.discard("short")
    shown = sum(bool(_argument_marks(blocks, i) & _OF_ARGUMENTS) for i in first)
    if "present" in usual and len(first) >= _FEWEST_ARGUMENTS and shown >= _NEARLY_ALL * len(first):
        usual |= _OF_ARGUMENTS
    return frozenset(usual)


def _argument_marks(blocks: Sequence[Block], i: int) -> frozenset[str]:
    """Return the marks of an argument, a date or a motto that a block below a heading has.

    A paragraph of the story may have them too, so they count only if most chapters have the same (:class:`Habits`).
    """
    if i >= len(blocks) or len((text := blocks[i].text).split()) > _MOST_ARGUMENT_WORDS:
        return frozenset()
    after = [block.gap for block in blocks[i + 1 : i + 3]]
    below = blocks[i + 1] if after else None
    marks = {
        "open": not ends_sentence(text),
        "words": ARGUMENT.match(text),
        "set": _SET_OFF.match(text),
        "author": _has_author(blocks[i]),
        "apart": len(after) == 2 and after[0] >= 2 and after[0] > after[1],
        "short": below
        and blocks[i].size <= _MOST_SHORT_WORDS < below.size
        and text[0] not in f"{QUOTES}—–-"
        and not narrates(text),
        "present": " " in text and not narrates(text),
        # Printers set the first word of a chapter in capitals.
        "initial": below
        and is_prose(below)
        and _FIRST_WORD_IN_CAPITALS.match(below.text)
        and not _FIRST_WORD_IN_CAPITALS.match(text),
    }
    return frozenset(mark for mark, found in marks.items() if found)


def is_argument(layout: Layout, i: int, habits: Habits) -> bool:
    """Return whether a block below a heading is an argument, as most chapters of the book have one."""
    return bool(habits.arguments and habits.arguments & _argument_marks(layout.blocks, i))


def is_motto(layout: Layout, i: int, habits: Habits) -> bool:
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


def belongs_to_heading(layout: Layout, i: int, title_found: bool, habits: Habits) -> str | None:
    """Return what a block is to the heading above it: its "title", its "argument", more of it ("rest"), or None."""
    block = layout.blocks[i]
    text = block.text
    if not title_found and (is_title(block, final_stop=habits.stops) or (habits.stops and is_synopsis(text))):
        return "title"
    if i + 1 in layout.headings and (is_title(block) or _is_teaser(layout, i)):
        return "rest"
    if title_found and is_set_apart(block, layout.blocks[i + 1 : i + 2]):
        return "rest"
    below_title = i > 0 and i - 1 not in layout.dropped
    if title_found and below_title and _LINE_IN_BRACKETS.fullmatch(text):
        return "rest"
    if below_title and _SYNOPSIS_IN_BRACKETS.fullmatch(text):
        return "argument"
    return None


def _is_teaser(layout: Layout, i: int) -> bool:
    """Return whether a short block between two headings is not story, as between a part and its first chapter."""
    above, block = layout.headings.get(i - 1), layout.blocks[i]
    part = above is not None and above.style in ("book", "part", "volume", "named")
    return len(block.text.split()) <= _MOST_TEASER_WORDS and (part or not SENTENCE_END.search(block.text))
