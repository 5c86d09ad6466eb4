"""The official noise: the ASR error simulator's ``rewrite``, calibration and drawing, and its ``get_rules``, to the digit, but fast.

Rules are scaled until the expected share of wrong words meets the goal, then each word draws one of its forms. Nothing
is protected: a speaker tag changes if a rule exists for that very token. Often a high goal cannot be reached, and the
effective word error rate stays below it; :mod:`long_context_tasks.noise.inject` is for targets that hold.

The rules of ``get_rules`` hold substitutions only: no probability for the word itself and none for leaving it out, so the official
rewriting always replaces each word that has one. Rules for use come from :func:`long_context_tasks.noise.learn`.

Pairs are aligned as Biopython's pairwise2 does (``one_alignment_only``), which is deprecated there and therefore no dependency; this
is only what the official code needs, a linear gap penalty of 0 or 1 and one alignment. pairwise2 compares scores after rounding them
to thousandths, walks back from the end and prefers a gap in the first sequence, then a pair, then a gap in the second. (Its rule that
a gap in the first sequence must not be directly before a gap in the second never decides anything at such penalties.)
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

_END = "\0"  # the end of a line among words
LIMITS = (10, 1e-4)
"""Most corrections, and how near the expected accuracy must come to the goal to end them."""


class RuleTable:
    """Rules in arrays, made once for any number of texts; the forms of all words are in one list."""

    def __init__(self, rules: Mapping[str, Mapping[str, float]]) -> None:
        """Lay out rules word -> form -> count; words with empty rules never change and are left out.

        Raises:
            InputError: a rule with only zero counts.
        """
        self.index: dict[str, int] = {}
        self.forms: list[str] = []
        counts: list[float] = []
        totals: list[float] = []
        own: list[int] = []
        starts = [0]
        for word, rule in rules.items():
            if not rule:
                continue
            total = sum(rule.values())
            if not total > 0:
                raise InputError(
                    f"the rule of {word!r} has only zero counts; give it counts above zero or remove it"
                )
            self.index[word] = len(totals)
            self.forms += rule
            counts += rule.values()
            if word in rule:
                own.append(list(rule).index(word))
            else:
                own.append(len(rule))
                self.forms.append(word)
                counts.append(0.0)
            totals.append(total)
            starts.append(len(self.forms))
        self.starts = np.array(starts)
        self.sizes = np.diff(self.starts)
        self.own = np.array(own, dtype=np.int64)
        self.probabilities = np.array(counts) / np.repeat(totals, self.sizes)
        # What a form costs: the number of its parts that differ from the word, 1 for a deletion.
        self.costs = np.ones(len(self.forms))
        several = [place for place, form in enumerate(self.forms) if " " in form]
        names = list(self.index)
        owners = np.searchsorted(self.starts, several, side="right") - 1
        for place, owner in zip(several, owners.tolist(), strict=True):
            parts = self.forms[place].split()
            self.costs[place] = len(parts) - parts.count(names[owner])
        self.costs[self.starts[:-1] + self.own] = 0.0


@dataclass(frozen=True)
class Calibrated:
    """Probabilities that meet a goal as nearly as the rules allow.

    Attributes:
        index: Number of each word that has a rule; other words never change.
        starts: Where the forms of each word begin, and the number of all.
        cells: The place of each form in the table of all rules.
        probabilities: Of the forms.
        expected_wer: Expected share of wrong words before the correction of each iteration, 0 to 1.
    """

    index: Mapping[str, int]
    starts: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]
    expected_wer: Sequence[float]

    def rule(self, word: str, table: RuleTable) -> dict[str, float]:
        """Form -> probability of one word."""
        if word not in self.index:
            return {word: 1.0}
        own = slice(*self.starts[self.index[word] : self.index[word] + 2].tolist())
        forms = [table.forms[cell] for cell in self.cells[own].tolist()]
        return dict(zip(forms, self.probabilities[own].tolist(), strict=True))

    def sums(self) -> npt.NDArray[np.float64]:
        """Normalised cumulative probabilities of each word, added up one by one as numpy's legacy generator does."""
        sums = np.empty_like(self.probabilities)
        sizes = np.diff(self.starts)
        for size in np.unique(sizes):
            cells = self.starts[:-1][sizes == size, None] + np.arange(size)
            table = np.cumsum(self.probabilities[cells], axis=1)
            sums[cells] = table / table[:, -1:]
        return sums


def calibrate(
    table: RuleTable,
    occurrences: Mapping[str, int],
    wer: float,
    *,
    all_rules: bool = True,
    limits: tuple[int, float] = LIMITS,
) -> Calibrated:
    """Scale the rules until the expected word error rate of a text meets the goal.

    Args:
        table: The rules.
        occurrences: How often each word is in the text.
        wer: Goal, 0 to 1. A goal of 0 does not scale at all, as in the official code.
        all_rules: Return rules of words that do not occur in the text too; without them the numbers are the same.
        limits: Most corrections, and how near the expected accuracy must come to the goal to end them.

    Raises:
        InputError: no words; no word of the text can stay right, so that nothing can be scaled.
    """
    running = sum(occurrences.values())
    if not running:
        raise InputError("the text holds no words; noise needs some")
    words = list(table.index) if all_rules else [word for word in occurrences if word in table.index]
    chosen = np.array([table.index[word] for word in words], dtype=np.int64)
    sizes = table.sizes[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cells = np.repeat(table.starts[chosen] - starts[:-1], sizes) + np.arange(int(starts[-1]))
    weights = np.array([occurrences.get(word, 0) for word in words], dtype=np.float64) / running
    probabilities, expected = _scale(
        table.probabilities[cells],
        starts[:-1] + table.own[chosen],
        sizes,
        np.repeat(weights, sizes) * table.costs[cells],
        1.0 - wer,
        limits,
    )
    return Calibrated(
        dict(zip(words, range(len(words)), strict=True)), starts, cells, probabilities, expected
    )


def _scale(
    table: npt.NDArray[np.float64],
    own: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    costs: npt.NDArray[np.float64],
    goal: float,
    limits: tuple[int, float],
) -> tuple[npt.NDArray[np.float64], list[float]]:
    """Correct probabilities until the accuracy meets the goal; also the expected error rate before each correction."""
    accuracy = 1.0
    expected: list[float] = []
    most, threshold = limits
    while abs(accuracy - goal) > threshold and len(expected) < most:
        # Not `@`: a BLAS splits long sums among its threads, so the last digit would depend on the number of cores.
        accuracy = 1.0 - float(np.einsum("i,i->", table, costs))
        if accuracy == 0.0:
            raise InputError(
                "the rules leave no word of the text as it is, so they cannot be scaled to a goal; learn rules that count "
                "right words too, or use the mode exact"
            )
        expected.append(1.0 - accuracy)
        old = table[own]
        moving = old < 1.0
        new = np.where(moving, np.clip(old * (goal / accuracy), 0.0, 1.0), old)
        factor = np.divide(1.0 - new, 1.0 - old, out=np.ones_like(old), where=moving)
        table = np.clip(table * np.repeat(factor, sizes), 0.0, 1.0)
        table[own] = new
    return table, expected


def inject_official(
    text: str, table: RuleTable, wer: float, seed: int, limits: tuple[int, float] = LIMITS
) -> str:
    """Calibrate the rules to a text and draw a form for each of its words.

    One uniform number of numpy's legacy generator a word, in order. The official command line draws in a pool of
    unseeded processes; this is the same with one process and a seed.

    Args:
        text: Lines of words.
        table: The rules.
        wer: Goal, 0 to 1.
        seed: Of the generator, 0 to 2**32 - 1.
        limits: As in :func:`calibrate`.

    Returns:
        As many lines; a deletion inside a line leaves two spaces, white space around a line does not stay.

    Raises:
        InputError: as in :func:`calibrate`; a NUL character in the text.
    """
    if _END in text:
        raise InputError("the text holds NUL characters, so it is no plain text; give a transcript in UTF-8")
    tokens = text.replace("\n", f" {_END} ").split()
    known = defaultdict(count(1).__next__, {_END: 0})
    numbers = np.fromiter(map(known.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    words = list(known)
    occurrences = dict(zip(words, np.bincount(numbers, minlength=1).tolist(), strict=True))
    del occurrences[_END]
    calibrated = calibrate(table, occurrences, wer, all_rules=False, limits=limits)
    inside = np.flatnonzero(numbers)
    chances = np.random.RandomState(seed).random_sample(len(inside))
    rule_of = np.array([calibrated.index.get(word, -1) for word in words])[numbers[inside]]
    ruled = rule_of >= 0
    # Words and forms are in one list, so that one look-up writes both.
    drawn_cells = calibrated.cells[_drawn(calibrated, rule_of[ruled], chances[ruled])]
    numbers[inside[ruled]] = len(words) + drawn_cells
    drawn = " ".join(map([*words, *table.forms].__getitem__, numbers.tolist()))
    return "\n".join(map(str.strip, drawn.split(_END)))


def _drawn(
    calibrated: Calibrated, numbers: npt.NDArray[np.int64], chances: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """For each word the first of its forms whose cumulative probability exceeds its number."""
    sums = calibrated.sums()
    starts, ends = calibrated.starts[numbers], calibrated.starts[numbers + 1]
    # One search for all: sums of word i lie between i and i + 1. That costs digits, so the neighbours are looked at again.
    steps = sums + np.repeat(np.arange(len(calibrated.starts) - 1), np.diff(calibrated.starts))
    drawn = np.clip(np.searchsorted(steps, chances + numbers, side="right"), starts, ends - 1)
    while True:
        back = (drawn > starts) & (sums[drawn - 1] > chances)
        on = sums[drawn] <= chances
        if not (back.any() or on.any()):
            return drawn
        drawn = drawn - back + on


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
    """Word by word; a gap is a hyphen."""
    left, right = reference.split(), hypothesis.split()
    for i, j in align(_word_scores(left, right), 0.0):
        yield left[i] if i >= 0 else "-", right[j] if j >= 0 else "-"


def _aligned_characters(reference: str, hypothesis: str) -> Iterator[tuple[str, str]]:
    """Character by character, cut at the spaces of the reference; a cut without a reference letter counts for nothing."""
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
        yield word, heard  # the last piece is never split


def _split(word: str, heard: str) -> Iterator[tuple[str, str]]:
    """A word and what was heard for it; beside a part that is as near to the word as all of them the others are inserted."""
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

    Args:
        pairs: Reference and hypothesis.
        characters: Align characters instead of words (``--chacter_level_alignment`` there).

    Returns:
        First the rates of the corpus under :data:`CORPUS`, then word -> {form: probability}; "" holds what was inserted.

    Raises:
        InputError: no word at all (the official code divides by zero).
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
            # A pair too far apart counts for nothing, but the word is in the file.
            if not (word and form) or _distance(word, form) <= min(len(word), len(form)):
                forms[form] += n
    # Hyphens alone on both sides leave ("", ""), which the official code counts as a deletion.
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
