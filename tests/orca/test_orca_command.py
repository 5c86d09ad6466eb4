"""`lct orca train` and `lct orca score` as a user types them, with tiny models."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from json_lines import read_rows, write_rows
from orca_checkpoints import saved_checkpoint
from orca_commands import bad, good
from orca_training import killed_at, log_of, rated_items, rows_of

TRAIN = rows_of(rated_items(8))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_lm_folder: Path) -> Path:
    """A folder with a language model, a checkpoint and data."""
    folder = tmp_path_factory.mktemp("orca")
    (folder / "lm").symlink_to(tiny_lm_folder)
    saved_checkpoint(folder / "judge")
    write_rows(folder / "train.jsonl", TRAIN)
    write_rows(folder / "dev.jsonl", rows_of(rated_items(6, 9)))
    write_rows(folder / "judged.jsonl", rows_of([*rated_items(8), *rated_items(6, 9), *rated_items(4, 5)]))
    return folder


def train(place: Path, output: Path, *more: object) -> tuple[object, ...]:
    given = "train", "--train", place / "train.jsonl", "--dev", place / "dev.jsonl", "--out", output
    return (*given, "--device", "cpu", "--epochs", "1", "--batch-size", "4", "--lora-rank", "2", *more)


def from_model(place: Path, head: str = "beta") -> tuple[object, ...]:
    return "--model", place / "lm", "--head", head


def score(place: Path, part: str = "train", checkpoint: Path | None = None) -> tuple[object, ...]:
    judge = checkpoint or place / "judge"
    return "score", place / f"{part}.jsonl", "--checkpoint", judge, "--device", "cpu"


def test_from_ratings_to_clamped_scores(place: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    given = train(place, mine, *from_model(place), "--no-rationale")
    said = good(*given)
    assert "stage human: 8 answers, 2 steps" in said.output and "mine: trained" in said.output
    assert "2/2" in said.stderr  # progress, although this is not a terminal
    assert "finished already" in good(*given).output
    args = yaml.safe_load((mine / "args.yaml").read_text())
    assert (args["score_type"], args["scenario"], args["skip_rationale"]) == ("beta", "human", True)
    assert args["data"]["train"]["file"] == "train.jsonl" and len(args["data"]["train"]["sha256"]) == 64

    more = "--dev", place / "dev.jsonl", "-o", tmp_path / "scored.jsonl"
    told = good(*score(place, "train", mine), *more)
    assert "Spearman's rho" in told.output and "variance: MAE" in told.output
    assert "95 % interval over 4 questions" in told.output
    assert "note: 4 questions are too few for an interval" in told.output
    rows = read_rows(tmp_path / "scored.jsonl")
    assert [row["id"] for row in rows] == [row["id"] for row in TRAIN]
    assert 0 <= rows[0]["low_orca"] <= rows[0]["rating_orca"] <= rows[0]["high_orca"] <= 1
    assert len(rows[0]["params"]) == 2 and rows[0]["variance_orca"] > 0
    threshold = float(re.findall(r"clamped at a variance of ([\d.]+)", told.output)[0])
    for row in rows:
        near = row["rating_orca"] < 0.125 or row["rating_orca"] > 0.875
        if row["variance_orca"] > threshold + 1e-8 or not near:
            assert row["rating_orca_clamped"] == row["rating_orca"]


def test_a_known_threshold_clamps(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "scored.jsonl"
    said = good(*score(place), "--threshold", "0.9", "-o", out)
    rows = read_rows(out)
    clamped = [row["rating_orca_clamped"] for row in rows]
    assert clamped == [
        0.0 if mean < 0.125 else 1.0 if mean > 0.875 else mean
        for mean in (row["rating_orca"] for row in rows)
    ]
    changed = sum(row["rating_orca"] != row["rating_orca_clamped"] for row in rows)
    assert re.search(rf"clamped +8 +{changed} ", said.output)


def test_clamping_that_cannot_help_or_cannot_be_decided(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "scored.jsonl"
    # The predictions are the ratings, so no threshold is better than none.
    scores = [json.loads(line) for line in good(*score(place)).stdout.splitlines()]
    right = [{**row, "ratings": [1 + 4 * row["rating_orca"]]} for row in scores]
    dev = write_rows(tmp_path / "dev.jsonl", right)
    assert "the threshold is 0" in good(*score(place), "--dev", dev, "-o", out).output
    alike = [{**TRAIN[0], "id": str(n), "ratings": [n]} for n in (1, 3, 5)]
    dev = write_rows(tmp_path / "alike.jsonl", alike)
    said = good(*score(place), "--dev", dev, "-o", out).output
    assert "all predicted means of the development part are equal" in said
    assert "variance of 0.05000000" in said


def test_controls_read_another_reference_or_none(place: Path, tmp_path: Path) -> None:
    told = good(*score(place), "--controls", "-o", tmp_path / "scored.jsonl").output
    for name in ("orca", "mismatched reference", "no reference", "lengths only"):
        assert name in told.partition("Compared with shortcuts")[2]
    first = read_rows(tmp_path / "scored.jsonl")[0]
    other = next(row["reference"] for row in TRAIN if row["reference"] != first["reference"])
    write_rows(tmp_path / "other.jsonl", [{**TRAIN[0], "reference": other}])
    [again] = good(*score(tmp_path, "other", place / "judge")).stdout.splitlines()
    assert json.loads(again)["rating_orca"] == pytest.approx(first["rating_orca_mismatched"], abs=1e-6)
    assert first["rating_orca_mismatched"] != first["rating_orca"] != first["rating_orca_without_reference"]


@pytest.mark.parametrize("moment", [1, 2, 5, 9])
def test_a_killed_scoring_goes_on(place: Path, tmp_path: Path, moment: int) -> None:
    """Killed while it keeps its first predictions, later ones, or those of a control: nothing is scored twice."""
    given = *score(place), "--batch-size", "2", "--controls"
    good(*given, "-o", tmp_path / "whole.jsonl")
    out, part = tmp_path / "out.jsonl", tmp_path / "out.jsonl.part"
    assert killed_at(moment, lambda: good(*given, "-o", out)) == -9
    assert not out.exists()
    if part.exists():
        part.write_bytes(part.read_bytes() + b'\n["cut')
    said = good(*given, "-o", out).output
    n_kept = 2 * (moment - 1)
    assert (f"going on with {n_kept} predictions in {part}" in said) == bool(n_kept)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not part.exists()


def test_kept_predictions_are_those_of_one_checkpoint(place: Path, tmp_path: Path) -> None:
    given = *score(place), "--batch-size", "2", "-o", tmp_path / "out.jsonl"
    assert killed_at(2, lambda: good(*given)) == -9
    good(*given, "--dtype", "bfloat16")
    good(*given[:-1], tmp_path / "new.jsonl", "--dtype", "bfloat16")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "new.jsonl").read_bytes()


def test_the_parts_of_the_text_are_those_of_the_training(place: Path, tmp_path: Path) -> None:
    good(*train(place, tmp_path / "mine", *from_model(place), "--no-rationale", "--lr", "1e-6"))
    common = score(place, "dev", tmp_path / "mine")
    usual, same, other = (
        [json.loads(line)["params"] for line in good(*common, *more).stdout.splitlines()]
        for more in ((), ("--no-rationale",), ("--no-question",))
    )
    assert usual == same != other
    assert "have no rationale" not in good(*common).stderr
    assert "WARNING: 6 of 6 answers have no rationale" in good(*score(place, "dev")).stderr
    # The transcript is part of the context.
    assert "--transcript without the rationale" in bad(*common, "--transcript")
    assert "--transcript without the rationale" in bad(
        *train(place, tmp_path / "no", *from_model(place), "--no-rationale", "--transcript")
    )


def test_stages_one_after_the_other(place: Path, tmp_path: Path) -> None:
    more = "--judge-train", place / "judged.jsonl", "--scenario", "two_stage"
    said = good(*train(place, tmp_path / "two", *from_model(place, "multinomial"), *more)).output
    assert "6 of 18 judged answers left out: their questions are held out" in said
    assert "stage judge: 12 answers" in said and "stage human: 8 answers" in said
    assert [row["stage"] for row in log_of(tmp_path / "two")] == ["judge"] * 4 + ["human"] * 3
    good(*train(place, tmp_path / "on", "--init", tmp_path / "two"))
    args = yaml.safe_load((tmp_path / "on" / "args.yaml").read_text())
    assert args["score_type"] == "multinomial" and args["init"].startswith("two ")
    assert "has a multinomial head" in bad(
        *train(place, tmp_path / "no", "--init", tmp_path / "two", "--head", "beta")
    )
    said = good(*train(place, tmp_path / "leak", *from_model(place), "--dev", place / "train.jsonl")).output
    assert "note: no answer has a context" in said
    assert "note: 4 questions of the development part are in the training part too" in said


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**TRAIN[0], "ratings": []}], "rated.jsonl, row 1: no rating"),
        ([{**TRAIN[0], "ratings": [7]}], "rated.jsonl, row 1: the rating 7 is outside the scale 1 to 5"),
        ([{**row, "ratings": [3]} for row in TRAIN], "stage human: every rating is 3"),
    ],
)
def test_bad_training_data_cost_nothing(
    place: Path, tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    rated = write_rows(tmp_path / "rated.jsonl", rows)
    assert message in bad(*train(place, tmp_path / "out", *from_model(place), "--train", rated))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--head", "beta"), "either --model"),
        (("--model", "{lm}", "--head", "beta", "--init", "{lm}"), "either --model"),
        (("--model", "{lm}"), "--head is missing; give one of beta, multinomial, bernoulli"),
        (("--model", "{lm}", "--head", "beta", "--batch-size", 0), "error: --batch-size must be at least 1"),
        (
            ("--model", "{lm}", "--head", "beta", "--scenario", "all"),
            "error: --scenario must be 'human', 'judge', 'judge_all', 'mixed' or 'two_stage'",
        ),
        (("--model", "/none", "--head", "beta"), "cannot be loaded"),
        (("--init", "{lm}"), "not an ORCA checkpoint"),
    ],
)
def test_bad_options_of_train_cost_nothing(
    place: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    words = [str(option).format(lm=place / "lm") for option in options]
    assert message in bad(*train(place, tmp_path / "out", *words))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--checkpoint", "{headless}"), "lacks its head"),
        (("-o", "{here}/no/out.jsonl"), "its folder does not exist"),
        (("-o", "{train}"), "is the file that is scored"),
        (("-o", "{dev}", "--dev", "{dev}"), "is the file that is scored"),
        (("--controls",), "--controls needs ratings, and --out"),
        (("--threshold", 2), "error: --threshold must be below 1"),
        (("--threshold", 0.1, "--dev", "{dev}"), "not both"),
        (("--window", 0), "error: --window '0' is not a length"),
        (("--dtype", "fp16"), "dtype must be 'auto', 'float32'"),
        (("--window", 3, "-o", "{here}/out.jsonl"), "no answer fits the window of 3 tokens"),
    ],
)
def test_bad_options_of_score_write_nothing(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path], options: tuple[object, ...], message: str
) -> None:
    judge_copy(tmp_path / "headless")
    (tmp_path / "headless" / "model" / "model_minus_lm.pt").unlink()
    places = {name: place / f"{name}.jsonl" for name in ("train", "dev")}
    places |= {"headless": tmp_path / "headless", "here": tmp_path}
    words = [str(option).format(**places) for option in options]
    assert message in bad(*score(place), *words)
    assert read_rows(place / "train.jsonl") == TRAIN
    assert [path.name for path in tmp_path.iterdir()] == ["headless"]


def test_a_mistyped_option_leaves_nothing_that_stops_the_right_one(place: Path, tmp_path: Path) -> None:
    for wrong in (("--model", tmp_path / "none"), ("--lr", "1e6")):
        said = bad(*train(place, tmp_path / "mine", *from_model(place), *wrong))
        assert "cannot be loaded" in said or "not a number" in said
        assert not (tmp_path / "mine").exists()
    good(*train(place, tmp_path / "mine", *from_model(place)))


def test_a_judge_that_has_learned_nothing_is_reported(place: Path, tmp_path: Path) -> None:
    said = good(*train(place, tmp_path / "wild", *from_model(place, "multinomial"), "--lr", "100")).output
    assert "warning: that is no better than" in said and "learned nothing" in said


def test_a_judge_in_doubt_is_reported(place: Path, tmp_path: Path) -> None:
    """By training, and by scoring from the agreement that the checkpoint carries."""
    mine = tmp_path / "mine"
    said = good(*train(place, mine, *from_model(place), "--lr", "1e-9")).output
    doubt = r"on 6 held-out answers its correlation with people \(.*\) is not shown to exceed that of 'lengths only'"
    assert re.search(f"warning: {doubt}", said)
    carried = mine / "agreement.json"
    found = json.loads(carried.read_text())
    metrics = yaml.safe_load((mine / "metrics.yaml").read_text())
    assert found["rho"] == pytest.approx(metrics["dev"]["rho"])
    assert (found["answers"], found["questions"], found["shortcut"]) == (6, 3, "lengths only")
    given = *score(place, "dev", mine), "--no-rationale"
    before = good(*given)
    assert re.search(f"WARNING: {doubt}", before.stderr)
    carried.write_text(json.dumps(found | {"rho": 0.8, "low": 0.1, "high": 0.9}))
    after = good(*given)
    assert "WARNING" not in after.stderr and after.stdout == before.stdout
    carried.write_text(json.dumps(found | {"rho": "high"}))
    assert "agreement.json: rho must be a number" in bad(*given)
    carried.unlink()
    assert "WARNING: the checkpoint does not state its agreement with people" in good(*given).stderr
