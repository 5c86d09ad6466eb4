"""Read court opinions with the cases that they cite: JSON Lines, slip opinions as plain text, records of CourtListener."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import AliasChoices as Either
from pydantic import Field, field_validator

from long_context_tasks.corpora.plain_files import (
    ROW_REMEDY,
    Id,
    SourceRow,
    Title,
    read_plain,
    read_records,
    read_rows,
    read_value,
    stem_of,
    without_c1,
)
from long_context_tasks.corpora.printed_text import LETTERS, one_line, unbroken, without_spans
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.validated import validated
from long_context_tasks.tokens.chunks import sentence_ends

OPINION_FORMS = (
    '.jsonl[.gz] with "opinion_id", "title" (or "case_slug"), "text", "opinions_cited": [ids] and, if known, '
    '"citation_strings": [[id, "17 F.3d 462"]]; .txt[.gz] opinions, one a file; or .json[.gz] records of CourtListener'
)
# The label of a note that moved into an attribute leaves a full stop: `<footnote label="2"><p>. Our colleague`.
_NOTE_LABEL = re.compile(r"(<footnote\b[^>]*>\s*(?:<p\b[^>]*>)?)\s*\.\s+")
_BLOCK_TAGS = (
    *("br", "p", "div", "blockquote", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("center", "pre", "opinion", "author", "footnote"),
)
_PAGE_CLASSES = ("star-pagination", "page-label", "page-number")
_MARK_PATHS = (
    *(f"//*[contains(@class, '{name}')]" for name in _PAGE_CLASSES),
    *("//page-number", "//page_number", "//sup", "//footnotemark", "//a[contains(@class, 'footnote')]"),
)
_MARK = re.compile(r"\s*(?:\*{0,2}\d{1,5}|\[(?:\d{1,3}|\*+)\]|[*†‡]+)\s*")
_NOTES_HEADING = re.compile(r"^[ \t]*(?:FOOT)?NOTES:?[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"^[ \t]*\[(?:\d{1,3}|\*+)\]\s+", re.MULTILINE)
# Rules between parts have lines of their own. "* * *" is a rule between blank lines and an omission elsewhere.
_RULE = re.compile(
    r"^[ \t]*(?:\d{1,2}[ \t]+)?[-_=—–]{5,}[ \t]*(?:[xX][ \t]*)?$|_{12,}|\bl{5,}\b"
    r"|(?:(?<=\n\n)|\A)[ \t]*(?:\*[ \t]*){3,}(?![ \t])(?=\n[ \t]*\n|\s*\Z)",
    re.MULTILINE,
)
_SIGNS_OF_RULES = (*(sign * 5 for sign in "-_=—–l"), "***", "* *", "*  *", "*   *")
# Marks of notes are at the end of a word, unlike "[1] sentenced" and "§ 28.02[2]".
_NOTE_MARK = re.compile(r"\[\d{1,3}\](?=\s|\Z)")
_WORD_BEFORE = re.compile(r"(?:[a-z]|[.,;:!?][\"”’)]|[a-z.][.,;:!?])\Z")
_STAR_PAGE = re.compile(r"\*(\d{1,4})(?![\d*])[ \t]?")
# Before the page in "2006 WL 2808145, at *3" and "*30-*34".
_CITED_PAGE = re.compile(r"(?:\bat|\d,?|\*\d+,? (?:and|&)|[*–-]|\b[Ii]d\.)\s*\Z")
_PAGE_NUMBER = re.compile(r"^[ \t]*(?:-[ \t]*)?\d{1,4}[ \t]*(?:-[ \t]*)?$", re.MULTILINE)  # "-3-" or "3"
# The number of a note alone, its text below.
_NOTE = re.compile(r"^[ \t]*(\d{1,3})[ \t]*\n(?=[ \t]*[^\s\d-])", re.MULTILINE)
_MOST_UNUSED = 2  # numbers of notes that are skipped
_LONGEST_TAIL = 800  # characters of a sentence that continues on the next page
_DATE = re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4}")
_AT_EDGE = 2  # lines of a page that may be running heads or feet
_FEWEST_PAGES = 4
_FEWEST_HEADS = 3
_LONGEST_HEAD = 60
_DIGITS = re.compile(r"\d+")
_NUMBER_AT_END = re.compile(r"^[\W_]*\d{1,4}(?=\s)|(?<=\s)\d{1,4}[\W_]*$")
_SMALL = frozenset(("v", "of", "the", "and", "in", "re", "ex", "rel", "for", "et", "al"))
_UPPER = frozenset(("llc", "llp", "lp", "usa", "ii", "iii"))


@dataclass(frozen=True)
class Opinion:
    id: str  # id in the source; for a text file, its name without the ending
    title: str  # name of the case
    # Pages of the court's layout, one line each; a single one if the text has no page marks.
    pages: tuple[str, ...]
    cites: tuple[str, ...] = ()  # ids of the opinions that it cites
    # Id of a cited opinion -> how it is cited here, e.g. 17 F.3d 462.
    citation_strings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class _OpinionRow(SourceRow):
    id: Id = Field(validation_alias=Either("opinion_id", "id"))
    title: Title = ""
    case_name: Title = ""
    case_slug: Title = ""
    text: str
    opinions_cited: tuple[Id, ...] = ()
    citation_strings: tuple[tuple[Id, str], ...] = ()

    def record(self) -> Opinion:
        strings: dict[str, list[str]] = {}
        for cited, text in self.citation_strings:
            strings.setdefault(cited, []).append(one_line(text))
        return Opinion(
            self.id,
            self.title or self.case_name or _title(self.case_slug) or self.id,
            _pages(self.text),
            tuple(dict.fromkeys(cited for cited in self.opinions_cited if cited != self.id)),
            {cited: tuple(dict.fromkeys(texts)) for cited, texts in strings.items()},
        )


class _CourtListenerRow(SourceRow):
    """A record of CourtListener's interface, versions 3 and 4, whose URLs end in ids.

    ``absolute_url`` has the number of the case, which opinions and dissents share; ``resource_uri`` that of the opinion.
    """

    absolute_url: str
    resource_uri: str = ""
    plain_text: str | None = None
    html_with_citations: str | None = None
    html: str | None = None
    html_lawbox: str | None = None
    html_columbia: str | None = None
    html_anon_2020: str | None = None
    xml_harvard: str | None = None
    opinions_cited: tuple[str, ...] = ()

    @field_validator("absolute_url")
    @classmethod
    def _names_the_opinion(cls, value: str) -> str:
        parts = value.strip("/").split("/")
        if len(parts) < 3 or not all(parts[-2:]):
            raise ValueError("must end in a number and a title, as in /opinion/123/smith-v-jones/")
        return value

    def record(self) -> Opinion:
        number, slug = self.absolute_url.strip("/").split("/")[-2:]
        own = re.search(r"/opinions/(\d+)/?$", self.resource_uri)
        cited = [url.strip("/").rpartition("/")[2] for url in self.opinions_cited]
        marked = (
            self.html_with_citations
            or self.html
            or self.html_lawbox
            or self.html_columbia
            or self.html_anon_2020
            or self.xml_harvard
        )
        return Opinion(
            own[1] if own else number,
            _title(slug),
            _pages(self.plain_text or "") or _pages(_text_of(marked or "")),
            tuple(dict.fromkeys(cited)),
            _linked_citations(self.html_with_citations or "", cited),
        )


def read_opinions(path: Path, left_out: Counter[str] | None = None) -> Iterator[Opinion]:
    """Yield the opinions at a path.

    Args:
        path: a file of one of the :data:`OPINION_FORMS`, or a folder of such files. In a folder, JSON Lines
            files without a ``text`` field are skipped, because CourtListener's own files may be there.
        left_out: receives the numbers of records and files without a text.

    Raises:
        InputError: there is nothing to read, a row has an unexpected format, an opinion is empty, or two share
            an id.
    """
    skipped: Counter[str] = Counter() if left_out is None else left_out

    def of_rows(file: Path) -> Iterator[tuple[str, Opinion]]:
        for place, row in read_rows(file, "an opinion"):
            if "text" not in row and not path.is_file():
                skipped["files whose rows have no text"] += 1
                return
            yield place, validated(_OpinionRow, row, place, remedy=ROW_REMEDY).record()

    def of_text(file: Path) -> Iterator[tuple[str, Opinion]]:
        yield str(file), Opinion(stem_of(file), stem_of(file), _pages(read_plain(file)))

    def of_record(file: Path) -> Iterator[tuple[str, Opinion]]:
        row = read_value(file, "a record of CourtListener")
        opinion = validated(_CourtListenerRow, row, str(file), remedy=ROW_REMEDY).record()
        if opinion.pages:
            yield str(file), opinion
        else:  # scanned, but not yet read
            skipped["records of CourtListener without a text"] += 1

    readers = {"jsonl": of_rows, "txt": of_text, "json": of_record}
    for place, opinion in read_records(path, readers, f"no opinions in it; give {OPINION_FORMS}"):
        if not opinion.pages:
            raise InputError(f"{place}: the opinion has no words; remove it or replace it")
        yield opinion


def _title(slug: str) -> str:
    """Return the name of a case from its URL.

    >>> _title("united-states-v-de-la-cruz")
    'United States v. De La Cruz'
    """
    words = [
        word if word in _SMALL else word.upper() if word in _UPPER else word.capitalize()
        for word in slug.split("-")
        if word
    ]
    text = re.sub(r"\bv\b", "v.", " ".join(words))
    return text[:1].upper() + text[1:]


# HTML and XML.


def _tree(marked: str) -> Any:
    """Return the root of HTML or XML, or None if it has nothing but comments."""
    require("build", "reading HTML or XML", "lxml")
    from lxml import etree, html

    try:
        return html.fromstring(_NOTE_LABEL.sub(r"\1", re.sub(r"^\s*<\?xml[^>]*\?>", "", marked)))
    except etree.ParserError:
        return None


def _text_of(marked: str) -> str:
    """Return the text of an opinion in HTML or XML without marks of pages and notes, a blank line between blocks."""
    root = _tree(marked)
    if root is None:
        return ""
    for element in root.iter(*_BLOCK_TAGS):
        element.tail = f"\n\n{element.tail or ''}"
        if element.tag != "br":
            element.text = f"\n\n{element.text or ''}"
    for mark in root.xpath("|".join(_MARK_PATHS)):
        before = mark.getprevious()
        above = (mark.getparent().text if before is None else before.tail) or ""
        # A raised number after another one is its exponent.
        if _MARK.fullmatch(mark.text_content()) and not (mark.tag == "sup" and above[-1:].isdigit()):
            del mark[:]
            mark.text = ""
    text = str(root.text_content())
    notes = max((match.end() for match in _NOTES_HEADING.finditer(text)), default=len(text))
    return text[:notes] + _LABEL.sub("", text[notes:])


def _linked_citations(marked: str, cited: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the citations in HTML by the id of the cited opinion that they link to."""
    strings: dict[str, list[str]] = {}
    root = _tree(marked) if "data-id" in marked else None
    for span in [] if root is None else root.xpath("//*[@data-id][contains(@class, 'citation')]"):
        text = one_line(span.text_content())
        if span.get("data-id") in cited and re.fullmatch(r"\d+ .*\d", text):
            strings.setdefault(span.get("data-id"), []).append(text)
    return {name: tuple(dict.fromkeys(own)) for name, own in strings.items()}


# Plain text.


def _pages(text: str) -> tuple[str, ...]:
    """Return the pages of a text, which form feeds end, one line each, without page numbers.

    A sentence that continues after the end of a page, or after its notes, moves to the next page as a whole.
    """
    pages: list[str] = []
    tail, last = "", 0
    # CourtListener's plain text has ``&amp;`` for "&".
    plain = _without_marks(without_c1(unescape(text)))
    ruled = any(sign in plain for sign in _SIGNS_OF_RULES)
    for page in _without_heads([_RULE.sub("", page) if ruled else page for page in plain.split("\f")]):
        text_end, last = _before_notes(page, last)
        own, notes = (one_line(_PAGE_NUMBER.sub("", part)) for part in (page[:text_end], page[text_end:]))
        own = f"{tail} {own}".strip()
        # The splitter needs a word after the last full stop, as the next page would have it.
        end = max(sentence_ends(f"{own} The"), default=0)
        if end == 0 or len(own) - end > _LONGEST_TAIL or _DATE.fullmatch(own[end:].strip()):
            end = len(own)
        tail = own[end:].strip()
        pages.append(f"{own[:end]} {notes}".strip())
    pages[-1] = f"{pages[-1]} {tail}".strip()
    return tuple(unbroken(list(filter(None, pages))))


def _without_marks(text: str) -> str:
    """Return a text without marks of notes and the pages of a reporter ("*903"), which count up or have three digits."""
    notes = [
        found.span() for found in _NOTE_MARK.finditer(text) if _precedes(_WORD_BEFORE, text, found.start())
    ]
    found = [match for match in _STAR_PAGE.finditer(text) if not _precedes(_CITED_PAGE, text, match.start())]
    numbers = {int(match[1]) for match in found}
    stars = [
        # Inside a word, the space after the number belongs to the next word.
        match.span()
        if not text[match.start() - 1 : match.start()].isalpha()
        else (match.start(), match.end(1))
        for match in found
        if int(match[1]) > 99 or not numbers.isdisjoint((int(match[1]) - 1, int(match[1]) + 1))
    ]
    return without_spans(text, sorted([*notes, *stars]))


def _precedes(pattern: re.Pattern[str], text: str, end: int) -> bool:
    return pattern.search(text, max(0, end - 20), end) is not None


def _without_heads(pages: Sequence[str]) -> list[str]:
    """Return pages without running heads and feet.

    They are lines at an edge that are on most pages, on every other one, or next to a number that counts pages. If most pages
    have two heads ("Cite as: ...", "Opinion of the Court"), a short second line is a head on the others too.
    """
    found = [_edges(page) for page in pages]
    most: Counter[str] = Counter()
    places: dict[str, list[int]] = defaultdict(list)
    counted: dict[str, Counter[int]] = defaultdict(Counter)
    for place, own in enumerate(found):
        most.update({_DIGITS.sub("0", line) for line in own.values()})
        for line in dict.fromkeys(own.values()):
            name = _NUMBER_AT_END.sub("", line)
            places[name].append(place)
            numbers = _NUMBER_AT_END.findall(line)
            counted[name].update(int(re.sub(r"\D", "", number)) - place for number in numbers)

    def is_head(line: str) -> bool:
        name = _NUMBER_AT_END.sub("", line)
        return LETTERS.search(name) is not None and (
            (2 * most[_DIGITS.sub("0", line)] > len(pages) >= _FEWEST_PAGES)
            or _alternate(places[name])
            or max(counted[name].values(), default=0) >= _FEWEST_HEADS
        )

    cut = [{number for number, line in own.items() if is_head(line)} for own in found]
    doubled = sum(set(list(own)[:2]) <= numbers for own, numbers in zip(found, cut, strict=True))
    for page, own, removed in zip(pages, found, cut, strict=True):
        first, second = [*own, -1, -1][:2]
        if 2 * doubled > len(pages) >= _FEWEST_PAGES and first in removed and _is_apart(page, second):
            removed.add(second)
    return [
        "\n".join("" if number in removed else line for number, line in enumerate(page.split("\n")))
        for page, removed in zip(pages, cut, strict=True)
    ]


def _edges(page: str) -> dict[int, str]:
    """Return the first and last lines of a page that have words, by line number."""
    lines = page.split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return {number: one_line(lines[number]) for number in (*filled[:_AT_EDGE], *filled[-_AT_EDGE:])}


def _alternate(places: Sequence[int]) -> bool:
    """Return whether the places include a few neighbouring pages, or every other one of a few."""
    run = 1
    for before, place in pairwise(places):
        run = run + 1 if place - before <= 2 else 1
        if run >= _FEWEST_HEADS:
            return True
    return False


def _is_apart(page: str, number: int) -> bool:
    """Return whether a line of a page is short, is not a sentence, and has blank lines around it."""
    lines = ["", *page.split("\n"), ""]
    above, line, below = lines[number : number + 3]
    return (
        not above.strip()
        and not below.strip()
        and len(line.strip()) <= _LONGEST_HEAD
        and line.strip()[-1] not in ".!?:;"
    )


def _before_notes(page: str, last: int) -> tuple[int, int]:
    """Return the offset of the notes of a page, and the number of its last one; ``last`` is that of the last note above."""
    first = len(page)
    for match in _NOTE.finditer(page):
        if last < int(match[1]) <= last + _MOST_UNUSED and page[: match.start()].strip():
            first, last = min(first, match.start()), int(match[1])
    return first, last
