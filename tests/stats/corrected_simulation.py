"""Judge means corrected by people who rated whole clusters: how often the interval holds people's mean.

``python tests/stats/corrected_simulation.py`` prints the table of docs/simulations.md (ten minutes on one core).
"""

import math
from itertools import product

import numpy as np

from long_context_tasks.stats.means import corrected_mean

RATED = (5, 6, 8, 12, 20)
SIZE = 8
DESIGNS = tuple(product((12, 30, 100), (0.5, 0.8), ((0.1, 0.0), (0.3, 0.3))))
"""Clusters, correlation of judge and people, and intraclass correlations of people and of the judge's own errors."""
LEVEL = 7.0


def drawn(
    rng: np.random.Generator, clusters: int, size: int, agreement: float, icc: float = 0.1, own: float = 0.0
) -> tuple[np.ndarray, ...]:
    """Ratings of people from 1 to 10, a judge's that correlate with them and lie a point higher, and clusters."""
    where = np.repeat(np.arange(clusters), size)

    def spread(share: float) -> np.ndarray:
        common = rng.normal(size=clusters)[where]
        return math.sqrt(share) * common + math.sqrt(1 - share) * rng.normal(size=len(where))

    common = spread(icc)
    noise = math.sqrt(1 - agreement**2) * spread(own)
    people = np.clip(np.round(LEVEL + 2 * common), 1, 10)
    return people, np.clip(np.round(LEVEL + 1 + 2 * (agreement * common + noise)), 1, 10), where


def truth() -> float:
    """People's mean over endless answers."""
    from scipy.stats import norm

    return float(10 - norm.cdf((np.arange(1.5, 10) - LEVEL) / 2).sum())


def coverage(
    rated: int,
    clusters: int,
    agreement: float,
    correlations: tuple[float, float],
    samples: int,
    seed: int = 1,
) -> tuple[float, float, float]:
    """Share of intervals that hold the truth if so many whole clusters are rated, the same of people's mean alone, and mean width."""
    rng = np.random.default_rng(seed)
    held, alone, width = [], [], []
    for _ in range(samples):
        people, judge, where = drawn(rng, clusters, SIZE, agreement, *correlations)
        chosen = set(rng.choice(clusters, rated, replace=False).tolist())
        given = [
            float(one) if cluster in chosen else None for one, cluster in zip(people, where, strict=True)
        ]
        found = corrected_mean(judge.tolist(), given, where.tolist())
        held.append(found.interval.low <= truth() <= found.interval.high)
        alone.append(found.rated_interval.low <= truth() <= found.rated_interval.high)
        width.append(found.interval.high - found.interval.low)
    return float(np.mean(held)), float(np.mean(alone)), float(np.mean(width))


def main() -> None:
    """Print the table."""
    print("| rated clusters | designs | corrected mean | ratings alone | mean width |")
    print("| --- " * 5 + "|")
    for rated in RATED:
        found = [coverage(rated, *design, 1_000) for design in DESIGNS if design[0] >= rated]
        held, alone = ([100 * one[place] for one in found] for place in (0, 1))
        width = np.mean([one[2] for one in found])
        print(
            f"| {rated} | {len(found)} | {min(held):.1f} to {max(held):.1f} | {min(alone):.1f} to {max(alone):.1f} | {width:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
