"""An interval, and Wilson's of a proportion; those of clustered scores are in ``clustered.py``, those of resampling in ``resampling.py``."""

from dataclasses import dataclass
from functools import lru_cache

from scipy.stats import binomtest

LEVEL = 0.95
RESAMPLES = 2_000
"""Draws of a bootstrap."""


@dataclass(frozen=True)
class Interval:
    """Ends of a confidence interval."""

    low: float
    high: float


@lru_cache(maxsize=10_000)
def wilson(hits: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927; as in scipy).

    >>> interval = wilson(8, 200)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0204, 0.0769)

    Raises:
        ValueError: ``n`` is 0 or ``hits`` outside 0..n.
    """
    ends = binomtest(hits, n).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(ends.low), float(ends.high))
