"""The text of a printed novel, without rules about its parts: from a file to blocks, from a block to one line.

:func:`blocks_of` cuts the text between the START and END lines into blocks of lines, with :data:`CUT` in place of
captions, footnotes and other asides; :func:`unwrap` makes one paragraph of a block's lines and takes out what is left
of marks. :mod:`~long_context_tasks.corpora._gutenberg` decides which blocks are the story.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from long_context_tasks.corpora._headings import Block

__all__ = ["CUT", "blocks_of", "title_of", "unwrap"]

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


def title_of(text: str) -> str | None:
    """The title in the header of a file's text, None without one."""
    title = _TITLE.search(text, 0, 20_000)
    return " ".join(title[1].split()) if title else None


def blocks_of(text: str) -> tuple[list[Block], bool]:
    """Cut the text of a file into blocks.

    Args:
        text: with line feeds alone.

    Returns:
        The blocks between the START and END lines, and whether there was a START line.
    """
    body, marked = _between_markers(text)
    return _blocks(_without_asides(body).replace(f"{CUT}{CUT}", CUT)), marked


def _between_markers(text: str) -> tuple[str, bool]:
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
    """Where the project's name may stand, ascending."""
    places = []
    for name in ("Gutenberg", "GUTENBERG", "SMALL PRINT!", "PG"):
        place = text.find(name)
        while place >= 0:
            places.append(place)
            place = text.find(name, place + 1)
    return sorted(places)


def _without_asides(text: str) -> str:
    """The text with a mark in place of every aside; only brackets are looked at."""
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
    """One paragraph on one line, without marks of notes and of emphasis; ``joined`` is its text with single spaces."""
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
    """Whether a line cut behind a hyphen or a dash goes on without a space, as it was printed."""
    if not line or (not line[0].isalnum() and line[0] not in "\"'“‘_"):
        return False
    if text.endswith(("--", "—")):
        return not text.endswith((" --", " —"))
    return line[0].islower() and text[-2:-1].isalpha()
