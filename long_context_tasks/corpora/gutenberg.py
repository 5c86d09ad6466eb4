"""From the plain text of a printed novel, as Project Gutenberg and others give it, to the story alone.

The paper: "we meticulously remove identifiers such as chapter numbers and annotations from the content" (Wang et
al., NAACL 2024, section 3.3). Removed here: everything outside the START and END lines, credits, notes of the
transcriber, title page, prefaces, tables of contents, headings with their titles and attributed mottoes, footnotes
and their marks, captions of illustrations, publishers' lists and printers' notes, rows of asterisks, page numbers.
Left: whole paragraphs, unwrapped. What is a heading, :mod:`long_context_tasks.corpora.headings` decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from long_context_tasks.corpora.forms import form_of
from long_context_tasks.corpora.headings import (
    DROP,
    KEEP,
    Block,
    Heading,
    Label,
    Page,
    argument_marks,
    bare,
    count_warnings,
    heading_of,
    is_closing,
    is_contents,
    is_motto,
    is_notes,
    is_prose,
    is_separator,
    is_set_apart,
    is_synopsis,
    is_title,
    label,
    parted,
    titles_listed,
    usual_below,
)
from long_context_tasks.corpora.imprint import captions, list_of_books
from long_context_tasks.corpora.numerals import phrase_of, plain, read
from long_context_tasks.corpora.pages import CUT, is_page_number, without_pages

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
    r"(?=[\[{])(?:\[\s*(?:Illustrations?\b|Footnotes?\b|Transcriber|TN\b|Editor['’]s|Project Gutenberg|Etext|Sidenote|"
    r"Illustrati(?:on|e)\b|Illustrazion|Ilustraci|Ilustra[çc]|Ilustracj|Abbildung|Afbeelding|Bild(?:er)?\b|D[eé][kc]oration|Dekoracj|Vignet|Vi[ñn]eta|Vinheta|Winiet|Виньетк|Zierleiste|Ornament\b|Lámina\b|Gravure\b|Grabado\b|Gravura\b|Kuvitus|Billede\b|Rycina\b|Иллюстраци|"
    r"Рисунок\b|Fu(?:ß|ss)note|Voetnoot|Voetnota|Fotnot|Fodnote|Przypis|Сноска|Примечани|"
    r"(?:Note|Nota|Anmerkung|Noot|Not)\b[ \d.]*(?=[:\]])|Blank page|Pg\b\.?|Page\s\d|p\.?\s?\d|\*)(?:[^\[\]]|\[[^\[\]]*\]){0,6000}\]"
    r"|(?<!_)\{(?:[^{}]{0,300}\.(?:jpe?g|png|gif)|\s*(?:(?:Pg|Page|p\.)\s*)?[\dxvi]+\s*)\})",
    re.I,
)
_BRACKETED = re.compile(r"^[ \t]*\[([^\W\d_]+(?: [^\W\d_]+){0,2})[.:]?\][ \t]*$", re.M)
_FEWEST_BRACKETED = 3
# "#Marzo 18--#": small or spaced type.
_SPACED_TYPE = re.compile(r"(?<![\w#])#(?=[^\s#])([^#\n]{0,200}[^\s#])#(?![\w#])")
_HEADING_INSIDE = re.compile(r"\n[^\S\n]*((?:chapter|book|part) [IVXLC\d]+\.?)\s*\]$", re.I)
_LONG_ABOVE_INDENTED = re.compile(r"^\S[^\n]{40,}(?=\n[ \t\u3000]+\S)", re.M)
_INDENTED = re.compile(r"(?<=\S)\n(?=[ \t\u3000]{1,8}(\S))")
_ABOVE_LINE = re.compile(r"^[^\n]*\S(?=[ \t]*\n[ \t\u3000]*\S)", re.M)
_LINE_END = re.compile(r"(?<=\S)[ \t]*\n(?=[ \t\u3000]*\S)")
_LONGEST_LINE = 110  # characters of a line on a printed page
_IN_LONG_LINES = 0.3  # of the characters above other lines, if each line is a paragraph
_ENDING_PARAGRAPHS = 0.8  # of the lines longer than those of a page
_MARKS = re.compile(
    r"(?<=[^\s*_])\s?(?:\*(?!\s?\*)|[†‡])(?=[\s”\"’')\].,;:!?—-]|$)|\s?\[(?:\d{1,3}|\*+|[†‡])\]"
    r"|(?<=\S)\[[A-Z]\](?!\w)|\s?\((?:\*+|[†‡])\)"
)
_ROUND = re.compile(r"\((\d{1,3})\)")
_ROUND_NOTE = re.compile(r"^[ \t]*\((\d{1,3})\)\s*\S", re.M)
_ROUND_MARK = re.compile(r"[^\s(][ \t]?\((\d{1,3})\)")
_FEWEST_ROUND, _SHARE_OF_ROUND = 3, 0.8
_ITALICS = re.compile(r"(?<!_)_(?:\{(\w{1,3})\})?(?!_)")
# Lines of a box drawn around a sign or a visiting card.
_FRAME = re.compile(r"\+-{2,}\+|(?<!\S)\|(?!\S)")
# Pictures and links to them, left over from a page with pictures; what magazines and printers add.
_NO_STORY = re.compile(
    r"(?:\S+\.(?:jpe?g|png|gif)(?: \(\d+K\))?|0\d{2,4}[a-z]?|\d{5}m|Full Size|Original|\[?(?:See|View) larger .{1,20}"
    r"|[\[(_]*to be (?:continued|concluded)\b.{0,30}|[A-Z][a-z]+: printed (?:by|for) .{1,120}"
    r"|(?:page|p\.) ?\d{1,4}|(?:<<)?illustration: .{1,200}|(?:to )?fac(?:e|ing) (?:page|p\.) ?\d{1,4}"
    r"|.{1,200}[\[(]_?(?:(?:see|voir|siehe|zie|véase|vedi|vide) )?(?:page|p\.|pag\.|pág\.|seite|s\.|blz\.|bladz\.|sida|side|стр\.)"
    r" ?\d{1,4}[._]*[\])]?_?)[.]?$",
    re.I,
)
_TAGS = re.compile(r"</?(?:h[1-6]|p|b|i|em|strong|center|small|big|sup|span|div|a|u)\b[^<>]{0,200}>", re.I)
_SUSPECT = f"_*[{CUT}|+†‡"  # looked for one by one, which is faster than a pattern


def _between_markers(text: str) -> tuple[str, bool]:
    """Return what stands between the START and END lines, and whether there is a START line."""
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
    """Return where the project's name may stand, ascending."""
    places = []
    for name in ("Gutenberg", "GUTENBERG", "SMALL PRINT!", "PG"):
        place = text.find(name)
        while place >= 0:
            places.append(place)
            place = text.find(name, place + 1)
    return sorted(places)


def _without_asides(text: str) -> str:
    """Return the text with a mark in place of every aside; only brackets are looked at."""
    pieces: list[str] = []
    done = place = 0
    while True:
        square, curly = text.find("[", place), text.find("{", place)
        place = min(square, curly) if square >= 0 and curly >= 0 else max(square, curly)
        if place < 0:
            return "".join([*pieces, text[done:]])
        if match := _ASIDE.match(text, place):
            # A drawn initial page may hold the chapter's heading.
            inside = _HEADING_INSIDE.search(match[0])
            pieces += [text[done:place], f"{CUT}\n\n\n\n{inside[1]}\n\n" if inside else CUT]
            done = place = match.end()
        else:
            place += 1


def _without_repeated(text: str) -> str:
    """Return the text with a mark in place of every short line in brackets that comes again and again: a picture, in any language."""
    times = Counter(found[1].casefold() for found in _BRACKETED.finditer(text)) if "[" in text else Counter()
    if max(times.values(), default=0) < _FEWEST_BRACKETED:
        return text
    return _BRACKETED.sub(
        lambda found: CUT if times[found[1].casefold()] >= _FEWEST_BRACKETED else found[0], text
    )


def _with_square_notes(text: str) -> str:
    """Return the text with notes marked "[1]" if they are marked "(1)": as many begin a line as stand in one."""
    if "(1)" not in text:
        return text
    notes, marks = Counter(_ROUND_NOTE.findall(text)), Counter(_ROUND_MARK.findall(text))
    both = (notes & marks).total()
    if both < max(_FEWEST_ROUND, _SHARE_OF_ROUND * max(notes.total(), marks.total())):
        return text
    return _ROUND.sub(r"[\1]", text)


def _with_blank_lines(text: str) -> str:
    """Return the text with a blank line above each paragraph that begins with an indentation, or is a line, and nothing else."""
    if _has_a_paragraph_a_line(text):
        return _LINE_END.sub("\n\n", text)
    # A count of strings is much faster than one of patterns, and enough for most books.
    blank = text.count("\n\n")
    if 2 * sum(text.count(f"\n{space}") for space in " \t\u3000") <= blank:
        return text
    flush = len(_LONG_ABOVE_INDENTED.findall(text))
    if 2 * flush <= blank:
        return text
    # A line of verse that goes on may be indented too.
    return _INDENTED.sub(lambda found: "\n" if found[1].islower() else "\n\n", text)


def _has_a_paragraph_a_line(text: str) -> bool:
    """Return whether many lines right above others are longer than a page is wide, and end as paragraphs do."""
    longest = max(map(len, text.splitlines()), default=0)
    if longest <= _LONGEST_LINE:
        return False
    above = [found[0] for found in _ABOVE_LINE.finditer(text)]
    long = [line for line in above if len(line) > _LONGEST_LINE]
    ending = sum(_SENTENCE_END.search(line) is not None for line in long)
    return sum(map(len, long)) > _IN_LONG_LINES * sum(map(len, above)) and ending >= _ENDING_PARAGRAPHS * len(
        long
    )


def _blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    lines: list[str] = []
    gap = 0
    for line in f"{text}\n".split("\n"):
        if line and not line.isspace():
            lines.append(line)
        elif lines:
            blocks.append(Block(tuple(lines), gap))
            lines, gap = [], 1
        else:
            gap += 1
    return blocks


def unwrap(lines: Sequence[str], joined: str | None = None) -> str:
    """Return one paragraph on one line, without marks of notes and of emphasis; ``joined`` is its text with single spaces."""
    raw = "\n".join(lines)
    if joined is not None and not ("-\n" in raw or "—\n" in raw):
        text = joined
        if not any(map(text.__contains__, _SUSPECT)):
            return text
    else:
        text = lines[0]
        for line in lines[1:]:
            text = f"{text}{line}" if text[-1:] in "-—" and _goes_on(text, line) else f"{text} {line}"
    if any(map(text.__contains__, _SUSPECT)):
        text = text.replace(CUT, " ")
        # Most suspects only have words in italics: the other patterns are slow.
        if "*" in text or "[" in text or "†" in text or "‡" in text:
            text = _MARKS.sub("", text)
        text = _ITALICS.sub(r"\1", _FRAME.sub(" ", text) if "+-" in text or "|" in text else text)
    return " ".join(text.split())


def _goes_on(text: str, line: str) -> bool:
    """Return whether a line cut behind a hyphen or a dash goes on without a space, as it was printed."""
    if not line or (not line[0].isalnum() and line[0] not in "\"'“‘_"):
        return False
    if text.endswith(("--", "—")):
        return not text.endswith((" --", " —"))
    shouted = line[:2].isupper() and text[-3:-1].isupper()
    return (line[0].islower() or shouted) and text[-2:-1].isalpha()


def _closed_up(line: re.Match[str]) -> str:
    words = ["".join(word.split()) for word in re.split(r"[ \t]{2,}", line[0].strip())]
    return _KEYWORD.sub(r"\1 ", " ".join(words))


@dataclass(frozen=True)
class Story:
    """A book without its apparatus.

    Attributes:
        title: As the file's header gives it, None without one.
        paragraphs: In reading order, each one line.
        chapters: Index of the first paragraph of each chapter, ascending, the first is 0; empty without paragraphs.
        form: What kind of work it is, see :func:`~long_context_tasks.corpora.forms.form_of`.
        headings: The headings removed, in reading order.
        warnings: What in their numbers is doubtful, one sentence each.
        dropped: Words removed by reason, :data:`REASONS`; with those of the paragraphs they are the words of the text.
    """

    title: str | None
    paragraphs: tuple[str, ...]
    chapters: tuple[int, ...]
    form: str = "novel"
    headings: tuple[Heading, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


REASONS = ("licence", "front matter", "back matter", "headings", "notes", "captions", "page numbers", "marks")
"""Why words of a text are removed: "marks" are tags, frames and marks of notes, and words that a line end had cut."""


# "C H A P T E R   I": two spaces or more between words, if there are any.
_SPACED = re.compile(r"^[ \t_]*(?:[A-Z][.,'’-]?[ \t]+){3,}[A-Z0-9]+[.,_]*$", re.M)
_KEYWORD = re.compile(r"^(CHAPTER|CHAP\.?|BOOK|PART|LETTER|VOLUME)(?=[A-Z0-9])")
_CREDIT = re.compile(
    r"(?:(?:this )?(?:e-?book|e-?text|file) (?:was )?(?:produced|prepared|created)|produced by|transcribed (?:from|by)|"
    r"prepared by|scanned (?:and|by)|html version|proofread)",
    re.I,
)
_SYNOPSIS = re.compile(r"_?\[[^\[\]]{20,900}\]_?")
_NOTE = re.compile(
    r"\s*(?:\((?:\*+|[†‡])\)\s*\S|\*(?![\s*]*\*)\s?\S|[†‡]\s?\S|\[(?P<mark>\d{1,3}|[A-Z](?!\][a-z]))\]\s*\S)"
)
# What an editor says of this edition and others, in a block of its own: where their volumes end, what they add.
_OF_EDITIONS = re.compile(r"\[[^\[\]]*\beditions?\b[^\[\]]*\]$")
_MOST_OF_EDITIONS = 600  # characters
_NOTE_NUMBER = re.compile(r"\[(\d{1,3}|[A-Z](?!\][a-z]))\]")
_MARK_BEFORE = re.compile(r"[^\s*]\s?[*†‡](?!\s?[*])")
_SENTENCE_END = re.compile(r"[.!?…:;—–-][\s\"'”’“‘»«›‹)\]_*]*$|[。！？」』]$")
_MOST_TEASER_WORDS = 30
_CAPTION = Label(dropped=True)
"""Of a block that may cut a paragraph in two, unlike others that are dropped."""
_OUTSIDE = Label(dropped=True)
"""Of a block between a story and a part above or below it that is kept."""
_CONTEXT_OF_NOTE = 6  # blocks; a note as far from the text as a heading may belong to any part of it
_GAP_OF_NOTE = 3  # blank lines
_FEWEST_STORY_WORDS = 60
_MOST_DEDICATION = 400  # words of prose without a heading above the first chapter; more is a prologue
_QUOTES = '"“‘«'
_TALK = re.compile(r"[\"“‘«„»'—–-](?!.*(?:--|—|–)\s?[_\"“(]*[A-Z][^—–]{1,80}$)", re.DOTALL)
"""A paragraph in which somebody speaks, and no quotation with its author."""
_MOST_DROPPED = 1500  # words of prose without a heading of their own, or in which people talk
_LEAST_TALK = 0.1  # of the paragraphs
# Shares of the words of a book.
_MOST_FRONT = 0.15
_MUCH_OF_SHORT = 0.05  # of a short book
_MOST_BACK = 0.15


def _without_markup(text: str) -> str:
    """Return the text without control characters, tags, and the marks and spaces of spaced type."""
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


def clean(text: str) -> Story:
    """Return the story in the text of a printed book.

    A text without a START line is taken as it stands, minus what is recognised; a text without headings is one
    chapter. The result has no paragraphs when no story is found.
    """
    dropped = Counter({"marks": _words(text)})
    text = _without_markup(text)
    body, marked = _between_markers(text)
    dropped["marks"] -= _words(text)
    dropped["licence"] += _words(text) - _words(body)
    printed = _with_square_notes(_without_asides(_without_repeated(body))).replace(f"{CUT}{CUT}", CUT)
    dropped["notes"] += _words(body) - _words(printed)
    whole = _blocks(_with_blank_lines(printed))
    blocks = parted(without_pages(whole))
    dropped["page numbers"] += _words_of(whole) - _words_of(blocks)
    found = _TITLE.search(text, 0, 20_000)
    title = " ".join(found[1].split()) if found else None
    page = Page(blocks)
    alone = []
    marks: set[str] = set()
    for i, block in enumerate(blocks):
        alone.append(_label_alone(blocks, i, marks))
        if "[" in block.text:
            marks |= set(_NOTE_NUMBER.findall(block.text))
    for i in captions(blocks, alone):
        alone[i] = _CAPTION
    if (end := list_of_books(blocks)) is not None:
        alone[end] = Label(Heading("back"))
    listing, contents = _contents_pages(blocks, alone)
    # The front matter ends where the story begins, which is known only when headings are: hence two rounds.
    start, _ = _bounds(page, label(page, title or "", alone), marked)
    if contents and start == len(blocks):
        start = max(contents) + 1
    front = _entries(blocks, alone, listing, contents) or [
        block for block in blocks[:start] if not is_prose(block)
    ]
    labels = label(page, title or "", alone, titles_listed(front), start)
    start, stop = _bounds(page, labels, marked)
    labels = [
        DROP if i in contents or (i < stop and found.heading and is_notes(blocks[i])) else found
        for i, found in enumerate(labels)
    ]
    # The first chapter's heading may stand below that of its part, with nothing between them.
    above = takewhile(lambda i: labels[i] is not KEEP or not is_prose(blocks[i]), reversed(range(start)))
    counted = _styles_counted(labels[start:stop])
    first = [
        heading for i in reversed(list(above)) if (heading := labels[i].heading) and heading.style in counted
    ]
    listed = contents | ({end} if end is not None else set())
    more = _told_around(blocks, labels, start, stop, listed)
    told = {*range(start, stop), *(i for part in more for i in part)}
    for reason, outside in (("front matter", range(start)), ("back matter", range(stop, len(blocks)))):
        dropped[reason] += _words_of(blocks[i] for i in outside if i not in told)
    labels = _labels_of_told(blocks, labels, more, told)
    start, stop = min(told, default=start), max(told, default=stop - 1) + 1
    kept_too = _doubts(blocks, more)
    blocks, labels, everything = blocks[start:stop], labels[start:stop], blocks
    paragraphs, chapters, headings, kept = _walk(blocks, labels)
    dropped.update(_removed_inside(blocks, labels, kept, paragraphs))
    return Story(
        title,
        tuple(paragraphs),
        tuple(chapters),
        form_of(everything, blocks, kept, headings),
        headings,
        (*count_warnings([*first, *headings]), *kept_too),
        {reason: dropped[reason] for reason in REASONS},
    )


def _removed_inside(
    blocks: Sequence[Block], labels: Sequence[Label], kept: Sequence[Block], paragraphs: Sequence[str]
) -> Counter[str]:
    """Count the words of a story's blocks that are not in its paragraphs, by reason."""
    labelled = [*zip(blocks, labels, strict=True)]
    removed: Counter[str] = Counter()
    for block, found in labelled:
        if found.dropped and found is not _OUTSIDE:
            reason = "captions" if found is _CAPTION else "page numbers" if is_page_number(block) else "notes"
            removed[reason] += _words_of([block])
    # Words below a number in its own block.
    told = _words_of(kept) + sum(
        len(" ".join(block.lines[-found.heading.rest :]).split())
        for block, found in labelled
        if found.heading and found.heading.rest
    )
    removed["headings"] = _words_of(block for block, found in labelled if not found.dropped) - told
    removed["marks"] = told - sum(map(_words, paragraphs))
    return removed


def _words(text: str) -> int:
    return len(text.replace(CUT, " ").split())


def _words_of(blocks: Iterable[Block]) -> int:
    return sum(_words(block.text) if CUT in block.text else block.size for block in blocks)


def _labels_of_told(
    blocks: Sequence[Block], labels: Sequence[Label], more: Sequence[range], told: Set[int]
) -> list[Label]:
    """Return the labels with what is told around the story as its parts, and the rest there dropped."""
    found = [label if i in told else _OUTSIDE for i, label in enumerate(labels)]
    for part in more:
        if labels[part[0]].heading:
            found[part[0]] = Label(Heading("named", title=blocks[part[0]].text))
    return found


def _doubts(blocks: Sequence[Block], more: Sequence[range]) -> list[str]:
    return [
        f"{_words_of(blocks[i] for i in part):,} words above or below the story are kept: {blocks[part[0]].text[:60]!r}"
        for part in more
    ]


def _told_around(
    blocks: Sequence[Block], labels: Sequence[Label], start: int, stop: int, listed: Set[int]
) -> list[range]:
    """Return the long parts around the story that are story too: under no heading of front or back matter, or people talk in them.

    Args:
        blocks: All of the text.
        labels: What each is.
        start: Where the story begins.
        stop: Where it ends.
        listed: Blocks of contents pages, and where a list of books begins.
    """
    parts: list[list[int]] = []
    known = True
    for outside in (range(start), range(stop, len(blocks))):
        parts.append([])
        known = False
        for i in outside:
            heading = labels[i].heading
            matter = heading is not None and heading.style in ("front", "back")
            if heading and (matter or known or i < start):
                known = matter and phrase_of(bare(blocks[i].text)) != "ends"
                parts.append([i] if known else [])
            elif (parts[-1] or is_prose(blocks[i])) and not blocks[i].text.isspace():
                parts[-1].append(i)
    found = []
    for part in parts:
        prose = [
            i
            for i in part
            if labels[i] is KEEP and i not in listed and is_prose(blocks[i]) and not read(blocks[i].text)
        ]
        heading = labels[part[0]].heading if part else None
        known = heading is not None and heading.style in ("front", "back")
        talk = sum(_TALK.match(blocks[i].text) is not None for i in prose)
        if (
            sum(blocks[i].size for i in prose) > _MOST_DROPPED
            and not listed & {part[0]}
            and (not known or (talk >= _LEAST_TALK * len(prose) and not is_notes(blocks[part[0]])))
        ):
            found.append(range(part[0], prose[-1] + 1))
    return found


def _label_alone(blocks: Sequence[Block], i: int, marks: Set[str]) -> Label:
    """Return what a block is by itself; a number that stands in no count may still be none."""
    block = blocks[i]
    if block.text[0] in "*†‡[(" and (note := _NOTE.match(block.lines[0])):
        near = 0 if block.gap >= _GAP_OF_NOTE else max(0, i - _CONTEXT_OF_NOTE)
        if _is_note(note, blocks[near:i], marks):
            return DROP
    if block.text[0] == "[" and len(block.text) < _MOST_OF_EDITIONS and _OF_EDITIONS.match(block.text):
        return DROP
    if is_separator(block) or (len(block.lines) <= 2 and (is_closing(block) or _NO_STORY.match(block.text))):
        return DROP
    if heading := heading_of(block):
        return Label(heading)
    return (
        DROP if len(block.lines) == 1 and (is_page_number(block) or not block.text.strip(CUT + " ")) else KEEP
    )


def _is_note(note: re.Match[str], before: Sequence[Block], marks: Set[str]) -> bool:
    if mark := note["mark"]:
        return mark in marks
    return any(_MARK_BEFORE.search(line) for block in before for line in block.lines)


def _contents_pages(blocks: Sequence[Block], alone: Sequence[Label]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the blocks of tables of contents, up to a preface or to the first prose, and those that are only contents.

    The headings right above that prose are its own.
    """
    inside: set[int] = set()
    own: set[int] = set()
    open_at = None
    for i, block in enumerate(blocks):
        heading = alone[i].heading
        if is_contents(block):
            open_at = i
        elif open_at is not None and (
            (heading and heading.style == "front" and block.gap >= 2 and len(block.lines) == 1)
            or (heading is None and is_prose(block) and not _is_list(block))
            or (heading and heading.rest and is_prose(block) and not _is_list(block))
            or _begins_again(blocks, open_at, i)
        ):
            above = i - 1
            while above > open_at and len(blocks[above].lines) <= 3 and _may_begin(alone[above].heading):
                own.add(above)
                above -= 1
            open_at = None
        if open_at is not None:
            inside.add(i)
    return frozenset(inside), frozenset(inside - own)


def _begins_again(blocks: Sequence[Block], contents: int, i: int) -> bool:
    """Return whether the list's first title stands again, above the story."""
    block = blocks[i]
    return (
        block.gap >= 3
        and is_title(block)
        and plain(block.text) in titles_listed(blocks[contents + 1 : i])
        and any(is_prose(below) and not _is_list(below) for below in blocks[i + 1 : i + 4])
    )


def _entries(
    blocks: Sequence[Block], alone: Sequence[Label], listing: frozenset[int], contents: frozenset[int]
) -> list[Block]:
    """Return the blocks of the tables of contents up to where the book begins: at an entry again, or at a number 1."""
    seen: set[str] = set()
    ones = []
    for i in sorted(listing):
        if i not in contents:
            if plain(blocks[i].text) in seen:
                return [blocks[j] for j in sorted(listing) if j < i]
            if (heading := alone[i].heading) and heading.number == 1:
                ones.append(i)
        seen |= titles_listed([blocks[i]])
    end = ones[0] if ones else len(blocks)
    return [blocks[j] for j in sorted(listing) if j < end]


def _may_begin(heading: Heading | None) -> bool:
    """Return whether a heading, or a title, may be the first of a book."""
    return heading is None or heading.number in (None, 1)


def _is_list(block: Block) -> bool:
    """Return whether most lines of a block end in a page number, or are titles."""
    entries = sum(
        bool(re.search(r"(?:\s{2}|\.\s?)\d{1,4}$", line)) or is_title(Block((line,), 1), final_stop=True)
        for line in block.lines
    )
    return 2 * entries >= len(block.lines) > 1


def _bounds(page: Page, labels: Sequence[Label], marked: bool) -> tuple[int, int]:
    """Return the index of the first block of the story, and of the first one after it."""
    blocks, sizes = page.blocks, page.sizes
    total = page.before[-1] or 1
    headings = [i for i, found in enumerate(labels) if found.heading] + [len(blocks)]
    stop = len(blocks)
    for i in headings[:-1]:
        heading = labels[i].heading
        if (
            heading
            and heading.style == "back"
            and total - page.before[i] < _MOST_BACK * total
            and page.before[i]
            # Below the notes of one chapter the next one begins, with a number like the others; notes have their own.
            and not (is_notes(blocks[i]) and _styles_counted(labels[:i]) & _styles_counted(labels[i:]))
        ):
            stop = i
            break
    needed = min(_FEWEST_STORY_WORDS, max(6, total // 100))
    start = None
    for i, j in pairwise(headings):
        heading = labels[i].heading
        if heading is None or heading.style in ("front", "back") or i >= stop:
            continue
        told = sum(
            size for block, size in zip(blocks[i + 1 : j], sizes[i + 1 : j], strict=True) if is_prose(block)
        )
        own = blocks[i].lines[len(blocks[i].lines) - heading.rest :]
        if told + sum(len(line.split()) for line in own) >= needed:
            start = i
            break
    # A contents page may stand at the end.
    if start is None and (above := [i for i in headings if i < stop and page.before[i] < total / 2]):
        # Only front matter has headings, so the story begins at the first large space below, or right there.
        last = above[-1] + 1
        start = next((i for i in range(last, stop) if blocks[i].gap >= _GAP_OF_NOTE), last)
        start = start if page.before[start] < _MOST_FRONT * total else last
    limit = stop if start is None else start
    if (unheaded := _story_below_front(page, labels, limit)) is not None:
        return unheaded, stop
    first_heading = headings[0]
    fronted = any(h.style == "front" for found in labels[:limit] if (h := found.heading))
    if not marked and not fronted:
        # Nothing says that a table of contents came first, so the short first chapter is one.
        limit = min(limit, first_heading)
    before = [
        i
        for i in range(min(limit, first_heading))
        if labels[i] is KEEP and is_prose(blocks[i]) and not _CREDIT.match(blocks[i].text)
    ]
    most = _MOST_FRONT * total if fronted else min(_MOST_FRONT * total, _MOST_DEDICATION)
    if before and (not marked or sum(sizes[i] for i in before) > most):
        return before[0], stop
    return limit, stop


def _story_below_front(page: Page, labels: Sequence[Label], limit: int) -> int | None:
    """Return where a story without a heading begins, below the last front matter and above the first chapter.

    A preface ends at a title, or at a large space below its text, if much prose follows.
    """
    last = max((i for i in range(limit) if (h := labels[i].heading) and h.style == "front"), default=None)
    if last is None:
        return None
    blocks = page.blocks

    def words(start: int) -> int:
        """Count the words of prose, quotations left out."""
        told = (i for i in range(start, limit) if labels[i] is KEEP and blocks[i].text[0] not in _QUOTES)
        return sum(page.sizes[i] for i in told if is_prose(blocks[i]))

    much = min(_MOST_DROPPED, _MUCH_OF_SHORT * page.before[-1])
    if words(last + 1) < much:
        return None
    breaks = (
        i
        for i in range(last + 2, limit)
        if labels[i].heading is None
        and (blocks[i].gap >= _GAP_OF_NOTE or (blocks[i].gap >= 2 and is_title(blocks[i])))
    )
    found = next(breaks, None)
    if found is not None and words(found) >= much:
        return found
    return last + 1 if words(last + 1) > _MOST_FRONT * page.before[-1] else None


def _styles_counted(labels: Sequence[Label]) -> set[str]:
    """Return what is counted in headings."""
    return {found.heading.style for found in labels if found.heading and found.heading.number}


def _walk(
    blocks: Sequence[Block], labels: Sequence[Label]
) -> tuple[list[str], list[int], tuple[Heading, ...], list[Block]]:
    """Collect the paragraphs, and their whole blocks; what stands between a heading and the story below it is judged here."""
    usual = usual_below(blocks, labels)
    paragraphs: list[str] = []
    chapters: list[int] = []
    headings: list[Heading] = []
    kept: list[Block] = []
    opening: Heading | None = Heading("start", title=" ")
    title_found = argument_found = cut = False

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

    for i, (block, found) in enumerate(zip(blocks, labels, strict=True)):
        if found.heading is not None:
            opening, title_found, argument_found = found.heading, bool(found.heading.title), False
            headings.append(opening)
            if opening.rest:
                tell(block.lines[-opening.rest :])
        elif found.dropped:
            cut = cut or CUT in block.text or is_page_number(block) or found is _CAPTION
            continue
        elif opening is not None and (taken := _below_heading(blocks, labels, i, title_found, usual.stops)):
            if taken == "title" and headings:
                headings[-1] = replace(headings[-1], title=block.text)
            title_found = taken == "title" or title_found
            argument_found = taken == "argument" or argument_found
        elif opening is not None and is_motto(blocks, labels, i, usual.mottoes):
            title_found = argument_found = True
        elif (
            opening is not None
            and usual.arguments
            and not argument_found
            and usual.arguments & argument_marks(blocks, i)
        ):
            argument_found = title_found = True
        else:
            tell(block.lines, block.text)
            kept.append(block)
        cut = False
    return paragraphs, chapters, tuple(headings), kept


def _opens_a_part(labels: Sequence[Label], i: int) -> bool:
    """Return whether a part begins here, so that a line above its first chapter is a teaser, not the story."""
    return (above := labels[i].heading) is not None and above.style in ("book", "part", "volume", "named")


def _below_heading(
    blocks: Sequence[Block], labels: Sequence[Label], i: int, title_found: bool, stops_allowed: bool
) -> str | None:
    """Return whether the block belongs to the heading above it: its "title", its "argument", more of it ("rest"), or None."""
    block = blocks[i]
    text = block.text
    if not title_found and (
        is_title(block, final_stop=stops_allowed) or (stops_allowed and is_synopsis(text))
    ):
        return "title"
    above_heading = i + 1 < len(blocks) and labels[i + 1].heading is not None
    if above_heading and (
        is_title(block)
        or (
            len(text.split()) <= _MOST_TEASER_WORDS
            and (_opens_a_part(labels, i - 1) or not _SENTENCE_END.search(text))
        )
    ):
        return "rest"
    if title_found and is_set_apart(block, blocks[i + 1 : i + 2]):
        return "rest"
    below_title = i > 0 and not labels[i - 1].dropped
    if title_found and below_title and re.fullmatch(r"_?\(.{1,80}\)_?", text):
        return "rest"
    if below_title and _SYNOPSIS.fullmatch(text):
        return "argument"
    return None
