"""Invent names of people, places and products.

About half a million names are built from the same parts. About a third of the surnames, places and products
share a name with one of another kind in the same text, so that only the sentence shows a name's meaning.
Equal seeds give equal names in the same order.
"""

import re
from collections import defaultdict
from functools import cache
from random import Random

from long_context_tasks.synthetic.wording import Dice, stream, words

SHARED = 0.5  # probability of drawing from names of all kinds, unless the name's own kind already has it


@cache
def _parts(name: str) -> tuple[str, ...]:
    return tuple(" ".join(words("vocabulary.txt", name)).split())


@cache
def _rude() -> re.Pattern[str]:
    return re.compile("|".join(_parts("rude")))


class Vocabulary:
    """Invent surnames, place names and product names, unique within each kind."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(Random(stream(seed, "vocabulary")).random)
        self.names: list[str] = []
        self.used: defaultdict[str, set[str]] = defaultdict(set)

    def name(self, kind: str) -> str:
        """Return a new name of a kind ("surname", "place", "product")."""
        used = self.used[kind]
        # Names of all kinds are redrawn, so that a name by itself does not reveal its kind.
        name = self.dice.pick(self.names) if self.names and self.dice.chance(SHARED) else self._made()
        while name in used:
            name = self._made()
        used.add(name)
        self.names.append(name)
        return name

    def _made(self) -> str:
        """Return a name without a doubled letter or vowel between its parts."""
        while True:
            head, end = self._head(), self.dice.pick(_parts("tail"))
            name = (head + end).capitalize()
            meets_badly = head[-1] == end[0] or (head[-1] in "aeiouy" and end[0] in "aeiouy")
            # Invented names must not be offensive words.
            if not (meets_badly or _rude().search(name.lower())):
                return name

    def _head(self) -> str:
        pick = self.dice.pick
        if self.dice.chance(0.5):
            return pick(_parts("head"))
        kind = "short" if self.dice.chance(0.6) else "long"
        while True:
            onset, vowel = pick(_parts("onset")), pick(_parts(kind))
            # An r or w before such a vowel is hard to read.
            if not (onset[-1] in "rw" and vowel[-1] in "ru"):
                return onset + vowel + pick(_parts(f"{kind}_coda"))
