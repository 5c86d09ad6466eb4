"""The official noise: calibration and drawing of the ASR error simulator's ``rewrite``, to the digit, but fast.

Rules are scaled until the expected share of wrong words meets the goal, then each word draws one of its forms. Nothing
is protected: a speaker tag changes if a rule exists for that very token. Often a high goal cannot be reached, and the
effective word error rate stays below it; :mod:`long_context_tasks.noise.exact` is for targets that hold.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

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
    text: str,
    table: RuleTable,
    wer: float,
    seed: int,
    limits: tuple[int, float] = LIMITS,
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
