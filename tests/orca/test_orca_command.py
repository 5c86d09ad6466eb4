"""`lct orca`: train, score, clamp, as a user types them, with tiny models."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from orca_commands import bad, good, read, write
from orca_training import killed_at, log_of, rated_items, rows_of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_lm_folder: Path) -> Path:
    """A folder with a model and data."""
    folder = tmp_path_factory.mktemp("orca")
    (folder / "lm").symlink_to(tiny_lm_folder)
    write(folder / "train.jsonl", rows_of(rated_items(8)))
    write(folder / "dev.jsonl", rows_of(rated_items(6, 9)))
    write(folder / "judge.jsonl", rows_of([*rated_items(8), *rated_items(6, 9), *rated_items(4, 5)]))
    return folder


def train(place: Path, output: Path, *more: object) -> tuple[object, ...]:
    given = "train", "--train", place / "train.jsonl", "--dev", place / "dev.jsonl", "--out", output
    return (*given, "--device", "cpu", "--epochs", "1", "--batch-size", "4", "--lora-rank", "2", *more)


def from_model(place: Path, head: str = "beta") -> tuple[object, ...]:
    return "--model", place / "lm", "--head", head


def test_from_ratings_to_clamped_scores(place: Path, tmp_path: Path) -> None:
    said = good(*train(place, tmp_path / "mine", *from_model(place), "--no-rationale"))
    assert "stage human: 8 answers, 2 steps" in said.output and "mine: trained" in said.output
    # Not a terminal: lines in place of a bar.
    assert re.search(
        r"^stage human: step 2 of 2, loss \d\.\d+; .* s each, 0 min left$", said.output, re.MULTILINE
    )
    assert (
        "finished already"
        in good(*train(place, tmp_path / "mine", *from_model(place), "--no-rationale")).output
    )
    args = yaml.safe_load((tmp_path / "mine" / "args.yaml").read_text())
    assert (args["score_type"], args["scenario"], args["skip_rationale"]) == ("beta", "human", True)
    assert args["data"]["train"]["file"] == "train.jsonl" and len(args["data"]["train"]["sha256"]) == 64
    for part in ("train", "dev"):
        told = good(
            "score", place / f"{part}.jsonl", "--checkpoint", tmp_path / "mine", "-o", tmp_path / f"{part}.jsonl",
            "--device", "cpu", "--controls",
        )  # fmt: skip
        assert "Spearman's rho" in told.output and "variance: MAE" in told.output
        questions = 4 if part == "train" else 3
        assert f"95 % interval over {questions} questions" in told.output
        assert f"note: {questions} questions are too few for an interval" in told.output
        for name in ("orca", "mismatched reference", "no reference", "identity + lengths", "lengths only"):
            assert name in told.output.partition("Beside what needs no judgement")[2]
    rows = read(tmp_path / "train.jsonl")
    assert [row["id"] for row in rows] == [item.id for item in rated_items(8)]
    first, rated_rows = rows[0], rows_of(rated_items(8))
    # The control reads another reference, as `lct orca score` does where that is the answer's own.
    other = {
        **rated_rows[0],
        "reference": next(row["reference"] for row in rated_rows if row["reference"] != first["reference"]),
    }
    write(tmp_path / "other.jsonl", [other])
    scored = good(
        "score", tmp_path / "other.jsonl", "--checkpoint", tmp_path / "mine", "--device", "cpu"
    ).stdout
    assert json.loads(scored.splitlines()[0])["rating_orca"] == pytest.approx(
        first["rating_orca_mismatched"], abs=1e-6
    )
    assert first["rating_orca_mismatched"] != first["rating_orca"] != first["rating_orca_without_reference"]
    assert 0 <= first["low_orca"] <= first["rating_orca"] <= first["high_orca"] <= 1
    assert len(first["params"]) == 2 and first["variance_orca"] > 0
    told = good(
        "clamp", tmp_path / "train.jsonl", "--dev", tmp_path / "dev.jsonl", "--out", tmp_path / "clamped"
    )
    assert "composite paper" in told.output and "clamp.yaml" in told.output
    threshold = yaml.safe_load((tmp_path / "clamped" / "clamp.yaml").read_text())["var_threshold"]
    for row in read(tmp_path / "clamped" / "train.jsonl"):
        near = row["rating_orca"] < 0.125 or row["rating_orca"] > 0.875
        if row["variance_orca"] > threshold + 1e-8 or not near:
            assert row["rating_orca_clamped"] == row["rating_orca"]


@pytest.mark.parametrize("moment", [1, 2, 5, 9])
def test_a_killed_scoring_goes_on(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path], moment: int
) -> None:
    """Killed while it keeps its first predictions, later ones, or those of a control: nothing is scored twice, and the result is the same."""
    judge_copy(tmp_path / "judge")
    given = "score", place / "train.jsonl", "--checkpoint", tmp_path / "judge", "--device", "cpu"
    given = *given, "--batch-size", "2", "--controls"
    good(*given, "-o", tmp_path / "whole.jsonl")
    out = tmp_path / "out.jsonl"
    assert killed_at(moment, lambda: good(*given, "-o", out)) == -9
    assert not out.exists()
    part = tmp_path / "out.jsonl.part"
    if part.exists():
        part.write_bytes(part.read_bytes() + b'\n["cut')
    said = good(*given, "-o", out).output
    n_kept = 2 * (moment - 1)
    assert (f"going on with {n_kept} predictions in {part}" in said) == bool(n_kept)
    first = f"scoring: answer {min(n_kept + 2, 8)} of 8"
    assert (first in said) == (n_kept < 8)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not part.exists()


def test_kept_predictions_are_those_of_one_checkpoint(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path]
) -> None:
    judge_copy(tmp_path / "judge")
    given = "score", place / "train.jsonl", "--checkpoint", tmp_path / "judge", "--device", "cpu"
    given = *given, "--batch-size", "2", "-o", tmp_path / "out.jsonl"
    assert killed_at(2, lambda: good(*given)) == -9
    assert "unfinished scoring with another checkpoint, device or type" in bad(*given, "--dtype", "bfloat16")
    (tmp_path / "out.jsonl.part").unlink()
    good(*given, "--dtype", "bfloat16")
    assert "--controls needs ratings, and --out" in bad(*given[:-2], "--controls")


def test_the_parts_of_the_text_are_those_of_the_training(place: Path, tmp_path: Path) -> None:
    good(*train(place, tmp_path / "mine", *from_model(place), "--no-rationale", "--lr", "1e-6"))
    common = "score", place / "dev.jsonl", "--device", "cpu", "--checkpoint", tmp_path / "mine"
    usual, same, other = (
        [json.loads(line)["params"] for line in good(*common, *more).stdout.splitlines()]
        for more in ((), ("--no-rationale",), ("--rationale",))
    )
    assert usual == same != other
    said = good(*common, "--rationale", "-o", tmp_path / "scored.jsonl").stderr
    assert "WARNING: 6 of 6 answers have no rationale" in said
    assert "have no rationale" not in good(*common, "-o", tmp_path / "scored.jsonl").stderr
    # There is no place for a transcript without the rationale.
    assert "--transcript without the rationale" in bad(*common, "--transcript")
    assert "--transcript without the rationale" in bad(
        *train(place, tmp_path / "no", *from_model(place), "--no-rationale", "--transcript")
    )


def test_stages_one_after_the_other(place: Path, tmp_path: Path) -> None:
    more = "--judge-train", place / "judge.jsonl", "--scenario", "two_stage"
    said = good(*train(place, tmp_path / "two", *from_model(place, "multinomial"), *more)).output
    assert "6 of 18 judged answers left out: their questions are held out" in said
    assert "stage judge: 12 answers" in said and "stage human: 8 answers" in said
    assert [row["stage"] for row in log_of(tmp_path / "two")] == ["judge"] * 4 + ["human"] * 3
    good(*train(place, tmp_path / "on", "--init", tmp_path / "two"))
    assert yaml.safe_load((tmp_path / "on" / "args.yaml").read_text())["score_type"] == "multinomial"
    assert "has a multinomial head" in bad(
        *train(place, tmp_path / "no", "--init", tmp_path / "two", "--head", "beta")
    )
    said = good(*train(place, tmp_path / "leak", *from_model(place), "--dev", place / "train.jsonl")).output
    assert "note: no answer has a context" in said
    assert "note: 4 questions of the development part are in the training part too" in said


def test_bad_input_is_named_before_anything_costly(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path]
) -> None:
    out, model = tmp_path / "out", from_model(place)
    rows = rows_of(rated_items(4))
    broken = {
        "unrated": [{**rows[0], "ratings": []}],
        "outside": [{**rows[0], "ratings": [7]}],
        "one_class": [{**row, "ratings": [3]} for row in rows],
    }
    for name, content in broken.items():
        write(tmp_path / f"{name}.jsonl", content)
    for name, message in (
        ("unrated", "unrated.jsonl, row 1: no rating"),
        ("outside", "outside.jsonl, row 1: the rating 7 is outside the scale 1 to 5"),
        ("one_class", "stage human: every rating is 3"),
    ):
        assert message in bad(*train(place, out, *model, "--train", tmp_path / f"{name}.jsonl"))
    assert "either --model" in bad(*train(place, out, "--head", "beta"))
    assert "either --model" in bad(*train(place, out, *model, "--init", tmp_path))
    assert "--head is missing; it is one of beta, multinomial, bernoulli" in bad(
        *train(place, out, *model[:2])
    )
    assert "lct orca train: batch_size must be at least 1" in bad(
        *train(place, out, *model, "--batch-size", 0)
    )
    assert "scenario 'all' is none of" in bad(*train(place, out, *model, "--scenario", "all"))
    assert "cannot be loaded" in bad(*train(place, out, "--model", tmp_path / "none", "--head", "beta"))
    assert "no ORCA checkpoint" in bad(*train(place, out, "--init", tmp_path))
    assert not out.exists()
    judge_copy(tmp_path / "headless")
    (tmp_path / "headless" / "model" / "model_minus_lm.pt").unlink()
    score = "score", place / "dev.jsonl", "--checkpoint"
    assert "lacks its head" in bad(*score, tmp_path / "headless")
    judge_copy(tmp_path / "whole")
    assert "its folder is not there" in bad(*score, tmp_path / "whole", "-o", tmp_path / "no" / "out.jsonl")
    assert "either --dev" in bad("clamp", place / "dev.jsonl")
    (tmp_path / "again").mkdir()
    for path in (tmp_path / "scored.jsonl", tmp_path / "again" / "scored.jsonl"):
        good(*score, tmp_path / "whole", "-o", path, "--device", "cpu")
    both = tmp_path / "scored.jsonl", tmp_path / "again" / "scored.jsonl"
    assert "two files have the same name" in bad("clamp", "--dev", *both)
    assert "written over" in bad("clamp", "--threshold", "0.01", both[0], "--out", tmp_path)
    assert "--threshold 2.0" in bad("clamp", "--threshold", "2", both[0])
    assert "rating_orca is missing" in bad("clamp", "--dev", place / "dev.jsonl")
    assert "composite 'best' is none of paper, released" in bad(
        "clamp", "--dev", place / "dev.jsonl", "--composite", "best"
    )


def test_a_judge_of_shuffled_ratings_is_told_from_another(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path]
) -> None:
    source = place / "train.jsonl"
    good("data", source, "-o", tmp_path / "control.jsonl", "--shuffle-ratings")
    given = *train(place, tmp_path / "mine", *from_model(place)), "--train", tmp_path / "control.jsonl"
    said = good(*given).output
    assert "CONTROL (ratings shuffled): this judge learns from ratings that are not the answers' own" in said
    assert yaml.safe_load((tmp_path / "mine" / "args.yaml").read_text())["control"] == "ratings shuffled"
    score = "score", place / "dev.jsonl", "-o", tmp_path / "scored.jsonl", "--device", "cpu", "--checkpoint"
    assert "CONTROL (ratings shuffled): this judge" in good(*score, tmp_path / "mine").output
    # Neither a further training nor another reading of the data takes the mark away.
    good(*train(place, tmp_path / "on", "--init", tmp_path / "mine"))
    assert yaml.safe_load((tmp_path / "on" / "args.yaml").read_text())["control"] == "ratings shuffled"
    good("data", tmp_path / "control.jsonl", "-o", tmp_path / "again.jsonl")
    assert {row["control"] for row in read(tmp_path / "again.jsonl")} == {"ratings shuffled"}
    plain = (
        "score",
        tmp_path / "again.jsonl",
        "-o",
        tmp_path / "scored.jsonl",
        "--device",
        "cpu",
        "--checkpoint",
    )
    judge_copy(tmp_path / "judge")
    assert "CONTROL: the ratings in again.jsonl" in good(*plain, tmp_path / "judge").output
    assert "CONTROL" not in good(*score, tmp_path / "judge").output


def test_a_mistyped_option_leaves_nothing_that_stops_the_right_one(place: Path, tmp_path: Path) -> None:
    for wrong in (("--model", tmp_path / "none"), ("--lr", "1e6")):
        said = bad(*train(place, tmp_path / "mine", *from_model(place), *wrong))
        assert "cannot be loaded" in said or "not a number" in said
        assert not (tmp_path / "mine").exists()
    good(*train(place, tmp_path / "mine", *from_model(place)))


def test_a_judge_that_has_learned_nothing_is_told(place: Path, tmp_path: Path) -> None:
    given = *from_model(place), "--head", "multinomial"
    said = good(*train(place, tmp_path / "wild", *given, "--lr", "100")).output
    assert "warning: that is no better than" in said and "learned nothing" in said


def test_a_threshold_of_constant_predictions_is_that_of_the_released_code(tmp_path: Path) -> None:
    rows = [
        {"rating_orca": 0.1, "variance_orca": 0.02, "n_ratings": 1, "rating_ground_truth": truth}
        for truth in (0.0, 0.5, 1.0)
    ]
    said = good("clamp", "--dev", write(tmp_path / "dev.jsonl", rows), "--composite", "released").output
    assert "all predicted means of the development part are equal" in said
    assert "variance 0.05000000" in said


def test_scores_of_a_judge_that_has_not_shown_agreement_come_with_a_warning(
    place: Path, tmp_path: Path
) -> None:
    """A judge carries its agreement with people on the development part; one that was hardly trained has none to show."""
    given = *from_model(place), "--no-rationale", "--lr", "1e-9"
    doubt = r"on 6 held-out answers its correlation with people \(-?\d\.\d+\) is not shown to exceed that of 'lengths only'"
    assert re.search(f"warning: {doubt}", good(*train(place, tmp_path / "mine", *given)).output)
    carried = tmp_path / "mine" / "agreement.json"
    found = json.loads(carried.read_text())
    metrics = yaml.safe_load((tmp_path / "mine" / "metrics.yaml").read_text())
    assert found["rho"] == pytest.approx(metrics["dev"]["rho"])
    assert (found["answers"], found["questions"], found["shortcut"]) == (6, 3, "lengths only")
    score = "score", place / "dev.jsonl", "--device", "cpu", "--checkpoint", tmp_path / "mine"
    before = good(*score)
    assert re.search(f"WARNING: {doubt}", before.stderr)
    carried.write_text(json.dumps(found | {"rho": 0.8, "low": 0.1, "high": 0.9}))
    after = good(*score)
    assert "WARNING" not in after.stderr and after.stdout == before.stdout
    carried.write_text(json.dumps(found | {"rho": "high"}))
    assert "agreement.json: rho must be a number" in bad(*score)
    carried.unlink()
    assert "WARNING: the checkpoint does not state its agreement with people" in good(*score).stderr


def test_a_window_that_nothing_fits_gives_no_file(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path]
) -> None:
    judge_copy(tmp_path / "judge")
    given = "score", place / "dev.jsonl", "--checkpoint", tmp_path / "judge", "-o", tmp_path / "out.jsonl"
    assert "--window: length '0'" in bad(*given, "--window", "0")
    assert "no answer fits the window of 3 tokens" in bad(*given, "--window", "3", "--device", "cpu")
    assert not (tmp_path / "out.jsonl").exists()


def test_figures_in_the_files_of_the_released_code(
    place: Path, tmp_path: Path, judge_copy: Callable[..., Path]
) -> None:
    judge_copy(tmp_path / "beta")
    for part in ("dev", "train"):
        good(
            "score", place / f"{part}.jsonl", "--checkpoint", tmp_path / "beta", "-o", tmp_path / f"{part}.jsonl",
            "--device", "cpu",
        )  # fmt: skip
    given = "clamp", tmp_path / "train.jsonl", "--composite", "released"
    good(*given, "--dev", tmp_path / "dev.jsonl", "--out", tmp_path / "clamped")
    mine = yaml.safe_load((tmp_path / "clamped" / "clamp.yaml").read_text())
    theirs = yaml.safe_load((tmp_path / "clamped" / "score_clamp.yaml").read_text())
    clamped = mine["files"]["train"]["clamped"]
    assert theirs["train"] == {
        "n": 8,
        "var_threshold": mine["var_threshold"],
        "rating_kendall_tau": round(clamped["tau"], 6),
        "rating_spearman_correlation": round(clamped["rho"], 6),
        "mean_mae": round(clamped["mae"], 6),
        "n_var": 2,
        "variance_mae": round(clamped["variance_mae"], 6),
    }
    path = tmp_path / "score_clamp.yaml"
    path.write_text("test: {n: 3, var_threshold: 0.04}\ndev: {n: 3, var_threshold: 0.04}\n")
    assert "variance 0.04000000" in good(*given, "--threshold-from", path).output
    assert "either --dev" in bad(*given, "--threshold-from", path, "--threshold", "0.1")
    path.write_text("test: {n: 3}\n")
    assert "no different var_threshold" in bad(*given, "--threshold-from", path)
    assert "nothing to clamp" in bad("clamp", "--threshold", "0.1")
