"""How often claims about effective lengths are false, and how often they are made: simulation with known truth.

``python tests/stats/length_simulation.py`` prints the tables of docs/simulations.md. A design is a model that scores ``rate`` at the
base, ``n`` cases in so many clusters at each of five lengths. Clusters are the same at all lengths, as hard or nearly as hard, or
others at each. At every length the truth is the base's, exactly the bar, a cliff, or a slow decay, put together to curves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from coverage_simulation import Setting, logit_normal, truth
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from long_context_tasks.stats.effective_length import (
    Clusters,
    claims,
    fixed_margin,
    relative_margin,
    strict_level,
)
from long_context_tasks.stats.intervals import Array

LENGTHS = 5
FRACTION = 0.85
CLIFF = 0.3
DECAY = (1.0, 0.95, 0.9, 0.86, 0.82)
_ALIKE = 0.9
"""Correlation of the logits of a shared cluster at two lengths."""


@dataclass(frozen=True)
class Design:
    """``bar`` fixed, or None for the fraction of the base. ``kind``: hits, graded, ratings (1 to 10, whose mean is ten times ``rate``),
    or unscaled, graded scores whose scale the test does not know."""

    rate: float
    n: int
    clusters: int
    icc: float = 0.1
    shared: bool = True
    effects: str = "logit_normal"
    kind: str = "hits"
    unequal: bool = False
    bar: float | None = None


def curves(bar: float | None) -> dict[str, tuple[float, ...]]:
    """Name to the factors of the base's score at the five lengths; those of a fixed bar start at the bar."""
    found = {"flat": (1.0,) * LENGTHS}
    if bar is None:
        found["slow decay"] = DECAY
        found["dip at 2"] = (1.0, CLIFF, 1.0, 1.0, 1.0)
        found["dip at 2, then at the bar"] = (1.0, FRACTION, 1.0, FRACTION, 1.0)
    for place in range(0 if bar else 1, LENGTHS):
        for name, factor in (("bar", FRACTION), ("cliff", CLIFF)):
            found[f"{name} from {place + 1}"] = (1.0,) * place + (factor,) * (LENGTHS - place)
    return found


def sizes_of(design: Design) -> Array:
    """Cases of each cluster: as equal as they go, or about 1 to 4 times as many in some as in others."""
    if design.unequal:
        weights = np.resize((1.0, 2.0, 4.0), design.clusters)
        ends = np.rint(np.cumsum(weights) / weights.sum() * (design.n - design.clusters))
        return 1 + np.diff(ends, prepend=0.0)
    return np.array([len(part) for part in np.array_split(np.arange(design.n), design.clusters)], dtype=float)


@lru_cache(maxsize=1000)
def _logits(rate: float, icc: float) -> tuple[float, float]:
    return logit_normal(rate, icc)


@lru_cache(maxsize=1000)
def _level(mean: float) -> float:
    """Of ratings that, rounded and cut to 1 to 10, have this mean."""
    return brentq(lambda level: truth(Setting(level, 2, kind="ratings")) - mean, -20, 40)


def draw(design: Design, rate: float, place: int, samples: int, seed: int) -> Clusters:
    """Return scores at a length whose true mean is ``rate``: samples x clusters."""
    rng = np.random.default_rng([seed, place, round(1e6 * rate)])
    sizes = sizes_of(design)
    shape = (samples, design.clusters)
    own = rng.standard_normal(shape)
    if design.shared:
        common = np.random.default_rng([seed, LENGTHS]).standard_normal(shape)
        own = np.sqrt(_ALIKE) * common + np.sqrt(1 - _ALIKE) * own
    names = [(None if design.shared else place, number) for number in range(design.clusters)]
    if design.kind == "ratings":
        level, sums = _level(max(1.2, 10 * rate)), np.zeros(shape)
        for number in range(int(sizes.max())):
            noise = np.sqrt(design.icc) * own + np.sqrt(1 - design.icc) * rng.standard_normal(shape)
            sums += np.where(number < sizes, np.clip(np.rint(level + 2 * noise), 1, 10), 0.0)
        return Clusters(sums, sizes, False, names)
    if design.icc == 0:
        chance = np.full(shape, rate)
    elif design.effects == "beta":
        both = 1 / design.icc - 1
        chance = rng.beta(rate * both, (1 - rate) * both, shape)
    else:
        mean, sd = _logits(round(rate, 9), design.icc)
        chance = expit(mean + sd * own)
    if design.kind == "hits":
        sums = rng.binomial(sizes.astype(int), chance).astype(float)
    else:
        chance = np.clip(chance, 1e-9, 1 - 1e-9)
        sums = np.zeros(shape)
        for number in range(int(sizes.max())):
            sums += np.where(number < sizes, rng.beta(2 * chance, 2 * (1 - chance)), 0.0)
    return Clusters(sums, sizes, design.kind == "hits", names)


@dataclass(frozen=True)
class Shares:
    """Of the samples: claims that are false, and how often the whole curve is found (longest length held, first length lost)."""

    false_holds: float
    false_fails: float
    found: float


def shares(design: Design, samples: int, seed: int = 1) -> dict[str, Shares]:
    """Return what happens to each curve of :func:`curves`; draws at a length serve all curves that have the same truth there."""
    rates = design.kind in ("hits", "graded")
    wanted = curves(design.bar)
    relative = design.bar is None
    base = draw(design, design.rate, 0, samples, seed) if relative else None
    strict = strict_level(LENGTHS - relative)
    outcomes: dict[tuple[int, float], tuple[np.ndarray, ...]] = {}
    for place, factor in {(place, curve[place]) for curve in wanted.values() for place in range(LENGTHS)}:
        if base is not None and place == 0:
            low, high = fixed_margin(base, 0.0, rates=rates)
            outcomes[place, factor] = low > 0, high < 0, high < 0
            continue
        own = draw(design, _truth(design, factor), place, samples, seed)
        low, high = _margin(own, base, design, 0.95)
        surely = high < 0
        if surely.any():  # what does not fail at 95 % does not at a stricter level
            rows = surely.copy()
            surely[rows] = _margin(own, base, design, strict, rows)[1] < 0
        outcomes[place, factor] = low > 0, high < 0, surely
    found = {}
    for name, curve in wanted.items():
        flags = [
            np.stack(kind, axis=-1) for kind in zip(*(outcomes[one] for one in enumerate(curve)), strict=True)
        ]
        held, lost = claims(*flags)
        above = [
            (relative and not place) or _truth(design, f) > _bar(design) + 1e-9
            for place, f in enumerate(curve)
        ]
        there = [
            (relative and not place) or _truth(design, f) > _bar(design) - 1e-9
            for place, f in enumerate(curve)
        ]
        true, most = _leading(above), _leading(there)
        found[name] = Shares(
            float(np.mean(held > true)),
            float(np.mean(lost < most)),
            float(np.mean((held == true) & (lost == most))),
        )
    return found


def _margin(
    own: Clusters, base: Clusters | None, design: Design, level: float, rows: Any = slice(None)
) -> tuple[Array, Array]:
    """Return the ends of the margin in these samples."""
    rates, scale = design.kind in ("hits", "graded"), 10 if design.kind == "ratings" else 1
    own = replace(own, sums=own.sums[rows])
    if base is None:
        return fixed_margin(own, scale * _bar(design), rates=rates, level=level)
    base = replace(base, sums=base.sums[rows])
    return relative_margin(own, base, FRACTION, rates=rates, level=level)


def _bar(design: Design) -> float:
    return FRACTION * design.rate if design.bar is None else design.bar


def _truth(design: Design, factor: float) -> float:
    """The rate at a length; with a fixed bar, a factor of :data:`FRACTION` is the bar itself."""
    if design.bar is not None and factor == FRACTION:
        return design.bar
    return design.rate * factor


def _leading(flags: Sequence[bool]) -> int:
    return next((place for place, flag in enumerate(flags) if not flag), len(flags))


def same_questions(
    rate: float, clusters: int, size: int, alike: float, samples: int, kind: str = "hits", seed: int = 7
) -> tuple[float, float]:
    """Return how often a length at the bar is said to hold, and to fail, if the answers at two lengths come from draws that correlate.

    Clusters are all right or all wrong. With ``alike`` of 1 the lengths differ only in answers that are wrong at the longer one.
    ``kind`` is hits, or ratings of 1 and 10 whose mean is ten times ``rate``.
    """
    worst, best = (0.0, 1.0) if kind == "hits" else (1.0, 10.0)
    rng = np.random.default_rng(seed)
    shape = (samples, clusters)
    common, sizes = rng.standard_normal(shape), np.full(clusters, float(size))
    base, own = (
        Clusters(size * np.where(draws < right, best, worst), sizes, kind == "hits", range(clusters))
        for right in ((factor * rate * best - worst) / (best - worst) for factor in (1.0, FRACTION))
        for draws in [ndtr(np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.standard_normal(shape))]
    )
    low, high = relative_margin(own, base, FRACTION, rates=kind == "hits")
    return float(np.mean(low > 0)), float(np.mean(high < 0))


RATES = (0.3, 0.5, 0.7, 0.9)
BARS = (0.05, 0.3, 0.5, 0.7, 0.856, 0.95)
CASES = {30: (8, 15, 30), 100: (8, 30, 100), 300: (8, 30, 120), 1000: (8, 30, 500)}
"""Numbers of cases to numbers of clusters."""
MODES = ((True, "logit_normal"), (False, "logit_normal"), (False, "beta"))


def designs(kind: str, rates: Sequence[float], cases: Mapping[int, Sequence[int]]) -> Iterator[Design]:
    """Return all designs of a kind with a relative bar."""
    for rate, n, icc, (shared, effects) in product(rates, cases, (0.1, 0.3), MODES):
        for k in cases[n]:
            design = Design(rate, n, k, icc, shared, effects, kind)
            if k >= 100 and (icc, effects) != (0.1, "logit_normal"):
                continue  # what is hard about few clusters is over, and these take longest
            yield design
            if k == 8 and n >= 100:
                yield replace(design, unequal=True)


def fixed_designs(cases: Mapping[int, Sequence[int]]) -> Iterator[Design]:
    """Return those of fixed bars, with separate clusters: a bar has no error that lengths could share but their own."""
    for bar in BARS:
        for design in designs("hits", (min(0.99, bar + 0.1),), cases):
            if not design.shared:
                yield replace(design, bar=bar)


def main(samples: int = 2000) -> None:
    """Print the tables of docs/simulations.md."""
    few = {100: (8, 30, 100), 300: (8, 30)}
    some = {30: (8, 30), 100: (8, 100), 1000: (8, 30, 120)}
    parts: list[tuple[str, list[Design]]] = [
        ("hits, 85 % of the base", list(designs("hits", RATES, CASES))),
        ("hits, base 98 %", list(designs("hits", (0.98,), some))),
        ("graded, 85 % of the base", list(designs("graded", RATES, few))),
        ("ratings 1 to 10, 85 % of the base", list(designs("ratings", RATES, few))),
        ("hits, fixed bar", list(fixed_designs(some))),
        ("graded 0.9, scale unknown", list(designs("unscaled", (0.9,), few))),
    ]
    power: dict[Design, dict[str, Shares]] = {}
    print(
        "| scores and bar | clusters | designs | false at least | false below |\n| --- | --- | --- | --- | --- |"
    )
    for name, chosen in parts:
        for least, most in ((8, 15), (30, 30), (100, 120), (500, 500)):
            own = [design for design in chosen if least <= design.clusters <= most]
            if not own:
                continue
            found = {design: shares(design, samples) for design in own}
            power |= found
            rows = [one for each in found.values() for one in each.values()]
            ends = (
                (max(values), sum(values) / len(values))
                for values in zip(*((r.false_holds, r.false_fails) for r in rows), strict=True)
            )
            shown = " | ".join(f"{100 * high:.1f} ({100 * mean:.1f})" for high, mean in ends)
            print(f"| {name} | {least} to {most} | {len(own)} | {shown} |", flush=True)
    print(
        "\n| cases | clusters | "
        + " | ".join(f"{curve}, {rate:.0%}" for curve in ("flat", "cliff") for rate in RATES)
        + " |"
    )
    for n, k in [(n, k) for n, numbers in CASES.items() for k in numbers]:
        cells = []
        for curve in ("flat", "cliff from 3"):
            for rate in RATES:
                both = (power[Design(rate, n, k, 0.1, shared)][curve].found for shared in (True, False))
                cells.append(" / ".join(f"{100 * one:.0f}" for one in both))
        print(f"| {n} | {k} | " + " | ".join(cells) + " |")
    print(
        "\n| scores | clusters | correlation | false at least | false below |\n| --- | --- | --- | --- | --- |"
    )
    for kind, k, alike in product(("hits", "ratings"), (8, 15, 30, 60, 100), (1.0, 0.9, 0.5)):
        both = [
            same_questions(rate, k, size, alike, 2500, kind)
            for rate, size in product((*RATES, 0.98), (1, 20))
        ]
        worst = [max(ends) for ends in zip(*both, strict=True)]
        print(f"| {kind} | {k} | {alike} | " + " | ".join(f"{100 * share:.1f}" for share in worst) + " |")


if __name__ == "__main__":
    main()
