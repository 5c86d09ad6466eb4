"""Find paragraphs that reveal the order of a book without being read.

Some remain even after the book reader has removed headings. There are three kinds: lines with a chapter's
number or title, series of numbers that rise from paragraph to paragraph (headings of an unknown form, page
numbers, running heads), and the dates of letters and diaries.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from statistics import median

from long_context_tasks.corpora.books import Book
from long_context_tasks.corpora.headings import (
    Numbered,
    any_keyword,
    count_in,
    folded,
    leading_number,
    months,
    numeral_at,
    plain,
    read,
    readings,
    series_in,
    weekdays,
)
from long_context_tasks.corpora.printed_text import QUOTES
from long_context_tasks.schema import InputError

# A paragraph that begins with one of these is dialogue, not a heading.
_QUOTES = "\"'“‘«„»"
# Dialogue begins with a dash in several languages, but so do some headings.
_DASHES = "-–—"
# In characters: a longer paragraph is prose that begins with a number.
_MOST_LINE = 120
_MOST_WORDS = 15
# Above this, a number on its own is a year or an amount rather than a chapter.
_HIGHEST = 399
# Share of lower-case words; titles capitalize most words.
_MOST_LOWER = 0.7
# Titles of a few letters ("Tea") occur as paragraphs of the story.
_SHORTEST_TITLE = 4
# Running heads recur; a page number before a title may occur once by chance.
_FEWEST_PAGES = 3
_MOST_HIDDEN = 0.2
_FEWEST_TENTHS = 3
_CLOSING = re.compile(r"(?:the )?end (?:of )?(?P<label>\w.*)", re.IGNORECASE)
_STORY = re.compile(r"\W*(?:the )?(?:prologue|epilogue)(?:[^\w!?]*$|[:—-])", re.IGNORECASE)
_AFTER_KEYWORD = re.compile(r"(?:/\d+)?\W*$|:[^.!?]{1,60}$|\s+[(“]|(?:[.:;—–-]\W*|\s+)(?P<next>\w)")
_AFTER_NUMBER = re.compile(r"[^\w!?]*$|[.:)—–-]+\s*(?P<title>[^\W\d_].*)|\s+(?P<shouted>[A-Z][^a-z]{3,})$")
# "Night II." on its own or with a title; a month with a day is a date, and 'Said I: "But' is speech.
_COUNTED = re.compile(
    r"\W*(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))[^\W\d_a-z][^\W\d_]{1,14}\.? "
    r"(?!I: ?[\"“‘«„])(?=[IVXLC\d])(?P<number>\w+)(?:[^\w!?]*$|[.:—–-]\W*[A-Z])"
)
_DIGITS = re.compile(r"\d+")
# Digits next to these are parts of other numbers, dates with slashes, times or amounts.
_NOT_BEFORE = frozenset(".,:/-–$£€")
_NOT_AFTER = re.compile(r"[\w:/%-]|[.,]\d")
_BEFORE = "[(§—–-_ "
_INSIDE = "within paragraphs"
_LEADING = ("arabic #", "roman #")
_MOST_BETWEEN_ITEMS = 4  # paragraphs from an item of a list to the next
# Minimum number of members of a series, by shape. Page numbers form long series, and numbers without a word
# next to them are frequent.
_FEWEST_COUNTED = {_INSIDE: 8, "arabic": 4, "roman": 4, "word": 4}
_FEWEST = 3
# Share of the numbers with one shape that must be in the series.
_SHARE = 0.6
# Median number of words between members; list items are closer together.
_APART = 100

# Running heads of a scanned page: "46 THE LONG ROAD" or "THE LONG ROAD 47". OCR misreads capitals: "THE L0NG
# R0AD 47".
_HEAD = re.compile(
    r"\[?(?P<page>\d{1,4})\]? (?P<right>\D.{3,59})|(?P<left>.{3,59}\D) \[?(?P<number>\d{1,4})\]?"
)
_NO_TITLE = re.compile(r"[\d.!?]")
_MOST_HEAD = 70  # characters
_CAPITALS = 0.7  # of the letters
_FEWEST_CAPITALS = 4
_OF_PAGES = "0123456789[]"
# Dates.
_DATE_QUOTES = QUOTES + "„"
_LONGEST_DATE = 90  # characters in a paragraph that is a date, with its place
_DAY = r"(?<!\d)\d{1,2}(?:[^\W\d]{1,2}\b|[.:]?[ºª°]|:[ae]\b)?(?!\d)"  # "3", "3rd", "3.º", "3:e"
_OF = r"\W{1,3}(?:(?:of|de|di|d)\W{1,3})?"
_YEAR = r"\d{2}(?:\d\d|-+)"  # "1815", "18--"
_PLACE = r"[\W_]*(?P<before>(?:[^\W\d_][^!?;:]{0,45}?\W+?)?[\W_]*)"  # a place, a weekday or an article
_CLOSED = re.compile(r"[\"”»«“](?!\w)")
_BEFORE_DATE = re.compile(r"(?:.*[,.] |)(?:\w+[,.]? ){0,2}$", re.DOTALL)
_AFTER_DATE = re.compile(r"[.,:;_)\]]*\s?[—–_-]|[.:_)\]]+\s|[^\w]*$")


@dataclass(frozen=True)
class Leak:
    """A paragraph that reveals its position."""

    paragraph: int  # index in the book
    text: str  # its beginning, or its number with the surrounding words
    counted: bool = False  # whether it is a member of a series of numbers
    told: bool = False  # whether it is part of the story: begins with a date, or is an item of a list


def find_leaks(book: Book) -> list[Leak]:
    """Return the paragraphs with a chapter number, a removed heading's title, a date or a series number."""
    dated = {
        place: Leak(place, text[:60], told=True)
        for place, text in enumerate(book.paragraphs)
        if _is_dated(text)
    }
    # A line that occurs often is no title but the name of a speaker.
    repeated = Counter(map(_letters, book.paragraphs))
    titles = {key for key in map(_letters, book.headings) if repeated[key] < _FEWEST_PAGES}
    # Pages in a scanned book begin with their number and a title ("46 THE LONG ROAD"), some of them misread.
    heads = {
        place: "in capitals" if _is_shouted(text) else head[0]
        for place, text in enumerate(book.paragraphs)
        if (head := _head_of(text))
    }
    times = Counter(heads.values())
    labelled = {
        place: Leak(place, text[:60])
        for place, text in enumerate(book.paragraphs)
        if text[0] not in _QUOTES
        and (
            _is_label(text)
            or times[heads.get(place, "")] >= _FEWEST_PAGES
            or (
                text[0] not in _DASHES
                and len(text) < 200
                and len(key := _letters(text)) >= _SHORTEST_TITLE
                and key in titles
            )
        )
    }
    return sorted((labelled | _series(book, dated) | dated).values(), key=lambda leak: leak.paragraph)


def in_two_parts(borders: Sequence[int], leaks: Iterable[Leak]) -> bool:
    """Return whether at least two parts of a case, with borders counted in paragraphs, show a leak."""
    return len({bisect_right(borders, leak.paragraph) for leak in leaks} - {0, len(borders)}) > 1


def refuse_headings(book: Book, headings: Sequence[Leak], hidden: int, total: int, task: str) -> None:
    """Check that few of a book's cases were dropped because of headings.

    If many were, the book reader did not recognize the headings. Fails if, over at least three tenths of the
    book, any case shows a rising series of numbers or 20 % of cases show an apparent heading. ``hidden`` of
    ``total`` cases show headings in two parts.
    """
    series = [leak for leak in headings if leak.counted]
    for shown, most, what in (
        (series, 0, "numbers that rise"),
        (headings, _MOST_HIDDEN * total, "what looks like a heading"),
    ):
        # A list in one place is part of the story.
        tenths = {10 * leak.paragraph // len(book.paragraphs) for leak in shown}
        if hidden > most and len(tenths) >= _FEWEST_TENTHS:
            seen = "; ".join(f"paragraph {leak.paragraph + 1}: {leak.text!r}" for leak in shown[:3])
            raise InputError(
                f"{book.id}: {hidden} of {total} cases of {task} show {what} ({seen}), which "
                "tells the order of segments; remove these lines from the file, or the file from the folder"
            )


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _is_label(text: str) -> bool:
    line = text[:_MOST_LINE].lstrip(_BEFORE)
    closing = _CLOSING.fullmatch(text.strip("[]() "))
    number = read(closing["label"] if closing else line)
    if number is None or closing:
        counted = _COUNTED.match(text) if text[0] not in _DASHES else None
        return bool(
            _STORY.match(text) or (number and number.keyword) or (counted and numeral_at(counted["number"]))
        )
    rest = line[number.end :]
    if number.keyword:
        after = _AFTER_KEYWORD.match(rest)
        goes_on = after is None or (after["next"] or "A").islower()
        return not goes_on and not (number.rare and re.search(r"\w", rest))
    if number.kind == "word":
        return not rest and line == text
    if number.kind == "lower roman":
        return text[0] == "(" and rest == ")"
    beside = _AFTER_NUMBER.match(rest)
    return number.value <= _HIGHEST and beside is not None and _may_be_title(beside, number)


def _may_be_title(beside: re.Match[str], number: Numbered) -> bool:
    title = beside["title"] or beside["shouted"]
    if title is None or title.isupper():
        return True
    if title[0].islower():
        return False
    words = title.split()
    lower = sum(word[0].islower() and len(word) > 3 for word in words)
    # A capital and a full stop may be an initial.
    few = _MOST_LOWER if number.end > 1 else 1 / 3
    return len(words) < _MOST_WORDS and title[-1] not in ".,;!?’”\"'" and lower <= few * len(words)


def _series(book: Book, dated: Container[int]) -> dict[int, Leak]:
    """Return the members of every series of numbers that rises through a book, by paragraph."""
    shapes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for place, text in enumerate(book.paragraphs):
        for shape, value, shown in () if place in dated else _numbers(text):
            shapes[shape].append((place, value, shown))
    words = [0, *accumulate(text.count(" ") + 1 for text in book.paragraphs)]
    members: dict[int, Leak] = {}
    items: dict[int, Leak] = {}
    for shape, same in shapes.items():
        if shape in _LEADING:
            for (a, value, shown), (b, following, _) in pairwise(same):
                if following == value + 1 and b - a <= _MOST_BETWEEN_ITEMS:
                    items |= {a: Leak(a, shown, told=True), b: Leak(b, book.paragraphs[b][:60], told=True)}
        values = [value for _, value, _ in same]
        # Words and initials look like bare numbers, but not like those with a keyword.
        counted = series_in(values) if shape in _LEADING else count_in(values, again=shape != _INSIDE)
        # Front and back matter have other numbers than the pages in between.
        of = counted[-1] + 1 - counted[0] if shape == _INSIDE else len(same)
        few = shape not in _LEADING and len(counted) < _SHARE * of
        if few or len(counted) < _FEWEST_COUNTED.get(shape.partition(" #")[0], _FEWEST):
            continue
        places = [same[i][0] for i in counted]
        if median(words[b] - words[a] for a, b in pairwise(places)) >= _APART:
            members |= {same[i][0]: Leak(same[i][0], same[i][2], counted=True) for i in counted}
    return items | members


def _numbers(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield a paragraph's numbers that may belong to a series: shape, value, and the text to show."""
    for digits in _DIGITS.finditer(text):
        before = text[digits.start() - 1 : digits.start()]
        if (
            len(digits[0]) > 4
            or before.isalpha()
            or before in _NOT_BEFORE
            or _NOT_AFTER.match(text, digits.end())
        ):
            continue
        yield _INSIDE, int(digits[0]), text[max(0, digits.start() - 25) : digits.end() + 25]
    if text[0] in _QUOTES:
        return
    short = len(text) <= _MOST_LINE
    if short:
        for shape, found in readings(text):
            yield shape, found.value, text
    if number := leading_number(text[:_MOST_LINE].lstrip(_BEFORE)):
        yield f"{number.keyword or number.kind} #", number.value, text[:60]


def _head_of(text: str) -> tuple[str, int] | None:
    """Return the letters and number of a line that may be a running head."""
    if len(text) > _MOST_HEAD or not (text[0] in _OF_PAGES or text[-1] in _OF_PAGES):
        return None
    match = _HEAD.fullmatch(text)
    if match is None:
        return None
    title = match["right"] or match["left"]
    # "Kapitel 3" is a heading.
    if " " not in title or any_keyword(title) or (_NO_TITLE.search(title) and not _is_shouted(title)):
        return None
    return plain(title), int(match["page"] or match["number"])


def _is_shouted(text: str) -> bool:
    """Return whether most letters in a short line are capitals."""
    capitals = sum(map(str.isupper, text))
    return capitals >= max(_FEWEST_CAPITALS, _CAPITALS * sum(map(str.isalpha, text)))


@cache
def _date() -> re.Pattern[str]:
    month = rf"\b(?:{'|'.join(sorted(months()))})\b"
    forms = (rf"{_DAY}{_OF}{month}", rf"{month}\W{{1,3}}(?:the )?(?:{_DAY}|{_YEAR})")
    year = rf"(?:,? (?:(?:de|del|anno) )?{_YEAR})?"
    return re.compile(rf"{_PLACE}(?:{'|'.join(forms)}){year}(?P<rest>.*)$", re.DOTALL)


@cache
def _weekday() -> re.Pattern[str]:
    day = rf"\b(?:{'|'.join(sorted(weekdays()))})\b"
    return re.compile(rf"(?:\w{{2,3}} )?{day}(?:\W{{1,3}}(?:{_DAY}|[^\W\d]+))?[^\w!?]*$")


def _is_dated(text: str) -> bool:
    """Return whether a paragraph is a date, perhaps with a place, or begins with one as diaries do.

    >>> [_is_dated(text) for text in ("16 października.", "Baskerville Hall, 13 October", "#Marzo 18--#", "« Le 18 mai. »")]
    [True, True, True, True]
    >>> [_is_dated(text) for text in ("af Aggershus Slot, 12 Decembris 1665.", "»Die 27. Septembris.")]
    [True, True]
    >>> [_is_dated(text) for text in ("Wednesday.", "_Jueves 14._", "Monday evening.", "Monday! And nobody came.", "“Monday.”")]
    [True, True, True, False, False]
    >>> [_is_dated(text) for text in ("On the 3rd of May they left the house, and nobody saw them.", "“He came on May 3.”")]
    [True, False]
    >>> _is_dated("On the 3rd of May they left the house, and nobody saw them again before the snow was gone, and the road free.")
    False
    """
    line = folded(text[: 2 * _LONGEST_DATE]).strip("_#*=~ ")
    match = _date().match(line)
    if match is None:
        return _weekday().match(line) is not None
    begins = bool(_BEFORE_DATE.match(match["before"]) and _AFTER_DATE.match(match["rest"]))
    # Single quotation marks count only at the end; elsewhere they may be apostrophes.
    ending = re.split(r"\w", text[1:])[-1]
    if text[0] in _DATE_QUOTES and (_CLOSED.search(text, 1) or "’" in ending or "'" in ending):
        # Characters mention dates too; only an open quotation mark shows that a letter continues below.
        return begins and match["rest"].lstrip()[:1] not in ("?", "!")
    asked = set("!?") & set(match["rest"].lstrip(" .,;:)]!?"))
    return (len(text) <= _LONGEST_DATE and not asked) or begins
