"""Find what a text names: persons, places, organisations, dates, counts of people, other numbers, citations.

Names are found by rules: a word with a capital letter inside a sentence that has none elsewhere in the text, or behind a title, beside
a first name, or in a gazetteer. What stands around all occurrences of a word says what it names. A word of which this says too little
is a ``name``: it is replaced like the others, and no task asks about it.

The numbers in the names of legal citations are volume and page of a reporter, title and section of a statute, rules and dockets.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from long_context_tasks.recast.mention import Mention
from long_context_tasks.recast.quantities import quantity_mentions
from long_context_tasks.synthetic.wording import words

PERSON = frozenset(("woman", "man", "surname"))
"""Kinds of words that name a person: first names of two sorts, and surnames."""
NAMES = PERSON | {"place", "organisation", "acronym", "name", "initial"}

_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
_CONTRACTION = re.compile(r".*(?:['’](?:ll|m|ve|d|re|em|tis|twas|t))")
_ACRONYM = re.compile(r"[A-Z]{2,6}s?")
_ROMAN = re.compile(r"[IVXLC]+")
_SPOKEN = re.compile(r"(?=.{5})(?!.*[^AEIOUY]{3})(?!.*[AEIOU]{3})(?=.*[AEIOU]).*")
"""Letters that may be a name in capitals, as in the caption of an opinion."""
_OPENING = re.compile(r"[.?!:;\n\"“‘—*]|--|/>| '")
"""What stands before a word that begins a sentence, a quotation, or a line; also the end of ``<laugh/>`` in a transcript."""


def word_list(file: str, name: str) -> tuple[str, ...]:
    """Return the lines of a list of a data file."""
    return words(Path(__file__).with_name("data") / file, name)


@cache
def word_set(file: str, name: str) -> frozenset[str]:
    """Return the words of a list of a data file."""
    return frozenset(" ".join(word_list(file, name)).split())


_SORTS = {
    "man": word_set("beside.txt", "titles of men"),
    "woman": word_set("beside.txt", "titles of women"),
    "": word_set("beside.txt", "titles of both"),
}
_POSSESSIVES = ("'s", "’s", "'S", "’S")
_TITLES = {title: sort for sort, titles in _SORTS.items() for title in titles}
_ABBREVIATED = word_set("beside.txt", "abbreviations")
_DETERMINERS = word_set("beside.txt", "determiners")
_SAID = word_set("beside.txt", "verbs of saying")
_DOES = _SAID | word_set("beside.txt", "verbs of persons")
_IN = word_set("beside.txt", "prepositions of places")
_BEFORE_PLACES, _BEHIND_PLACES = (
    word_set("beside.txt", "before places"),
    word_set("beside.txt", "behind places"),
)
_BEHIND_ORGANISATIONS = word_set("beside.txt", "behind organisations")
_SURE_TITLES = frozenset(("mr", "mrs", "miss", "ms", "dr", "sir"))
_TAILS = ("ians", "ian", "ites", "ite", "ish", "esque", "ism", "s", "es")
_DEMONYM_TAILS = ("man", "men", "woman", "women")
_PRONOUNS = {"he": 1, "his": 1, "him": 1, "himself": 1, "she": -1, "her": -1, "hers": -1, "herself": -1}
_NEAR = 12
"""Words behind a name in which a pronoun tells its sex."""


@cache
def _demonyms() -> Mapping[str, tuple[str, str]]:
    """Word to the place that it is made of, and how it ends: ``english`` to ``england`` and ``ian``."""
    found = {}
    for line in word_list("gazetteer.txt", "demonyms"):
        place, *others = line.split()
        for word in others:
            end = next((tail for tail in _DEMONYM_TAILS if word.endswith(tail) and word != place), "")
            plural = "ians" if word.endswith("s") and not word.endswith(("ss", "is")) else "ian"
            found[word] = (place, end or plural)
    return found


def without_possessive(word: str) -> str:
    """Return a word without "'s" at its end."""
    return word[:-2] if word.endswith(_POSSESSIVES) else word


def is_marked(word: str) -> bool:
    """Return whether a word behind a name says that it is a place or an organisation: Street, Bank."""
    return word.casefold() in _BEHIND_PLACES | _BEHIND_ORGANISATIONS


@cache
def _phrases() -> tuple[Mapping[str, str], re.Pattern[str]]:
    """Names of several words and what stands for them, to the key; and what finds these and single words."""
    forms: dict[str, str] = {}
    for line in word_list("gazetteer.txt", "phrases"):
        key, _, short = line.partition(": ")
        forms |= dict.fromkeys((key, *short.split()), key)
    either = []
    for form in sorted(forms, key=len, reverse=True):
        if "." in form and " " not in form:
            either.append(rf"(?<!\d ){re.escape(form.upper())}(?! ?[A-Z\d]\b)")
        else:
            either += (
                [re.escape(form.upper()), re.escape(form.title())]
                if " " in form
                else [re.escape(form.upper())]
            )
    return forms, re.compile(rf"\b(?=[A-Z])(?:{'|'.join(either)})(?!\w)|{_WORD}")


class _Token(NamedTuple):
    start: int
    end: int
    key: str
    form: str
    """``lower``, ``title``, or ``caps``."""
    opens: bool
    """It begins a sentence, a quotation, or a line."""
    gap: str
    """What stands between it and the word before."""


def _tokens(text: str) -> Iterator[_Token]:
    before, last = 0, ""
    phrases, words = _phrases()
    for match in words.finditer(text):
        word = without_possessive(match[0])
        gap = text[before : match.start()]
        abbreviated = gap == ". " and (len(last) == 1 or last in _ABBREVIATED)
        opens = not abbreviated and (not gap or _OPENING.search(gap) is not None)
        capital = word[0].isupper() or (len(word) > 2 and word[1] in "'’" and word[2].isupper())
        form = "caps" if len(word) > 1 and word.isupper() else "title" if capital else "lower"
        last, before = phrases.get(word.casefold(), word.casefold()), match.end()
        yield _Token(match.start(), match.start() + len(word), last, form, opens, gap)


def find_entities(text: str, *, listed: bool = False) -> tuple[Mention, ...]:
    """Return the mentions of a text: the longer it is, the more is known of its names.

    A key stands for a word in all its forms: possessive, plural, capitals, and adjectives made of it.

    Args:
        text: the whole of it.
        listed: take names of the gazetteer alone, as in science, where other words with a capital letter are terms.
    """
    fixed = [*citation_mentions(text)]
    fixed += _outside(quantity_mentions(text), fixed)
    names = _outside(_names(list(_tokens(text)), text, listed), fixed)
    return tuple(sorted([*fixed, *names]))


def _outside(mentions: Iterable[Mention], taken: Iterable[Mention]) -> list[Mention]:
    """Return the mentions that overlap none of those taken."""
    free, ends = [], sorted((mention.start, mention.end) for mention in taken)
    place = 0
    for mention in sorted(mentions):
        while place < len(ends) and ends[place][1] <= mention.start:
            place += 1
        if place == len(ends) or ends[place][0] >= mention.end:
            free.append(mention)
    return free


class _Evidence:
    """What stands around the occurrences of every word with a capital letter."""

    def __init__(self, tokens: list[_Token], text: str) -> None:
        self.count: dict[str, Counter[str]] = defaultdict(Counter)
        men, women = word_set("gazetteer.txt", "men"), word_set("gazetteer.txt", "women")
        self.never, common = word_set("common.txt", "never"), word_set("common.txt", "common")
        for place, token in enumerate(tokens):
            count = self.count[token.key]
            if token.form != "title":
                count[token.form] += 1
                if token.form == "lower":
                    continue
            count["start" if token.opens else "mid"] += token.form == "title"
            before = tokens[place - 1] if place else None
            after = tokens[place + 1] if place + 1 < len(tokens) else None
            near = before is not None and token.gap in (" ", ". ")
            named = (
                after is not None
                and after.gap in (" ", ". ")
                and after.form != "lower"
                and after.key not in self.never
            )
            if before is not None and near and before.key in _TITLES and before.form != "lower":
                count["title_first" if named and after and after.gap == " " else "title_last"] += 1
                count[_TITLES[before.key]] += 1
                count["sure"] += before.key in _SURE_TITLES
            if before is not None and token.gap == " " and before.form == "lower":
                count["the"] += before.key in _DETERMINERS
            if before is not None and near and token.gap == " ":
                count["behind_first"] += before.form != "lower" and before.key in men | women
                count["person"] += before.key in _SAID
                count["place"] += before.key in _IN and not token.opens
                count["place"] += before.form == "title" and before.key in _BEFORE_PLACES
                count["person"] += before.key in ("v", "vs")
            if before is not None and token.gap == ". " and before.key in ("v", "vs"):
                count["party"] += 1
            if after is not None and after.gap == " ":
                count["person"] += after.form == "lower" and after.key in _DOES
                count["place"] += after.form == "title" and after.key in _BEHIND_PLACES
                count["organisation"] += after.form != "lower" and after.key in _BEHIND_ORGANISATIONS
            if after is not None and after.gap == " " and after.key in ("v", "vs"):
                count["party"] += 1
            if text[token.end : token.end + 2] in ("'s", "’s"):
                count["possessive"] += 1
            for other in tokens[place + 1 : place + _NEAR]:
                if other.key in _PRONOUNS:
                    count["he" if _PRONOUNS[other.key] > 0 else "she"] += 1
                    break
        self.men, self.women, self.common = men, women, common
        self.places = word_set("gazetteer.txt", "places") | set(_phrases()[0].values())

    def is_name(self, key: str) -> bool:
        """Return whether a word names something in this text."""
        count = self.count[key]
        if key in self.never or len(key) < 2 or not (count["mid"] or count["start"] or count["caps"]):
            return False
        if _CONTRACTION.fullmatch(key):
            return False
        if key in _demonyms():
            return count["mid"] + count["start"] > count["lower"]
        titled = count["title_last"] + count["title_first"] if count["sure"] else 0
        mostly = count["mid"] > 4 * count["lower"]
        if key in self.common:
            beside = titled or count["behind_first"] > 1 or count["party"]
            return (beside and count["mid"] * 2 > count["lower"]) or (mostly and count["place"] > 2)
        first = key in self.men or key in self.women
        if count["lower"]:
            return (
                mostly
                or (bool(titled) and count["mid"] > count["lower"] / 4)
                or (first and count["mid"] > count["lower"])
            )
        known = first or key in self.places
        stands = (
            count["mid"] or titled or known or count["party"] or (count["person"] and count["possessive"])
        )
        return bool(stands) or (len(key) > 3 and count["caps"] > 0 and count["behind_first"] > 0)

    def is_acronym(self, key: str) -> bool:
        """Return whether a word is written in capitals only."""
        count = self.count[key]
        letters = key.upper()
        return (
            count["caps"] > 0
            and not (count["lower"] or count["mid"] or count["start"] or key in self.never)
            and _ACRONYM.fullmatch(letters) is not None
            and _ROMAN.fullmatch(letters) is None
        )

    def kind_of_acronym(self, key: str) -> str:
        """Return whether a word that is written in capitals only is a name, or letters."""
        named = key in self.men or key in self.women or _SPOKEN.fullmatch(key.upper())
        return "name" if named else "acronym"

    def kind(self, key: str) -> str:
        """Return what a name stands for."""
        count = self.count[key]
        titled = count["title_first"] + count["title_last"]
        person = 2 * titled + count["person"] + 2 * count["behind_first"]
        place = count["place"] + (3 if key in self.places else 0)
        if key in self.places and place >= person:
            return "place"
        if (key in self.men or key in self.women) and person > 2 * count["place"]:
            often_last = count["title_last"] + count["behind_first"] > 2 + count["mid"] / 2
            return "surname" if often_last else "man" if key in self.men else "woman"
        thing = count["the"] * 5 > count["mid"] + count["start"]
        beside = titled or count["behind_first"]
        if person > 4 * place and person > count["organisation"] and (beside or (person > 3 and not thing)):
            return self._sort(count)
        if count["organisation"] > person + place:
            return "organisation"
        return "place" if place > 2 * person else "name"

    @staticmethod
    def _sort(count: Counter[str]) -> str:
        """Return whether a person's name is a surname, or of which sort of first names."""
        if count["title_last"] + count["behind_first"] >= count["title_first"] + count["person"] / 4:
            return "surname"
        he, she = count["he"] + 3 * count["man"], count["she"] + 3 * count["woman"]
        return "man" if he >= she else "woman"


def _names(tokens: list[_Token], text: str, listed: bool) -> Iterator[Mention]:
    known = _Evidence(tokens, text)
    kinds = {key: known.kind(key) for key in list(known.count) if known.is_name(key)}
    if listed:
        kinds = {key: kind for key, kind in kinds.items() if key in known.places or key in _demonyms()}
    else:
        kinds |= {key: known.kind_of_acronym(key) for key in list(known.count) if known.is_acronym(key)}
    _pass_on(tokens, kinds)
    roots = {key: _root(key, kinds) for key in kinds}
    firsts = _firsts(tokens, kinds)
    for place, token in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if len(token.key) == 1 and token.form == "title" and after is not None and after.gap in (". ", " "):
            dotted = after.gap == ". " or (place and tokens[place - 1].key in _TITLES)
            surname = _behind_initials(tokens, place)
            if dotted and surname is not None and surname.key in kinds and surname.form != "lower":
                yield Mention(
                    token.start, token.end, "initial", firsts.get((token.key, surname.key), token.key)
                )
            continue
        if token.key not in kinds or token.form == "lower" or not _named_here(tokens, place, known, kinds):
            continue
        root, tail = roots[token.key]
        yield Mention(token.start, token.end, kinds.get(root, "place"), root, tail)


def _pass_on(tokens: list[_Token], kinds: dict[str, str]) -> None:
    """Take an unclear word behind a first name for a surname, and one before a surname for a first name, where that is usual."""
    behind: Counter[str] = Counter()
    for before, token in itertools.pairwise(tokens):
        if token.gap == " " and kinds.get(token.key) == "name" and kinds.get(before.key) in ("man", "woman"):
            behind[token.key] += before.form != "lower" and token.form != "lower"
    kinds.update(dict.fromkeys((key for key, count in behind.items() if count), "surname"))


def _behind_initials(tokens: list[_Token], place: int) -> _Token | None:
    for token in tokens[place + 1 : place + 5]:
        if len(token.key) > 1:
            return token if token.gap in (" ", ". ") else None
    return None


def _firsts(tokens: list[_Token], kinds: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the first name for an initial and a surname, where the text has exactly one."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for before, token in itertools.pairwise(tokens):
        if token.gap == " " and token.key in kinds and kinds.get(before.key) in ("man", "woman"):
            found[before.key[0], token.key].add(before.key)
    return {pair: next(iter(names)) for pair, names in found.items() if len(names) == 1}


def _root(key: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Return the name that a word is made of, and its ending."""
    if key in _demonyms():
        return _demonyms()[key]
    for tail in _TAILS:
        if key.endswith(tail) and len(key) - len(tail) > 3 and key.removesuffix(tail) in kinds:
            return key.removesuffix(tail), tail
    return key, ""


def _named_here(tokens: list[_Token], place: int, known: _Evidence, kinds: Mapping[str, str]) -> bool:
    """Return whether a word that is a name elsewhere is one here: at the start of a sentence it may be a common word."""
    token = tokens[place]
    count = known.count[token.key]
    if not count["lower"] and token.key not in known.common:
        return True
    before, after = (
        tokens[place - 1] if place else None,
        tokens[place + 1] if place + 1 < len(tokens) else None,
    )
    if (
        before is not None
        and token.gap in (" ", ". ")
        and before.form != "lower"
        and (before.key in _TITLES or kinds.get(before.key) in PERSON)
    ):
        return True
    if not token.opens:
        return token.form == "title" and (token.key not in known.common or count["mid"] > 4 * count["lower"])
    if token.key in known.common:
        return False
    says = (
        after is not None
        and after.gap == " "
        and (after.key in _DOES or (after.key in kinds and after.form != "lower"))
    )
    return says or (token.form == "title" and count["mid"] > 4 * count["lower"])


_REPORTER = (
    r"(?:U\. ?S\.|S\. ?Ct\.|L\. ?Ed\.(?: ?2d)?|F\. ?(?:2d|3d|4th)|F\. ?Supp\.(?: ?[23]d)?|F\. ?App[’'`]?x\.?|Fed\. ?Appx\.?|F\. ?R\. ?D\.|"
    r"B\. ?R\.|[NS]\. ?[EW]\.(?: ?[23]d)?|So\.(?: ?[23]d)?|A\.(?: ?[23]d)|P\.(?: ?[23]d)|Cal\. ?(?:Rptr|App)\.(?: ?[2-4](?:d|th))?|WL|"
    r"I\. ?& ?N\. ?Dec\.|P\. ?R\. ?R\.|D\. ?P\. ?R\.|Mass\.(?: App\. Ct\.)?|N\. ?H\.|R\. ?I\.|Me\.|Fed\. ?Cl\.|T\. ?C\.|F\.|Fed\. ?Reg\.|Stat\.)"
)
_CASE = re.compile(
    rf"\b(?P<volume>\d{{1,4}}) (?P<reporter>{_REPORTER}),? ?(?:at )?(?P<page>\d{{1,7}})(?P<pins>(?:[-–]\d+)?(?:, \d+(?:[-–]\d+)?(?![\d–-]| [A-Z]))*)"
)
_STATUTE = re.compile(
    r"\b(?P<title>\d{1,2}) (?P<code>U\. ?S\. ?C\.(?: ?A\.)?|C\. ?F\. ?R\.|[A-Z]\w*\. ?(?:Gen\. ?)?(?:Laws|Stat)\.?(?: Ann\.)?)"
    r"(?: ?(?:§+|[Ss]ections?|[Pp]ts?\.|[Pp]arts?|ch\.))? ?(?P<section>\d+[a-z]{0,2}(?:-\d+)?)"
)
# Of several sections the later ones too: "sections 327, 328 and 330".
_LISTED = r"\d+[a-z]{0,2}(?:-\d+)?(?:\([0-9a-zA-Z]{1,4}\))*(?:,? (?:and|or|to|through|&) |, |[-–])"
_SECTION = re.compile(
    rf"(?:(?:§§ ?|\b(?:[Ss]ections|[Rr]ules) )(?P<sections>(?:{_LISTED}){{1,8}}\d+[a-z]{{0,2}}(?:-\d+)?)"
    r"|(?:§+ ?|\b(?:[Ss]ections?|[Rr]ules?|Fed\. ?R\. ?[A-Z]\w*\. ?(?:P\. ?)?) ?)(?P<section>\d+[a-z]{0,2}(?:-\d+)?))\b"
)
_DOCKET = re.compile(r"\bNos?\. (?:\d\d-\d{3,5}(?:, |,? and | & )?)+")
_NUMBER = re.compile(r"\d+")


def citation_mentions(text: str) -> Iterator[Mention]:
    """Yield the numbers of citations; what they belong to stands in the key: ``page|F.3d|678|10``."""
    taken = 0
    found = (match for pattern in (_CASE, _STATUTE, _SECTION, _DOCKET) for match in pattern.finditer(text))
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        if match.start() < taken:
            continue
        taken = match.end()
        named = match.groupdict()
        if "volume" in named:
            series = re.sub(r"\s", "", named["reporter"])
            yield Mention(*match.span("volume"), "citation", f"volume|{series}|{named['volume']}")
            start = match.start("page")
            for number in _NUMBER.finditer(text, start, match.end()):
                yield Mention(*number.span(), "citation", f"page|{series}|{named['volume']}|{number[0]}")
        elif "title" in named:
            code = re.sub(r"\s", "", named["code"])
            yield Mention(*match.span("title"), "citation", f"title|{code}|{named['title']}")
            yield from _digits(text, *match.span("section"), "section")
        elif "section" in named:
            which = "sections" if named["sections"] else "section"
            yield from _digits(text, *match.span(which), "section")
        else:
            yield from _digits(text, *match.span(), "docket")


def _digits(text: str, start: int, end: int, key: str) -> Iterator[Mention]:
    for number in _NUMBER.finditer(text, start, end):
        yield Mention(*number.span(), "citation", f"{key}|{number[0]}")
