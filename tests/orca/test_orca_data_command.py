"""`lct orca data`: ratings of any scale become training data, in parts that have nothing in common."""

import json
from pathlib import Path

import pytest
from json_lines import read_rows, write_rows
from orca_commands import bad, good

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.elitr_bench.paper import rated_answers
from long_context_tasks.orca import read_items
from long_context_tasks.orca.preparation import DataSettings, prepare

pytestmark = pytest.mark.slow

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
    source = write_rows(tmp_path / "rated.jsonl.gz", SOURCE)
    said = good("data", source, "-o", tmp_path / "out.jsonl").output
    assert "1 answers left out: the question is marked as flawed" in said
    assert "1 rationales went to `feedback`" in said and "give --keep-rationale" in said
    rows = read_rows(tmp_path / "out.jsonl")
    assert [row["ratings"] for row in rows] == [[1.0, 5.0], [3.0], [1.0, 3.0]]  # a zero stays, as the lowest
    assert [row["ratings_given"] for row in rows] == [[0, 1], [2.5], [1, 3]]
    # What a rater said tells the rating, so the model must not read it.
    assert [row["rationale"] for row in rows] == [None, None, None]
    assert [row.get("feedback") for row in rows] == ["Wrong, no points.", None, ["good", "bad"]]
    assert [item.ratings for item in read_items(tmp_path / "out.jsonl")] == [(1.0, 5.0), (3.0,), (1.0, 3.0)]
    good("data", source, "-o", tmp_path / "kept.jsonl", "--keep-rationale", "--keep-improper")
    assert [row["rationale"] for row in read_rows(tmp_path / "kept.jsonl")] == [
        "Wrong, no points.",
        *[None] * 3,
    ]
    assert f"{source}, row 1: the id 'a' also belongs to {source}, row 1" in bad(
        "data", source, source, "-o", tmp_path / "no"
    )
    other = write_rows(tmp_path / "other.jsonl", [{**SOURCE[0], "id": "z"}, SOURCE[1]])
    assert f"{other}, row 2: the id 'b' also belongs to {source}, row 2" in bad(
        "data", source, other, "-o", tmp_path / "no"
    )
    assert "no source" in bad("data", "-o", tmp_path / "no")
    empty = write_rows(tmp_path / "empty.jsonl", [])
    assert f"no rows in {empty}" in bad("data", empty, "-o", tmp_path / "no")
    unrated = write_rows(tmp_path / "unrated.jsonl", [{**SOURCE[0], "ratings": []}])
    assert "(1 answers left out: no rating)" in bad("data", unrated, "-o", tmp_path / "no")
    assert "Missing option '--out'" in bad("data", source)
    assert "--raters goes with --published" in bad("data", "-o", tmp_path / "no", "--raters", "gold")
    assert "no benchmark of this name" in bad("data", "-o", tmp_path / "no", "--published", "x")
    assert not (tmp_path / "no").exists()


def test_splits_have_no_common_question_or_model(tmp_path: Path) -> None:
    rows = [
        {**SOURCE[number % 3], "id": str(number), "question": f"Q{number // 3}", "candidate": f"{number}",
         "rationale": None}
        for number in range(60)
    ]  # fmt: skip
    source = write_rows(tmp_path / "rated.jsonl", rows)
    said = good("data", source, "--split", "questions", "-o", tmp_path / "q").output
    assert "5 splits by questions" in said
    assert (
        "3 splits by models"
        in good("data", source, "--split", "models", "--held-out", "1", "-o", tmp_path / "m").output
    )
    for kind, count in (("q", 5), ("m", 3)):
        for number in range(count):
            folder = tmp_path / kind / f"split_{number}"
            parts = [read_items(folder / f"{part}.jsonl") for part in ("train", "dev", "test")]
            assert sum(map(len, parts)) == 60
            train, dev, test = (
                {item.question if kind == "q" else item.model for item in part} for part in parts
            )
            assert not (train | dev) & test
    assert "exists; name a new folder" in bad("data", source, "--split", "questions", "-o", tmp_path / "q")
    assert "split must be 'none', 'questions' or 'models'" in bad(
        "data", source, "--split", "days", "-o", tmp_path / "d"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "q", "rated.jsonl"]


def test_a_training_part_of_one_class_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Also where other parts have several; a file that is not split may be there to be scored."""
    rows = [
        {**SOURCE[1], "id": str(number), "question": f"Q{number}", "ratings": [3], "candidate_model": f"m{number % 3}"}
        for number in range(20)
    ]  # fmt: skip
    same = write_rows(tmp_path / "same.jsonl", rows)
    for split in ("questions", "models"):
        said = bad("data", same, "--split", split, "--held-out", "1", "-o", tmp_path / "parts")
        assert "split_0" in said and "one class only" in said and "nothing is written" in said
    rows[0]["ratings"] = [4]
    once = write_rows(tmp_path / "once.jsonl", rows)
    # One of the models has the one other rating, so that it is in no training part without that model.
    assert "its training part" in bad(
        "data", once, "--split", "models", "--held-out", "1", "-o", tmp_path / "parts"
    )
    whole = good("data", same, "-o", tmp_path / "whole.jsonl").output
    assert "note: every rating is" in whole and "`lct orca train` refuses these" in whole
    told = json.loads(good("data", once, "-o", tmp_path / "twice.jsonl", "--json").stdout)["result"]
    assert told == {"out": str(tmp_path / "twice.jsonl"), "answers": 20, "notes": []}
    assert "note" not in good("data", once, "-o", tmp_path / "twice.jsonl").output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "once.jsonl",
        "same.jsonl",
        "twice.jsonl",
        "whole.jsonl",
    ]


def test_the_real_data_lose_no_rating(shared: Path) -> None:
    source = shared / "data" / "answer_ratings" / "human_answer_ratings.jsonl.gz"
    if not source.is_file() or not (shared / "data" / "elitr_bench").is_dir():
        pytest.skip(f"no {source}")
    options = resolve_options({"lct_data_dir": shared / "data"})
    rows, notes = prepare([source], DataSettings(keep_improper=True), rated_answers(options))
    assert [note.split(",")[0] for note in notes] == ["2050 rationales went to `feedback`"]
    assert len(rows) == 47244 + 390
    for row in rows:
        (low, high), given = row["scale_given"], row["ratings_given"]
        assert row["ratings"] == pytest.approx([1 + 4 * (rating - low) / (high - low) for rating in given])
    zeros = sum(row["ratings_given"].count(0) for row in rows)
    assert zeros > 10000
    elitr = rows[-390:]
    assert all(row["scale_given"] == [1, 10] and len(row["ratings"]) == 2 for row in elitr)
    assert len({row["candidate_model"] for row in elitr}) == 3


def test_no_source_is_written_over(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rated.jsonl", SOURCE)
    before = source.read_bytes()
    assert "is a source" in bad("data", source, "-o", tmp_path / "." / "rated.jsonl")
    assert source.read_bytes() == before
