"""Look at the paragraphs of books for headings that the reader of books has left, with rules of its own.

A segment that shows the number or the title of its chapter tells its place without being read.
"""

import re
from collections import Counter
from dataclasses import dataclass

from long_context_tasks.corpora.books import Book

_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_TENS = ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC")
_ROMAN = {hundred + ten + one for hundred in ("", "C", "CC") for ten in _TENS for one in _ONES} - {""}
_CARDINALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen "
    "twenty thirty forty fifty sixty seventy eighty ninety"
)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth last"
_SPELLED = set(f"{_CARDINALS} {_ORDINALS}".split())
_KEYWORDS = (
    "chapter|chap|book|part|volume|vol|letter|canto|stave|section|act|scene|adventure|phase|night|tale|episode|"
    "period|narrative|epoch|interlude|epilogue"
)
_LABEL = re.compile(
    rf"\W*(?i:{_KEYWORDS})\.? (?:(?:the|The|THE) )?([A-Za-z]+|\d{{1,3}})(?:-\w+)?"
    r"(?:(?:/\d+)?\W*$|[.:;—–-]\W*[A-Z\d]|:[^.!?]{1,60}$|\s+[A-Z(“])"
)
# "No. II." or "Kapitel 3" alone; a month with a day is a date.
_COUNTED = re.compile(
    r"\W*(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))[A-Z][A-Za-z]{1,14}\.? ([IVXLC]+|\d{1,3})[^\w!?]*$"
)
# A page of a scanned book begins with its number and a title ("46 THE LONG ROAD"), which come again and again.
_PAGE_HEAD = re.compile(r"(?:\d{1,4}\s+)(?P<right>[^\d.!?]{4,60})|(?P<left>[^\d.!?]{4,60})\s+\d{1,4}")
_FEWEST_PAGES = 3
_NAMED = re.compile(
    rf"\W*(?:the )?(?:(?:{_ORDINALS.replace(' ', '|')}) (?:{_KEYWORDS})|prologue|epilogue)(?:[^\w!?]*$|[:—-])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[^\w“\"]*([IVXLC]+|\d{1,3})(?:[^\w!?]*$|[.:)—–-]+\s*([A-Z].*)|\s+([A-Z][^a-z]{3,})$)")
_WORD = re.compile(
    rf"(?:{_CARDINALS.replace(' ', '|')})(?:-(?:{_CARDINALS.replace(' ', '|')}))?", re.IGNORECASE
)
_CLOSING = re.compile(
    rf"\W*(?:the )?end (?:of )?(?:the )?(?:\w+ )?(?:{_KEYWORDS})(?: (?:[ivxlc]+|\d{{1,3}}|{_CARDINALS.replace(' ', '|')}))?\W*",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\(([ivxlc]+)\)")
_QUOTES = "\"'“‘«"
_MOST_WORDS = 15
_MOST_LOWER = 0.7  # of the words of a title behind a number of several digits
_SHORTEST_TITLE = 4


@dataclass(frozen=True)
class Leak:
    """A paragraph that looks like a heading.

    Attributes:
        paragraph: Its index in the book.
        text: Its beginning.
    """

    paragraph: int
    text: str


def find_leaks(book: Book) -> list[Leak]:
    """Return the paragraphs that show a chapter's number, or are the title of a heading that was removed."""
    titles = {_letters(title) for title in book.headings}
    heads = {place: head for place, text in enumerate(book.paragraphs) if (head := _page_head(text))}
    times = Counter(heads.values())
    return [
        Leak(place, text[:60])
        for place, text in enumerate(book.paragraphs)
        if text[0] not in _QUOTES  # somebody speaks
        and (
            _is_label(text)
            or times[heads.get(place, "")] >= _FEWEST_PAGES
            or (len(text) < 200 and len(key := _letters(text)) >= _SHORTEST_TITLE and key in titles)
        )
    ]


def _page_head(text: str) -> str:
    """Return the letters of what may be the head of a page; empty for other paragraphs."""
    numbered = len(text) < 70 and (text[:1].isdigit() or text[-1:].isdigit())
    found = _PAGE_HEAD.fullmatch(text) if numbered else None
    return _letters(found["right"] or found["left"]) if found else ""


def _is_label(text: str) -> bool:
    if found := _LABEL.match(text[:100]):
        return _counts(found[1])
    if _NAMED.match(text[:40]) or _WORD.fullmatch(text) or _CLOSING.fullmatch(text[:80]):
        return True
    if found := _COUNTED.match(text[:40]) or _BRACKETED.fullmatch(text):
        return _counts(found[1])
    found = _NUMBER.match(text[:200])
    if not found or not _counts(found[1]):
        return False
    title = found[2] or found[3]
    if title is None or title.isupper():
        return True
    words = title.split()
    lower = sum(word[0].islower() and len(word) > 3 for word in words)
    # A capital and a stop may be somebody's initial.
    few = _MOST_LOWER if len(found[1]) > 1 else 1 / 3
    return len(words) < _MOST_WORDS and title[-1] not in ".,;!?’”\"'" and lower <= few * len(words)


def _counts(word: str) -> bool:
    return word.isdigit() or word.upper() in _ROMAN or word.lower() in _SPELLED


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()
