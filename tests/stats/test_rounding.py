"""Rounding as tables are printed, against the decimal module and examples worked by hand."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.stats import round_half_up, round_twice


@pytest.mark.parametrize(
    ("value", "places", "printed"),
    [
        (2.675, 2, "2.68"),  # the nearest double is below; people read 2.675
        (4.625, 2, "4.63"),  # Python's round gives 4.62
        (-4.625, 2, "-4.63"),
        (0.5, 0, "1"),
        (8.5, 2, "8.50"),
        (Fraction(834, 141), 2, "5.91"),
        (Fraction(1, 3), 3, "0.333"),
        (np.float64(0.4656968), 3, "0.466"),
        (7, 1, "7.0"),
        (1e-7, 2, "0.00"),
    ],
)
def test_half_up(value, places, printed):
    assert str(round_half_up(value, places)) == printed


@pytest.mark.parametrize(
    ("value", "once", "twice"),
    [
        (Fraction(1202, 141), "8.52", "8.53"),  # 8.52482
        (Fraction(834, 141), "5.91", "5.92"),  # 5.91489
        (Fraction(869, 130), "6.68", "6.69"),  # 6.68462
        (Fraction(3270, 390), "8.38", "8.39"),  # 8.384615: Table 9 and Table 2 of the paper
        (Fraction(662, 141), "4.70", "4.70"),
        (8.3444, "8.34", "8.34"),
    ],
)
def test_double_rounding_raises_the_last_digit(value, once, twice):
    assert (str(round_half_up(value)), str(round_twice(value))) == (once, twice)


@given(st.decimals(-1000, 1000, places=6), st.integers(0, 5))
def test_floats_round_as_the_decimals_they_show(value: Decimal, places: int):
    expected = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    assert round_half_up(float(value), places) == expected
    assert round_half_up(Fraction(value), places) == expected


@given(st.floats(-1e6, 1e6))
def test_two_roundings_are_at_most_one_digit_from_one(value: float):
    assert abs(round_twice(value) - round_half_up(value)) <= Decimal("0.01")
    assert abs(Fraction(round_twice(value)) - Fraction(value)) <= Fraction(56, 10_000)


def test_what_cannot_be_rounded():
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="cannot round"):
            round_half_up(value)
    with pytest.raises(ValueError, match="decimals"):
        round_half_up(1.0, -1)
    with pytest.raises(ValueError, match="first rounding"):
        round_twice(1.0, 3, 3)
