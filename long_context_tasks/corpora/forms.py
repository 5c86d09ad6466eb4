"""Distinguish novels from letters, plays and verse, which Ada-LEval leaves out (section 3.2 of the paper)."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, takewhile

from long_context_tasks.corpora.headings import Heading, plain
from long_context_tasks.corpora.printed_text import Block, ends_paragraph, is_prose
from long_context_tasks.schema.files import packaged_yaml

# Letters. Only the marks of English letters are known.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = rf"(?i:{'|'.join(_MONTHS)})\w*"
_DATE = re.compile(
    r"[\W_]*(?:[A-Z][\w.’' ]{1,30}[,.] )?(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)\w*,? )?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?,? (?:of )?{_MONTH}|{_MONTH}\.? \d{{1,2}}\b)"
)
_SALUTATIONS = (
    r"(?i:(?:(?:my|our|most) )?(?:(?:very|ever|own) )*(?:dear(?:est)?|honou?red|beloved))\b[^.?!]{0,50}[,:;—!-]",
    r"(?:Sir|Madam|Gentlemen|Monsieur|Reverend Sir)[,:;—]",
)
_FAREWELLS = (
    r"(?:ever |sincerely |faithfully )?yours\b",
    r"your (?:\w+,? ){1,5}(?:friend|servant|brother|sister|son|daughter|mother|father|cousin)\b",
    r"(?:i (?:am|remain)|believe me|adieu|farewell)\b[^.?!]{0,80}(?:,|\bservant|\byours\b)",
)
_SALUTATION = re.compile(rf"_?(?:{'|'.join(_SALUTATIONS)})")
_FAREWELL = re.compile(rf"_?(?:{'|'.join(_FAREWELLS)})", re.IGNORECASE)
_BEGINS_SALUTATION = frozenset("_MODHBSGRVEmodhbve")  # looking at a letter is faster than a pattern
_LETTER_TITLE = re.compile(
    r"\b(?:letters?|journal|diary|epistle)\b|^(?:to|from) the\b|(?:^from|\bto) (?:mrs?|miss|sir|lady|lord|dr|the same)\b",
    re.IGNORECASE,
)
_MOST_LETTERS = 0.4  # of the chapters
_MOST_LETTER_MARKS = 8  # in ten thousand words
_MARKS_OF_PHRASE = 3  # that a salutation or a farewell counts for; a date counts for one
_MOST_FAREWELL = 120  # characters
_MOST_TITLE_WORDS = 12  # longer ones tell the events of a chapter, sometimes of letters

# Plays. A cue is the name of a speaker, in any script, before a full stop, a colon, a dash or a direction, or alone on a line.
_MARKUP = " \t_=*~+·\x00"
_TITLES = "mrs?|ms|dr|ste?|mme|mlle|mm?|frl?|hr|sra?|srta|prof|rev|capt|col|gen|lt|sgt"
_NAME = rf"(?P<name>(?i:(?:(?:{_TITLES})\. )*)[^\W_](?:[^.:;!?()\[\]«»“”„\"=*—–_,\t ]| (?! )){{0,45}}?)"
_DIRECTION = r"(?:\s*,?\s*_?[(\[][^)\]]*[)\]]_?(?P<directed>))?"
_CUE = re.compile(
    rf"[{_MARKUP}]*{_NAME}(?P<markup>[_=*·]*){_DIRECTION}"
    r"(?P<rest>\s*$|\s*[.:,—–]|\s*--|\s-\s|\t|  |(?<=[_=*·\])]) )"
)
_BRACKETED_CUE = re.compile(  # "(Philip.) Well?"
    r"\s*[(\[]_?(?P<name>[^\W\d_][^()\[\]:;!?]{1,40})[.:]_?[)\]]\s+\S"
)
_LONGEST_LINE = 200  # characters in which a cue is looked for
_LONGEST_DIRECTION = 100  # characters
_MOST_NAME_WORDS = 5
_FEWEST_SPEECHES_OF_ONE = 4
_MOST_SPEECHES = 0.4  # of the blocks
_MOST_SPEAKING_LINES = 0.075  # of the lines of a work without blank lines between speeches
_LINES_OF_SPEECH = 12  # of a block, on average, from which blank lines do not separate the speeches
_MOST_NARRATED = 0.33  # of the words between the first speech and the last
_FEWEST_STAGED, _MOST_STAGED = 3, 0.5  # acts and scenes, and their share of the headings
_FEWEST_NARRATED = 150  # words between speeches; the further paragraphs of a speech have fewer

# Verse.
_NOTE = re.compile(
    r"\W*(?:\d{1,4}\b(?!,\d)|(?:lines?|ll?|vv?|verse|stanza|note|vers|verso|verset|zeile|canto)\b\.? ?\d)",
    re.IGNORECASE,
)
_MOST_VERSE = 0.35  # of the words of blocks whose form is visible
_MOST_ANNOTATED_VERSE, _MOST_NOTES = 0.1, 0.25  # of these words, if many of the other blocks are notes
_BEFORE_VERSE = " \t\"'“‘«„(_—-"
_SHORTEST_PARAGRAPH = 110  # characters of a line; verse is shorter
_RAGGED = 7  # characters by which lines of prose may miss the width of the page
_NARROW = 60  # characters of a page; no page of prose is narrower
_STOPS = ".,;:!?—»”"
# Shares of the lines of a block: those that fill the page, in verse; those that begin with a capital, in verse; those that end in
# punctuation, in narrow prose. The last three recognise prose whose lines were broken by hand.
_MOST_FILLED, _LEAST_CAPITALS, _MOST_STOPPED = 0.5, 0.8, 0.45
_FEWEST_BREAKS, _RAGGED_SMALL, _RAGGED_STOPPED = 3, 0.7, 0.3


def form_of(
    blocks: Sequence[Block], part: Sequence[Block], story: Sequence[Block], headings: Sequence[Heading]
) -> str:
    """Return the form of a work: "novel", "letters", "play" or "verse". Collections of prose are novels.

    Args:
        blocks: the whole text, because names of speakers may look like headings, and the story like a preface.
        part: the blocks from the beginning to the end of the story.
        story: those of them that are kept.
        headings: the headings of the story.
    """
    words = sum(block.size for block in story)
    if not words:
        return "novel"
    if _is_play(blocks) or _is_staged(blocks, headings):
        return "play"
    if _is_verse(part):
        return "verse"
    marks = sum(map(_letter_marks, story))
    letters = sum(map(_is_letter, headings))
    many = len(headings) > 4 and letters >= _MOST_LETTERS * len(headings)
    return "letters" if many or 10_000 * marks >= _MOST_LETTER_MARKS * words else "novel"


def _is_letter(heading: Heading) -> bool:
    short = len(heading.title.split()) <= _MOST_TITLE_WORDS
    return (
        heading.style == "letter"
        or heading.style[:3].title() in _MONTHS
        or (short and _LETTER_TITLE.search(heading.title) is not None)
    )


def _letter_marks(block: Block) -> int:
    """Return how strongly a block suggests the beginning or the end of a letter."""
    text = block.text
    if (text[0] in _BEGINS_SALUTATION and _SALUTATION.match(text)) or (
        len(text) < _MOST_FAREWELL and text[0].isalpha() and _FAREWELL.match(text)
    ):
        return _MARKS_OF_PHRASE
    return bool(_DATE.match(text))


def _is_play(blocks: Sequence[Block]) -> bool:
    """Return whether most blocks, or many lines, begin with the name of a frequent speaker."""
    cues = [_cue(block.lines[0]) for block in blocks]
    names = _frequent_names(cues)
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
        elif not _is_direction(block) and not _is_entry(block):
            others += 1
    if speeches and speeches >= _MOST_SPEECHES * (speeches + others):
        return not _is_narrated(blocks, said)
    lines = [line for block in blocks for line in block.lines]
    if len(lines) < _LINES_OF_SPEECH * len(blocks):
        return False
    cues = [_cue(line) for line in lines]
    names = _frequent_names(cues)
    return sum(cue is not None and cue.name in names for cue in cues) >= _MOST_SPEAKING_LINES * len(lines)


def _is_staged(blocks: Sequence[Block], headings: Sequence[Heading]) -> bool:
    """Return whether many headings are of acts and scenes, and a list of persons belongs to them."""
    staged = [k for k, heading in enumerate(headings) if heading.style in ("act", "scene")]
    above = staged[-1] + 1 if staged else 0
    # Below the play, a publisher's list may have headings without numbers.
    others = sum(heading.number is not None for heading in headings[above:])
    many = len(staged) >= max(_FEWEST_STAGED, _MOST_STAGED * (above + others))
    return many and any(plain(block.lines[0]) in _words("casts") for block in blocks)


def _is_narrated(blocks: Sequence[Block], said: Sequence[int]) -> bool:
    """Return whether much text between the speeches is prose, many words at a time."""
    words = sum(block.size for block in blocks[said[0] : said[-1] + 1])
    passages = [
        sum(block.size for block in blocks[a + 1 : b] if is_prose(block) and not _is_direction(block))
        for a, b in pairwise(said)
    ]
    narrated = sum(passage for passage in passages if passage >= _FEWEST_NARRATED)
    return narrated >= _MOST_NARRATED * words


def _is_direction(block: Block) -> bool:
    return block.text.lstrip(_MARKUP)[:1] in ("(", "[")


def _is_entry(block: Block) -> bool:
    """Return whether a block looks like an entry of a vocabulary, which editions for schools print after the play."""
    return block.text[0].islower() and not ends_paragraph(block.text)


@dataclass(frozen=True)
class _Cue:
    """The name of a speaker at the beginning of a line, in lower case, and whether the rest is at most a direction."""

    name: str
    alone: bool = False


def _cue(line: str) -> _Cue | None:
    if match := _BRACKETED_CUE.match(line):
        return _Cue(match["name"].casefold())
    if not line.lstrip(_MARKUP)[:1].isalnum():
        return None
    match = _CUE.match(line[:_LONGEST_LINE])
    return (_cue_with_a_mark(line, match) if match else None) or _cue_in_capitals(line)


def _cue_with_a_mark(line: str, match: re.Match[str]) -> _Cue | None:
    name = " ".join(match["name"].split())
    words = name.split()
    if len(words) > _MOST_NAME_WORDS or not all(map(_is_of_name, words)) or not any(map(str.isalpha, name)):
        return None
    rest = line[match.start("rest") :].strip(_MARKUP)
    if not rest.strip(".:—–-"):
        return _Cue(name.casefold(), alone=True)
    capitals = name.isupper() and len(name) > 1
    directed = match["directed"] is not None or (capitals and rest[0] == ",")
    spaced = capitals and (rest[0] == "-" or match["rest"] in ("\t", "  "))
    if (
        (directed and (len(rest) < _LONGEST_DIRECTION or re.match(r".{0,100}?[.:]", rest)))
        or rest[0] in ".:—–"
        or match["markup"]
        or spaced
    ):
        return _Cue(name.casefold())
    return None


def _cue_in_capitals(line: str) -> _Cue | None:
    """Return a name in capitals before other words: "KING HENRY Come hither"."""
    words = line.strip(_MARKUP).split()
    name = list(takewhile(str.isupper, words[:_MOST_NAME_WORDS]))
    if len("".join(name)) > 1 and len(name) < min(len(words), _MOST_NAME_WORDS):
        return _Cue(" ".join(name).casefold())
    return None


@cache
def _words(kind: str) -> frozenset[str]:
    languages = packaged_yaml("long_context_tasks.corpora", "forms.yaml")[kind]
    return frozenset(" ".join(languages.values()).split())


def _is_of_name(word: str) -> bool:
    first = next(filter(str.isalnum, word), "")
    return (first.isalpha() and not first.islower()) or first.isdigit() or word in _words("particles")


def _frequent_names(cues: Iterable[_Cue | None]) -> set[str]:
    names = Counter(cue.name for cue in cues if cue)
    return {name for name, count in names.items() if count >= _FEWEST_SPEECHES_OF_ONE} - _words("not names")


def _is_verse(blocks: Sequence[Block]) -> bool:
    """Return whether most words are in lines that break before the end of the page, or many are and the rest is notes."""
    ends = sorted(len(line.rstrip()) for block in blocks if len(block.lines) > 2 for line in block.lines[:-1])
    width = ends[int(0.9 * len(ends))] if ends else 0
    verse = prose = notes = others = 0
    for block in blocks:
        if len(block.lines) > 1 and _is_stanza(block, width):
            verse += block.size
            continue
        others += 1
        notes += _NOTE.match(block.text) is not None
        # A single short line may be either.
        if len(block.lines) > 1 or len(block.text) >= _SHORTEST_PARAGRAPH:
            prose += block.size
    total = verse + prose
    annotated = notes >= _MOST_NOTES * others and verse >= _MOST_ANNOTATED_VERSE * total
    return total > 0 and (verse >= _MOST_VERSE * total or annotated)


def _is_stanza(block: Block, width: int) -> bool:
    """Return whether a block of several lines is verse; ``width`` is that of most pages of the text in characters."""
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
        # A stanza of free verse may have no stop at all.
        broken = small >= _RAGGED_SMALL * breaks and stopped <= _RAGGED_STOPPED * breaks
        return breaks < _FEWEST_BREAKS or not broken or not ends_paragraph(lines[-1])
    # Scripts without capitals cannot show verse by them.
    if sum(map(str.isupper, begins)) >= _LEAST_CAPITALS * breaks and (breaks > 2 or filled < breaks):
        return True
    return width < _NARROW and breaks > 1 and stopped >= _MOST_STOPPED * breaks
