"""Read the numbers of headings: Arabic, Roman, and words of eleven languages, with or without a keyword such as "chapter".

The words are data, in ``headings.yaml``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import Any

from long_context_tasks.schema.files import packaged_yaml

_ROMAN = re.compile(r"(?=[IVXLC])C{0,3}(?:X[CL]|L?X{0,4})(?:I[XV]|V?I{0,4})$")
_CYRILLIC = str.maketrans("ХІ", "XI")
_NUMERAL = re.compile(r"\d{1,4}|[IVXLCХІ]+[l1]*|[ivxlc]+")
_SCANNED = re.compile(r"(?<=[IVXLC])[l1]+$")
_APOSTROPHES = ("'", "’")
_PHRASES = ("story", "back", "notes", "front", "contents", "ends")
_MOST_WORDS_OF_A_PHRASE = 8
_GAP = re.compile(r"[\W_]+")
_TOKEN = re.compile(r"[^\W_]+")
# What stands between a keyword and its number, and within a number in words.
_BETWEEN = re.compile(r"[.,]?\s+(?!\s)")
_WITHIN = re.compile(r"[-\s\u2010\u2011]|\s?[-\u2010\u2011]\s?")
# "2nd", "XIIe", "3.º", "1:a", "5-я"
_ORDINAL_END = re.compile(
    r"[.:]?[ºª°]|:(?:a|e|te)\b|(?<=\d)(?:st|nd|rd|th|de|o|a|ste)\b|(?<=\d)-?(?:я|й|ая|ый|е)\b"
    # "Le" and "Ce" are words.
    r"|(?<=[\dIVX])(?:er|re|ère|e|ème|ième)\b"
)
_NUMBER_SIGN = re.compile(
    r"(?:[§№#]\s?|(?:No|Nr|Nro|Num|Núm)\b\.?\s?|N\.?\s?[º°]\.?\s?|N\.\s?)(?=(?-i:[\dIVXLC]))", re.IGNORECASE
)
_MOST_WORDS = 5  # of a number
_MOST_WORDS_OF_A_LINE = 12
_MOST_WORDS_BEFORE = 3  # a number with a title
_BEFORE_TITLE = frozenset(".:;—–-")


def roman(numeral: str) -> int:
    """Value of a Roman numeral.

    >>> roman("XXXIX"), roman("iv"), roman("CXXXV")
    (39, 4, 135)
    """
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[letter] for letter in numeral.upper()]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def folded(text: str) -> str:
    """Return a text in small letters without accents.

    >>> folded("CAPÍTULO"), folded("Ósmy")
    ('capitulo', 'osmy')
    """
    if text.isascii():
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def plain(text: str) -> str:
    """Return the letters and digits of a title, folded: what two printings of it have in common.

    >>> plain("The Prison-Door.") == plain("  THE PRISON DOOR")
    True
    """
    return _GAP.sub("", folded(text))


@dataclass(frozen=True)
class Language:
    """What headings of a language are made of, all :func:`folded`.

    Attributes:
        numbers: value of every number in words, 1 to 99, without spaces and hyphens; 0 for the last.
        ordinals: those of them that stand before a keyword.
        keywords: English name of every keyword.
        rare: keywords that are ordinary words too.
        articles: what may stand before an ordinal.
        phrases: kind of every heading without a number: "contents", "front", "notes", "back", "story" or "ends".
        months: their names.
    """

    numbers: Mapping[str, int]
    ordinals: frozenset[str]
    keywords: Mapping[str, str]
    rare: frozenset[str]
    articles: frozenset[str]
    phrases: Mapping[str, str]
    months: frozenset[str]


def _spellings(listed: str, endings: list[str] | None = None) -> list[list[str]]:
    """Return the spellings of each number of a list, with each of the endings."""
    return [
        [folded(word).replace("-", "") + ending for word in place.split("|") for ending in endings or [""]]
        for place in listed.split()
    ]


def _language(data: Mapping[str, Any]) -> Language:
    endings = [folded(ending.strip("-")) for ending in data.get("endings", "-").split()]
    units = {"u": _spellings(data["cardinals"]), "o": _spellings(data["ordinals"], endings)}
    tens = {
        # Some languages make 13 of ten and three too.
        "T": [units["u"][9], *_spellings(data["tens"])],
        "O": [units["o"][9], *_spellings(data["ordinal_tens"], endings)],
    }
    cardinals: dict[str, int] = {}
    ordinals: dict[str, int] = {}
    for join in data["joins"]:
        unit, ten = ("u" if "{u}" in join else "o"), ("T" if "{T}" in join else "O")
        made = cardinals if (unit, ten) == ("u", "T") else ordinals
        for (i, spelled), (j, below) in product(enumerate(tens[ten], 1), enumerate(units[unit][:9], 1)):
            for word, other in product(spelled, below):
                made[join.format(**{ten: word, unit: other})] = 10 * i + j
    for made, one, ten in ((cardinals, "u", "T"), (ordinals, "o", "O")):
        made |= {word: 10 * i for i, spelled in enumerate(tens[ten], 1) for word in spelled}
        made |= {word: i for i, spelled in enumerate(units[one], 1) for word in spelled}
    ordinals |= dict.fromkeys(_spellings(data["last"])[0], 0)
    return Language(
        cardinals | ordinals,
        frozenset(ordinals),
        {folded(word): name for name, words in data["keywords"].items() for word in words.split()},
        frozenset(map(folded, data["rare"].split())),
        frozenset(map(folded, data["articles"].split())),
        {plain(phrase): kind for kind in _PHRASES for phrase in data.get(kind, ())},
        frozenset(word for month in _spellings(data["months"]) for word in month),
    )


@cache
def languages() -> Mapping[str, Language]:
    """Return the languages of ``headings.yaml`` by name."""
    found = packaged_yaml("long_context_tasks.corpora", "headings.yaml")
    return {name: _language(data) for name, data in found.items()}


@cache
def _everywhere() -> Sequence[Language]:
    """Return one language with the numbers and articles of all."""
    spoken = list(languages().values())
    numbers = {word: value for language in reversed(spoken) for word, value in language.numbers.items()}
    ordinals = frozenset().union(*(language.ordinals for language in spoken))
    articles = frozenset().union(*(language.articles for language in spoken))
    phrases = {words: kind for language in reversed(spoken) for words, kind in language.phrases.items()}
    months = frozenset().union(*(language.months for language in spoken))
    return (Language(numbers, ordinals, {}, frozenset(), articles, phrases, months),)


@cache
def _by_keyword() -> Mapping[str, tuple[Language, ...]]:
    spoken = tuple(languages().values())
    words = {word for language in spoken for word in language.keywords}
    return {word: tuple(language for language in spoken if word in language.keywords) for word in words}


@cache
def _beginnings() -> frozenset[str]:
    """Return the words with which a number, or its keyword, may begin."""
    [everywhere] = _everywhere()
    return frozenset(_by_keyword()) | frozenset(everywhere.numbers) | everywhere.articles


@dataclass(frozen=True)
class Numbered:
    """A number in a line.

    Attributes:
        value: the number; 0 for the last.
        kind: "arabic", "roman", "lower roman" or "word".
        end: offset in the line after the number, and after its keyword if that follows.
        keyword: English name of what is counted; empty without a keyword.
        rare: whether the keyword is an ordinary word too.
    """

    value: int
    kind: str
    end: int
    keyword: str = ""
    rare: bool = False


def numeral_at(line: str, place: int = 0) -> Numbered | None:
    """Return the Arabic or Roman number that stands at a place of a line.

    >>> numeral_at("XIIe nuit"), numeral_at("Civil"), numeral_at("12th")
    (Numbered(value=12, kind='roman', end=4, keyword='', rare=False), None, Numbered(value=12, kind='arabic', end=4, keyword='', rare=False))
    """
    if (found := _NUMERAL.match(line, place)) is None:
        return None
    text, end = found[0], found.end()
    if suffix := _ORDINAL_END.match(line, end):
        end = suffix.end()
    if line[end : end + 1].isalnum() or line[end : end + 1] in _APOSTROPHES:
        return None
    if text.isdigit():
        return None if text[0] == "0" else Numbered(int(text), "arabic", end)
    # Scanners read "VI" as "Vl".
    numeral = _SCANNED.sub(lambda read: "I" * len(read[0]), text.translate(_CYRILLIC))
    if not _ROMAN.match(numeral.upper()):
        return None
    return Numbered(roman(numeral), "lower roman" if numeral.islower() else "roman", end)


def word_at(line: str, place: int, spoken: Sequence[Language], *, ordinal: bool = False) -> Numbered | None:
    """Return the longest number in words that stands at a place of a line, in one of the languages."""
    joined, best, begun = "", None, False
    for _ in range(_MOST_WORDS):
        if (token := _TOKEN.match(line, place)) is None:
            break
        joined += folded(token[0])
        for language in spoken:
            if joined in language.numbers:
                begun = True
                if not ordinal or joined in language.ordinals:
                    best = Numbered(language.numbers[joined], "word", token.end())
                    break
        # Every number of several words begins with one.
        if not begun or (within := _WITHIN.match(line, token.end())) is None:
            break
        place = within.end()
    return best


@lru_cache(4096)
def read(line: str) -> Numbered | None:
    """Return the number with which a line begins, and what it counts.

    >>> [(found.keyword, found.value) for found in map(read, ["CHAPTER XII", "Dritter Theil", "1. Kapitel", "Глава первая", "VII."]) if found]
    [('chapter', 12), ('part', 3), ('chapter', 1), ('chapter', 1), ('', 7)]
    """
    token = _TOKEN.match(line)
    first = folded(token[0]) if token else ""
    if token is None or (first not in _beginnings() and not _NUMERAL.match(line)):
        sign = _NUMBER_SIGN.match(line)
        return numeral_at(line, sign.end()) if sign else None
    spoken = _by_keyword().get(first, ())
    if spoken and (between := _BETWEEN.match(line, token.end())):
        place = sign.end() if (sign := _NUMBER_SIGN.match(line, between.end())) else between.end()
        found = numeral_at(line, place) or _after_article(line, place, spoken, ordinal=False)
        if found:
            rare = all(first in language.rare for language in spoken)
            return replace(found, keyword=spoken[0].keywords[first], rare=rare)
    if sign := _NUMBER_SIGN.match(line):
        return numeral_at(line, sign.end())
    everywhere = _everywhere()
    numeral = numeral_at(line)
    found = numeral or _after_article(line, 0, everywhere, ordinal=True)
    if (
        found
        and (between := _BETWEEN.match(line, found.end))
        and (token := _TOKEN.match(line, between.end()))
    ):
        spoken = _by_keyword().get(folded(token[0]), ())
        if numeral is None:
            # The number is one of a language that has the keyword.
            found = _after_article(line, 0, spoken, ordinal=True) if spoken else None
            spoken = spoken if found and between.end() > found.end else ()
        if found and spoken and (numeral is None or token[0][0].isupper() or numeral.kind != "lower roman"):
            word = folded(token[0])
            rare = all(word in language.rare for language in spoken)
            return replace(found, keyword=spoken[0].keywords[word], rare=rare, end=token.end())
    return numeral or word_at(line, 0, everywhere)


def _after_article(line: str, place: int, spoken: Sequence[Language], *, ordinal: bool) -> Numbered | None:
    """Return the number in words at a place of a line, or after an article there."""
    token = _TOKEN.match(line, place)
    if token and any(folded(token[0]) in language.articles for language in spoken):
        place = next((space.end() for space in [_BETWEEN.match(line, token.end())] if space), place)
    return word_at(line, place, spoken, ordinal=ordinal)


def readings(line: str) -> Iterator[tuple[str, Numbered]]:
    """Yield every number of a short line that has other words, with the line's shape: what lines that count the same have in common.

    >>> [shape for shape, _ in readings("The Story of Day II")], [shape for shape, _ in readings("Adventure IV. The Mail")]
    (['the story of day #'], ['adventure #.', 'adventure #. the mail'])
    """
    everywhere = _everywhere()
    words = [*_TOKEN.finditer(line)]
    if len(words) > _MOST_WORDS_OF_A_LINE:
        return
    place = 0
    for token in words:
        if token.start() < place or not (
            number := numeral_at(line, token.start()) or word_at(line, token.start(), everywhere)
        ):
            continue
        place = number.end
        if number.kind == "lower roman" or (
            number.kind == "roman" and number.value == 1 and line[place : place + 1] == " "
        ):
            continue  # "I" and "i" are words
        before, after = folded(line[: token.start()]), folded(line[number.end :])
        if not _TOKEN.search(before + after):
            return
        if before and after[:1] in _BEFORE_TITLE and len(before.split()) <= _MOST_WORDS_BEFORE:
            yield f"{before}#{after[:1]}", number
        yield f"{before}#{after}", number


def count_in(values: Sequence[int], *, again: bool, step: int = 2) -> list[int]:
    """Return the places of the longest count among numbers: each is higher than the last one by at most ``step``.

    Args:
        values: numbers in the order of a text.
        again: whether a count may begin again at 1, as chapters do in each part.
        step: largest difference between neighbours.

    >>> count_in([1, 2, 40, 3, 1, 2, 3], again=True), count_in([7, 7, 8, 1], again=False)
    ([0, 1, 3, 4, 5, 6], [0, 2])
    """
    longest: dict[
        int, tuple[int, int]
    ] = {}  # by value: length of the longest count that ends there, and its place
    before: list[int | None] = []
    best = (0, -1)
    for place, value in enumerate(values):
        ends = [longest[value - by] for by in range(1, step + 1) if value - by in longest]
        if again and value == 1 and best[0] and values[best[1]] > 1:
            ends.append(best)
        length, last = max(ends, default=(0, -1))
        before.append(last if length else None)
        if length + 1 > longest.get(value, (0, 0))[0]:
            longest[value] = length + 1, place
        best = max(best, (length + 1, place), key=lambda found: found[0])
    places = []
    at: int | None = best[1] if values else None
    while at is not None:
        places.append(at)
        at = before[at]
    return places[::-1]


def phrase_of(line: str) -> str:
    """Return what a line is that is a whole heading without a number: "contents", "front", "notes", "back", "story", "ends" or "closing"
    (of a part); else "".

    >>> [phrase_of(line) for line in ("Vorwort zur zweiten Auflage.", "Fin", "Fin de la première partie", "The end of the night")]
    ['front', 'ends', 'closing', '']
    """
    [everywhere] = _everywhere()
    words = line.split()
    if words and words[0].lower() == "the":
        del words[0]
    if not words or len(words) > _MOST_WORDS_OF_A_PHRASE:
        return ""
    if kind := everywhere.phrases.get(plain(" ".join(words))):
        return kind
    for length in range(1, len(words)):
        kind = everywhere.phrases.get(plain(" ".join(words[:length])), "")
        if kind == "front":
            return kind
        if kind == "ends" and any(map(_is_keyword, words[length:])):
            return "closing"
    return ""


@cache
def _date() -> re.Pattern[str]:
    [everywhere] = _everywhere()
    month = rf"\b(?:{'|'.join(sorted(everywhere.months))})\b"
    day = r"(?<!\d)\d{1,2}(?:[^\W\d]{1,2}\b|[.:]?[ºª°]|:[ae]\b)?(?!\d)"
    return re.compile(
        # A place, a weekday or an article comes first.
        rf"[\W_]*(?P<before>[^\W\d_][^!?;:]{{0,45}}?\W+?)?[\W_]*(?:(?P<day>{day}\W{{1,3}}(?:(?:of|de|di|d)\W{{1,3}})?{month})"
        rf"|{month}\W{{1,3}}(?:the )?(?:{day}|\d{{2}}(?:\d\d|-+)))(?:,? (?:(?:de|del|anno) )?\d{{2}}(?:\d\d|-+))?(?P<rest>.*)$",
        re.DOTALL,
    )


_LONGEST_DATE = 90  # characters of a paragraph that is one, with its place
_BEFORE_DATE = re.compile(r"(?:.*[,.] |)(?:\w+[,.]? ){0,2}$", re.DOTALL)
_AFTER_DATE = re.compile(r"[.,:;_)\]]*\s?[—–_-]|[.:_)\]]+\s|[^\w]*$")


def is_dated(text: str) -> bool:
    """Return whether a paragraph is a date, perhaps with a place, or begins with one as letters and diaries do.

    >>> [is_dated(text) for text in ("16 października.", "Baskerville Hall, 13 October", "#Marzo 18--#", "Den 10. September.")]
    [True, True, True, True]
    >>> is_dated("On the 3rd of May they left the house, and nobody saw them again before the snow was gone, and the road free.")
    False
    """
    found = _date().match(folded(text[: 2 * _LONGEST_DATE]).strip("_#*=~ "))
    if found is None:
        return False
    short = len(text) <= _LONGEST_DATE and not set("!?") & set(found["rest"].lstrip(" .,;:)]!?"))
    return short or bool(_BEFORE_DATE.match(found["before"] or "") and _AFTER_DATE.match(found["rest"]))


def any_keyword(line: str) -> str:
    """Return the English name of the first keyword of a line that is not an ordinary word too; empty without one."""
    for word in line.split():
        for language in _by_keyword().get(plain(word), ()):
            if plain(word) not in language.rare:
                return language.keywords[plain(word)]
    return ""


def _is_keyword(word: str) -> bool:
    """Return whether a word is a keyword, with an ending of at most two letters ("Teils", "tomu")."""
    letters = plain(word)
    return any(
        letters.startswith(keyword[: max(3, len(keyword) - 1)]) and len(letters) <= len(keyword) + 2
        for keyword in _by_keyword()
    )
