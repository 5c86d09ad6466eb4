"""Recognise a heading of a printed book by its words: "CHAPTER XII", "IV. The Preparation", "EPILOGUE".

This file looks at one block at a time. A number without a keyword is only a candidate: "VII" is a heading in a rising series and
a list item or a page number otherwise, which :mod:`long_context_tasks.corpora.chapters` decides for the whole book.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from long_context_tasks.corpora.blocks import (
    MOST_HEADING_LINES,
    MOST_TITLE_WORDS,
    QUOTES,
    Block,
    bare,
    is_capitals,
    is_mostly_capitals,
    is_synopsis,
    is_title,
)
from long_context_tasks.corpora.numerals import Numbered, keyword_of, phrase_of, read

TITLE_MARKS = " .:;—–-"
# "Chapter two was found" and "Part one of the plan" are sentences: after a heading's number comes punctuation or a capital.
_AFTER_KEYWORD_AND_NUMBER = re.compile(
    r"\s*(?:[.:;—–-]+|,(?=\s)|(?=[(\[])|(?=\s)|$)\s*(?P<title>.*)$", re.DOTALL
)
_AFTER_NUMBER = re.compile(
    r"(?:(?P<mark>[.:)\]](?:\s*[—–-]+)?|\s*[—–]|\s*--)|\s)\s*(?P<title>[\"“«¿¡_‘(]*[^\W\d_].*)$", re.DOTALL
)
_NOTHING_AFTER_NUMBER = re.compile(r"\s?[.:)\]—–-]*$")
_BEFORE_NUMBER = re.compile(r"[\[(§—–-]*\s?(?:\d{1,2}\.(?=[\dIVXLC]))?")
_LETTER_OF_SECTION = re.compile(r"\(([a-h])\)$")
_FIRST_WORD = re.compile(r"[^\W\d_]+\.?\s+")
_SENTENCES = re.compile(r"[.!?]\s+[^\W\d_a-z]")
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)")
_MARKDOWN = re.compile(
    r"#{1,6}\s+(?P<after>(?=\S)(?=[^\n]*\w)[^\n]*)$|(?P<above>\w[^\n]*)\n\s*(?:={4,}|-{4,}|~{4,})\s*$"
)
_RUN_IN = re.compile(r"(?:[.:]|(?=--|—))(?P<rest>(?:--|—|\s)\s*\S.*)")
_QUOTED = re.compile(r"[\"“‘]([^\"“”]+)[\"”’]$")
_BEFORE_END = re.compile(r"(?:this is |here )?", re.IGNORECASE)
# Narration in English has "I", a verb in the past, or speech; arguments above a chapter are in the present.
_NARRATIVE = re.compile(
    r"[\"“”«]|^[‘']|\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|us|you|was|were|had|said|did|could|would|came|went|saw|felt|"
    r"stood|sat|looked|took|gave|found|knew|thought|began|made|got)\b"
)
BARE_NUMBERS = ("roman", "lower roman", "arabic", "word")
HEADING_GAP = 3  # blank lines; paragraphs never have so many above them
LONGEST_HEADING = 120  # characters
_LONGEST_NUMBERED = 300
_LONGEST_CLOSING = 90
_LONGEST_CONTENTS = 50
_MOST_HEADING_WORDS = 70
_MOST_WORDS_OF_NUMBERED_TITLE = 45
_HIGHEST_NUMBER = 399


@dataclass(frozen=True)
class Heading:
    """A heading, or a candidate that becomes one if its number belongs to a series."""

    # Kind of the number. A keyword in English ("chapter", "letter"); "roman", "arabic" or "word" for a bare
    # number; "roman titled" etc. for one with a title; "named" ("EPILOGUE"), "titled", "front", "back",
    # "listed" (in the table of contents) or "capitals" without a number.
    style: str
    number: int | None = None  # its number, None without one, 0 for "the last"
    title: str = ""  # the title next to the number; empty without one, or if it may come below
    rest: int = 0  # number of the block's last lines that belong to the story
    sure: bool = True  # whether it is a heading wherever it occurs


def heading_of(block: Block) -> Heading | None:
    """Return the heading that a block is or may be, or None if it cannot be one."""
    if (block.text[0] == "#" or block.text[-1] in "=-~") and (
        marked := _MARKDOWN.match("\n".join(block.lines))
    ):
        # Markdown makes any line a heading, but words of a heading give its style and number.
        line = replace(block, lines=(marked["above"] or marked["after"],), gap=HEADING_GAP)
        said = heading_of(line)
        return said if said and said.sure else Heading("titled", title=bare(line.text))
    if block.text[0] == "[" and block.text[-1] == "]" and keyword_of(inside := block.text[1:-1].strip()):
        return heading_of(replace(block, lines=(inside,)))
    first = bare(block.lines[0])
    if (found := read(first)) and found.keyword and (heading := _with_keyword(block, first, found)):
        return heading
    text = bare(block.text)
    if len(block.lines) > MOST_HEADING_LINES or text[:1] in QUOTES or len(text) > _LONGEST_NUMBERED:
        return None
    return _with_number(block, text) or (
        _without_number(block, text) if len(text) <= LONGEST_HEADING else None
    )


def narrates(text: str) -> bool:
    """Return whether an English text narrates or speaks, unlike a title or an argument in the present tense."""
    return bool(_NARRATIVE.search(text))


def _with_keyword(block: Block, first: str, found: Numbered) -> Heading | None:
    """Return the heading of a block whose first line begins with a keyword and a number."""
    after = _AFTER_KEYWORD_AND_NUMBER.match(first, found.end)
    if after is None or not _continues_as_heading(
        block, first, bare(after["title"]), first[found.end :].lstrip()[:1]
    ):
        return None
    title = bare(after["title"]).strip(TITLE_MARKS)
    heading = Heading(found.keyword, found.value, title, sure=not found.rare)
    if len(block.lines) == 1:
        return heading if len(title.split()) <= _MOST_HEADING_WORDS else None
    below = Block(block.lines[1:], 0)
    if title:
        long = block.size > _MOST_HEADING_WORDS and not (
            is_synopsis(block.text) or is_mostly_capitals(block.text)
        )
        return None if long else replace(heading, title=f"{title} {below.text}")
    # "CHAPTER I" with its title, or with the story itself, on the next line.
    quoted = _QUOTED.match(below.text)
    if (
        is_title(below)
        or is_synopsis(below.text)
        or (quoted and is_title(Block((quoted[1],), 0)))
        or heading_of(below)
    ):
        return replace(heading, title=below.text)
    return replace(heading, title=" ", rest=len(below.lines))


def _continues_as_heading(block: Block, first: str, title: str, mark: str) -> bool:
    """Return whether a line that begins with a keyword and a number is not a sentence; ``mark`` follows the number."""
    begins = next((character for character in title if character.isalpha()), "A")
    if (
        block.size > _MOST_WORDS_OF_NUMBERED_TITLE
        and (_SENTENCES.search(bare(block.text), len(first) - len(title)) or narrates(block.text))
        and not (is_synopsis(block.text) or is_mostly_capitals(block.text))
    ):
        return False
    if first[0].islower() and (block.gap < 2 or (title and mark not in ":-—–")):
        return False
    if mark == ",":
        return bool(keyword_of(title)) or block.gap >= HEADING_GAP
    return begins.isupper() or (mark != "" and mark in "-—–[(:")


def _with_number(block: Block, text: str) -> Heading | None:
    """Return a candidate: a number, with or without a title, that is a heading only in a series."""
    if match := _LETTER_OF_SECTION.match(text):
        return Heading("letter of a section", ord(match[1]) - ord("a") + 1, sure=False)
    text = _BEFORE_NUMBER.sub("", text, count=1)
    found = read(text)
    if found is None or found.keyword or found.value > _HIGHEST_NUMBER:
        return None
    if _NOTHING_AFTER_NUMBER.match(text, found.end):
        # "C" and "L" sign letters, and somebody may say a number in words.
        word = found.kind == "word" and (block.gap < 2 or text[found.end :] not in ("", "."))
        initial = found.kind == "lower roman" and found.value in (50, 100)
        return None if word or initial else Heading(found.kind, found.value, sure=False)
    after = _AFTER_NUMBER.match(text, found.end)
    if after is None or found.kind == "lower roman" or _DAY.match(text):
        return None
    title = after["title"].strip(TITLE_MARKS)
    # Sentences begin with "One" and "I".
    marked = after["mark"] is not None
    doubtful = not marked or found.kind == "word"
    if not title or (doubtful and not _is_title_of_word(block, title, marked or found.kind != "word")):
        return None
    return Heading(f"{found.kind} titled", found.value, title, sure=False)


def _is_title_of_word(block: Block, title: str, marked: bool) -> bool:
    short = block.size <= MOST_TITLE_WORDS and block.text[-1] not in ".,;:"
    return block.gap >= 2 and not title[0].islower() and (is_capitals(title) or (marked and short))


def _without_number(block: Block, text: str) -> Heading | None:
    """Return the heading of front or back matter or a part of the story, by the titles in ``headings.yaml``."""
    apart = block.gap >= 2
    phrase = phrase_of(text) if text[-1] not in ",;?" else ""
    if not apart and not text.isupper() and phrase != "ends":
        return None
    if phrase in ("notes", "ends") or (apart and phrase == "back"):
        return Heading("back")
    if phrase in ("contents", "front"):
        return Heading("front")
    # A note has no title below it; a prologue may have one.
    if phrase == "story" or (apart and phrase == "note"):
        return Heading("named", title=text if phrase == "note" else "")
    return None


def is_notes(block: Block) -> bool:
    return phrase_of(bare(block.text)) == "notes"


def is_contents(block: Block) -> bool:
    text = bare(block.text)
    return len(block.lines) == 1 and len(text) <= _LONGEST_CONTENTS and phrase_of(text) == "contents"


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


def without_number(entry: str) -> str:
    """Return an entry of a table of contents without "CHAPTER I." or "1." before its title."""
    found = read(entry)
    if found is None and (word := _FIRST_WORD.match(entry)) and (found := read(entry[word.end() :])):
        entry = entry[word.end() :]
    if found is None:
        return entry
    after = (_AFTER_KEYWORD_AND_NUMBER if found.keyword else _AFTER_NUMBER).match(entry, found.end)
    return bare(after["title"]).strip(TITLE_MARKS) if after else entry


def run_in_number(block: Block) -> tuple[int, str, tuple[str, ...]] | None:
    """Return the number with which a paragraph begins, its text, and the lines after it.

    "IV. It was a hot day" and "Chapter Two.--It was": the number is in the first line of the story.
    """
    line = block.lines[0].lstrip()
    number = line.strip(" .—–-[]()_*")
    if len(block.lines) > 1 and (alone := read(number)) and alone.end == len(number) and not alone.keyword:
        return alone.value, line, block.lines[1:]
    found = read(line)
    if found is None or not (found.keyword or found.kind in ("roman", "arabic")) or _DAY.match(line):
        return None
    rest = _RUN_IN.match(line, found.end)
    if rest is None:
        return None
    return found.value, line[: rest.start("rest")], (rest["rest"].lstrip(" -—"), *block.lines[1:])
