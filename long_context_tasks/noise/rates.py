"""Word error rates, measured by rapidfuzz."""

import unicodedata
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from long_context_tasks.schema import InputError


class Marks(dict[str, str]):
    """A character for each word: rapidfuzz measures strings fastest."""

    def __missing__(self, text: str) -> str:
        """Return a new character, or several for several words."""
        if " " in text or not text:
            mark = "".join(map(self.__getitem__, text.split()))
        else:
            number = len(self) + 0x100
            mark = chr(number if number < 0xD800 else number + 0x800)  # never a surrogate
        self[text] = mark
        return mark


def encode(*texts: Sequence[str]) -> list[str]:
    """Return sequences of words as strings with a character for each word.

    >>> first, second = encode(["to", "be"], ["be", "to"])
    >>> first == second[::-1]
    True
    """
    marks = Marks()
    return ["".join(map(marks.__getitem__, words)) for words in texts]


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Return the edit distance of the words over the number of reference words, 0 to 1 and above.

    Words are separated by white space, with case and punctuation; line breaks count as spaces.

    >>> word_error_rate("to be or not", "to bee or")
    0.5

    Raises:
        InputError: the reference holds no words.
    """
    left, right = reference.split(), hypothesis.split()
    if not left:
        raise InputError("the reference holds no words; a word error rate needs some")
    return Levenshtein.distance(*encode(left, right)) / len(left)


def official_error_rate(
    references: Sequence[str], hypotheses: Sequence[str], *, characters: bool = False
) -> float:
    """Return the simulator's own measure in percent: NFKC, line by line.

    Args:
        references: Lines.
        hypotheses: As many lines.
        characters: Character instead of word error rate.

    Raises:
        InputError: unequal numbers of lines, or references without words.
    """
    if len(references) != len(hypotheses):
        raise InputError(
            f"{len(references)} reference lines but {len(hypotheses)} hypothesis lines; give one for each"
        )
    distance = total = 0
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        left, right = (unicodedata.normalize("NFKC", text) for text in (reference, hypothesis))
        pair = (left, right) if characters else encode(left.split(), right.split())
        distance += Levenshtein.distance(*pair)
        total += len(left) if characters else len(left.split())
    if not total:
        raise InputError("the references hold no words; a word error rate needs some")
    return 100 * distance / total
