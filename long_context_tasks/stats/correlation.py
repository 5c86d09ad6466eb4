"""Correlation between raters (judges, people), with intervals that resample clusters.

Pearson, Spearman and Kendall's tau-b, all from scipy; Spearman and tau-b with average ranks and the correction for
ties, which ratings from 1 to 10 are full of.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr, spearmanr

from long_context_tasks.stats.correlation_draws import (
    MOST_ROWS,
    Draws,
    draws_of,
    kendall_of_draws,
    pearson_of_draws,
    spearman_of_draws,
)
from long_context_tasks.stats.intervals import Interval
from long_context_tasks.stats.resampling import cluster_interval, cluster_numbers, drawn_clusters, percentiles

Method = Literal["pearson", "spearman", "kendall"]
METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation:
    """Correlation of two raters over the items that both scored.

    Attributes:
        value: not a number when fewer than two items have both scores or a rater gave one score throughout.
        interval: 95 %, over clusters.
        n: items with both scores.
        clusters: clusters they come from.
    """

    first: str
    second: str
    method: Method
    value: float
    interval: Interval
    n: int
    clusters: int


_SCIPY: dict[Method, Callable[[Scores, Scores], Any]] = {
    "pearson": pearsonr,
    "spearman": spearmanr,
    "kendall": kendalltau,
}
_AT_ONCE: dict[Method, Callable[[Scores, Scores, Draws], Scores]] = {
    "pearson": pearson_of_draws,
    "spearman": spearman_of_draws,
    "kendall": kendall_of_draws,
}


def correlate(x: Sequence[float] | Scores, y: Sequence[float] | Scores, method: Method = "pearson") -> float:
    """Plain correlation of two lists of scores; not a number when one is constant or there are fewer than two.

    Raises:
        ValueError: lengths differ.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} scores")
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly constant input; the value is what it is
        return float(_SCIPY[method](first, second).statistic)


def _interval(x: Scores, y: Scores, clusters: Sequence[Hashable], method: Method, seed: int) -> Interval:
    n_clusters = len(set(clusters))
    if n_clusters > 1 and max(len(x), 4 * n_clusters) <= MOST_ROWS:
        draws = draws_of(cluster_numbers(clusters), drawn_clusters(n_clusters, seed))
        return percentiles(_AT_ONCE[method](x, y, draws))
    return cluster_interval(lambda rows: correlate(x[rows], y[rows], method), clusters, seed)


def correlation(
    first: tuple[str, Sequence[float | None]],
    second: tuple[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    method: Method = "pearson",
    seed: int = 0,
) -> Correlation:
    """Correlation of two raters, each a name and the scores in the order of ``clusters``; ``None`` is no score.

    Raises:
        ValueError: lengths differ.
    """
    rows = [
        (x, y, cluster)
        for x, y, cluster in zip(first[1], second[1], clusters, strict=True)
        if x is not None and y is not None
    ]
    x = np.array([row[0] for row in rows], dtype=float)
    y = np.array([row[1] for row in rows], dtype=float)
    kept = [row[2] for row in rows]
    value = correlate(x, y, method)
    interval = Interval(math.nan, math.nan) if math.isnan(value) else _interval(x, y, kept, method, seed)
    return Correlation(first[0], second[0], method, value, interval, len(rows), len(set(kept)))


def correlation_matrix(
    raters: Mapping[str, Sequence[float | None]],
    clusters: Sequence[Hashable],
    methods: Sequence[Method] = METHODS,
    seed: int = 0,
) -> list[Correlation]:
    """Every pair of raters once, by every method; pairs in the order of the raters.

    Raises:
        ValueError: lengths differ.
    """
    return [
        correlation((first, raters[first]), (second, raters[second]), clusters, method, seed)
        for method in methods
        for first, second in combinations(raters, 2)
    ]
