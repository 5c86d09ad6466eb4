"""Effective context length: how long a context may be before a model is no longer surely above a stated bar.

The definition: the longest measured length at which the 95 % interval of the model's score lies above the bar, all
shorter lengths that can be decided holding as well. A length at which the score is high again after a failure does not
count. A length without scores or with too few clusters for its interval decides nothing: it is skipped and named.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.intervals import (
    LEVEL,
    Array,
    Interval,
    Moments,
    cluster_t,
    cluster_wilson,
    min_clusters,
    t_ends,
    t_quantile,
    wilson_ends,
)
from long_context_tasks.stats.raters import RESAMPLES, drawn_clusters

Counts = NDArray[np.uint8] | NDArray[np.uint16]
_GRID = 4_000
_NO_SPREAD = 1e-10
_Z = 1.959963984540054  # 97.5 % quantile of the normal distribution

Outcome = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class LengthScores:
    """Scores of a length, without cases that could not be scored.

    Attributes:
        values: scores.
        clusters: of each.
    """

    values: Sequence[float]
    clusters: Sequence[Hashable]


@dataclass(frozen=True)
class Bar:
    """What the interval has to be above.

    Attributes:
        words: for tables, as "chance" or "85 % of the score at the shortest length".
        heights: bar of each length; empty with ``fraction``.
        fraction: of the mean at the shortest length that has scores.
    """

    words: str
    heights: Mapping[int, float]
    fraction: float | None = None


def fixed_bar(heights: Mapping[int, float], name: str = "chance") -> Bar:
    """Return a bar with a height for every length, such as the chance level."""
    return Bar(name, dict(heights))


def fraction_bar(fraction: float) -> Bar:
    """Return a bar at a fraction of the model's own score at the shortest length.

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
        mean: nan without scores.
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
    """An effective length with its definition.

    Attributes:
        length: longest that holds; 0 when the first decided length fails, None when no length could be decided.
        at_least: the longest decided length holds: the effective length is that or more.
        interval: 95 % of draws of whole clusters give lengths from low to high, 0 for none; ends are nan where
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
        """Return it as tables print it: ``>= 65536``, ``16384``, ``none`` or ``unknown``."""
        if self.length is None:
            return "unknown"
        return f"{'>= ' if self.at_least else ''}{self.length}" if self.length else "none"


def effective_length(
    scores: Mapping[int, LengthScores],
    bar: Bar,
    *,
    rates: bool = True,
    seed: int = 0,
) -> EffectiveLength:
    """Return the longest length at which the model's interval is above the bar, at all shorter lengths as well.

    A length needs :func:`~long_context_tasks.stats.intervals.min_clusters` for its mean, and any number of clusters where
    hits and misses are independent.

    Args:
        scores: length in tokens to its scores.
        bar: to be above; a fraction needs scores that are 0 or more.
        rates: scores are shares from 0 to 1; False for ratings on a scale.
        seed: of the draws.

    Raises:
        ValueError: no lengths, or a length without a bar.
    """
    if not scores:
        raise ValueError("no lengths")
    order = sorted(scores)
    if bar.fraction is None:
        if missing := [length for length in order if length not in bar.heights]:
            raise ValueError(f"no bar is given for {', '.join(map(str, missing))} tokens")
        heights = dict(bar.heights)
    else:
        values = next((scores[length].values for length in order if len(scores[length].values)), [])
        height = bar.fraction * math.fsum(values) / len(values) if len(values) else math.nan
        heights = dict.fromkeys(order, height)
    found = [_outcome(length, scores[length], heights[length], rates) for length in order]
    decided = [outcome for outcome in found if outcome.outcome != "undecided"]
    skipped = [outcome.length for outcome in found if outcome.outcome == "undecided"]
    words = (
        f"longest context at which the {100 * LEVEL:g} % interval of the score lies above {bar.words}, at all shorter "
        "measured lengths as well"
    )
    if skipped:
        words += f"; not decided and passed over: {', '.join(map(str, skipped))}"
    if not decided:
        nowhere = Interval(math.nan, math.nan)
        return EffectiveLength(None, False, nowhere, None, found, skipped, words)
    held = sum(1 for _ in takewhile(lambda outcome: outcome.outcome == "holds", decided))
    length = decided[held - 1].length if held else 0
    draws = _drawn_lengths([each.length for each in decided], scores, bar, order, rates, seed)
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


def _independent_hits(scores: LengthScores) -> bool:
    return len(set(scores.clusters)) == len(scores.values) and set(scores.values) <= {0, 1}


def _outcome(length: int, scores: LengthScores, bar: float, rates: bool) -> LengthOutcome:
    n, k = len(scores.values), len(set(scores.clusters))
    if not n:
        nowhere = Interval(math.nan, math.nan)
        return LengthOutcome(length, 0, 0, math.nan, nowhere, bar, "undecided", "no scores")
    mean = math.fsum(scores.values) / n
    interval = (cluster_wilson if rates else cluster_t)(scores.values, scores.clusters)
    needed = 1 if rates and _independent_hits(scores) else min_clusters(mean, rates=rates)
    reason = None
    if k < needed:
        reason = f"{k} clusters, fewer than {needed}"
    elif math.isnan(interval.low):
        reason = "its scores are all equal, so their spread is unknown"
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

    def drawn(length: int) -> tuple[Array, Array]:
        own = scores[length]
        return drawn_lower_ends(
            own.values,
            own.clusters,
            rates=rates,
            independent=_independent_hits(own),
            seed=seed + number[frozenset(own.clusters)],
        )

    heights: Array | None = None
    if bar.fraction is not None:
        # A decided length has scores, so there is a first.
        heights = bar.fraction * drawn(next(length for length in order if len(scores[length].values)))[0]
    alive = np.ones(RESAMPLES, dtype=bool)
    reached = np.zeros(RESAMPLES, dtype=int)
    for length in decided:
        alive &= drawn(length)[1] > (bar.heights[length] if heights is None else heights)
        if not alive.any():
            break
        reached[alive] = length
    return reached


# A draw is how often it has each cluster. Every sum that the interval rests on is a product of these counts with powers of the
# clusters' residuals: one matrix product for all draws, with the results of `moments` on the drawn clusters.


@lru_cache(maxsize=24)
def drawn_counts(n_clusters: int, seed: int = 0, resamples: int = RESAMPLES) -> Counts:
    """Return how often each draw of :func:`~long_context_tasks.stats.raters.drawn_clusters` has each cluster: draws x clusters.

    The models of one family share their draws, so the last ones are kept, in small numbers: 2 MB for 1,000 clusters.
    """
    rows = drawn_clusters(n_clusters, seed, resamples)
    flat = np.bincount(
        (rows + n_clusters * np.arange(resamples)[:, None]).ravel(), minlength=resamples * n_clusters
    )
    counts: Counts = flat.astype(np.uint8) if flat.max() < 256 else flat.astype(np.uint16)
    counts = counts.reshape(resamples, n_clusters)
    counts.flags.writeable = False
    return counts


def drawn_moments(counts: Counts | Array, sums: Array, sizes: Array) -> Moments:
    """Return mean, variance and degrees of freedom of every draw, as :func:`~long_context_tasks.stats.intervals.moments` does.

    Args:
        counts: draws x clusters; each draw has as many clusters as there are.
        sums: sum of the values of each cluster, two clusters or more.
        sizes: how many values each has.
    """
    # Residuals from the mean of all keep the differences below small; a draw's own mean is `shift` away.
    center = sums.sum() / sizes.sum()
    residuals = sums - sizes * center
    unlike, place = np.unique(sizes, return_inverse=True)
    of_size = (place == np.arange(len(unlike))[:, None]).astype(float)  # sizes x clusters
    powers = np.stack(
        [sizes, residuals, residuals**2, residuals * sizes, sizes**2]
        + [residuals ** (4 - power) * sizes**power for power in range(5)]
    )
    # A row for each sum over the clusters of a draw, then those by size; a column for each draw.
    found = np.concatenate([powers, *(of_size * row for row in powers[2:5])]) @ counts.T.astype(float)
    n, first, second, products, sizes2, *fourths = found[:10]
    seconds, mixed, sizes_squared = np.split(found[10:], 3)

    shift = first / n
    total = second - 2 * shift * products + shift**2 * sizes2  # squared residuals of a draw
    total = np.where(total > _NO_SPREAD * (second + shift**2 * sizes2), total, 0.0)
    rest = n - unlike[:, None]
    # The leverage of a cluster is n times this; a cluster as large as the whole draw is not in it.
    inverse = np.divide(1, rest, out=np.zeros_like(rest), where=rest != 0)

    def leveraged(sums_by_size: Array) -> Array:
        found: Array = n * np.einsum("sd,sd->d", inverse, sums_by_size)
        return found

    variance = (
        leveraged(seconds) - 2 * shift * leveraged(mixed) + shift**2 * leveraged(sizes_squared)
    ) / n**2
    variance = np.where(total > 0, variance, 0.0)
    weights = leveraged(sizes_squared) / n**2  # and the sum of their squares
    weights2 = np.einsum("sd,sd->d", inverse**2, sizes_squared * unlike[:, None] ** 2) / n**2
    by_sizes = 1 / (sizes2 / n**2 + weights**2 - weights2)
    fourth = fourths[4]  # the sum of (residual - shift * size) ** 4, from its last term on
    for power in (3, 2, 1, 0):
        fourth = math.comb(4, power) * fourths[power] - shift * fourth
    spread = fourth - total**2 / counts.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_fourth = np.where(spread > 1e-12 * total**2, 2 * total**2 / spread, np.inf)
    return Moments(center + shift, variance, np.clip(np.minimum(by_sizes, by_fourth), 1, None))


def drawn_lower_ends(
    values: Sequence[float], clusters: Sequence[Hashable], *, rates: bool, independent: bool, seed: int
) -> tuple[Array, Array]:
    """Return mean and lower end of the 95 % interval in every draw of clusters.

    Args:
        values: at least one.
        clusters: of each; the same clusters have the same draws, in whatever order the cases come.
        rates: shares from 0 to 1; False for ratings.
        independent: hits and misses of clusters with one case each: Wilson's interval as it is.
        seed: of the draws.
    """
    places = _places(tuple(clusters))
    sums: Array = np.bincount(places, weights=np.asarray(values, dtype=float)).astype(float)
    sizes: Array = np.bincount(places).astype(float)
    k = len(sums)
    counts = drawn_counts(k, seed)
    if rates and independent:
        # Sums of hits are whole numbers, which this type holds exactly.
        mean = (counts.astype(np.float32) @ sums.astype(np.float32)).astype(float) / k
        return mean, wilson_low(mean, k)
    if k < 2:
        mean = np.full(len(counts), sums[0] / sizes[0])
        return mean, wilson_low(mean, float(sizes[0])) if rates else mean
    found = drawn_moments(counts, sums, sizes)
    quantile = quantiles(found.df)
    if not rates:
        return found.mean, t_ends(found, quantile=quantile)[0]
    low = wilson_ends(found, quantile=quantile)[0]
    return found.mean, np.where(np.isnan(low), wilson_low(found.mean, k), low)


@lru_cache(maxsize=32)
def _places(clusters: tuple[Hashable, ...]) -> NDArray[np.intp]:
    """Number of each case's cluster; one order of clusters whatever the order of cases."""
    names = sorted(set(clusters), key=repr)
    number = {name: place for place, name in enumerate(names)}
    places = np.array([number[name] for name in clusters], dtype=np.intp)
    places.flags.writeable = False
    return places


def wilson_low(mean: Array, n: float) -> Array:
    """Return the lower end of Wilson's 95 % interval of ``n`` independent cases."""
    z = _Z
    mean = np.clip(mean, 0.0, 1.0)
    low: Array = (mean * n + z**2 / 2 - z * np.sqrt(mean * (1 - mean) * n + z**2 / 4)) / (n + z**2)
    return low


def quantiles(df: Array) -> Array:
    """Return the 97.5 % quantile of Student's t for each number of degrees of freedom, 1 or more; from a table, to one in a million.

    >>> [round(float(quantile), 3) for quantile in quantiles(np.array([1.0, 2.5, 1000.0]))]
    [12.706, 3.575, 1.962]
    """
    steps, there = _table()
    found: Array = np.interp(1 / df, steps, there)
    return found


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    steps = np.linspace(0.0, 1.0, _GRID + 1)
    return steps, np.concatenate([[_Z], t_quantile(1 / steps[1:], LEVEL)])
