"""Invent names of people, places and products.

About half a million names are built from the same parts. About a third of the surnames, places and products
share a name with one of another kind in the same text, so that only the sentence shows a name's meaning.
Equal seeds give equal names in the same order.
"""

import re
from collections import defaultdict
from functools import cache
from random import Random

from long_context_tasks.synthetic.wording import Dice, lines_of, stream

SHARED = 0.5  # probability of drawing from names of all kinds, unless the name's own kind already has it


@cache
def _parts() -> dict[str, tuple[str, ...]]:
    return {name: tuple(" ".join(lines).split()) for name, lines in lines_of("vocabulary.txt").items()}


@cache
def _rude() -> re.Pattern[str]:
    return re.compile("|".join(_parts()["rude"]))


class Vocabulary:
    """Invent surnames, place names and product names, unique within each kind."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(Random(stream(seed, "vocabulary")).random)
        self._parts, self._is_rude = _parts(), _rude().search
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
        pick, tails = self.dice.pick, self._parts["tail"]
        while True:
            head, end = self._head(), pick(tails)
            # Invented names must not be offensive words.
            meets_badly = head[-1] == end[0] or (head[-1] in "aeiouy" and end[0] in "aeiouy")
            if not (meets_badly or self._is_rude(head + end)):
                return (head + end).capitalize()

    def _head(self) -> str:
        pick, parts = self.dice.pick, self._parts
        if self.dice.chance(0.5):
            return pick(parts["head"])
        kind = "short" if self.dice.chance(0.6) else "long"
        while True:
            onset, vowel = pick(parts["onset"]), pick(parts[kind])
            # An r or w before such a vowel is hard to read.
            if not (onset[-1] in "rw" and vowel[-1] in "ru"):
                return onset + vowel + pick(parts[f"{kind}_coda"])
