"""The rule of the site's win rate (its script is compared with it in a browser): known cases, and coverage."""

import numpy as np
import pytest
from win_rate_simulation import coverage, win_rates


def test_known_win_rates() -> None:
    means = np.array([[0.9, 0.5, 0.5], [0.2, 0.3, 0.1]])
    rates, least, most = win_rates(means, means - 0.1, means + 0.1)
    assert rates == pytest.approx([0.75, 0.625, 0.125])
    # Ahead beyond chance: the first of both others in the first cell, the second of the third in the second.
    assert least == pytest.approx([0.5, 0.25, 0.0]) and most == pytest.approx([1.0, 0.75, 0.5])
    nothing = np.full_like(means, np.nan)
    _, least, most = win_rates(means, nothing, nothing)
    assert list(least) == [0, 0, 0] and list(most) == [1, 1, 1]


@pytest.mark.parametrize("design", [(5, 10, 50, 0.1), (10, 14, 100, 0.0)])
def test_intervals_hold_the_truth(design: tuple[int, int, int, float]) -> None:
    held, wide, _ = coverage(*design, rounds=100)
    assert held > 0.92 and wide < 0.97
