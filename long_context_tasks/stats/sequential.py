"""Test whether a mean loss is below a margin or above 0, with optional stopping after every observation.

The evidence against a hypothesis about the mean of values from 0 to 1 is the capital of a bettor against it.
It starts at 1, and each value ``x`` multiplies it by ``1 - c + c * x / m``, where ``m`` is the largest mean
under the hypothesis and ``c`` the share at stake. Under the hypothesis the capital does not grow on average,
so the probability that it *ever* reaches ``1 / alpha`` is at most ``alpha`` (Ville 1939). The capital is
split over several constant shares: Waudby-Smith and Ramdas (2024), Estimating means of bounded random
variables by betting, JRSS B 86(1), with the portfolio of Orabona and Jun (2024), Tight concentrations and
confidence sequences from the regret of universal portfolio, IEEE Trans. Inf. Theory 70(1). Half of it is on
the largest share, which is best if two stacks hardly ever differ. Constant shares do not depend on the data:
if values come in rounds, one from each of several strata with different means, the guarantee holds after each
round for the mean over strata (the product of the expected factors is largest if all strata are alike).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from long_context_tasks.stats.comparison import ALPHA
from long_context_tasks.stats.intervals import Array

Verdict = Literal["PASS", "FAIL", "UNDECIDED"]
_SHARES = 8
_MOST = 0.97  # a share of 1 loses the whole capital at the first value of 0
_STEPS = 40
_ON_THE_LARGEST = 0.5


@dataclass(frozen=True)
class Look:
    """Verdict on the losses observed so far.

    Attributes:
        verdict: PASS: the mean loss is below the margin; FAIL: it is above 0; UNDECIDED: neither is shown
            yet. If both are shown, PASS, because a loss within the margin is acceptable.
        n: number of losses.
        mean: mean loss; nan without losses.
        low, high: bounds of the true mean, valid over all looks together: it exceeds ``high`` with
            probability at most ``alpha`` and falls below ``low`` with at most ``alpha / tests``.
    """

    verdict: Verdict
    n: int
    mean: float
    low: float
    high: float


def look(losses: Sequence[float], margin: float, alpha: float = ALPHA, tests: int = 1) -> Look:
    """Test the mean of the losses so far; valid after every loss, even when stopping at the first verdict.

    However often it is called, a wrong PASS has probability at most ``alpha`` if the true loss is at least
    the margin, a wrong FAIL at most ``alpha / tests`` if it is at most 0. If several means must all pass, a
    wrong overall PASS has probability at most ``alpha`` (an intersection-union test), as does any wrong FAIL
    (Bonferroni).

    >>> found = look([0.0] * 120, margin=0.05)
    >>> found.verdict, round(found.low, 3), round(found.high, 3)
    ('PASS', -0.03, 0.03)

    Args:
        losses: independent values from -1 to 1, in order of arrival.
        margin: between 0 and 1.
        alpha: probability of a wrong verdict of either kind.
        tests: number of means tested together.

    Raises:
        ValueError: a loss or the margin is out of range.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin {margin}: expected a number between 0 and 1")
    x = np.asarray(losses, float)
    if x.size and not (np.abs(x) <= 1).all():
        raise ValueError("expected losses from -1 to 1")
    kinds, counts = np.unique(x, return_counts=True)
    shares = shares_of(margin)
    high = 1 - 2 * _lower_bound((1 - kinds) / 2, counts, shares, alpha)
    low = 2 * _lower_bound((1 + kinds) / 2, counts, shares, alpha / tests) - 1
    verdict: Verdict = "PASS" if high < margin else "FAIL" if low > 0 else "UNDECIDED"
    return Look(verdict, x.size, float(x.mean()) if x.size else math.nan, low, high)


def shares_of(margin: float) -> Array:
    """Return the shares of the capital to bet, ascending.

    The best one is the margin over the variance of the losses, which is at most 1.
    """
    return np.geomspace(margin, max(_MOST, margin), _SHARES)


def log_evidence(kinds: Array, counts: Array, mean: float, shares: Array) -> Array:
    """Return the log capital of a bettor against the hypothesis that the mean is at most ``mean``.

    Args:
        kinds: distinct values from 0 to 1, ``(k,)``.
        counts: how often each value occurs, ``(k,)``, or ``(k, n)`` for n samples.
        mean: above 0.
        shares: see :func:`shares_of`; half of the capital is on the last one.
    """
    capital = np.log(1 - shares[:, None] + shares[:, None] * kinds / mean) @ counts
    parts = np.full(len(shares), (1 - _ON_THE_LARGEST) / (len(shares) - 1))
    parts[-1] = _ON_THE_LARGEST
    evidence: Array = np.logaddexp.reduce((capital.T + np.log(parts)).T, axis=0)
    return evidence


def _lower_bound(kinds: Array, counts: Array, shares: Array, alpha: float) -> float:
    """Return the largest mean (to 1e-12) refuted by the evidence; 0 if none is."""
    # Bisection works because the evidence decreases as the mean grows.
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        refuted = log_evidence(kinds, counts, middle, shares) >= -math.log(alpha)
        low, high = (middle, high) if refuted else (low, middle)
    return low
