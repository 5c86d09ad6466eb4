"""`lct orca compare`: judges, average, fusion, ORCA and differences from files to the table."""

import json
import random
import statistics
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from correctness_data import mean_of, rated_answers, scores_of, write_splits
from json_lines import read_rows, write_rows
from typer.testing import CliRunner

from long_context_tasks.cli import app

ROWS = rated_answers()
SHORTCUTS = ["identity only", "identity + lengths", "lengths only"]


def lct(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["orca", "compare", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_splits(tmp_path / "splits", ROWS)


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rated.jsonl", scores_of(ROWS, {"good": 0.3, "poor": 2.0}))


def figures(done: Result, out: Path) -> dict[str, Any]:
    assert done.exit_code == 0, done.output
    content = json.loads(out.read_text())
    found = content["comparison"]["figures"]
    assert [each["name"] for each in found if each["kind"] == "shortcut"][:3] == SHORTCUTS
    return {each["name"]: each for each in found if each["kind"] != "shortcut"} | {"": content}


def test_judges_average_and_fusion_without_any_option(tmp_path: Path, folder: Path, rated: Path) -> None:
    out = tmp_path / "out.json"
    done = lct(rated, "--splits", folder, "--out", out)
    found = figures(done, out)
    assert list(found) == ["good", "poor", "average", "fusion", ""]
    assert [found[name]["kind"] for name in ("good", "average", "fusion")] == ["judge", "average", "fusion"]
    assert found["good"]["rho"]["mean"] > found["average"]["rho"]["mean"] > found["poor"]["rho"]["mean"]
    assert (
        found["average"]["variance_mae"]["mean"] is not None and found["good"]["variance_mae"]["mean"] is None
    )
    assert found[""]["splits"][0] == {"name": "split_0", "train": 48, "dev": 16, "test": 16}
    assert len(found[""]["fusions"]["fusion"]) == 3
    for text in (
        "all 48 test answers",
        "fusion: weights",
        "mean ± sd over 3 splits",
    ):
        assert text in done.output
    assert f"{found['good']['rho']['mean']:.4f} ± {found['good']['rho']['sd']:.4f}" in done.output
    again = lct(rated, "--splits", folder, "--out", tmp_path / "b.json")
    assert again.output == done.output and (tmp_path / "b.json").read_bytes() == out.read_bytes()


def test_an_average_has_each_judge_once(tmp_path: Path, folder: Path) -> None:
    """Two judges, two conditions, two wordings: the paper averages two columns, not eight."""
    noise = {
        f"{judge}:{condition}{wording}": 0.5 + number / 4
        for number, (judge, condition, wording) in enumerate(
            product(("qwen", "gemma"), ("with_context", "without_context"), ("", ":modified"))
        )
    }
    noise |= {"llama:without_context:modified": 3.0, "gpt-4": 1.0, "qwen:no_reference": 1.0}
    file = write_rows(tmp_path / "r.jsonl", scores_of(ROWS, noise))
    out = tmp_path / "out.json"
    members = {
        "with_context": ["qwen:with_context", "gemma:with_context"],
        "without_context": [
            *("qwen:without_context", "gemma:without_context", "llama:without_context:modified"),
        ],
    }
    found = figures(lct(file, "--splits", folder, "--out", out), out)
    kinds = {name: each["kind"] for name, each in found.items() if name}
    for kind in ("average", "fusion"):
        assert [name for name in kinds if kinds[name] == kind] == [f"{kind}:{name}" for name in members]
    for condition, judges in members.items():
        more = "--raters", ",".join(judges)
        same = figures(lct(file, "--splits", folder, "--out", out, *more), out)
        assert same[f"average:{condition}"] == found[f"average:{condition}"]
        assert same[f"fusion:{condition}"] == found[f"fusion:{condition}"]


def test_scales_of_the_file_and_of_baselines(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "out.json"

    def maes(rows: list[dict[str, Any]]) -> dict[str, float]:
        file = write_rows(tmp_path / "r.jsonl", rows)
        found = figures(lct(file, "--splits", folder, "--out", out), out)
        return {name: each["mae"]["mean"] for name, each in found.items() if name}

    base = [{"id": row["id"], "cluster": "c", "j": 1 + 4 * mean_of(row)} for row in ROWS]
    assert maes(base)["j"] == pytest.approx(0)
    ten = [{**row, "j": 1 + 9 * (row["j"] - 1) / 4} for row in base]
    told = [{**row, "scales": {"j": [1, 10]}} for row in ten]
    assert maes(told)["j"] == pytest.approx(0)
    unit = [{"id": row["id"], "cluster": "c", "rouge_l": mean_of(row), "people": 9} for row in ROWS]
    assert maes(unit) == {"rouge_l": pytest.approx(0)}  # people's own mean is no judge


def test_missing_scores_are_said(tmp_path: Path, folder: Path) -> None:
    rows = scores_of(ROWS, {"a": 0.5, "b": 1.0})
    for row in rows:
        if row["id"] in ("q0/owl", "q4/fox", "q1/owl"):  # one in each test part
            row["b"] = None
    file = write_rows(tmp_path / "r.jsonl", [*rows, {"id": "elsewhere", "cluster": "x", "a": 3, "b": 3}])
    out = tmp_path / "out.json"
    done = lct(file, "--splits", folder, "--out", out)
    found = figures(done, out)
    missing = sum(row["b"] is None and int(row["cluster"][1:]) % 5 in (0, 4, 3) for row in rows)
    assert missing == 2
    assert {found[name]["n"] for name in ("a", "b", "average", "fusion")} == {46}
    assert (
        "2 of 48 test answers left out, as a rater has no score for them: b 2, average 2, fusion 2"
        in done.output
    )
    assert "1 rated answers are in no split" in done.output


def test_a_fusion_is_left_out_if_only_tests_are_rated(tmp_path: Path, folder: Path) -> None:
    tested = [row for row in ROWS if int(row["question_id"][1:]) % 5 == 0]
    one = tmp_path / "one"
    one.mkdir()
    (folder / "split_0").rename(one / "split_0")
    file = write_rows(tmp_path / "r.jsonl", scores_of(tested, {"a": 0.5, "b": 1.0}))
    done = lct(file, "--splits", one)
    assert done.exit_code == 0 and "no fusion: fusion: split_0 has 0 answers in dev" in done.output
    assert "±" not in done.output


def orca_files(tmp_path: Path, folder: Path, *, clamped: tuple[int, ...] = (), spread: bool = True) -> str:
    for number in range(3):
        place = tmp_path / "scored" / f"split_{number}"
        place.mkdir(parents=True)
        rows = read_rows(folder / f"split_{number}" / "test.jsonl")
        write_rows(
            place / "test.jsonl",
            [
                {
                    "id": row["id"],
                    "rating_orca": mean_of(row),
                    "variance_orca": 0.01,
                    "low_orca": 0.1 if spread else None,
                    **({"rating_orca_clamped": round(mean_of(row))} if number in clamped else {}),
                }
                for row in rows
            ],
        )
    return f"orca={tmp_path}/scored/{{split}}/test.jsonl"


def test_orca_and_its_clamped_means(tmp_path: Path, folder: Path, rated: Path) -> None:
    out = tmp_path / "out.json"
    pattern = orca_files(tmp_path, folder, clamped=(0, 1, 2))
    done = lct(rated, "--splits", folder, "--out", out, "--orca", pattern)
    found = figures(done, out)
    assert found["orca"]["mae"]["mean"] == pytest.approx(0) and found["orca"]["rho"]["mean"] == pytest.approx(
        1
    )
    assert found["orca clamped"]["mae"]["mean"] > 0.05
    assert found["orca"]["n_variance"] == 48 and found["orca"]["variance_mae"]["mean"] > 0


def test_orca_without_a_spread_predicts_no_variance(tmp_path: Path, folder: Path, rated: Path) -> None:
    out = tmp_path / "out.json"
    pattern = orca_files(tmp_path, folder, spread=False)
    found = figures(lct(rated, "--splits", folder, "--out", out, "--orca", pattern), out)
    assert found["orca"]["n_variance"] == 0 and found["orca"]["variance_mae"]["mean"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--raters", "good,none"), "no row has a score of none; raters found: good, poor"),
        (("--orca", "orca=x.jsonl"), "write NAME=PATTERN"),
        (("--orca", "orca=x/{split}.jsonl"), "x/split_0.jsonl: cannot be read"),
        (("--out", "{here}/no/out.json"), "choose another place with --out"),
    ],
)
def test_bad_input(
    tmp_path: Path, folder: Path, rated: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = lct(rated, "--splits", folder, *(word.replace("{here}", str(tmp_path)) for word in arguments))
    assert done.exit_code == 2 and message in done.output, done.output


def test_files_that_do_not_go_together(tmp_path: Path, folder: Path, rated: Path) -> None:
    other = write_rows(tmp_path / "o.jsonl", [{"id": "x", "cluster": "c", "good": 3}])
    done = lct(other, "--splits", folder)
    assert done.exit_code == 2 and "none of the 1 rated answers is in the splits" in done.output
    done = lct(rated, "--splits", tmp_path)
    assert done.exit_code == 2 and "holds no split_0" in done.output
    ten = write_rows(tmp_path / "ten.jsonl", [{"id": ROWS[0]["id"], "cluster": "c", "j": 9}])
    done = lct(ten, "--splits", folder)
    assert done.exit_code == 2
    assert (
        'the score 9 of j is outside its scale 1 to 5; give the right one in the field "scales"'
        in done.output
    )
    pattern = orca_files(tmp_path, folder, clamped=(0,))
    done = lct(rated, "--splits", folder, "--orca", pattern)
    assert done.exit_code == 2 and "1 of 3 files have the scores of orca clamped" in done.output
    path = tmp_path / "scored" / "split_2" / "test.jsonl"
    for row, message in (
        ({"id": 1}, "row 1: rating_orca is missing; name a file that `lct orca score` wrote"),
        ({"rating_orca": 1, "variance_orca": 0}, "an answer has no id of its own"),
        ({"id": 1, "rating_orca": 1.5, "variance_orca": 0}, "rating_orca must be at most 1"),
    ):
        write_rows(path, [row])
        done = lct(rated, "--splits", folder, "--orca", pattern)
        assert done.exit_code == 2 and message in done.output


def by_identity(questions: int = 60) -> list[dict[str, Any]]:
    """People prefer the owl's answers, the longer the better; the fox's by chance."""
    rng = random.Random("identity")
    rows = []
    for number in range(questions):
        words = rng.randint(1, 30)
        for model, rating in (("owl", 3 + words / 15), ("fox", rng.uniform(1, 3))):
            rows.append(
                {
                    **{"id": f"q{number}/{model}", "question": f"Question {number}?", "reference": "yes"},
                    **{"candidate": "word " * (words if model == "owl" else 9), "ratings": [rating]},
                    **{"question_id": f"q{number}", "candidate_model": model},
                }
            )
    return rows


def test_shortcuts_stand_beside_a_judge_that_knows_no_more_than_who_answered(tmp_path: Path) -> None:
    rows = by_identity()
    folder = write_splits(tmp_path / "s", rows)
    told = [
        {"id": row["id"], "cluster": row["question_id"], "fan": 5 if "owl" in row["id"] else 1}
        for row in rows
    ]
    file, out = write_rows(tmp_path / "r.jsonl", told), tmp_path / "out.json"
    done = lct(file, "--splits", folder, "--out", out)
    content = json.loads(out.read_text())["comparison"]
    found = {each["name"]: each for each in content["figures"]}
    assert list(found) == ["fan", *SHORTCUTS]
    assert found["fan"]["rho"] == found["identity only"]["rho"] and found["fan"]["rho"]["mean"] > 0.8
    assert found["lengths only"]["rho"]["mean"] < found["identity + lengths"]["rho"]["mean"]
    assert "shortcut" in done.output


def test_a_file_is_the_full_data_set_and_wordings_are_summed_up(tmp_path: Path) -> None:
    answers = write_rows(tmp_path / "answers.jsonl", ROWS)
    noise = {"a:without_context": 0.5, "a:without_context:modified": 1.0, "a:mismatched_reference": 3.0}
    file, out = write_rows(tmp_path / "r.jsonl", scores_of(ROWS, noise)), tmp_path / "out.json"
    done = lct(file, "--splits", answers, "--out", out)
    found = figures(done, out)
    assert {each["n"] for name, each in found.items() if name} == {len(ROWS)}
    # A control is not a judge, and two wordings of one judge are not two judges.
    assert found["a:mismatched_reference"]["kind"] == "control"
    assert not any("average" in name for name in found)
    rhos = [found[name]["rho"]["mean"] for name in noise if "without" in name]
    summed = f"{statistics.fmean(rhos):.4f} ± {statistics.stdev(rhos):.4f}"
    assert "Mean ± sd over the wordings of a prompt" in done.output and summed in done.output
