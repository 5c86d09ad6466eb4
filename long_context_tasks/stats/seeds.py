"""A figure over several seeded runs: mean and sample standard deviation."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SeedSpread:
    """Mean of ``n`` runs and their sample standard deviation (divisor n - 1; not a number for a single run)."""

    mean: float
    sd: float
    n: int


def seed_spread(values: Sequence[float]) -> SeedSpread:
    """Mean and sample standard deviation of one figure over seeded runs, as ELITR-Bench's Table 9 has them.

    The standard deviation says how far the runs differ, nothing about how far other questions would.

    >>> seed_spread([2.0, 4.0, 6.0])
    SeedSpread(mean=4.0, sd=2.0, n=3)

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("no runs")
    sd = statistics.stdev(values) if len(values) > 1 else math.nan
    return SeedSpread(statistics.fmean(values), sd, len(values))


def could_be_one_run(value: float, mean: float, sd: float, n: int, places: int = 2) -> bool:
    """Whether ``value`` can be one of ``n`` runs whose mean and standard deviation were printed with ``places`` decimals.

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
