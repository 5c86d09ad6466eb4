"""How often 95 % intervals hold the truth: exact sums for independent hits and misses, simulation for clusters.

``make simulations`` prints the tables of docs/simulations.md; this file alone takes five minutes on one core.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from long_context_tasks.stats.intervals import (
    Array,
    Moments,
    exact_interval,
    graded_ends,
    moments,
    t_ends,
    wilson_ends,
)

RATES = (0.01, 0.02, 0.05, 0.1, 0.5, 0.95)
NUMBERS = (30, 50, 100, 200, 1000)
SIZES: tuple[int | None, ...] = (5, 20, None)
"""Cases in a cluster; None draws 5 to 20 for each."""
ICCS = (0.05, 0.3)
EFFECTS = ("beta", "logit_normal")
RARE = (0.05, 0.97)
"""Rates of the rare clusters and of the others."""


def exact_coverage(rate: float, n: int) -> float:
    """Chance that the exact interval of ``n`` independent hits and misses holds the true rate."""
    from scipy.stats import binom

    ends = [exact_interval(hits, n) for hits in range(n + 1)]
    chances = binom.pmf(np.arange(n + 1), n, rate)
    return float(sum(c for c, end in zip(chances, ends, strict=True) if end.low <= rate <= end.high))


@dataclass(frozen=True)
class Setting:
    """One way to draw clustered scores.

    ``kind`` is hits, graded (0 to 1), f1 (most are 0 or 1), ratings (1 to 10, ``rate`` their level), scaled (the same, scale known), or topped
    (ratings, scale known: 10 at the rate, others from 1 to 9). ``effects`` is beta, logit_normal, or rare: a cluster in ``1 / rate`` scores 5 %,
    the others 97 %.
    """

    rate: float
    clusters: int
    size: int | None = None
    icc: float = 0.3
    effects: str = "beta"
    kind: str = "hits"


def settings(rates: tuple[float, ...], clusters: tuple[int, ...], kind: str = "hits") -> Iterator[Setting]:
    effects = EFFECTS if kind == "hits" else ("beta",)
    for rate, k, size, icc, effect in product(rates, clusters, SIZES, ICCS, effects):
        yield Setting(rate, k, size, icc, effect, kind)


def logit_normal(rate: float, icc: float) -> tuple[float, float]:
    """Mean and standard deviation of the logits whose rates have this mean and intraclass correlation."""
    from scipy.optimize import brentq
    from scipy.special import expit

    points, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def level(sd: float) -> float:
        return brentq(lambda mean: weights @ expit(mean + sd * points) - rate, -40, 40)

    def excess(sd: float) -> float:
        squares = weights @ expit(level(sd) + sd * points) ** 2
        return (squares - rate**2) / (rate * (1 - rate)) - icc

    sd = brentq(excess, 1e-3, 12)
    return level(sd), sd


def draw(setting: Setting, samples: int, seed: int = 1) -> tuple[Array, Array]:
    """Sums and sizes of the clusters, samples x clusters."""
    rng = np.random.default_rng(seed)
    shape = (samples, setting.clusters)
    sizes = rng.integers(5, 21, shape) if setting.size is None else np.full(shape, setting.size)
    if setting.kind in ("ratings", "scaled"):
        return _ratings(rng, setting, sizes), sizes.astype(float)
    if setting.effects == "rare":
        rates = np.where(rng.random(shape) < setting.rate, *RARE)
    elif setting.effects == "beta":
        both = 1 / setting.icc - 1
        rates = rng.beta(setting.rate * both, (1 - setting.rate) * both, shape)
    else:
        mean, sd = logit_normal(setting.rate, setting.icc)
        from scipy.special import expit

        rates = expit(mean + sd * rng.standard_normal(shape))
    if setting.kind == "hits":
        return rng.binomial(sizes, rates).astype(float), sizes.astype(float)
    sums = np.zeros(shape)
    rates = np.clip(rates, 1e-9, 1 - 1e-9)
    spread = 0.5 if setting.kind == "f1" else 2
    for place in range(int(sizes.max())):
        if setting.kind == "topped":
            scores = np.where(rng.random(shape) < rates, 10, rng.integers(1, 10, shape)).astype(float)
        else:
            scores = rng.beta(spread * rates, spread * (1 - rates))
        sums += np.where(place < sizes, scores, 0.0)
    return sums, sizes.astype(float)


def _ratings(rng: np.random.Generator, setting: Setting, sizes: np.ndarray) -> Array:
    level = setting.rate + 2 * math.sqrt(setting.icc) * rng.standard_normal(sizes.shape)
    sums = np.zeros(sizes.shape)
    for place in range(int(sizes.max())):
        rating = np.clip(
            np.rint(level + 2 * math.sqrt(1 - setting.icc) * rng.standard_normal(sizes.shape)), 1, 10
        )
        sums += np.where(place < sizes, rating, 0.0)
    return sums


def truth(setting: Setting) -> float:
    """The true mean: the rate, or for ratings that of the normal rounded and cut to 1 to 10."""
    if setting.effects == "rare":
        return setting.rate * RARE[0] + (1 - setting.rate) * RARE[1]
    if setting.kind == "topped":
        return 10 * setting.rate + 5 * (1 - setting.rate)
    if setting.kind in ("hits", "graded", "f1"):
        return setting.rate
    from scipy.stats import norm

    cuts = norm.cdf((np.arange(1.5, 10) - setting.rate) / 2)
    return float(10 - cuts.sum())


@dataclass(frozen=True)
class Scores:
    """Independent graded scores: beta, or uniform between ``common`` and, for a share ``rare`` of them, between ``other``."""

    name: str
    rare: float = 0.0
    other: tuple[float, float] = (0.0, 0.0)
    common: tuple[float, float] = (1.0, 1.0)
    beta: tuple[float, float] | None = None

    @property
    def mean(self) -> float:
        if self.beta is not None:
            return self.beta[0] / sum(self.beta)
        return self.rare * sum(self.other) / 2 + (1 - self.rare) * sum(self.common) / 2

    def draw(self, samples: int, n: int, seed: int = 1) -> Array:
        rng = np.random.default_rng(seed)
        shape = (samples, n)
        if self.beta is not None:
            return rng.beta(*self.beta, shape)
        return np.where(
            rng.random(shape) < self.rare, rng.uniform(*self.other, shape), rng.uniform(*self.common, shape)
        )


NEAR_AN_END = (
    Scores("F1-like, 90 % exactly 1, the others 0.6 to 1", 0.1, (0.6, 1.0)),
    Scores("F1-like, 96 % exactly 1, the others 0 to 1", 0.04, (0.0, 1.0)),
    *(Scores(f"nearly 1, {rare:.0%} exactly 0", rare, (0.0, 0.0), (0.98, 1.0)) for rare in (0.01, 0.03, 0.1)),
    Scores("0.9 to 1, 5 % exactly 0", 0.05, (0.0, 0.0), (0.9, 1.0)),
    *(Scores(f"beta, mean {mean:.0%}, sum {total:g}", beta=(mean * total, (1 - mean) * total))
      for mean in (0.99, 0.98, 0.95, 0.9) for total in (0.5, 2, 10)),
)  # fmt: skip
CENTRAL = tuple(
    Scores(f"beta, mean {mean:.0%}, sum {total:g}", beta=(mean * total, (1 - mean) * total))
    for mean in (0.8, 0.5)
    for total in (0.5, 2, 10)
)
NARROW = (
    Scores("beta, mean 98 %, sum 100", beta=(98, 2)),
    Scores("beta, mean 50 %, sum 100", beta=(50, 50)),
)


MIDDLE = Scores("0.49 to 0.51, 7 % exactly 0", 0.07, (0.0, 0.0), (0.49, 0.51))


@dataclass(frozen=True)
class Measured:
    """Share of the intervals that hold the truth and their mean width, of the plain interval and of that with the minimum."""

    plain: float
    plain_width: float
    held: float
    width: float

    @property
    def ratio(self) -> float:
        return self.width / self.plain_width


def measured(sums: Array, sizes: Array, value: float) -> Measured:
    """Compare Wilson's interval with the effective number of cases with the one that includes unseen cases as well."""
    ends = [
        _all_at_an_end(sums, sizes, low, high)
        for low, high in (wilson_ends(moments(sums, sizes)), graded_ends(sums, sizes))
    ]
    shares = [_share(*each, value) for each in ends]
    known = np.isfinite(ends[0][0])
    widths = [float(np.mean((high - low)[known])) for low, high in ends]
    return Measured(shares[0], widths[0], shares[1], widths[1])


def independent(scores: Scores, n: int, samples: int) -> Measured:
    values = scores.draw(samples, n)
    return measured(values, np.ones_like(values), scores.mean)


def _all_at_an_end(sums: Array, sizes: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The ends, with those of samples whose scores are all 0 or all 1 as `cluster_share` has them."""
    mean, clusters = sums.sum(axis=-1) / sizes.sum(axis=-1), sizes.shape[-1]
    for value in (0.0, 1.0):
        end, same = exact_interval(round(value * clusters), clusters), np.abs(mean - value) < 1e-12
        low, high = np.where(same, end.low, low), np.where(same, end.high, high)
    return low, high


def clustered(setting: Setting, samples: int, seed: int = 1) -> Measured:
    """The same of clustered scores whose scale is known."""
    sums, sizes = draw(setting, samples, seed)
    value = truth(setting)
    if setting.kind in ("scaled", "topped"):
        sums, value = (sums - sizes) / 9, (value - 1) / 9
    return measured(sums, sizes, value)


def coverage(setting: Setting, samples: int, seed: int = 1) -> float:
    """Share of the samples whose interval holds the truth; that of ratings knows no scale."""
    if setting.kind == "ratings":
        return without_scale(setting, samples, seed)
    return clustered(setting, samples, seed).held


def without_scale(setting: Setting, samples: int, seed: int = 1) -> float:
    """The same of the t interval over clusters."""
    return _share(*t_ends(moments(*draw(setting, samples, seed))), truth(setting))


def bootstrap_coverage(setting: Setting, samples: int, seed: int = 1) -> float:
    """The same of the percentile bootstrap over clusters."""
    sums, sizes = draw(setting, samples, seed)
    drawn = np.random.default_rng(0).integers(0, setting.clusters, (2_000, setting.clusters))
    weights = np.array([np.bincount(row, minlength=setting.clusters) for row in drawn], dtype=float)
    ends = [
        np.quantile((s @ weights.T) / (n @ weights.T), (0.025, 0.975), axis=1)
        for s, n in zip(np.array_split(sums, 4), np.array_split(sizes, 4), strict=True)
    ]
    low, high = np.concatenate(ends, axis=1)
    return _share(low, high, truth(setting))


def difference_coverage(
    rates: tuple[float, float], clusters: int, size: int, icc: float, samples: int, seed: int = 1
) -> float:
    """The same of the interval of the difference between two models that answer the same cases.

    Half of the clusters are as hard for the one model as for the other, and the models decide most cases alike.
    """
    from scipy.stats import beta

    rng = np.random.default_rng(seed)
    shape, both = (samples, clusters), 1 / icc - 1
    quantiles = rng.random((2, *shape))
    quantiles[1] = np.where(rng.random(shape) < 0.5, quantiles[0], quantiles[1])
    hit = [beta.ppf(q, rate * both, (1 - rate) * both) for q, rate in zip(quantiles, rates, strict=True)]
    sums = np.zeros(shape)
    for _ in range(size):
        luck = rng.random(shape)
        other = np.where(rng.random(shape) < 0.6, luck, rng.random(shape))
        sums += (luck < hit[0]).astype(float) - (other < hit[1])
    return _share(*t_ends(difference_moments(sums, size)), rates[0] - rates[1])


def difference_moments(sums: Array, size: int) -> Moments:
    """Moments of two models' differences in hits, samples x clusters, with the two cases that are added."""
    one = np.ones((len(sums), 1))
    all_sizes = np.concatenate([np.full(sums.shape, float(size)), one, one], axis=1)
    return moments(np.concatenate([sums, one, -one], axis=1), all_sizes, skewed=False)


def _share(low: Array, high: Array, value: float) -> float:
    return float(np.mean((low <= value + 1e-12) & (value - 1e-12 <= high)))


def main() -> None:
    """Prints the tables of docs/simulations.md."""
    print("| accuracy | " + " | ".join(f"n = {n}" for n in NUMBERS) + " |")
    for rate in RATES:
        print(f"| {rate:.0%} | " + " | ".join(f"{100 * exact_coverage(rate, n):.1f}" for n in NUMBERS) + " |")
    print("\n| independent scores | " + " | ".join(f"n = {n}" for n in NUMBERS) + " |")
    for scores in (*NEAR_AN_END, *CENTRAL, *NARROW, MIDDLE):
        cells = [_cell(independent(scores, n, 4000 if n <= 200 else 1000)) for n in NUMBERS]
        print(f"| {scores.name} | " + " | ".join(cells) + " |", flush=True)
    print("\n| clustered scores | clusters | designs | plain | interval | width ratio, median (largest) |")
    rows: list[tuple[str, tuple[float, ...], str, tuple[int, ...]]] = [
        ("hits, 2 and 98 %", (0.02, 0.98), "hits", (6, 12, 30, 60)),
        ("hits, 5 and 95 %", (0.05, 0.95), "hits", (6, 12, 30, 60)),
        ("hits, 20 to 80 %", (0.2, 0.5, 0.8), "hits", (6, 12, 30, 60)),
        ("graded, 2 and 98 %", (0.02, 0.98), "graded", (6, 12, 30, 60)),
        ("graded, 5 and 95 %", (0.05, 0.95), "graded", (6, 12, 30, 60)),
        ("graded, 50 %", (0.5,), "graded", (6, 12, 30, 60)),
        ("F1-like, 2 and 98 %", (0.02, 0.98), "f1", (6, 12, 30, 60)),
        ("ratings 1 to 10, means 5.5 to 9.2", (5.5, 8.0, 9.5, 10), "scaled", (6, 12, 30, 60)),
        ("ratings, 90 to 98 % have 10", (0.9, 0.95, 0.98), "topped", (6, 12, 30, 60)),
    ]
    for name, rates, kind, numbers in rows:
        for k in numbers:
            found = [clustered(one, 3000) for one in settings(rates, (k,), kind)]
            print(_row(name, k, found), flush=True)
    for k in (12, 30, 60, 120):
        found = [clustered(Setting(0.03, k, size, effects="rare", kind="graded"), 3000) for size in SIZES]
        print(_row("3 % of the clusters score 5 %, the others 97 %", k, found), flush=True)
    print("\n| ratings, scale unknown | clusters | t interval | percentile bootstrap |")
    for name, rates, kind, numbers in rows[-2:]:
        for k in numbers:
            chosen = list(settings(rates, (k,), kind))
            held = [100 * without_scale(one, 3000) for one in chosen]
            plain = [100 * bootstrap_coverage(one, 1000) for one in chosen]
            print(f"| {name} | {k} | {_range(held)} | {_range(plain)} |", flush=True)
    print("\n| difference of hits, two models | clusters | interval |")
    for first, second in ((0.5, 0.6), (0.9, 0.95), (0.05, 0.1), (0.95, 0.95)):
        for k in (8, 15, 30, 60):
            designs = product((1, 5, 20), ICCS)
            shares = [100 * difference_coverage((first, second), k, *design, 2000) for design in designs]
            print(f"| {first:.0%}, {second:.0%} | {k} | {_range(shares)} |", flush=True)


def _cell(found: Measured) -> str:
    return f"{100 * found.plain:.1f}, {100 * found.held:.1f}, {found.ratio:.2f}"


def _row(name: str, clusters: int, found: list[Measured]) -> str:
    plain, held = _range([100 * one.plain for one in found]), _range([100 * one.held for one in found])
    ratios = [one.ratio for one in found if one.plain >= 0.93] or [math.nan]
    return f"| {name} | {clusters} | {len(found)} | {plain} | {held} | {np.median(ratios):.2f} ({max(ratios):.2f}) |"


def _range(shares: list[float]) -> str:
    return f"{min(shares):.1f} to {max(shares):.1f}"


if __name__ == "__main__":
    main()
