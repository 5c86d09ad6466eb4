"""Correlations of thousands of draws of clusters at once.

All three are sums over rows or pairs of rows. Summed once for each cluster, or pair of clusters, a draw only weighs these
sums with how often it has each cluster. The results are scipy's on the drawn rows, copies and all, without thousands of
calls. A draw in which a rater gave one score throughout has no correlation: not a number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_ROWS = 2_000
"""Above, comparing all pairs of rows takes more memory and time than sorting each draw."""
_FLAT = 1e-12


@dataclass(frozen=True)
class Draws:
    """Draws of clusters and what belongs to them.

    Attributes:
        numbers: cluster of each row, from 0; shape (rows,).
        counts: how often a draw has each cluster; shape (draws, clusters).
    """

    numbers: NDArray[np.intp]
    counts: Floats


def draws_of(numbers: NDArray[np.intp], drawn: NDArray[np.intp]) -> Draws:
    """From the clusters of each draw, as :func:`~long_context_tasks.stats.resampling.drawn_clusters` gives them."""
    counts = np.zeros((len(drawn), drawn.shape[1]))
    np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1.0)
    return Draws(numbers, counts)


def _ratio(both: Floats, first: Floats, second: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = both / np.sqrt(first * second)
    return result


def pearson_of_draws(x: Floats, y: Floats, draws: Draws) -> Floats:
    """Pearson's coefficient of every draw."""
    x, y = x - x.mean(), y - y.mean()
    columns = (np.ones_like(x), x, y, x * x, y * y, x * y)
    n_clusters = draws.counts.shape[1]
    by_cluster = np.array([np.bincount(draws.numbers, each, minlength=n_clusters) for each in columns]).T
    n, sx, sy, sxx, syy, sxy = (draws.counts @ by_cluster).T
    spread_x, spread_y = sxx - sx * sx / n, syy - sy * sy / n
    # What is left of a constant rater after rounding is no spread.
    spread_x[spread_x <= _FLAT * (x * x).sum()] = np.nan
    spread_y[spread_y <= _FLAT * (y * y).sum()] = np.nan
    return _ratio(sxy - sx * sy / n, spread_x, spread_y)


def _signs(scores: Floats, own: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Of each row against each of a cluster's rows: 1 above, -1 below, 0 tied."""
    above, below = scores[:, None] > scores[own], scores[:, None] < scores[own]
    signs: NDArray[np.int8] = above.astype(np.int8) - below.astype(np.int8)
    return signs


def spearman_of_draws(x: Floats, y: Floats, draws: Draws) -> Floats:
    """Spearman's coefficient of every draw: Pearson's of the average ranks within the draw.

    A row's rank, from the middle rank, is half the rows below it less half those above.
    """
    n_clusters = draws.counts.shape[1]
    weights = draws.counts[:, draws.numbers]
    ranks = []
    for scores in (x, y):
        against = np.zeros((n_clusters, len(scores)))
        for number in range(n_clusters):
            against[number] = _signs(scores, draws.numbers == number).sum(axis=1, dtype=float)
        ranks.append(draws.counts @ against)
    first, second = ranks
    return _ratio(
        (weights * first * second).sum(axis=1),
        (weights * first * first).sum(axis=1),
        (weights * second * second).sum(axis=1),
    )


def kendall_of_draws(x: Floats, y: Floats, draws: Draws) -> Floats:
    """Kendall's tau-b of every draw: pairs in the same order less pairs in opposite order, over pairs not tied."""
    n_clusters = draws.counts.shape[1]
    sums = np.zeros((3, n_clusters, n_clusters))
    for number in range(n_clusters):
        own = draws.numbers == number
        signs_x, signs_y = _signs(x, own), _signs(y, own)
        for kind, product in enumerate((signs_x * signs_y, signs_x * signs_x, signs_y * signs_y)):
            by_row = product.sum(axis=1, dtype=float)
            sums[kind, :, number] = np.bincount(draws.numbers, by_row, minlength=n_clusters)
    both, only_x, only_y = (((draws.counts @ each) * draws.counts).sum(axis=1) for each in sums)
    return _ratio(both, only_x, only_y)
