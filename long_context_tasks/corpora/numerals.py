"""Read the numbers of headings: Arabic, Roman, and in words of eleven languages, with or without a keyword such as "chapter".

The words are data in ``headings.yaml``.
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
_PHRASES = ("story", "back", "notes", "front", "contents", "ends", "note")
_MAY_CONTINUE = " ..."
_MOST_WORDS_OF_A_PHRASE = 8
_GAP = re.compile(r"[\W_]+")
_TOKEN = re.compile(r"[^\W_]+")
_AFTER_KEYWORD = re.compile(r"[.,]?\s+(?!\s)")
_WITHIN_WORDS = re.compile(r"[-\s\u2010\u2011]|\s?[-\u2010\u2011]\s?")
_ORDINAL_END = re.compile(
    # "3.º", "1:a", "2nd", "5-я"
    r"[.:]?[ºª°]|:(?:a|e|te)\b|(?<=\d)(?:st|nd|rd|th|de|o|a|ste)\b|(?<=\d)-?(?:я|й|ая|ый|е)\b"
    # "XIIe"; not after L, C, D and M, as "Le" and "Ce" are words
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
    """Return the value of a Roman numeral.

    >>> roman("XXXIX"), roman("iv"), roman("CXXXV")
    (39, 4, 135)
    """
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[letter] for letter in numeral.upper()]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def folded(text: str) -> str:
    """Return a text in lower case without accents.

    >>> folded("CAPÍTULO"), folded("Ósmy")
    ('capitulo', 'osmy')
    """
    if text.isascii():
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def plain(text: str) -> str:
    """Return the folded letters and digits of a title, which two printings of it share.

    >>> plain("The Prison-Door.") == plain("  THE PRISON DOOR")
    True
    """
    return _GAP.sub("", folded(text))


@dataclass(frozen=True)
class Language:
    """The words of headings in a language, all :func:`folded`."""

    # Value of each number in words from 1 to 99, without spaces and hyphens; 0 for "last".
    numbers: Mapping[str, int]
    ordinals: frozenset[str]  # numbers that precede a keyword
    keywords: Mapping[str, str]  # English name of each keyword
    rare: frozenset[str]  # keywords that are also ordinary words
    articles: frozenset[str]  # words that may precede an ordinal
    phrases: Mapping[str, str]  # kind of each heading without a number, one of the keys of headings.yaml
    open_phrases: frozenset[str]  # those of them that may continue
    months: frozenset[str]


def _spellings(listed: str, endings: Sequence[str] = ("",)) -> list[list[str]]:
    return [
        [folded(word).replace("-", "") + ending for word in place.split("|") for ending in endings]
        for place in listed.split()
    ]


def _numbers(data: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the cardinals and the ordinals of a language from 1 to 99."""
    endings = [folded(ending.strip("-")) for ending in data.get("endings", "-").split()]
    units = {"u": _spellings(data["cardinals"]), "o": _spellings(data["ordinals"], endings)}
    tens = {
        # Some languages form 13 from ten and three, as they form 23.
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
    for made, unit, ten in ((cardinals, "u", "T"), (ordinals, "o", "O")):
        made |= {word: 10 * i for i, spelled in enumerate(tens[ten], 1) for word in spelled}
        made |= {word: i for i, spelled in enumerate(units[unit], 1) for word in spelled}
    ordinals |= dict.fromkeys(_spellings(data["last"])[0], 0)
    return cardinals, ordinals


def _language(data: Mapping[str, Any]) -> Language:
    cardinals, ordinals = _numbers(data)
    phrases, open_phrases = {}, set()
    for kind in _PHRASES:
        owners = ("", *data.get("owners", ())) if kind in ("front", "contents") else ("",)
        for owner, phrase in product(owners, data.get(kind, ())):
            words = plain(owner + phrase.removesuffix(_MAY_CONTINUE))
            phrases[words] = kind
            if phrase.endswith(_MAY_CONTINUE):
                open_phrases.add(words)
    return Language(
        numbers=cardinals | ordinals,
        ordinals=frozenset(ordinals),
        keywords={folded(word): name for name, words in data["keywords"].items() for word in words.split()},
        rare=frozenset(map(folded, data["rare"].split())),
        articles=frozenset(map(folded, data["articles"].split())),
        phrases=phrases,
        open_phrases=frozenset(open_phrases),
        months=frozenset(word for month in _spellings(data["months"]) for word in month),
    )


@cache
def languages() -> Mapping[str, Language]:
    found = packaged_yaml("long_context_tasks.corpora", "headings.yaml")
    return {name: _language(data) for name, data in found.items()}


@cache
def _everywhere() -> Language:
    """Return one language with the words of all but no keywords; words of several languages have the meaning of the first."""
    spoken = list(languages().values())
    return Language(
        numbers={word: value for language in reversed(spoken) for word, value in language.numbers.items()},
        ordinals=frozenset().union(*(language.ordinals for language in spoken)),
        keywords={},
        rare=frozenset(),
        articles=frozenset().union(*(language.articles for language in spoken)),
        phrases={words: kind for language in reversed(spoken) for words, kind in language.phrases.items()},
        open_phrases=frozenset().union(*(language.open_phrases for language in spoken)),
        months=months(),
    )


@cache
def months() -> frozenset[str]:
    """Return the names of months in all languages, :func:`folded`."""
    return frozenset().union(*(language.months for language in languages().values()))


@cache
def _by_keyword() -> Mapping[str, tuple[Language, ...]]:
    spoken = tuple(languages().values())
    words = {word for language in spoken for word in language.keywords}
    return {word: tuple(language for language in spoken if word in language.keywords) for word in words}


@cache
def _beginnings() -> frozenset[str]:
    """Return the words with which a number, or its keyword, may begin."""
    everywhere = _everywhere()
    return frozenset(_by_keyword()) | frozenset(everywhere.numbers) | everywhere.articles


@dataclass(frozen=True)
class Numbered:
    """A number in a line."""

    value: int  # the number; 0 for "last"
    kind: str  # "arabic", "roman", "lower roman" or "word"
    end: int  # offset in the line after the number, and after its keyword if that follows
    keyword: str = ""  # English name of the keyword, or an empty string
    rare: bool = False  # whether the keyword is also an ordinary word


def numeral_at(line: str, place: int = 0) -> Numbered | None:
    """Return the Arabic or Roman number at an offset of a line.

    >>> numeral_at("XIIe nuit").value, numeral_at("Civil"), numeral_at("12th").end
    (12, None, 4)
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


def _words_at(line: str, place: int, spoken: Sequence[Language], *, ordinal: bool = False) -> Numbered | None:
    """Return the longest number in words at an offset of a line, in one of the languages."""
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
        # The first word of a number of several words is a number itself.
        if not begun or (within := _WITHIN_WORDS.match(line, token.end())) is None:
            break
        place = within.end()
    return best


def _words_after_article(
    line: str, place: int, spoken: Sequence[Language], *, ordinal: bool
) -> Numbered | None:
    token = _TOKEN.match(line, place)
    if (
        token
        and any(folded(token[0]) in language.articles for language in spoken)
        and (space := _AFTER_KEYWORD.match(line, token.end()))
    ):
        place = space.end()
    return _words_at(line, place, spoken, ordinal=ordinal)


@lru_cache(4096)
def read(line: str) -> Numbered | None:
    """Return the number at the beginning of a line with its keyword.

    >>> [(found.keyword, found.value) for found in map(read, ["CHAPTER XII", "Dritter Theil", "1. Kapitel", "Глава первая", "VII."]) if found]
    [('chapter', 12), ('part', 3), ('chapter', 1), ('chapter', 1), ('', 7)]
    """
    token = _TOKEN.match(line)
    sign = _NUMBER_SIGN.match(line)
    if token is None or (folded(token[0]) not in _beginnings() and not _NUMERAL.match(line)):
        return numeral_at(line, sign.end()) if sign else None
    if found := _after_keyword(line, token):
        return found
    if sign:
        return numeral_at(line, sign.end())
    return _before_keyword(line) or numeral_at(line) or _words_at(line, 0, [_everywhere()])


def _after_keyword(line: str, token: re.Match[str]) -> Numbered | None:
    """Return the number after a keyword: "Chapter 3", "Kapitel Nr. 3", "Book the Second"."""
    word = folded(token[0])
    spoken = _by_keyword().get(word, ())
    between = _AFTER_KEYWORD.match(line, token.end())
    if not spoken or between is None:
        return None
    sign = _NUMBER_SIGN.match(line, between.end())
    place = sign.end() if sign else between.end()
    found = numeral_at(line, place) or _words_after_article(line, place, spoken, ordinal=False)
    return _counting(found, word, spoken) if found else None


def _before_keyword(line: str) -> Numbered | None:
    """Return the number before a keyword: "3. Kapitel", "Dritter Theil"."""
    numeral = numeral_at(line)
    found = numeral or _words_after_article(line, 0, [_everywhere()], ordinal=True)
    if found is None or (between := _AFTER_KEYWORD.match(line, found.end)) is None:
        return None
    token = _TOKEN.match(line, between.end())
    spoken = _by_keyword().get(folded(token[0]), ()) if token else ()
    if token is None or not spoken:
        return None
    if numeral is None:
        # The word must be a number in a language that has the keyword.
        found = _words_after_article(line, 0, spoken, ordinal=True)
        if found is None or between.end() <= found.end:
            return None
    elif numeral.kind == "lower roman" and not token[0][0].isupper():
        return None
    return replace(_counting(found, folded(token[0]), spoken), end=token.end())


def _counting(found: Numbered, word: str, spoken: Sequence[Language]) -> Numbered:
    rare = all(word in language.rare for language in spoken)
    return replace(found, keyword=spoken[0].keywords[word], rare=rare)


def keyword_of(line: str) -> str:
    """Return the English name of the keyword at the beginning of a line, or an empty string."""
    found = read(line)
    return found.keyword if found else ""


def readings(line: str) -> Iterator[tuple[str, Numbered]]:
    """Yield each number of a short line with other words, preceded by the shape that lines of the same series share.

    >>> [shape for shape, _ in readings("The Story of Day II")], [shape for shape, _ in readings("Adventure IV. The Mail")]
    (['the story of day #'], ['adventure #.', 'adventure #. the mail'])
    """
    words = [*_TOKEN.finditer(line)]
    if len(words) > _MOST_WORDS_OF_A_LINE:
        return
    place = 0
    for token in words:
        if token.start() < place or not (
            number := numeral_at(line, token.start()) or _words_at(line, token.start(), [_everywhere()])
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
    """Return the places of the longest count among numbers, in which each exceeds the one before by at most ``step``.

    With ``again``, a count may begin again at 1, as chapters do in each part.

    >>> count_in([1, 2, 40, 3, 1, 2, 3], again=True), count_in([7, 7, 8, 1], again=False)
    ([0, 1, 3, 4, 5, 6], [0, 2])
    """
    # Value -> length of the longest count that ends with it, and place.
    longest: dict[int, tuple[int, int]] = {}
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
    """Return the kind of a heading without a number, or an empty string.

    The kinds are "contents", "front", "notes", "back", "story", "note", "ends", and "closing" for the end of a part.

    >>> [phrase_of(line) for line in ("Vorwort zur zweiten Auflage.", "Fin", "Fin de la première partie", "The end of the night")]
    ['front', 'ends', 'closing', '']
    """
    everywhere = _everywhere()
    words = line.split()
    if words and words[0].lower() == "the":
        del words[0]
    if not words or len(words) > _MOST_WORDS_OF_A_PHRASE:
        return ""
    if kind := everywhere.phrases.get(plain(" ".join(words))):
        return kind
    for length in range(1, len(words)):
        begun = plain(" ".join(words[:length]))
        if begun in everywhere.open_phrases:
            return everywhere.phrases[begun]
        if everywhere.phrases.get(begun) == "ends" and any(map(_is_keyword, words[length:])):
            return "closing"
    return ""


def any_keyword(line: str) -> str:
    """Return the English name of the first keyword of a line that is not also an ordinary word, or an empty string."""
    for word in line.split():
        for language in _by_keyword().get(plain(word), ()):
            if plain(word) not in language.rare:
                return language.keywords[plain(word)]
    return ""


def _is_keyword(word: str) -> bool:
    """Return whether a word is a keyword with an ending of at most two letters ("Teils", "tomu")."""
    letters = plain(word)
    return any(
        letters.startswith(keyword[: max(3, len(keyword) - 1)]) and len(letters) <= len(keyword) + 2
        for keyword in _by_keyword()
    )
