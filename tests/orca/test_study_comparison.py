"""Judges beside each other over splits: figures by hand, what is missing, what a fusion sees, what cannot be read."""

import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from correctness_data import mean_of, rated_answers, scores_of, write_splits
from json_lines import read_rows, write_rows
from lazy_modules import Lazy

from long_context_tasks.orca.splits import SplitItems, read_splits
from long_context_tasks.orca.study.comparison import (
    Comparison,
    Estimate,
    Fusion,
    Rater,
    SplitSpread,
    averaged,
    calibrate,
    compare_raters,
    fuse,
    fused,
)
from long_context_tasks.schema import InputError

scipy_stats = Lazy("scipy.stats")
ROWS = rated_answers()
TRUTH = {row["id"]: mean_of(row) for row in ROWS}


@pytest.fixture
def splits(tmp_path: Path) -> list[SplitItems]:
    return read_splits(write_splits(tmp_path / "splits", ROWS))


def rater(name: str, said: dict[str, float], n: int = 3) -> Rater:
    return Rater(name, "judge", ({each: Estimate(value) for each, value in said.items()},) * n)


def judges(noise: dict[str, float]) -> list[Rater]:
    rows = scores_of(ROWS, noise)
    return [rater(name, {row["id"]: (row[name] - 1) / 4 for row in rows}) for name in noise]


def by_name(found: Comparison, name: str) -> Any:
    [figures] = [each for each in found.figures if each.name == name]
    return figures


def test_splits_are_read_in_order_and_whole(tmp_path: Path) -> None:
    folder = write_splits(tmp_path / "s", ROWS, 11)
    found = read_splits(folder)
    assert [split.name for split in found] == [f"split_{number}" for number in range(11)]
    assert {item.id for part in (found[3].train, found[3].dev, found[3].test) for item in part} == set(TRUTH)


def test_figures_by_hand(splits: list[SplitItems]) -> None:
    [judge] = judges({"a": 1.0})
    found = by_name(compare_raters(splits, [judge]), "a")
    rhos, taus, maes = [], [], []
    for split in splits:
        x = [judge.by_split[0][item.id].mean for item in split.test]
        y = [TRUTH[item.id] for item in split.test]
        rhos.append(scipy_stats.spearmanr(x, y).statistic)
        taus.append(scipy_stats.kendalltau(x, y).statistic)
        maes.append(np.abs(np.array(x) - y).mean())
    for figure, values in ((found.rho, rhos), (found.tau, taus), (found.mae, maes)):
        assert figure.by_split == pytest.approx(tuple(values))
        assert figure.mean == pytest.approx(statistics.fmean(values))
        assert figure.sd == pytest.approx(statistics.stdev(values))
    assert found.n == sum(len(split.test) for split in splits) == 48
    assert found.n_variance == 0 and math.isnan(found.variance_mae.mean)


def test_the_average_predicts_the_sample_variance_of_its_judges(splits: list[SplitItems]) -> None:
    mean = averaged("mean", judges({"a": 0.5, "b": 1.0, "c": 2.0}))
    found = by_name(compare_raters(splits, [mean]), "mean")
    assert found.n_variance == found.n
    [first, *_] = splits
    errors = [
        abs((mean.by_split[0][item.id].variance or 0) - np.var(item.unit_ratings, ddof=1))
        for item in first.test
    ]
    assert found.variance_mae.by_split[0] == pytest.approx(np.mean(errors))


def test_nothing_left_of_a_test_part_is_an_error(splits: list[SplitItems]) -> None:
    [a] = judges({"a": 0.5})
    none = Rater("none", "judge", ({}, *a.by_split[1:]))
    with pytest.raises(InputError, match=r"split_0: no answer of its test part has a score of .*none 16"):
        compare_raters(splits, [a, none])


def test_a_fusion_sees_no_rating_of_a_test_part(splits: list[SplitItems]) -> None:
    members = judges({"a": 0.5, "b": 1.5})
    found = fusion, learned = fused("fusion", members, splits)
    other = [
        replace(split, test=tuple(replace(item, ratings=(1.0, 5.0, 2.0)) for item in split.test))
        for split in splits
    ]
    assert fused("fusion", members, other) == found
    assert all(each.variance is None for said in fusion.by_split for each in said.values())
    # But it learns from the others, and each split has its own.
    changed = [
        replace(split, dev=tuple(replace(item, ratings=(6 - item.ratings[0],)) for item in split.dev))
        for split in splits
    ]
    assert fused("fusion", members, changed)[1] != learned
    assert learned[0] != learned[1]
    for split, said in zip(splits, fusion.by_split, strict=True):
        assert set(said) == {item.id for item in split.test}


def test_spread_of_a_figure_that_a_split_lacks() -> None:
    assert math.isnan(SplitSpread.of([0.5, math.nan]).mean)
    one = SplitSpread.of([0.5])
    assert one.mean == 0.5 and math.isnan(one.sd)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [{**rows[0], "id": None}, *rows[1:]], "no id; scores are joined"),
        (lambda rows: [{**rows[0], "ratings": []}, *rows[1:]], "no rating"),
        (lambda rows: [*rows, rows[0]], "row 17: the id 'q4/owl' also belongs to .*test.jsonl, row 1"),
        (lambda rows: [*rows, {**ROWS[0], "id": "q0/owl"}], "q0/owl is in dev and test of split_1"),
        (
            lambda rows: [{**rows[0], "candidate": "x"}, *rows[1:]],
            "a different answer or has different ratings",
        ),
        (
            lambda rows: [{**rows[0], "ratings": [1, 1, 2]}, *rows[1:]],
            "a different answer or has different ratings",
        ),
        (lambda rows: [], "no rows"),
    ],
)
def test_splits_that_cannot_be_used(tmp_path: Path, change: Any, message: str) -> None:
    folder = write_splits(tmp_path / "s", ROWS)
    path = folder / "split_1" / "test.jsonl"
    write_rows(path, change(read_rows(path)))
    with pytest.raises(InputError, match=message):
        read_splits(folder)


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    folder = write_splits(tmp_path / "s", ROWS)
    (folder / "split_0" / "dev.jsonl").unlink()
    with pytest.raises(InputError, match=r"dev\.jsonl: cannot be read"):
        read_splits(folder)


# Fusions by hand.


def test_calibration_by_hand() -> None:
    # Two answers at 0.5 have one point of weight 2; 0.9 lies below it and is pooled: (2 * 0.6 + 0.3) / 3 = 0.5.
    scores, values = calibrate([0.5, 0.9, 0.1, 0.5], [0.8, 0.3, 0.2, 0.4])
    assert scores == (0.1, 0.5, 0.9) and values == pytest.approx((0.2, 0.5, 0.5))
    alone = Fusion({"a": (scores, values)}, {"a": 1.0}, 0.0)
    assert alone.predict({"a": [0.0, 0.3, 1.0]}) == pytest.approx([0.2, 0.35, 0.5])


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
    assert np.interp(at, *found.curves["a"]) == pytest.approx(
        [0.25 + 0.5 * x ** (1 / 3) for x in at], abs=0.03
    )
    assert np.interp([0.5], *found.curves["b"]) == pytest.approx([0.35 + 0.3 * 0.25], abs=0.03)
    assert found.weights["a"] == pytest.approx(1, abs=0.05) and found.weights["b"] == pytest.approx(
        1, abs=0.05
    )
    assert found.weights["none"] < 0.3  # a nearly flat curve: whatever it weighs, it adds next to nothing
    assert found.constant == pytest.approx(-0.5, abs=0.15)
    error = np.abs(np.array(found.predict(test[0])) - test[1]).mean()
    alone = np.abs(np.interp(test[0]["a"], *found.curves["a"]) - test[1]).mean()
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
