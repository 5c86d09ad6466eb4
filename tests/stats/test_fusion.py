"""Judges as one: calibration, weights, plain means; and paired differences."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from long_context_tasks.orca.study.fusion import average, calibrate, fuse
from long_context_tasks.stats.correlation import mae_difference, rho_difference

UNIT = st.floats(0, 1)


def test_calibration_by_hand() -> None:
    # Two answers at 0.5 have one point of weight 2; 0.9 lies below it and is pooled: (2 * 0.6 + 0.3) / 3 = 0.5.
    found = calibrate([0.5, 0.9, 0.1, 0.5], [0.8, 0.3, 0.2, 0.4])
    assert found.scores == (0.1, 0.5, 0.9)
    assert found.values == pytest.approx((0.2, 0.5, 0.5))
    assert found.apply([0.0, 0.3, 1.0]) == pytest.approx([0.2, 0.35, 0.5])
    with pytest.raises(ValueError, match="2 scores and 1 ratings"):
        calibrate([1.0, 2.0], [0.5])


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=30))
def test_calibration_never_falls_and_keeps_the_mean(rows: list[tuple[float, float]]) -> None:
    scores, truth = [x for x, _ in rows], [y for _, y in rows]
    found = calibrate(scores, truth)
    assert all(a <= b + 1e-12 for a, b in zip(found.values, found.values[1:], strict=False))
    assert float(found.apply(scores).mean()) == pytest.approx(statistics.fmean(truth), abs=1e-9)


def test_fusion_recovers_curves_and_weights() -> None:
    """People rate 0.2 + 0.5 a + 0.3 b; the judges see a and b bent, the third sees nothing."""
    rng = np.random.default_rng(7)

    def draw(n: int) -> tuple[dict[str, list[float]], list[float]]:
        a, b, c = rng.uniform(size=(3, n))
        truth = np.clip(0.1 + 0.5 * a + 0.3 * b + rng.normal(0, 0.01, n), 0, 1)
        return {"a": list(a**3), "b": list(np.sqrt(b)), "none": list(c)}, list(truth)

    dev, train, test = draw(20_000), draw(2_000), draw(500)
    found = fuse(*dev, *train)
    # The curve of a judge is the mean rating at its score: of b, what people add for it, and a's mean.
    at = [0.001, 0.125, 0.512, 0.9]
    assert found.calibrations["a"].apply(at) == pytest.approx(
        [0.25 + 0.5 * x ** (1 / 3) for x in at], abs=0.03
    )
    assert found.calibrations["b"].apply([0.5]) == pytest.approx([0.35 + 0.3 * 0.25], abs=0.03)
    assert found.weights["a"] == pytest.approx(1, abs=0.05) and found.weights["b"] == pytest.approx(
        1, abs=0.05
    )
    assert found.weights["none"] < 0.3  # a nearly flat curve: whatever it weighs, it adds next to nothing
    assert found.constant == pytest.approx(-0.5, abs=0.15)
    error = np.abs(np.array(found.predict(test[0])) - test[1]).mean()
    alone = np.abs(found.calibrations["a"].apply(test[0]["a"]) - test[1]).mean()
    assert error < 0.03 < alone


def test_a_contrary_judge_counts_nothing_and_predictions_stay_in_range() -> None:
    scores = [k / 20 for k in range(21)]
    contrary = [1 - x for x in scores]
    found = fuse({"good": scores, "bad": contrary}, scores, {"good": scores, "bad": contrary}, scores)
    assert found.weights["bad"] == 0 and found.weights["good"] == pytest.approx(1)
    assert found.predict({"good": [-5, 0.5, 5], "bad": [0, 0, 0]}) == pytest.approx([0, 0.5, 1])
    assert all(weight >= 0 for weight in found.weights.values())
    steep = fuse({"a": [0.0, 1.0]}, [0.4, 0.6], {"a": [0.0, 1.0]}, [0.0, 1.0])
    assert steep.weights["a"] == pytest.approx(5) and steep.predict({"a": [1.0]}) == pytest.approx([1.0])
    with pytest.raises(ValueError, match="1 items and 2 ratings"):
        fuse({"a": [0.0]}, [0.4], {"a": [0.0]}, [0.0, 1.0])


@given(st.lists(UNIT, min_size=2, max_size=6))
def test_average_and_its_spread(scores: list[float]) -> None:
    mean, variance = average(scores)
    assert mean == pytest.approx(sum(scores) / len(scores))
    assert variance == pytest.approx(np.var(scores, ddof=1))
    assert average(scores[:1]) == (scores[0], None)


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
