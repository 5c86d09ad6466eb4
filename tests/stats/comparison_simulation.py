"""How often a comparison is wrong: claims that a model is better or the same, and the intervals of pooled seeds.

``python tests/stats/comparison_simulation.py`` prints the tables of docs/simulations.md (a minute on one core).
"""

from collections.abc import Mapping

import numpy as np
from coverage_simulation import difference_moments

from long_context_tasks.stats.comparison import ALPHA, interval_of_difference, p_of_same, sign_flips
from long_context_tasks.stats.intervals import Array, graded_ends, moments, t_ends

FLIPS = 999
NULLS = ("normal", "exponential", "lognormal", "rare 20 %", "rare 10 %", "unequal sizes")


def null(name: str, shape: tuple[int, int], seed: int = 1) -> tuple[Array, Array]:
    """Sums and sizes of the differences of clusters whose true mean difference is 0.

    In the rare ones the first model is a little better in most clusters and far worse in the others. In the unequal ones the first of two
    equal models is better in the small clusters and worse in the large ones.
    """
    rng = np.random.default_rng(seed)
    sizes = np.ones(shape)
    if name == "unequal sizes":
        large = rng.random(shape) < 0.25
        return np.where(large, -15.0, 5.0) + rng.standard_normal(shape), np.where(large, 60.0, 5.0)
    if name.startswith("rare"):
        share = int(name.split()[1]) / 100
        means = np.where(rng.random(shape) < share, -(1 - share) / share, 1.0)
        return means + rng.standard_normal(shape), sizes
    draws: Mapping[str, Array] = {
        "normal": rng.standard_normal(shape),
        "exponential": rng.exponential(size=shape) - 1,
        "lognormal": rng.lognormal(0, 1, shape) - np.exp(0.5),
    }
    return draws[name], sizes


def false_wins(name: str, clusters: int, samples: int, seed: int = 1) -> tuple[float, float]:
    """Shares of the samples in which sign flips alone, and with the interval, call one of the models better."""
    sums, sizes = null(name, (samples, clusters), seed)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (clusters, FLIPS))
    extreme = (np.abs(sums @ signs) >= np.abs(sums.sum(axis=1))[:, None] - 1e-9).sum(axis=1)
    flips = (1 + extreme) / (1 + FLIPS) < ALPHA
    low, high = t_ends(moments(sums, sizes, skewed=False))
    return float(flips.mean()), float((flips & ((low > 0) | (high < 0))).mean())


def claims_of_same(
    difference: float, margin: float, clusters: int, size: int, samples: int, seed: int = 1, icc: float = 0.1
) -> float:
    """Share of the samples in which two models that decide 20 % of the cases differently are called the same within the margin.

    Their clusters differ: ``icc`` is the share of the discordant cases' variance that clusters have in common.
    """
    rng = np.random.default_rng(seed)
    shape, both = (samples, clusters), 1 / icc - 1
    # Of the cases that only one model has right, the share that is the first's, by cluster.
    mine = (0.2 + difference) / 0.4
    share = rng.beta(mine * both, (1 - mine) * both, shape) if size > 1 else np.full(shape, mine)
    discordant = rng.binomial(size, 0.2, shape)
    sums = 2.0 * rng.binomial(discordant, share) - discordant
    return float((p_of_same(difference_moments(sums, size), margin) < ALPHA).mean())


def pooled_coverage(
    books: int, seeds: int, samples: int, *, together: bool, seed: int = 1
) -> tuple[float, float]:
    """Share of the intervals of a mean that hold the truth, and their mean width; ten cases of each seed from each book.

    ``together`` keeps a book as one cluster over all seeds; else each seed's cases of a book are a cluster.
    """
    rng = np.random.default_rng(seed)
    level, icc, size = 0.6, 0.2, 10
    both = 1 / icc - 1
    rates = rng.beta(level * both, (1 - level) * both, (samples, books))
    hits = rng.binomial(size, rates[:, :, None], (samples, books, seeds)).astype(float)
    sums = hits.sum(axis=2) if together else hits.reshape(samples, -1)
    sizes = np.full(sums.shape, float(size * seeds if together else size))
    low, high = graded_ends(sums, sizes)
    return float(np.mean((low <= level) & (level <= high))), float(np.mean(high - low))


def mcnemar(n: int, discordant: float, difference: float) -> tuple[float, float, float]:
    """Chances that ``n`` independent cases show a difference, by summing over what may come.

    By the exact test alone, by the test of comparisons alone, and by this test and the interval together.

    Args:
        n: cases, each right for exactly one of the models with probability ``discordant``.
        discordant: the share.
        difference: first minus second.
    """
    from scipy.stats import binom, binomtest

    first = (discordant + difference) / (2 * discordant)
    exact, mid, both = 0.0, 0.0, 0.0
    for d in range(1, n + 1):
        if (weight := binom.pmf(d, n, discordant)) < 1e-6:
            continue
        for fewer in range((d + 1) // 2):
            p = sign_flips(np.array([1.0] * (d - fewer) + [-1.0] * fewer), hits=True)[0]
            if p >= ALPHA:
                break
            chance = weight * (binom.pmf(fewer, d, first) + binom.pmf(d - fewer, d, first))
            exact += chance * (binomtest(fewer, d).pvalue < ALPHA)
            mid += chance
            scores = np.array([[1.0, 0.0]] * (d - fewer) + [[0.0, 1.0]] * fewer + [[0.0, 0.0]] * (n - d))
            ends = interval_of_difference(scores[:, 0], scores[:, 1], range(n))
            both += chance * (not ends.low <= 0 <= ends.high)
    return exact, mid, both


MCNEMAR = tuple((n, discordant) for n in (30, 50, 100, 200) for discordant in (0.05, 0.1, 0.2, 0.4))


def main() -> None:
    """Prints the tables."""
    print("| differences of clusters | " + " | ".join(f"{k} clusters" for k in (8, 15, 30, 60)) + " |")
    for name in NULLS:
        found = [false_wins(name, k, 4_000) for k in (8, 15, 30, 60)]
        print(
            f"| {name} | " + " | ".join(f"{100 * a:.1f}, {100 * b:.1f}" for a, b in found) + " |", flush=True
        )
    print("\n| clusters x cases | margin | true difference = margin | 0 | half the margin |")
    for k, size in ((8, 25), (15, 20), (30, 10), (60, 10), (200, 1), (1000, 1)):
        for margin in (0.02, 0.05, 0.1):
            shares = [claims_of_same(one, margin, k, size, 4_000) for one in (margin, 0.0, margin / 2)]
            print(
                f"| {k} x {size} | {100 * margin:g} | {' | '.join(f'{100 * one:.1f}' for one in shares)} |",
                flush=True,
            )
    print(
        "\n| cases | discordant | size: exact | mid-p | with the interval | difference | power: exact | mid-p | with the interval |"
    )
    for n, discordant in MCNEMAR:
        difference = min(2.8 * (discordant / n) ** 0.5, discordant)
        size, power = mcnemar(n, discordant, 0.0), mcnemar(n, discordant, difference)
        shown = [f"{100 * each:.1f}" for each in (*size, difference, *power)]
        print(f"| {n} | {discordant:.0%} | " + " | ".join(shown) + " |", flush=True)
    print("\n| books | seeds | a book is one cluster | width | each seed's cases of a book | width |")
    for books in (8, 15, 30):
        for seeds in (1, 3, 10):
            cells = [pooled_coverage(books, seeds, 8_000, together=one) for one in (True, False)]
            told = " | ".join(f"{100 * held:.1f} | {100 * width:.1f}" for held, width in cells)
            print(f"| {books} | {seeds} | {told} |", flush=True)


if __name__ == "__main__":
    main()
