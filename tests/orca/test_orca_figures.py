"""Agreement, clamping and files of scored answers, by hand and by property."""

import math
import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from json_lines import write_rows

from long_context_tasks.orca import OrcaItem, item_agreement
from long_context_tasks.orca.metrics import (
    agreement,
    find_threshold,
)
from long_context_tasks.orca.results import read_results, result_rows
from long_context_tasks.schema import InputError


def test_figures_of_too_little_are_no_numbers() -> None:
    assert math.isnan(agreement([], []).mae) and math.isnan(agreement([1.0], [1.0]).rho)
    assert math.isnan(agreement([0.5, 0.5], [0.1, 0.2]).tau)


def test_variance_is_compared_only_where_three_people_rated() -> None:
    items = [
        OrcaItem("a", "q", "r", "c", ratings=(1.0, 5.0)),
        OrcaItem("b", "q", "r", "c", ratings=(1.0, 1.0, 5.0)),
        OrcaItem("c", "q", "r", "c"),
        OrcaItem("d", "q", "r", "c", ratings=(5.0, 5.0, 5.0, 4.0)),
    ]
    found = item_agreement(items, [0.5, 0.4, 0.9, None], [0.9, 0.1, 0.1, None])
    assert (found.n, found.n_variance) == (2, 1)
    assert found.variance_mae == pytest.approx(statistics.variance([0, 0, 1]) - 0.1)
    assert found.mae == pytest.approx((0.0 + 0.4 - 1 / 3) / 2)
    assert item_agreement(items, [0.5] * 4).n_variance == 0


@pytest.mark.parametrize(
    ("truth", "variances", "message"),
    [
        ([], [], "0 items"),
        ([0.5, 0.5], [0.1, 0.1], "2 items with 1 different"),
        ([0.0, 1.0], [0.0, 0.0], "no predicted variance"),
    ],
)
def test_a_threshold_needs_something_to_find_it_by(
    truth: list[float], variances: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        find_threshold(truth, [0.5] * len(truth), variances)


def _score(mean: float | None, variance: float | None, **more: Any) -> Any:
    fields = {"low": 0.1, "high": 0.9, "params": (0.0, 0.0), "dropped_tokens": 0, "reason": None}
    return SimpleNamespace(mean=mean, variance=variance, **{**fields, **more})


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    items = [
        OrcaItem("a", "q", "r", "c", ratings=(1.0, 1.0, 5.0), row={"question": "q", "note": "kept"}),
        OrcaItem("b", "q", "r", "c", ratings=(5.0, 4.0)),
        OrcaItem("c", "q", "r", "c"),
        OrcaItem("d", "q", "r", "c", ratings=(1.0,)),
    ]
    scores = [
        _score(0.4, 0.05),
        _score(0.9, 0.01, dropped_tokens=7),
        _score(0.5, 0.02),
        _score(None, None, low=None, high=None, params=None, reason="does_not_fit"),
    ]
    path = tmp_path / "final_result.jsonl"
    rows = result_rows(items, scores)
    write_rows(path, rows)
    assert rows[0]["note"] == "kept" and rows[1]["dropped_context_tokens"] == 7
    assert "rating_ground_truth" not in rows[2] and rows[3]["reason"] == "does_not_fit"
    back = read_results(path)
    assert [row.id for row in back] == ["a", "b", "c"]
    assert [(row.mean, row.variance, row.truth, row.truth_variance) for row in back] == [
        (score.mean, score.variance, item.rating_mean, item.rating_variance)
        for item, score in zip(items[:3], scores, strict=False)
    ]


@pytest.mark.parametrize("known_by", ["args", "params", "values"])
def test_released_results_are_brought_to_one_scale(tmp_path: Path, known_by: str) -> None:
    """The truth of a multinomial model is on 1 to 5 in released files, whatever says so."""
    more = {"params": [0.0] * 5} if known_by == "params" else {}
    if known_by == "args":
        (tmp_path / "args.yaml").write_text("score_type: multinomial\n")
    rows = [
        {
            "rating_orca": 0.5,
            "variance_orca": 0.1,
            "rating_ground_truth": truth,
            "variance_ground_truth": 4.0,
            "n_ratings": n,
            **more,
        }
        for truth, n in ((1.0, 3), (5.0, 2))
    ]
    folder = tmp_path / "inference" / "dev"
    folder.mkdir(parents=True)
    path = folder / "final_result.jsonl"
    write_rows(path, rows)
    assert [(row.truth, row.truth_variance) for row in read_results(path)] == [(0.0, 0.25), (1.0, None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "row 2: not JSON"),
        ('{"rating_orca": 1}', "row 2: variance_orca is missing; name a file that `lct orca score` wrote"),
        ('{"rating_orca": "1", "variance_orca": 0}', "row 2: rating_orca must be a number"),
        ('{"rating_orca": NaN, "variance_orca": 0}', "row 2: rating_orca must be a finite number"),
        ('{"rating_orca": 1, "variance_orca": 0, "n_ratings": null}', "row 2: n_ratings must be a"),
        ('{"rating_orca": 1, "variance_orca": 0, "n_ratings": "three"}', "row 2: n_ratings must be a"),
        ('{"rating_orca": 1, "variance_orca": 0, "params": 3}', "row 2: params must be a"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "final_result.jsonl"
    path.write_text('{"rating_orca": 0.5, "variance_orca": 0.1}\n' + line)
    with pytest.raises(InputError, match=message):
        read_results(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_results(tmp_path / "none.jsonl")
