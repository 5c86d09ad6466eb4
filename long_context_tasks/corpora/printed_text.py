"""Turn the plain text of a printed book into blocks of lines without licence, tags, notes and pictures in brackets.

A block is what blank lines separate. The functions on blocks tell how one looks: a title, a sentence, a row of asterisks.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from long_context_tasks.schema.files import packaged_yaml

# Marks the place of a removed note, picture or page number; a paragraph that it cut in two is joined again.
CUT = "\x00"
# The lines of Project Gutenberg.
_START = re.compile(
    r"^[ \t]*\*{3}[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG(?:[^*]{0,300}\*{3}|[^\n]*)", re.M | re.I
)
_END = re.compile(r"^[ \t]*\*{3}[ \t]*END OF (?:THE|THIS) PROJECT GUTENBERG", re.M | re.I)
_SMALL_PRINT = re.compile(r"\*(?:END\*? ?THE )?SMALL PRINT![^\n]*\n", re.I)
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
_ROUND_NOTE = re.compile(r"^[ \t]*\((\d{1,3})\)\s*\S", re.M)
_ROUND_MARK = re.compile(r"[^\s(][ \t]?\((\d{1,3})\)")
_FEWEST_ROUND, _SHARE_OF_ROUND = 3, 0.8
# Paragraphs.
_SENTENCE_END = re.compile(r"[.!?…:;—-][\"'”’)\]_*†‡]*(?:\[\w{1,3}\])?$")
_PARAGRAPH_END = re.compile(r"[.!?…:;—–-][\s\"'”’“‘»«›‹)\]_*]*$|[。！？」』]$")
_LONG_ABOVE_INDENTED = re.compile(r"^\S[^\n]{40,}(?=\n[ \t\u3000]+\S)", re.M)
_INDENTED = re.compile(r"(?<=\S)\n(?=[ \t\u3000]{1,8}(\S))")
_ABOVE_LINE = re.compile(r"^[^\n]*\S(?=[ \t]*\n[ \t\u3000]*\S)", re.M)
_LINE_END = re.compile(r"(?<=\S)[ \t]*\n(?=[ \t\u3000]*\S)")
_FEW_BLANK_LINES = 0.02  # of the lines
_IN_TWO_COLUMNS = 0.9  # of the lines of a text with hanging indents
_LEAST_SPOKEN = 0.1  # of the lines of a novel, with a dash
_RAGGED = 7  # characters by which lines of prose may miss the width of the page
_LONGEST_LINE = 110  # characters of a line on a printed page
_IN_LONG_LINES = 0.3  # of the characters above other lines, if each line is a paragraph
_ENDING_PARAGRAPHS = 0.8  # of the lines longer than those of a page, or above hanging indents
_NOTE_MARKS = re.compile(
    r"(?<=[^\s*_])\s?(?:\*(?!\s?\*)|[†‡])(?=[\s”\"’')\].,;:!?—-]|$)|\s?\[(?:\d{1,3}|\*+|[†‡])\]"
    r"|(?<=\S)\[[A-Z]\](?!\w)|\s?\((?:\*+|[†‡])\)"
)
_ITALICS = re.compile(r"(?<!_)_(?:\{(\w{1,3})\})?(?!_)")
# An underscore of italics, unlike that of "wild_boar".
_OF_ITALICS = re.compile(r"(?<![^\W_])_|_(?![^\W_])|_[^\W_]+_")
_FRAME = re.compile(r"\+-{2,}\+|(?<!\S)\|(?!\S)")  # lines of a box drawn around a sign or a visiting card
_MARKUP_CHARACTERS = f"_*[{CUT}|+†‡"
LETTERS = re.compile(r"[^\W\d_]+")
# A word that a line end cut in two, unlike "two- and threefold".
_BROKEN = re.compile(r"(?<![^\W\d_]-)\b([^\W\d_]+)- (?!(?:and|or|to|nor|but)\b)([^\W\d_]+)")
# Blocks.
QUOTES = "\"'“”‘’«»‹›"
_SMALL = (
    "a about above across after against along amid among an and are around as at away be before behind below beneath beside "
    "between beyond but by de des down du during for from her his how if in into is it its la le like my near no nor not of "
    "off on or our out over past round since so than that the their then through till to toward towards under until up upon "
    "van von was what when where which who with within without would your"
)
_SMALL_WORDS = frozenset(_SMALL.split())
_SEPARATORS = "*_=~#•·.+-—–"
_SEPARATOR = re.compile(rf"[\s{re.escape(_SEPARATORS)}]+$")
_SYNOPSIS_DASH = re.compile(r"--|—|–| - ")
_LETTER_ADDRESS = re.compile(r"_?To (?:Mrs?|Miss|Dr|Sir|Lady|Lord|the|my)\b")
_YEARS = re.compile(r" \(\d{4}(?:[-–—]+\d{2,4})?\)")
MOST_HEADING_LINES = 3
MOST_TITLE_WORDS = 22
_MOST_WORDS_OF_LONG_TITLE = 45  # in capitals, in italics, or over more than three lines


@cache
def patterns() -> Mapping[str, re.Pattern[str]]:
    """Return one expression for each kind of phrase in ``imprint.yaml``."""
    kinds = packaged_yaml("long_context_tasks.corpora", "imprint.yaml")
    joined = {kind: "|".join(phrases) for kind, phrases in kinds.items()}
    # A place or the name of a house may come first: "Paris.--Imprimerie A. Roe".
    joined["printed"] = (
        rf"[\W_]*(?:[^\W\d_][\w.,&' -]{{0,40}}?(?:[:;]|[.,]? ?(?:—|--|–)) ?)?(?:{joined['printed']})"
    )
    joined["transcribed"] = rf"[\W_]*(?:{joined['transcribed']})"
    joined["prices"] = rf"(?:{joined['prices']})[^\w]*$"
    joined["lists"] = rf"(?:{joined['lists']})[.:;]?"
    joined["captions"] = rf"(?:{joined['captions']})\W*(?:\S.{{0,120}})?"
    joined["asides"] = rf"\s*(?:{joined['asides']})"
    joined["leftovers"] = rf"(?:{joined['leftovers']})[.]?"
    return {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in joined.items()}


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
    for place in sorted(match.start() for name in _NAMES for match in re.finditer(name, text)):
        line = text.rfind("\n", 0, place) + 1
        if (start := _START.match(text, line) or _SMALL_PRINT.match(text, line)) and not starts:
            starts.append(start.end())
        elif _END.match(text, line) or _END_LINE.match(text, line):
            ends.append(line)
    begin = starts[0] if starts else 0
    return text[begin : next((end for end in ends if end >= begin), len(text))], bool(starts)


def without_asides(text: str) -> str:
    """Return a text with :data:`CUT` in place of notes, pictures and page numbers in brackets."""
    text = _with_square_notes(_without_repeated(text))
    pieces: list[str] = []
    end = 0
    begins = patterns()["asides"]
    for bracket in re.finditer(r"[\[{]", text):
        if bracket.start() < end:
            continue
        if bracket[0] == "{":
            aside = _IMAGE_OR_PAGE.match(text, bracket.start())
        else:
            begun = begins.match(text, bracket.end())
            aside = _REST_OF_ASIDE.match(text, begun.end()) if begun else None
        if aside:
            # A drawn initial page may hold the chapter's heading.
            inside = _HEADING_INSIDE.search(text[bracket.start() : aside.end()])
            pieces += [text[end : bracket.start()], f"{CUT}\n\n\n\n{inside[1]}\n\n" if inside else CUT]
            end = aside.end()
    return "".join([*pieces, text[end:]]).replace(f"{CUT}{CUT}", CUT)


def _without_repeated(text: str) -> str:
    """Return a text without short lines in brackets that are repeated: pictures, in any language."""
    times = Counter(match[1].casefold() for match in _BRACKETED.finditer(text)) if "[" in text else Counter()
    if max(times.values(), default=0) < _FEWEST_BRACKETED:
        return text
    return _BRACKETED.sub(
        lambda match: CUT if times[match[1].casefold()] >= _FEWEST_BRACKETED else match[0], text
    )


def _with_square_notes(text: str) -> str:
    """Return a text with notes marked "[1]" if they are marked "(1)": lines begin with numbers that the text has too."""
    if "(1)" not in text:
        return text
    notes, marks = Counter(_ROUND_NOTE.findall(text)), Counter(_ROUND_MARK.findall(text))
    if (notes & marks).total() < max(_FEWEST_ROUND, _SHARE_OF_ROUND * notes.total()):
        return text
    return re.sub(r"\((\d{1,3})\)", r"[\1]", text)


@dataclass(frozen=True)
class Block:
    """Consecutive lines without a blank line between them."""

    lines: tuple[str, ...]  # as in the file
    gap: int  # number of blank lines before them
    text: str = field(init=False, compare=False)  # all words with single spaces
    size: int = field(init=False, compare=False)  # number of words

    def __post_init__(self) -> None:
        """Join the lines once, because every rule reads the text."""
        text = " ".join(self.lines)
        # Most blocks need no splitting, which takes longer than everything else here. An unprintable character may be a space.
        if "  " in text or text[:1] == " " or text[-1:] == " " or not text.isprintable():
            text = " ".join(text.split())
        object.__setattr__(self, "text", text)
        # Counting single spaces is ten times faster than splitting.
        object.__setattr__(self, "size", text.count(" ") + bool(text))


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
    blank = text.count("\n\n")
    few = blank < _FEW_BLANK_LINES * text.count("\n")
    long = len(text) > _LONGEST_LINE * text.count("\n")
    if few and long and _has_a_paragraph_a_line(whole := _with_whole_sentences(text)):
        return _LINE_END.sub("\n\n", whole)
    # Counting strings is much faster than counting patterns, and enough for most books.
    indented = (
        2 * sum(text.count(f"\n{space}") for space in " \t\u3000") > blank
        and 2 * len(_LONG_ABOVE_INDENTED.findall(text)) > blank
    )
    if few:
        if parted := _parted_at_hanging_lines(text):
            return parted
        text = _parted_at_short_lines(text)
    # A continued line of verse may be indented too, and begins with a small letter.
    return _INDENTED.sub(lambda match: "\n" if match[1].islower() else "\n\n", text) if indented else text


def _with_whole_sentences(text: str) -> str:
    """Join lines that end within a sentence, as where words in italics have lines of their own."""
    pieces: list[str] = []
    for line, below in pairwise([*text.split("\n"), ""]):
        cut = line.strip() and below.strip() and not ends_paragraph(line)
        first = below.lstrip()[:1]
        goes_on = len(line) > _LONGEST_LINE or line[-1:] in " ¡¿«(" or first.islower() or first in ".,;:()"
        pieces += [line, " " if cut and goes_on else "\n"]
    return "".join(pieces)


def _parted_at_hanging_lines(text: str) -> str:
    """Put a blank line above each line that begins left of the others, or return "" if these do not begin paragraphs."""
    lines = text.split("\n")
    indents = [len(line) - len(line.lstrip()) if line.strip() else -1 for line in lines]
    usual = Counter(indent for indent in indents if indent >= 0).most_common(2)
    least = min(usual, default=(0, 0))[0]
    told = sum(indent >= 0 for indent in indents)
    if len(usual) < 2 or sum(times for _, times in usual) < _IN_TWO_COLUMNS * told or usual[1][1] < told / 10:
        return ""
    above = [lines[k - 1] for k, indent in enumerate(indents) if k and indent == least]
    if sum(ends_paragraph(line) or not line.strip() for line in above) < _ENDING_PARAGRAPHS * len(above):
        return ""
    return "\n".join(
        f"\n{line}" if indent == least else line for line, indent in zip(lines, indents, strict=True)
    )


def _parted_at_short_lines(text: str) -> str:
    """Put a blank line below each line that leaves room for the next word and ends a sentence or is in capitals.

    Another one is above such a line in capitals where a sentence ends, because the last line of a paragraph may fill the page.
    A text in which most lines do not fill the page, as in verse, stays as it is, unless many begin with the dash of speech.
    """
    lines = [line.rstrip() for line in text.split("\n")]
    width = sorted(map(len, lines))[len(lines) * 9 // 10]
    pairs = list(zip(lines, [*lines[1:], ""], strict=True))
    room = [width - len(line) - 1 - len(below.lstrip().partition(" ")[0]) for line, below in pairs]
    spoken = sum(line.startswith("— ") for line in lines)
    if 2 * sum(left <= _RAGGED for left in room) < len(lines) and spoken < _LEAST_SPOKEN * len(lines):
        return text
    parted: list[str] = []
    for line, left in zip(lines, room, strict=True):
        shouted = left > _RAGGED and line.isupper()
        if shouted and parted and parted[-1] and ends_paragraph(parted[-1]):
            parted.append("")
        parted.append(line)
        if shouted or (left > _RAGGED and ends_paragraph(line)):
            parted.append("")
    return "\n".join(parted)


def _has_a_paragraph_a_line(text: str) -> bool:
    """Return whether many lines directly above others are longer than a page is wide, and end as paragraphs do."""
    longest = max(map(len, text.splitlines()), default=0)
    if longest <= _LONGEST_LINE:
        return False
    above = [match[0] for match in _ABOVE_LINE.finditer(text)]
    long = [line for line in above if len(line) > _LONGEST_LINE]
    ending = sum(map(ends_paragraph, long))
    return sum(map(len, long)) > _IN_LONG_LINES * sum(map(len, above)) and ending >= _ENDING_PARAGRAPHS * len(
        long
    )


# How a block looks.


def line_block(text: str) -> Block:
    return Block((text,), 1)


def bare(text: str) -> str:
    """Return a line without indentation, emphasis, double spaces, and page numbers before and after it."""
    if "  " in text or "\t" in text or "\xa0" in text:
        text = " ".join(text.split())
    return text.strip(f"_*=~# {CUT}")


def ends_sentence(text: str) -> bool:
    return bool(_SENTENCE_END.search(text))


def ends_paragraph(text: str) -> bool:
    return bool(_PARAGRAPH_END.search(text))


def is_prose(block: Block) -> bool:
    """Return whether a block consists of sentences, unlike a line of a title page or of a table of contents."""
    words = block.text.split()
    lower = sum(map(str.islower, [word[0] for word in words]))
    if lower * 2 < len(words):
        return len(words) > 40 and lower * 3 > len(words)
    return ends_sentence(block.text) or len(words) > 40


def is_capitals(text: str) -> bool:
    """Return whether all letters outside italics are capitals ("JOURNAL--_continued_")."""
    outside = re.sub(r"_[^_]*_", "", text) if "_" in text else text
    return outside.isupper() and sum(c.isalpha() for c in outside) > 1


def is_mostly_capitals(text: str) -> bool:
    words = [word for word in text.split() if word[0].isalpha()]
    return sum(word.isupper() for word in words) >= 0.8 * len(words)


def is_separator(block: Block) -> bool:
    """Return whether a block is a row of asterisks, dashes or the like."""
    return (
        block.text[0] in _SEPARATORS
        and len(block.lines) <= MOST_HEADING_LINES
        and all(_SEPARATOR.match(line) for line in block.lines)
    )


def is_synopsis(text: str) -> bool:
    """Return whether a text lists the events of a chapter, separated by dashes."""
    dashes = len(_SYNOPSIS_DASH.findall(text))
    return dashes >= 2 and len(text.split()) < 14 * dashes and len(text) < 400


def is_title(block: Block, *, final_stop: bool = False) -> bool:
    """Return whether a block directly below a heading reads as its title.

    A title is in capitals or in italics throughout, or every word of weight has a capital and no full stop follows.

    Args:
        block: a block of any length.
        final_stop: accept a full stop at the end, for books in which nearly every chapter has such a line.
    """
    raw = block.text
    text = bare(raw)
    # '"The Girl I Left Behind Me"' is a title in quotation marks; speech has its punctuation inside them.
    quoted = len(text) > 2 and text[0] in QUOTES and text[-1] in QUOTES
    shown = final_stop and is_capitals(text)
    if quoted and ((text[-2].isalnum() and (shown or len(text) > 12)) or shown):
        text = text[1:-1]
    words = text.split()
    if not words or len(words) > _MOST_WORDS_OF_LONG_TITLE or text[0] in QUOTES + "(":
        return False
    long = len(words) > MOST_TITLE_WORDS or len(block.lines) > MOST_HEADING_LINES
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
    weighty = [
        w for word in words if (w := word.strip(QUOTES + "().,;:-—")) and w.lower() not in _SMALL_WORDS
    ]
    return bool(weighty) and text[0].isupper() and all(not word[0].islower() for word in weighty)


# Running text.


def unwrap(block: Block) -> str:
    """Return a paragraph on one line without marks of notes and of emphasis."""
    raw = "\n".join(block.lines)
    text = block.text
    if "-\n" in raw or "—\n" in raw:
        text = block.lines[0]
        for line in block.lines[1:]:
            text = f"{text}{line}" if text[-1:] in "-—" and _continues_word(text, line) else f"{text} {line}"
    # Most paragraphs have no marks or only words in italics, and the other patterns are slow.
    if not any(map(text.__contains__, _MARKUP_CHARACTERS)):
        return text if text is block.text else one_line(text)
    text = text.replace(CUT, " ")
    if "*" in text or "[" in text or "†" in text or "‡" in text:
        text = _NOTE_MARKS.sub("", text)
    if "_" in text and not _OF_ITALICS.search(text):
        text = text.replace("_", " ")
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


def one_line(text: str) -> str:
    return " ".join(text.split())


def unbroken(texts: Sequence[str]) -> list[str]:
    """Join words that line ends cut; a word keeps its hyphen unless the texts have it without one elsewhere."""
    words = {word.casefold() for text in texts for word in LETTERS.findall(text)}

    def whole(cut: re.Match[str]) -> str:
        joined = cut[1] + cut[2]
        return joined if cut[2].islower() and joined.casefold() in words else f"{cut[1]}-{cut[2]}"

    return [_BROKEN.sub(whole, text) for text in texts]


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with the given spans removed; they are in ascending order."""
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
