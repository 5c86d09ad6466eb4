"""`lct orca`: data, train, score, clamp, as a user types them, with tiny models."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")
pytest.importorskip("accelerate")

import yaml
from orca_checkpoints import saved_checkpoint
from orca_training import rated_items, rows_of, save_tiny_lm
from typer.testing import CliRunner, Result

from long_context_tasks.cli import app
from long_context_tasks.cli.orca_data import DataOptions, make_rows
from long_context_tasks.judges.orca import read_items
from long_context_tasks.judges.orca.splits import question_numbers
from long_context_tasks.judges.orca.train_files import read_log


def orca(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["orca", *map(str, arguments)])


def good(*arguments: object) -> Result:
    result = orca(*arguments)
    assert result.exit_code == 0, result.output
    return result


def bad(*arguments: object) -> str:
    """Bad input: exit code 2 and one line."""
    result = orca(*arguments)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in result.output
    return lines[0]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and data."""
    folder = tmp_path_factory.mktemp("orca")
    save_tiny_lm(folder / "lm")
    write(folder / "train.jsonl", rows_of(rated_items(8)))
    write(folder / "dev.jsonl", rows_of(rated_items(6, 9)))
    write(folder / "judge.jsonl", rows_of([*rated_items(8), *rated_items(6, 9), *rated_items(4, 5)]))
    return folder


def train(place: Path, output: Path, *more: object) -> tuple[object, ...]:
    given = "train", "--train", place / "train.jsonl", "--dev", place / "dev.jsonl", "--output", output
    return (*given, "--device", "cpu", "--steps", "2", "--batch-size", "4", "--lora-rank", "2", *more)


def from_model(place: Path, head: str = "beta") -> tuple[object, ...]:
    return "--model", place / "lm", "--head", head


def test_from_ratings_to_clamped_scores(place: Path, tmp_path: Path) -> None:
    said = good(*train(place, tmp_path / "mine", *from_model(place), "--no-rationale"))
    assert "stage human: 8 answers, 2 steps" in said.output and "mine: trained" in said.output
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
            "--device", "cpu",
        )  # fmt: skip
        assert "Spearman's rho" in told.output and "variance: MAE" in told.output
    rows = read(tmp_path / "train.jsonl")
    assert [row["id"] for row in rows] == [item.id for item in rated_items(8)]
    first = rows[0]
    assert 0 <= first["low_orca"] <= first["rating_orca"] <= first["high_orca"] <= 1
    assert len(first["params"]) == 2 and first["variance_orca"] > 0
    told = good(
        "clamp", tmp_path / "train.jsonl", "--dev", tmp_path / "dev.jsonl", "--output", tmp_path / "clamped"
    )
    assert "composite paper" in told.output and "clamp.yaml" in told.output
    threshold = yaml.safe_load((tmp_path / "clamped" / "clamp.yaml").read_text())["var_threshold"]
    for row in read(tmp_path / "clamped" / "train.jsonl"):
        near = row["rating_orca"] < 0.125 or row["rating_orca"] > 0.875
        if row["variance_orca"] > threshold + 1e-8 or not near:
            assert row["rating_orca_clamped"] == row["rating_orca"]


def test_the_parts_of_the_text_are_those_of_the_training(place: Path, tmp_path: Path) -> None:
    good(*train(place, tmp_path / "mine", *from_model(place), "--no-rationale", "--lr", "1e-6"))
    common = "score", place / "dev.jsonl", "--device", "cpu", "--checkpoint", tmp_path / "mine"
    usual, same, other = (
        [json.loads(line)["params"] for line in good(*common, *more).stdout.splitlines()]
        for more in ((), ("--no-rationale",), ("--rationale",))
    )
    assert usual == same != other


def test_stages_one_after_the_other(place: Path, tmp_path: Path) -> None:
    more = "--judge-train", place / "judge.jsonl", "--scenario", "two_stage"
    said = good(*train(place, tmp_path / "two", *from_model(place, "multinomial"), *more)).output
    assert "6 of 18 judged answers left out: their questions are held out" in said
    assert "stage judge: 12 answers" in said and "stage human: 8 answers" in said
    assert [row["stage"] for row in read_log(tmp_path / "two" / "log.jsonl")] == ["judge"] * 3 + ["human"] * 3
    good(*train(place, tmp_path / "on", "--init", tmp_path / "two"))
    assert yaml.safe_load((tmp_path / "on" / "args.yaml").read_text())["score_type"] == "multinomial"
    assert "has a multinomial head" in bad(
        *train(place, tmp_path / "no", "--init", tmp_path / "two", "--head", "beta")
    )
    said = good(*train(place, tmp_path / "leak", *from_model(place), "--dev", place / "train.jsonl")).output
    assert "note: no answer has a context" in said
    assert "note: 4 questions of the development part are in the training part too" in said


def test_bad_input_is_named_before_anything_costly(place: Path, tmp_path: Path) -> None:
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
    assert "every rating is 3" in bad(
        *train(place, out, *model, "--dev", tmp_path / "one_class.jsonl", "--select", "rho")
    )
    assert "either --model" in bad(*train(place, out, "--head", "beta"))
    assert "either --model" in bad(*train(place, out, *model, "--init", tmp_path))
    assert "--head is missing; it is one of beta, multinomial, bernoulli" in bad(
        *train(place, out, *model[:2])
    )
    assert "batch_size is 0" in bad(*train(place, out, *model, "--batch-size", 0))
    assert "scenario 'all' is none of" in bad(*train(place, out, *model, "--scenario", "all"))
    assert "cannot be loaded" in bad(*train(place, out, "--model", tmp_path / "none", "--head", "beta"))
    assert "no ORCA checkpoint" in bad(*train(place, out, "--init", tmp_path))
    assert not out.exists()
    saved_checkpoint(tmp_path / "headless")
    (tmp_path / "headless" / "model" / "model_minus_lm.pt").unlink()
    score = "score", place / "dev.jsonl", "--checkpoint"
    assert "lacks its head" in bad(*score, tmp_path / "headless")
    saved_checkpoint(tmp_path / "whole")
    assert "its folder is not there" in bad(*score, tmp_path / "whole", "-o", tmp_path / "no" / "out.jsonl")
    assert "either --dev" in bad("clamp", place / "dev.jsonl")
    (tmp_path / "again").mkdir()
    for path in (tmp_path / "scored.jsonl", tmp_path / "again" / "scored.jsonl"):
        good(*score, tmp_path / "whole", "-o", path, "--device", "cpu")
    both = tmp_path / "scored.jsonl", tmp_path / "again" / "scored.jsonl"
    assert "two files have the same name" in bad("clamp", "--dev", *both)
    assert "written over" in bad("clamp", "--threshold", "0.01", both[0], "--output", tmp_path)
    assert "--threshold 2.0" in bad("clamp", "--threshold", "2", both[0])
    assert "no rating_orca" in bad("clamp", "--dev", place / "dev.jsonl")
    assert "composite 'best' is none of paper, released" in bad(
        "clamp", "--dev", place / "dev.jsonl", "--composite", "best"
    )


@pytest.mark.vectors
def test_a_released_checkpoint_scores_as_the_official_inference_does(shared: Path, tmp_path: Path) -> None:
    vectors = shared / "vectors" / "orca"
    if not (vectors / "inference.jsonl").is_file():
        pytest.skip(f"no {vectors / 'inference.jsonl'}")
    flags = {"--skip_question": ["--no-question"], "--add_transcript": ["--transcript"]}
    compared = 0
    for case in read(vectors / "inference.jsonl"):
        checkpoint = vectors / "checkpoints" / case["checkpoint"] / "model"
        more = [flag for option in case["options"] for flag in flags.get(option, [])]
        data, out = vectors / "checkpoints" / case["items"], tmp_path / "out.jsonl"
        good(
            "score", data, "--checkpoint", checkpoint, "-o", out, "--device", "cpu", "--released-rules", *more
        )
        rows = {row["id"]: row for row in read(out)}
        for expected in case["results"]:
            for name in ("rating_orca", "variance_orca", "params"):
                assert rows[expected["id"]][name] == pytest.approx(expected[name], abs=1e-4)
            compared += 1
    assert compared == 120


SOURCE = [
    {"id": "a", "question": "Who?", "reference": "x", "candidate": "x", "ratings": [0, 1], "scale": [0, 1],
     "rationale": "Wrong, no points.", "source": "s/one", "candidate_model": "m1"},
    {"id": "b", "question": "Why?", "reference": "x", "candidate": "y", "ratings": [2.5], "scale": [0, 5],
     "rationale": None, "source": "s/two", "candidate_model": "m2"},
    {"id": "c", "question": "When?", "reference": "x", "candidate": "z", "ratings": [1, 3], "scale": [1, 5],
     "rationale": ["good", "bad"], "source": "t", "candidate_model": "m3"},
    {"id": "d", "question": "Odd?", "reference": "x", "candidate": "z", "ratings": [1], "scale": [0, 1],
     "rationale": None, "source": "t", "improper_question": True, "candidate_model": "m3"},
]  # fmt: skip


def test_data_of_any_scale_become_training_data(tmp_path: Path) -> None:
    source = write(tmp_path / "rated.jsonl.gz", SOURCE)
    said = good("data", source, "-o", tmp_path / "out.jsonl").output
    assert "1 answers left out: the question is marked as flawed" in said
    rows = read(tmp_path / "out.jsonl")
    assert [row["ratings"] for row in rows] == [[1.0, 5.0], [3.0], [1.0, 3.0]]  # a zero stays, as the lowest
    assert [row["ratings_given"] for row in rows] == [[0, 1], [2.5], [1, 3]]
    # What a rater said tells the rating, so the model must not read it.
    assert [row["rationale"] for row in rows] == [None, None, None]
    assert [row.get("feedback") for row in rows] == ["Wrong, no points.", None, ["good", "bad"]]
    assert [item.ratings for item in read_items(tmp_path / "out.jsonl")] == [(1.0, 5.0), (3.0,), (1.0, 3.0)]
    good("data", source, "-o", tmp_path / "kept.jsonl", "--keep-rationale", "--sources", "s")
    assert [row["rationale"] for row in read(tmp_path / "kept.jsonl")] == ["Wrong, no points.", None]
    good("data", source, "-o", tmp_path / "several.jsonl", "--several-raters")
    assert [row["id"] for row in read(tmp_path / "several.jsonl")] == ["a", "c"]
    good("data", source, "-o", tmp_path / "some.jsonl", "--sample", "0", "--keep-improper")
    assert [row["id"] for row in read(tmp_path / "some.jsonl")] == ["a", "c"]
    assert "--sources u: not there; there are: s, t" in bad(
        "data", source, "-o", tmp_path / "no", "--sources", "u"
    )
    assert "two answers have the id a" in bad("data", source, source, "-o", tmp_path / "no")
    assert "no source" in bad("data", "-o", tmp_path / "no")
    assert "name the place" in bad("data", source)
    assert not (tmp_path / "no").exists()


def test_splits_have_no_common_question_or_model(tmp_path: Path) -> None:
    rows = [
        {**SOURCE[number % 3], "id": str(number), "question": f"Q{number // 3}", "candidate": f"{number}",
         "rationale": None}
        for number in range(60)
    ]  # fmt: skip
    source = write(tmp_path / "rated.jsonl", rows)
    said = good("data", source, "--split", "questions", "-o", tmp_path / "q").output
    assert "5 splits by questions" in said
    assert (
        "3 splits by models"
        in good("data", source, "--split", "models", "--held-out", "1", "-o", tmp_path / "m").output
    )
    for kind, count in (("q", 5), ("m", 3)):
        for number in range(count):
            parts = [
                read_items(tmp_path / kind / f"split_{number}" / f"{part}.jsonl")
                for part in ("train", "dev", "test")
            ]
            assert sum(map(len, parts)) == 60
            numbers = question_numbers([item for part in parts for item in part])
            of_parts = []
            for part in parts:
                of_parts.append(set(numbers[: len(part)]))
                numbers = numbers[len(part) :]
            assert not of_parts[0] & of_parts[1]
            if kind == "q":
                assert not (of_parts[0] | of_parts[1]) & of_parts[2]
            else:
                models = [{item.model for item in part} for part in parts]
                assert not (models[0] | models[1]) & models[2]
    assert "is there already" in bad("data", source, "--split", "questions", "-o", tmp_path / "q")
    assert "one of none, questions, models" in bad("data", source, "--split", "days", "-o", tmp_path / "d")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "q", "rated.jsonl"]


def test_the_real_data_lose_no_rating(shared: Path) -> None:
    source = shared / "data" / "answer_ratings" / "human_answer_ratings.jsonl.gz"
    if not source.is_file() or not (shared / "data" / "elitr_bench").is_dir():
        pytest.skip(f"no {source}")
    options = DataOptions(elitr=("gold", "silver"), data_dir=shared / "data", keep_improper=True)
    made = make_rows([source], options)
    assert made.notes == [] and len(made.rows) == 47244 + 390
    for row in made.rows:
        (low, high), given = row["scale_given"], row["ratings_given"]
        assert row["ratings"] == pytest.approx([1 + 4 * (rating - low) / (high - low) for rating in given])
    zeros = sum(row["ratings_given"].count(0) for row in made.rows)
    assert zeros > 10000
    elitr = made.rows[-390:]
    assert all(row["scale_given"] == [1, 10] and len(row["ratings"]) == 2 for row in elitr)
    assert len({row["candidate_model"] for row in elitr}) == 3
