"""Printed figures: rounding half up in decimal, once or twice, and what a printed mean allows.

Python's ``round`` and format strings round halves to the even digit and see the binary value (``round(2.675, 2)`` is
2.67). Printed tables mostly come from half up. Some were rounded twice, first to three decimals and then to two, which
can raise the last digit: 8.5248 becomes 8.525 and then 8.53.
"""

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

Number = float | int | Decimal | Fraction

_CONTEXT = Context(prec=50, rounding=ROUND_HALF_UP)


def _to_decimal(value: Number) -> Decimal:
    """Return the value as people read it: a float by its shortest decimal form, a fraction to 50 digits.

    Raises:
        ValueError: not a finite number.
    """
    if isinstance(value, Fraction):
        return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
    # float() first: numpy's own numbers have another repr.
    decimal = Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)
    if not decimal.is_finite():
        raise ValueError(f"cannot round {value}")
    return decimal


def round_half_up(value: Number, places: int = 2) -> Decimal:
    """Round to ``places`` decimals; halves go away from zero. The text of the result has all its decimals.

    >>> str(round_half_up(2.675)), str(round_half_up(4.695, 1)), str(round_half_up(8.5))
    ('2.68', '4.7', '8.50')

    Raises:
        ValueError: not a finite number, or ``places`` below 0.
    """
    if places < 0:
        raise ValueError(f"{places} decimals")
    return _to_decimal(value).quantize(Decimal(1).scaleb(-places), context=_CONTEXT)


def round_twice(value: Number, places: int = 2, first: int = 3) -> Decimal:
    """Round half up to ``first`` decimals, then to ``places``: to reproduce tables that were made so, never for new ones.

    >>> str(round_half_up(Fraction(1202, 141))), str(round_twice(Fraction(1202, 141)))
    ('8.52', '8.53')

    Raises:
        ValueError: not a finite number, or ``first`` not above ``places``.
    """
    if first <= places:
        raise ValueError(f"the first rounding keeps {first} decimals, the second {places}")
    return round_half_up(round_half_up(value, first), places)


def could_be_one_run(value: float, mean: float, sd: float, n: int, places: int = 2) -> bool:
    """Return whether ``value`` can be one of ``n`` runs whose mean and standard deviation were printed with ``places`` decimals.

    No value lies further from the mean of its sample than (n - 1) / sqrt(n) sample standard deviations (Samuelson 1968);
    half a unit of the last printed digit is allowed on mean and standard deviation.

    >>> could_be_one_run(8.5154, 8.42, 0.09, 3), could_be_one_run(8.60, 8.42, 0.09, 3)
    (True, False)

    Raises:
        ValueError: fewer than two runs.
    """
    if n < 2:
        raise ValueError("one run has no standard deviation")
    half = 0.5 * 10.0**-places
    return abs(value - mean) <= (n - 1) / math.sqrt(n) * (sd + half) + half
