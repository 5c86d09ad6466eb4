"""Means of scores that a judge expects but does not know: their interval has room for what people would say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema import Score
from long_context_tasks.stats import Interval, mean_of_scores
from long_context_tasks.stats.means import widened


def test_certain_scores_keep_their_interval() -> None:
    values = [0.1, 0.4, 0.45, 0.9, 0.7, 0.2]
    plain = mean_of_scores([Score(value) for value in values], "abcdef")
    assert mean_of_scores([Score(value, std=0.0) for value in values], "abcdef") == plain
    wider = mean_of_scores([Score(value, std=0.3) for value in values], "abcdef")
    assert wider.value == plain.value and wider.low < plain.low and wider.high > plain.high


def test_a_score_that_is_not_there_has_no_part_in_it() -> None:
    there = [Score(0.2, std=0.1), Score(0.7, std=0.2)]
    with_gap = mean_of_scores([*there, Score(None, "does_not_fit", std=5.0)], "abc")
    without = mean_of_scores(there, "ab")
    assert (with_gap.low, with_gap.high) == (without.low, without.high)


def test_two_halves_add_in_quadrature() -> None:
    found = widened(Interval(0.5 - 0.03, 0.5 + 0.04), 0.5, [0.2] * 4, rates=False)
    within = 1.959964 * 0.2 / 2
    assert found.low == pytest.approx(0.5 - math.hypot(0.03, within))
    assert found.high == pytest.approx(0.5 + math.hypot(0.04, within))


@given(
    st.floats(0, 1),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.lists(st.floats(0, 0.5), min_size=1, max_size=20),
)
def test_it_never_gets_narrower_and_stays_a_rate(
    mean: float, below: float, above: float, stds: list[float]
) -> None:
    ends = Interval(max(mean - below, 0.0), min(mean + above, 1.0))
    found = widened(ends, mean, stds)
    assert 0 <= found.low <= ends.low + 1e-12 and ends.high - 1e-12 <= found.high <= 1


def test_it_is_as_wide_as_the_interval_of_people() -> None:
    """Had one person rated each case, the mean of the ratings would be that far from the truth: 95 % of the time within this width."""
    rng = np.random.default_rng(0)
    n, trials, held, held_without = 60, 400, 0, 0
    for _ in range(trials):
        expected = rng.beta(2, 2, n)
        people = expected + rng.normal(0, 0.3, n)
        found = mean_of_scores([Score(float(value), std=0.3) for value in expected], range(n))
        plain = mean_of_scores([Score(float(value)) for value in expected], range(n))
        off = people.mean() - 0.5
        held += found.low - found.value <= -off <= found.high - found.value
        held_without += plain.low - plain.value <= -off <= plain.high - plain.value
    assert 0.925 <= held / trials <= 0.975
    assert held_without / trials < 0.85
