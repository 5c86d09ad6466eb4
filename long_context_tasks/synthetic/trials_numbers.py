"""Numbers that a recalling task asks for, and numbers that stand beside them and are something else.

In a long text nearly every small number would sooner or later be both, and an answer that lists every number would be
right. So each text divides the whole numbers: one part may only be what is asked for, the rest only what is not.
"""

import math
from collections.abc import Callable

__all__ = ["Numbers", "in_words"]

SHARE = 0.38
"""Share of the numbers that may be what is asked for."""
_MASK = (1 << 64) - 1
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_words(number: int) -> str:
    """A number below 1,000 in words.

    >>> in_words(42), in_words(312), in_words(700)
    ('forty-two', 'three hundred and twelve', 'seven hundred')
    """
    if number < 20:
        return _UNITS[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        return _TENS[tens] + (f"-{_UNITS[unit]}" if unit else "")
    hundreds, rest = divmod(number, 100)
    return f"{_UNITS[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")


class Numbers:
    """Draws numbers of either part of one text."""

    def __init__(self, key: int, random: Callable[[], float]) -> None:
        """Divide the numbers by a key; draw them with ``random``."""
        self.key, self.random = key & _MASK, random

    def is_asked(self, number: int) -> bool:
        """Whether a number belongs to those that are asked for; nothing but the key decides."""
        mixed = ((number ^ self.key) * 0x9E3779B97F4A7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & _MASK
        return (mixed >> 40) < SHARE * (1 << 24)

    def draw(self, low: int, high: int, *, asked: bool) -> int:
        """A number from ``low`` to ``high`` of one part; small numbers are as likely as those ten times as large.

        Where the range has none of that part, it grows upwards until there is one.
        """
        ratio = math.log((high + 1) / low)
        for _ in range(40):
            number = min(high, int(low * math.exp(self.random() * ratio)))
            if self.is_asked(number) is asked:
                return number
        number = low
        while self.is_asked(number) is not asked:
            number += 1
        return number

    def within(self, low: int, high: int, *, asked: bool) -> int | None:
        """A number of a range, each as likely; None where the range has none of that part."""
        found = [number for number in range(low, high + 1) if self.is_asked(number) is asked]
        return found[int(self.random() * len(found))] if found else None
