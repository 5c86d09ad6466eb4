"""The study's file: all or nothing, checked when opened, corrections with history."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from annotation_study import incoming, make_study

from long_context_tasks.annotation import Study, add, annotate, create, load_scale, open_study, review
from long_context_tasks.annotation.prepare import without_candidate, without_rationale
from long_context_tasks.annotation.records import Annotation, Incoming, Question, Review
from long_context_tasks.annotation.study import add_answers, set_rationales
from long_context_tasks.schema import InputError

CANDIDATES = [f"q{n}/{model}" for n in (1, 2, 3) for model in ("small", "large/x")]


def test_a_batch_is_stored_whole_or_not_at_all(study: Study) -> None:
    good = Annotation(CANDIDATES[0], "ana", 3)
    with pytest.raises(InputError, match="no candidate q9"):
        annotate(study, [good, Annotation("q9", "ana", 3)])
    with pytest.raises(InputError, match="rating 6 is no whole number from 1 to 5"):
        annotate(study, [good, Annotation(CANDIDATES[1], "ana", 6)])
    assert study.annotations() == []
    bad = Incoming(Question("q4", "Q", "R", document="none"), (), "row 9")
    with pytest.raises(InputError, match=r"row 9: document none is missing"):
        add(study, [Incoming(Question("q5", "Q", "R"), (), "row 8"), bad])
    assert [one.id for one in study.questions()] == ["q1", "q2", "q3"]


def test_what_is_there_is_passed_over_and_never_changed(study: Study) -> None:
    assert add(study, incoming()) == (0, 0)
    other = Incoming(Question("q1", "Another?", "Reference 1"), (), "row 1")
    with pytest.raises(InputError, match="row 1: question of question q1 differs"):
        add(study, [other])
    first = incoming()[0]
    with pytest.raises(InputError, match="small has another answer"):
        add(study, [Incoming(first.question, ((None, "small", "new"),), "row 1")])
    with pytest.raises(InputError, match="is there already"):
        create(study.path, load_scale())
    annotate(study, [Annotation(CANDIDATES[0], "ana", 3)])
    with pytest.raises(InputError, match="--replace"):
        annotate(study, [Annotation(CANDIDATES[0], "ana", 4)], replace=False)


def test_of_two_processes_one_makes_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.db"

    def meanwhile(self: Path) -> bool:
        """Another process makes the study after this one has looked."""
        monkeypatch.undo()
        make_study(path).__exit__()
        return False

    monkeypatch.setattr(Path, "exists", meanwhile)
    with pytest.raises(InputError, match=r"s\.db: is there already"):
        create(path, load_scale(), [Incoming(Question("other", "Q", "R"), (), "row 1")])
    with open_study(path) as study:
        assert [one.id for one in study.questions()] == ["q1", "q2", "q3"]
    bad = Incoming(Question("q4", "Q", "R", document="none"), (), "row 9")
    with pytest.raises(InputError, match=r"row 9: document none is missing"):
        create(tmp_path / "bad.db", load_scale(), [bad])
    assert [one.name for one in tmp_path.iterdir()] == ["s.db"]


def test_a_process_killed_in_the_middle_of_a_batch_leaves_nothing_of_it(study: Study) -> None:
    annotate(study, [Annotation(CANDIDATES[0], "before", 3)])
    code = f"""
import os, signal
from pathlib import Path
from long_context_tasks.annotation.records import (Annotation)
from long_context_tasks.annotation import (annotate, open_study)

def batch():
    for n in range(400):
        yield Annotation({CANDIDATES[0]!r}, f"person {{n}}", 4, "", "x" * 9000)
    os.kill(os.getpid(), signal.SIGKILL)

annotate(open_study(Path({str(study.path)!r})), batch())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    with open_study(study.path) as again:
        assert [one.annotator for one in again.annotations()] == ["before"]


EDITS = {
    "UPDATE annotations SET rating = 9": "rating 9 is no whole number from 1 to 5",
    "UPDATE annotations SET rating = 'good'": "CHECK constraint failed in annotations",
    "UPDATE annotations SET rating = 2.5": "CHECK constraint failed in annotations",
    "UPDATE annotations SET codes = 'XQ'": "codes 'XQ' are not among",
    "UPDATE annotations SET annotator = ' '": "a name has",
    "UPDATE annotations SET candidate = 'gone'": "names a row of candidates that is not there",
    "UPDATE versions SET rationale = x'ff00'": "CHECK constraint failed in versions",
    "UPDATE versions SET transcription = x'41'": "CHECK constraint failed in versions",
    "UPDATE versions SET question = CAST(x'ff41' AS TEXT)": "versions: Could not decode to UTF-8",
    "DELETE FROM versions WHERE question_id = 'q1'": "names a row of versions",
    "UPDATE candidates SET text = x'ff'": "CHECK constraint failed in candidates",
    "UPDATE candidates SET text = CAST(x'ff41' AS TEXT)": "candidates: Could not decode to UTF-8",
    "UPDATE corrections SET new = x'41'": "CHECK constraint failed in corrections",
    "DELETE FROM settings WHERE name = 'scale'": "settings: scale is missing",
    "UPDATE settings SET value = '{' WHERE name = 'scale'": "settings: scale Invalid JSON",
    "UPDATE settings SET value = '{}' WHERE name = 'scale'": "settings: scale, scale is missing",
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_study_edited_by_hand_is_refused(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "s.db"
    with make_study(path) as study:
        annotate(study, [Annotation(CANDIDATES[0], "ana", 3, "A")])
        review(study, [Review("q1", "correct", {"reference": "Another"})], "eva")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(edit)
    db.close()
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert str(path) in str(caught.value) and EDITS[edit] in str(caught.value)
    assert str(caught.value).count("edited by hand") == 1


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("DROP TABLE annotations", "no such table: annotations"),
        ("PRAGMA user_version = 7", "format 7"),
        ("PRAGMA application_id = 7", "another program"),
    ],
)
def test_a_database_that_is_no_study_is_refused(tmp_path: Path, edit: str, message: str) -> None:
    with make_study(tmp_path / "s.db"):
        pass
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute(edit)
    db.close()
    with pytest.raises(InputError, match=message):
        open_study(tmp_path / "s.db")


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 100)
    with make_study(tmp_path / "s.db") as study:
        del study
    whole = (tmp_path / "s.db").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    for name, message in (("none", "no such study"), ("text", "no study"), ("cut", "damaged")):
        with pytest.raises(InputError, match=message):
            open_study(tmp_path / name)


def test_a_creation_that_breaks_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.link", broken)
    with pytest.raises(InputError, match="disk full"):
        create(tmp_path / "s.db", load_scale())
    assert list(tmp_path.iterdir()) == []


def test_a_correction_makes_a_version_that_needs_candidates(study: Study) -> None:
    annotate(study, [Annotation("q1/small", "ana", 2, "R"), Annotation("q2/small", "ana", 5)])
    done = review(
        study, [Review("q1", "correct", {"reference": "Better", "rationale": "So."}, "typo", 1)], "eva"
    )
    assert done == (1, 2)
    assert [one.id for one in without_candidate(study, "small")] == ["q1"]
    assert "q1/small" not in {one.id for one in study.candidates(current=True)}
    assert [(one.version, one.reference) for one in study.questions() if one.id == "q1"] == [(2, "Better")]
    assert add_answers(study, "small", [(study.questions()[0], "Again")]) == 1
    assert "q1@2/small" in {one.id for one in study.candidates(current=True)}
    [entry] = study.corrections()
    assert entry["changes"]["reference"] == {"old": "Reference 1", "new": "Better"}
    assert (entry["editor"], entry["note"], entry["version"]) == ("eva", "typo", 1)
    assert len(study.annotations()) == 2  # nothing is thrown away
    with pytest.raises(InputError, match="is at version 2, the review is of version 1"):
        review(study, [Review("q1", "remove", {}, "", 1)], "eva")
    with pytest.raises(InputError, match="changes nothing"):
        review(study, [Review("q1", "correct", {"reference": "Better"})], "eva")
    with pytest.raises(InputError, match="the decision is keep"):
        review(study, [Review("q1", "keep", {"reference": "Other"})], "eva")
    with pytest.raises(InputError, match="no question q9"):
        review(study, [Review("q2", "remove", {}), Review("q9", "keep", {})], "eva")
    assert [one.id for one in study.questions()] == ["q1", "q2", "q3"]  # all or none
    review(study, [Review("q2", "remove", {})], "eva")
    assert [one.id for one in study.questions()] == ["q1", "q3"]
    assert "q2/small" not in {one.id for one in study.candidates(current=True)}
    review(study, [Review("q2", "keep", {})], "eva")  # the last word counts
    assert "q2/small" in {one.id for one in study.candidates(current=True)}


def test_rationales_are_filled_in_only_before_people_saw_the_question(study: Study) -> None:
    [waiting] = without_rationale(study)
    annotate(study, [Annotation("q3/small", "ana", 2)])
    assert without_rationale(study) == [] and set_rationales(study, [(waiting, "Late.")]) == 0
    assert study.questions()[2].rationale is None
