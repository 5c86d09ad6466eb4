"""Tell novels from letters, plays and verse: Ada-LEval leaves epistolary works and poetry out (section 3.2 of the paper)."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from long_context_tasks.corpora.headings import Block, Heading, is_prose

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DAYS = "Mon|Tues|Wednes|Thurs|Fri|Satur|Sun"
_DATE = re.compile(
    rf"[\W_]*(?:[A-Z][\w.’' ]{{1,30}}[,.] )?(?:(?:{_DAYS})\w*,? )?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?,? (?:of )?(?i:{_MONTHS})\w*|(?i:{_MONTHS})\w*\.? \d{{1,2}}\b)",
)
_SALUTATION = re.compile(
    r"_?(?i:(?:(?:my|our|most) )?(?:(?:very|ever|own) )*(?:dear(?:est)?|honou?red|beloved))\b[^.?!]{0,50}[,:;—!-]"
    r"|_?(?:Sir|Madam|Gentlemen|Monsieur|Reverend Sir)[,:;—]"
)
_FAREWELL = re.compile(
    r"_?(?:(?:ever |sincerely |faithfully )?yours\b|your (?:\w+,? ){1,5}(?:friend|servant|brother|sister|son|daughter|mother|father|cousin)\b"
    r"|(?:i (?:am|remain)|believe me|adieu|farewell)\b[^.?!]{0,80}(?:,|\bservant|\byours\b))",
    re.IGNORECASE,
)
_LETTER_TITLE = re.compile(
    r"\b(?:letters?|journal|diary|epistle)\b|^(?:to|from) the\b|(?:^from|\bto) (?:mrs?|miss|sir|lady|lord|dr|the same)\b",
    re.IGNORECASE,
)
# Who speaks, in any script: a name, then a full stop, a colon, a dash or a direction, or nothing else on the line.
_TITLED = r"(?:(?:mrs?|ms|dr|ste?|mme|mlle|mm?|frl?|hr|sra?|srta|prof|rev|capt|col|gen|lt|sgt)\. )*"
_MARKUP = " \t_=*~+\x00"
_CUE = re.compile(
    rf"[{_MARKUP}]*(?P<name>(?i:{_TITLED})[^\W_](?:[^.:;!?()\[\]«»“”„\"=*—–_,\t ]| (?! )){{0,45}}?)(?P<markup>[_=*]*)"
    r"(?:\s*,?\s*_?[(\[][^)\]]*[)\]]_?(?P<directed>))?(?P<rest>\s*$|\s*[.:,—–]|\s*--|\s-\s|\t|  |(?<=[_=*\])]) )"
)
# "(Philip.) Well?": the name of a speaker in brackets, before what is said.
_BRACKETED = re.compile(r"\s*[(\[]_?(?P<name>[^\W\d_][^()\[\]:;!?]{1,40})[.:]_?[)\]]\s+\S")
_LONGEST_LINE = 200  # characters in which a cue is looked for
_LONGEST_CUE = (
    100  # characters of a line with nothing but a name and a direction, or of a direction after a name
)
_MOST_NAME_WORDS = 5
_PARTICLE = re.compile(
    "de|da|do|dos|del|della|di|du|des|der|die|das|den|dem|van|von|zu|of|the|and|or|y|e|et|und|och|i|av|af|til|og|el|la|le|los|las"
)
_NO_NAMES = re.compile(
    "mr|mrs|ms|dr|st|m|mme|sir|yes|no|oh|ah|well|chapter|ja|nein|nej|oui|non|si|sí|sim|да|нет|ну|ach|and|but|the|it|he|she|i"
)

_BEFORE_VERSE = " \t\"'“‘«„(_—-"
_NOTE = re.compile(
    r"\W*(?:\d{1,4}\b(?!,\d)|(?:lines?|ll?|vv?|verse|stanza|note|vers|verso|verset|zeile|canto)\b\.? ?\d)",
    re.IGNORECASE,
)

# Shares of what a text has that is wholly of that form, or nearly.
MOST_SPEECHES = 0.4  # of the blocks
MOST_NARRATED = 0.4  # of the words between the first speech and the last
MOST_SPEAKING_LINES = 0.075  # of the lines of a work without blank lines between speeches
MOST_VERSE = 0.35  # of the words of blocks whose form shows
MOST_ANNOTATED_VERSE = 0.1  # of these words, if many blocks of the rest are notes
MOST_NOTES = 0.25
MOST_LETTERS = 0.4  # of the chapters
MOST_LETTER_MARKS = 8  # in ten thousand words: a date is one, a salutation or a farewell counts thrice
_MARKS_BY_NAME = 3
_MOST_FAREWELL = 120  # characters
_BEGINS_SALUTATION = frozenset("_MODHBSGRVEmodhbve")  # a look at a letter is faster than a pattern
_FEWEST_SPEECHES_OF_ONE = 4
_FEWEST_TOLD = 2  # paragraphs between speeches; a speech may have some too
_LINES_OF_SPEECH = 12  # of a block, on average: more show that no blank lines part the speeches
_SHORTEST_PARAGRAPH = 110  # characters of a line that is longer than verse
_RAGGED = 7  # characters by which lines of prose may miss the width of the page
_NARROW = 60  # characters: no page of prose is known to be narrower than about that
# Shares of the lines of a block: those that fill the page in verse, those of verse that begin with a capital, those of narrow
# prose that end in punctuation; and of both, what shows prose whose lines were broken by hand.
_MOST_FILLED, _LEAST_CAPITALS, _MOST_STOPPED = 0.5, 0.8, 0.45
_FEWEST_BREAKS, _RAGGED_SMALL, _RAGGED_STOPPED = 3, 0.7, 0.3
_STOPS = ".,;:!?—»”"
_MOST_TITLE_WORDS = 12  # longer ones tell what happens, now and then in a letter


def form_of(
    blocks: Sequence[Block], part: Sequence[Block], story: Sequence[Block], headings: Sequence[Heading]
) -> str:
    """Return what a work is: "novel", "letters", "play" or "verse"; collections of prose are novels here.

    Args:
        blocks: All of the text: names of speakers may look like headings, and what looks like the story may be a preface.
        part: Those from the beginning to the end of the story.
        story: Those among them that are kept.
        headings: Those of the story.
    """
    words = sum(block.size for block in story)
    if not words:
        return "novel"
    if is_play(blocks):
        return "play"
    if is_verse(part):
        return "verse"
    marks = sum(map(_letter_mark, story))
    titled = sum(
        heading.style == "letter"
        or heading.style[:3].title() in _MONTHS.split("|")
        or (len(heading.title.split()) <= _MOST_TITLE_WORDS and bool(_LETTER_TITLE.search(heading.title)))
        for heading in headings
    )
    if 10_000 * marks >= MOST_LETTER_MARKS * words or (
        len(headings) > 4 and titled >= MOST_LETTERS * len(headings)
    ):
        return "letters"
    return "novel"


def _letter_mark(block: Block) -> int:
    """Return how much a block says that a letter begins or ends."""
    text = block.text
    if (text[0] in _BEGINS_SALUTATION and _SALUTATION.match(text)) or (
        len(text) < _MOST_FAREWELL and text[0].isalpha() and _FAREWELL.match(text)
    ):
        return _MARKS_BY_NAME
    return bool(_DATE.match(text))


def is_play(blocks: Sequence[Block]) -> bool:
    """Return whether most blocks, or many lines, begin with the name of somebody who speaks more than a few times."""
    cues = [_cue(block.lines[0]) for block in blocks]
    names = _frequent(cues)
    speeches = others = 0
    said_below = False
    said: list[int] = []
    for i, (block, cue) in enumerate(zip(blocks, cues, strict=True)):
        if said_below:
            said_below = False
            said.append(i)
        elif cue and cue.name in names:
            speeches += 1
            said_below = cue.alone and len(block.lines) == 1
            said.append(i)
        elif block.text.lstrip(_MARKUP)[:1] not in ("(", "["):
            others += 1
    if speeches and speeches >= MOST_SPEECHES * (speeches + others):
        return not _is_narrated(blocks, said)
    lines = [line for block in blocks for line in block.lines]
    if len(lines) < _LINES_OF_SPEECH * len(blocks):
        return False
    cues = [_cue(line) for line in lines]
    names = _frequent(cues)
    return sum(cue is not None and cue.name in names for cue in cues) >= MOST_SPEAKING_LINES * len(lines)


def _is_narrated(blocks: Sequence[Block], said: Sequence[int]) -> bool:
    """Return whether much of what stands between the first speech and the last one is told, in several paragraphs at a time."""
    words = sum(block.size for block in blocks[said[0] : said[-1] + 1])
    told = sum(
        sum(block.size for block in blocks[a + 1 : b] if is_prose(block))
        for a, b in pairwise(said)
        if b - a > _FEWEST_TOLD
    )
    return told >= MOST_NARRATED * words


@dataclass(frozen=True)
class _Cue:
    """The name of a speaker at the beginning of a line.

    Attributes:
        name: In small letters.
        alone: Whether the line has nothing else but a direction.
    """

    name: str
    alone: bool


def _cue(line: str) -> _Cue | None:
    if found := _BRACKETED.match(line):
        return _Cue(found["name"].casefold(), alone=False)
    if not line.lstrip(_MARKUP)[:1].isalnum():
        return None
    found = _CUE.match(line[:_LONGEST_LINE])
    return (_cue_with_a_mark(line, found) if found else None) or _cue_in_capitals(line)


def _cue_in_capitals(line: str) -> _Cue | None:
    """Return a name in capitals before other words: "KING HENRY Come hither"."""
    words = line.strip(_MARKUP).split()
    name = list(takewhile(str.isupper, words[:_MOST_NAME_WORDS]))
    if len("".join(name)) > 1 and len(name) < min(len(words), _MOST_NAME_WORDS):
        return _Cue(" ".join(name).casefold(), alone=False)
    return None


def _cue_with_a_mark(line: str, found: re.Match[str]) -> _Cue | None:
    name = " ".join(found["name"].split())
    words = name.split()
    if len(words) > _MOST_NAME_WORDS or not all(map(_of_a_name, words)) or not any(map(str.isalpha, name)):
        return None
    rest = line[found.start("rest") :].strip(_MARKUP)
    if not rest.strip(".:—–-"):
        return _Cue(name.casefold(), alone=True)
    capitals = name.isupper() and len(name) > 1
    directed = found["directed"] is not None or (capitals and rest[0] == ",")
    if directed and (len(rest) < _LONGEST_CUE or re.match(r".{0,100}?[.:]", rest)):
        return _Cue(name.casefold(), alone=False)
    if (
        rest[0] in ".:—–"
        or found["markup"]
        or (capitals and (rest[0] == "-" or found["rest"] in ("\t", "  ")))
    ):
        return _Cue(name.casefold(), alone=False)
    return None


def _of_a_name(word: str) -> bool:
    """Return whether a word may be part of a speaker's name: it has a capital or a number, or is small and known."""
    first = next(filter(str.isalnum, word), "")
    return (first.isalpha() and not first.islower()) or first.isdigit() or bool(_PARTICLE.fullmatch(word))


def _frequent(cues: Iterable[_Cue | None]) -> set[str]:
    names = Counter(cue.name for cue in cues if cue)
    return {
        name
        for name, count in names.items()
        if count >= _FEWEST_SPEECHES_OF_ONE and not _NO_NAMES.fullmatch(name)
    }


def is_verse(blocks: Sequence[Block]) -> bool:
    """Return whether most words stand in lines that break where no page ends, or many of them do and the rest is notes."""
    ends = sorted(len(line.rstrip()) for block in blocks if len(block.lines) > 2 for line in block.lines[:-1])
    width = ends[int(0.9 * len(ends))] if ends else 0
    verse = prose = notes = others = 0
    for block in blocks:
        if len(block.lines) > 1 and _is_stanza(block, width):
            verse += block.size
            continue
        others += 1
        notes += _NOTE.match(block.text) is not None
        # A short line alone may be either.
        if len(block.lines) > 1 or len(block.text) >= _SHORTEST_PARAGRAPH:
            prose += block.size
    total = verse + prose
    annotated = notes >= MOST_NOTES * others and verse >= MOST_ANNOTATED_VERSE * total
    return total > 0 and (verse >= MOST_VERSE * total or annotated)


def _is_stanza(block: Block, width: int) -> bool:
    """Return whether a block is verse.

    Args:
        block: Of two lines or more.
        width: Of most pages of the text, in characters.
    """
    lines = [line.rstrip() for line in block.lines]
    if max(map(len, lines)) > _SHORTEST_PARAGRAPH:
        return False
    breaks = len(lines) - 1
    filled = sum(
        len(line) + 1 + len(below.split(maxsplit=1)[0]) >= width - _RAGGED for line, below in pairwise(lines)
    )
    begins = [line.lstrip(_BEFORE_VERSE)[:1] for line in lines[1:]]
    small = sum(map(str.islower, begins))
    stopped = sum(line[-1] in _STOPS for line in lines[:-1])
    if filled < _MOST_FILLED * breaks:
        return breaks < _FEWEST_BREAKS or small < _RAGGED_SMALL * breaks or stopped > _RAGGED_STOPPED * breaks
    # Scripts without capitals show nothing by them.
    if sum(map(str.isupper, begins)) >= _LEAST_CAPITALS * breaks and (breaks > 2 or filled < breaks):
        return True
    return width < _NARROW and breaks > 1 and stopped >= _MOST_STOPPED * breaks
