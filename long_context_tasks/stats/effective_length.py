"""Effective context length: the length up to which a model keeps its score.

Each length is tested against a bar. A fixed bar is a score, such as a threshold chosen by the reader. A
relative bar is a fraction of the model's own score at the shortest length (the base), both measured above
chance; the test includes the error of the base and pairs clusters that occur at both lengths. The 95 %
interval of the margin (score minus bar) decides: above 0 the length holds, below 0 it fails, otherwise it is
open.

Claims about all lengths keep their level for any true curve, even one that rises again (docs/simulations.md):

* "at least X": this length and all shorter ones hold.
* "below Y": this length and all longer ones fail, or the length fails by itself at a level corrected for the
  number of lengths.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.intervals import (
    LEVEL,
    Array,
    Interval,
    Moments,
    cluster_share,
    cluster_sums,
    cluster_t,
    exact_ends,
    fourth_moment_df,
    graded_ends,
    moments,
    share_ends,
    t_ends,
    t_quantile,
)

Flags = NDArray[np.bool_]
Outcome = Literal["holds", "fails", "open"]

# Probability that any length is wrongly shown to fail on its own.
_ALONE = 0.01
# Fraction of an independent case added to paired lengths; see relative_margin.
_ADDED = 2 / 3
# Bars outside these ranges are near an endpoint of the scale, where a skewed sample of few clusters supports
# no interval; see fixed_margin.
_CENTRAL_FIXED = (0.4, 0.6)
_CENTRAL_RELATIVE = (0.2, 0.8)
_NOWHERE = Interval(math.nan, math.nan)


@dataclass(frozen=True)
class LengthScores:
    """Scores at one length, without cases that could not be scored."""

    values: Sequence[float]
    clusters: Sequence[Hashable]
    lacking: int = 0  # number of cases that could not be scored

    @property
    def complete(self) -> bool:
        """Whether every case has a score.

        Otherwise the scored cases may be only those that fit the window, which cannot support a claim.
        """
        return bool(len(self.values)) and not self.lacking


@dataclass(frozen=True)
class Bar:
    words: str  # text for tables, such as "85.6 %" or "85 % of the score at the shortest length"
    heights: Mapping[int, float]  # length -> height; with fraction, the score of guessing
    # Fraction of the mean at the shortest scored length; None for a fixed bar.
    fraction: float | None = None


def fraction_bar(fraction: float, chance: Mapping[int, float] | None = None) -> Bar:
    """Return a bar at a fraction of the score at the shortest length, both above any known chance level."""
    if not 0 < fraction < 1:
        raise ValueError(
            f"a bar of {fraction} times the score at the shortest length: expected a fraction between 0 and 1"
        )
    above = " above chance" if chance else ""
    return Bar(f"{100 * fraction:g} % of the score{above} at the shortest length", chance or {}, fraction)


@dataclass(frozen=True)
class LengthOutcome:
    length: int  # in tokens
    # n, clusters: number of scores and of their clusters
    n: int
    total: int  # number of all cases; n / total is the coverage
    clusters: int
    mean: float  # nan without scores
    interval: Interval  # 95 %, of the mean
    bar: float  # height at this length; at a relative bar's base, chance or 0
    margin: Interval  # 95 % interval of mean minus bar
    # "holds" if the margin is above 0, "fails" if below, otherwise "open". No length holds unless a relative
    # bar's base does.
    outcome: Outcome
    reason: str | None = None  # why the length was not tested; None otherwise


@dataclass(frozen=True)
class EffectiveLength:
    # Longest length that holds together with all shorter ones; None if the shortest does not hold.
    at_least: int | None
    # Shortest length shown to fail; None if no length is. Lengths in between are open.
    below: int | None
    # All lengths, ascending. A length with an unscored case cannot support a claim: "at least" ends
    # before the first such length, "below" skips them.
    lengths: Sequence[LengthOutcome]
    definition: str  # description for tables

    @property
    def open(self) -> list[int]:
        return [
            outcome.length
            for outcome in self.lengths
            if outcome.n and (self.at_least or 0) < outcome.length < (self.below or math.inf)
        ]


def effective_length(scores: Mapping[int, LengthScores], bar: Bar, *, rates: bool = True) -> EffectiveLength:
    """Return the length up to which the score is shown to hold, and the length at which it is shown to fail.

    Args:
        rates: whether scores are shares from 0 to 1; False for ratings on another scale.
    """
    if not scores:
        raise ValueError("no lengths")
    order = sorted(scores)
    if (bar.fraction is None or bar.heights) and (
        missing := [length for length in order if length not in bar.heights]
    ):
        raise ValueError(f"no bar is given for {', '.join(map(str, missing))} tokens")
    tested = [length for length in order if scores[length].complete]
    base = None if bar.fraction is None or not tested else tested[0]
    family = [length for length in tested if length != base]
    clusters = {length: _clusters(scores[length]) for length in tested}

    def margin(length: int, level: float = LEVEL) -> tuple[float, Interval]:
        height = bar.heights.get(length, 0.0)
        if base is None or length == base:
            low, high = fixed_margin(clusters[length], height, rates=rates, level=level)
            return height, Interval(float(low), float(high))
        fraction, of = bar.fraction or 0.0, clusters[base]
        offset = height - fraction * bar.heights.get(base, 0.0)
        low, high = relative_margin(clusters[length], of, fraction, offset, rates=rates, level=level)
        return offset + fraction * float(of.mean), Interval(float(low), float(high))

    lengths = [
        _outcome(length, scores[length], rates, *(margin(length) if length in clusters else ()))
        for length in order
    ]
    if base is not None and lengths[order.index(base)].outcome != "holds":
        # A fraction of a below-chance base may itself be below chance.
        reason = "the score at the shortest length is not shown to be above chance"
        lengths = [
            replace(length, outcome="open", reason=reason) if length.outcome == "holds" else length
            for length in lengths
        ]
    outcomes = [length for length in lengths if length.length in clusters]
    strict = strict_level(len(family))
    held, first = claims(
        np.array([outcome.outcome == "holds" for outcome in outcomes]),
        np.array([outcome.outcome == "fails" for outcome in outcomes]),
        np.array(
            [
                outcome.outcome == "fails" and margin(outcome.length, strict)[1].high < 0
                for outcome in outcomes
            ]
        ),
    )
    gap = next((length for length in order if scores[length].lacking), math.inf)
    at_least = [length for length in tested[:held] if length < gap]
    return EffectiveLength(
        at_least=at_least[-1] if at_least else None,
        below=tested[first] if first < len(tested) else None,
        lengths=lengths,
        definition=f"context up to which the score stays above {bar.words}. At least: shown at this and all shorter measured "
        "lengths. Below: the score is shown to have dropped below it by this length. Each of these claims is false in at most 5 % of "
        "experiments. Open: there are too few cases to decide",
    )


def strict_level(lengths: int) -> float:
    """Return the Bonferroni-corrected confidence level for testing one of several lengths on its own."""
    return 1 - 2 * _ALONE / max(1, lengths)


def claims(holds: Flags, fails: Flags, surely: Flags) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return how many lengths hold, from the shortest up, and the index of the shortest failing length.

    The arrays have the tested lengths, ascending, along the last axis; ``surely`` is whether a length also
    fails at :func:`strict_level`. If no length is shown to fail, the index is the number of lengths.
    """
    number = holds.shape[-1]
    held = np.logical_and.accumulate(holds, axis=-1).sum(axis=-1)
    in_a_row = np.logical_and.accumulate(fails[..., ::-1], axis=-1).sum(axis=-1)
    alone = number - np.logical_or.accumulate(surely, axis=-1).sum(axis=-1)
    return held, np.minimum(number - in_a_row, alone)


def _outcome(
    length: int, scores: LengthScores, rates: bool, bar: float = math.nan, margin: Interval = _NOWHERE
) -> LengthOutcome:
    """Return a length's outcome; without a bar, the length cannot support a claim and is open."""
    n, total = len(scores.values), len(scores.values) + scores.lacking
    outcome: Outcome = "holds" if margin.low > 0 else "fails" if margin.high < 0 else "open"
    reason = None
    if not scores.complete:
        reason = f"{n} of {total} cases have a score" if n else "no scores"
    elif math.isnan(margin.low) or math.isnan(margin.high):
        reason = "the spread between clusters is unknown, here or at the shortest length"
    mean, interval = math.nan, _NOWHERE
    if n:
        mean = math.fsum(scores.values) / n
        interval = (cluster_share if rates else cluster_t)(scores.values, scores.clusters)
    k = len(set(scores.clusters))
    return LengthOutcome(length, n, total, k, mean, interval, bar, margin, outcome, reason)


@dataclass(frozen=True)
class Clusters:
    """Scores by cluster along the last axis; leading axes are separate experiments."""

    sums: Array  # sum of each cluster's scores, (..., k)
    # Number of scores in each cluster, (..., k), or (k,) if it is the same in all experiments.
    sizes: Array
    hits: bool  # all scores are 0 or 1
    names: Sequence[Hashable]  # name of each cluster; clusters with the same name are paired

    # Cached, because the base is compared with every length.
    @cached_property
    def mean(self) -> Array:
        mean: Array = self.sums.sum(axis=-1) / self.sizes.sum(axis=-1)
        return mean

    @cached_property
    def moments(self) -> Moments:
        with np.errstate(divide="ignore", invalid="ignore"):
            return moments(self.sums, self.sizes, skewed=False)


def _clusters(scores: LengthScores) -> Clusters:
    values = np.asarray(scores.values, dtype=float)
    sums, sizes = cluster_sums(scores.values, scores.clusters)
    hits = bool(np.isin(values, (0.0, 1.0)).all())
    return Clusters(sums, sizes, hits, list(dict.fromkeys(scores.clusters)))


def fixed_margin(
    own: Clusters, bar: float, *, rates: bool = True, level: float = LEVEL
) -> tuple[Array, Array]:
    """Return the bounds of the interval of the mean minus a fixed bar; nan if the spread is unknown.

    Independent hits and misses get the exact interval (Clopper and Pearson 1934), because Wilson's is too
    short at one bound near 0 and 1. A bar near an endpoint of the scale (below 0.4 or above 0.6; for a
    relative bar below 0.2 or above 0.8) is easily exceeded by chance: if true scores are skewed, most samples
    lack the few bad (or good) clusters. The tested bound then includes half a cluster of misses (or hits), so
    a model needs about thirty clusters to hold the bar. Graded scores get at least the interval of their mean
    (:func:`~long_context_tasks.stats.intervals.graded_ends`).
    """
    if rates and own.hits and bool((own.sizes == 1).all()):
        low, high = exact_ends(own.sums.sum(axis=-1), own.sizes.shape[-1], level)
    else:
        low, high = _mean_ends(own, np.array(bar), _CENTRAL_FIXED, rates, level)
        if rates and not own.hits:
            # Wilson's interval alone is too short if scores hardly differ. A relative bar needs no
            # correction, because its base has an error too.
            least, most = graded_ends(own.sums, np.broadcast_to(own.sizes, own.sums.shape), level)
            low, high = np.minimum(low, least), np.maximum(high, most)
    return low - bar, high - bar


def relative_margin(
    own: Clusters,
    base: Clusters,
    fraction: float,
    offset: float = 0.0,
    *,
    rates: bool = True,
    level: float = LEVEL,
) -> tuple[Array, Array]:
    """Return the bounds of the interval of ``own.mean - fraction * base.mean - offset``.

    They are nan if the spread is unknown; otherwise each is the wider of two intervals'. The first combines
    the two means' intervals by the distances to their bounds, with the correlation due to shared clusters
    (Zou and Donner 2008, Statistics in Medicine 27(10); Newcombe 1998 for two proportions); it respects the
    endpoints of the scale. The second is the t interval of the clusters' differences; it includes the tails
    common to shared clusters. Near 0 and 1 either interval by itself is too short at one bound.

    If the lengths share clusters and differ in few of them, a sample may lack those and show hardly any
    spread. The lower bound of the second interval then includes a fraction of a case with the best score at
    the base and the worst score here (Bonett and Price 2012 add cases to paired proportions), multiplied by
    the number of cases that count as one independent case.
    """
    p, q = own.mean, fraction * base.mean
    margin = p - q - offset
    low, high = _mean_ends(own, offset + q, _CENTRAL_RELATIVE, rates, level)
    least, most = (fraction * end for end in _mean_ends(base, base.mean, (0.0, 1.0), rates, level))
    first, second = residuals = _residuals(own, base)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
        shared = (first * second).sum(axis=-1) / spread
    r = 2 * np.where(spread > 0, np.clip(shared, -1.0, 1.0), 0.0)
    down: Array = (p - low) ** 2 + (most - q) ** 2 - r * (p - low) * (most - q)
    up: Array = (high - p) ** 2 + (q - least) ** 2 - r * (high - p) * (q - least)
    half = _half_of_differences(own, base, residuals, fraction, level)
    lowest = margin - np.maximum(np.sqrt(np.maximum(down, 0.0)), half)
    if set(own.names) & set(base.names):
        worst, best = (np.zeros(()), np.ones(())) if rates else _seen_scale(own, base)
        size = _ADDED * np.fmax(*(_cases_that_count_as_one(scores, worst, best) for scores in (own, base)))
        own, base = _with(own, worst, size), _with(base, best, size)
        more = own.mean - fraction * base.mean - offset
        half_of_more = _half_of_differences(own, base, _residuals(own, base), fraction, level)
        lowest = np.minimum(lowest, more - half_of_more)
    return lowest, margin + np.maximum(np.sqrt(np.maximum(up, 0.0)), half)


def _half_of_differences(
    own: Clusters, base: Clusters, residuals: Sequence[Array], fraction: float, level: float
) -> Array:
    """Return half the width of the t interval of the clusters' differences."""
    first, second = residuals
    with np.errstate(divide="ignore", invalid="ignore"):
        squares: Array = np.square(first - fraction * second)
        by_size = np.minimum(own.moments.df, base.moments.df)
        df = np.clip(np.minimum(fourth_moment_df(squares), by_size), 1, None)
        half: Array = t_quantile(df, level) * np.sqrt(squares.sum(axis=-1))
    return half


def _seen_scale(own: Clusters, base: Clusters) -> tuple[Array, Array]:
    """Return the lowest and highest cluster mean at both lengths, as endpoints of an unknown scale."""
    means = [scores.sums / scores.sizes for scores in (own, base)]
    worst, best = (end(np.concatenate(means, axis=-1), axis=-1) for end in (np.min, np.max))
    return worst, best


def _with(scores: Clusters, value: Array, size: Array) -> Clusters:
    """Return the scores with an extra cluster of ``size`` cases that all score ``value``."""
    shape = (*scores.sums.shape[:-1], 1)
    more = np.broadcast_to(size[..., None], shape)
    sizes = np.concatenate([np.broadcast_to(scores.sizes, scores.sums.shape), more], axis=-1)
    return Clusters(
        np.concatenate([scores.sums, value[..., None] * more], axis=-1),
        sizes,
        False,
        [*scores.names, "added"],
    )


def _cases_that_count_as_one(scores: Clusters, worst: Array, best: Array) -> Array:
    """Return n over the effective number of cases, from 1 to the mean cluster size.

    If the spread is unknown, it is the mean cluster size.
    """
    n, mean = scores.sizes.sum(axis=-1), scores.mean
    with np.errstate(divide="ignore", invalid="ignore"):
        cases = n * scores.moments.variance / ((mean - worst) * (best - mean))
    most = np.broadcast_to(scores.sizes.mean(axis=-1), mean.shape)
    return np.clip(np.where(np.isfinite(cases), cases, most), 1, np.maximum(most, 1))


def _residuals(*lengths: Clusters) -> list[Array]:
    """Return each cluster's contribution to each mean's error, scaled as in CR2; 0 for missing clusters."""
    names = dict.fromkeys(name for clusters in lengths for name in clusters.names)
    column = {name: number for number, name in enumerate(names)}
    parts = []
    for clusters in lengths:
        n = clusters.sizes.sum(axis=-1, keepdims=True)
        residuals = (clusters.sums - clusters.sizes * clusters.mean[..., None]) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            residuals = residuals / np.sqrt(1 - clusters.sizes / n)
        part = np.zeros((*residuals.shape[:-1], len(column)))
        part[..., [column[name] for name in clusters.names]] = residuals
        parts.append(part)
    return parts


def _mean_ends(
    scores: Clusters, bar: Array, central: tuple[float, float], rates: bool, level: float
) -> tuple[Array, Array]:
    """Return the bounds of a mean's interval for testing against a bar; see :func:`fixed_margin`."""
    sums, sizes = scores.sums, scores.sizes
    if not rates:
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = moments(sums, sizes)
            low, high = t_ends(estimate, level)
        unknown = ~(estimate.variance > 0)
        return np.where(unknown, math.nan, low), np.where(unknown, math.nan, high)
    low, high = share_ends(sums, sizes, hits=scores.hits, level=level)
    if scores.hits and bool((sizes == 1).all()):
        return low, high
    half = np.broadcast_to(sizes.mean(axis=-1, keepdims=True) / 2, (*sums.shape[:-1], 1))
    more = np.concatenate([np.broadcast_to(sizes, sums.shape), half], axis=-1)
    if (bar > central[1]).any():
        of_misses = np.concatenate([sums, np.zeros_like(half)], axis=-1)
        lower = share_ends(of_misses, more, hits=False, level=level)[0]
        low = np.where(bar > central[1], np.minimum(low, lower), low)
    if (bar < central[0]).any():
        of_hits = np.concatenate([sums, half], axis=-1)
        higher = share_ends(of_hits, more, hits=False, level=level)[1]
        high = np.where(bar < central[0], np.maximum(high, higher), high)
    return low, high
