"""Word error rates, measured by rapidfuzz."""

import unicodedata
from collections.abc import Sequence
from itertools import chain

from rapidfuzz.distance import Levenshtein

from long_context_tasks.schema import InputError


def encode(*texts: Sequence[str]) -> list[str]:
    """Sequences of words as strings with one character a word, the fastest form for rapidfuzz."""
    codes: dict[str, str] = {}
    for word in chain.from_iterable(texts):
        if word not in codes:
            code = len(codes) + 0x100
            codes[word] = chr(code if code < 0xD800 else code + 0x800)  # never a surrogate
    return ["".join(map(codes.__getitem__, words)) for words in texts]


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Edit distance of the words over the number of reference words, 0 to 1 and above.

    Words are what stands between white space, case and punctuation included; line breaks count as spaces.

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
    """The simulator's own measure in percent: NFKC, line by line.

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
