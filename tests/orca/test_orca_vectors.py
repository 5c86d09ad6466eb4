"""Input, heads, metrics, clamping and scores against the outputs of the official code, case by case."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from json_lines import write_rows
from lazy_modules import torch
from orca_lazy import heads, scorer
from vector_rows import vector_rows

from long_context_tasks.orca import InputFormat, item_agreement, read_items
from long_context_tasks.orca.checkpoint import load_checkpoint
from long_context_tasks.orca.data import item_of_row
from long_context_tasks.orca.inputs import input_text
from long_context_tasks.orca.metrics import (
    Agreement,
    agreement,
    clamp,
    clamp_all,
    composite_of,
    find_threshold,
)
from long_context_tasks.orca.results import read_results

pytestmark = pytest.mark.vectors
HEAD_OF = {"beta_llh": "beta", "multinomial_llh": "multinomial", "bernoulli_kl": "bernoulli"}
FLOAT32 = {"rel": 1e-5, "abs": 1e-6}
FEWEST = 3
"""Ratings below which the library gives no variance; the official one is 0, or that of two."""


def _value(given: Any) -> float:
    return float(given["__float__"]) if isinstance(given, dict) else given


def _near(given: Any, expected: Any, rel: float, abs: float = 0.0) -> bool:
    return bool(given == pytest.approx(expected, rel=rel, abs=abs, nan_ok=True))


def test_text_and_truth_of_every_item(shared: Path) -> None:
    n = 0
    for number, row in vector_rows(shared, "orca", "data_format.jsonl"):
        options = row["options"]
        form = InputFormat(
            question=not options["skip_question"],
            rationale=not options["skip_rationale"],
            transcript=options["add_transcript"],
        )
        items = [item_of_row(item) for item in row["items"]]
        expected = {each["id"]: each for each in row["output"]}
        assert [item.id for item in items if item.ratings] == list(expected), number
        for item in items:
            truth = expected[item.id]
            assert input_text(item, form) == truth["text"], (number, item.id)
            ratings = item.unit_ratings if options["normalize_ratings"] else item.ratings
            assert list(ratings) == pytest.approx(truth["soft_labels"], abs=1e-12)
            assert len(item.ratings) == truth["n_ratings"]
            scale = 1 if options["normalize_ratings"] else 4
            mean = truth["average_rating"] if scale == 1 else (truth["average_rating"] - 1) / 4
            assert item.rating_mean == pytest.approx(mean, abs=1e-12)
            if len(item.ratings) >= FEWEST:
                assert item.rating_variance == pytest.approx(truth["rating_variance"] / scale**2, abs=1e-12)
            else:
                assert item.rating_variance is None
            n += 1
    assert n


def test_heads(shared: Path) -> None:
    n = 0
    for number, row in vector_rows(shared, "orca", "likelihood.jsonl"):
        head = heads.HEADS[HEAD_OF[row["function"]]]
        params = torch.tensor(row["params"])
        mean, variance = head.moments(params)
        assert _near(mean.tolist(), row["mean"], **FLOAT32), number
        assert _near(variance.tolist(), row["variance"], **FLOAT32), number
        if row["labels"] is not None:
            labels = torch.tensor(row["labels"], dtype=torch.float32)
            loss = (
                heads.beta_loss(params, labels, row["eps"])
                if head.name == "beta"
                else head.loss(params, labels)
            )
            given, expected = loss.flatten().tolist(), torch.tensor(row["loss"]).flatten().tolist()
            assert _near(given, expected, **FLOAT32), number
        n += 1
    assert n == 210


def test_divergence_of_parameters(shared: Path) -> None:
    for number, row in vector_rows(shared, "orca", "params_kl.jsonl"):
        head = heads.HEADS[row["function"].removesuffix("_params_kl")]
        found = heads.params_kl(head, torch.tensor(row["params_p"]), torch.tensor(row["params_q"])).tolist()
        assert _near(found, row["kl"], **FLOAT32), number


def test_metrics(shared: Path) -> None:
    for number, row in vector_rows(shared, "orca", "metrics.jsonl"):
        found = agreement(
            row["annotations"],
            row["predictions"],
            row["variance_annotations"] or (),
            row["variance_predictions"] or (),
        )
        given = _official(found)
        expected = {name: _value(value) for name, value in row["metrics"].items()}
        assert expected.keys() <= given.keys()
        for name, value in expected.items():
            assert _near(given[name], value, rel=1e-9, abs=1e-12), (number, name)


def _official(found: Agreement) -> dict[str, float]:
    return {
        "mean_mae": found.mae,
        "mean_tau": found.tau,
        "mean_rho": found.rho,
        "variance_mae": found.variance_mae,
        "variance_tau": found.variance_tau,
        "variance_rho": found.variance_rho,
    }


def test_clamped_scores(shared: Path) -> None:
    for number, row in vector_rows(shared, "orca", "clamp_score.jsonl"):
        assert clamp(row["score"], row["variance"], row["threshold"]) == row["clamped"], number


def test_thresholds_and_the_way_to_them(shared: Path) -> None:
    for number, row in vector_rows(shared, "orca", "find_threshold.jsonl"):
        weights = tuple(row["weights"])
        found = find_threshold(row["human"], row["orca"], row["orca_var"], weights)
        assert found.best == pytest.approx(row["best_threshold"], rel=1e-9), number
        assert len(found.trials) == len(row["trace"]), number
        for trial, expected in zip(found.trials, row["trace"], strict=True):
            given = vars(trial)
            for name, value in expected.items():
                assert _near(given[name], _value(value), rel=1e-9, abs=1e-9), (number, name)
        assert _near(found.composite_baseline, _value(row["composite_baseline"]), rel=1e-9)
        assert _near(found.composite_clamped, _value(row["composite_clamped"]), rel=1e-9)
        clamped = agreement(row["human"], clamp_all(row["orca"], row["orca_var"], found.best))
        for figures, expected in ((found.baseline, row["baseline"]), (clamped, row["clamped"])):
            for name in ("rho", "tau", "mae"):
                assert _near(getattr(figures, name), _value(expected[name]), rel=1e-9, abs=1e-9), number
        assert found.composite_baseline == composite_of(found.baseline, weights)


def test_runs_of_the_clamping_program(shared: Path, tmp_path: Path) -> None:
    for number, row in vector_rows(shared, "orca", "clamp_cli.jsonl"):
        folder = tmp_path / str(number) / "results"
        if row["args_yaml_score_type"] is not None:
            folder.mkdir(parents=True)
            (folder.parent / "args.yaml").write_text(f"score_type: {row['args_yaml_score_type']}\n")
        splits = {}
        for name, rows in row["splits"].items():
            (folder / name).mkdir(parents=True)
            splits[name] = read_results(write_rows(folder / name / "final_result.jsonl", rows))
        threshold = row["var_threshold"]
        if threshold is None:
            dev = splits["dev"]
            threshold = find_threshold(
                [each.truth for each in dev],
                [each.mean for each in dev],
                [each.variance for each in dev],
                (1.0, 1.0, 0.0),
            ).threshold
        for name, scored in splits.items():
            means = clamp_all([each.mean for each in scored], [each.variance for each in scored], threshold)
            figures = agreement(
                [each.truth for each in scored],
                means,
                [each.truth_variance for each in scored],
                [each.variance for each in scored],
            )
            given = {
                "n": figures.n,
                "var_threshold": round(threshold, 8),
                "rating_kendall_tau": figures.tau,
                "rating_spearman_correlation": figures.rho,
                "mean_mae": figures.mae,
                "n_var": figures.n_variance,
                "variance_mae": figures.variance_mae,
            }
            assert given == pytest.approx(row["score_clamp_yaml"][name], abs=6e-7), (number, name)


def _options(given: list[str]) -> tuple[InputFormat, int]:
    form = InputFormat(
        question="--skip_question" not in given,
        rationale="--skip_rationale" not in given,
        transcript="--add_transcript" in given,
    )
    return form, int(given[given.index("--batch_size") + 1]) if "--batch_size" in given else 2


def test_tiny_checkpoints_score_as_official(shared: Path) -> None:
    checkpoints = shared / "vectors" / "orca" / "checkpoints"
    n = 0
    for _, row in vector_rows(shared, "orca", "inference.jsonl"):
        items = [item for item in read_items(checkpoints / row["items"], rules="released") if item.ratings]
        checkpoint = load_checkpoint(checkpoints / row["checkpoint"] / "model", device="cpu")
        form, _ = _options(row["options"])
        scoring = scorer.score_items(checkpoint, items, form)
        assert [item.id for item in items] == [each["id"] for each in row["results"]]
        for item, score, expected in zip(items, scoring.scores, row["results"], strict=True):
            assert score.mean == pytest.approx(expected["rating_orca"], abs=1e-4)
            assert score.variance == pytest.approx(expected["variance_orca"], abs=1e-4)
            assert list(score.params) == pytest.approx(expected["params"], abs=1e-4)
            raw = checkpoint.model.head.name == "multinomial"
            truth = expected["rating_ground_truth"]
            assert item.rating_mean == pytest.approx((truth - 1) / 4 if raw else truth, abs=1e-6)
            n += 1
        means, variances = [s.mean for s in scoring.scores], [s.variance for s in scoring.scores]
        official = row["scores_yaml"]["items"]
        figures = item_agreement(items, means, variances)
        assert (figures.n, figures.n_variance) == (official["n"], official["n_var"])
        assert figures.mae == pytest.approx(official["mean_mae"], abs=2e-6)
        assert figures.variance_mae == pytest.approx(official["variance_mae"], abs=2e-6)
        assert figures.rho == pytest.approx(official["rating_spearman_correlation"], abs=2e-3)
        assert figures.tau == pytest.approx(official["rating_kendall_tau"], abs=2e-3)
        clamped = clamp_all(means, variances, row["clamp_var_threshold"])
        figures = item_agreement(items, clamped)
        assert figures.mae == pytest.approx(row["score_clamp_yaml"]["mean_mae"], abs=2e-6)
        assert figures.tau == pytest.approx(row["score_clamp_yaml"]["rating_kendall_tau"], abs=2e-3)
        args = yaml.safe_load((checkpoints / row["checkpoint"] / "args.yaml").read_text())
        assert checkpoint.args == args and args["score_type"] == checkpoint.model.head.name
    assert n == 120


def test_the_official_rules_keep_what_they_kept(shared: Path) -> None:
    """The items of the tiny checkpoints have a rating of 0 without a scale, which the library refuses unless asked for the released rules."""
    path = shared / "vectors" / "orca" / "checkpoints" / "items.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}")
    items = {item.id: item for item in read_items(path, rules="released")}
    assert items["dev21"].ratings == (0.0, 2.0, 3.0)
    assert min(items["dev21"].unit_ratings) == -0.25
    assert not items["dev7"].ratings and math.isclose(items["dev13"].rating_mean or 0, 0.75)
