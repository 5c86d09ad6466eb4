"""Correlations: by hand, against scipy, intervals from the jackknife by hand, their coverage and the false wins of differences."""

import math
import random

import numpy as np
import pytest
from correlation_simulation import Pair, Rivals, coverage, judged, rank_coverage

from long_context_tasks.stats.raters import (
    METHODS,
    MOST_GROUPS,
    correlate,
    correlate_raters,
    interval_of_rho_difference,
    jackknife,
    study_raters,
)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("pearson", 10 / math.sqrt(8 * 21)),  # from the means 3 and 3.5
        ("spearman", 3 / math.sqrt(4.5 * 5)),  # ranks 1, 2.5, 2.5, 4 and 2, 1, 3, 4
        ("kendall", (4 - 1) / math.sqrt(5 * 6)),  # of five pairs not tied in x four agree
    ],
)
def test_by_hand(method, expected):
    assert correlate([1, 3, 3, 5], [2, 1, 4, 7], method) == pytest.approx(expected)


def test_intervals_widen_with_clusters():
    rng = random.Random(5)
    x, y, clusters = [], [], []
    for meeting in range(12):
        level, shift = rng.gauss(5, 2), rng.gauss(0, 2)
        for _ in range(15):
            x.append(level + rng.gauss(0, 0.3))
            y.append(level + shift + rng.gauss(0, 0.3))
            clusters.append(meeting)
    by_cluster = correlate_raters(("x", x), ("y", y), clusters)
    by_item = correlate_raters(("x", x), ("y", y), range(len(x)))
    assert by_cluster.value == by_item.value
    width = by_cluster.interval.high - by_cluster.interval.low
    assert width > 2 * (by_item.interval.high - by_item.interval.low)
    assert by_cluster.interval.low <= by_cluster.value <= by_cluster.interval.high
    assert (by_cluster.n, by_cluster.clusters) == (180, 12)


@pytest.mark.parametrize("method", METHODS)
def test_the_interval_is_that_of_the_jackknife_by_hand(method):
    """Leave out each of five meetings of unequal size; t with 2 of the 4 degrees of freedom: no few clusters carry the spread."""
    from statistics import fmean

    rng = random.Random(3)
    clusters = "aabbbccccddee"
    x = [rng.gauss(5, 2) for _ in clusters]
    y = [value + rng.gauss(0, 2) for value in x]
    found = correlate_raters(("x", x), ("y", y), clusters, method)
    z = math.atanh(found.value)
    left = []
    for name in "abcde":
        kept = [(a, b) for a, b, own in zip(x, y, clusters, strict=True) if own != name]
        left.append(math.atanh(correlate(*zip(*kept, strict=True), method)))
    half = 4.302653 * math.sqrt(4 / 5 * math.fsum((each - fmean(left)) ** 2 for each in left))
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (math.tanh(z - half), math.tanh(z + half))
    )


def test_many_clusters_are_left_out_in_groups():
    seen = []
    jackknife(lambda rows: float(seen.append(set(rows.tolist())) or 0), range(250))
    assert len(seen) == MOST_GROUPS + 1 and seen[0] == set(range(250))
    out = [seen[0] - rows for rows in seen[1:]]
    assert set.union(*out) == seen[0] and sum(map(len, out)) == 250


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    # The hardest structures of the simulation, and plain ones.
    [
        *(Pair(k, size, 0.6, 0.3, ratings=True) for k in (6, 12, 30) for size in (20, None)),
        *(Pair(k, 20, 0.3, 0.5, 0.9) for k in (6, 8)),
        *(Pair(k, 1, rho) for k in (8, 30) for rho in (0.0, 0.9)),
    ],
)
def test_coverage_is_at_least_93_percent(pair):
    assert coverage(pair, 4_000) >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / 4_000)
    if pair.size == 20 and pair.clusters == 6:
        assert coverage(pair, 1_000, percentile=True) < 0.9  # what it replaces


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_coverage_of_ranks(method):
    assert rank_coverage(Pair(6, 6, 0.6, 0.1), method, 150) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [6, 8, 30])
@pytest.mark.parametrize(("rho", "errors"), [(0.1, 0.5), (0.8, 0.0)])
def test_equal_raters_seldom_win_and_differences_are_held(clusters, rho, errors):
    _, wins = judged(Rivals(clusters, 20, rho, 0.0, errors, 0.3, 0.3), 3_000)
    held, found = judged(Rivals(clusters, 20, rho, 0.2, errors, 0.3, 0.3), 3_000)
    assert wins <= 0.06 + 2 * math.sqrt(0.06 * 0.94 / 3_000) and held >= 0.93 - 0.01 and found > wins


def test_interval_by_item_is_that_of_fisher():
    import scipy.stats

    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 0.6 * x + 0.8 * rng.normal(size=400)
    found = correlate_raters(("x", x.tolist()), ("y", y.tolist()), range(400)).interval
    fisher = scipy.stats.pearsonr(x, y).confidence_interval(0.95)
    assert found.low == pytest.approx(fisher.low, abs=0.02) and found.high == pytest.approx(
        fisher.high, abs=0.02
    )


def test_missing_scores_leave_the_item_out_of_that_pair_only():
    raters = {"a": [1, 2, 3, 4, None], "b": [2, 1, 4, 3, 5], "c": [5, None, 3, 2, 1]}
    found = {
        (c.first, c.second): c for c in study_raters(raters, list("vwxyz"), methods=["spearman"]).correlations
    }
    assert {pair: c.n for pair, c in found.items()} == {("a", "b"): 4, ("a", "c"): 3, ("b", "c"): 4}
    assert found["a", "b"].value == pytest.approx(0.6) and found["a", "c"].value == pytest.approx(-1)
    every = study_raters(raters, list("vwxyz")).correlations
    assert len({(c.first, c.second, c.method) for c in every}) == len(every) == 9


def test_what_has_no_correlation_or_interval():
    flat = correlate_raters(("x", [3, 3, 3]), ("y", [1, 2, 3]), "abc")
    assert math.isnan(flat.value) and math.isnan(flat.interval.low)
    one = correlate_raters(("x", [1, 2, 3]), ("y", [1, 2, 4]), "aaa")
    assert one.value > 0.9 and math.isnan(one.interval.low)
    assert math.isnan(correlate([1.0], [2.0]))
    with pytest.raises(ValueError, match="2 and 1"):
        correlate([1.0, 2.0], [2.0])
    # Without the last cluster nothing varies; without the first, all is in one line.
    for x, y, clusters in (
        ([1, 1, 1, 1, 2, 3], [1, 2, 1, 3, 2, 4], "aabbcc"),
        ([1, 2, 3, 4, 5], [2, 2, 3, 4, 5], range(5)),
    ):
        assert math.isnan(correlate_raters(("x", x), ("y", y), clusters).interval.low)


def test_the_interval_of_a_difference_of_raters() -> None:
    import scipy.stats

    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, 60) / 4
    good, poor = (list(np.clip(truth + rng.normal(0, sd, 60), 0, 1)) for sd in (0.1, 0.8))
    clusters = [k // 3 for k in range(60)]
    rhos = [scipy.stats.spearmanr(each, truth).statistic for each in (good, poor)]
    found = interval_of_rho_difference(good, poor, list(truth), clusters)
    assert 0 < found.low < rhos[0] - rhos[1] < found.high
    other = interval_of_rho_difference(poor, good, list(truth), clusters)
    assert (other.low, other.high) == pytest.approx((-found.high, -found.low))
    flat, one_cluster = ([0.5] * 60, clusters), (good[::-1], [0] * 60)
    for first, own in (flat, one_cluster):
        assert math.isnan(interval_of_rho_difference(first, good, list(truth), own).low)
    with pytest.raises(ValueError, match="60 items and 2 clusters"):
        interval_of_rho_difference(good, good, list(truth), [0, 1])
