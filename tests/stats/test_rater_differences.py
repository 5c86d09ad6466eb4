"""Paired differences of two raters' agreement with people."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from long_context_tasks.stats.correlation import mae_difference, rho_difference


def drawn(n: int = 60) -> tuple[list[float], list[float], list[float], list[int]]:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, n) / 4
    good = np.clip(truth + rng.normal(0, 0.1, n), 0, 1)
    poor = np.clip(truth + rng.normal(0, 0.8, n), 0, 1)
    return list(good), list(poor), list(truth), [k // 3 for k in range(n)]


def test_differences_by_hand() -> None:
    good, poor, truth, clusters = drawn()
    rho = rho_difference(good, poor, truth, clusters)
    assert rho.value == pytest.approx(spearmanr(good, truth).statistic - spearmanr(poor, truth).statistic)
    assert rho.outcome == "wins" and 0 < rho.interval.low < rho.value < rho.interval.high
    mae = mae_difference(good, poor, truth, clusters)
    errors = [np.abs(np.array(each) - truth).mean() for each in (good, poor)]
    assert mae.value == pytest.approx(errors[0] - errors[1]) and mae.value < 0 and mae.outcome == "wins"
    assert rho_difference(poor, good, truth, clusters).outcome == "loses"
    assert mae_difference(poor, good, truth, clusters).outcome == "loses"
    assert rho_difference(good, poor, truth, clusters) == rho
    assert rho_difference(good, poor, truth, clusters, seed=1).interval != rho.interval


def test_the_interval_draws_whole_clusters_for_both_raters_at_once() -> None:
    good, poor, truth, clusters = drawn()
    found = rho_difference(good, poor, truth, clusters)
    rows = [np.flatnonzero(np.array(clusters) == number) for number in range(20)]
    draws = np.random.default_rng(0).integers(0, 20, size=(2000, 20), dtype=np.intp)
    values = []
    for draw in draws[:2000]:
        taken = np.concatenate([rows[number] for number in draw])
        x, y, people = (np.array(each)[taken] for each in (good, poor, truth))
        values.append(spearmanr(x, people).statistic - spearmanr(y, people).statistic)
    low, high = np.quantile(values, [0.025, 0.975])
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=1e-9)


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


def test_large_data_take_the_slow_way_to_the_same_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    good, poor, truth, clusters = drawn(30)
    fast = rho_difference(good, poor, truth, clusters)
    monkeypatch.setattr("long_context_tasks.stats.correlation.MOST_ROWS", 1)
    slow = rho_difference(good, poor, truth, clusters)
    assert (slow.interval.low, slow.interval.high) == pytest.approx((fast.interval.low, fast.interval.high))
