"""The study's file: all or nothing, checked when it is opened, corrections with history."""

import json
import multiprocessing
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from annotation_study import incoming, make_study

from long_context_tasks.annotation import AnnotationStudy, changing, create, load_scale, open_study
from long_context_tasks.annotation.prepare import without_candidate, without_rationale
from long_context_tasks.annotation.study import Annotation, ExpertReview, Incoming, StudyQuestion
from long_context_tasks.schema import InputError

SMALL = "q1/small"
MISSING_DOCUMENT = Incoming(StudyQuestion("q4", "Q", "R", document="none"), (), "row 9")


def decide(question: str, decision: str, **more: Any) -> ExpertReview:
    return ExpertReview.model_validate({"question_id": question, "decision": decision, **more})


def test_a_change_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    make_study(tmp_path / "s.json")
    before = (tmp_path / "s.json").read_bytes()
    good = Annotation(SMALL, "ana", 3)
    for bad, message in (
        (Annotation("q9", "ana", 3), "no candidate q9"),
        (Annotation("q1/large/x", "ana", 6), "rating 6 is not a whole number from 1 to 5"),
    ):
        with pytest.raises(InputError, match=message), changing(tmp_path / "s.json") as study:
            study.annotate([good, bad])
    with pytest.raises(InputError, match="row 9: document none is missing"), changing(study.path) as study:
        study.add([Incoming(StudyQuestion("q5", "Q", "R"), (), "row 8"), MISSING_DOCUMENT])
    assert (tmp_path / "s.json").read_bytes() == before


def test_earlier_contents_are_skipped_and_never_changed(study: AnnotationStudy) -> None:
    assert study.add(incoming()) == (0, 0)
    with pytest.raises(InputError, match="row 1: question of question q1 differs"):
        study.add([Incoming(StudyQuestion("q1", "Another?", "Reference 1"), (), "row 1")])
    with pytest.raises(InputError, match="small has a different answer"):
        study.add([Incoming(incoming()[0].question, ((None, "small", "new"),), "row 1")])
    with pytest.raises(InputError, match="the id q1/small belongs to another candidate"):
        study.add([Incoming(incoming()[1].question, ((SMALL, "third", "new"),), "row 1")])
    with pytest.raises(InputError, match="document d1 is in the study with a different text"):
        study.add([], {"d1": "other"})
    with pytest.raises(InputError, match=r"s\.json: exists"):
        create(study.path, load_scale())
    study.annotate([Annotation(SMALL, "ana", 3)])
    with pytest.raises(InputError, match="--replace"):
        study.annotate([Annotation(SMALL, "ana", 4)], may_replace=False)


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 9: document none is missing"):
        create(tmp_path / "s.json", load_scale(), [MISSING_DOCUMENT])
    assert not list(tmp_path.iterdir())


def _annotate(path: Path, name: str, n: int) -> None:
    for rating in range(n):
        with changing(path) as study:
            study.annotate([Annotation(SMALL, f"{name}{rating}", 1)])


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    make_study(tmp_path / "s.json")
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_annotate, args=(tmp_path / "s.json", name, 8)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(open_study(tmp_path / "s.json").annotations()) == 16


def test_a_process_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    make_study(path, said=[Annotation(SMALL, "before", 3)])
    code = f"""
import os, signal
from pathlib import Path
from long_context_tasks.annotation import changing
from long_context_tasks.annotation.study import Annotation

with changing(Path({str(path)!r})) as study:
    study.annotate([Annotation({SMALL!r}, "ana", 4)])
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    _annotate(path, "after", 1)  # the lock died with the process
    assert [one.annotator for one in open_study(path).annotations()] == ["after0", "before"]


@pytest.mark.parametrize(
    ("part", "edit", "message"),
    [
        ("annotations", {"rating": 9}, "rating 9 is not a whole number from 1 to 5"),
        ("annotations", {"rating": "good"}, "annotations, item 1, rating must be a whole number"),
        ("annotations", {"codes": "XQ"}, "codes 'XQ' are not among"),
        ("annotations", {"annotator": " a"}, "a name has"),
        ("annotations", {"candidate": "gone"}, "candidate gone of an annotation is missing"),
        ("questions", {"rationale": 3}, "questions, item 1, rationale must be text"),
        ("questions", {"version": 2}, "the versions of question q1 are not 1, 2"),
        ("questions", {"document": "gone"}, "document gone of question q1 is missing"),
        ("candidates", {"question_id": "gone"}, "the question of candidate q1/small is missing"),
        ("candidates", {"id": "q1/large/x"}, "a candidate or an annotation is there twice"),
        ("reviews", {"version": 7}, "question q1 of a review is missing"),
        ("reviews", {"decision": "maybe"}, "reviews, item 1, decision must be"),
        ("scale", {"scale": []}, "scale, scale must hold 2 to 11"),
    ],
)
def test_a_study_edited_by_hand_is_refused(
    tmp_path: Path, part: str, edit: dict[str, Any], message: str
) -> None:
    path = tmp_path / "s.json"
    make_study(path, said=[Annotation(SMALL, "ana", 3, "A")])
    with changing(path) as study:
        study.review([decide("q1", "correct", reference="Another")], "eva")
    content = json.loads(path.read_text())
    target = content[part]
    (target if isinstance(target, dict) else target[0]).update(edit)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert str(path) in str(caught.value) and message in str(caught.value)
    assert str(caught.value).count("edited by hand") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such study"),
        ("hello", "not JSON"),
        ("{}", "study is missing"),
        ('{"study": 7}', "study must be 1"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "file").write_text(content)
    with pytest.raises(InputError, match=message):
        open_study(tmp_path / "file")


def test_a_correction_makes_a_version_that_needs_candidates(study: AnnotationStudy) -> None:
    study.annotate([Annotation(SMALL, "ana", 2, "R"), Annotation("q2/small", "ana", 5)])
    correction = decide("q1", "correct", reference="Better", rationale="So.", note="typo", version=1)
    assert study.review([correction], "eva") == (1, 2)
    assert [one.id for one in without_candidate(study, "small")] == ["q1"]
    assert SMALL not in {one.id for one in study.candidates(current=True)}
    assert [(one.version, one.reference) for one in study.questions() if one.id == "q1"] == [(2, "Better")]
    assert study.add_answers("small", [(study.questions()[0], "Again")]) == 1
    assert "q1@2/small" in {one.id for one in study.candidates(current=True)}
    [entry] = study.reviews
    assert entry.changes["reference"] == {"old": "Reference 1", "new": "Better"}
    assert (entry.editor, entry.note, entry.version) == ("eva", "typo", 1)
    assert len(study.annotations()) == 2  # nothing is thrown away


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (decide("q1", "remove", version=1), "is at version 2, the review is of version 1"),
        (decide("q1", "correct", reference="Better"), "changes nothing"),
        (decide("q1", "keep", reference="Other"), "the decision is keep"),
        (decide("q9", "keep"), "no question q9"),
    ],
)
def test_a_wrong_review_is_refused(study: AnnotationStudy, review: ExpertReview, message: str) -> None:
    study.review([decide("q1", "correct", reference="Better")], "eva")
    with pytest.raises(InputError, match=message):
        study.review([review], "eva")
    with pytest.raises(InputError, match="--editor: a name has"):
        study.review([], " ")


def test_the_last_decision_counts(study: AnnotationStudy) -> None:
    study.review([decide("q2", "remove")], "eva")
    assert [one.id for one in study.questions()] == ["q1", "q3"]
    assert "q2/small" not in {one.id for one in study.candidates(current=True)}
    study.review([decide("q2", "keep")], "eva")
    assert "q2/small" in {one.id for one in study.candidates(current=True)}


def test_rationales_are_filled_in_only_before_people_saw_the_question(study: AnnotationStudy) -> None:
    [waiting] = without_rationale(study)
    study.annotate([Annotation("q3/small", "ana", 2)])
    assert without_rationale(study) == [] and study.set_rationales([(waiting, "Late.")]) == 0
    assert study.questions()[2].rationale is None
