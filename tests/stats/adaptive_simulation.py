"""What an adaptive search for an effective length finds, and what it costs: simulation with known truth.

``python tests/stats/adaptive_simulation.py`` prints the tables of docs/simulations.md (an hour; a number behind it sets the searches
for each truth). Crossings are drawn between 1.5 and 6.5 octaves above the shortest length, 1k to 128k tokens. Tokens are
shares of what 200 cases at each of the eight octaves cost.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betaincc

from long_context_tasks.results.plan.adaptive import SMALLEST_STEP, default_budget, ladder
from long_context_tasks.stats import adaptive_length as adaptive
from long_context_tasks.stats.intervals import Array

LENGTHS = tuple(ladder(1000, 128_000))
OCTAVES = tuple(1000 * 2**number for number in range(8))
FIXED = 200 * sum(OCTAVES)
FRACTION = 0.85
START = math.log2(LENGTHS[0])
END = math.log2(LENGTHS[-1])

Curve = Callable[[float], float]
"""log2 of a length to the true mean score."""


def logistic(middle: float, scale: float, top: float, floor: float = 0.0) -> Curve:
    """``scale`` in octaves, in which the odds grow by e."""
    return lambda x: floor + (top - floor) / (1 + math.exp(min(500, (x - middle) / scale)))


def early(middle: float, scale: float, top: float) -> Curve:
    """Falls slowly at first (Gumbel)."""
    return lambda x: top * math.exp(-math.exp(min(50, (x - middle) / scale)))


def late(middle: float, scale: float, top: float) -> Curve:
    """Has a long tail (Gumbel)."""
    return lambda x: top * (1 - math.exp(-math.exp(min(50, (middle - x) / scale))))


@dataclass(frozen=True)
class Truth:
    """``curve`` takes log2 of the length around which the score falls; ``bar`` is fixed, or None for the fraction of the base."""

    curve: Callable[[float], Curve]
    chance: float = 0.0
    bar: float | None = None
    graded: bool = False
    size: int = 1
    alike: float = 0.0
    threshold: float | None = None


TRUTHS: Mapping[str, Truth] = {
    "logistic, lapse 0": Truth(lambda x: logistic(x, 0.5, 0.995)),
    "logistic, lapse 5 %": Truth(lambda x: logistic(x, 0.5, 0.95)),
    "logistic, lapse 15 %": Truth(lambda x: logistic(x, 0.5, 0.85)),
    "steeper (0.25 octaves)": Truth(lambda x: logistic(x, 0.25, 0.95)),
    "cliff": Truth(lambda x: logistic(x, 0.02, 0.9, 0.05)),
    "slow decay (1.2 octaves)": Truth(lambda x: logistic(x, 1.2, 0.95)),
    "guess 25 %, known": Truth(lambda x: logistic(x, 0.4, 0.9, 0.25), chance=0.25),
    "guess 50 %, known": Truth(lambda x: logistic(x, 0.4, 0.95, 0.5), chance=0.5),
    "guess 25 %, unknown": Truth(lambda x: logistic(x, 0.4, 0.9, 0.25)),
    "weak model, base 40 %": Truth(lambda x: logistic(x, 0.5, 0.4, 0.02)),
    "fixed bar 70 %": Truth(lambda x: logistic(x, 0.5, 0.95), bar=0.7),
    "graded scores": Truth(lambda x: logistic(x, 0.5, 0.9, 0.1), graded=True),
    "graded, 8 a cluster, 0.2": Truth(lambda x: logistic(x, 0.5, 0.9, 0.05), graded=True, size=8, alike=0.2),
    "8 a cluster, 0.1": Truth(lambda x: logistic(x, 0.5, 0.9, 0.05), size=8, alike=0.1),
    "8 a cluster, 0.3": Truth(lambda x: logistic(x, 0.5, 0.9, 0.05), size=8, alike=0.3),
    "misfit: late fall": Truth(lambda x: early(x, 0.6, 0.95)),
    "misfit: long tail": Truth(lambda x: late(x, 0.6, 0.95)),
    "misfit: 20 points an octave": Truth(
        lambda x: lambda at: min(0.95, max(0.02, 0.95 - 0.2 * max(0.0, at - x + 1)))
    ),
    "misfit: two steps": Truth(lambda x: lambda at: 0.95 if at < x - 1 else 0.85 if at < x else 0.3),
    "flat": Truth(lambda _: lambda _: 0.8),
    "95 % falls to 86 %": Truth(lambda x: logistic(x, 0.4, 0.95, 0.86)),
    "graded, cut at a half": Truth(lambda x: logistic(x, 0.5, 0.9, 0.1), graded=True, threshold=0.5),
}
COMPARED = ("logistic, lapse 5 %", "cliff", "slow decay (1.2 octaves)", "guess 25 %, known", "graded scores")


def crossing_of(truth: Truth, curve: Curve) -> float:
    """log2 of the length at which the true score meets the bar; infinite where it never does."""
    if truth.threshold is not None:
        graded = curve

        def curve(at: float) -> float:  # the share of scores above the threshold
            return float(betaincc(3 * graded(at), 3 * (1 - graded(at)), truth.threshold))

    bar = truth.chance + FRACTION * (curve(START) - truth.chance) if truth.bar is None else truth.bar
    low, high = START, START + 30
    if curve(high) > bar:
        return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > bar else (low, middle)
    return low


def draw(truth: Truth, mean: float, n: int, rng: np.random.Generator) -> tuple[Array, Array, bool]:
    """Sums and sizes of the clusters of some cases."""
    sizes = np.full(max(1, n // truth.size), float(truth.size))
    means = np.full(len(sizes), mean)
    if truth.alike:
        both = 1 / truth.alike - 1
        means = np.clip(rng.beta(mean * both, (1 - mean) * both, len(sizes)), 1e-4, 1 - 1e-4)
    if not truth.graded:
        return rng.binomial(truth.size, means).astype(float), sizes, True
    values = rng.beta(3 * means, 3 * (1 - means), (truth.size, len(sizes)))
    if truth.threshold is not None:
        return (values > truth.threshold).sum(axis=0).astype(float), sizes, True
    return values.sum(axis=0), sizes, False


@dataclass
class Run:
    """An experiment: what was seen, and the posterior."""

    truth: Truth
    curve: Curve
    rng: np.random.Generator
    lengths: tuple[int, ...] = LENGTHS
    data: dict[int, tuple[Array, Array, bool]] = field(default_factory=dict)
    tokens: float = 0.0
    steps: int = 0

    def __post_init__(self) -> None:
        self.grid = grid_of(self.truth, self.lengths)
        self.weights = self.grid.prior

    @property
    def cases(self) -> int:
        return int(sum(sizes.sum() for _, sizes, _ in self.data.values()))

    def ask(self, length: int, n: int) -> None:
        sums, sizes, hits = draw(self.truth, self.curve(math.log2(length)), n, self.rng)
        if length in self.data:
            before = self.data[length]
            self.data[length] = np.concatenate([before[0], sums]), np.concatenate([before[1], sizes]), hits
        else:
            self.data[length] = sums, sizes, hits
        self.tokens += length * float(sizes.sum())
        self.steps += 1

    def fit(self) -> tuple[float, float]:
        """Ends of the interval, log2; infinite where they are open."""
        self.weights, _ = adaptive._posterior(self.grid, self.data)
        rest = (1 - adaptive.POSTERIOR_LEVEL) / 2
        low, high = (adaptive._quantile(self.grid, self.weights, share) for share in (rest, 1 - rest))
        return math.log2(low) if low > 0 else -math.inf, math.log2(high)


@lru_cache(maxsize=8)
def grid_of(truth: Truth, lengths: tuple[int, ...]) -> Any:
    """The grid of a truth's bar."""
    height = truth.chance if truth.bar is None else truth.bar
    floors = adaptive._FLOORS if lengths == OCTAVES else adaptive._FLOORS_OF_SEARCH
    return adaptive._grid(lengths, ((lengths[0], height),), FRACTION if truth.bar is None else None, floors)


@dataclass(frozen=True)
class Result:
    """Of a search: whether the interval holds the truth, whether it ended by itself, its cost, and how far its middle is off."""

    holds: bool
    ended: bool
    tokens: float
    steps: int
    octaves: float
    error: float


def _result(run: Run, low: float, high: float, ended: bool, crossing: float) -> Result:
    beyond = crossing > END and high >= END  # how far beyond is not asked
    middle = adaptive._quantile(run.grid, run.weights, 0.5)
    seen = min(max(math.log2(middle) if middle > 0 else START, START), END)
    return Result(
        low <= crossing <= high or beyond,
        ended,
        run.tokens / FIXED,
        run.steps,
        min(high, END) - max(low, START),
        abs(seen - min(crossing, END)),
    )


def search(run: Run, crossing: float, choose: str = "information") -> Result:
    """The rule of ``lct length``, or lengths drawn at random."""
    budget, tokens = default_budget(LENGTHS), np.array(LENGTHS, dtype=float)
    low, high = -math.inf, math.inf
    while True:
        if choose == "information":
            gain = adaptive._information(run.grid, run.weights) / tokens
            length = LENGTHS[int(np.argmax(gain))]
        else:
            length = int(run.rng.choice(LENGTHS))
        room = int((budget - run.tokens) // length)
        n = min(max(SMALLEST_STEP, run.cases // 4), room) // run.truth.size * run.truth.size
        if n < 1:
            return _result(run, low, high, False, crossing)
        run.ask(length, n)
        low, high = run.fit()
        if high - low <= adaptive.OCTAVES or low >= END or high <= START:
            return _result(run, low, high, True, crossing)


def fixed(run: Run, crossing: float) -> Result:
    """200 cases at each octave, and the same fit."""
    for length in OCTAVES:
        run.ask(length, 200)
    low, high = run.fit()
    return _result(run, low, high, high - low <= adaptive.OCTAVES or low >= END, crossing)


def bisection(run: Run, crossing: float, n: int = 50) -> Result:
    """50 cases at the base, then at the middle of the bracket, until it is half an octave wide."""

    def mean(length: int) -> float:
        run.ask(length, n)
        sums, sizes, _ = run.data[length]
        return float(sums.sum() / sizes.sum())

    base = mean(LENGTHS[0])
    chance = run.truth.chance
    bar = chance + FRACTION * (base - chance) if run.truth.bar is None else run.truth.bar
    low, high = START, END
    while high - low > adaptive.OCTAVES:
        middle = (low + high) / 2
        length = min(LENGTHS, key=lambda one: abs(math.log2(one) - middle))
        low, high = (middle, high) if mean(length) > bar else (low, middle)
    run.fit()
    return _result(run, low, high, True, crossing)


def results(name: str, number: int, rule: str = "information", seed: int = 1) -> Iterator[Result]:
    """Searches for a truth."""
    truth = TRUTHS[name]
    for place in range(number):
        rng = np.random.default_rng([seed, place])
        curve = truth.curve(START + rng.uniform(1.5, 6.5))
        lengths = OCTAVES if rule == "fixed" else LENGTHS
        run, crossing = Run(truth, curve, rng, lengths), crossing_of(truth, curve)
        if rule == "fixed":
            yield fixed(run, crossing)
        elif rule == "bisection":
            yield bisection(run, crossing)
        else:
            yield search(run, crossing, rule)


def row(name: str, found: list[Result]) -> str:
    """A line of a table: coverage, ended, coverage of these, tokens (mean, 90 % quantile), steps, width, error."""
    ended = [one for one in found if one.ended]
    held = f"{100 * np.mean([one.holds for one in ended]):.0f}" if ended else "-"
    tokens = [one.tokens for one in found]
    return (
        f"| {name} | {100 * np.mean([one.holds for one in found]):.0f} | {100 * len(ended) / len(found):.0f} | {held} "
        f"| {1 / np.mean(tokens):.1f} | {1 / np.quantile(tokens, 0.9):.1f} | {np.mean([one.steps for one in found]):.0f} "
        f"| {np.median([one.octaves for one in found]):.2f} | {np.median([one.error for one in found]):.2f} |"
    )


def main(number: int = 200) -> None:
    """Print the tables."""
    head = "coverage | ended | of these covered | fewer tokens | fewer, worst tenth | steps | octaves | error"
    rule = "| --- " * 9 + "|"
    print(f"| truth | {head} |\n{rule}")
    for name in TRUTHS:
        print(row(name, list(results(name, number))), flush=True)
    print(f"\n| truth, design | {head} |\n{rule}")
    for name in COMPARED:
        for design in ("fixed", "bisection", "random"):
            print(row(f"{name}, {design}", list(results(name, max(1, number // 2), design))), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
