"""The ASR error simulator's official noise, to the digit: ``rewrite`` and ``get_rules``.

``rewrite`` calibrates and samples: rules are scaled until the expected fraction of wrong words meets the
target; then each word draws one of its forms. Nothing is protected: a speaker tag changes if a rule exists
for that very token. A high target is often unreachable, so the effective word error rate stays below it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from long_context_tasks.schema import InputError

_LINE_END = "\0"  # represents a line end among the words
_MOST_CORRECTIONS = 10
_PRECISION = 1e-4  # difference between expected and target accuracy at which scaling stops


class RuleTable:
    """Rules as arrays, for any number of texts; the forms of all words share one list."""

    def __init__(self, rules: Mapping[str, Mapping[str, float]]) -> None:
        self.index: dict[str, int] = {}
        self.forms: list[str] = []
        counts: list[float] = []
        costs: list[float] = []
        totals: list[float] = []
        own: list[int] = []
        starts = [0]
        for word, rule in rules.items():
            if not rule:
                continue  # the word never changes
            total = sum(rule.values())
            if not total > 0:
                raise InputError(
                    f"the rule of {word!r} has only zero counts; give it counts above zero or remove it"
                )
            self.index[word] = len(totals)
            # Scaling moves probability to the word itself, so every rule needs it as a form.
            full = {**rule, word: rule.get(word, 0.0)}
            self.forms += full
            counts += full.values()
            costs += [_cost(form, word) for form in full]
            own.append(list(full).index(word))
            totals.append(total)
            starts.append(len(self.forms))
        self.starts = np.array(starts)
        self.sizes = np.diff(self.starts)
        self.own = np.array(own, dtype=np.int64)
        self.probabilities = np.array(counts) / np.repeat(totals, self.sizes)
        self.costs = np.array(costs)


def _cost(form: str, word: str) -> float:
    """Return a form's error count: its words that differ from the original word, or 1 for a deletion."""
    if " " not in form:
        return float(form != word)
    parts = form.split()
    return float(len(parts) - parts.count(word))


@dataclass(frozen=True)
class Calibrated:
    """Probabilities that meet a target as closely as the rules allow."""

    index: Mapping[str, int]  # word with a rule -> its number; other words never change
    starts: npt.NDArray[np.int64]  # index of each word's first form, and the number of all forms
    cells: npt.NDArray[np.int64]  # position of each form in the table of all rules
    probabilities: npt.NDArray[np.float64]  # probability of each form
    expected_wer: Sequence[float]  # expected fraction of wrong words before each correction, 0 to 1


def calibrate(table: RuleTable, occurrences: Mapping[str, int], wer: float) -> Calibrated:
    """Scale the rules for a text's words until its expected word error rate reaches the target.

    Args:
        occurrences: how often each word occurs in the text.
        wer: target, 0 to 1. As in the official code, a target of 0 does not scale at all.
    """
    total = sum(occurrences.values())
    if not total:
        raise InputError("the text holds no words; noise needs some")
    words = [word for word in occurrences if word in table.index]
    chosen = np.array([table.index[word] for word in words], dtype=np.int64)
    sizes = table.sizes[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cells = np.repeat(table.starts[chosen] - starts[:-1], sizes) + np.arange(int(starts[-1]))
    weights = np.array([occurrences[word] for word in words], dtype=np.float64) / total
    costs = np.repeat(weights, sizes) * table.costs[cells]
    own = starts[:-1] + table.own[chosen]
    probabilities = table.probabilities[cells]
    goal, accuracy = 1.0 - wer, 1.0
    expected: list[float] = []
    while abs(accuracy - goal) > _PRECISION and len(expected) < _MOST_CORRECTIONS:
        # Not `@`: BLAS splits long sums among its threads, so the last digit would depend on the number of
        # cores.
        accuracy = 1.0 - float(np.einsum("i,i->", probabilities, costs))
        if accuracy == 0.0:
            raise InputError(
                "the rules leave no word of the text as it is, so they cannot be scaled to a goal; learn rules that count "
                "right words too, or use the mode exact"
            )
        expected.append(1.0 - accuracy)
        old = probabilities[own]
        moving = old < 1.0
        new = np.where(moving, np.clip(old * (goal / accuracy), 0.0, 1.0), old)
        factor = np.divide(1.0 - new, 1.0 - old, out=np.ones_like(old), where=moving)
        probabilities = np.clip(probabilities * np.repeat(factor, sizes), 0.0, 1.0)
        probabilities[own] = new
    index = {word: number for number, word in enumerate(words)}
    return Calibrated(index, starts, cells, probabilities, expected)


def inject_official(text: str, table: RuleTable, wer: float, seed: int) -> str:
    """Calibrate the rules to a text and draw a form for each of its words.

    Each word takes one uniform number from numpy's legacy generator, in order. The official command line
    draws in a pool of unseeded processes; the result here equals that of one seeded process.

    Returns:
        The same number of lines; a deletion inside a line leaves two spaces, white space around a line is
        lost.
    """
    if _LINE_END in text:
        raise InputError("the text holds NUL characters, so it is not plain text; give a transcript in UTF-8")
    tokens = text.replace("\n", f" {_LINE_END} ").split()
    known = defaultdict(count(1).__next__, {_LINE_END: 0})
    numbers = np.fromiter(map(known.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    words = list(known)
    occurrences = dict(zip(words, np.bincount(numbers, minlength=1).tolist(), strict=True))
    del occurrences[_LINE_END]
    calibrated = calibrate(table, occurrences, wer)
    inside = np.flatnonzero(numbers)
    chances = np.random.RandomState(seed).random_sample(len(inside))
    rule_of = np.array([calibrated.index.get(word, -1) for word in words])[numbers[inside]]
    ruled = rule_of >= 0
    # Words and forms share one list, so one look-up writes both.
    drawn_cells = calibrated.cells[_draw(calibrated, rule_of[ruled], chances[ruled])]
    numbers[inside[ruled]] = len(words) + drawn_cells
    drawn = " ".join(map([*words, *table.forms].__getitem__, numbers.tolist()))
    return "\n".join(map(str.strip, drawn.split(_LINE_END)))


def _draw(
    calibrated: Calibrated, numbers: npt.NDArray[np.int64], chances: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Return each word's first form whose cumulative probability exceeds the word's random number."""
    drawn = np.empty(len(numbers), dtype=np.int64)
    sizes = np.diff(calibrated.starts)[numbers]
    # Words with equally many forms form a table. Its sums are added one by one, as in numpy's legacy
    # generator.
    for size in np.unique(sizes):
        words = np.flatnonzero(sizes == size)
        first = calibrated.starts[numbers[words]]
        sums = np.cumsum(calibrated.probabilities[first[:, None] + np.arange(size)], axis=1)
        place = (sums / sums[:, -1:] <= chances[words, None]).sum(axis=1)
        drawn[words] = first + np.minimum(place, size - 1)
    return drawn


CORPUS = "<unk>"  # key of the first line of the official rules file, which holds corpus-wide rates

# Biopython's pairwise2, which the official code uses to align pairs, is deprecated and therefore not a
# dependency. This is the part needed by the official code: a linear gap penalty of 0 or 1, and one alignment.
# pairwise2 compares scores rounded to thousandths, traces back from the end, and prefers a gap in the first
# sequence, then a pair, then a gap in the second. The cache helps because word pairs recur: 262,144 distances
# cover half a million sentence pairs.
_distance = lru_cache(maxsize=1 << 18)(Levenshtein.distance)
_GAP_FIRST, _PAIR, _GAP_SECOND = 1, 2, 4


def _rounded(score: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return (score * 1000 + 0.5).astype(np.int64)  # truncates towards zero, as C does


def _best_moves(scores: npt.NDArray[np.float64], gap: float) -> list[bytes]:
    """Return, as bits, the moves that reach each cell's best score (without the first row and column)."""
    rows, columns = scores.shape
    steps = gap * np.arange(columns + 1)
    before = -steps
    moves = []
    for row in range(rows):
        pair = before[:-1] + scores[row]
        best = np.empty(columns + 1)
        best[0] = -gap * (row + 1)
        np.maximum(pair, before[1:] - gap, out=best[1:])
        # A gap in the first sequence: the best of all cells to the left, minus a penalty per step.
        best = np.maximum.accumulate(best + steps) - steps
        target = _rounded(best[1:])
        bits = _PAIR * (_rounded(pair) == target)
        bits += _GAP_FIRST * (_rounded(best[:-1] - gap) == target)
        bits += _GAP_SECOND * (_rounded(before[1:] - gap) == target)
        moves.append(bits.astype(np.uint8).tobytes())
        before = best
    return moves


def align(scores: npt.NDArray[np.float64], gap: float) -> list[tuple[int, int]]:
    """Align two sequences by their items' scores, with a gap penalty of 0 or 1; -1 marks a gap in the result."""
    rows, columns = scores.shape
    if not rows or not columns:
        return [(i, -1) for i in range(rows)] + [(-1, j) for j in range(columns)]
    moves = _best_moves(scores, gap)
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


def _aligned_words(reference: str, hypothesis: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of words; a hyphen marks a gap."""
    left, right = reference.split(), hypothesis.split()
    likeness = [[1 - _distance(a, b) / max(len(a), len(b)) for b in right] for a in left]
    for i, j in align(np.array(likeness, dtype=np.float64).reshape(len(left), len(right)), 0.0):
        yield left[i] if i >= 0 else "-", right[j] if j >= 0 else "-"


def _aligned_characters(reference: str, hypothesis: str) -> Iterator[tuple[str, str]]:
    """Align characters and yield a pair for each reference word.

    A piece without a letter of the reference is not counted.
    """
    left = np.frombuffer(reference.encode("utf-32-le"), dtype=np.uint32)
    right = np.frombuffer(hypothesis.encode("utf-32-le"), dtype=np.uint32)
    scores = -(left[:, None] != right[None, :]).astype(np.float64)
    word = heard = ""
    for i, j in align(scores, 1.0):
        if i >= 0 and reference[i] == " ":
            if word:
                yield from _split(word, heard)
            word = heard = ""
        else:
            word += reference[i].replace("-", "") if i >= 0 else ""
            heard += hypothesis[j].replace("-", "") if j >= 0 else ""
    if word:
        yield word, heard  # the official code never splits the last piece


def _split(word: str, heard: str) -> Iterator[tuple[str, str]]:
    """Pair a word with the nearest part of its form if that is as near as the whole.

    The other parts are insertions.
    """
    parts = heard.split()
    if len(parts) > 1:
        distances = [_distance(word, part) for part in parts]
        nearest = min(distances)
        if nearest <= _distance(word, heard.replace(" ", "")):
            for part, distance in zip(parts, distances, strict=True):
                yield (word if distance == nearest else "", part)
            return
    yield word, heard


def official_rules(
    pairs: Iterable[tuple[str, str]], *, characters: bool = False
) -> list[tuple[str, dict[str, float]]]:
    """Return the lines of the official rules file.

    They count only substitutions, not correct words or deletions, so the official rewriting always replaces a
    word that has such a rule. For usable rules see :func:`long_context_tasks.noise.learn`.

    Args:
        pairs: reference and hypothesis.
        characters: align characters instead of words (``--chacter_level_alignment`` of the official code).

    Returns:
        First the corpus rates under :data:`CORPUS`, then word -> {form: probability}; "" holds the
        insertions.

    Raises:
        InputError: the pairs contain no words (the official code divides by zero).
    """
    aligned = _aligned_characters if characters else _aligned_words
    seen: dict[str, Counter[str]] = {}
    for reference, hypothesis in pairs:
        for a, b in aligned(reference, hypothesis):
            seen.setdefault(a, Counter())[b] += 1
    counts: dict[str, Counter[str]] = {}
    for a, heard in seen.items():
        word = a.replace("-", "")
        forms = counts.setdefault(word, Counter())
        for b, n in heard.items():
            form = b.replace("-", "")
            # A pair that is too far apart is not counted, but its word is in the file.
            if not (word and form) or _distance(word, form) <= min(len(word), len(form)):
                forms[form] += n
    # Hyphens on both sides leave ("", ""), which the official code counts as a deletion.
    deleted = sum(forms[""] for forms in counts.values())
    inserted = sum(forms.total() - forms[""] for word, forms in counts.items() if not word)
    kept = sum(forms.total() - forms[""] for word, forms in counts.items() if word)
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
