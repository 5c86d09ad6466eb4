"""Correlations: by hand, against scipy on every draw, and intervals that resample clusters."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.stats import raters as correlation_module
from long_context_tasks.stats.raters import (
    _AT_ONCE,
    METHODS,
    cluster_draws,
    cluster_interval,
    correlate,
    correlate_raters,
    correlation_matrix,
    drawn_clusters,
    draws_of,
    mae_difference,
    rho_difference,
)

SCORES = st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=2, max_size=30)
SCIPY = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}


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


@given(SCORES, st.sampled_from(METHODS))
@settings(max_examples=40)
def test_values_are_scipy_s(pairs, method):
    import scipy.stats

    x, y = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    value = correlate(x, y, method)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(value)
    else:
        assert value == getattr(scipy.stats, SCIPY[method])(x, y).statistic


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 4)), min_size=4, max_size=25),
    st.sampled_from(METHODS),
    st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_all_draws_at_once_are_scipy_s_one_by_one(items, method, seed):
    x, y, clusters = (np.array(part) for part in zip(*items, strict=True))
    names = clusters.tolist()
    draws = draws_of(names, drawn_clusters(len(set(names)), seed, resamples=8))
    found = _AT_ONCE[method](x / 3, y / 7, draws)
    for value, rows in zip(found, cluster_draws(names, seed, resamples=8), strict=True):
        assert value == pytest.approx(correlate(x[rows], y[rows], method), nan_ok=True, abs=1e-9)


def _by_method(method):
    return lambda x, y, truth, clusters: correlate_raters(("x", x), ("y", y), clusters, method).interval


@pytest.mark.parametrize(
    "interval_of", [*map(_by_method, METHODS), lambda *data: rho_difference(*data).interval]
)
def test_large_data_take_the_other_way_to_the_same_interval(monkeypatch, interval_of):
    def few(n_clusters, seed=0, resamples=200):
        return drawn_clusters(n_clusters, seed, min(resamples, 200))

    monkeypatch.setattr(correlation_module, "drawn_clusters", few)
    at_once = interval_of(*drawn(30))
    monkeypatch.setattr(correlation_module, "MOST_ROWS", 0)
    one_by_one = interval_of(*drawn(30))
    assert (at_once.low, at_once.high) == pytest.approx((one_by_one.low, one_by_one.high))


def test_draws_hold_whole_clusters():
    clusters = ["a", "b", "a", "c", "c", "c"]
    for rows in cluster_draws(clusters, seed=1, resamples=50):
        counts = {
            name: [list(rows).count(row) for row in range(6) if clusters[row] == name] for name in "abc"
        }
        assert all(len(set(each)) == 1 for each in counts.values())
        assert sum(each[0] for each in counts.values()) == 3


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
    found = {(c.first, c.second): c for c in correlation_matrix(raters, list("vwxyz"), ["spearman"])}
    assert {pair: c.n for pair, c in found.items()} == {("a", "b"): 4, ("a", "c"): 3, ("b", "c"): 4}
    assert found["a", "b"].value == pytest.approx(0.6) and found["a", "c"].value == pytest.approx(-1)
    every = correlation_matrix(raters, list("vwxyz"))
    assert len({(c.first, c.second, c.method) for c in every}) == len(every) == 9


def test_what_has_no_correlation_or_interval():
    flat = correlate_raters(("x", [3, 3, 3]), ("y", [1, 2, 3]), "abc")
    assert math.isnan(flat.value) and math.isnan(flat.interval.low)
    one = correlate_raters(("x", [1, 2, 3]), ("y", [1, 2, 4]), "aaa")
    assert one.value > 0.9 and math.isnan(one.interval.low)
    assert math.isnan(correlate([1.0], [2.0]))
    with pytest.raises(ValueError, match="2 and 1"):
        correlate([1.0, 2.0], [2.0])
    assert math.isnan(cluster_interval(lambda rows: math.nan, "abc").low)


def drawn(n: int = 60) -> tuple[list[float], list[float], list[float], list[int]]:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, n) / 4
    good = np.clip(truth + rng.normal(0, 0.1, n), 0, 1)
    poor = np.clip(truth + rng.normal(0, 0.8, n), 0, 1)
    return list(good), list(poor), list(truth), [k // 3 for k in range(n)]


def test_differences_by_hand() -> None:
    import scipy.stats

    good, poor, truth, clusters = drawn()
    rho = rho_difference(good, poor, truth, clusters)
    assert rho.value == pytest.approx(
        scipy.stats.spearmanr(good, truth).statistic - scipy.stats.spearmanr(poor, truth).statistic
    )
    assert rho.outcome == "wins" and 0 < rho.interval.low < rho.value < rho.interval.high
    mae = mae_difference(good, poor, truth, clusters)
    errors = [np.abs(np.array(each) - truth).mean() for each in (good, poor)]
    assert mae.value == pytest.approx(errors[0] - errors[1]) and mae.value < 0 and mae.outcome == "wins"
    assert rho_difference(poor, good, truth, clusters).outcome == "loses"
    assert mae_difference(poor, good, truth, clusters).outcome == "loses"
    assert rho_difference(good, poor, truth, clusters) == rho
    assert rho_difference(good, poor, truth, clusters, seed=1).interval != rho.interval


def test_the_interval_draws_whole_clusters_for_both_raters_at_once() -> None:
    import scipy.stats

    good, poor, truth, clusters = map(np.array, drawn())
    found = rho_difference(good, poor, truth, clusters.tolist()).interval
    values = []
    for rows in cluster_draws(clusters.tolist()):
        rhos = [scipy.stats.spearmanr(rater[rows], truth[rows]).statistic for rater in (good, poor)]
        values.append(rhos[0] - rhos[1])
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9)


def test_equal_raters_and_too_little_data_are_open() -> None:
    good, _, truth, clusters = drawn()
    assert rho_difference(good, good, truth, clusters).outcome == "open"
    assert mae_difference(good, good, truth, clusters).outcome == "open"
    flat = rho_difference([0.5] * 60, good, truth, clusters)
    assert math.isnan(flat.value) and flat.outcome == "open"
    one = rho_difference(good, good[::-1], truth, [0] * 60)
    assert math.isnan(one.interval.low) and one.outcome == "open"
    with pytest.raises(ValueError, match="60 items and 2 clusters"):
        rho_difference(good, good, truth, [0, 1])
