"""Welch's test against a published example and values worked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.stats import welch_test


def test_a_published_example():
    # Wikipedia, "Welch's t-test", example 3 (unequal variances and sizes): t -2.22, 24.5 df, p 0.036
    a = [19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22.0]
    b = [
        28.2,
        26.6,
        20.1,
        23.3,
        25.2,
        22.1,
        17.7,
        27.6,
        20.6,
        13.7,
        23.2,
        17.5,
        20.6,
        18.0,
        23.9,
        21.6,
        24.3,
        20.4,
    ]
    b += [24.0, 13.2]
    test = welch_test(a, b, "two-sided")
    assert (round(test.t, 2), round(test.df, 1), round(test.p, 3)) == (-2.22, 24.5, 0.036)


def test_by_hand():
    # means 2.5 and 5, variances 5/3 and 14/3, standard error^2 = 5/12 + 14/12
    test = welch_test([1, 2, 3, 4], [3, 4, 5, 8])
    assert test.t == pytest.approx(-2.5 / math.sqrt(19 / 12))
    assert test.df == pytest.approx((19 / 12) ** 2 / ((5 / 12) ** 2 / 3 + (14 / 12) ** 2 / 3))
    assert (test.mean_first, test.mean_second, test.n_first, test.n_second) == (2.5, 5.0, 4, 4)


SAMPLE = st.lists(st.integers(1, 10), min_size=2, max_size=20).filter(lambda values: len(set(values)) > 1)


@given(SAMPLE, SAMPLE)
def test_the_tails_belong_together(first, second):
    less, greater = welch_test(first, second, "less"), welch_test(first, second, "greater")
    assert less.p + greater.p == pytest.approx(1)
    assert welch_test(first, second, "two-sided").p == pytest.approx(2 * min(less.p, greater.p))
    assert welch_test(second, first, "greater").p == pytest.approx(less.p)
    assert (less.p < 0.5) == (less.t < 0) or less.t == pytest.approx(0, abs=1e-12)


def test_too_few_scores():
    with pytest.raises(ValueError, match="1 and 2"):
        welch_test([1.0], [1.0, 2.0])
