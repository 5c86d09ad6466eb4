"""The longest common subsequence of two lists: its length, and the very one that the official code returns.

Both go through one row of bits per element (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004) instead of a table of
numbers: bit j of a row is 0 where the length grows from column j to j + 1.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def _rows(prediction: Sequence[Hashable], answer: Sequence[Hashable]) -> Iterator[int]:
    """The bits after each element of ``prediction``."""
    places: dict[Hashable, int] = {}
    bit = 1
    for element in answer:
        places[element] = places.get(element, 0) | bit
        bit <<= 1
    row = full = bit - 1
    for element in prediction:
        matches = places.get(element)
        if matches is not None:
            used = row & matches
            row = ((row + used) | (row - used)) & full
        yield row


def lcs_length(prediction: Sequence[Hashable], answer: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence.

    >>> lcs_length("3124", "1234")
    3
    """
    row = (1 << len(answer)) - 1
    for row in _rows(prediction, answer):  # noqa: B007
        pass
    return len(answer) - row.bit_count()


def longest_common_subsequence(prediction: Sequence[T], answer: Sequence[T]) -> list[T]:
    """The common subsequence that the official code returns, of several equally long ones.

    It goes back from both ends: equal elements are taken; else the last element of the prediction is dropped where that keeps
    the length and dropping the answer's does not, else the answer's.

    >>> longest_common_subsequence(["1", "2", "3"], ["3", "2", "1"])
    ['3']
    """
    rows = list(_rows(prediction, answer))
    i, j = len(prediction) - 1, len(answer) - 1
    found: list[T] = []
    while i >= 0 and j >= 0:
        element = prediction[i]
        if element == answer[j]:
            found.append(element)
            i -= 1
            j -= 1
        elif rows[i] >> j & 1:
            j -= 1
        else:
            i -= 1
    found.reverse()
    return found
