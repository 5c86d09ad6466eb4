"""Find paragraphs that may reveal the order of a book although they are of no form that is known.

Nothing shows that they are headings, so that they never stop a build; passages with two of them are only skipped.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from statistics import median

from long_context_tasks.benchmarks.ada_leval.build.leaks import Leak
from long_context_tasks.corpora.books import Book
from long_context_tasks.corpora.headings import (
    Numbered,
    any_keyword,
    count_in,
    folded,
    months,
    numeral_at,
    plain,
    readings,
    series_in,
    weekdays,
)
from long_context_tasks.corpora.printed_text import ends_paragraph, ends_sentence, is_capitals

_SPEECH = "\"'“‘«„»-–—"
_LONGEST_LINE = 120  # characters
_MOST_WORDS, _FEW_WORDS = 12, 2
_FEWEST_TENTHS = 4  # tenths of a book with a member of a series
_NUMERAL_LIKE = re.compile(r"[\W_]*(?:[IVXLCYTHNMivxlcjnm1Ⅰ-ↈ]{1,6}|\w)[\W_]*")  # "Vm." for "VIII."
_SPOKEN_NUMERAL = re.compile(r"[\W_]+(?:[IVXLC]+|\d+)[^\w.?!…]+")
# "214 The room", "1.2 The room", "Seite 97, ...", "S. 148,3 ...", "Sid. 44, rad 13"
_LEADING = re.compile(
    r"\d{1,4} [A-ZÀ-ÞА-ЯЁ]|\d{1,2}\.\d{1,2}\b|\W{0,2}[^\W\d_]{1,6}\b\.? ?\d{1,4}\b(?! [a-zà-ÿа-яё])"
)
# "a yoke!"3", "aloud:5", "the hut2"
_NOTED = re.compile(
    r"(?:[^\W\d_]{2}|[^\W\d_][.,:;!?…\"'”’“»«)\]]+)(?<!\b[NnPpSs][.:])\d{1,3}(?![\w%°]|[.,:]\d)"
)
_LISTED = re.compile(r"(?:\S+ ){0,6}\d{1,3}\W? ?[–—-]{1,2} ?\w")  # "Notes to chapter 1--A yoke"
_MISREAD = re.compile(r"(?<!\S)(?=\S*\d)(?=\S*[lISOQB])[\dlISOQB]{2,4}(?!\S)")  # "1S" for "15"
_INSIDE = re.compile(r"(?<!\w)(?:[IVXLC]+|\d{1,3})(?!\w)|(?<=[^\W\d])\d{1,3}(?!\w)|\d{1,4}|[⁰¹²³⁴-⁹]{1,4}")
_LETTER = re.compile(r"[(\[]?([A-Za-z])[.):\]] ")  # "A. The room"
_FIRST_WORD = re.compile(r"[\W_]*[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w)")
_WORD_BEFORE = re.compile(r"([^\W\d_]{2,15})[.,]? $")
_WORD_AFTER = re.compile(r"[.,]? ([^\W\d_]{2,15})")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
# Minimum number of members of a series, share of the numbers with its shape, and most from one to the next.
_CHAPTERS, _PAGES = (4, 0.6, 2), (8, 0.8, 20)
_LONGEST_DATE = 80  # characters
_FEWEST_ENTRIES = 10  # paragraphs
_APART = 100  # words between members, the median


def find_marks(book: Book) -> list[Leak]:
    """Return the paragraphs with a mark that may count in an unknown way, or with a line that may be a title.

    A mark is a short line with a number or a keyword. Other marks look like a misread numeral, a mark of a note, or a date at the
    beginning of a paragraph. Series within paragraphs and entries in the order of the alphabet are marks too.
    """
    marks = {place: _leak(book, place) for place in (*_inside(book), *_alphabetical(book.paragraphs))}
    for place, text in enumerate(book.paragraphs):
        words = text.split() if len(text) <= _LONGEST_LINE else []
        if (
            _MISREAD.search(text)
            or _LEADING.match(text)
            or _NOTED.search(text)
            or _LISTED.match(text)
            or _day().search(folded(text[:_LONGEST_DATE]))
            or (0 < len(words) <= _MOST_WORDS and _is_mark(words))
        ):
            marks[place] = _leak(book, place)
    return [*marks.values()]


def _leak(book: Book, place: int) -> Leak:
    return Leak(place, book.paragraphs[place][:60], told=True)


def _tenths(book: Book, places: Sequence[int]) -> int:
    return len({10 * place // len(book.paragraphs) for place in places})


def _is_mark(words: Sequence[str]) -> bool:
    """Return whether a short line is no sentence, or may have a number, such as "1S", "[fol. 12r]", "CHAPTER Vm." or "Im Mai."."""
    text = " ".join(words)
    few = len(words) <= _FEW_WORDS
    if text[0] in _SPEECH:
        return few and _SPOKEN_NUMERAL.fullmatch(text) is not None
    if _is_open(text) or any(map(str.isdigit, text)):
        return True
    if few and text[-1] not in "?!:":
        return bool(_NUMERAL_LIKE.fullmatch(text) or any_keyword(text) or plain(words[-1]) in months())
    return bool(any_keyword(text)) and any(readings(text))


def _is_open(text: str) -> bool:
    """Return whether a short paragraph has no mark at the end of a sentence, or no small letters."""
    begins = next(filter(str.isalpha, text), "")
    return (begins.isupper() and not ends_paragraph(text) and text[-1] != ",") or is_capitals(text)


@cache
def _day() -> re.Pattern[str]:
    """Return a pattern of a day with its month or weekday, such as "The first snow 10, Thursday"."""
    names, day = "|".join(sorted(months() | weekdays())), r"(?<!\d)\d{1,2}(?!\d)"
    return re.compile(rf"{day}\W{{1,3}}(?:{names})\b|\b(?:{names})\W{{1,3}}{day}|{day}(?:st|nd|rd|th)\b")


def _alphabetical(paragraphs: Sequence[str]) -> Iterator[int]:
    """Yield the paragraphs whose first words are in the order of the alphabet, as in a glossary."""
    words = [word and plain(word[0]) for word in map(_FIRST_WORD.match, paragraphs)]
    begin = 0
    for end in range(1, len(words) + 1):
        if end == len(words) or (words[end] or "") <= (words[end - 1] or ""):
            if end - begin >= _FEWEST_ENTRIES:
                yield from range(begin, end)
            begin = end


def _inside(book: Book) -> Iterator[int]:
    """Yield the paragraphs with the members of a series of numbers within the text, such as pages or marks of notes."""
    shapes: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, text in enumerate(book.paragraphs):
        for shape, value in _numbers(text):
            shapes[shape].append((place, value))
    words = [0, *accumulate(text.count(" ") + 1 for text in book.paragraphs)]
    for shape, same in shapes.items():
        fewest, share, step = _PAGES if shape[0] == "<" else _CHAPTERS
        values = [value for _, value in same]
        # "I" is a word too.
        counted = series_in(values) if shape == "#" else count_in(values, again=step == 2, step=step)
        if len(counted) >= max(fewest, share * len(same)):
            places = [same[i][0] for i in counted]
            apart = median(words[b] - words[a] for a, b in pairwise(places)) >= _APART
            if apart and _tenths(book, places) >= _FEWEST_TENTHS:
                yield from places


def _numbers(text: str) -> Iterator[tuple[str, int]]:
    """Yield each number in a text with its shapes: the word next to it, or for digits the characters around them."""
    if letter := _LETTER.match(text):
        yield "letter", ord(letter[1].lower())
    for found in _INSIDE.finditer(text):
        before, after = text[max(0, found.start() - 20) : found.start()], text[found.end() : found.end() + 20]
        digits = found[0].translate(_SUPERSCRIPTS)
        number = Numbered(int(digits), "arabic", 0) if digits.isdecimal() else numeral_at(found[0])
        if number is None:
            continue
        if number.kind == "arabic":
            sides = ("a" if side.isalpha() else side for side in (before[-1:], after[:1]))
            yield "<" + "#".join(sides) + "^" * (digits != found[0]), number.value
        elif not before or ends_sentence(before.rstrip()):
            yield "#", number.value
        if len(after) < 3:
            yield "end", number.value
        if word := _WORD_BEFORE.search(before):
            yield f"{folded(word[1])} #", number.value
        if word := _WORD_AFTER.match(after):
            yield f"# {folded(word[1])}", number.value
