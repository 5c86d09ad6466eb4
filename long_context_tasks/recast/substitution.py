"""Replace the entities of a text by those of a seed: one original, one replacement, wherever and in whatever form it occurs."""

import math
import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from long_context_tasks.recast.mention import Mention
from long_context_tasks.recast.quantities import spelled
from long_context_tasks.synthetic.numbers import MONTHS, ordinal
from long_context_tasks.synthetic.vocabulary import Vocabulary

_GROWTH = (1.15, 1.6)
"""Counts and other numbers grow by one factor, so that they still add up, but for rounding; above 1 none becomes another's."""
_YEARS_BACK = (10, 20, 30, 40)
"""Tens, so that a decade stays one."""
_DAYS_ON = (3, 20)
"""All dates of a text move by the same days, so that their order and what lies between them stay."""
_NEAR = 6
"""Characters between the parts of one date."""
_PAGES_ON = (1, 400)
_TITLES = 50
_VOWELS, _CONSONANTS = "AEIOU", "BCDFGHJKLMNPQRSTVWXYZ"
_WORD = re.compile(r"[^\W\d_]+")
_OPENS = re.compile(r"(?!eu|u[^\Waeiou]?[aeiou]|u\W|u[sk]\b)[aeiou]", re.IGNORECASE)
"""A vowel as spoken: not that of Europe, Utah, or the U.S."""
_BARE_POSSESSIVE = re.compile(r"['’](?= [a-z])")
"""Behind a name in s: "Walters' voice"."""


class Span(NamedTuple):
    """A replaced place.

    Attributes:
        start, end: characters of the new text.
        kind: see :class:`~long_context_tasks.recast.mention.Mention`.
        original, replacement: the words there, with "'s" where the original has a bare apostrophe.
    """

    start: int
    end: int
    kind: str
    original: str
    replacement: str


@dataclass(frozen=True)
class Recast:
    """A text with other entities, and what was replaced where, in order."""

    text: str
    spans: tuple[Span, ...]


def substitute(text: str, mentions: Sequence[Mention], seed: int) -> Recast:
    """Return the text with the entities that a seed gives; equal seeds give equal texts.

    Args:
        text: as it was given to :func:`~long_context_tasks.recast.entities.find_entities`.
        mentions: of this text.
        seed: of the new names and numbers.
    """
    cast = _Cast(text, mentions, seed)
    parts: list[str] = []
    spans: list[Span] = []
    done = size = 0
    for mention in mentions:
        original = text[mention.start : mention.end]
        new = cast.replacement(mention, original)
        end = mention.end
        if original[-1:] in "sS" and new[-1:] not in "sS" and _BARE_POSSESSIVE.match(text, end):
            original, new, end = original + text[end], f"{new}{text[end]}s", end + 1
        kept = text[done : mention.start]
        start = size + len(kept)
        parts += [kept, new]
        spans.append(Span(start, start + len(new), mention.kind, original, new))
        done, size = end, start + len(new)
    return Recast("".join([*parts, text[done:]]), tuple(spans))


class _Cast:
    """What every entity of a text becomes."""

    def __init__(self, text: str, mentions: Sequence[Mention], seed: int) -> None:
        self.seed = seed
        dice = Random(f"{seed} recast")
        self.growth = dice.uniform(*_GROWTH)
        self.years = dice.choice(_YEARS_BACK)
        self.dates = _moved(text, mentions, self.years, timedelta(dice.randint(*_DAYS_ON)))
        self.letters = {
            letters[place]: letters[(place + by) % len(letters)]
            for letters, by in ((_VOWELS, dice.randint(1, 4)), (_CONSONANTS, dice.randint(1, 20)))
            for place in range(len(letters))
        }
        self.words = {word.casefold() for word in _WORD.findall(text)}
        self.vocabulary = Vocabulary(seed)
        self.kinds = {mention.key: mention.kind for mention in mentions if mention.kind != "initial"}
        self.names: dict[str, str] = {}
        self.numbers: dict[str, str] = {}

    def replacement(self, mention: Mention, original: str) -> str:
        if mention.kind == "date":
            return self.dates.get(mention.start, original)
        if mention.kind in ("count", "number"):
            return spelled(math.ceil(int(mention.key) * self.growth), like=original)
        if mention.kind == "citation":
            return self._citation(mention.key)
        if mention.kind == "acronym":
            return "".join(letter if letter == "s" else self._letter(letter) for letter in original)
        if mention.kind == "initial":
            return self._name(mention.key, original)[0] if len(mention.key) > 1 else self._letter(original)
        name = self._name(mention.key, original)
        if mention.tail.startswith(("i", "e")):
            name = name.rstrip("aeiouy") or name
        name += mention.tail
        short = " " in mention.key and " " not in original  # U.K.
        return name.upper() if original.isupper() and not short else name

    def _name(self, key: str, original: str) -> str:
        """Return the new name of a key; it begins with a vowel as spoken if the original does, so that articles stay right."""
        if key not in self.names:
            draw = self._draw(self.kinds.get(key, "name"))
            used = set(self.names.values())
            name = draw()
            while (
                name in used
                or name.casefold() in self.words
                or (_OPENS.match(name) is None) != (_OPENS.match(original) is None)
            ):
                name = draw()
            self.names[key] = name
        return self.names[key]

    def _letter(self, letter: str) -> str:
        return self.letters.get(letter.upper(), "X")

    def _draw(self, kind: str) -> Callable[[], str]:
        if kind in ("woman", "man"):
            return lambda: self.vocabulary.first(kind == "woman")
        return self.vocabulary.place if kind in ("place", "organisation") else self.vocabulary.surname

    def _citation(self, key: str) -> str:
        part, *of, number = key.split("|")
        if part == "page":
            return str(int(number) + Random(f"{self.seed} {of}").randint(*_PAGES_ON))
        if part == "volume" and of == ["WL"]:
            return str(int(number) - self.years)
        if key not in self.numbers:
            lowest = 10 ** (len(number) - 1)
            low, high = (1, _TITLES) if part == "title" else (lowest, 10 * lowest - 1)
            taken = {
                new
                for other, new in self.numbers.items()
                if other.rpartition("|")[0] == key.rpartition("|")[0]
            } | {number}
            dice = Random(f"{self.seed} {key}")
            # Where most numbers of so many digits are taken, longer ones follow.
            while (new := str(dice.randint(low, high))) in taken:
                high += 1
            self.numbers[key] = new
        return self.numbers[key]


def _moved(text: str, mentions: Iterable[Mention], years: int, days: timedelta) -> dict[int, str]:
    """Return what the parts of dates become, by their place in the text; a date without a year is of that of the one before."""
    groups: list[dict[str, Mention]] = []
    end = -_NEAR - 1
    for one in (each for each in mentions if each.kind == "date"):
        part = one.key.partition("|")[0]
        if one.start - end > _NEAR or part in groups[-1]:
            groups.append({})
        groups[-1][part], end = one, one.end
    moved: dict[int, str] = {}
    year = 2001
    for group in groups:
        values = {part: one.key.partition("|")[2] for part, one in group.items()}
        year = back = int(values.get("year", year))
        if "month" in values and "day" in values:
            month = MONTHS.index(values["month"]) + 1
            when = date(year, month, min(int(values["day"]), monthrange(year, month)[1])) + days
            back = when.year
            moved[group["month"].start] = MONTHS[when.month - 1]
            day = group["day"]
            suffixed = not text[day.start : day.end].isdecimal()
            moved[day.start] = ordinal(when.day) if suffixed else str(when.day)
        if "year" in values:
            moved[group["year"].start] = str(back - years)
        if "later" in values:
            moved[group["later"].start] = f"{(int(values['later']) - years) % 100:02}"
    return moved
