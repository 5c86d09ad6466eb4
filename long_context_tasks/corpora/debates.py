"""Read debates: JSON Lines, transcripts as plain text, and the XML of the Canadian House of Commons."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import unescape
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic import AliasChoices as Either

from long_context_tasks.corpora.plain_files import (
    Id,
    Reader,
    SourceRow,
    Title,
    data_files,
    read_checked,
    read_plain,
    read_records,
    read_text,
    stem_of,
)
from long_context_tasks.corpora.printed_text import one_line, unbroken, without_spans
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require

DEBATE_FORMS = (
    '.jsonl[.gz] with "debate_id" (or "id"), "title" and "turns": [{"speaker": ..., "text": ...}], or .txt[.gz] transcripts, '
    "one debate a file, a blank line between speeches, or a line for each; .xml[.gz] of the Canadian House of Commons"
)
_TAG = re.compile(r"</?([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/?>")
_LAYOUT_TAGS = (
    *("html", "head", "title", "body", "pre", "p", "br", "div", "span", "b", "i", "em", "strong", "u", "hr"),
    *("chapter", "speaker"),  # of Europarl
)
_NAME_ATTRIBUTE = re.compile(r"\bname\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")
# A speaker at the beginning of a line: "Mr. ROE of Texas. ", "MODERATOR: ".
_TURN = re.compile(
    r"^[ \t]*((?:(?:Mr|Mrs|Ms|Miss|Dr|Sir|Lord|Lady|Senator|The)\b\.? [^\n:.]{2,60}(?=[.:] ))|[A-Z][^\n:]{0,60}(?=: ))",
    re.MULTILINE,
)
# A speaker on a line of its own: "Mr. ROE (Leeds)", "The Secretary of State for Energy:".
_SPEAKER = re.compile(
    r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Sir|Dame|Lord|Lady|Baroness|Viscount|Earl|Senator|Hon|Madam|The)\b\.?"
    r"(?: (?:(?:[A-Z]|St|Jr|Sr)\.|[A-Z][\w'’-]*|of|the|for|and|de|van|von|\([^()]*\)))+)[.:]?"
)
_SMALL_WORDS_OF_NAMES = frozenset(("of", "the", "and", "for", "de", "da", "van", "von", "der", "den"))
# Constituency and party below a name: "(Leeds West) (Lab/Co-op)".
_SEAT = re.compile(r"(?:\([A-Z][^()]*\) ?)+")
_LONGEST_SPEAKER = 80  # characters
_FEWEST_SPEAKERS = 3  # lines like those of speakers; fewer may be headings
_CLOSED = re.compile(r"[.!?…—–][\"”’)\]]*$")
# A heading does not end in a full stop either, but is shorter than a line of a speech.
_CONTINUES = re.compile(r"[^\n]{40,}[\w,’'](?![\s\S])")
_NUMBERED_LINE = re.compile(r"\s*\d{1,2}[ \t]+\S")
_FEWEST_LINES = 4  # lines of a file without blank lines from which its speeches must be separated in some way
_LONGEST_BLOCK = 1000  # words of a file without a blank line
# Marks of a printer between columns and pages: "Column 701", "[[Page S123]]", "16 Dec 1985 : Column 7".
_COLUMN_MARK = re.compile(
    r"(?<!\s)(?P<above>\s*)^[ \t]*\[{0,2}(?:\d{1,2} [A-Z]{3,9} \d{4} ?: ?)?(?:column|col\.?|page|pg\.?)[ \t]*"
    r"(?:[A-Z]{1,2}[ \t]*)?\d{1,6}[A-Z]{0,2}\]{0,2}[ \t]*$(?P<below>\s*)(?P<next>\S?)",
    re.IGNORECASE | re.MULTILINE,
)
_TIME = re.compile(r"^[ \t]*\{time\}[ \t]*\d{1,4}[ \t]*$", re.MULTILINE)  # in the Congressional Record
_TYPED_QUOTE = re.compile(r"``(.*?)(?:''|(?=``))")  # ``quoted''
_TYPED_FRACTION = re.compile(r"(\d)\\(\d+/\d+)\\")  # 3\1/2\


@dataclass(frozen=True)
class Debate:
    id: str  # name of the file without its ending, or the id in the row
    title: str  # title in the source, or the id
    # One line each, in order; "SPEAKER: " precedes the speech if the speaker is known.
    speeches: tuple[str, ...]


def _without_tags(text: str) -> str:
    """Remove tags of layout and speakers; a ValueError names another tag."""
    for tag in _TAG.finditer(text):
        if tag[1].lower() not in _LAYOUT_TAGS:
            raise ValueError(f"has markup, {tag[0][:40]}")
    return _TAG.sub("", text)


class _TurnRow(SourceRow):
    speaker: Any = None
    text: Annotated[str, AfterValidator(_without_tags)]


class _DebateRow(SourceRow):
    id: Id = Field(validation_alias=Either("debate_id", "id"))
    title: Title = ""
    turns: list[_TurnRow]

    def record(self) -> Debate:
        speeches = []
        for turn in self.turns:
            if text := one_line(turn.text):
                speaker = turn.speaker.strip().rstrip(": ") if isinstance(turn.speaker, str) else ""
                speeches.append(f"{speaker}: {text}" if speaker else text)
        return Debate(self.id, self.title or self.id, _without_print(speeches))


def read_debates(path: Path) -> Iterator[Debate]:
    """Yield the debates at a path, one in memory at a time.

    Args:
        path: a file of one of the :data:`DEBATE_FORMS`, or a folder of such files.

    Raises:
        InputError: there is nothing to read, a row has another form, a debate has no words, or two have the same id.
    """
    readers: dict[str, Reader[Debate]] = {
        "jsonl": partial(read_checked, kind=_DebateRow, what="a debate"),
        "txt": _read_transcript,
    }
    if not data_files(path, *readers):  # a folder may also hold the XML that its other files were made from
        readers = {"xml": _read_canadian_xml}
    for place, debate in read_records(path, readers, f"no debates in it; give {DEBATE_FORMS}"):
        if not debate.speeches:
            raise InputError(f"{place}: the debate has no words; remove it or replace it")
        yield debate


def _read_transcript(file: Path) -> Iterator[tuple[str, Debate]]:
    text = _names_for_tags(file, _TIME.sub("", read_plain(file)))
    speeches = _with_speakers(_split(file, _COLUMN_MARK.sub(_join_over_column, text)))
    yield str(file), Debate(stem_of(file), stem_of(file), _without_print(speeches))


def _names_for_tags(file: Path, text: str) -> str:
    """Replace tags of speakers (``<SPEAKER ID=1 NAME="Roe">``) by their names, and join the paragraphs of a speech."""
    if not _TAG.search(text):
        return text
    spoken = False
    found: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            plain = unescape(_without_tags(line)).rstrip()
        except ValueError as error:
            raise InputError(f"{file}, line {number}: {error}; remove it from the file") from error
        tags = {tag[1].lower(): tag[2] for tag in _TAG.finditer(line)}
        if "speaker" in tags:
            spoken = True
            name = _NAME_ATTRIBUTE.search(tags["speaker"])
            who = next(filter(None, name.groups()), "") if name else ""
            found += ["", f"{who or 'Speaker'}: {plain.strip()}".strip()]
        elif "chapter" in tags or not spoken:
            spoken = spoken and "chapter" not in tags
            found.append(plain)
        elif plain:
            found[-1] += f" {plain.strip()}"
    return "\n".join(found)


def _join_over_column(found: re.Match[str]) -> str:
    """Return what replaces the mark of a column: a space inside a sentence, a blank line between paragraphs."""
    open_line = _CONTINUES.search(found.string, max(0, found.start() - 200), found.start()) is not None
    inside = found["next"].islower() or open_line or (found["above"] + found["below"]).count("\n") < 3
    return f"{' ' if inside else chr(10) * 2}{found['next']}"


def _split(file: Path, text: str) -> list[str]:
    """Split a transcript into blocks: at blank lines, and at line ends if each line is a speech or begins with a speaker."""
    lines = [line for line in text.split("\n") if line.strip()]
    if sum(_NUMBERED_LINE.match(line) is not None for line in lines) > 0.8 * max(len(lines), _FEWEST_LINES):
        raise InputError(f"{file}: its lines are numbered, as a court reporter's are; remove the numbers")
    # The Congressional Record indents the first line of a paragraph and has blank lines around headings only.
    for between in (r"\n\s*\n", r"\n\s*\n|\n(?= {1,4}\S)"):
        blocks = _split_turns([block.strip() for block in re.split(between, text) if _WORD.search(block)])
        turns = [(match[1], match.start() == 0) for block in blocks for match in _TURN.finditer(block)]
        times = Counter(name for name, _ in turns)
        inside = [name for name, first in turns if times[name] >= _FEWEST_SPEAKERS and not first]
        known = sum(count for count in times.values() if count >= _FEWEST_SPEAKERS)
        one_block = len(blocks) == 1 and (
            len(text.split()) > _LONGEST_BLOCK or blocks[0].count("\n") >= _FEWEST_LINES
        )
        if 2 * len(inside) <= known and not one_block:
            return blocks
    named = f" (such as those of {inside[0]})" if inside else ""
    raise InputError(f"{file}: speeches follow one another without a blank line{named}; put one between them")


def _split_turns(blocks: Sequence[str]) -> list[str]:
    """Split blocks at line ends if lines are not wrapped or begin with a name and a colon."""
    lines = [[line.strip() for line in block.split("\n") if line.strip()] for block in blocks]
    inner = [line for own in lines for line in own[:-1]]
    closed = sum(_CLOSED.search(line) is not None for line in inner)
    one_each = len(inner) >= _FEWEST_LINES and closed >= 0.8 * len(inner)
    names = [[_name_before_colon(line) for line in own] for own in lines]
    times = Counter(name for own in names for name in own if name)
    every = all(name for own in names for name in own)
    turns: list[str] = []
    for own, named in zip(lines, names, strict=True):
        turn = own[:1]
        for before, line, name in zip(own, own[1:], named[1:], strict=False):
            # A wrapped sentence may continue with a name and a colon.
            begins = name and (every or times[name] > 1 or not _CONTINUES.fullmatch(before))
            if begins or (one_each and _CLOSED.search(before)):
                turns.append("\n".join(turn))
                turn = []
            turn.append(line)
        turns.append("\n".join(turn))
    return turns


def _name_before_colon(line: str) -> str:
    found = _TURN.match(line)
    words = found[1].split() if found and line.startswith(":", found.end(1)) else []
    is_name = all(
        word.lstrip("(“\"'")[:1].isupper() or word.isdigit() or word in _SMALL_WORDS_OF_NAMES
        for word in words
    )
    return " ".join(words) if is_name else ""


def _with_speakers(blocks: Iterable[str]) -> list[str]:
    """Return the speeches of a transcript; a speaker on a line of its own precedes the speech, with a colon."""
    lines = [[one_line(line) for line in block.split("\n")] for block in blocks]
    opening = Counter(first for first, *rest in lines if rest)
    seated = {first for first, *rest in lines if rest and _SEAT.fullmatch(rest[0])}

    def is_speaker(line: str) -> bool:
        # A name without a title, "Ana DÍAZ (Leeds)", opens several speeches, or has its seat below.
        named = (line in seated or opening[line] >= _FEWEST_SPEAKERS) and line[-1] not in ".!?,;"
        named = named and all(
            word.lstrip("(")[:1].isupper() or word in _SMALL_WORDS_OF_NAMES for word in line.split()
        )
        return len(line) <= _LONGEST_SPEAKER and (named or _SPEAKER.fullmatch(line) is not None)

    apart = sum(is_speaker(own[0]) for own in lines) >= _FEWEST_SPEAKERS
    speeches: list[str] = []
    speaker = ""
    for first, *rest in lines:
        said = [first, *rest]
        if apart and is_speaker(first):
            seat = rest[:1] if first in seated and rest and _SEAT.fullmatch(rest[0]) else []
            speaker, said = " ".join([first.rstrip(":."), *seat]), rest[len(seat) :]
        if said:
            speeches.append(" ".join([f"{speaker}:", *said] if speaker else said))
            speaker = ""
    return speeches


def _without_print(speeches: Sequence[str]) -> tuple[str, ...]:
    """Return speeches without traces of a printed page: numbers of columns, cut words, typed quotes and fractions."""
    plain = (_TYPED_FRACTION.sub(r"\1 \2", _TYPED_QUOTE.sub(r"“\1”", speech)) for speech in speeches)
    return tuple(without_columns(unbroken(list(plain))))


def _read_canadian_xml(file: Path) -> Iterator[tuple[str, Debate]]:
    """Read the edited Hansard of the Canadian House of Commons; a turn without a speaker continues the one before."""
    require("build", f"{file}: reading XML", "lxml")
    from lxml import etree

    # Some files declare an encoding that strict parsers refuse, but the text is decoded already.
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
        who = one_line("".join(part for name in turn.iter("PersonSpeaking") for part in name.itertext()))
        said = one_line(" ".join("".join(paragraph.itertext()) for paragraph in turn.iter("ParaText")))
        if said and (who or not speeches):
            speeches.append(f"{who.rstrip(': ')}: {said}" if who else said)
        elif said:
            speeches[-1] += f" {said}"
    titles = [item.text or "" for item in root.iter("ExtractedItem") if item.get("Name") == "MetaTitleEn"]
    yield (
        str(file),
        Debate(stem_of(file), one_line("".join(titles[:1])) or stem_of(file), tuple(speeches)),
    )


# Numbers of columns inside sentences: "It is for the board 7 to say".

_COUNTED = (
    "per cent|million|billion|thousand|hundred|years?|months?|weeks?|days?|hours?|"
    "January|February|March|April|May|June|July|August|September|October|November|December"
)
# A number between two words of a sentence that counts nothing and is not in a list of numbers.
_BARE_NUMBER = re.compile(
    r"(?<=[\w,;:.?!)’'\"-] )(?<!No\. )(?<!\d, )\d{1,4} (?!(?:and|or|to) \d)"
    rf"(?!(?:{_COUNTED})\b)(?=[A-Za-z(“\"'£])"
)
_COLUMN_LENGTHS = tuple(round(800 * 1.25**step) for step in range(14))  # characters, from 800 to 14,500
_SHORTEST, _LONGEST = 0.5, 1.6  # shares of a column's length between neighbouring numbers
_MOST_MISSING = 4  # columns without a number in the text
_MOST_TRIED = 32  # equal numbers before another; text with more of them is a table
_FEWEST_COLUMNS = 10  # fewer numbers in order may be chance
_LEAST_FOUND = 0.5  # share of the columns from the first to the last number that have one


def without_columns(speeches: Sequence[str]) -> list[str]:
    """Return speeches without the numbers of columns in their sentences.

    Such numbers count up by one at about equal distances through the whole debate. Without such a run nothing is removed.
    """
    starts = accumulate(map(len, speeches), initial=0)
    found = [
        (start + match.start(), int(match[0]), place, match.span())
        for place, (start, speech) in enumerate(zip(starts, speeches, strict=False))
        for match in _BARE_NUMBER.finditer(speech)
    ]
    numbers = [(at, value) for at, value, _, _ in found]
    run = max((_longest_run(numbers, length) for length in _COLUMN_LENGTHS), key=len)
    if len(run) < _FEWEST_COLUMNS or len(run) < _LEAST_FOUND * (found[run[-1]][1] - found[run[0]][1] + 1):
        return list(speeches)
    cuts: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for before, number, after in zip([-1, *run], run, [*run[1:], len(found)], strict=False):
        _, value, place, span = found[number]
        # If the text has the same number again, either may be the column's.
        if sum(other == value for _, other, _, _ in found[before + 1 : after]) == 1:
            cuts[place].append(span)
    return [without_spans(speech, cuts[place]) for place, speech in enumerate(speeches)]


def _longest_run(numbers: Sequence[tuple[int, int]], length: int) -> list[int]:
    """Return the indices of the longest run of numbers, each with its offset, that count columns of ``length`` characters."""
    by_value: dict[int, list[int]] = defaultdict(list)
    # Length of the longest run that ends with each number, and the number before it.
    best: list[tuple[int, int]] = []
    for index, (at, value) in enumerate(numbers):
        before = []
        for step in range(1, _MOST_MISSING + 1):
            same = by_value[value - step]
            last = bisect_right(same, at - _SHORTEST * length * step, key=lambda other: numbers[other][0])
            near = same[max(0, last - _MOST_TRIED) : last]
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
