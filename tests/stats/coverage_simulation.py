"""How often 95 % intervals hold the truth: exact sums for independent hits and misses, simulation for clusters.

``python tests/stats/coverage_simulation.py`` prints the tables of docs/simulations.md (three minutes on one core).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from long_context_tasks.stats.intervals import Array, Moments, moments, t_ends, wilson, wilson_ends

RATES = (0.05, 0.5, 0.95)
NUMBERS = (50, 200, 1000)
SIZES: tuple[int | None, ...] = (5, 20, None)
"""Cases in a cluster; None draws 5 to 20 for each."""
ICCS = (0.05, 0.3)
EFFECTS = ("beta", "logit_normal")


def exact_coverage(rate: float, n: int) -> float:
    """Chance that Wilson's interval of ``n`` independent hits and misses holds the true rate."""
    from scipy.stats import binom

    ends = [wilson(hits, n) for hits in range(n + 1)]
    chances = binom.pmf(np.arange(n + 1), n, rate)
    return float(sum(c for c, end in zip(chances, ends, strict=True) if end.low <= rate <= end.high))


@dataclass(frozen=True)
class Setting:
    """One way to draw clustered scores; ``kind`` is hits, graded (0 to 1), ratings (1 to 10, ``rate`` their level) or scaled (the same, scale known)."""

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
    if setting.effects == "beta":
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
    for place in range(int(sizes.max())):
        sums += np.where(place < sizes, rng.beta(2 * rates, 2 * (1 - rates)), 0.0)
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
    if setting.kind in ("hits", "graded"):
        return setting.rate
    from scipy.stats import norm

    cuts = norm.cdf((np.arange(1.5, 10) - setting.rate) / 2)
    return float(10 - cuts.sum())


def coverage(setting: Setting, samples: int, seed: int = 1) -> float:
    """Share of the samples whose interval (cluster_wilson's, for ratings cluster_t's) holds the truth."""
    sums, sizes = draw(setting, samples, seed)
    if setting.kind == "scaled":
        low, high = wilson_ends(moments((sums - sizes) / 9, sizes))
        return _share(1 + 9 * low, 1 + 9 * high, truth(setting))
    found = moments(sums, sizes)
    low, high = (t_ends if setting.kind == "ratings" else wilson_ends)(found)
    for value in (0.0, 1.0) if setting.kind == "hits" else ():
        end = wilson(round(value * setting.clusters), setting.clusters)
        same = found.mean == value
        low, high = np.where(same, end.low, low), np.where(same, end.high, high)
    return _share(low, high, truth(setting))


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
    print("\n| scores | clusters | interval | percentile bootstrap |")
    rows: list[tuple[str, tuple[float, ...], str, tuple[int, ...]]] = [
        ("hits, 5 %", (0.05,), "hits", (10, 20, 30, 50, 60, 100)),
        ("hits, 10 %", (0.1,), "hits", (10, 20, 30, 60)),
        ("hits, 20 to 80 %", (0.2, 0.5, 0.8), "hits", (5, 10, 20, 60, 100)),
        ("hits, 95 %", (0.95,), "hits", (50, 60, 100)),
        ("graded, 5 %", (0.05,), "graded", (10, 60, 100)),
        ("graded, 50 %", (0.5,), "graded", (10, 60)),
        ("ratings 1 to 10", (5.5, 8.0, 9.5), "ratings", (5, 8, 10, 20, 60)),
        ("ratings 1 to 10, scale known", (5.5, 8.0, 9.5), "scaled", (5, 8, 10, 20, 60)),
    ]
    for name, rates, kind, numbers in rows:
        for k in numbers:
            chosen = list(settings(rates, (k,), kind))
            found = [100 * coverage(one, 8000) for one in chosen]
            plain = [100 * bootstrap_coverage(one, 1000) for one in chosen]
            print(f"| {name} | {k} | {_range(found)} | {_range(plain)} |", flush=True)
    print("\n| difference of hits, two models | clusters | interval |")
    for first, second in ((0.5, 0.6), (0.9, 0.95), (0.05, 0.1), (0.95, 0.95)):
        for k in (8, 15, 30, 60):
            designs = product((1, 5, 20), ICCS)
            found = [100 * difference_coverage((first, second), k, *design, 2000) for design in designs]
            print(f"| {first:.0%}, {second:.0%} | {k} | {_range(found)} |", flush=True)


def _range(shares: list[float]) -> str:
    return f"{min(shares):.1f} to {max(shares):.1f}"


if __name__ == "__main__":
    main()
