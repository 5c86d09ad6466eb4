"""Rules as the official ``get_rules`` of the ASR error simulator makes them, tie choices included.

These rules hold substitutions only: no probability for the word itself and none for leaving it out, so the official
rewriting always replaces each word that has one. Rules for use come from :func:`long_context_tasks.noise.learn`.

Pairs are aligned as Biopython's pairwise2 does (``one_alignment_only``), which is deprecated there and therefore no dependency; this
is only what the official code needs, a linear gap penalty of 0 or 1 and one alignment. pairwise2 compares scores after rounding them
to thousandths, walks back from the end and prefers a gap in the first sequence, then a pair, then a gap in the second. (Its rule that
a gap in the first sequence must not be directly before a gap in the second never decides anything at such penalties.)
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from long_context_tasks.schema import InputError

CORPUS = "<unk>"
"""Name of the first line, with rates of the whole corpus."""

_distance = lru_cache(maxsize=1 << 18)(Levenshtein.distance)
_GAP_FIRST, _PAIR, _GAP_SECOND = 1, 2, 4


def _rounded(score: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return (score * 1000 + 0.5).astype(np.int64)  # truncates towards zero, as C does


def _choices(scores: npt.NDArray[np.float64], gap: float) -> list[bytes]:
    """For each cell of the table (without its first row and column) the moves that reach its best score, as bits."""
    rows, columns = scores.shape
    steps = gap * np.arange(columns + 1)
    before = -steps
    moves = []
    for row in range(rows):
        pair = before[:-1] + scores[row]
        best = np.empty(columns + 1)
        best[0] = -gap * (row + 1)
        np.maximum(pair, before[1:] - gap, out=best[1:])
        # A gap in the first sequence: the best of all cells to the left, less a penalty for each step.
        best = np.maximum.accumulate(best + steps) - steps
        target = _rounded(best[1:])
        bits = _PAIR * (_rounded(pair) == target)
        bits += _GAP_FIRST * (_rounded(best[:-1] - gap) == target)
        bits += _GAP_SECOND * (_rounded(before[1:] - gap) == target)
        moves.append(bits.astype(np.uint8).tobytes())
        before = best
    return moves


def align(scores: npt.NDArray[np.float64], gap: float) -> list[tuple[int, int]]:
    """Align two sequences.

    Args:
        scores: Score of each item of the first (rows) with each of the second (columns).
        gap: Penalty of each item that has no partner: 0 or 1.

    Returns:
        Pairs of indices in order; -1 where one side has a gap.
    """
    rows, columns = scores.shape
    if not rows or not columns:
        return [(i, -1) for i in range(rows)] + [(-1, j) for j in range(columns)]
    moves = _choices(scores, gap)
    path: list[tuple[int, int]] = []
    row, column = rows, columns
    while row and column:
        bits = moves[row - 1][column - 1]
        if bits & _GAP_FIRST:
            column -= 1
            path.append((-1, column))
        elif bits & _PAIR:
            row, column = row - 1, column - 1
            path.append((row, column))
        else:
            row -= 1
            path.append((row, -1))
    path += [(i, -1) for i in range(row - 1, -1, -1)]
    path += [(-1, j) for j in range(column - 1, -1, -1)]
    return path[::-1]


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
    """Return the lines of the official rules file.

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
            # A pair too far apart counts for nothing, but the word is in the file.
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
