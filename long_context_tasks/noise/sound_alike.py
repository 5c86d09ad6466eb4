"""Words that sound alike, for words that no rule knows."""

from collections import defaultdict
from collections.abc import Iterable

import jellyfish
from rapidfuzz.distance import Levenshtein

_MOST = 4


class SoundAlikes:
    """Finds the words of a vocabulary that sound like a given one, by their Metaphone keys."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Index a vocabulary; words with other than ASCII letters have no key and are left out."""
        self._buckets: dict[str, list[str]] = defaultdict(list)
        for word in sorted(set(vocabulary)):
            key = _key(word)
            for size in range(len(key), 0, -1):
                self._buckets[key[:size]].append(word)
        self._found: dict[str, tuple[str, ...]] = {}

    def of(self, word: str) -> tuple[str, ...]:
        """Up to four other words, the nearest in sound and then in writing first; empty when there is none.

        Words with the same key come first, else those whose keys agree in as many first sounds as possible.
        """
        found = self._found.get(word)
        if found is None:
            found = self._found[word] = self._search(word)
        return found

    def _search(self, word: str) -> tuple[str, ...]:
        key = _key(word)
        for size in range(len(key), 0, -1):
            others = [other for other in self._buckets.get(key[:size], ()) if other != word]
            if others:
                others.sort(key=lambda other: (Levenshtein.distance(word, other), other))
                return tuple(others[:_MOST])
        return ()


def _key(word: str) -> str:
    letters = word.replace("'", "")
    return jellyfish.metaphone(letters).replace(" ", "") if letters.isascii() and letters.isalpha() else ""


def numbers_alike(word: str) -> tuple[str, ...]:
    """Numbers that sound like one in digits: teens and tens, else its neighbours; empty for other words."""
    if not (word.isascii() and word.isdigit()):
        return ()
    number = int(word)
    if 13 <= number <= 19:
        return (str(10 * (number - 10)), str(number + 1))
    if number % 10 == 0 and 30 <= number <= 90:
        return (str(number // 10 + 10), str(number + 1))
    return (str(number + 1), str(number - 1)) if number else ("1",)
