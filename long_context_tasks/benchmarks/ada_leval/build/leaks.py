"""Look at the paragraphs of books for headings that the reader of books has left, with rules of its own.

A segment that shows the number or the title of its chapter tells its place without being read.
"""

import re
from dataclasses import dataclass

from long_context_tasks.corpora.books import Book

_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_TENS = ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC")
_ROMAN = {ten + one for ten in _TENS for one in _ONES} - {""}
_SPELLED = {
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "last",
}
_KEYWORDS = (
    "chapter|book|part|volume|vol|letter|canto|stave|section|act|scene|adventure|phase|night|tale|episode"
)
_LABEL = re.compile(
    rf"\W*(?i:{_KEYWORDS})\.? (?:(?:the|The|THE) )?([A-Za-z]+|\d{{1,3}})(?:-\w+)?(?:\W*$|[.:;—–-]+\W*[A-Z]|\s+[A-Z(])"
)
_NUMBER = re.compile(r"\W*([IVXLC]+|\d{1,3})(?:\W*$|[.:)—–-]+\s*([A-Z].*))")
_QUOTES = "\"'“‘«"
_MOST_WORDS = 15
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
    return [
        Leak(place, text[:60])
        for place, text in enumerate(book.paragraphs)
        if text[0] not in _QUOTES  # somebody speaks
        and (
            _is_label(text)
            or (len(text) < 200 and len(key := _letters(text)) >= _SHORTEST_TITLE and key in titles)
        )
    ]


def _is_label(text: str) -> bool:
    if found := _LABEL.match(text[:100]):
        return _counts(found[1])
    if len(text.split()) > _MOST_WORDS or not (found := _NUMBER.match(text)):
        return False
    title = found[2]
    if title is None:
        return _counts(found[1])
    lower = [word for word in title.split() if word[0].islower() and len(word) > 3]
    return _counts(found[1]) and title[-1:] not in ".,;!?’”\"'" and len(lower) * 3 <= len(title.split())


def _counts(word: str) -> bool:
    return word.isdigit() or word.upper() in _ROMAN or word.lower() in _SPELLED


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()
