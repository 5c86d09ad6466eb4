"""Tell novels from letters, plays and verse: Ada-LEval leaves epistolary works and poetry out (section 3.2 of the paper)."""

import re
from collections import Counter
from collections.abc import Sequence

from long_context_tasks.corpora.headings import Block, Heading

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
_SPEAKER = re.compile(
    r"_?((?:[A-Z][A-Za-z’']*(?![A-Za-z’'])\.? ?){1,3}?)_?(?:\s\([^)]*\)|,? _?\[[^\]]*\]_?)?[.:]_?(?:\s|$)"
)
_SPEAKER_IN_A_COLUMN = re.compile(r"([A-Z][A-Z’' ]+?)(?:\t|  )")
_TITLES = frozenset(
    ["mr", "mrs", "ms", "dr", "st", "m", "mme", "sir", "yes", "no", "oh", "ah", "well", "chapter"]
)

_BEFORE_VERSE = " \t\"'“‘([_—-"

# Shares of what a text has that is wholly of that form, or nearly.
MOST_VERSE = 0.5  # of the words
MOST_SPEECHES = 0.4  # of the blocks
MOST_SPEAKING_LINES = 0.1  # of the lines of a work in verse
MOST_LETTERS = 0.4  # of the chapters
MOST_LETTER_MARKS = 8  # in ten thousand words: a date is one, a salutation or a farewell counts thrice
_MARKS_BY_NAME = 3
_MOST_FAREWELL = 120  # characters
_BEGINS_SALUTATION = frozenset("_MODHBSGRVEmodhbve")  # a look at a letter is faster than a pattern
_FEWEST_SPEECHES_OF_ONE = 5
_MOST_TITLE_WORDS = 12  # longer ones tell what happens, now and then in a letter


def form_of(blocks: Sequence[Block], headings: Sequence[Heading]) -> str:
    """Return what a work is: "novel", "letters", "play" or "verse"; collections of prose are novels here.

    Args:
        blocks: Those of the story, headings left out.
        headings: Those of the story.
    """
    words = sum(block.size for block in blocks)
    if not words:
        return "novel"
    if speeches(blocks) >= MOST_SPEECHES:
        return "play"
    if sum(block.size for block in blocks if is_verse(block)) >= MOST_VERSE * words:
        return "play" if _speaking_lines(blocks) >= MOST_SPEAKING_LINES else "verse"
    marks = sum(map(_letter_mark, blocks))
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


def is_verse(block: Block) -> bool:
    """Return whether nearly every line of a block begins with a capital, as no prose does."""
    if len(block.lines) < 2:
        return False
    others, most = 0, 0.2 * len(block.lines)
    for line in block.lines:
        others += not line.lstrip(_BEFORE_VERSE)[:1].isupper()
        if others > most:
            return False
    return True


def speeches(blocks: Sequence[Block]) -> float:
    """Return the share of blocks that begin with the name of somebody who speaks more than a few times."""
    names = Counter(
        found[1].strip(" .")
        for block in blocks
        if (found := _SPEAKER.match(line := block.lines[0].strip()) or _SPEAKER_IN_A_COLUMN.match(line))
    )
    known = {
        name: count
        for name, count in names.items()
        if name.lower() not in _TITLES
        and count >= (_FEWEST_SPEECHES_OF_ONE if name.isupper() and len(name) > 1 else 20)
    }
    return sum(known.values()) / len(blocks)


def _speaking_lines(blocks: Sequence[Block]) -> float:
    """Return the share of lines that begin with a name of :func:`speeches`: plays in verse may have no line between speeches."""
    lines = [Block((line,), 0) for block in blocks for line in block.lines]
    return speeches(lines)
