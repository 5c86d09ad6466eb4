"""Win rates of made-up models and their intervals against the truth: ``python tests/site/win_rate_simulation.py``.

``win_rates`` is the rule of ``site/assets/rank.js`` in NumPy; a browser test compares the two on the same scores.
"""

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.intervals import exact_interval

Floats = NDArray[np.float64]
DESIGNS = (
    # models, cells, cases of a cell, half the range of skills
    *((5, 10, 50, 0.1), (5, 10, 50, 0.3), (3, 6, 30, 0.2), (10, 14, 100, 0.1), (10, 14, 100, 0.0)),
    *((4, 2, 200, 0.2), (20, 20, 200, 0.2), (6, 30, 500, 0.2)),
)


def shares(means: Floats) -> Floats:
    """The share of the other models that each beats, over cells: (cells, models) to (models,)."""
    over = (means[:, :, None] > means[:, None, :]) + 0.5 * (means[:, :, None] == means[:, None, :])
    return (over.sum(axis=2) - 0.5).mean(axis=0) / (means.shape[1] - 1)  # no model meets itself


def win_rates(means: Floats, lows: Floats, highs: Floats) -> tuple[Floats, Floats, Floats]:
    """Win rates with the ends of their intervals; all arguments (cells, models), intervals nan where there are none."""
    apart = means[:, :, None] - means[:, None, :]
    reach = (means - lows)[:, :, None] ** 2 + (highs - means)[:, None, :] ** 2
    ahead = (apart > 0) & (apart**2 > reach)
    others = means.shape[1] - 1
    least = ahead.sum(axis=2).mean(axis=0) / others
    most = 1 - ahead.sum(axis=1).mean(axis=0) / others
    return shares(means), least, most


def coverage(
    models: int, cells: int, n: int, spread: float, rounds: int, resamples: int = 0
) -> tuple[float, float, float]:
    """Share of intervals that hold the win rate of the true scores, their mean width, and the coverage of a percentile bootstrap.

    The last is not a number without ``resamples``.
    """
    draw = np.random.default_rng(0)
    ends = np.array([[one.low, one.high] for one in (exact_interval(hits, n) for hits in range(n + 1))])
    held, wide, resampled = 0.0, 0.0, 0.0
    for _ in range(rounds):
        skill = 0.5 + spread * draw.uniform(-1, 1, models)
        hard = draw.uniform(-0.2, 0.2, (cells, 1))
        truth = np.clip(skill + hard + 0.05 * spread * draw.uniform(-1, 1, (cells, models)), 0.03, 0.97)
        hits = draw.binomial(n, truth)
        right = shares(truth)
        _, least, most = win_rates(hits / n, ends[hits, 0], ends[hits, 1])
        held += ((least <= right + 1e-9) & (right <= most + 1e-9)).mean()
        wide += (most - least).mean()
        if not resamples:
            continue
        again = np.array([shares(draw.binomial(n, hits / n) / n) for _ in range(resamples)])
        low, high = np.quantile(again, [0.025, 0.975], axis=0)
        resampled += ((low <= right + 1e-9) & (right <= high + 1e-9)).mean()
    return held / rounds, wide / rounds, resampled / rounds if resamples else np.nan


def main() -> None:
    """Print the table of docs/simulations.md."""
    for models, cells, n, spread in DESIGNS:
        held, wide, resampled = coverage(models, cells, n, spread, 300, 100)
        skills = f"{100 * (0.5 - spread):.0f} to {100 * (0.5 + spread):.0f}"
        print(
            f"| {models} | {cells} | {n} | {skills} | {100 * held:.1f} | {100 * wide:.0f} | {100 * resampled:.1f} |"
        )


if __name__ == "__main__":
    main()
