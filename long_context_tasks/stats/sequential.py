"""Is a mean difference below a margin, above 0, or open? A test that may be looked at after every observation, and stopped there.

The evidence against a hypothesis about a mean of values from 0 to 1 is the capital of a bettor against it: from 1, each value ``x`` multiplies
it by ``1 - c + c * x / m`` where ``m`` is the largest mean under the hypothesis and ``c`` the share that is put in. Under the hypothesis the
capital does not grow on average, so that the probability that it *ever* reaches ``1 / alpha`` is at most ``alpha`` (Ville 1939). The
capital here is split over several constant shares: Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by
betting, JRSS B 86(1), with the portfolio of Orabona and Jun (2024), Tight concentrations and confidence sequences from the regret of
universal portfolio, IEEE Trans. Inf. Theory 70(1). Half of it is on the largest share, which is best if two stacks hardly ever differ.
Constant shares never look at the data: if values come in rounds, one from each of several strata with means of their own, the guarantee
holds at the ends of rounds for the mean over strata (the product of the expected factors is largest if all are alike).
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
_MOST = 0.97  # a share of 1 loses everything at the first value of 0
_STEPS = 40
_ON_THE_LARGEST = 0.5


@dataclass(frozen=True)
class Look:
    """What the losses so far say.

    Attributes:
        verdict: PASS: the mean loss is below the margin; FAIL: it is above 0; UNDECIDED: neither is shown yet. Where both
            are, PASS: a loss that is shown to be within the margin is one that the user accepts.
        n: losses.
        mean: of them; nan without any.
        low, high: bounds of the true mean over all looks together: ``high`` is missed with probability ``alpha`` at most, ``low`` with
            ``alpha / tests``.
    """

    verdict: Verdict
    n: int
    mean: float
    low: float
    high: float


def look(losses: Sequence[float], margin: float, alpha: float = ALPHA, tests: int = 1) -> Look:
    """Test a mean loss on what there is so far; it may be called after every loss, and the first verdict may be kept.

    PASS is wrong with probability ``alpha`` at most if the true loss is the margin or more, FAIL with ``alpha / tests`` at most if it is
    0 or less, however often one looks. If several means are tested, and all have to pass, that all of them pass is wrong with
    probability ``alpha`` at most (an intersection-union test), and that any fails likewise (Bonferroni).

    >>> found = look([0.0] * 120, margin=0.05)
    >>> found.verdict, round(found.low, 3), round(found.high, 3)
    ('PASS', -0.03, 0.03)

    Args:
        losses: from -1 to 1, in the order in which they came, independent of one another.
        margin: above 0, below 1.
        alpha: probability of a wrong verdict of either kind.
        tests: how many means are tested together.

    Raises:
        ValueError: a loss or a margin out of range.
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin of {margin}; expected one between 0 and 1")
    x = np.asarray(losses, float)
    if x.size and not (np.abs(x) <= 1).all():
        raise ValueError("a loss outside -1 to 1")
    kinds, counts = np.unique(x, return_counts=True)
    shares = shares_of(margin)
    high = 1 - 2 * _lower_bound((1 - kinds) / 2, counts, shares, alpha)
    low = 2 * _lower_bound((1 + kinds) / 2, counts, shares, alpha / tests) - 1
    verdict: Verdict = "PASS" if high < margin else "FAIL" if low > 0 else "UNDECIDED"
    return Look(verdict, x.size, float(x.mean()) if x.size else math.nan, low, high)


def shares_of(margin: float) -> Array:
    """Return the shares that are put in: the best one is the margin over the variance of losses, which is 1 at most."""
    return np.geomspace(margin, max(_MOST, margin), _SHARES)


def log_evidence(kinds: Array, counts: Array, mean: float, shares: Array) -> Array:
    """Return the logarithm of the capital of a bettor against a mean of ``mean`` or less.

    Args:
        kinds: values from 0 to 1 that occur, ``(k,)``.
        counts: how often, ``(k,)`` or for several samples ``(k, n)``.
        mean: above 0.
        shares: see :func:`shares_of`; half of the capital is on the last one.
    """
    capital = np.log(1 - shares[:, None] + shares[:, None] * kinds / mean) @ counts
    parts = np.full(len(shares), (1 - _ON_THE_LARGEST) / (len(shares) - 1))
    parts[-1] = _ON_THE_LARGEST
    evidence: Array = np.logaddexp.reduce((capital.T + np.log(parts)).T, axis=0)
    return evidence


def _lower_bound(kinds: Array, counts: Array, shares: Array, alpha: float) -> float:
    """Return the largest mean (to 1e-12) that the evidence refutes; 0 where it refutes none. The evidence falls as the mean grows."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        refuted = log_evidence(kinds, counts, middle, shares) >= -math.log(alpha)
        low, high = (middle, high) if refuted else (low, middle)
    return low
