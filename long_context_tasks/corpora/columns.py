"""Remove numbers of columns that a printer's page left in the sentences of a debate ("Comparisons vary 2 between cases")."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

_COUNTED = (
    "per cent|million|billion|thousand|hundred|years?|months?|weeks?|days?|hours?|January|February|March|April|May|June|July|August|"
    "September|October|November|December"
)
# Between two words of a sentence, in no list of numbers, and with nothing behind it that it may count.
_BARE = re.compile(
    r"(?<=[\w,;:.?!)’'\"-] )(?<!No\. )(?<!\d, )\d{1,4} (?!(?:and|or|to) \d)"
    rf"(?!(?:{_COUNTED})\b)(?=[A-Za-z(“\"'£])"
)
_LENGTHS = tuple(round(800 * 1.25**step) for step in range(14))
"""Characters of a column that are tried, from 800 to 14,500."""
_SHORTEST, _LONGEST = 0.5, 1.6
"""Shares of a column's length that two numbers may be apart, for each column between them."""
_MOST_MISSING = 4
_LAST = 32
"""Of the numbers of one value far enough before another, so many are tried: text with more is a table."""
_LEAST = 10
"""Numbers that make a run; fewer may be chance."""
_LEAST_SHARE = 0.5
"""Of the columns from the first to the last number, so many must have one in the text."""


def without_columns(speeches: Sequence[str]) -> list[str]:
    """Return speeches without the numbers of columns in their sentences.

    They are numbers that count up by one at about equal distances from the beginning of a debate to its end. Without such a run
    nothing is removed.
    """
    starts = accumulate(map(len, speeches), initial=0)
    found = [
        (start + match.start(), int(match[0]), place, match.span())
        for place, (start, speech) in enumerate(zip(starts, speeches, strict=False))
        for match in _BARE.finditer(speech)
    ]
    runs = (_run([(at, value) for at, value, _, _ in found], length) for length in _LENGTHS)
    run = max(runs, key=len)
    if len(run) < _LEAST or len(run) < _LEAST_SHARE * (found[run[-1]][1] - found[run[0]][1] + 1):
        return list(speeches)
    cuts: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for before, number, behind in zip([-1, *run], run, [*run[1:], len(found)], strict=False):
        _, value, place, span = found[number]
        # Where the text has the same number once more, either may be the column's.
        if sum(other == value for _, other, _, _ in found[before + 1 : behind]) == 1:
            cuts[place].append(span)
    return [_without(speech, cuts[place]) for place, speech in enumerate(speeches)]


def _run(numbers: Sequence[tuple[int, int]], length: int) -> list[int]:
    """Return the longest run of numbers, given as place and value, that count columns of about a length; as their indices."""
    by_value: dict[int, list[int]] = defaultdict(list)
    best: list[tuple[int, int]] = []
    for index, (at, value) in enumerate(numbers):
        before = []
        for step in range(1, _MOST_MISSING + 1):
            same = by_value[value - step]
            last = bisect_right(same, at - _SHORTEST * length * step, key=lambda other: numbers[other][0])
            near = same[max(0, last - _LAST) : last]
            before += [
                (best[other][0], other)
                for other in near
                if at - numbers[other][0] <= _LONGEST * length * step
            ]
        size, previous = max(before, default=(0, -1))
        best.append((size + 1, previous))
        by_value[value].append(index)
    run: list[int] = []
    end = max(range(len(best)), key=lambda index: best[index][0], default=-1)
    while end >= 0:
        run.append(end)
        end = best[end][1]
    return run[::-1]


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
