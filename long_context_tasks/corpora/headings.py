"""Recognise a heading of a printed book by its words: "CHAPTER XII", "Dritter Theil", "IV. The Preparation", "EPILOGUE".

This file looks at one block at a time: it reads a number, Arabic, Roman or in words of fourteen languages, with or without a keyword
such as "chapter". A number without a keyword is only a candidate: "VII" is a heading in a rising series and
a list item or a page number otherwise, which :mod:`long_context_tasks.corpora.chapters` decides for the whole book.
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

from long_context_tasks.corpora.printed_text import (
    MOST_HEADING_LINES,
    MOST_TITLE_WORDS,
    QUOTES,
    Block,
    bare,
    is_capitals,
    is_mostly_capitals,
    is_prose,
    is_synopsis,
    is_title,
    line_block,
)
from long_context_tasks.schema.files import packaged_yaml

# Numbers.

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
    weekdays: frozenset[str]


def _spellings(listed: str, endings: Sequence[str] = ("",)) -> list[list[str]]:
    return [
        [folded(word).replace("-", "") + ending for word in place.split("|") for ending in endings]
        for place in listed.split()
    ]


def _numbers(data: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Return a language's cardinals and ordinals from 1 to 99."""
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
        weekdays=frozenset(map(folded, data["weekdays"].split())),
    )


@cache
def languages() -> Mapping[str, Language]:
    words = packaged_yaml("long_context_tasks.corpora", "headings.yaml")
    return {name: _language(words) for name, words in words.items()}


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
        weekdays=weekdays(),
    )


@cache
def months() -> frozenset[str]:
    """Return the names of months in all languages, :func:`folded`."""
    return frozenset().union(*(language.months for language in languages().values()))


@cache
def weekdays() -> frozenset[str]:
    """Return the names of weekdays in all languages, :func:`folded`."""
    return frozenset().union(*(language.weekdays for language in languages().values()))


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


def numeral_at(line: str, start: int = 0) -> Numbered | None:
    """Return the Arabic or Roman number at an offset of a line.

    >>> numeral_at("XIIe nuit").value, numeral_at("Civil"), numeral_at("12th").end
    (12, None, 4)
    """
    if (match := _NUMERAL.match(line, start)) is None:
        return None
    text, end = match[0], match.end()
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


def _words_at(line: str, start: int, spoken: Sequence[Language], *, ordinal: bool = False) -> Numbered | None:
    """Return the longest spelled-out number at an offset in a line, in any of the languages."""
    joined, best, begun = "", None, False
    for _ in range(_MOST_WORDS):
        if (token := _TOKEN.match(line, start)) is None:
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
        start = within.end()
    return best


def _words_after_article(
    line: str, start: int, spoken: Sequence[Language], *, ordinal: bool
) -> Numbered | None:
    token = _TOKEN.match(line, start)
    if (
        token
        and any(folded(token[0]) in language.articles for language in spoken)
        and (space := _AFTER_KEYWORD.match(line, token.end()))
    ):
        start = space.end()
    return _words_at(line, start, spoken, ordinal=ordinal)


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
    if number := _after_keyword(line, token):
        return number
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
    start = sign.end() if sign else between.end()
    number = numeral_at(line, start) or _words_after_article(line, start, spoken, ordinal=False)
    return _counting(number, word, spoken) if number else None


def _before_keyword(line: str) -> Numbered | None:
    """Return the number before a keyword: "3. Kapitel", "Dritter Theil"."""
    numeral = numeral_at(line)
    number = numeral or _words_after_article(line, 0, [_everywhere()], ordinal=True)
    if number is None or (between := _AFTER_KEYWORD.match(line, number.end)) is None:
        return None
    token = _TOKEN.match(line, between.end())
    spoken = _by_keyword().get(folded(token[0]), ()) if token else ()
    if token is None or not spoken:
        return None
    if numeral is None:
        # The word must be a number in a language that has the keyword.
        number = _words_after_article(line, 0, spoken, ordinal=True)
        if number is None or between.end() <= number.end:
            return None
    elif numeral.kind == "lower roman" and not token[0][0].isupper():
        return None
    return replace(_counting(number, folded(token[0]), spoken), end=token.end())


def _counting(number: Numbered, word: str, spoken: Sequence[Language]) -> Numbered:
    rare = all(word in language.rare for language in spoken)
    return replace(number, keyword=spoken[0].keywords[word], rare=rare)


def keyword_of(line: str) -> str:
    """Return the English name of the keyword at the beginning of a line, or an empty string."""
    number = read(line)
    return number.keyword if number else ""


def readings(line: str) -> Iterator[tuple[str, Numbered]]:
    """Yield each number in a short line, after the shape that the lines of its series share.

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
    """Return the indices of the longest count, in which each number exceeds the one before by at most ``step``.

    With ``again``, a count may begin again at 1, as chapters do in each part.

    >>> count_in([1, 2, 40, 3, 1, 2, 3], again=True), count_in([7, 7, 8, 1], again=False)
    ([0, 1, 3, 4, 5, 6], [0, 2])
    """
    # Value -> length of the longest count that ends with it, and place.
    longest: dict[int, tuple[int, int]] = {}
    before: list[int | None] = []
    best = (0, -1)
    for index, value in enumerate(values):
        ends = [longest[value - by] for by in range(1, step + 1) if value - by in longest]
        if again and value == 1 and best[0] and values[best[1]] > 1:
            ends.append(best)
        length, last = max(ends, default=(0, -1))
        before.append(last if length else None)
        if length + 1 > longest.get(value, (0, 0))[0]:
            longest[value] = length + 1, index
        best = max(best, (length + 1, index), key=lambda count: count[0])
    indices = []
    at: int | None = best[1] if values else None
    while at is not None:
        indices.append(at)
        at = before[at]
    return indices[::-1]


def series_in(values: Sequence[int]) -> list[int]:
    """Return the indices of the numbers that count through a book, among others that are words, initials or amounts.

    >>> series_in([1, 1, 2, 5, 5, 5, 3, 1, 4]), series_in([8, 3, 40, 2, 17])
    ([1, 2, 6, 8], [])
    """
    # "I" is a word in many languages, and "V." an initial: such values occur often, those of a series once in each part.
    likely = [
        k
        for k, value in enumerate(values)
        if value > 1 or (2 in values[k + 1 : k + 3] and values[k + 1] != 1)
    ]
    counted = [likely[k] for k in count_in([values[k] for k in likely], again=True)]
    return counted if len(counted) >= MOST * len({values[k] for k in likely}) else []


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


# Headings of one block.

TITLE_MARKS = " .:;—–-"
# "Chapter two was found" and "Part one of the plan" are sentences: after a heading's number comes punctuation or a capital.
_AFTER_KEYWORD_AND_NUMBER = re.compile(
    r"\s*(?:[.:;—–-]+|,(?=\s)|(?=[(\[])|(?=\s)|$)\s*(?P<title>.*)$", re.DOTALL
)
_AFTER_NUMBER = re.compile(
    r"(?:(?P<mark>[.:)\]](?:\s*[—–-]+)?|\s*[—–]|\s*--|\s-(?=\s))|\s)\s*(?P<title>[\"“«¿¡_‘(]*\s?[^\W\d_].*)$",
    re.DOTALL,
)
_NOTHING_AFTER_NUMBER = re.compile(r"\s?[.:)\]/|·•—–-]*$")
_BEFORE_NUMBER = re.compile(r"[\[(§|·•—–-]*\s?(?:\d{1,2}\.(?=[\dIVXLC]))?")
_FIRST_WORD = re.compile(r"[^\W\d_]+\.?\s+")
_SENTENCES = re.compile(r"[.!?]\s+[^\W\d_a-z]")
_INITIALS = re.compile(r"(?:[^\W\d_]\. ?){2,}[^\W\d_]\.?")  # "L. V. L."
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)")
_RUN_IN = re.compile(r"[.:)\]/|·•*~_ ]{0,4}(?P<rest>(?:--|—|(?<=[ .)\]])|\s)\s*\S.*)")
_AT_END = re.compile(r"(?<!\W\w)[.!?…»«”“\"]\s(?P<number>[IVX]{1,7})\.?$")
_PAGES = re.compile(r"(?:\s*[\[({](?:(?:pg|page|p)\.?\s*)?\d{1,4}[\])}]\s+)+", re.IGNORECASE)
_DECORATION = re.compile(r"[\[(§|·•*~—–_-]{1,2}\s?")
_AROUND = " .—–-[]()_*·•~|/§"
_LONGEST_NUMERAL = 12  # characters
_OPENING = f"{QUOTES}„¿¡(—–- _"
_BEFORE_END = re.compile(r"(?:this is |here )?", re.IGNORECASE)
# Narration in English has "I", a verb in the past, or speech; arguments above a chapter are in the present.
_NARRATIVE = re.compile(
    r"[\"“”«]|^[‘']|\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur|us|you|was|were|had|said|did|could|would|came|went|saw|felt|"
    r"stood|sat|looked|took|gave|found|knew|thought|began|made|got)\b"
)
BARE_NUMBERS = ("roman", "lower roman", "arabic", "word")
HEADING_GAP = 3  # blank lines; paragraphs never have so many above them
LONGEST_HEADING = 120  # characters
_LONGEST_NUMBERED = 300
_LONGEST_CLOSING = 90
_LONGEST_CONTENTS = 50
_MOST_HEADING_WORDS = 70
_MOST_WORDS_OF_NUMBERED_TITLE = 45
_HIGHEST_NUMBER = 399
MOST = 0.6  # share of cases that makes a rule of a book


@dataclass(frozen=True)
class Heading:
    """A heading, or a candidate that becomes one if its number belongs to a series."""

    # Kind of the number. A keyword in English ("chapter", "letter"); "roman", "arabic" or "word" for a bare
    # number; "roman titled" etc. for one with a title; "named" ("EPILOGUE"), "titled", "front", "back",
    # "listed" (in the table of contents) or "capitals" without a number.
    style: str
    number: int | None = None  # its number, None without one, 0 for "the last"
    title: str = ""  # the title next to the number; empty without one, or if it may come below
    rest: int = 0  # number of the block's last lines that belong to the story
    sure: bool = True  # whether it is a heading wherever it occurs


def heading_of(block: Block) -> Heading | None:
    """Return the heading that a block is or may be, or None if it cannot be one."""
    if block.text[0] == "[" and block.text[-1] == "]" and keyword_of(inside := block.text[1:-1].strip()):
        return heading_of(replace(block, lines=(inside,)))
    if pages := _PAGES.match(block.lines[0]):
        head = block.lines[0][pages.end() :]
        # "[30] CHAPTER II. THE MILL", "[30] II."
        if (number := read(head)) and (number.keyword or _NOTHING_AFTER_NUMBER.match(head, number.end)):
            return heading_of(replace(block, lines=(head, *block.lines[1:])))
    first = bare(block.lines[0])
    if (number := read(first)) and number.keyword and (heading := _with_keyword(block, first, number)):
        return heading
    text = bare(block.text)
    if len(block.lines) > MOST_HEADING_LINES or text[:1] in QUOTES or len(text) > _LONGEST_NUMBERED:
        return None
    return _with_number(block, text) or (
        _without_number(block, text) if len(text) <= LONGEST_HEADING else None
    )


def narrates(text: str) -> bool:
    """Return whether an English text narrates or speaks, unlike a title or an argument in the present tense."""
    return bool(_NARRATIVE.search(text))


def _with_keyword(block: Block, first: str, number: Numbered) -> Heading | None:
    """Return the heading of a block whose first line begins with a keyword and a number."""
    after = _AFTER_KEYWORD_AND_NUMBER.match(first, number.end)
    if after is None or not _continues_as_heading(
        block, first, bare(after["title"]), first[number.end :].lstrip()[:1]
    ):
        return None
    title = bare(after["title"]).strip(TITLE_MARKS)
    heading = Heading(number.keyword, number.value, title, sure=not number.rare)
    if len(block.lines) == 1:
        return heading if len(title.split()) <= _MOST_HEADING_WORDS else None
    below = Block(block.lines[1:], 0)
    if title:
        long = block.size > _MOST_HEADING_WORDS and not (
            is_synopsis(block.text) or is_mostly_capitals(block.text)
        )
        return None if long else replace(heading, title=f"{title} {below.text}")
    # "CHAPTER I" with its title, or with the story itself, on the next line.
    if is_title(below) or is_synopsis(below.text) or heading_of(below):
        return replace(heading, title=below.text)
    return replace(heading, title=" ", rest=len(below.lines))


def _continues_as_heading(block: Block, first: str, title: str, mark: str) -> bool:
    """Return whether a line that begins with a keyword and a number is not a sentence; ``mark`` follows the number."""
    begins = next((character for character in title if character.isalpha()), "A")
    if (
        block.size > _MOST_WORDS_OF_NUMBERED_TITLE
        and (_SENTENCES.search(bare(block.text), len(first) - len(title)) or narrates(block.text))
        and not (is_synopsis(block.text) or is_mostly_capitals(block.text))
    ):
        return False
    if first[0].islower() and (block.gap < 2 or (title and mark not in ":-—–")):
        return False
    if block.gap < 2 and mark == ":" and (":--" in first or ":—" in first):
        return False  # "Part two:--He complains"
    if mark == ",":
        return bool(keyword_of(title)) or block.gap >= HEADING_GAP
    return begins.isupper() or (mark != "" and mark in "-—–[(:")


def _with_number(block: Block, text: str) -> Heading | None:
    """Return a candidate: a number, with or without a title, that is a heading only in a series."""
    text = _BEFORE_NUMBER.sub("", text, count=1)
    number = read(text)
    if number is None or number.keyword or number.value > _HIGHEST_NUMBER:
        return None
    if _NOTHING_AFTER_NUMBER.match(text, number.end):
        # "C" and "L" sign letters, and somebody may say a number in words.
        word = number.kind == "word" and (block.gap < 2 or text[number.end :] not in ("", "."))
        initial = number.kind == "lower roman" and number.value in (50, 100)
        return None if word or initial else Heading(number.kind, number.value, sure=False)
    after = _AFTER_NUMBER.match(text, number.end)
    if after is None or number.kind == "lower roman" or _DAY.match(text) or _INITIALS.fullmatch(text):
        return None
    title = after["title"].strip(TITLE_MARKS)
    # Sentences begin with "One" and "I".
    marked = after["mark"] is not None
    doubtful = not marked or number.kind == "word"
    if not title or (doubtful and not _is_title_of_word(block, title, marked or number.kind != "word")):
        return None
    return Heading(f"{number.kind} titled", number.value, title, sure=False)


def _is_title_of_word(block: Block, title: str, marked: bool) -> bool:
    short = block.size <= MOST_TITLE_WORDS and block.text[-1] not in ".,;:"
    return block.gap >= 2 and not title[0].islower() and (is_capitals(title) or (marked and short))


def _without_number(block: Block, text: str) -> Heading | None:
    """Return the heading of front or back matter or a part of the story, by the titles in ``headings.yaml``."""
    apart = block.gap >= 2
    phrase = phrase_of(text) if text[-1] not in ",;?" else ""
    if not apart and not text.isupper() and phrase != "ends":
        return None
    if phrase in ("notes", "ends") or (apart and phrase == "back"):
        return Heading("back")
    if phrase in ("contents", "front"):
        return Heading("front")
    # A note has no title below it; a prologue may have one.
    if phrase == "story" or (apart and phrase == "note"):
        return Heading("named", title=text if phrase == "note" else "")
    return None


def is_notes(block: Block) -> bool:
    return phrase_of(bare(block.text)) == "notes"


def is_contents(block: Block) -> bool:
    text = bare(block.text)
    return len(block.lines) == 1 and len(text) <= _LONGEST_CONTENTS and phrase_of(text) == "contents"


def is_closing(block: Block, *, above_heading: bool = False) -> bool:
    """Return whether a block says that a part ends, as in "THE END OF THE FIRST PERIOD."."""
    if len(block.lines) > 2 or len(block.text) > 2 * _LONGEST_CLOSING:
        return False
    text = bare(block.text)
    bracketed = f"{text[:1]}{text[-1:]}" in ("()", "[]")
    apart = above_heading or bracketed or block.gap >= 2 or text.isupper()
    text = bare(text[1:-1]) if bracketed else text
    return (
        apart
        and len(text) < _LONGEST_CLOSING
        and text[:1].isupper()
        and phrase_of(_BEFORE_END.sub("", text, count=1)) == "closing"
    )


def without_number(entry: str) -> str:
    """Return an entry of a table of contents without "CHAPTER I." or "1." before its title."""
    number = read(entry)
    if number is None and (word := _FIRST_WORD.match(entry)) and (number := read(entry[word.end() :])):
        entry = entry[word.end() :]
    if number is None:
        return entry
    after = (_AFTER_KEYWORD_AND_NUMBER if number.keyword else _AFTER_NUMBER).match(entry, number.end)
    return bare(after["title"]).strip(TITLE_MARKS) if after else entry


def leading_number(line: str) -> Numbered | None:
    """Return the number with which a line begins if its end, a mark or a capital follows.

    >>> [bool(leading_number(line)) for line in ("iv. a", "[IV] a", "IV «La casa", "2.Then", "I went", "1,500 men", "3rd May")]
    [True, True, True, True, False, False, False]
    """
    opening = _DECORATION.match(line)
    start = opening.end() if opening else 0
    number = read(line[start:])
    if number is None or _DAY.match(line):
        return None
    number = replace(number, end=start + number.end)
    word = number.kind == "word" and not number.keyword
    rest = line[number.end :].lstrip(" _*")
    if (following := _TOKEN.search(rest[:_LONGEST_NUMERAL])) and folded(following[0]) in months():
        return None  # a date
    if (
        not rest
        or rest[0] in (")]" if word else ")]:—–-/|·•~")
        or (rest[0] == "." and not rest[1:2].isdigit())
    ):
        return number
    # "Il" is a word, not a misread numeral.
    clear = number.keyword or number.kind == "arabic" or (not word and line[start : number.end].isupper())
    return number if clear and rest.lstrip(_OPENING)[:1].isupper() else None


def run_in_number(block: Block) -> tuple[Numbered, tuple[str, ...], str, tuple[str, ...]] | None:
    """Return a number that shares its block with the story, the lines above it, its text, and the lines below it.

    "IV. It was a hot day", "IV It was" and "Chapter Two.--It was" begin a paragraph. "IV" may also be the only text of a block, a line
    of its own within one, or the last word, behind the end of a sentence.
    """
    lines = block.lines
    for k, line in enumerate(lines):
        number = line.strip(_AROUND)
        if len(number) > _LONGEST_NUMERAL or (k and not is_prose(Block(lines[:k], 0))):
            continue
        alone = read(number)
        # Digits may number pages, unless the story begins right below them.
        if (
            alone
            and alone.end == len(number)
            and not alone.keyword
            and (alone.kind == "roman" or (not k and len(lines) > 1))
        ):
            return alone, lines[:k], line.strip(), lines[k + 1 :]
    first = lines[0].lstrip()
    found = leading_number(first)
    rest = _RUN_IN.match(first, found.end) if found else None
    if found and rest and (told := rest["rest"].lstrip(" -—")):
        return found, (), first[: rest.start("rest")].strip(), (told, *lines[1:])
    if (last := _AT_END.search(lines[-1])) and (found := numeral_at(last["number"])):
        above = (*lines[:-1], lines[-1][: last.start("number")])
        said = " ".join(above).rstrip(" «»“")
        return (found, above, last["number"], ()) if is_prose(line_block(said)) else None
    return None
