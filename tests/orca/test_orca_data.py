"""Reading rated answers: scales, zeros, masks, the text that is read, and every kind of bad row."""

import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.orca import InputFormat, OrcaItem, read_items
from long_context_tasks.orca.data import check_trainable, item_of_row, to_training_scale
from long_context_tasks.orca.inputs import input_text
from long_context_tasks.schema import InputError

ROW = {"id": "a", "question": "Who?", "reference": "Anna", "candidate": "Ann", "rationale": "Two people."}


def _file(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_zero_ratings_are_kept() -> None:
    """In a scale that begins at 0 a zero is the lowest rating, not a missing one."""
    item = item_of_row({**ROW, "ratings": [0, 0, 1], "scale": [0, 1]})
    assert item.ratings == (1.0, 1.0, 5.0)
    assert item.unit_ratings == (0.0, 0.0, 1.0)
    assert item_of_row({**ROW, "ratings": [0, 0.0], "scale": [0, 5]}).unit_ratings == (0.0, 0.0)


def test_masked_ratings_count_for_nothing() -> None:
    item = item_of_row({**ROW, "ratings": [None, 4, None, 2, 3]})
    assert item.ratings == (4.0, 2.0, 3.0)
    assert item.rating_mean == 0.5
    assert item.rating_variance == statistics.variance([0.75, 0.25, 0.5])


@pytest.mark.parametrize("ratings", [[], [3], [1, 5], [1, 5, None]])
def test_below_three_ratings_there_is_no_variance(ratings: list[float | None]) -> None:
    item = item_of_row({**ROW, "ratings": ratings})
    assert item.rating_variance is None
    assert (item.rating_mean is None) == (not ratings)


@given(
    st.tuples(st.integers(-10, 10), st.integers(1, 100)), st.lists(st.floats(0, 1), min_size=1, max_size=6)
)
@settings(deadline=None)
def test_ratings_keep_their_place_on_every_scale(scale: tuple[int, int], shares: list[float]) -> None:
    low, high = scale[0], scale[0] + scale[1]
    ratings = [min(max(low + share * (high - low), low), high) for share in shares]
    item = item_of_row({**ROW, "ratings": ratings, "scale": [low, high]})
    assert len(item.ratings) == len(ratings)
    assert all(1 <= rating <= 5 for rating in item.ratings)
    assert [low + (high - low) * value for value in item.unit_ratings] == pytest.approx(ratings, abs=1e-9)
    order = [to_training_scale(rating, (low, high)) for rating in sorted(ratings)]
    assert order == sorted(order)


TEXT = st.text(max_size=30)


@given(
    st.builds(
        OrcaItem, id=TEXT, question=TEXT, reference=TEXT, candidate=TEXT, rationale=TEXT, transcription=TEXT
    )
)
@settings(deadline=None)
def test_every_part_is_in_the_text_as_it_is(item: OrcaItem) -> None:
    """Whatever stands in a field, braces and all, is written once and unchanged."""
    text = input_text(item)
    tail = f" |correct answer: {item.reference} |candidate answer: {item.candidate}"
    assert text == f" |context: {item.rationale} |question: {item.question}{tail}"
    assert input_text(item, InputFormat(question=False, rationale=False)) == tail
    assert input_text(item, InputFormat(prompt="P ")) == f"P {text}"
    with_transcript = input_text(item, InputFormat(transcript=True))
    spoken = "" if item.transcription is None else f"|transcription: {item.transcription} "
    assert with_transcript == f" |context: {spoken}{text.removeprefix(' |context: ')}"


def test_fields_for_splits() -> None:
    item = item_of_row({**ROW, "source": "semeval/beetle/train", "candidate_model": "fid", "question_id": 7})
    assert (item.domain, item.category, item.model, item.question_id) == (
        "semeval",
        "beetle/train",
        "fid",
        "7",
    )
    item = item_of_row({**ROW, "modality": "speech", "category": "counting", "source_model": "m0"})
    assert (item.domain, item.category, item.model) == ("speech", "counting", "m0")


def test_plain_and_gzipped_files_are_equal(tmp_path: Path) -> None:
    plain = _file(tmp_path, {**ROW, "ratings": [1]}, "", {**ROW, "id": "b", "ratings": [5]})
    packed = tmp_path / "answers.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    items = read_items(plain)
    assert items == read_items(packed)
    assert [item.id for item in items] == ["a", "b"]
    nameless = {name: value for name, value in ROW.items() if name != "id"}
    assert read_items(_file(tmp_path, ROW, nameless))[1].id == "row 2"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {**ROW, "ratings": [6]},
            r"row 2: the rating 6 is outside the scale 1 to 5 \(the row has no \"scale\"\)",
        ),
        ({**ROW, "ratings": [0]}, r"row 2: the rating 0 is outside the scale.*give \"scale\""),
        (
            {**ROW, "ratings": [11], "scale": [1, 10]},
            "row 2: the rating 11 is outside the scale 1 to 10; correct",
        ),
        ({**ROW, "ratings": [3, "4"]}, "row 2: ratings, item 2 must be a number; each row needs"),
        ({**ROW, "ratings": [True]}, "row 2: ratings, item 1 must be a number"),
        (
            '{"question": "q", "reference": "r", "candidate": "c", "ratings": [NaN]}',
            "row 2: ratings, item 1 must be a finite number",
        ),
        ({**ROW, "ratings": 4}, "row 2: ratings must be a list"),
        ({**ROW, "ratings": [4], "scale": [5, 1]}, "row 2: scale must rise from the lowest to the highest"),
        ({**ROW, "ratings": [4], "scale": "15"}, "row 2: scale must be a list"),
        (
            {"question": "q", "reference": "r", "ratings": [4]},
            "row 2: candidate is missing; each row needs question, reference and candidate",
        ),
        ({**ROW, "candidate": None}, "row 2: candidate must be text"),
        ({**ROW, "rationale": 3}, "row 2: rationale must be text"),
        ("{", "row 2: not JSON"),
        ("[]", "row 2: must be keys and values"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_items(_file(tmp_path, {**ROW, "ratings": [4]}, row))
    assert "answers.jsonl" in str(error.value)


@pytest.mark.parametrize("ratings", [[], [None], None])
def test_training_needs_a_rating_in_every_row(tmp_path: Path, ratings: object) -> None:
    path = _file(tmp_path, {**ROW, "ratings": [4]}, {**ROW, "id": "b", "ratings": ratings})
    assert len(read_items(path)) == 2
    with pytest.raises(InputError, match="row 2: no rating"):
        read_items(path, need_ratings=True)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [{**ROW, "id": "b"}, ROW, {**ROW, "candidate": "another"}],
            "row 3: the id 'a' also belongs to {path}, row 2",
        ),
        # A row without an id is called by its place, which may be the id of another.
        (
            [{**ROW, "id": "row 2"}, {name: ROW[name] for name in ROW if name != "id"}],
            "row 2: the id 'row 2' also belongs to {path}, row 1",
        ),
    ],
)
def test_two_answers_of_one_id_are_refused(tmp_path: Path, rows: list[Any], told: str) -> None:
    path = _file(tmp_path, *rows)
    with pytest.raises(InputError) as error:
        read_items(path)
    assert str(error.value).startswith(
        f"{path}, {told.format(path=path)}"
    ) and "remove one of the rows" in str(error.value)
    assert len(read_items(path, rules="released")) == len(rows)


def test_data_that_teach_nothing() -> None:
    none, low = item_of_row(ROW), item_of_row({**ROW, "ratings": [0, 0], "scale": [0, 1]})
    with pytest.raises(InputError, match=r"train\.jsonl: no ratings in 2 rows"):
        check_trainable([none, none], "train.jsonl")
    with pytest.raises(InputError, match=r"every rating is 1 .*one class only"):
        check_trainable([low, none], "train.jsonl")
    check_trainable([low, item_of_row({**ROW, "ratings": [2]})], "train.jsonl")


def test_released_rules_read_what_the_released_code_reads() -> None:
    row = {**ROW, "candidate": None, "ratings": [0, -1, 6, None, 3]}
    item = item_of_row(row, rules="released")
    assert item.ratings == (0.0, 3.0)
    assert input_text(item).endswith("|candidate answer: None")
