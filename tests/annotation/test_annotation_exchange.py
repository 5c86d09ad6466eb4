"""Files in and out: round trips, ORCA's training data, POTATO, and files edited by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotation_study import HOSTILE, annotations, answer_potato, make_study
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_context_tasks.annotation import (
    AnnotationStudy,
    create,
    load_scale,
    open_study,
    read_documents,
    read_questions,
)
from long_context_tasks.annotation.exchange import (
    annotation_rows,
    label_rows,
    read_annotations,
    read_reviews,
    review_rows,
    training_rows,
    write_rows,
)
from long_context_tasks.annotation.potato import export_potato, import_potato, item_id, potato_config
from long_context_tasks.annotation.scale import SHIPPED, Scale
from long_context_tasks.annotation.study import Annotation, ExpertReview, Incoming, StudyQuestion
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import validated

CANDIDATES = [f"q{n}/{model}" for n in (1, 2, 3) for model in ("small", "large/x")]
ROUND_TRIP = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(st.data())
@ROUND_TRIP
def test_annotations_survive_the_study_and_a_file(tmp_path: Path, data: st.DataObject) -> None:
    path, file = tmp_path / "s.json", tmp_path / "a.jsonl"
    path.unlink(missing_ok=True)
    given_ = data.draw(annotations(CANDIDATES))
    make_study(path, said=given_)
    study = open_study(path)
    assert sorted(study.annotations(), key=repr) == sorted(given_, key=repr)
    assert study.annotate(given_) == 0  # the same again changes nothing
    assert write_rows(file, annotation_rows(study)) == len(given_)
    assert read_annotations(file, study.scale) == study.annotations()


@given(st.data())
@ROUND_TRIP
def test_annotations_survive_potato(
    tmp_path_factory: pytest.TempPathFactory, study: AnnotationStudy, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("potato")
    # An annotator is a folder there.
    given_ = [one for one in data.draw(annotations(CANDIDATES)) if one.annotator.isalnum()]
    if not given_:
        return
    answer_potato(folder, given_)
    collected = import_potato(folder, study)
    assert sorted(collected.annotations, key=repr) == sorted(given_, key=repr) and not collected.withdrawn
    assert collected.annotators == sorted({one.annotator for one in given_})


def test_answers_taken_back_in_potato_are_named(study: AnnotationStudy, tmp_path: Path) -> None:
    folder = tmp_path / "annotation_output" / "ana"
    folder.mkdir(parents=True)
    (folder / "user_state.json").write_text('{"instance_id_to_label_to_value": {}}')
    with pytest.raises(InputError, match="no annotations yet"):
        import_potato(tmp_path, study)
    at = "2026-01-02T03:04:05Z"
    answer_potato(tmp_path, [Annotation(key, "ana", 4, at=at) for key in ("q1/small", "q2/small")])
    with (folder / "annotation_history.jsonl").open("a") as file:
        file.write('{"action_id": "cut by a crash\n')
    empty = [[{"schema": "comment", "name": "text_box"}, ""]]
    state = {"instance_id_to_label_to_value": {item_id("q3/small"): empty}}  # POTATO drops the others
    (folder / "user_state.json").write_text(json.dumps(state))
    collected = import_potato(tmp_path, study)
    assert not collected.annotations
    assert sorted(collected.withdrawn) == [(f"q{n}/small", "ana") for n in (1, 2, 3)]


def test_answers_to_another_study_are_refused(study: AnnotationStudy, tmp_path: Path) -> None:
    answer_potato(tmp_path, [Annotation("q9/small", "ana", 4)])
    with pytest.raises(InputError, match=r"ana/user_state\.json, item [0-9a-f]{16}: not a candidate of"):
        import_potato(tmp_path, study)


def _items(project: Path) -> list[dict[str, str]]:
    lines = (project / "data" / "items.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def _config(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((project / "config.yaml").read_text())
    return found


def test_potato_gets_whole_texts_and_no_name_of_a_model(study: AnnotationStudy, tmp_path: Path) -> None:
    long = "a\tb   c\n" * 60_000
    fourth = Incoming(StudyQuestion("q4", "?", "r", document="d2"), ((None, "small", "x"),), "4")
    study.add([fourth], {"d2": long})
    assert export_potato(study, tmp_path / "p") == 7
    items = _items(tmp_path / "p")
    assert "small" not in "".join(item["id"] for item in items) and "large" not in "".join(items[0])
    shown = [item for item in items if item["question"].startswith("Question 1?")]
    assert {item["answer"] for item in shown} == {f"Answer small 1 {HOSTILE}", "A longer answer, large 1"}
    assert {item["document"] for item in shown} == {f"The document. {HOSTILE}\n\nIts end."}
    assert {item["rationale"] for item in items} == {HOSTILE, "Because.", "(none)"}
    assert items[-1]["document"] == long  # above 400,000 characters
    fields = _config(tmp_path / "p")["instance_display"]["fields"]
    # Texts are escaped and keep their blanks; what no item has is not shown.
    assert [field["key"] for field in fields] == ["question", "reference", "rationale", "answer", "document"]
    assert {field["type"] for field in fields} == {"text"}
    assert all(field["display_options"]["max_height"] for field in fields)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".s.json.lock", "p", "s.json"]


def test_potato_shows_documents_together_and_models_in_no_order(tmp_path: Path) -> None:
    texts = {f"d{n}": f"Document {n}" for n in range(5)}
    questions = [
        Incoming(
            StudyQuestion(f"q{n}", f"Question {n}?", "r", document=f"d{n % 5}"),
            tuple((None, model, f"answer of {model}") for model in ("small", "large")),
            "row",
        )
        for n in range(20)
    ]
    create(tmp_path / "many.json", load_scale(), questions, texts)
    assert export_potato(open_study(tmp_path / "many.json"), tmp_path / "p", 3) == 40
    items, config = _items(tmp_path / "p"), _config(tmp_path / "p")
    blocks = [item["document"] for item in items]
    assert [text for n, text in enumerate(blocks) if blocks[n - 1] != text] == list(texts.values())
    pairs = list(zip(items[::2], items[1::2], strict=True))
    assert all(first["question"] == second["question"] for first, second in pairs)
    assert {first["answer"] for first, _ in pairs} == {"answer of small", "answer of large"}
    assert config["num_annotators_per_item"] == 3 and config["assignment_strategy"] == "random"


def test_a_second_export_keeps_answers_and_settings(study: AnnotationStudy, tmp_path: Path) -> None:
    project = tmp_path / "p"
    export_potato(study, project, 2)
    answer_potato(project, [Annotation(key, "ana", 4) for key in CANDIDATES], done=True)
    answer_potato(project, [Annotation("q1/small", "ben", 3)])
    state = project / "annotation_output" / "ana" / "user_state.json"
    before, config = state.read_text(), _config(project)
    export_potato(study, project)
    assert state.read_text() == before and _config(project) == config  # nothing is new to ana
    config["require_password"] = True
    (project / "config.yaml").write_text(yaml.safe_dump(config))
    study.review([ExpertReview(question_id="q2", decision="correct", reference="Another")], "eva")
    study.add([Incoming(study.questions()[1], ((None, "small", "new"),), "row")])
    assert export_potato(study, project) == 5
    assert _config(project) == config and config["num_annotators_per_item"] == 2
    assert {item["reference"] for item in _items(project)} == {"Reference 1", "Another", "Reference 3"}
    assert json.loads(state.read_text()) == {
        **json.loads(before),
        "current_phase_and_page": ["annotation", None],
    }
    assert len(import_potato(project, study).annotations) == 7  # those of q2 before its correction, too
    export_potato(study, project, 5)
    assert _config(project) == {**config, "num_annotators_per_item": 5}


def test_an_export_into_something_else_is_refused(study: AnnotationStudy, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="exists and is not a POTATO project"):
        export_potato(study, tmp_path / "empty")
    create(
        tmp_path / "other.json",
        load_scale(),
        [Incoming(StudyQuestion("x", "?", "r"), ((None, "m", "a"),), "row")],
    )
    export_potato(open_study(tmp_path / "other.json"), tmp_path / "p")
    before = (tmp_path / "p" / "data" / "items.jsonl").read_text()
    with pytest.raises(InputError, match=r"items\.jsonl, row 1: not an item of"):
        export_potato(study, tmp_path / "p")
    assert (tmp_path / "p" / "data" / "items.jsonl").read_text() == before


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scales(name: str) -> None:
    scale = load_scale(name)
    assert validated(Scale, scale.as_row(), "again") == scale
    if scale.writes:
        assert scale.values == () and scale.bounds == (0, 0)
        assert [each["name"] for each in potato_config(scale)["annotation_schemes"]] == [
            "comment",
            "feedback",
        ]
        return
    assert scale.bounds == ((1, 10) if name == "elitr_bench" else (1, 5))
    labels = potato_config(scale)["annotation_schemes"][0]["labels"]
    assert [label["name"] for label in labels] == [str(value) for value in scale.values]
    # The words are on the page, not only in a tooltip.
    for step in scale.steps:
        for value in step.values:
            assert step.text in next(each["displayed_label"] for each in labels if each["name"] == str(value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "unknown key 'colour'"),
        ({"scale": []}, "scale must hold 2 to 11"),
        ({"scale": [{"values": [1]}, {"values": [3]}]}, "consecutive"),
        ({"scale": [{"values": ["1"]}]}, "scale, item 1, values, item 1 must be a whole number"),
        ({"codes": {"Q": {"label": "x"}}}, "exactly Q, A, R, U, E"),
        ({"title": 3}, "title must be text"),
    ],
)
def test_a_wrong_scale_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validated(Scale, {**load_scale().as_row(), **change}, "s.yaml")


GOOD = {"candidate": "q1/small", "annotator": "ana", "rating": 4, "codes": "A", "comment": "", "at": ""}
WHOLE = "rating must be a whole number"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": 7}, ".*rating 7 is not a whole number from 1 to 5"),
        ({"rating": "4"}, WHOLE),
        ({"rating": 3.5}, WHOLE),
        ({"rating": float("nan")}, WHOLE),
        ({"codes": "X"}, ".*codes 'X' are not among"),
        ({"annotator": ""}, "annotator is empty"),
        ({"rateing": 4}, "rateing is not a known key"),
        ({"annotator": "ana"}, "ana also annotated q1/small in .*row 1"),
        ({"rating": None, "codes": ""}, ".*it is empty"),
        ({"rating": None, "codes": "", "comment": "  "}, ".*it is empty"),
        ('{"item": "q1/small",', "not JSON"),
        ("[]", "must be keys and values"),
    ],
)
def test_annotations_edited_by_hand_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    line = change if isinstance(change, str) else json.dumps({**GOOD, "annotator": "b", **change})
    file = tmp_path / "a.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n{line}\n")
    with pytest.raises(InputError, match=f"a.jsonl, row 2: {message}"):
        read_annotations(file, load_scale())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[{"schema": "rating"}, "4"]], "not as POTATO writes it"),
        (
            [[{"schema": "rating", "name": "4"}, "4"], [{"schema": "rating", "name": "5"}, "5"]],
            "one number is needed",
        ),
        ([[{"schema": "rating", "name": "9"}, "9"]], "rating 9 is not a whole number"),
        ([[{"schema": "feedback", "name": "Z"}, "Z"]], "unknown feedback Z"),
        (None, "a file as POTATO writes it"),
    ],
)
def test_potato_files_edited_by_hand_are_refused(
    study: AnnotationStudy, tmp_path: Path, given: Any, message: str
) -> None:
    (tmp_path / "ana").mkdir()
    state = json.dumps({"instance_id_to_label_to_value": {"q1/small": given}})
    (tmp_path / "ana" / "user_state.json").write_text("{" if given is None else state)
    with pytest.raises(InputError, match=message):
        import_potato(tmp_path, study)


def test_training_data_are_read_by_orca(tmp_path: Path) -> None:
    data = pytest.importorskip("long_context_tasks.orca.data", reason="the ORCA judge is not there")
    study = make_study(
        tmp_path / "s.json",
        "elitr_bench",
        [
            Annotation("q1/small", "ana", 10),
            Annotation("q1/small", "ben", 1),
            Annotation("q2/small", "ana", None, "E"),
            Annotation("q3/large/x", "ana", 4),
        ],
    )
    study.review([ExpertReview(question_id="q3", decision="remove")], "eva")
    assert write_rows(tmp_path / "t.jsonl", training_rows(study)) == 1
    [item] = data.read_items(tmp_path / "t.jsonl", need_ratings=True)
    assert (item.id, item.ratings, item.model, item.question_id) == ("q1/small", (5.0, 1.0), "small", "q1")
    assert item.rationale == HOSTILE and (item.domain, item.category) == ("speech", "who")


def test_reviews_go_out_and_come_back(study: AnnotationStudy, tmp_path: Path) -> None:
    study.annotate([Annotation("q1/small", "ana", 2, "R", "wrong date"), Annotation("q2/small", "ana", 5)])
    rows = review_rows(study)
    assert [row["question_id"] for row in rows] == ["q1", "q3"]  # flagged, and never annotated
    assert rows[0]["flags"][0]["comment"] == "wrong date" and len(review_rows(study, every=True)) == 3
    write_rows(tmp_path / "r.jsonl", rows)
    assert study.review(read_reviews(tmp_path / "r.jsonl"), "eva") == (0, 0)
    assert review_rows(study) == []  # decided
    study.annotate([Annotation("q1/large/x", "ben", 2, "Q", "", "2999-01-01T00:00:00Z")])
    assert [row["flags"][0]["annotator"] for row in review_rows(study)] == ["ben"]  # what came later
    for change, message in (
        ({"decision": "maybe"}, "decision must be 'keep'"),
        ({"question": ""}, "question is empty"),
        ({"refrence": "x"}, "unknown key 'refrence'; did you mean reference"),
        ({"version": "1"}, "version must be a whole number"),
        ({"flags": [3]}, "flags, item 1 must be keys and values; leave version and flags as"),
    ):
        (tmp_path / "r.jsonl").write_text(json.dumps({**rows[0], **change}))
        with pytest.raises(InputError, match=f"r.jsonl, row 1: {message}"):
            read_reviews(tmp_path / "r.jsonl")


def test_flat_rows_of_one_question_are_joined(tmp_path: Path) -> None:
    base = {"question_id": "q", "question": "Q?", "reference": "R"}
    flat = [{**base, "id": f"q-{m}", "candidate": m, "candidate_model": m} for m in ("a", "b")]
    file = tmp_path / "q.jsonl"
    file.write_text("\n".join(map(json.dumps, flat)))
    [one] = read_questions(file)
    assert one.candidates == (("q-a", "a", "a"), ("q-b", "b", "b"))
    assert create(tmp_path / "s.json", load_scale(), [one]) == (1, 2)
    assert list(open_study(tmp_path / "s.json").answers) == ["q-a", "q-b"]
    file.write_text("\n".join(map(json.dumps, [flat[0], {**flat[1], "reference": "Other"}])))
    with pytest.raises(InputError, match="row 2: reference of question q differs from version 1"):
        create(tmp_path / "other.json", load_scale(), read_questions(file))


ASKED = {"id": "q", "question": "Q", "reference": "R"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference": None}, "reference must be text"),
        ({"question": " "}, "question is empty"),
        ({"id": "a\nb"}, "id must be a short text"),
        ({"question_id": "q", "candidate": "A"}, "candidate_model is missing"),
        ({"candidate": "A", "candidate_model": "m"}, "question_id is missing"),
        ({"candidates": {"m": "x"}}, "candidates must be a list"),
        ({"candidates": [{"model": "m"}]}, "candidates, item 1, text is missing"),
        ({"candidate": "A", "candidates": []}, "has both candidate and candidates"),
    ],
)
def test_wrong_questions_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({**ASKED, **change}))
    with pytest.raises(InputError, match=f"q.jsonl, row 1(: |, ){message}"):
        read_questions(tmp_path / "q.jsonl")


def test_documents_come_from_a_folder_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "m1.txt").write_text("one")
    (tmp_path / "d.jsonl").write_text('{"id": "m1", "text": "one"}')
    assert read_documents(tmp_path) == read_documents(tmp_path / "d.jsonl") == {"m1": "one"}


@pytest.mark.parametrize("how", ["in between", "from another machine"])
def test_a_flag_that_the_expert_did_not_see_is_shown_again(
    study: AnnotationStudy, tmp_path: Path, how: str
) -> None:
    """An annotation after the review file was written, or with an older time, imported after the decision."""
    study.annotate([Annotation("q1/small", "ana", 2, "R", at="2026-01-01T10:00:00Z")])
    write_rows(tmp_path / "r.jsonl", review_rows(study, every=True))
    later = [Annotation("q1/small", "ben", 1, "Q", at="2026-01-01T09:00:00Z")]
    if how == "in between":
        study.annotate(later)
    study.review(read_reviews(tmp_path / "r.jsonl"), "eva")
    if how != "in between":
        assert review_rows(study) == []
        study.annotate(later)
    [row] = review_rows(study)
    assert row["question_id"] == "q1" and [each["annotator"] for each in row["flags"]] == ["ben"]
    write_rows(tmp_path / "r.jsonl", [row])
    study.review(read_reviews(tmp_path / "r.jsonl"), "eva")
    assert review_rows(study) == []
    # Who says something else of it asks anew.
    study.annotate([Annotation("q1/small", "ana", 2, "R", "Look again")])
    assert [row["question_id"] for row in review_rows(study)] == ["q1"]


def test_a_decision_without_its_flags_answers_all_that_there_are(study: AnnotationStudy) -> None:
    study.annotate([Annotation(f"q{n}/small", "ana", 2, "R") for n in (1, 2, 3)])
    study.review([ExpertReview(question_id="q1", decision="keep")], "eva")
    assert [row["question_id"] for row in review_rows(study)] == ["q2", "q3"]


ROWS_OF_ONE = {
    "documents": (read_documents, '{"id": "d", "text": "x"}', "document d is in an earlier row too"),
    "reviews": (
        read_reviews,
        '{"question_id": "q", "decision": "keep"}',
        "question q is in an earlier row too",
    ),
}


@pytest.mark.parametrize("kind", ROWS_OF_ONE)
def test_files_without_rows_or_with_one_row_twice_are_refused(tmp_path: Path, kind: str) -> None:
    reader, row, message = ROWS_OF_ONE[kind]
    (tmp_path / "f.jsonl").write_text("\n")
    with pytest.raises(InputError, match=r"f\.jsonl: no rows; expected {"):
        reader(tmp_path / "f.jsonl")
    (tmp_path / "f.jsonl").write_text(f"{row}\n{row}\n")
    with pytest.raises(InputError, match=f"f.jsonl, row 2: {message}"):
        reader(tmp_path / "f.jsonl")


def test_folders_without_readable_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no \.txt files"):
        read_documents(tmp_path)
    (tmp_path / "m1.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"m1\.txt: cannot be read .*save it as UTF-8"):
        read_documents(tmp_path)


def test_a_project_without_candidates_or_with_a_foreign_configuration_is_refused(
    study: AnnotationStudy, tmp_path: Path
) -> None:
    create(tmp_path / "empty.json", load_scale(), [Incoming(StudyQuestion("x", "?", "r"), (), "row")])
    with pytest.raises(InputError, match="no candidates to annotate"):
        export_potato(open_study(tmp_path / "empty.json"), tmp_path / "none")
    export_potato(study, tmp_path / "p")
    (tmp_path / "p" / "config.yaml").write_text("port: 8000\n")
    with pytest.raises(InputError, match="no instance_display in it"):
        export_potato(study, tmp_path / "p")


def test_labels_come_from_a_study_of_labels_only(study: AnnotationStudy) -> None:
    with pytest.raises(InputError, match="holds ratings and no labels"):
        label_rows(study)
