"""Rename the names in a text: each original word becomes one new word throughout.

A name is a word that is capitalised inside sentences and rarely in lower case. Titles, months, peoples and
other words in ``data/kept.txt`` are kept, as are numbers and dates. Words in ``data/common.txt`` need more
capitalised uses, because headings capitalise them too. A word that is otherwise kept is a name after a title
("Ms. Elizabeth May", "Mr. Green"). A new name keeps the initial, so that abbreviated names remain correct.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from string import ascii_uppercase

from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.vocabulary import Vocabulary
from long_context_tasks.synthetic.wording import lines_of

_WORD = re.compile(r"[^\W\d_]+(?:['’](?:t|am)\b)?")  # "Don't" does not contain the name Don
_TITLED = r"\b(?:Mr|Mrs|Miss|Ms|Dr|St|Messrs|[Hh]on|Prof|Rev)\.? (?:[A-Z]\.? ?)*"
# Text before a word inside a sentence, except a quotation mark, which may open a sentence.
_INSIDE = re.compile(
    rf"(?:(?P<titled>{_TITLED})|(?:[^\WA-Z\d_]|[,;]|\b[B-HJ-Z]\.) |[-–—/(])(?:[DdLlO]['’])?$"
)
# A title and first names before a person's name.
_PERSON = re.compile(
    r"\b(?P<title>Mr|Mrs|Miss|Ms|Dr|[Hh]on)\.? (?:[A-Z]\.? ?)*(?P<first>(?:[A-Z][\w’'-]+ ){0,2})$"
)
_NEXT_WORD = re.compile(r" ([A-Z][^\W\d_]+)")
# Lists of words that are not names of persons even after a title.
_NO_PEOPLE = ("titles and kin", "faith", "public life", "others", "words before which a sentence ends")
_LONGEST_BEFORE = 20  # characters searched before a word
_FEWEST = 3  # minimum capitalised uses inside sentences for a word in common.txt to be a name
_TITLES = 2  # minimum uses after a title for a word to be a name although it is often in lower case
_SMALL = 5  # minimum ratio of capitalised uses inside sentences to lower-case uses for a name
_ROMAN = re.compile(r"[ivxlcdm]+")
_ACRONYM = 5  # maximum letters
# A word after "an", unlike Europe, Utah and the UK.
_OPENS = re.compile(r"(?!eu|u[^aeiou]?[aeiou]|u[sk]\b)[aeiou]", re.IGNORECASE)
_OPENS_SPELLED = re.compile("[AEFHILMNORSX]")  # a word that is spelled out after "an", as in "an NGO"
_TRIES = 2000
_DRAWS = 300  # names drawn in search of the same initial


@cache
def _listed(file: str, *lists: str) -> frozenset[str]:
    """Return the words of a file in ``data``, or of some of its lists."""
    found = lines_of(Path(__file__).parent / "data" / f"{file}.txt")
    return frozenset(word for name in lists or found for line in found[name] for word in line.split())


@dataclass(frozen=True)
class Names:
    """The names in a text, in lower case."""

    names: frozenset[str]  # words to rename
    acronyms: frozenset[str]  # names that are always in capitals
    people: frozenset[str]  # words that are names only after a title
    words: frozenset[str]  # all words of the text, which no new name may repeat


def _is_person(word: re.Match[str], names: frozenset[str]) -> bool:
    """Check whether an ordinary word follows a title, or a title and first names."""
    found = _PERSON.search(word.string, max(0, word.start() - 3 * _LONGEST_BEFORE), word.start())
    if found is None or word[0].casefold() in _listed("kept", *_NO_PEOPLE):
        return False
    first = _WORD.findall(found["first"])
    if not first and found["title"] in ("hon", "Hon"):
        # "the hon. Member", but "Hon. Mark Eyking".
        after = _NEXT_WORD.match(word.string, word.end())
        return after is not None and after[1].casefold() in names
    return all(one.casefold() in names for one in first)


def names_of(texts: Sequence[str]) -> Names:
    inside, titled, capital, upper, small = (Counter[str]() for _ in range(5))
    for text in texts:
        for match in _WORD.finditer(text):
            word, form = match[0], match[0].casefold()
            if word[0].islower():
                small[form] += 1
                continue
            capital[form] += 1
            upper[form] += word.isupper()
            if before := _INSIDE.search(text, max(0, match.start() - _LONGEST_BEFORE), match.start()):
                inside[form] += 1
                titled[form] += before["titled"] is not None
    kept, common = _listed("kept"), _listed("common")

    def stays(form: str) -> bool:
        if len(form) < 2 or (capital[form] == upper[form] and _ROMAN.fullmatch(form)):
            return True
        # "Rivers" is kept, but not in "Mr. Rivers".
        return form in kept or (form.removesuffix("s") in kept and not titled[form])

    def is_name(form: str) -> bool:
        if {form, form.removesuffix("s")} & common and inside[form] < _FEWEST and not titled[form]:
            return False
        return small[form] * (1 if titled[form] >= _TITLES else _SMALL) <= inside[form]

    names = {form for form, times in inside.items() if times and not stays(form) and is_name(form)}
    # The singular and plural of a name are names too.
    others = {f"{form}s" for form in names} | {form[:-1] for form in names if form[-1] == "s"}
    names |= {form for form in others if not stays(form) and small[form] * _SMALL < capital[form]}
    acronyms = {form for form in names if capital[form] == upper[form] and len(form) <= _ACRONYM}
    known = frozenset(names)
    people = {
        form
        for text in texts
        for match in _WORD.finditer(text)
        if match[0][0].isupper()
        and (form := match[0].casefold()) not in known
        and len(form) > 1
        and _is_person(match, known)
    }
    return Names(known, frozenset(acronyms), frozenset(people), frozenset(capital.keys() | small.keys()))


def rename(texts: Sequence[str], names: Names, seed: int, carrier: str) -> list[str]:
    """Return a carrier's texts with new names, determined by the seed and the carrier's id.

    ``names`` are those of the whole carrier, so that all of its texts get the same new names.
    """
    new = _new_names(names, int(stable_seed(seed, carrier)[:12], 16))

    def renamed(match: re.Match[str]) -> str:
        word, form = match[0], match[0].casefold()
        if word[0].islower():
            return word
        if form not in new:
            if form not in names.people or not _is_person(match, names.names):
                return word
            form = _after_title(form)
        return new[form].upper() if word.isupper() and form not in names.acronyms else new[form]

    return [_WORD.sub(renamed, text) for text in texts]


def _after_title(form: str) -> str:
    """Return the key for the new name of a word that is a name only after a title."""
    return f"{form} "


def _new_names(names: Names, seed: int) -> Mapping[str, str]:
    """Return the new word for each name; a name's plural gets the plural of its new word."""
    vocabulary, dice = _Initials(seed), Random(f"{seed} acronyms")
    used = set(names.words)
    new: dict[str, str] = {}
    for form in (*sorted(names.names), *map(_after_title, sorted(names.people))):
        # "Jess" is not the plural of "Jes".
        if form[-1] == "s" and form[-2:] != "ss" and form[:-1] in new:
            new[form] = f"{new[form[:-1]]}s"
            continue
        spelled = form in names.acronyms
        opens = _OPENS_SPELLED if spelled else _OPENS
        for tries in count():
            if spelled:
                # Acronyms get longer once all short ones are taken.
                drawn = "".join(dice.choices(ascii_uppercase, k=len(form) + tries // _TRIES))
            else:
                drawn = vocabulary.surname(form[0] if tries < _DRAWS else "")
            forms = {drawn.casefold(), f"{drawn.casefold()}s"}
            # Articles stay correct ("an English lord") as long as the supply of names allows it.
            alike = bool(opens.match(form.upper())) == bool(opens.match(drawn)) or tries > _TRIES
            if alike and drawn[-1] not in "sy" and not forms & used:
                # A bare apostrophe needs an s before it ("Walters' voice").
                new[form] = f"{drawn}s" if form[-1] == "s" and not spelled else drawn
                used |= forms
                break
    return new


class _Initials:
    # Drawn surnames with other initials are kept for later.
    def __init__(self, seed: int) -> None:
        self.vocabulary = Vocabulary(seed)
        self.waiting: defaultdict[str, list[str]] = defaultdict(list)

    def surname(self, initial: str) -> str:
        """Return a surname with an initial, or any if the initial is empty or rare."""
        for _ in range(_DRAWS if initial else 0):
            if self.waiting[initial]:
                return self.waiting[initial].pop(0)
            drawn = self.vocabulary.name("surname")
            self.waiting[drawn[0].casefold()].append(drawn)
        return self.vocabulary.name("surname")
