"""Rules as the official ``get_rules`` of the ASR error simulator makes them, tie choices included.

These rules hold substitutions only: no probability for the word itself and none for leaving it out, so the official
rewriting replaces each word that has one always. Rules for use come from :func:`long_context_tasks.noise.learn`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from long_context_tasks.noise._pairwise import align
from long_context_tasks.schema import InputError

CORPUS = "<unk>"
"""Name of the first line: rates of the whole corpus."""

_distance = lru_cache(maxsize=1 << 18)(Levenshtein.distance)


def _word_scores(reference: list[str], hypothesis: list[str]) -> npt.NDArray[np.float64]:
    return np.array(
        [[1 - _distance(a, b) / max(len(a), len(b)) for b in hypothesis] for a in reference], dtype=np.float64
    ).reshape(len(reference), len(hypothesis))


def _aligned_words(reference: str, hypothesis: str) -> Iterator[tuple[str, str]]:
    """Word by word; "" is a gap."""
    left, right = reference.split(), hypothesis.split()
    for i, j in align(_word_scores(left, right), 0.0):
        yield left[i] if i >= 0 else "", right[j] if j >= 0 else ""


def _aligned_characters(reference: str, hypothesis: str) -> Iterator[tuple[str, str]]:
    """Character by character, cut at the spaces of the reference; "" is a gap."""
    left = np.frombuffer(reference.encode("utf-32-le"), dtype=np.uint32)
    right = np.frombuffer(hypothesis.encode("utf-32-le"), dtype=np.uint32)
    scores = -(left[:, None] != right[None, :]).astype(np.float64)
    columns = [
        (reference[i] if i >= 0 else "-", hypothesis[j] if j >= 0 else "-") for i, j in align(scores, 1.0)
    ]
    start = 0
    for place, (a, _) in enumerate(columns):
        if a == " ":
            yield from _split(*_joined(columns[start:place]))
            start = place + 1
    yield _joined(columns[start:])  # the last piece is never split


def _joined(columns: list[tuple[str, str]]) -> tuple[str, str]:
    """The two sides of some columns; a gap is a hyphen."""
    return "".join(a for a, _ in columns), "".join(b for _, b in columns)


def _split(word: str, heard: str) -> Iterator[tuple[str, str]]:
    """A word and what was heard for it; beside a part that is as near to the word as all of them the others are inserted.

    Distances are those of the official code: gaps count as hyphens.
    """
    parts = heard.split()
    if len(parts) > 1:
        distances = [_distance(word, part) for part in parts]
        nearest = min(distances)
        if nearest <= _distance(word, heard):
            for part, distance in zip(parts, distances, strict=True):
                yield (word if distance == nearest else "", part)
            return
    yield word, heard


def official_rules(
    pairs: Iterable[tuple[str, str]], *, characters: bool = False
) -> list[tuple[str, dict[str, float]]]:
    """The lines of the official rules file.

    Args:
        pairs: Reference and hypothesis.
        characters: Align characters instead of words (``--chacter_level_alignment`` there).

    Returns:
        First the rates of the corpus under :data:`CORPUS`, then word -> {form: probability}; "" holds what was inserted.

    Raises:
        InputError: no word at all (the official code divides by zero).
    """
    aligned = _aligned_characters if characters else _aligned_words
    counts: dict[str, Counter[str]] = {}
    for reference, hypothesis in pairs:
        for a, b in aligned(reference, hypothesis):
            word, form = a.replace("-", ""), " ".join(b.replace("-", "").split())
            if not word and not form:
                continue
            forms = counts.setdefault(word, Counter())
            # A pair too far apart counts for nothing, but the word stands in the file.
            if not (word and form) or _distance(word, form) <= min(len(word), len(form)):
                forms[form] += 1
    inserted = counts.get("", Counter()).total()
    deleted = sum(forms[""] for word, forms in counts.items() if word)
    kept = sum(forms.total() for word, forms in counts.items() if word) - deleted
    right = sum(forms[word] for word, forms in counts.items() if word)
    total = inserted + deleted + kept
    if not total:
        raise InputError("the pairs hold no words; give pairs of a reference and a hypothesis")
    rates = {
        "p_insert": inserted / total,
        "p_delete": deleted / total,
        "p_transmit": kept / total,
        "p_substitute": (kept - right) / kept if kept else 0.0,
    }
    rules = [(CORPUS, rates)]
    for word, forms in counts.items():
        errors = {form: n for form, n in forms.items() if form not in ("", word)}
        everything = sum(errors.values())
        rules.append((word, {form: n / everything for form, n in errors.items()}))
    return rules
