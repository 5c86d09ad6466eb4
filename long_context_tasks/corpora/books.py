"""Read novels: Project Gutenberg texts, folders of chapter files, JSON Lines.

The paper says: "we meticulously remove identifiers such as chapter numbers and annotations from the content"
(Wang et al., NAACL 2024, section 3.3). Removed here: the text outside the START and END lines, credits,
transcriber's notes, title page, prefaces, tables of contents, headings with their titles and attributed
mottoes, footnotes and their marks, captions of illustrations, publishers' lists and printers' notes, rows of
asterisks, page numbers. Whole unwrapped paragraphs remain. :mod:`long_context_tasks.corpora.chapters` finds
the headings.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, model_validator

from long_context_tasks.corpora.chapters import (
    Layout,
    drop_below_headings,
    find_chapters,
    is_page_number,
    separate_run_in,
    titles_listed,
    without_pages,
)
from long_context_tasks.corpora.forms import form_of
from long_context_tasks.corpora.headings import (
    BARE_NUMBERS,
    Heading,
    count_in,
    folded,
    heading_of,
    is_closing,
    is_contents,
    is_notes,
    keyword_of,
    phrase_of,
    plain,
    read,
)
from long_context_tasks.corpora.plain_files import (
    Id,
    SourceRow,
    Title,
    kind_of,
    read_checked,
    read_plain,
    stem_of,
    unique,
)
from long_context_tasks.corpora.printed_text import (
    CUT,
    Block,
    bare,
    between_markers,
    ends_paragraph,
    is_capitals,
    is_prose,
    is_separator,
    is_title,
    line_block,
    patterns,
    to_blocks,
    unwrap,
    without_asides,
    without_markup,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import stable_seed

_FORMS = "a .txt[.gz] or .jsonl[.gz] file, a folder of such files, or a folder of folders with chapter files"
# Why words are removed. "marks" are tags, frames and marks of notes, and words that a line end had cut.
REASONS = ("licence", "front matter", "back matter", "headings", "notes", "captions", "page numbers", "marks")

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
_NOTE_MARK = re.compile(r"\w[^\w\s*]{0,3}\s?\(?[*†‡](?!\s?[*])")
# Numbers of notes: "word1", "word¹", "word (1)".
_NOTE_NUMBERS = tuple(
    map(
        re.compile,
        (
            r"(?:(?<=[^\W\d_])|(?<=[^\W\d_][.,;!?»”]))(\d{1,3})(?!\w)",
            r"(?<=\S)([⁰¹²³⁴-⁹]{1,3})",
            r"(?<=\S)[ \t]?\((\d{1,3})\)",
        ),
    )
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_FEWEST_MARKED, _SHARE_OF_MARKED, _MOST_BETWEEN_MARKS = 8, 0.8, 5
# Between its mark and the note; a note after a large gap may belong to any part of the text.
_MOST_BLOCKS_BEFORE_NOTE = 6
_LARGE_GAP = 3  # blank lines
_CONTENTS_ENTRY = re.compile(r"(?:\s{2}|\.\s?)\d{1,4}$")
# A paragraph that begins as speech does, unless it is a quotation with its author.
_TALK = re.compile(r"[\"“‘«„»'—–-](?!.*(?:--|—|–)\s?[_\"“(]*[A-Z][^—–]{1,80}$)", re.DOTALL)
_OPENING_QUOTES = '"“‘«'
_LEAST_TALK = 0.1  # of the paragraphs of a part with a heading of front or back matter that is story
_MOST_DROPPED = 1500  # words of prose outside the story without a heading of front or back matter
_MOST_DEDICATION = 400  # words of prose without a heading above the first chapter; more is a prologue
_FEWEST_STORY_WORDS = 60
_SHORTEST_TITLE = 4  # letters
# Shares of the words of a book.
_MOST_FRONT = 0.15
_MUCH_OF_SHORT = 0.05  # of a short book
_MOST_BACK = 0.15
# Additions of publishers and printers.
_MOST_LIST_HEADING = 90  # characters
_MOST_PRINTED = 240  # characters of a printer's note
_NEAR_END = 25  # blocks in which a printer's note is looked for
_MOST_UNMARKED = 12  # neighbouring blocks of a list without size and price
_MOST_TAIL = 0.15  # of the words of a book that a list takes
_MOST_FOR_A_MARK = 8  # blocks of a list for each with a size or a price, on average
_MOST_PROSE = 60  # words of long paragraphs below a single mark
_QUOTES = "\"“«„'‘—"
# Notes by page ("Seite 97, ...", "97. ...") and entries of a glossary ("Abacus: a table").
_NOTE_BY_PAGE = re.compile(
    r"(?:[\[(]?(?:seite|side|sidan?|sid|page|p[aáp]g|[ps])\b\.? ?|[^\w\n\[(]*)(\d{1,4})(?![\d%]|[.,]\d{3})",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"[_=]?([^\W\d_])[^.!?;:,=]{1,40}(?:[:,=]|--|—)")
_MOST_CONTENTS = 4  # of a book, one for each volume
_MOST_NOTES = 0.25  # of the words of a book
_MOST_BELOW_NOTES = 0.05  # of the words of a book
_MOST_BETWEEN_NOTES = 8  # blocks
_FEWEST_PAGES = 30  # of a book; lower numbers may be those of notes to a chapter
_PAGES_A_NOTE = 1.2  # on average, at least; numbers that only count are those of a list
_FROM_FIRST_TO_LAST = 4  # times the first page is the last one, at least
_FEWEST_LETTERS = 10
_LONGEST_CAPTION, _FEWEST_CAPTION_WORDS = 200, 4


@dataclass(frozen=True)
class Book:
    id: str  # name of its file or folder without the ending, or the id in its JSON line
    title: str  # title in the text's header, or the id
    paragraphs: tuple[str, ...]  # the story in reading order, one line each
    chapters: tuple[int, ...]  # index of the first paragraph of each chapter, ascending from 0
    form: str = "novel"  # "novel" (any prose), "letters", "play" or "verse"
    headings: tuple[str, ...] = ()  # titles of the removed headings
    warnings: tuple[str, ...] = ()  # doubts about the numbers of its headings, one sentence each
    # Number of words of the file that are not in the paragraphs, by reason (REASONS); empty if the paragraphs
    # were given as such.
    dropped: Mapping[str, int] = field(default_factory=dict, compare=False)


# A text or a list of paragraphs.
_Chapter = Annotated[list[str], BeforeValidator(lambda held: [held] if isinstance(held, str) else held)]


class _BookRow(SourceRow):
    id: Id
    title: Title = ""
    text: str | None = None
    paragraphs: list[str] | None = None
    chapters: list[_Chapter] | None = None

    def book(self) -> Book:
        if self.text is not None:
            return clean(self.text, self.id, self.title)
        if self.paragraphs is not None:
            blocks = [Block(tuple(text.strip().split("\n")), 1) for text in self.paragraphs if text.strip()]
            kept = tuple(block.text for block in blocks)
            chapters = (0,) if kept else ()
            return Book(self.id, self.title or self.id, kept, chapters, form_of(blocks, blocks, blocks, ()))
        return _from_chapters(self.id, self.title, map("\n\n".join, self.chapters or ()))

    @model_validator(mode="after")
    def _has_a_story(self) -> _BookRow:
        if self.text is None and self.paragraphs is None and self.chapters is None:
            raise ValueError(
                'has neither "text" (a string) nor "paragraphs" nor "chapters" (lists of strings)'
            )
        return self


def read_books(path: Path) -> Iterator[Book]:
    """Yield the books at a path, one in memory at a time; files are sorted by name, rows keep their order.

    Args:
        path: a ``.txt[.gz]`` file with one book; or a ``.jsonl[.gz]`` file with objects of ``id``, ``title`` (optional) and
            ``text``, ``paragraphs`` or ``chapters``; or a folder of such files, and of folders with a text file for each
            chapter of a book in natural order (2 before 10).

    Raises:
        InputError: there is nothing to read, a file is not text, a book has no story, or two books have the same id.
    """
    for _, book in unique(((each.place, each.book()) for each in unread_books(path)), no_books(path)):
        yield book


def no_books(path: Path) -> str:
    return f"{path}: no books in it. Name {_FORMS}."


class UnreadBook(NamedTuple):
    """A book that another process may read, because reading takes longer than what follows."""

    place: str  # file or folder, and the line
    files: tuple[Path, ...]
    read: Callable[[], Book]

    def book(self) -> Book:
        book = self.read()
        if not book.paragraphs:
            raise InputError(
                f"{self.place}: no story is left after removing headings and notes; paragraphs need a blank line or an indented first "
                "line between them. Replace the file or remove it."
            )
        return book


def unread_books(path: Path, seed: int | None = None) -> Iterator[UnreadBook]:
    """Yield the books at a path, as :func:`read_books` does, without reading text files.

    With a seed, the files and folders are in random order; the books of a JSON Lines file keep their order.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Name {_FORMS}.")
    entries = [path]
    if path.is_dir():
        entries = [
            entry
            for entry in sorted(path.iterdir(), key=_natural)
            if not entry.name.lower().startswith((".", "readme"))
            and (entry.is_dir() or kind_of(entry) in ("txt", "jsonl"))
        ]
    if seed is not None:
        random.Random(stable_seed(seed, "books")).shuffle(entries)
    for entry in entries:
        if entry.is_dir():
            files = [file for file in entry.iterdir() if file.is_file() and kind_of(file) == "txt"]
            files.sort(key=_natural)
            if files:
                yield UnreadBook(str(entry), tuple(files), partial(_read_chapters, entry.name, files))
        elif kind_of(entry) == "jsonl":
            for place, row in read_checked(entry, _BookRow, "a book"):
                yield UnreadBook(place, (entry,), row.book)
        else:
            yield UnreadBook(str(entry), (entry,), partial(_read_text, entry))


def _read_text(file: Path) -> Book:
    return clean(read_plain(file), stem_of(file))


def _read_chapters(book_id: str, files: Sequence[Path]) -> Book:
    return _from_chapters(book_id, "", map(read_plain, files))


def _from_chapters(book_id: str, title: str, texts: Iterable[str]) -> Book:
    """Build a book from texts, each of which begins a chapter."""
    paragraphs: list[str] = []
    chapters: list[int] = []
    forms: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for story in map(clean, texts):
        title = title or story.title
        chapters += [len(paragraphs) + i for i in story.chapters]
        paragraphs += story.paragraphs
        forms[story.form] += 1
        dropped.update(story.dropped)
    form = forms.most_common(1)[0][0] if forms else "novel"
    return Book(book_id, title or book_id, tuple(paragraphs), tuple(chapters), form, dropped=dropped)


def _natural(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """Return a sort key with 2 before 10 that is the same on every system."""
    pieces = re.split(r"(\d+)", path.name.lower())
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in pieces if p], path.name


def clean(text: str, book_id: str = "", title: str = "") -> Book:
    """Return the story in the text of a printed book.

    A text without a START line is taken as a whole, minus what is recognised; a text without headings is one chapter.
    """
    plain_text = without_markup(text)
    body, marked = between_markers(plain_text)
    printed = _with_marked_notes(without_asides(body))
    with_pages = to_blocks(printed)
    blocks = separate_run_in(without_pages(with_pages))
    header = _TITLE.search(plain_text, 0, 20_000)
    printed_title = " ".join(header[1].split()) if header else ""
    layout, start, stop, listed = _find_story(blocks, printed_title, marked)
    above = _headings_above(layout, start, stop)
    more = _story_outside(layout, start, stop, listed, printed_title)
    inside = [*range(start, stop), *(i for part in more for i in part)]
    _drop_outside(layout, more, frozenset(inside), start)
    drop_below_headings(layout)
    paragraphs, chapters = _paragraphs(layout)
    headings = [heading for _, heading in layout.ordered()]
    removed = Counter(
        {
            "licence": _count(plain_text) - _count(body),
            "notes": _count(body) - _count(printed),
            "page numbers": _words(with_pages) - _words(blocks),
        }
    )
    for i, reason in layout.dropped.items():
        removed[reason] += _words([blocks[i]])
    for i, heading in layout.ordered():
        removed["headings"] += _words([blocks[i]]) - _words(_rest(blocks[i], heading))
    removed["marks"] = _count(text) - removed.total() - sum(map(_count, paragraphs))
    return Book(
        book_id,
        title or printed_title or book_id,
        tuple(paragraphs),
        tuple(chapters),
        form_of(
            blocks,
            blocks[min(inside, default=0) : max(inside, default=-1) + 1],
            [block for i, block in enumerate(blocks) if layout.is_text(i)],
            headings,
        ),
        tuple(heading.title for heading in headings if heading.title.strip()),
        (*_number_doubts([*above, *headings]), *_part_doubts(blocks, more)),
        {reason: removed[reason] for reason in REASONS},
    )


def _with_marked_notes(text: str) -> str:
    """Put numbers in square brackets that follow words and count through a text, because they are marks of notes."""
    for numbers in _NOTE_NUMBERS:
        found = [*numbers.finditer(text)]
        values = [int(match[1].translate(_SUPERSCRIPTS)) for match in found]
        counted = count_in(values, again=True, step=_MOST_BETWEEN_MARKS)
        if len(counted) >= max(_FEWEST_MARKED, _SHARE_OF_MARKED * len(found)) and 2 * (
            found[counted[-1]].start() - found[counted[0]].start()
        ) > len(text):
            text = numbers.sub(r"[\1]", text)
    return text


def _count(text: str) -> int:
    return len(text.replace(CUT, " ").split())


def _words(blocks: Iterable[Block]) -> int:
    return sum(_count(block.text) if CUT in block.text else block.size for block in blocks)


def _rest(block: Block, heading: Heading) -> list[Block]:
    """Return the last lines of a heading's block that are story, as a block."""
    return [Block(block.lines[-heading.rest :], 1)] if heading.rest else []


def _candidates(blocks: Sequence[Block]) -> Layout:
    """Return the blocks, each with every role that its text alone allows."""
    layout = Layout(blocks)
    # "Sommaire" above the argument of each chapter.
    of_chapters = [
        i
        for i, below in enumerate(blocks[1:])
        if is_contents(blocks[i]) and is_prose(below) and not _is_list(below)
    ]
    if len(of_chapters) > _MOST_CONTENTS:
        for i in of_chapters:
            layout.drop(i, "headings")
    marks: set[str] = set()
    for i, block in enumerate(blocks):
        short = len(block.lines) <= 2
        if i in layout.dropped:
            continue
        if _is_note(blocks, i, marks):
            layout.drop(i, "notes")
        elif short and patterns()["leftovers"].fullmatch(block.text):
            layout.drop(i, "page numbers" if is_page_number(block) else "captions")
        elif is_separator(block) or is_closing(block):
            layout.drop(i, "headings")
        elif heading := heading_of(_of_matter(blocks, i)):
            # "I" is a word too, and may stand alone in a badly scanned sentence.
            word = block.text == "I" and 0 < i < len(blocks) - 1 and not ends_paragraph(blocks[i - 1].text)
            if not (word and (blocks[i + 1].text[0].islower() or blocks[i + 1].text[0] in ",;")):
                layout.set_heading(i, heading)
        elif is_page_number(block) or (len(block.lines) == 1 and not block.text.strip(CUT + " ")):
            layout.drop(i, "page numbers")
        if "[" in block.text:
            marks |= set(_NOTE_NUMBER.findall(block.text))
    for i in _captions(layout):
        layout.drop(i, "captions")
    return layout


def _of_matter(blocks: Sequence[Block], i: int) -> Block:
    """Return a block, with a larger gap if it is a heading such as "Notes" at the beginning of a page, or "Afterword and notes"."""
    block = blocks[i]
    below = i > 0 and (is_page_number(blocks[i - 1]) or blocks[i - 1].text == CUT)
    if (below or (block.size > 1 and is_title(block))) and phrase_of(bare(block.text)) in ("back", "notes"):
        return replace(block, gap=2)
    return block


def _is_note(blocks: Sequence[Block], i: int, marks: Set[str]) -> bool:
    """Return whether a block is a footnote whose mark is in the text above; ``marks`` has the numbers of marks so far."""
    block = blocks[i]
    note = _NOTE.match(block.lines[0]) if block.text[0] in "*†‡[(" else None
    if note is None or note["mark"]:
        return note is not None and note["mark"] in marks and not _goes_on(blocks, i, note.end() - 1)
    near = 0 if block.gap >= _LARGE_GAP else max(0, i - _MOST_BLOCKS_BEFORE_NOTE)
    return any(_NOTE_MARK.search(line) for above in blocks[near:i] for line in above.lines)


def _goes_on(blocks: Sequence[Block], i: int, at: int) -> bool:
    """Return whether what follows the mark of a note, at a character of a block's first line, is no note but the story."""
    after = blocks[i].lines[0][at]
    return after in ".,;:!?)º°ª" or (after.islower() and i > 0 and not ends_paragraph(blocks[i - 1].text))


# Where the story begins and ends.


def _find_story(blocks: Sequence[Block], title: str, marked: bool) -> tuple[Layout, int, int, Set[int]]:
    """Find the headings of a book and the bounds of its story.

    Args:
        blocks: the whole book.
        title: its title, or an empty string.
        marked: whether the text has a START line, so that a title page precedes the story.

    Returns:
        The book with its headings, the first block of the story, the first block after it, and the blocks of tables of contents
        and the first one of a list of books or of sorted notes.
    """
    candidates = _candidates(blocks)
    end = min(_list_of_books(blocks), _sorted_notes(blocks))
    if end < len(blocks):
        candidates.set_heading(end, Heading("back"))
    listing, contents = _contents_pages(candidates)
    # The front matter ends where the story begins, which only headings show, so that they are found twice.
    start, _ = _bounds(find_chapters(candidates, title), marked, title, end)
    if contents and start == len(blocks):
        start = max(contents) + 1
    front = _entries(candidates, listing, contents) or [
        block for block in blocks[:start] if not is_prose(block)
    ]
    layout = find_chapters(candidates, title, titles_listed(front), start)
    start, stop = _bounds(layout, marked, title, end)
    for i in (*contents, *(i for i in range(stop) if i in layout.headings and is_notes(blocks[i]))):
        layout.drop(i)
    return layout, start, stop, contents | {end}


def _headings_above(layout: Layout, start: int, stop: int) -> list[Heading]:
    """Return the counted headings directly above the story: the first part's heading precedes the first chapter's."""
    above = takewhile(
        lambda i: not layout.is_text(i) or not is_prose(layout.blocks[i]), reversed(range(start))
    )
    counted = layout.styles(start, stop)
    headings = [layout.headings[i] for i in reversed(list(above)) if i in layout.headings]
    return [heading for heading in headings if heading.style in counted]


def _contents_pages(layout: Layout) -> tuple[frozenset[int], frozenset[int]]:
    """Return the blocks of tables of contents, and the same without the headings of the text that follows."""
    inside: set[int] = set()
    heading_lines: set[int] = set()
    open_at = None
    for i, block in enumerate(layout.blocks):
        heading = layout.headings.get(i)
        if is_contents(block) and i not in layout.dropped:
            open_at = i
        elif open_at is not None and (
            (heading and heading.style == "front" and block.gap >= 2 and len(block.lines) == 1)
            or (heading and heading.style == "back" and block.gap >= _LARGE_GAP)
            or ((heading is None or heading.rest) and is_prose(block) and not _is_list(block))
            or _begins_again(layout.blocks, open_at, i)
        ):
            above = i - 1
            while (
                above > open_at
                and len(layout.blocks[above].lines) <= 3
                and (above not in layout.headings or layout.headings[above].number in (None, 1))
            ):
                heading_lines.add(above)
                above -= 1
            open_at = None
        if open_at is not None:
            inside.add(i)
    return frozenset(inside), frozenset(inside - heading_lines)


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


def _bounds(layout: Layout, marked: bool, title: str, end: int) -> tuple[int, int]:
    """Return the index of the first block of the story, and of the first one after it."""
    blocks = layout.blocks
    stop = _back_matter(layout, end)
    start = _first_told_heading(layout, stop)
    limit = stop if start is None else start
    if (unheaded := _story_below_front(layout, limit)) is not None:
        return unheaded, stop
    first_heading = min(layout.headings, default=len(blocks))
    fronted = any(heading.style == "front" for _, heading in layout.ordered(0, limit))
    if not marked and not fronted:
        # Nothing indicates a table of contents, so a short first chapter is not one of its lines.
        limit = min(limit, first_heading)
    half_title = _half_title(layout, limit, title)
    before = [
        i
        for i in range(min(limit, first_heading))
        if i > half_title
        and layout.is_text(i)
        and is_prose(blocks[i])
        and not any(begins.match(blocks[i].text) for begins in (_CREDIT, patterns()["transcribed"]))
    ]
    total = layout.before[-1] or 1
    most = _MOST_FRONT * total if fronted else min(_MOST_FRONT * total, _MOST_DEDICATION)
    if before and (not marked or layout.words(before) > most):
        return before[0], stop
    return limit, stop


def _half_title(layout: Layout, limit: int, title: str) -> int:
    """Return the last block above the first chapter that repeats the title, or -1; what precedes it is front matter, without talk."""
    blocks, most = layout.blocks, _MOST_FRONT * layout.before[-1]
    whole = plain(title)
    for i in reversed(range(limit)):
        text = plain(blocks[i].text) if layout.before[i] < most and is_capitals(blocks[i].text) else ""
        if len(text) >= _SHORTEST_TITLE and whole.startswith(text):
            return -1 if _is_talk(layout, [k for k in range(i) if is_prose(blocks[k])]) else i
    return -1


def _back_matter(layout: Layout, end: int) -> int:
    """Return the first block after the story; lists and sorted notes begin at block ``end``."""
    total = layout.before[end] or 1
    for i, heading in layout.ordered():
        if (
            (heading.style == "back" or is_contents(layout.blocks[i]))
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
        rest = blocks[i].lines[len(blocks[i].lines) - heading.rest :]
        told = layout.words(range(i + 1, following), is_prose) + sum(len(line.split()) for line in rest)
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
    first = next(breaks, None)
    if first is not None and words(first) >= much:
        return first
    return last + 1 if words(last + 1) > _MOST_FRONT * layout.before[-1] else None


# Parts above and below the story that belong to it.


def _story_outside(layout: Layout, start: int, stop: int, listed: Set[int], title: str) -> list[range]:
    """Return long passages outside the detected story that belong to it.

    These have no heading of front or back matter, or they contain dialogue.
    """
    parts: list[list[int]] = []
    # What precedes a preface or the half-title without a heading is front matter.
    prefaces = (i for i in range(start) if _is_preface(layout, i))
    above = max(0, _half_title(layout, start, title), *prefaces)
    # Below a table of contents at the end are lists of books.
    end = min((i for i in listed if i >= stop), default=len(layout.blocks))
    for outside in (range(start), range(stop, end)):
        parts.append([])
        known = False
        for i in outside:
            matter = _is_matter(layout, i)
            # Numbers below the heading of an appendix are those of its sections.
            style = layout.headings[i].style if i in layout.headings else ""
            within = known and style.removesuffix(" titled") in BARE_NUMBERS
            if style and not within and (matter or known or i < start):
                known = matter and phrase_of(bare(layout.blocks[i].text)) != "ends"
                parts.append([i] if known else [])
            elif (parts[-1] or is_prose(layout.blocks[i])) and not layout.blocks[i].text.isspace():
                parts[-1].append(i)
    return [
        range(part[0], prose[-1] + 1)
        for part in parts
        if part
        and part[0] not in listed
        and (part[0] >= above or _is_matter(layout, part[0]))
        and (prose := _story_in(layout, part, listed))
    ]


def _is_preface(layout: Layout, i: int) -> bool:
    near = layout.before[i] < _MOST_FRONT * layout.before[-1]
    return near and i in layout.headings and layout.headings[i].style == "front"


def _is_matter(layout: Layout, i: int) -> bool:
    return i in layout.headings and layout.headings[i].style in ("front", "back")


def _story_in(layout: Layout, part: Sequence[int], listed: Set[int]) -> list[int]:
    """Return the paragraphs of a long part outside the story, except matter without much dialogue."""
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
    return prose if _is_talk(layout, prose) and not is_notes(blocks[part[0]]) else []


def _is_talk(layout: Layout, prose: Sequence[int]) -> bool:
    talk = sum(_TALK.match(layout.blocks[i].text) is not None for i in prose)
    return talk >= _LEAST_TALK * len(prose) > 0


def _drop_outside(layout: Layout, more: Sequence[range], inside: Set[int], start: int) -> None:
    """Make the kept parts outside the story parts of it, and drop the rest there; ``start`` is the first block of the story."""
    for i in range(len(layout.blocks)):
        if i not in inside:
            layout.drop(i, "front matter" if i < start else "back matter")
    for part in more:
        if part[0] in layout.headings:
            layout.set_heading(part[0], Heading("named", title=layout.blocks[part[0]].text))


def _number_doubts(headings: Sequence[Heading]) -> list[str]:
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
    return warnings


def _part_doubts(blocks: Sequence[Block], more: Sequence[range]) -> list[str]:
    return [
        f"{_words(blocks[i] for i in part):,} words above or below the story are kept: {blocks[part[0]].text[:60]!r}"
        for part in more
    ]


# The paragraphs of the story.


def _paragraphs(layout: Layout) -> tuple[list[str], list[int]]:
    """Return the paragraphs of a story, and the index of the first one of each chapter."""
    paragraphs: list[str] = []
    chapters: list[int] = []
    opens, cut = True, False
    for i, block in enumerate(layout.blocks):
        if i in layout.dropped:
            cut = cut or CUT in block.text or is_page_number(block) or layout.dropped[i] == "captions"
            continue
        heading = layout.headings.get(i)
        opens, word = opens or heading is not None, False
        for told in _rest(block, heading) if heading else [block]:
            if not (text := unwrap(told)):
                continue
            if opens:
                chapters.append(len(paragraphs))
                opens = False
            # A page may end behind a semicolon.
            elif not ends_paragraph(paragraphs[-1].rstrip(";" if cut else "")) and (
                text == "I" or (cut and (text[0].islower() or text[0] == ","))
            ):
                # A picture, a page number or a word on a line of its own had cut the paragraph in two.
                paragraphs[-1] += f" {text}"
                word = text == "I"
                continue
            paragraphs.append(text)
        cut = word
    return paragraphs, chapters


# Additions of publishers and printers: lists of books, printers' notes, and captions of pictures.


def _list_of_books(blocks: Sequence[Block]) -> int:
    """Return the first block of a publisher's list or a printer's or transcriber's note at the end of a text, or its end."""
    left, first = _MOST_TAIL * sum(block.size for block in blocks), len(blocks)
    while first and left > 0:
        first -= 1
        left -= blocks[first].size
    tail = range(first, len(blocks))
    if noted := next((i for i in tail if patterns()["transcribed"].match(blocks[i].text)), 0):
        return _list_of_books(blocks[:noted])
    sure = {i for i in tail if _is_sure(blocks, i)}
    priced = patterns()["prices"]
    marks = [i for i in tail if i in sure or (priced.search(blocks[i].text) and not is_prose(blocks[i]))]
    begin = len(blocks)
    for mark, following in reversed(list(pairwise([*marks, len(blocks)]))):
        if following - mark > _MOST_UNMARKED:
            break
        # A list does not begin with a price, because stories have sums of money too.
        begin = mark if mark in sure else begin
    in_list = [mark for mark in marks if mark >= begin]
    prose = sum(block.size for block in blocks[begin:] if is_prose(block) and len(block.text) > _MOST_PRINTED)
    if (
        not in_list
        or len(in_list) * _MOST_FOR_A_MARK < len(blocks) - begin
        or (len(in_list) == 1 and prose > _MOST_PROSE)
    ):
        return len(blocks)
    while begin > first and len(blocks[begin - 1].lines) <= 2 and is_title(blocks[begin - 1]):
        begin -= 1
    return begin


def _sorted_notes(blocks: Sequence[Block]) -> int:
    """Return the first block of notes by page, or of a glossary, at the end of a text, or the text's end.

    Most paragraphs of notes begin with numbers that rise from the first pages to the last; those of a glossary with words in the
    order of the alphabet.
    """
    total = sum(block.size for block in blocks)
    left, first = _MOST_NOTES * total, len(blocks)
    while first and left > 0:
        first -= 1
        left -= blocks[first].size
    tail = [i for i in range(first, len(blocks)) if not is_page_number(blocks[i])]
    for pattern, fewest, share in ((_NOTE_BY_PAGE, 8, 0.5), (_ENTRY, 30, 0.75)):
        found = ((place, pattern.match(blocks[i].text)) for place, i in enumerate(tail))
        keys = [(place, match[1]) for place, match in found if match]
        values = [int(key) if key.isdecimal() else ord(folded(key)[0]) for _, key in keys]
        run: list[int] = []
        for k in reversed(_rising(values)):
            if run and keys[run[-1]][0] - keys[k][0] > _MOST_BETWEEN_NOTES:
                break
            run.append(k)
        places, rise = [keys[k][0] for k in run], [values[k] for k in run]
        if (
            len(run) >= fewest
            and len(run) >= share * (places[0] + 1 - places[-1])
            and (
                rise[0] >= max(_PAGES_A_NOTE * len({*rise}), _FROM_FIRST_TO_LAST * rise[-1], _FEWEST_PAGES)
                if pattern is _NOTE_BY_PAGE
                else len({*rise}) >= _FEWEST_LETTERS
            )
            and sum(blocks[i].size for i in tail[places[0] + 1 :]) <= _MOST_BELOW_NOTES * total
        ):
            begin = tail[places[-1]]
            near = range(begin, max(first, begin - _MOST_BETWEEN_NOTES), -1)
            headed = (i for i in near if phrase_of(bare(blocks[i].text)) in ("notes", "back"))
            while begin > first and not is_prose(blocks[begin - 1]):
                begin -= 1
            return min(begin, next(headed, begin))
    return len(blocks)


def _rising(values: Sequence[int]) -> list[int]:
    """Return the indices of the longest series in which no number is less than the one before.

    >>> _rising([9, 1, 3, 2, 3])
    [1, 3, 4]
    """
    ends: list[int] = []  # the least last number of a series of each length
    lengths = []
    for value in values:
        length = bisect_right(ends, value)
        ends[length : length + 1] = [value]
        lengths.append(length)
    indices: list[int] = []
    for k in reversed(range(len(values))):
        if lengths[k] == len(ends) - 1 - len(indices) and (not indices or values[k] <= values[indices[-1]]):
            indices.append(k)
    return indices[::-1]


def _is_sure(blocks: Sequence[Block], i: int) -> bool:
    block = blocks[i]
    if block.text[0] in _QUOTES:
        return False
    heading = len(block.text) <= _MOST_LIST_HEADING and block.gap >= 2
    if heading and patterns()["lists"].fullmatch(bare(block.text)):
        return True
    if len(block.text) <= _MOST_PRINTED and len(blocks) - i <= _NEAR_END:
        names = sum(not word.islower() for word in block.text.split())
        if patterns()["printed"].match(block.text) or (
            patterns()["presses"].search(block.text) and 2 * names >= block.size
        ):
            return True
    return patterns()["formats"].search(block.text) is not None


def _captions(layout: Layout) -> set[int]:
    """Return the captions: blocks in a list of pictures, or with a word such as "Plate"."""
    blocks = layout.blocks
    listed: set[str] = set()
    in_lists: set[int] = set()
    captions: set[int] = set()
    for i, block in enumerate(blocks):
        if patterns()["pictures"].fullmatch(bare(block.text)):
            in_lists = set(_listing(layout, i))
            listed |= {
                plain(re.sub(r"[\W\d]+$|^[\W\d]+", "", line)) for j in in_lists for line in blocks[j].lines
            }
    listed = {entry for entry in listed if len(entry) > 8}
    for i, block in enumerate(blocks):
        if (
            i in in_lists
            or not layout.is_text(i)
            or len(block.text) > _LONGEST_CAPTION
            or len(block.lines) > 3
        ):
            continue
        named = patterns()["captions"].fullmatch(block.text) is not None and not is_prose(block)
        # Below a heading comes its title, and a listed name may be called by somebody.
        called = block.text[0] in _QUOTES and block.size < _FEWEST_CAPTION_WORDS
        is_listed = bool(listed) and not called and plain(block.text) in listed
        if named or (is_listed and i - 1 not in layout.headings):
            captions.add(i)
    return captions


def _listing(layout: Layout, heading: int) -> range:
    """Return the blocks of a list of pictures, which prose or another heading ends."""
    blocks, end = layout.blocks, heading + 1
    while (
        end < len(blocks)
        and end not in layout.headings
        and (len(blocks[end].lines) > 2 or not is_prose(blocks[end]))
    ):
        end += 1
    return range(heading + 1, end)
