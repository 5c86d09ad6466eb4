"""Readers of debates, court opinions with the cases that they cite, and systematic reviews with the abstracts of their studies.

A printer's page may leave numbers of columns in the sentences of a debate ("Comparisons vary 2 between cases"); they are removed.
"""

import csv
import io
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import unescape
from itertools import accumulate, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, field_validator
from pydantic import AliasChoices as Either

from long_context_tasks.corpora.plain_files import (
    ROW_REMEDY,
    Id,
    Reader,
    SourceRow,
    Title,
    data_files,
    read_checked,
    read_plain,
    read_records,
    read_rows,
    read_text,
    read_value,
    stem_of,
    without_c1,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.validated import validated
from long_context_tasks.tokens.chunks import sentence_ends

DEBATE_FORMS = (
    '.jsonl[.gz] with "debate_id" (or "id"), "title" and "turns": [{"speaker": ..., "text": ...}], or .txt[.gz] transcripts, '
    "one debate a file, a blank line between speeches, or a line for each; .xml[.gz] of the Canadian House of Commons"
)
OPINION_FORMS = (
    '.jsonl[.gz] with "opinion_id", "title" (or "case_slug"), "text", "opinions_cited": [ids] and, if known, '
    '"citation_strings": [[id, "17 F.3d 462"]]; .txt[.gz] opinions, one a file; or .json[.gz] records of CourtListener'
)
REVIEW_FORMS = (
    '.jsonl[.gz] with "review_id", "title", "background" and "studies": [{"id", "title", "abstract", "included"}]; '
    ".csv[.gz] screening lists, one review a file, with the columns record_id or pubmedID (or pmid), title, abstract, "
    "label_included (or included); "
    "or .json[.gz] records of MS^2"
)


@dataclass(frozen=True)
class Debate:
    """A debate.

    Attributes:
        id: of the debate.
        title: else the id.
        speeches: in order, each beginning with its speaker and a colon where the speaker is known; one line each.
    """

    id: str
    title: str
    speeches: tuple[str, ...]


_MARKUP = re.compile(r"</?([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/?>")
_OF_LAYOUT = frozenset(
    (
        "html",
        "head",
        "title",
        "body",
        "pre",
        "p",
        "br",
        "div",
        "span",
        "b",
        "i",
        "em",
        "strong",
        "u",
        "hr",
        "chapter",
        "speaker",
    )
)
_NAME = re.compile(r"\bname\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


def _without_tags(text: str) -> str:
    """Return a text without tags of layout and speakers.

    Raises:
        ValueError: other tags.
    """
    for tag in _MARKUP.finditer(text):
        if tag[1].lower() not in _OF_LAYOUT:
            raise ValueError(f"has markup, {tag[0][:40]}")
    return _MARKUP.sub("", text)


class _Turn(SourceRow):
    speaker: Any = None
    text: Annotated[str, AfterValidator(_without_tags)]


class _DebateRow(SourceRow):
    id: Id = Field(validation_alias=Either("debate_id", "id"))
    title: Title = ""
    turns: list[_Turn]

    def record(self) -> Debate:
        speeches = []
        for turn in self.turns:
            if text := _line(turn.text):
                speaker = turn.speaker.strip().rstrip(": ") if isinstance(turn.speaker, str) else ""
                speeches.append(f"{speaker}: {text}" if speaker else text)
        return Debate(self.id, self.title or self.id, _unprinted(speeches))


def read_debates(path: Path) -> Iterator[Debate]:
    """Yield the debates at a path, one in memory at a time.

    Args:
        path: a file of one of the :data:`DEBATE_FORMS`, or a folder of such files.

    Raises:
        InputError: nothing to read, a row of another form, a debate without a word, two debates of one id.
    """

    def of_text(file: Path) -> Iterator[tuple[str, Debate]]:
        text = _without_markup(file, _TIME.sub("", read_plain(file)))
        speeches = _speeches(_parted(file, _COLUMN.sub(_joint, text)))
        yield str(file), Debate(stem_of(file), stem_of(file), _unprinted(speeches))

    readers: dict[str, Reader[Debate]] = {
        "jsonl": partial(read_checked, kind=_DebateRow, what="a debate"),
        "txt": of_text,
    }
    if not data_files(path, *readers):  # beside files of these forms stand their sources
        readers = {"xml": _debate_of_xml}
    for place, debate in read_records(path, readers, f"no debates in it; give {DEBATE_FORMS}"):
        if not debate.speeches:
            raise InputError(f"{place}: the debate has no words; remove it or replace it")
        yield debate


def _without_markup(file: Path, text: str) -> str:
    """Return a transcript without tags; those of speakers (``<SPEAKER ID=1 NAME="Roe">``) become their names.

    Paragraphs of one speech (``<P>``) stay together.

    Raises:
        InputError: tags of another kind.
    """
    if not _MARKUP.search(text):
        return text
    spoken = False
    found: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            plain = unescape(_without_tags(line)).rstrip()
        except ValueError as error:
            raise InputError(f"{file}, line {number}: {error}; remove it from the file") from error
        tags = {tag[1].lower(): tag[2] for tag in _MARKUP.finditer(line)}
        if "speaker" in tags:
            spoken = True
            name = _NAME.search(tags["speaker"])
            who = next(filter(None, name.groups()), "") if name else ""
            found += ["", f"{who or 'Speaker'}: {plain.strip()}".strip()]
        elif "chapter" in tags or not spoken:
            spoken = spoken and "chapter" not in tags
            found.append(plain)
        elif plain:
            found[-1] += f" {plain.strip()}"
    return "\n".join(found)


def _line(text: str) -> str:
    return " ".join(text.split())


# Who speaks, at the beginning of a line: "Mr. ROE of Texas. ", "MODERATOR: ".
_TURN = re.compile(
    r"^[ \t]*((?:(?:Mr|Mrs|Ms|Miss|Dr|Sir|Lord|Lady|Senator|The)\b\.? [^\n:.]{2,60}(?=[.:] ))|[A-Z][^\n:]{0,60}(?=: ))",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W_]")
_LONGEST_BLOCK = 1000
"""Words of a file without a blank line, at most."""
_CLOSED = re.compile(r"[.!?…—–][\"”’)\]]*$")
_NUMBERED = re.compile(r"\s*\d{1,2}[ \t]+\S")
_FEWEST_LINES = 4
"""Lines of a file without blank lines that need a form; of lines that end no speech, so many show that lines are wrapped."""


def _parted(file: Path, text: str) -> list[str]:
    """Return the blocks of a transcript: blank lines part them, and lines where each is one or begins with who speaks.

    Raises:
        InputError: speeches follow one another in another way.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if sum(_NUMBERED.match(line) is not None for line in lines) > 0.8 * max(len(lines), _FEWEST_LINES):
        raise InputError(f"{file}: its lines are numbered, as a court reporter's are; remove the numbers")
    # The Congressional Record indents the first line of a paragraph, and has blank lines around headings only.
    for between in (r"\n\s*\n", r"\n\s*\n|\n(?= {1,4}\S)"):
        found = [block.strip() for block in re.split(between, text) if _WORD.search(block)]
        blocks = _turns(found)
        turns = [(match[1], match.start() == 0) for block in blocks for match in _TURN.finditer(block)]
        times = Counter(name for name, _ in turns)
        within = [name for name, first in turns if times[name] >= _FEWEST_SPEAKERS and not first]
        known = sum(count for count in times.values() if count >= _FEWEST_SPEAKERS)
        whole = len(blocks) == 1 and (
            len(text.split()) > _LONGEST_BLOCK or blocks[0].count("\n") >= _FEWEST_LINES
        )
        if 2 * len(within) <= known and not whole:
            return blocks
    named = f" (such as those of {within[0]})" if within else ""
    raise InputError(f"{file}: speeches follow one another without a blank line{named}; put one between them")


def _turns(blocks: Sequence[str]) -> list[str]:
    """Return blocks with lines for themselves where lines are not wrapped, or begin with a name and a colon."""
    lines = [[line.strip() for line in block.split("\n") if line.strip()] for block in blocks]
    inner = [line for own in lines for line in own[:-1]]
    closed = sum(_CLOSED.search(line) is not None for line in inner)
    one_each = len(inner) >= _FEWEST_LINES and closed >= 0.8 * len(inner)
    names = [[_name(line) for line in own] for own in lines]
    times = Counter(name for own in names for name in own if name)
    every = all(name for own in names for name in own)
    parted: list[str] = []
    for own, named in zip(lines, names, strict=True):
        part = own[:1]
        for before, line, name in zip(own, own[1:], named[1:], strict=False):
            # A sentence may run on to a line that begins with a name and a colon.
            turn = name and (every or times[name] > 1 or not _RUNS_ON.fullmatch(before))
            if turn or (one_each and _CLOSED.search(before)):
                parted.append("\n".join(part))
                part = []
            part.append(line)
        parted.append("\n".join(part))
    return parted


def _name(line: str) -> str:
    """Return who speaks at the beginning of a line, before a colon; else an empty text."""
    found = _TURN.match(line)
    words = found[1].split() if found and line.startswith(":", found.end(1)) else []
    held = all(word.lstrip("(“\"'")[:1].isupper() or word.isdigit() or word in _OF_NAMES for word in words)
    return " ".join(words) if held else ""


# Who speaks, on a line of its own: "Mr. ROE (Leeds)", "The Secretary of State for Energy:".
_SPEAKER = re.compile(
    r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Sir|Dame|Lord|Lady|Baroness|Viscount|Earl|Senator|Hon|Madam|The)\b\.?"
    r"(?: (?:(?:[A-Z]|St|Jr|Sr)\.|[A-Z][\w'’-]*|of|the|for|and|de|van|von|\([^()]*\)))+)[.:]?"
)
_OF_NAMES = frozenset(("of", "the", "and", "for", "de", "da", "van", "von", "der", "den"))
# Constituency and party below a name: "(Leeds West) (Lab/Co-op)".
_SEAT = re.compile(r"(?:\([A-Z][^()]*\) ?)+")
_LONGEST_SPEAKER = 80
_FEWEST_SPEAKERS = 3
"""Lines like those of speakers that a transcript needs; fewer may be headings."""


def _speeches(blocks: Iterable[str]) -> list[str]:
    """Return the speeches of a transcript; who speaks on a line of its own stands before what is said, with a colon."""
    lines = [[_line(line) for line in block.split("\n")] for block in blocks]
    opening = Counter(first for first, *rest in lines if rest)
    seated = {first for first, *rest in lines if rest and _SEAT.fullmatch(rest[0])}

    def speaks(line: str) -> bool:
        # A name without a title, "Ana DÍAZ (Leeds)", opens several speeches, or has its seat below.
        named = (line in seated or opening[line] >= _FEWEST_SPEAKERS) and line[-1] not in ".!?,;"
        named = named and all(word.lstrip("(")[:1].isupper() or word in _OF_NAMES for word in line.split())
        return len(line) <= _LONGEST_SPEAKER and (named or _SPEAKER.fullmatch(line) is not None)

    apart = sum(speaks(own[0]) for own in lines) >= _FEWEST_SPEAKERS
    speeches: list[str] = []
    speaker = ""
    for first, *rest in lines:
        said = [first, *rest]
        if apart and speaks(first):
            seat = rest[:1] if first in seated and rest and _SEAT.fullmatch(rest[0]) else []
            speaker, said = " ".join([first.rstrip(":."), *seat]), rest[len(seat) :]
        if said:
            speeches.append(" ".join([f"{speaker}:", *said] if speaker else said))
            speaker = ""
    return speeches


_LETTERS = re.compile(r"[^\W\d_]+")
# A word that a line end cut in two; "two- and threefold" is none.
_BROKEN = re.compile(r"(?<![^\W\d_]-)\b([^\W\d_]+)- (?!(?:and|or|to|nor|but)\b)([^\W\d_]+)")


def _unbroken(texts: Sequence[str]) -> list[str]:
    """Return texts of a document whose words are whole again.

    A cut word loses its hyphen where the document has it without one elsewhere.
    """
    words = {word.casefold() for text in texts for word in _LETTERS.findall(text)}

    def whole(cut: re.Match[str]) -> str:
        plain = cut[1] + cut[2]
        return plain if cut[2].islower() and plain.casefold() in words else f"{cut[1]}-{cut[2]}"

    return [_BROKEN.sub(whole, text) for text in texts]


# How printed records are typed: ``quoted'' and 3\1/2\.
_TYPED_QUOTE = re.compile(r"``(.*?)(?:''|(?=``))")
_TYPED_FRACTION = re.compile(r"(\d)\\(\d+/\d+)\\")


def _unprinted(speeches: Sequence[str]) -> tuple[str, ...]:
    """Return speeches without what a printed page left in them: numbers of columns, cut words, typed quotes and fractions."""
    plain = (_TYPED_FRACTION.sub(r"\1 \2", _TYPED_QUOTE.sub(r"“\1”", speech)) for speech in speeches)
    return tuple(without_columns(_unbroken(list(plain))))


# What printers put between columns and pages ("Column 701", "[[Page S123]]", "16 Dec 1985 : Column 7"); a sentence may run through it.
_COLUMN = re.compile(
    r"(?<!\s)(?P<above>\s*)^[ \t]*\[{0,2}(?:\d{1,2} [A-Z]{3,9} \d{4} ?: ?)?(?:column|col\.?|page|pg\.?)[ \t]*"
    r"(?:[A-Z]{1,2}[ \t]*)?\d{1,6}[A-Z]{0,2}\]{0,2}[ \t]*$(?P<below>\s*)(?P<next>\S?)",
    re.IGNORECASE | re.MULTILINE,
)


_TIME = re.compile(r"^[ \t]*\{time\}[ \t]*\d{1,4}[ \t]*$", re.MULTILINE)


# A heading has no full stop either, but is shorter than a line of a speech.
_RUNS_ON = re.compile(r"[^\n]{40,}[\w,’'](?![\s\S])")


def _joint(found: re.Match[str]) -> str:
    open_line = _RUNS_ON.search(found.string, max(0, found.start() - 200), found.start()) is not None
    runs_on = found["next"].islower() or open_line or (found["above"] + found["below"]).count("\n") < 3
    return f"{' ' if runs_on else chr(10) * 2}{found['next']}"


def _debate_of_xml(file: Path) -> Iterator[tuple[str, Debate]]:
    """Read the edited Hansard of the Canadian House of Commons; a turn without a speaker goes on with the one before."""
    require("build", f"{file}: reading XML", "lxml")
    from lxml import etree

    # Some files declare an encoding that strict parsers refuse; the text is decoded already.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", read_text(file))
    try:
        root = etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise InputError(f"{file}: the XML is cut off or damaged ({error.msg}); fetch it again") from error
    if root.find(".//Intervention") is None:
        raise InputError(
            f"{file}: not the XML of the Canadian House of Commons (its root is <{root.tag}>); give {DEBATE_FORMS}"
        )
    speeches: list[str] = []
    for turn in root.iter("Intervention"):
        who = _line("".join(part for name in turn.iter("PersonSpeaking") for part in name.itertext()))
        said = _line(" ".join("".join(paragraph.itertext()) for paragraph in turn.iter("ParaText")))
        if said and (who or not speeches):
            speeches.append(f"{who.rstrip(': ')}: {said}" if who else said)
        elif said:
            speeches[-1] += f" {said}"
    titled = [item.text or "" for item in root.iter("ExtractedItem") if item.get("Name") == "MetaTitleEn"]
    yield str(file), Debate(stem_of(file), _line("".join(titled[:1])) or stem_of(file), tuple(speeches))


@dataclass(frozen=True)
class Opinion:
    """An opinion.

    Attributes:
        id: of the opinion.
        title: name of the case.
        pages: of the court's layout, one line each; a single one where the text has no page marks.
        cites: ids of the opinions that it cites.
        citation_strings: id of a cited opinion to how it is cited here, e.g. ``17 F.3d 462``.
    """

    id: str
    title: str
    pages: tuple[str, ...]
    cites: tuple[str, ...] = ()
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
            strings.setdefault(cited, []).append(_line(text))
        return Opinion(
            self.id,
            self.title or self.case_name or _title(self.case_slug) or self.id,
            _pages(self.text),
            tuple(dict.fromkeys(cited for cited in self.opinions_cited if cited != self.id)),
            {cited: tuple(dict.fromkeys(texts)) for cited, texts in strings.items()},
        )


def read_opinions(path: Path, left_out: Counter[str] | None = None) -> Iterator[Opinion]:
    """Yield the opinions at a path.

    Args:
        path: a file of one of the :data:`OPINION_FORMS`, or a folder of such files; JSON Lines without a ``text`` are passed
            over in a folder (CourtListener's own records, say).
        left_out: takes the numbers of records and files without a text.

    Raises:
        InputError: nothing to read, a row of another form, an opinion without a word, two of one id.
    """

    def of_rows(file: Path) -> Iterator[tuple[str, Opinion]]:
        for place, row in read_rows(file, "an opinion"):
            if "text" not in row and not path.is_file():
                if left_out is not None:
                    left_out["files whose rows have no text"] += 1
                return
            yield place, validated(_OpinionRow, row, place, remedy=ROW_REMEDY).record()

    def of_text(file: Path) -> Iterator[tuple[str, Opinion]]:
        yield str(file), Opinion(stem_of(file), stem_of(file), _pages(read_plain(file)))

    def of_record(file: Path) -> Iterator[tuple[str, Opinion]]:
        opinion = _opinion_of_record(file)
        if opinion.pages:
            yield str(file), opinion
        elif left_out is not None:
            left_out["records of CourtListener without a text"] += 1

    readers = {"jsonl": of_rows, "txt": of_text, "json": of_record}
    for place, opinion in read_records(path, readers, f"no opinions in it; give {OPINION_FORMS}"):
        if not opinion.pages:
            raise InputError(f"{place}: the opinion has no words; remove it or replace it")
        yield opinion


class _Record(SourceRow):
    """A record of CourtListener's interface, versions 3 and 4, whose addresses end in ids.

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
        cited = [address.strip("/").rpartition("/")[2] for address in self.opinions_cited]
        marked = (
            self.html_with_citations
            or self.html
            or self.html_lawbox
            or self.html_columbia
            or self.html_anon_2020
            or self.xml_harvard
        )
        pages = _pages(self.plain_text or "") or _pages(_text_of(marked or ""))
        return Opinion(
            own[1] if own else number,
            _title(slug),
            pages,
            tuple(dict.fromkeys(cited)),
            _linked(self.html_with_citations or "", cited),
        )


def _linked(marked: str, cited: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the citations in HTML that name the cited opinion, by its id."""
    strings: dict[str, list[str]] = {}
    root = _tree(marked) if "data-id" in marked else None
    for span in [] if root is None else root.xpath("//*[@data-id][contains(@class, 'citation')]"):
        text = _line(span.text_content())
        if span.get("data-id") in cited and re.fullmatch(r"\d+ .*\d", text):
            strings.setdefault(span.get("data-id"), []).append(text)
    return {name: tuple(dict.fromkeys(own)) for name, own in strings.items()}


def _opinion_of_record(file: Path) -> Opinion:
    """Read a record; those that were scanned and not read have no pages."""
    row = read_value(file, "a record of CourtListener")
    return validated(_Record, row, str(file), remedy=ROW_REMEDY).record()


# What a label that moved into an attribute left: `<footnote label="2"><p>. Our colleague`.
_NOTE_LABEL = re.compile(r"(<footnote\b[^>]*>\s*(?:<p\b[^>]*>)?)\s*\.\s+")
_PARTED = "br|p|div|blockquote|li|tr|h1|h2|h3|h4|h5|h6|center|pre|opinion|author|footnote"


# Reporters' page marks, and marks of notes.
_PAGE_MARKS = "//*[contains(@class, 'star-pagination') or contains(@class, 'page-label') or contains(@class, 'page-number')]"
_MARKS = f"{_PAGE_MARKS}|//page-number|//page_number|//sup|//footnotemark|//a[contains(@class, 'footnote')]"
_MARK = re.compile(r"\s*(?:\*{0,2}\d{1,5}|\[(?:\d{1,3}|\*+)\]|[*†‡]+)\s*")
# Notes below an opinion, and the label of one.
_NOTES = re.compile(r"^[ \t]*(?:FOOT)?NOTES:?[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"^[ \t]*\[(?:\d{1,3}|\*+)\]\s+", re.MULTILINE)


def _text_of(marked: str) -> str:
    """Return the text of an opinion in HTML or XML, without marks of pages and notes; blank lines part its blocks."""
    root = _tree(marked)
    if root is None:
        return ""
    for element in root.iter(*_PARTED.split("|")):
        element.tail = f"\n\n{element.tail or ''}"
        if element.tag != "br":
            element.text = f"\n\n{element.text or ''}"
    for mark in root.xpath(_MARKS):
        before = mark.getprevious()
        above = (mark.getparent().text if before is None else before.tail) or ""
        # A raised number behind another one is its exponent.
        if _MARK.fullmatch(mark.text_content()) and not (mark.tag == "sup" and above[-1:].isdigit()):
            del mark[:]
            mark.text = ""
    text = str(root.text_content())
    notes = max((match.end() for match in _NOTES.finditer(text)), default=len(text))
    return text[:notes] + _LABEL.sub("", text[notes:])


def _tree(marked: str) -> Any:
    """Return the root of HTML or XML, None where it has nothing but comments."""
    require("build", "reading HTML or XML", "lxml")
    from lxml import etree, html

    try:
        return html.fromstring(_NOTE_LABEL.sub(r"\1", re.sub(r"^\s*<\?xml[^>]*\?>", "", marked)))
    except etree.ParserError:
        return None


# Rules between parts, on lines of their own; "* * *" is one where nothing stands above or below it, else it leaves out words.
_RULE = re.compile(
    r"^[ \t]*(?:\d{1,2}[ \t]+)?[-_=—–]{5,}[ \t]*(?:[xX][ \t]*)?$|_{12,}|\bl{5,}\b|(?:(?<=\n\n)|\A)[ \t]*(?:\*[ \t]*){3,}(?![ \t])(?=\n[ \t]*\n|\s*\Z)",
    re.MULTILINE,
)
_SIGNS_OF_RULES = (*(sign * 5 for sign in "-_=—–l"), "***", "* *", "*  *", "*   *")
# Marks of notes stand at the end of a word; "[1] sentenced" and "§ 28.02[2]" are none.
_NOTE_MARK = re.compile(r"\[\d{1,3}\](?=\s|\Z)")
_WORD_BEFORE = re.compile(r"(?:[a-z]|[.,;:!?][\"”’)]|[a-z.][.,;:!?])\Z")
_STAR = re.compile(r"\*(\d{1,4})(?![\d*])[ \t]?")
# "2006 WL 2808145, at *3", "*30-*34", "*4, *6".
_PINNED = re.compile(r"(?:\bat|\d,?|\*\d+,? (?:and|&)|[*–-]|\b[Ii]d\.)\s*\Z")


def _without_marks(text: str) -> str:
    """Return a text without marks of notes and the pages of a reporter ("*903"), which count up or have three digits."""
    notes = [
        found.span() for found in _NOTE_MARK.finditer(text) if _before(_WORD_BEFORE, text, found.start())
    ]
    found = [match for match in _STAR.finditer(text) if not _before(_PINNED, text, match.start())]
    numbers = {int(match[1]) for match in found}
    stars = [
        # Inside a word the blank behind it is the next word's.
        match.span()
        if not text[match.start() - 1 : match.start()].isalpha()
        else (match.start(), match.end(1))
        for match in found
        if int(match[1]) > 99 or not numbers.isdisjoint((int(match[1]) - 1, int(match[1]) + 1))
    ]
    return _without(text, sorted([*notes, *stars]))


def _before(pattern: re.Pattern[str], text: str, end: int) -> bool:
    return pattern.search(text, max(0, end - 20), end) is not None


# Page numbers of the court's layout: "-3-" or "3" alone on a line.
_PAGE_NUMBER = re.compile(r"^[ \t]*(?:-[ \t]*)?\d{1,4}[ \t]*(?:-[ \t]*)?$", re.MULTILINE)
_SMALL = frozenset(("v", "of", "the", "and", "in", "re", "ex", "rel", "for", "et", "al"))
_UPPER = frozenset(("llc", "llp", "lp", "usa", "ii", "iii"))


# A note at the foot of a page: its number alone on a line, its text below.
_NOTE = re.compile(r"^[ \t]*(\d{1,3})[ \t]*\n(?=[ \t]*[^\s\d-])", re.MULTILINE)
_MOST_UNUSED = 2
_LONGEST_TAIL = 800
"""Characters of a sentence that goes on behind a page, at most."""
_DATE = re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4}")


def _pages(text: str) -> tuple[str, ...]:
    """Return the pages of a text, which form feeds end, without line breaks, page numbers and runs of blanks.

    A sentence that goes on behind the end of a page, or behind its notes, stands on the next one as a whole. CourtListener's plain
    text has ``&amp;`` for "&".
    """
    pages: list[str] = []
    tail, last = "", 0
    plain = _without_marks(without_c1(unescape(text)))
    ruled = any(sign in plain for sign in _SIGNS_OF_RULES)
    for page in _without_heads([_RULE.sub("", page) if ruled else page for page in plain.split("\f")]):
        text_end, last = _before_notes(page, last)
        own, notes = (_line(_PAGE_NUMBER.sub("", part)) for part in (page[:text_end], page[text_end:]))
        own = f"{tail} {own}".strip()
        # The word stands for that of the next page.
        end = max(sentence_ends(f"{own} The"), default=0)
        if end == 0 or len(own) - end > _LONGEST_TAIL or _DATE.fullmatch(own[end:].strip()):
            end = len(own)
        tail = own[end:].strip()
        pages.append(f"{own[:end]} {notes}".strip())
    pages[-1] = f"{pages[-1]} {tail}".strip()
    return tuple(_unbroken(list(filter(None, pages))))


_AT_EDGE = 2
_DIGITS = re.compile(r"\d+")
_FEWEST_PAGES = 4
_FEWEST_HEADS = 3
_LONGEST_HEAD = 60
_NUMBER_AT_END = re.compile(r"^[\W_]*\d{1,4}(?=\s)|(?<=\s)\d{1,4}[\W_]*$")


def _without_heads(pages: Sequence[str]) -> list[str]:
    """Return pages without running heads and feet: lines at an edge that come again on most pages, on every other one, or with its number.

    Where most pages have two heads ("Cite as: ...", "Opinion of the Court"), the second is one on the others too.
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
        return _LETTERS.search(name) is not None and (
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
    """Return the first and last lines of a page that have words, by their numbers."""
    lines = page.split("\n")
    held = [number for number, line in enumerate(lines) if line.strip()]
    return {number: _line(lines[number]) for number in (*held[:_AT_EDGE], *held[-_AT_EDGE:])}


def _alternate(places: Sequence[int]) -> bool:
    """Return whether a few pages that follow one another, or every other one of a few, are among these."""
    run = 1
    for before, place in pairwise(places):
        run = run + 1 if place - before <= 2 else 1
        if run >= _FEWEST_HEADS:
            return True
    return False


def _is_apart(page: str, number: int) -> bool:
    """Return whether a line of a page is short, no sentence, and has blank lines around it."""
    lines = ["", *page.split("\n"), ""]
    above, line, below = lines[number : number + 3]
    return (
        not above.strip()
        and not below.strip()
        and len(line.strip()) <= _LONGEST_HEAD
        and line.strip()[-1] not in ".!?:;"
    )


def _before_notes(page: str, last: int) -> tuple[int, int]:
    """Return where the notes of a page begin, and the number of its last one.

    Args:
        page: with its line breaks.
        last: number of the last note above.
    """
    first = len(page)
    for match in _NOTE.finditer(page):
        if last < int(match[1]) <= last + _MOST_UNUSED and page[: match.start()].strip():
            first, last = min(first, match.start()), int(match[1])
    return first, last


def _title(slug: str) -> str:
    """Return a case's name from its URL form.

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


@dataclass(frozen=True)
class Study:
    """A study that was looked at for a review.

    Attributes:
        id: digits; a PubMed id where the review has them, else unique within the review only.
        title, abstract: one line each; studies without an abstract are left out by the readers.
        included: whether the finished review uses it.
    """

    id: str
    title: str
    abstract: str
    included: bool


@dataclass(frozen=True)
class Review:
    """A systematic review.

    Attributes:
        id: name of its file, or from its row.
        title: else the id.
        background: the paragraph that says what the review asks; empty where there is none.
        studies: those with an abstract, in order, each id once.
        pubmed: whether the ids are PubMed's, so that those of two reviews can be compared.
        left_out: why listed studies are not among them, to their number.
    """

    id: str
    title: str
    background: str
    studies: tuple[Study, ...]
    pubmed: bool
    left_out: Mapping[str, int] = field(default_factory=dict, compare=False)

    @cached_property
    def included(self) -> frozenset[str]:
        """Ids of the studies that the finished review uses."""
        return frozenset(study.id for study in self.studies if study.included)


_PUBMED_IDS = ("pubmedID", "pmid", "PMID")
_TAG = re.compile(r"</?(?:pop|int|out|b|i|u|em|strong|sub|sup|inf|p|br)(?: [^<>]*)?/?>", re.IGNORECASE)
_WITHOUT_ABSTRACT = "studies without an abstract"
_NO_ABSTRACT = re.compile(
    r"\W*(?:(?:(?:no abstract|abstract not)(?: is| was)?(?: available| provided| found)?|n/?a|none|null)\W*)?",
    re.IGNORECASE,
)
_INCLUDED = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
    **dict.fromkeys(("", "0", "0.0", "false", "no"), False),
}


def _digits(value: object) -> str:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise ValueError("must be digits, as answers name studies by number")
    return text


def _is_included(value: object) -> bool:
    text = "" if value is None else str(value).strip().lower()
    if text not in _INCLUDED:
        raise ValueError("(label_included) must be 1 or 0")
    return _INCLUDED[text]


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# What a table of fields that semicolons part has left of a semicolon.
_QUOTED_SEMICOLON = re.compile(r'";"')
_QUOTED_FIELDS = re.compile(r'";([^"]*;)"')
_HALF_QUOTED = re.compile(r';"(?=[\s\d])')


def _untagged(text: object) -> str:
    if not isinstance(text, str):
        return ""
    plain = _QUOTED_FIELDS.sub(r";\1", _QUOTED_SEMICOLON.sub(";", unescape(text)))
    if plain.count('"') % 2:
        plain = _HALF_QUOTED.sub(";", plain)
    return _line(_TAG.sub("", plain))


_Untagged = Annotated[str, BeforeValidator(_untagged)]


class _StudyRow(SourceRow):
    id: Annotated[str, BeforeValidator(_digits)] = Field(validation_alias=Either("id", "pmid"))
    title: _Untagged = ""
    abstract: _Untagged = ""
    # As in MS^2, what is listed is used, if nothing else is said.
    included: Annotated[bool, BeforeValidator(_is_included)] = True


class _ReviewRow(SourceRow):
    id: Id = Field(validation_alias=Either("review_id", "id"))
    title: Title = ""
    background: _Untagged = ""
    studies: list[_StudyRow]

    def record(self) -> Review:
        return _review(self.id, self.title, self.background, self.studies, True)


class _Reported(SourceRow):
    references: list[dict[str, Any]]


class _Ms2Row(SourceRow):
    id: Id = Field(validation_alias=Either("pmid", "docid"))
    title: Title = ""
    included_studies: list[_Reported]
    structured_abstract: Any = None


def read_reviews(path: Path, left_out: Counter[str] | None = None) -> Iterator[Review]:
    """Yield the reviews at a path.

    Args:
        path: a file of one of the :data:`REVIEW_FORMS`, or a folder of such files (and of folders of them); JSON files of
            another shape in a folder are passed over.
        left_out: takes the number of studies without an abstract, an id of their own, or any id.

    Raises:
        InputError: nothing to read, a row of another form, two reviews of one id.
    """
    readers: dict[str, Reader[Review]] = {
        "csv": _review_of_list,
        "jsonl": partial(read_checked, kind=_ReviewRow, what="a review"),
        "json": _reviews_of_ms2,
    }
    for _, review in read_records(path, readers, f"no reviews in it; give {REVIEW_FORMS}"):
        if left_out is not None:
            left_out.update(review.left_out)
        yield review


def _review(
    name: str,
    title: str,
    background: str,
    rows: Iterable[_StudyRow],
    pubmed: bool,
    left_out: Mapping[str, int] = MappingProxyType({}),
) -> Review:
    """Make a review of the studies with an abstract, each id once; ``left_out`` counts those that are none already."""
    by_id: dict[str, Study] = {}
    left_out = Counter(left_out)
    for row in rows:
        if _NO_ABSTRACT.fullmatch(row.abstract):
            left_out[_WITHOUT_ABSTRACT] += 1
        elif row.id in by_id:
            left_out["studies listed twice in a review"] += 1
        else:
            by_id[row.id] = Study(row.id, row.title, row.abstract, row.included)
    return Review(name, title or name, background, tuple(by_id.values()), pubmed, +left_out)


def _review_of_list(file: Path) -> Iterator[tuple[str, Review]]:
    """Read a screening list, whose name is its topic, such as ``Cohen_2006_Estrogens``."""
    csv.field_size_limit(1 << 27)
    table = csv.DictReader(io.StringIO(read_text(file), newline=""))
    names = table.fieldnames or ()
    key = next((name for name in (*_PUBMED_IDS, "record_id") if name in names), "record_id")
    label = "included" if "label_included" not in names and "included" in names else "label_included"
    if missing := [name for name in (key, "title", "abstract", label) if name not in names]:
        for separator, called in _SEPARATORS.items():
            if any(separator in name and "title" in name.split(separator) for name in names):
                raise InputError(
                    f"{file}: its columns are separated by {called}; save it with commas between them"
                )
        raise InputError(
            f"{file}: no column {', '.join(missing)}; a screening list has record_id or pubmedID, title, abstract, label_included"
        )
    found: list[_StudyRow] = []
    unnamed = 0
    try:
        for number, row in enumerate(table, start=2):
            if study := (row[key] or "").strip().removesuffix(".0"):
                held = {**row, "id": study, "included": row[label] or "0"}
                found.append(validated(_StudyRow, held, f"{file}, row {number}", remedy=ROW_REMEDY))
            elif any(row[one] for one in ("title", "abstract")):
                unnamed += 1
    except csv.Error as error:
        raise InputError(f"{file}, line {table.line_num}: not CSV ({error}); write it again") from error
    name = stem_of(file)
    yield (
        str(file),
        _review(
            name, name.replace("_", " "), "", found, key in _PUBMED_IDS, {"studies without an id": unnamed}
        ),
    )


def _reviews_of_ms2(file: Path) -> Iterator[tuple[str, Review]]:
    """Read a record of MS^2: the background are the sentences of the review's own abstract with that label."""
    record = read_value(file, "a record of MS^2")
    for number, held in enumerate(record if isinstance(record, list) else [record], start=1):
        if not isinstance(held, dict) or not isinstance(held.get("included_studies"), list):
            continue
        place = f"{file}, record {number}"
        row = validated(_Ms2Row, held, place, remedy=ROW_REMEDY)
        references = [one for reported in row.included_studies for one in reported.references]
        studies = [
            validated(_StudyRow, {**reference, "id": reference.get("pmid"), "included": True}, place)
            for reference in references
            if reference.get("abstract")
        ]
        without = {_WITHOUT_ABSTRACT: len(references) - len(studies)}
        sentences = row.structured_abstract if isinstance(row.structured_abstract, list) else []
        background = [
            _untagged(sentence[1])
            for sentence in sentences
            if isinstance(sentence, list) and len(sentence) > 1 and sentence[0] == "BACKGROUND"
        ]
        yield place, _review(row.id, row.title, " ".join(background), studies, True, without)


_COUNTED = (
    "per cent|million|billion|thousand|hundred|years?|months?|weeks?|days?|hours?|January|February|March|April|May|June|July|August|"
    "September|October|November|December"
)
# Between two words of a sentence, in no list of numbers, and with nothing behind it that it may count.
_BARE = re.compile(
    r"(?<=[\w,;:.?!)’'\"-] )(?<!No\. )(?<!\d, )\d{1,4} (?!(?:and|or|to) \d)"
    rf"(?!(?:{_COUNTED})\b)(?=[A-Za-z(“\"'£])"
)
_LENGTHS = tuple(round(800 * 1.25**step) for step in range(14))
"""Characters of a column that are tried, from 800 to 14,500."""
_SHORTEST, _LONGEST = 0.5, 1.6
"""Shares of a column's length that two numbers may be apart, for each column between them."""
_MOST_MISSING = 4
_LAST = 32
"""Of the numbers of one value far enough before another, so many are tried: text with more is a table."""
_LEAST = 10
"""Numbers that make a run; fewer may be chance."""
_LEAST_SHARE = 0.5
"""Of the columns from the first to the last number, so many must have one in the text."""


def without_columns(speeches: Sequence[str]) -> list[str]:
    """Return speeches without the numbers of columns in their sentences.

    They are numbers that count up by one at about equal distances from the beginning of a debate to its end. Without such a run
    nothing is removed.
    """
    starts = accumulate(map(len, speeches), initial=0)
    found = [
        (start + match.start(), int(match[0]), place, match.span())
        for place, (start, speech) in enumerate(zip(starts, speeches, strict=False))
        for match in _BARE.finditer(speech)
    ]
    runs = (_run([(at, value) for at, value, _, _ in found], length) for length in _LENGTHS)
    run = max(runs, key=len)
    if len(run) < _LEAST or len(run) < _LEAST_SHARE * (found[run[-1]][1] - found[run[0]][1] + 1):
        return list(speeches)
    cuts: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for before, number, behind in zip([-1, *run], run, [*run[1:], len(found)], strict=False):
        _, value, place, span = found[number]
        # Where the text has the same number once more, either may be the column's.
        if sum(other == value for _, other, _, _ in found[before + 1 : behind]) == 1:
            cuts[place].append(span)
    return [_without(speech, cuts[place]) for place, speech in enumerate(speeches)]


def _run(numbers: Sequence[tuple[int, int]], length: int) -> list[int]:
    """Return the longest run of numbers, given as place and value, that count columns of about a length; as their indices."""
    by_value: dict[int, list[int]] = defaultdict(list)
    best: list[tuple[int, int]] = []
    for index, (at, value) in enumerate(numbers):
        before = []
        for step in range(1, _MOST_MISSING + 1):
            same = by_value[value - step]
            last = bisect_right(same, at - _SHORTEST * length * step, key=lambda other: numbers[other][0])
            near = same[max(0, last - _LAST) : last]
            before += [
                (best[other][0], other)
                for other in near
                if at - numbers[other][0] <= _LONGEST * length * step
            ]
        size, previous = max(before, default=(0, -1))
        best.append((size + 1, previous))
        by_value[value].append(index)
    run: list[int] = []
    end = max(range(len(best)), key=lambda index: best[index][0], default=-1)
    while end >= 0:
        run.append(end)
        end = best[end][1]
    return run[::-1]


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
