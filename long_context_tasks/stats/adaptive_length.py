"""Where a score falls to a bar, from few tokens: a Bayesian fit over log2(length), and the length to run next.

The crossing is an effective length in the sense of :mod:`long_context_tasks.stats.effective_length`, with the same bar: the length
at which the fitted mean score meets it. The fitted curve falls from the score at the shortest length, the base, to a floor:

    score(u) = floor + (base - floor) * (1 + a) / (1 + a * 2 ** (u / scale)),    u = log2(length / shortest)

a logistic curve of four parameters: the crossing, the scale in octaves, the base (what lapses leave of 1) and the floor (what
guessing leaves of 0). ``a`` follows from the others, so that the prior can be flat in the crossing, which is asked for. The posterior
lies on a grid. The next length is the one whose responses say most about the crossing, for each token that they cost (Watson 2017,
QUEST+, Journal of Vision 17(3); with the other parameters integrated out: Prins 2013, psi-marginal, Journal of Vision 13(7)).

Graded scores count as shares of hits. Their spread, and that of questions on one document, is a factor of the likelihood
(``dispersion``), estimated from the sums of clusters. How often the interval holds the crossing: docs/simulations.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.stats.effective_length import Bar, LengthScores
from long_context_tasks.stats.intervals import Array, Interval, cluster_sums

OCTAVES = 0.5
"""Width of the interval at which a search ends: a quarter of an octave to either side."""
POSTERIOR_LEVEL = 0.98
"""Of the posterior, for a 95 % interval: a search that ends when its interval is short ends, too often, when it is short by chance."""

_STEP = 8
"""Places of a crossing in an octave."""
_BEYOND = 2
"""Octaves behind the longest length in which a crossing is still looked for."""
_SCALES = (0.007, 0.02, *(0.042 * 2 ** (number / 2) for number in range(11)))
_BASES = tuple(float(np.sin(np.pi / 2 * (number + 0.5) / 32) ** 2) for number in range(32))
"""Equally likely, as in Jeffreys' prior of a share."""
_FLOORS = tuple(math.sin(math.pi / 2 * number / 16) ** 2 for number in range(16))
"""Of the base."""
_FLOORS_OF_SEARCH = (0.0, 0.25, 0.5, 0.75, 0.95)
"""A search has many lengths and asks few cases where the floor shows. In a fixed design so few floors bend the curve."""
_ABOVE_CHANCE = 0.03
"""A base that is less above chance is taken for guessing."""
_CLUSTERS_OF_PRIOR, _ALIKE = 8, 0.2
"""The dispersion begins as if this many clusters with this intraclass correlation had been seen."""
_CENTRAL = (0.03, 0.97)
_LEAST = 0.002
_BINS = 1000
_NEGLIGIBLE = 1e-5

Narrow = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class _Grid:
    """Every curve that a score may follow: places x shapes.

    Attributes:
        lengths: ascending; the first is the base.
        places: log2 of the crossings; of curves that do not cross, where their fall begins.
        scores: places x lengths x shapes.
        hits, misses: their logarithm, and that of the rest to 1.
        prior: 0 where no curve of the shape crosses.
        lost, kept: below the bar at the shortest length; above it at every length.
        scale, base, floor: of the shapes.
    """

    lengths: tuple[int, ...]
    places: Array
    scores: Narrow
    hits: Narrow
    misses: Narrow
    prior: Array
    lost: Flags
    kept: Flags
    scale: Array
    base: Array
    floor: Array


@lru_cache(maxsize=4)
def _grid(
    lengths: tuple[int, ...],
    heights: tuple[tuple[int, float], ...],
    fraction: float | None,
    floors: tuple[float, ...],
) -> _Grid:
    start, octaves = math.log2(lengths[0]), math.log2(lengths[-1] / lengths[0])
    u = (np.arange(round((octaves + _BEYOND) * _STEP)) + 0.5)[:, None] / _STEP
    scale, base, part = (axis.ravel() for axis in np.meshgrid(_SCALES, _BASES, floors, indexing="ij"))
    floor = part * base
    # A score of guessing that is not known at a length is taken from its neighbours.
    known = heights or ((lengths[0], 0.0),)
    bar = np.interp(u + start, np.log2([one for one, _ in known]), [height for _, height in known])
    least = bar[0]
    if fraction is not None:
        least = bar[0] + _ABOVE_CHANCE
        bar = bar + fraction * (base - bar[0])
    bar = np.broadcast_to(bar, (len(u), len(base)))
    lost = np.broadcast_to(base <= least, bar.shape)
    kept = ~lost & (floor >= bar).all(axis=0)
    crossing = ~lost & ~kept
    with np.errstate(all="ignore"):
        left = (bar - floor) / (base - floor)
        fall = np.exp2(-u / scale)
        rest = left - fall
        log_a = np.where(crossing, np.log1p(-left) - np.log(rest) - u / scale * math.log(2), 0.0)
        possible = ~crossing | ((left < 1) & (rest > 0) & np.isfinite(log_a))
    log_a = np.where(crossing, np.where(possible, log_a, 0.0), -u / scale * math.log(2))
    prior = possible / np.maximum(1, possible.sum(axis=1, keepdims=True))
    scores = np.empty((len(u), len(lengths), len(base)), dtype=np.float32)
    for number, length in enumerate(lengths):
        behind = math.log2(length / lengths[0]) / scale * math.log(2)
        share = np.exp(np.logaddexp(0, log_a) - np.logaddexp(0, log_a + behind))
        scores[:, number] = np.clip(floor + (base - floor) * share, _LEAST, 1 - _LEAST)
    return _Grid(
        lengths,
        u[:, 0] + start,
        scores,
        np.log(scores),
        np.log1p(-scores),
        prior / prior.sum(),
        lost,
        kept,
        scale,
        base,
        floor,
    )


@dataclass(frozen=True)
class Crossing:
    """What is known of the length at which a score crosses a bar.

    Attributes:
        interval: 95 %, in tokens; from 0 where the score may be below the bar at the shortest length, to infinity where it may never fall.
        middle: median, in tokens; 0 or infinity likewise.
        lengths: of the curve, ascending: those with scores, and others that were asked for.
        curve: mean score at each length, with its 95 % interval.
        density: length to the chance that the crossing lies within 1/8 octave around it; behind the last length as well.
        lost, kept: the chance that the shortest length is below the bar, and that no length is.
        base, floor: mean score at the shortest length, and what is left at the longest contexts.
        scale: octaves in which the odds double, geometric mean.
        dispersion: of the sums of clusters, 1 for independent hits.
        information: what one more response at each length says of the crossing, in nats.
    """

    interval: Interval
    middle: float
    lengths: tuple[int, ...]
    curve: tuple[tuple[float, Interval], ...]
    density: Mapping[float, float]
    lost: float
    kept: float
    base: float
    floor: float
    scale: float
    dispersion: float
    information: tuple[float, ...]

    @property
    def octaves(self) -> float:
        """Width of the interval; infinite where an end is open."""
        low, high = self.interval.low, self.interval.high
        return math.log2(high / low) if low > 0 and high < math.inf else math.inf

    def above(self, length: float) -> float:
        """Return the chance that the score at a length is above the bar."""
        bins = ((_STEP * math.log2(place / length) + 0.5, mass) for place, mass in self.density.items())
        return self.kept + math.fsum(min(max(behind, 0.0), 1.0) * mass for behind, mass in bins)

    @property
    def beyond(self) -> bool:
        """Whether the score is shown to stay above the bar up to the longest length."""
        return self.interval.low >= self.lengths[-1]

    @property
    def before(self) -> bool:
        """Whether the score is shown to be below the bar at the shortest length."""
        return self.interval.high <= self.lengths[0]

    @property
    def found(self) -> bool:
        """Whether a search may end: a short interval, or a crossing outside the lengths."""
        return self.octaves <= OCTAVES or self.beyond or self.before

    def next_length(self, lengths: Sequence[int] = ()) -> int:
        """Return the length that says most for each token, among some of :attr:`lengths` or all."""
        pairs = zip(self.lengths, self.information, strict=True)
        return max((bits / length, length) for length, bits in pairs if not lengths or length in lengths)[1]


def fit_crossing(scores: Mapping[int, LengthScores], bar: Bar, lengths: Sequence[int] = ()) -> Crossing:
    """Fit the curve to what was seen.

    Args:
        scores: length in tokens to its scores, from 0 to 1; may be empty.
        bar: see :class:`long_context_tasks.stats.effective_length.Bar`; a length without a height has that of its neighbours.
        lengths: of a search, to be run perhaps. The shortest of all is the base of a relative bar.

    Raises:
        ValueError: no lengths, or a score outside 0 to 1.
    """
    seen = {length: at_length for length, at_length in scores.items() if len(at_length.values)}
    order = tuple(sorted({*seen, *lengths}))
    if not order:
        raise ValueError("no lengths")
    for length, at_length in seen.items():
        if not 0 <= min(at_length.values) <= max(at_length.values) <= 1:
            raise ValueError(f"scores from 0 to 1 are wanted; at {length} tokens there are others")
    floors = _FLOORS_OF_SEARCH if lengths else _FLOORS
    grid = _grid(order, tuple(sorted(bar.heights.items())), bar.fraction, floors)
    weights, dispersion = _posterior(grid, {length: _sums(at_length) for length, at_length in seen.items()})
    return _summary(grid, weights, dispersion)


_Sums = tuple[Array, Array, bool]
"""Sum and number of the scores of each cluster, and whether all are 0 or 1."""


def _sums(scores: LengthScores) -> _Sums:
    return (*cluster_sums(scores.values, scores.clusters), bool(np.isin(scores.values, (0.0, 1.0)).all()))


def _posterior(grid: _Grid, data: Mapping[int, _Sums]) -> tuple[Array, float]:
    """Return the weights of the curves, and the dispersion."""
    likelihood = np.zeros(grid.prior.shape)
    for length, (sums, sizes, _) in data.items():
        place, total, n = grid.lengths.index(length), sums.sum(), sizes.sum()
        likelihood += total * grid.hits[:, place] + (n - total) * grid.misses[:, place]
    weights = _weights(grid, likelihood)
    if all(hits and bool((sizes == 1).all()) for _, sizes, hits in data.values()):
        return weights, 1.0
    squares, number = 0.0, 0
    for length, (sums, sizes, _) in data.items():
        mean = float(np.clip((weights * grid.scores[:, grid.lengths.index(length)]).sum(), *_CENTRAL))
        squares += float(((sums - sizes * mean) ** 2 / (sizes * mean * (1 - mean))).sum())
        number += len(sums)
    size = sum(float(sizes.sum()) for _, sizes, _ in data.values()) / number
    expected = 1 + _ALIKE * (size - 1)
    dispersion = (_CLUSTERS_OF_PRIOR * expected + squares) / (_CLUSTERS_OF_PRIOR + number)
    return _weights(grid, likelihood / dispersion), dispersion


def _weights(grid: _Grid, likelihood: Array) -> Array:
    weights: Array = grid.prior * np.exp(likelihood - likelihood[grid.prior > 0].max())
    weights /= weights.sum()
    return weights


def _quantile(grid: _Grid, weights: Array, share: float) -> float:
    """Of the crossing, in tokens."""
    crossing = (weights * ~(grid.lost | grid.kept)).sum(axis=1)
    ends = float(weights[grid.lost].sum()) + np.concatenate([[0.0], np.cumsum(crossing)])
    if share <= ends[0]:
        return 0.0
    if share >= ends[-1]:
        return math.inf
    place = int(np.searchsorted(ends, share, side="right")) - 1
    within = (share - ends[place]) / crossing[place] - 0.5
    return float(2 ** (grid.places[place] + within / _STEP))


def _summary(grid: _Grid, weights: Array, dispersion: float) -> Crossing:
    rest = (1 - POSTERIOR_LEVEL) / 2
    low, middle, high = (_quantile(grid, weights, share) for share in (rest, 0.5, 1 - rest))
    rows = np.flatnonzero(weights.sum(axis=1) > _NEGLIGIBLE / len(weights))
    held = weights[rows].ravel()
    curve = []
    for number in range(len(grid.lengths)):
        scores = grid.scores[rows, number].ravel()
        bins = np.bincount((scores * _BINS).astype(np.int64), weights=held, minlength=_BINS)
        ends = np.searchsorted(np.cumsum(bins), (rest, 1 - rest))
        curve.append((float(scores @ held), Interval(*(float(end + 0.5) / _BINS for end in ends))))
    of_shape = weights.sum(axis=0)
    crossing = (weights * ~(grid.lost | grid.kept)).sum(axis=1)
    return Crossing(
        interval=Interval(low, high),
        middle=middle,
        lengths=grid.lengths,
        curve=tuple(curve),
        density={float(2**place): float(mass) for place, mass in zip(grid.places, crossing, strict=True)},
        lost=float(weights[grid.lost].sum()),
        kept=float(weights[grid.kept].sum()),
        base=float(of_shape @ grid.base),
        floor=float(of_shape @ grid.floor),
        scale=float(np.exp(of_shape @ np.log(grid.scale))),
        dispersion=dispersion,
        information=tuple(_information(grid, weights).tolist()),
    )


def _information(grid: _Grid, weights: Array) -> Array:
    """Return what a response at each length says of the crossing: their mutual information, in nats."""
    rows = np.flatnonzero(weights.sum(axis=1) > _NEGLIGIBLE)
    own, scores = weights[rows].astype(np.float32), grid.scores[rows]
    lost, kept = grid.lost[rows], grid.kept[rows]

    def by_place(part: Flags) -> tuple[Array, Array]:
        held = np.where(part, own, np.float32(0))
        return held.sum(axis=1), np.matmul(scores, held[:, :, None])[:, :, 0].T

    masses, hits = by_place(~(lost | kept))
    groups = [(masses, hits)]
    for part in (lost, kept):
        masses, hits = by_place(part)
        groups.append((masses.sum(keepdims=True), hits.sum(axis=1, keepdims=True)))
    mass = np.concatenate([one for one, _ in groups])
    hit = np.concatenate([one for _, one in groups], axis=1)
    with np.errstate(all="ignore"):
        within = np.where(mass > _NEGLIGIBLE, mass * _entropy(hit / mass), 0.0).sum(axis=1)
    found: Array = np.maximum(_entropy(hit.sum(axis=1) / mass.sum()) * mass.sum() - within, 0.0)
    return found


def _entropy(share: Array) -> Array:
    share = np.clip(share, 1e-6, 1 - 1e-6)
    found: Array = -(share * np.log(share) + (1 - share) * np.log1p(-share))
    return found
