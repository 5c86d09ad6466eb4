"""Effective context length: how long a context may be until a model no longer surely does better than a stated bar.

The definition: the longest measured length at which the 95 % interval of the model's score lies above the bar, all
shorter lengths that can be decided holding as well. A length at which the score is high again after a failure does not
count. A length without scores or with too few clusters for its interval decides nothing: it is passed over and named.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.clustered import Array, cluster_t, cluster_wilson, min_clusters
from long_context_tasks.stats.drawn_means import drawn_lower_ends
from long_context_tasks.stats.intervals import LEVEL, RESAMPLES, Interval

Outcome = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class LengthScores:
    """Scores of one length, cases that could not be scored left out already.

    Attributes:
        values: scores.
        clusters: of each.
    """

    values: Sequence[float]
    clusters: Sequence[Hashable]


@dataclass(frozen=True)
class Bar:
    """What the interval has to lie above, and that in words.

    Attributes:
        words: for tables, as "chance" or "85 % of the score at the shortest length".
        heights: bar of each length; empty with ``fraction``.
        fraction: of the mean at the shortest length that has scores.
    """

    words: str
    heights: Mapping[int, float]
    fraction: float | None = None


def fixed_bar(heights: Mapping[int, float], name: str = "chance") -> Bar:
    """A bar given for every length, as the chance level."""
    return Bar(name, dict(heights))


def fraction_bar(fraction: float) -> Bar:
    """A fraction of the model's own score at the shortest length.

    Raises:
        ValueError: not between 0 and 1.
    """
    if not 0 < fraction < 1:
        raise ValueError(
            f"a bar of {fraction} times the score at the shortest length; give a fraction between 0 and 1"
        )
    return Bar(f"{100 * fraction:g} % of the score at the shortest length", {}, fraction)


@dataclass(frozen=True)
class LengthOutcome:
    """One length against the bar.

    Attributes:
        length: in tokens.
        n, clusters: scores and their clusters.
        mean: not a number without scores.
        interval: 95 %.
        bar: height here.
        outcome: ``holds`` when the interval lies above the bar.
        reason: why it is undecided; None otherwise.
    """

    length: int
    n: int
    clusters: int
    mean: float
    interval: Interval
    bar: float
    outcome: Outcome
    reason: str | None = None


@dataclass(frozen=True)
class EffectiveLength:
    """The length with its definition.

    Attributes:
        length: longest that holds; 0 when the first decided length fails, None when no length could be decided.
        at_least: the longest decided length holds: the effective length is that or more.
        interval: 95 % of draws of whole clusters give lengths from low to high, 0 for none; ends are not a number where
            ``length`` is None.
        next_length: the shortest length that fails; None when none does. The truth lies between the two.
        lengths: every length, ascending.
        skipped: lengths that decided nothing.
        definition: in words.
    """

    length: int | None
    at_least: bool
    interval: Interval
    next_length: int | None
    lengths: Sequence[LengthOutcome]
    skipped: Sequence[int]
    definition: str

    def __str__(self) -> str:
        """As tables print it: ``>= 65536``, ``16384``, ``none`` or ``unknown``."""
        if self.length is None:
            return "unknown"
        return f"{'>= ' if self.at_least else ''}{self.length}" if self.length else "none"


def effective_length(
    scores: Mapping[int, LengthScores],
    bar: Bar,
    *,
    rates: bool = True,
    fewest: int | None = None,
    seed: int = 0,
) -> EffectiveLength:
    """The longest length at which the model's interval stays above the bar, all shorter ones too.

    Args:
        scores: length in tokens to its scores.
        bar: what to stay above; a fraction needs scores that are 0 or more.
        rates: scores are shares from 0 to 1; False for ratings on a scale.
        fewest: clusters that a length needs; by default :func:`~long_context_tasks.stats.clustered.min_clusters` for its
            mean, and any number where hits and misses are independent.
        seed: of the draws.

    Raises:
        ValueError: no lengths, or a length without a bar.
    """
    if not scores:
        raise ValueError("no lengths")
    order = sorted(scores)
    heights = _heights(scores, order, bar)
    found = [_outcome(length, scores[length], heights[length], rates, fewest) for length in order]
    decided = [one for one in found if one.outcome != "undecided"]
    skipped = [one.length for one in found if one.outcome == "undecided"]
    words = (
        f"longest context at which the {100 * LEVEL:g} % interval of the score lies above {bar.words}, at all shorter "
        "measured lengths as well"
    )
    if skipped:
        words += f"; not decided and passed over: {', '.join(map(str, skipped))}"
    if not decided:
        nowhere = Interval(math.nan, math.nan)
        return EffectiveLength(None, False, nowhere, None, found, skipped, words)
    held = 0
    while held < len(decided) and decided[held].outcome == "holds":
        held += 1
    length = decided[held - 1].length if held else 0
    draws = _drawn_lengths([one.length for one in decided], scores, bar, order, rates, seed)
    # With inverted_cdf the ends are lengths of the grid. The estimate belongs in its interval even where, of many lengths
    # that barely hold, hardly any draw has them all.
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return EffectiveLength(
        length=length,
        at_least=held == len(decided),
        interval=Interval(float(min(low, length)), float(max(high, length))),
        next_length=None if held == len(decided) else decided[held].length,
        lengths=found,
        skipped=skipped,
        definition=words,
    )


def _heights(scores: Mapping[int, LengthScores], order: Sequence[int], bar: Bar) -> dict[int, float]:
    if bar.fraction is None:
        missing = [length for length in order if length not in bar.heights]
        if missing:
            raise ValueError(f"no bar is given for {', '.join(map(str, missing))} tokens")
        return {length: bar.heights[length] for length in order}
    first = _shortest(scores, order)
    if first is None:
        return dict.fromkeys(order, math.nan)
    values = scores[first].values
    return dict.fromkeys(order, bar.fraction * math.fsum(values) / len(values))


def _shortest(scores: Mapping[int, LengthScores], order: Sequence[int]) -> int | None:
    return next((length for length in order if len(scores[length].values)), None)


def _independent_hits(scores: LengthScores) -> bool:
    return len(set(scores.clusters)) == len(scores.values) and set(scores.values) <= {0, 1}


def _outcome(length: int, scores: LengthScores, bar: float, rates: bool, fewest: int | None) -> LengthOutcome:
    n, k = len(scores.values), len(set(scores.clusters))
    if not n:
        nowhere = Interval(math.nan, math.nan)
        return LengthOutcome(length, 0, 0, math.nan, nowhere, bar, "undecided", "no scores")
    mean = math.fsum(scores.values) / n
    interval = (cluster_wilson if rates else cluster_t)(scores.values, scores.clusters)
    needed = fewest
    if needed is None:
        needed = 1 if rates and _independent_hits(scores) else min_clusters(mean, rates=rates)
    reason = None
    if k < needed:
        reason = f"{k} clusters, fewer than {needed}"
    elif math.isnan(interval.low):
        reason = "its scores are all one, so their spread is unknown"
    outcome: Outcome = "undecided" if reason else "holds" if interval.low > bar else "fails"
    return LengthOutcome(length, n, k, mean, interval, bar, outcome, reason)


def _drawn_lengths(
    decided: Sequence[int],
    scores: Mapping[int, LengthScores],
    bar: Bar,
    order: Sequence[int],
    rates: bool,
    seed: int,
) -> NDArray[np.int_]:
    """Effective length of each draw. Lengths with the same clusters (one question in longer contexts) share their draws."""
    number: dict[frozenset[Hashable], int] = {}
    for length in order:
        number.setdefault(frozenset(scores[length].clusters), len(number))
    heights: Array | None = None
    if bar.fraction is not None:
        first = _shortest(scores, order)
        assert first is not None  # a decided length has scores
        place = number[frozenset(scores[first].clusters)]
        heights = bar.fraction * _drawn(scores[first], rates, seed + place)[0]
    alive = np.ones(RESAMPLES, dtype=bool)
    reached = np.zeros(RESAMPLES, dtype=int)
    for length in decided:
        place = number[frozenset(scores[length].clusters)]
        low = _drawn(scores[length], rates, seed + place)[1]
        alive &= low > (bar.heights[length] if heights is None else heights)
        if not alive.any():
            break
        reached[alive] = length
    return reached


def _drawn(scores: LengthScores, rates: bool, seed: int) -> tuple[Array, Array]:
    """Mean and lower end of the interval in every draw of clusters."""
    return drawn_lower_ends(
        scores.values, scores.clusters, rates=rates, independent=_independent_hits(scores), seed=seed
    )
