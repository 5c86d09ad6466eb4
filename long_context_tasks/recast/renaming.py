"""Rename what a text names: each original word becomes one new word, wherever it stands.

A name is a word that has a capital inside sentences and rarely a small letter. Titles, months, peoples and other words of
``data/kept.txt`` stay, and so do numbers and dates. Words of ``data/common.txt`` need more capitals, as a heading has them too. What
stays elsewhere is a name after a title ("Ms. Elizabeth May", "Mr. Green"). A new name has the old initial, so that initials stay right.
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

_WORD = re.compile(r"[^\W\d_]+(?:['’](?:t|am)\b)?")  # "Don't" has no Don in it
_TITLED = r"\b(?:Mr|Mrs|Miss|Ms|Dr|St|Messrs|[Hh]on|Prof|Rev)\.? (?:[A-Z]\.? ?)*"
_INSIDE = re.compile(
    rf"(?:(?P<titled>{_TITLED})|(?:[^\WA-Z\d_]|[,;]|\b[B-HJ-Z]\.) |[-–—/(])(?:[DdLlO]['’])?$"
)
"""What stands before a word inside a sentence; quotation marks may begin one."""
_PERSON = re.compile(
    r"\b(?P<title>Mr|Mrs|Miss|Ms|Dr|[Hh]on)\.? (?:[A-Z]\.? ?)*(?P<first>(?:[A-Z][\w’'-]+ ){0,2})$"
)
"""A title and first names before a word that is the name of a person."""
_NEXT_WORD = re.compile(r" ([A-Z][^\W\d_]+)")
_NO_PEOPLE = ("titles and kin", "faith", "public life", "others", "words before which a sentence ends")
"""Lists of words that name no person, even after a title."""
_LONGEST_BEFORE = 20  # characters that the pattern looks at
_FEWEST = 3  # times with a capital inside sentences for a word of common.txt to be a name
_TITLES = 2  # times after a title for a word that is not rarely small to be one
_SMALL = 5  # times with a capital inside sentences for each time with a small letter
_ROMAN = re.compile(r"[ivxlcdm]+")
_ACRONYM = 5  # letters at most
_OPENS = re.compile(r"(?!eu|u[^aeiou]?[aeiou]|u[sk]\b)[aeiou]", re.IGNORECASE)
"""A word that takes "an": not Europe, Utah, or the UK."""
_OPENS_SPELLED = re.compile("[AEFHILMNORSX]")
"""The same of a word that is spelled out, as "an NGO"."""
_TRIES = 2000
_DRAWS = 300  # until a name with the same initial is drawn


@cache
def _listed(file: str, *lists: str) -> frozenset[str]:
    """Return the words of a file of ``data``, or of some of its lists."""
    found = lines_of(Path(__file__).parent / "data" / f"{file}.txt")
    return frozenset(word for name in lists or found for line in found[name] for word in line.split())


@dataclass(frozen=True)
class Names:
    """What a text names, in small letters.

    Attributes:
        names: words to be renamed.
        acronyms: those of them that stand in capitals alone.
        people: words that are names only after a title.
        words: all words of the text; no new name is one of them.
    """

    names: frozenset[str]
    acronyms: frozenset[str]
    people: frozenset[str]
    words: frozenset[str]


def _is_person(word: re.Match[str], names: frozenset[str]) -> bool:
    """Say whether a word that is no name elsewhere is one here: after a title, or after a title and first names."""
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
    """Return what texts that belong together name."""
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
        # "Rivers" stays, but not in "Mr. Rivers".
        return form in kept or (form.removesuffix("s") in kept and not titled[form])

    def is_name(form: str) -> bool:
        if {form, form.removesuffix("s")} & common and inside[form] < _FEWEST and not titled[form]:
            return False
        return small[form] * (1 if titled[form] >= _TITLES else _SMALL) <= inside[form]

    names = {form for form, times in inside.items() if times and not stays(form) and is_name(form)}
    # Where a name stands as a plural, or alone, the other form is a name too.
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
    """Return texts with new names: the same for equal seeds and carriers, and no two words get the same one.

    Args:
        texts: all texts of the carrier, or some of them.
        names: of the whole carrier.
        seed: of the new names.
        carrier: its id; equal seeds give other carriers other names.
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
    """Return the key of a new name that a word has only after a title."""
    return f"{form} "


def _new_names(names: Names, seed: int) -> Mapping[str, str]:
    """Return what each name becomes; a plural becomes the plural of what its singular becomes."""
    vocabulary, dice = _Initials(seed), Random(f"{seed} acronyms")
    used = set(names.words)
    new: dict[str, str] = {}
    for form in (*sorted(names.names), *map(_after_title, sorted(names.people))):
        # "Jess" is no plural of "Jes".
        if form[-1] == "s" and form[-2:] != "ss" and form[:-1] in new:
            new[form] = f"{new[form[:-1]]}s"
            continue
        spelled = form in names.acronyms
        opens = _OPENS_SPELLED if spelled else _OPENS
        for tries in count():
            if spelled:
                # Where all short ones are taken, longer ones follow.
                drawn = "".join(dice.choices(ascii_uppercase, k=len(form) + tries // _TRIES))
            else:
                drawn = vocabulary.surname(form[0] if tries < _DRAWS else "")
            forms = {drawn.casefold(), f"{drawn.casefold()}s"}
            # Articles stay right ("an English lord"), unless no such name is left.
            alike = bool(opens.match(form.upper())) == bool(opens.match(drawn)) or tries > _TRIES
            if alike and drawn[-1] not in "sy" and not forms & used:
                # A bare apostrophe stays behind an s ("Walters' voice").
                new[form] = f"{drawn}s" if form[-1] == "s" and not spelled else drawn
                used |= forms
                break
    return new


class _Initials:
    """Gives new surnames by their initials; what was drawn with another one waits until it is asked for."""

    def __init__(self, seed: int) -> None:
        self.vocabulary = Vocabulary(seed)
        self.waiting: defaultdict[str, list[str]] = defaultdict(list)

    def surname(self, initial: str) -> str:
        """Return a surname with an initial; another one if there is none in some hundred, or if it is ""."""
        for _ in range(_DRAWS if initial else 0):
            if self.waiting[initial]:
                return self.waiting[initial].pop(0)
            drawn = self.vocabulary.surname()
            self.waiting[drawn[0].casefold()].append(drawn)
        return self.vocabulary.surname()
