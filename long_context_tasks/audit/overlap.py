"""How much of a text is written elsewhere already: n-grams, without names and numbers, that other texts of the same kind have."""

import re
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

N = 5
OTHERS = 50
"""Texts with which a text is compared."""
_COMPARED = 20
_WORD = re.compile(r"[^\W\d_]+|\d+")
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5], np.uint64)  # fmt: skip


def masked_overlap(texts: Sequence[str]) -> float:
    """Return the share of a text's masked n-grams that up to 50 of the other texts have; mean over up to 20 texts.

    Names (words that the text writes with a capital only) and numbers count as the same word. NaN for less than two texts.

    >>> masked_overlap(["In 1851 Anne saw the old pump.", "In 12 Kit saw the old pump.", "In vain all look for 7 pears."]) == 2 / 3
    True
    """
    texts = texts[: OTHERS + 1]
    if len(texts) < 2:
        return float("nan")
    numbers: dict[str, int] = {}
    grams = [_grams(text, numbers) for text in texts]
    shares = []
    for at, own in enumerate(grams[:_COMPARED]):
        others = np.unique(np.concatenate([each for place, each in enumerate(grams) if place != at]))
        shares.append(float(np.isin(own, others).mean()) if len(own) else 0.0)
    return fmean(shares)


def _grams(text: str, numbers: dict[str, int]) -> NDArray[np.uint64]:
    """Hashes of the n-grams of a text, in order; words are numbered as they come."""
    words = _WORD.findall(text)
    small = {word for word in words if word.islower()}
    masked = ("0" if word[0].isdigit() else word.lower() if word.lower() in small else "A" for word in words)
    ids = np.array([numbers.setdefault(word, len(numbers) + 1) for word in masked], np.uint64)
    if len(ids) < N:
        return ids[:0]
    return np.lib.stride_tricks.sliding_window_view(ids, N) @ _FACTORS
