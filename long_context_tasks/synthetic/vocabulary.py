"""Invented names of people, places, organisations, and products, as many as a text needs.

All of them are made of the same parts, and about a third of the surnames, places, and products take a name that one of another kind has in
the same text: what a name stands for is seen from its sentence alone. There are about half a million names. Equal seeds give equal
names in equal order.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from random import Random

from long_context_tasks.synthetic.wording import Dice, stream, words

SHARED = 0.5
"""Chance that a name is drawn from those of all kinds; it is a new one where its own kind has it."""
_TWO_SURNAMES = 0.3  # share of the organisations with two names


@dataclass(frozen=True, slots=True)
class Person:
    """Someone with a name."""

    first: str
    surname: str
    female: bool

    @property
    def full(self) -> str:
        """First name and surname."""
        return f"{self.first} {self.surname}"


@cache
def _parts(name: str) -> tuple[str, ...]:
    return tuple(" ".join(words("vocabulary.txt", name)).split())


@cache
def _rude() -> re.Pattern[str]:
    return re.compile("|".join(_parts("rude")))


class Vocabulary:
    """Gives names; no two of a kind are equal.

    Attributes:
        used: kind -> the names given so far, in order. First names may come again with another surname.
    """

    def __init__(self, seed: int, avoid: Container[str] = frozenset()) -> None:
        """Give names by a seed, none of those to ``avoid``."""
        self.dice = Dice(Random(stream(seed, "vocabulary")).random)
        self.avoid = avoid
        self.names: list[str] = []
        self.used: dict[str, dict[str, None]] = {
            kind: {} for kind in ("surname", "place", "product", "organisation", "person")
        }

    def person(self, female: bool | None = None) -> Person:
        """Return somebody whose surname no one else has."""
        female = self.dice.chance(0.5) if female is None else female
        person = Person(self.first(female), self.surname(), female)
        self.used["person"][person.full] = None
        return person

    def first(self, female: bool) -> str:
        """Return a first name; it may come again."""
        return self._made("woman_tail" if female else "man_tail")

    def surname(self) -> str:
        """Return a surname."""
        return self._name("surname")

    def place(self) -> str:
        """Return the name of a place."""
        return self._name("place")

    def product(self) -> str:
        """Return the name of a product."""
        return self._name("product")

    def organisation(self) -> str:
        """Return the name of a firm or a public body, after a place or a person."""
        while True:
            name, other = self._name("surname" if self.dice.chance(0.5) else "place"), ""
            if self.dice.chance(_TWO_SURNAMES):
                other = f" and {self._name('surname')}"
            kind = "company" if other or self.dice.chance(0.6) else "body"
            title = f"{name}{other} {self.dice.pick(_parts(kind))}"
            if title not in self.used["organisation"]:
                self.used["organisation"][title] = None
                return title

    def _name(self, kind: str) -> str:
        used = self.used[kind]
        name = self.dice.pick(self.names) if self.names and self.dice.chance(SHARED) else self._made("tail")
        while name in used:
            name = self._made("tail")
        used[name] = None
        self.names.append(name)
        return name

    def _made(self, tail: str) -> str:
        """Make a name that reads well: no letter comes twice where its parts meet."""
        while True:
            head, end = self._head("" if tail == "tail" else "given"), self.dice.pick(_parts(tail))
            name = (head + end).capitalize()
            meets_badly = head[-1] == end[0] or (head[-1] in "aeiouy" and end[0] in "aeiouy")
            if not (meets_badly or name in self.avoid or _rude().search(name.lower())):
                return name

    def _head(self, given: str) -> str:
        """Return a listed head or, as often, one made of sounds."""
        pick = self.dice.pick
        if self.dice.chance(0.5):
            return pick(_parts(given or "head"))
        if given:
            return pick(_parts("given_onset")) + pick(_parts("short")) + pick(_parts("given_coda"))
        kind = "short" if self.dice.chance(0.6) else "long"
        while True:
            onset, vowel = pick(_parts("onset")), pick(_parts(kind))
            if not (onset[-1] in "rw" and vowel[-1] in "ru"):
                return onset + vowel + pick(_parts(f"{kind}_coda"))
