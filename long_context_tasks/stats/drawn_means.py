"""Mean and lower end of its interval in every draw of whole clusters, without a row for each drawn cluster.

A draw is told by how often it has each cluster. Every sum that the interval rests on is then a product of these counts with
powers of the clusters' residuals, one matrix product for all draws; the results are those of
:func:`~long_context_tasks.stats.clustered.moments` on the drawn clusters themselves.
"""

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import norm

from long_context_tasks.stats.clustered import Array, Moments, t_ends, wilson_ends
from long_context_tasks.stats.intervals import LEVEL, RESAMPLES
from long_context_tasks.stats.resampling import drawn_clusters

Counts = NDArray[np.uint8] | NDArray[np.uint16]
_GRID = 4_000
_NO_SPREAD = 1e-10


@lru_cache(maxsize=24)
def drawn_counts(n_clusters: int, seed: int = 0, resamples: int = RESAMPLES) -> Counts:
    """How often each draw of :func:`~long_context_tasks.stats.resampling.drawn_clusters` has each cluster: draws x clusters.

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
    """Mean, variance and degrees of freedom of every draw, as :func:`~long_context_tasks.stats.clustered.moments` has them.

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
    inverse = 1 / (n - unlike[:, None])  # the leverage of a cluster is n times this

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
    """Mean and lower end of the 95 % interval in every draw of clusters.

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
    """Lower end of Wilson's 95 % interval of ``n`` independent cases."""
    z = _Z
    mean = np.clip(mean, 0.0, 1.0)
    low: Array = (mean * n + z**2 / 2 - z * np.sqrt(mean * (1 - mean) * n + z**2 / 4)) / (n + z**2)
    return low


_Z = float(norm.ppf((1 + LEVEL) / 2))


def quantiles(df: Array) -> Array:
    """97.5 % quantile of Student's t for each number of degrees of freedom, 1 or more; from a table, to one in a million.

    >>> [round(float(one), 3) for one in quantiles(np.array([1.0, 2.5, 1000.0]))]
    [12.706, 3.575, 1.962]
    """
    steps, there = _table()
    found: Array = np.interp(1 / df, steps, there)
    return found


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    steps = np.linspace(0.0, 1.0, _GRID + 1)
    return steps, np.concatenate([[_Z], stdtrit(1 / steps[1:], (1 + LEVEL) / 2)])
