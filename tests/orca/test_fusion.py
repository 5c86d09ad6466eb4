"""Judges as one: calibration, weights, plain means."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.orca.study.fusion import average, calibrate, fuse

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
