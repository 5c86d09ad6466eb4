"""Write numbers in words, and split a text's numbers into recall answers and distractors."""

from collections.abc import Callable
from math import exp, log

UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

SHARE = 0.38  # fraction of numbers that may be answers
_MASK = (1 << 64) - 1
_LIMIT = SHARE * (1 << 24)
_TRIES = range(40)  # a small range may have no number of a part


def in_words(number: int, *, link: str = " and ", dash: str = "-") -> str:
    """Write out a number below ten thousand.

    >>> in_words(42), in_words(312), in_words(1250, link=" ", dash=" ")
    ('forty-two', 'three hundred and twelve', 'one thousand two hundred fifty')
    """
    if number < 20:
        return UNITS[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        return TENS[tens - 2] + (f"{dash}{UNITS[unit]}" if unit else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    many, rest = divmod(number, size)
    return f"{UNITS[many]} {name}" + (link + in_words(rest, link=link, dash=dash) if rest else "")


def ordinal(day: int) -> str:
    """Return the day of a month as 1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


class _Parts(dict[int, bool]):
    """Whether each number may be an answer."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self._key = key

    def __missing__(self, number: int) -> bool:
        # A multiply-xorshift hash as in splitmix64, because neighbouring numbers must not fall in the same part.
        mixed = ((number ^ self._key) * 0x9E3779B97F4A7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & _MASK
        asked = self[number] = (mixed >> 40) < _LIMIT
        return asked


class DividedNumbers:
    """Draw answers and distractors for a text.

    Without a split, nearly every small number would be an answer in one place of a long text and a distractor
    in another, and a list of all numbers would be right. A key therefore divides the integers: some are only
    answers, the others only distractors.
    """

    def __init__(self, key: int, random: Callable[[], float]) -> None:
        self.random, self._parts = random, _Parts(key & _MASK)
        self._ranges: dict[tuple[int, int, bool], list[int]] = {}

    def is_asked(self, number: int) -> bool:
        """Return whether a number may be an answer."""
        return self._parts[number]

    def draw(self, low: int, high: int, *, asked: bool) -> int:
        """Draw a number from ``low`` to ``high`` on a logarithmic scale.

        If no number in the range belongs to that part, the range grows upwards until one does.
        """
        # This is the innermost loop of all abstracts; local names are faster.
        ratio, random, parts = log((high + 1) / low), self.random, self._parts
        for _ in _TRIES:
            number = int(low * exp(random() * ratio))
            if number > high:  # noqa: PLR1730 (a call costs as much as the rest)
                number = high
            if parts[number] is asked:
                return number
        number = low
        while parts[number] is not asked:
            number += 1
        return number

    def within(self, low: int, high: int, *, asked: bool) -> int | None:
        """Draw uniformly from ``low`` to ``high``; None if no number in the range belongs to that part."""
        found = self._ranges.get((low, high, asked))
        if found is None:
            found = [number for number in range(low, high + 1) if self._parts[number] is asked]
            self._ranges[low, high, asked] = found
        return found[int(self.random() * len(found))] if found else None
