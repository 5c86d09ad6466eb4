"""Turn the plain text of a printed book into blocks of lines without licence, tags, notes and pictures in brackets."""

import re
from collections import Counter
from collections.abc import Sequence

from long_context_tasks.corpora.blocks import Block
from long_context_tasks.corpora.imprint import patterns
from long_context_tasks.corpora.pages import CUT
from long_context_tasks.corpora.text_repairs import one_line

# The lines of Project Gutenberg.
_START = re.compile(
    r"^[ \t]*\*{3}[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG(?:[^*]{0,300}\*{3}|[^\n]*)", re.M | re.I
)
_END = re.compile(r"^[ \t]*\*{3}[ \t]*END OF (?:THE|THIS) PROJECT GUTENBERG", re.M | re.I)
_SMALL_PRINT = re.compile(r"\*END\*? ?THE SMALL PRINT![^\n]*\n", re.I)
_END_LINE = re.compile(
    r"^[ \t]*(?:\*{3}[ \t]*)?End of (?:the |this )?(?:Project Gutenberg|PG\b)(?:'s|’s|[^\n]*\b(?:e-?book|e-?text))",
    re.M | re.I,
)
_NAMES = ("Gutenberg", "GUTENBERG", "SMALL PRINT!", "PG")
# Markup.
_SPACED_TYPE = re.compile(r"(?<![\w#])#(?=[^\s#])([^#\n]{0,200}[^\s#])#(?![\w#])")  # "#Marzo 18--#"
_TAGS = re.compile(r"</?(?:h[1-6]|p|b|i|em|strong|center|small|big|sup|span|div|a|u)\b[^<>]{0,200}>", re.I)
# "C H A P T E R   I": words have two spaces or more between them, if there are several.
_SPACED = re.compile(r"^[ \t_]*(?:[A-Z][.,'’-]?[ \t]+){3,}[A-Z0-9]+[.,_]*$", re.M)
_KEYWORD = re.compile(r"^(CHAPTER|CHAP\.?|BOOK|PART|LETTER|VOLUME)(?=[A-Z0-9])")
# Notes and pictures.
_REST_OF_ASIDE = re.compile(r"(?:[^\[\]]|\[[^\[\]]*\]){0,6000}\]")
_IMAGE_OR_PAGE = re.compile(
    r"(?<!_)\{(?:[^{}]{0,300}\.(?:jpe?g|png|gif)|\s*(?:(?:Pg|Page|p\.)\s*)?[\dxvi]+\s*)\}", re.I
)
_HEADING_INSIDE = re.compile(r"\n[^\S\n]*((?:chapter|book|part) [IVXLC\d]+\.?)\s*\]$", re.I)
_BRACKETED = re.compile(r"^[ \t]*\[([^\W\d_]+(?: [^\W\d_]+){0,2})[.:]?\][ \t]*$", re.M)
_FEWEST_BRACKETED = 3
_ROUND = re.compile(r"\((\d{1,3})\)")
_ROUND_NOTE = re.compile(r"^[ \t]*\((\d{1,3})\)\s*\S", re.M)
_ROUND_MARK = re.compile(r"[^\s(][ \t]?\((\d{1,3})\)")
_FEWEST_ROUND, _SHARE_OF_ROUND = 3, 0.8
# Paragraphs.
_LONG_ABOVE_INDENTED = re.compile(r"^\S[^\n]{40,}(?=\n[ \t\u3000]+\S)", re.M)
_INDENTED = re.compile(r"(?<=\S)\n(?=[ \t\u3000]{1,8}(\S))")
_ABOVE_LINE = re.compile(r"^[^\n]*\S(?=[ \t]*\n[ \t\u3000]*\S)", re.M)
_LINE_END = re.compile(r"(?<=\S)[ \t]*\n(?=[ \t\u3000]*\S)")
_LONGEST_LINE = 110  # characters of a line on a printed page
_IN_LONG_LINES = 0.3  # of the characters above other lines, if each line is a paragraph
_ENDING_PARAGRAPHS = 0.8  # of the lines longer than those of a page
SENTENCE_END = re.compile(r"[.!?…:;—–-][\s\"'”’“‘»«›‹)\]_*]*$|[。！？」』]$")
_NOTE_MARKS = re.compile(
    r"(?<=[^\s*_])\s?(?:\*(?!\s?\*)|[†‡])(?=[\s”\"’')\].,;:!?—-]|$)|\s?\[(?:\d{1,3}|\*+|[†‡])\]"
    r"|(?<=\S)\[[A-Z]\](?!\w)|\s?\((?:\*+|[†‡])\)"
)
_ITALICS = re.compile(r"(?<!_)_(?:\{(\w{1,3})\})?(?!_)")
_FRAME = re.compile(r"\+-{2,}\+|(?<!\S)\|(?!\S)")  # lines of a box drawn around a sign or a visiting card
_MARKUP_CHARACTERS = f"_*[{CUT}|+†‡"


def without_markup(text: str) -> str:
    """Return a text without control characters, tags and letterspacing (its markup and the spaces between letters)."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # DOS ends files with the control character 26.
    text = text.replace("\f", "\n\n").replace("\x1a", "")
    if text.count("#") > 1:
        text = _SPACED_TYPE.sub(r"\1", text)
    if "</" in text:
        text = _TAGS.sub("", text)
    if any(letters in text for letters in ("H A P", "A R T", "O O K", "E T T E R")):
        text = _SPACED.sub(_closed_up, text)
    return text


def _closed_up(line: re.Match[str]) -> str:
    words = ["".join(word.split()) for word in re.split(r"[ \t]{2,}", line[0].strip())]
    return _KEYWORD.sub(r"\1 ", " ".join(words))


def between_markers(text: str) -> tuple[str, bool]:
    """Return the text between the START and END lines of Project Gutenberg, and whether there is a START line."""
    starts: list[int] = []
    ends: list[int] = []
    # Searching for the name and then matching its line is ten times faster than a pattern over the whole book.
    for place in sorted(found.start() for name in _NAMES for found in re.finditer(name, text)):
        line = text.rfind("\n", 0, place) + 1
        if (start := _START.match(text, line) or _SMALL_PRINT.match(text, line)) and not starts:
            starts.append(start.end())
        elif _END.match(text, line) or _END_LINE.match(text, line):
            ends.append(line)
    begin = starts[0] if starts else 0
    return text[begin : next((end for end in ends if end >= begin), len(text))], bool(starts)


def without_asides(text: str) -> str:
    """Return a text with :data:`CUT` in place of notes, pictures and page numbers in brackets."""
    text = _without_asides(_without_repeated(text))
    return _with_square_notes(text).replace(f"{CUT}{CUT}", CUT)


def _without_asides(text: str) -> str:
    pieces: list[str] = []
    done = 0
    begins = patterns()["asides"]
    for bracket in re.finditer(r"[\[{]", text):
        if bracket.start() < done:
            continue
        if bracket[0] == "{":
            aside = _IMAGE_OR_PAGE.match(text, bracket.start())
        else:
            begun = begins.match(text, bracket.end())
            aside = _REST_OF_ASIDE.match(text, begun.end()) if begun else None
        if aside:
            # A drawn initial page may hold the chapter's heading.
            inside = _HEADING_INSIDE.search(text[bracket.start() : aside.end()])
            pieces += [text[done : bracket.start()], f"{CUT}\n\n\n\n{inside[1]}\n\n" if inside else CUT]
            done = aside.end()
    return "".join([*pieces, text[done:]])


def _without_repeated(text: str) -> str:
    """Return a text without short lines in brackets that are repeated: pictures, in any language."""
    times = Counter(found[1].casefold() for found in _BRACKETED.finditer(text)) if "[" in text else Counter()
    if max(times.values(), default=0) < _FEWEST_BRACKETED:
        return text
    return _BRACKETED.sub(
        lambda found: CUT if times[found[1].casefold()] >= _FEWEST_BRACKETED else found[0], text
    )


def _with_square_notes(text: str) -> str:
    """Return a text with notes marked "[1]" if they are marked "(1)": the same numbers are in lines and begin lines."""
    if "(1)" not in text:
        return text
    notes, marks = Counter(_ROUND_NOTE.findall(text)), Counter(_ROUND_MARK.findall(text))
    both = (notes & marks).total()
    if both < max(_FEWEST_ROUND, _SHARE_OF_ROUND * max(notes.total(), marks.total())):
        return text
    return _ROUND.sub(r"[\1]", text)


def to_blocks(text: str) -> list[Block]:
    """Split a text at its blank lines, or at indentations or line ends if these separate its paragraphs."""
    blocks: list[Block] = []
    lines: list[str] = []
    gap = 0
    for line in f"{_with_blank_lines(text)}\n".split("\n"):
        if line and not line.isspace():
            lines.append(line)
        elif lines:
            blocks.append(Block(tuple(lines), gap))
            lines, gap = [], 1
        else:
            gap += 1
    return blocks


def _with_blank_lines(text: str) -> str:
    if _has_a_paragraph_a_line(text):
        return _LINE_END.sub("\n\n", text)
    # Counting strings is much faster than counting patterns, and enough for most books.
    blank = text.count("\n\n")
    if 2 * sum(text.count(f"\n{space}") for space in " \t\u3000") <= blank:
        return text
    if 2 * len(_LONG_ABOVE_INDENTED.findall(text)) <= blank:
        return text
    # A continued line of verse may be indented too, and begins with a small letter.
    return _INDENTED.sub(lambda found: "\n" if found[1].islower() else "\n\n", text)


def _has_a_paragraph_a_line(text: str) -> bool:
    """Return whether many lines directly above others are longer than a page is wide, and end as paragraphs do."""
    longest = max(map(len, text.splitlines()), default=0)
    if longest <= _LONGEST_LINE:
        return False
    above = [found[0] for found in _ABOVE_LINE.finditer(text)]
    long = [line for line in above if len(line) > _LONGEST_LINE]
    ending = sum(SENTENCE_END.search(line) is not None for line in long)
    return sum(map(len, long)) > _IN_LONG_LINES * sum(map(len, above)) and ending >= _ENDING_PARAGRAPHS * len(
        long
    )


def unwrap(lines: Sequence[str], joined: str | None = None) -> str:
    """Return a paragraph on one line without marks of notes and of emphasis.

    Args:
        lines: the lines of the paragraph.
        joined: their text with single spaces, if it is known.
    """
    raw = "\n".join(lines)
    if joined is not None and not ("-\n" in raw or "—\n" in raw):
        text = joined
    else:
        text = lines[0]
        for line in lines[1:]:
            text = f"{text}{line}" if text[-1:] in "-—" and _continues_word(text, line) else f"{text} {line}"
    # Most paragraphs have no marks or only words in italics, and the other patterns are slow.
    if not any(map(text.__contains__, _MARKUP_CHARACTERS)):
        return text if text is joined else one_line(text)
    text = text.replace(CUT, " ")
    if "*" in text or "[" in text or "†" in text or "‡" in text:
        text = _NOTE_MARKS.sub("", text)
    text = _ITALICS.sub(r"\1", _FRAME.sub(" ", text) if "+-" in text or "|" in text else text)
    return one_line(text)


def _continues_word(text: str, line: str) -> bool:
    """Return whether a line after a hyphen or a dash is printed without a space before it."""
    if not line or (not line[0].isalnum() and line[0] not in "\"'“‘_"):
        return False
    if text.endswith(("--", "—")):
        return not text.endswith((" --", " —"))
    shouted = line[:2].isupper() and text[-3:-1].isupper()
    return (line[0].islower() or shouted) and text[-2:-1].isalpha()
