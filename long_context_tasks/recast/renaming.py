"""Rename what a text names: each original word becomes one new word, wherever it stands.

A name is a word that has a capital inside sentences and rarely a small letter. Titles, months, peoples and other words of
``data/kept.txt`` stay, and so do numbers and dates. Words of ``data/common.txt`` need more capitals, as a heading has them too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from string import ascii_uppercase

from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.vocabulary import Vocabulary

_WORD = re.compile(r"[^\W\d_]+(?:['’](?:t|am)\b)?")  # "Don't" has no Don in it
_TITLED = r"\b(?:Mr|Mrs|Miss|Ms|Dr|St|Messrs|[Hh]on|Prof|Rev)\.? (?:[A-Z]\.? ?)*"
_INSIDE = re.compile(
    rf"(?:(?P<titled>{_TITLED})|(?:[^\WA-Z\d_]|[,;]|\b[B-HJ-Z]\.) |[-–—/(])(?:[DdLlO]['’])?$"
)
"""What stands before a word inside a sentence; quotation marks may begin one."""
_LONGEST_BEFORE = 20  # characters that the pattern looks at
_FEWEST = 3  # times with a capital inside sentences for a word of common.txt to be a name
_TITLES = 2  # times behind a title for a word that is not rarely small to be one
_SMALL = 5  # times with a capital inside sentences for each time with a small letter
_ROMAN = re.compile(r"[ivxlcdm]+")
_ACRONYM = 5  # letters at most
_OPENS = re.compile(r"(?!eu|u[^aeiou]?[aeiou]|u[sk]\b)[aeiou]", re.IGNORECASE)
"""A word that takes "an": not Europe, Utah, or the UK."""
_OPENS_SPELLED = re.compile("[AEFHILMNORSX]")
"""The same of a word that is spelled out, as "an NGO"."""
_TRIES = 2000


@cache
def _listed(name: str) -> frozenset[str]:
    text = Path(__file__).parent.joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if line[:1] not in "#=" for word in line.split())


@dataclass(frozen=True)
class Names:
    """What a text names, in small letters.

    Attributes:
        names: words to be renamed.
        acronyms: those of them that stand in capitals alone.
        words: all words of the text; no new name is one of them.
    """

    names: frozenset[str]
    acronyms: frozenset[str]
    words: frozenset[str]


def names_of(texts: Iterable[str]) -> Names:
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
    return Names(frozenset(names), frozenset(acronyms), frozenset(capital.keys() | small.keys()))


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
        if form not in new or word[0].islower():
            return word
        return new[form].upper() if word.isupper() and form not in names.acronyms else new[form]

    return [_WORD.sub(renamed, text) for text in texts]


def _new_names(names: Names, seed: int) -> Mapping[str, str]:
    """Return what each name becomes; a plural becomes the plural of what its singular becomes."""
    vocabulary, dice = Vocabulary(seed), Random(f"{seed} acronyms")
    used = set(names.words)
    new: dict[str, str] = {}
    for form in sorted(names.names):
        if form[-1] == "s" and form[:-1] in new:
            new[form] = f"{new[form[:-1]]}s"
            continue
        spelled = form in names.acronyms
        opens = _OPENS_SPELLED if spelled else _OPENS
        for tries in count():
            if spelled:
                # Where all short ones are taken, longer ones follow.
                drawn = "".join(dice.choices(ascii_uppercase, k=len(form) + tries // _TRIES))
            else:
                drawn = vocabulary.surname()
            forms = {drawn.casefold(), f"{drawn.casefold()}s"}
            # Articles stay right ("an English lord"), unless no such name is left.
            alike = bool(opens.match(form.upper())) == bool(opens.match(drawn)) or tries > _TRIES
            if alike and drawn[-1] not in "sy" and not forms & used:
                # A bare apostrophe stays behind an s ("Walters' voice").
                new[form] = f"{drawn}s" if form[-1] == "s" and not spelled else drawn
                used |= forms
                break
    return new
