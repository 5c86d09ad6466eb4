"""``lct annotate`` from questions to training data, with a model at a local endpoint."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from annotation_study import answer_potato, make_study
from json_lines import read_rows, write_rows
from judge_server import Answer, Behave, JudgeServer, judge_server
from typer.testing import CliRunner

from long_context_tasks.annotation import changing, open_study
from long_context_tasks.annotation.study import Annotation
from long_context_tasks.cli import app
from long_context_tasks.judges.ratings import read_ratings

STUDY = Path("s.json")


def lct(words: str) -> Any:
    return CliRunner().invoke(app, ["annotate", *words.split()])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "work" / "docs").mkdir(parents=True)
    (tmp_path / "work" / "docs" / "d.txt").write_text("The whole document.")
    monkeypatch.chdir(tmp_path / "work")


@contextmanager
def tiny_model(behave: Behave) -> Iterator[JudgeServer]:
    """A model in ``model.yaml``."""
    with judge_server(behave) as server:
        Path("model.yaml").write_text(f"model: tiny\nbase_url: {server.url}\nretries: 0\nretry_wait: 0.01\n")
        yield server


def annotate(*annotations: Annotation) -> None:
    with changing(STUDY) as study:
        study.annotate(annotations)


def test_all_three_stages() -> None:
    pytest.importorskip("nltk", reason="nltk (extra annotation) is not installed")
    base = {"reference": "Reference", "document": "d", "source": "dev"}
    write_rows("q.jsonl", [{"id": f"q{n}", "question": f"Question {n}?", **base} for n in (1, 2)])

    def behave(body: dict[str, Any], _: int) -> Answer:
        said = body["messages"][-1]["content"]
        return Answer("Because." if "rationale" in said else f"Answer to {said[-11:]}")

    with tiny_model(behave) as server:
        start = "prepare s.json --questions q.jsonl --documents docs --scale orca_text"
        done = lct(f"{start} --rationales model.yaml --candidates model.yaml")
        assert done.exit_code == 0, done.output
        assert "tiny: 2 rationales of 2" in done.output and "tiny: 2 answers of 2" in done.output
        sent = [body["messages"] for body in server.bodies if len(body["messages"]) == 2]
        assert all("The whole document." in messages[1]["content"] for messages in sent) and len(sent) == 2
        study = open_study(STUDY)
        assert {one.rationale for one in study.questions()} == {"Because."}
        found = {one.id: one.text for one in study.candidates()}
        assert found == {"q1/tiny": "Answer to Question 1?", "q2/tiny": "Answer to Question 2?"}
        said = [("q1/tiny", "ana", 4), ("q1/tiny", "ben", 5), ("q2/tiny", "ana", 1), ("q2/tiny", "ben", 2)]
        annotate(*(Annotation(*one) for one in said), Annotation("q2/tiny", "cleo", None, "R"))

        assert "1 questions to review" in lct("review s.json --out review.jsonl").output
        [row] = read_rows("review.jsonl")
        write_rows("review.jsonl", [{**row, "decision": "correct", "question": "Question 3?"}])
        done = lct("correct s.json review.jsonl --editor eva")
        assert done.exit_code == 0 and "1 fields of 1 questions corrected" in done.output
        again = lct("correct s.json review.jsonl --editor eva")  # applied once only
        assert again.exit_code == 2 and "is at version 2" in again.output
        calls = len(server.bodies)
        assert "tiny: 1 answers of 1" in lct("prepare s.json --candidates model.yaml").output
        assert len(server.bodies) == calls + 2  # the check and the question
        done = lct("prepare s.json --candidates model.yaml --rationales model.yaml")  # nothing is missing
        assert done.exit_code == 0 and "tiny: 0 answers of 0" in done.output
        assert len(server.bodies) == calls + 2
        assert open_study(STUDY).candidates(current=True)[-1].text == "Answer to Question 3?"
        annotate(Annotation("q2@2/tiny", "ana", 3))

    done = lct("stats s.json --json")
    tables = {table["title"].partition(" (")[0]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert [row["ratings"] for row in tables["Filtering"]] == [5, 2, 3]
    assert tables["Corrections"][0] == {"field": "question", "dev": 1, "total": 1}
    assert lct("export s.json --out t.jsonl").exit_code == 0
    assert [(row["id"], row["ratings"]) for row in read_rows("t.jsonl")] == [
        ("q1/tiny", [4, 5]),
        ("q2@2/tiny", [3]),
    ]
    assert lct("export s.json --out h.jsonl --format history").exit_code == 0
    assert read_rows("h.jsonl")[0]["changes"]["question"] == {"old": "Question 2?", "new": "Question 3?"}


def test_a_model_that_does_not_answer_leaves_the_study_as_it_was() -> None:
    def behave(_: dict[str, Any], number: int) -> Answer:
        return Answer("yes") if number == 0 else Answer(status=400, error="too long")

    make_study(STUDY)
    with tiny_model(behave):
        done = lct("prepare s.json --candidates model.yaml")
    assert done.exit_code == 1
    assert "3 texts are missing" in done.output and "tiny: 0 answers of 3" in done.output
    assert len(open_study(STUDY).candidates()) == 6


def test_annotations_go_from_one_copy_to_another() -> None:
    for name in ("a", "b"):
        make_study(Path(f"{name}.json"), said=[Annotation("q1/small", name, 3, "A", "x")])
    assert lct("export a.json --out a.jsonl --format annotations").exit_code == 0
    done = lct("import b.json a.jsonl")
    assert done.exit_code == 0 and "1 new or changed annotations of 1 read" in done.output
    write_rows("a.jsonl", [{**read_rows("a.jsonl")[0], "rating": 5}])
    done = lct("import b.json a.jsonl")
    assert done.exit_code == 2 and "--replace" in done.output
    assert lct("import b.json a.jsonl --replace").exit_code == 0
    found = open_study(Path("b.json")).annotations()
    assert [(one.annotator, one.rating) for one in found] == [("a", 5), ("b", 3)]


def test_a_rating_withdrawn_in_potato_leaves_the_study() -> None:
    at = "2026-01-02T03:04:05Z"
    said = [Annotation(f"q{n}/small", "ana", 4, at=at) for n in (1, 2)]
    make_study(STUDY, said=[Annotation("q3/small", "ana", 2), Annotation("q3/small", "ben", 2)])
    assert lct("export s.json --out p --format potato").exit_code == 0
    answer_potato(Path("p"), said)
    assert "2 new or changed annotations of 2 read" in lct("import s.json p").output
    answer_potato(Path("p"), said[:1])  # the history keeps the other one
    done = lct("import s.json p")
    assert done.exit_code == 2 and "ana withdrew the annotation of q2/small" in done.output
    done = lct("import s.json p --replace")
    assert done.exit_code == 0 and "deleted: ana withdrew the annotation of q2/small" in done.output
    assert "note: 1 annotations of the study are not in p and stay; first: q3/small by ana" in done.output
    assert [(one.candidate, one.annotator, one.at) for one in open_study(STUDY).annotations()] == [
        ("q1/small", "ana", at),
        ("q3/small", "ana", ""),
        ("q3/small", "ben", ""),
    ]
    assert lct("export s.json --out t.jsonl").exit_code == 0
    assert [row["id"] for row in read_rows("t.jsonl")] == ["q1/small", "q3/small"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("stats none.json", "no such study"),
        ("prepare none.json", "give --questions FILE"),
        ("prepare s.json --scale elitr_bench", "exists with another --scale"),
        ("prepare new.json --questions q.jsonl --scale likert", "scale likert: there is no such file"),
        ("import s.json .", "no */user_state.json"),
        ("correct s.json q.jsonl --editor eva", "unknown key 'id'; keys are: question_id"),
        ("export s.json --out x.jsonl", "no ratings that count yet, so nothing was written"),
        ("review s.json --out none/x.jsonl", "choose another place with --out"),
        ("review s.json --out s.json", "is the study"),
        ("export s.json --out ./s.json --format history", "is the study"),
        ("export s.json --out x.jsonl --annotators 2", "--annotators goes with --format potato only"),
        ("export s.json --out docs --format potato", "exists and is not a POTATO project"),
        ("export s.json --out x.jsonl --gold gold", "--gold and --min-pearson go together"),
        (
            "export s.json --out x.jsonl --gold gold --min-pearson 0 --format history",
            "with --format orca only",
        ),
        (
            "export s.json --out x.jsonl --gold dora --min-pearson 0",
            "--gold dora: no candidate has a rating of this",
        ),
    ],
)
def test_bad_input_is_one_line(words: str, message: str) -> None:
    make_study(STUDY)
    write_rows("q.jsonl", [{"id": "q", "question": "Q?", "reference": "R"}])
    before = STUDY.read_bytes()
    done = lct(words)
    assert STUDY.read_bytes() == before
    assert done.exit_code == 2 and message in done.output and done.output.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == [".s.json.lock", "docs", "q.jsonl", "s.json"]


def test_the_first_command_can_be_given_again() -> None:
    """After a mistake in it, when nothing changed, and after a correction."""
    row = {"id": "q", "question": "Q?", "reference": "R", "document": "d"}
    answers = [{"model": "m", "text": "A"}]
    write_rows("q.jsonl", [{**row, "candidates": answers}])
    given = "prepare s.json --questions q.jsonl --scale orca_text"
    done = lct(given)
    assert done.exit_code == 2 and "document d is missing" in done.output and not STUDY.exists()
    given += " --documents docs"
    assert "1 new questions, 1 new candidates" in lct(given).output
    assert "0 new questions, 0 new candidates" in lct(given).output
    write_rows("r.jsonl", [{"question_id": "q", "decision": "correct", "reference": "R2"}])
    assert lct("correct s.json r.jsonl --editor eva").exit_code == 0
    done = lct(given)
    assert done.exit_code == 0 and "0 new questions, 0 new candidates" in done.output
    study = open_study(STUDY)
    assert [(one.reference, one.version) for one in study.questions()] == [("R2", 2)]
    assert study.candidates(current=True) == []
    # An answer to the corrected question would not count.
    write_rows("q.jsonl", [{**row, "candidates": [*answers, {"model": "n", "text": "B"}]}])
    done = lct(given)
    assert done.exit_code == 2 and "reference of question q differs from version 2" in done.output


def test_an_export_counts_flags_that_were_not_reviewed() -> None:
    make_study(STUDY, said=[Annotation("q1/small", "ana", 3), Annotation("q2/small", "ana", 3, "R")])
    done = lct("export s.json --out t.jsonl")
    assert done.exit_code == 0 and "note: 1 questions have flags that no expert has reviewed" in done.output
    assert lct("review s.json --out r.jsonl").exit_code == 0
    assert lct("correct s.json r.jsonl --editor eva").exit_code == 0
    assert "note:" not in lct("export s.json --out t.jsonl").output


def test_an_export_can_be_compared_with_a_judge() -> None:
    """The version of a question is a number, but not a rating."""
    make_study(STUDY, said=[Annotation("q1/small", "ana", 3), Annotation("q2/small", "ana", 5)])
    assert lct("export s.json --out t.jsonl").exit_code == 0
    judged = [{"id": row["id"], "cluster": row["question_id"], "judge": 4} for row in read_rows("t.jsonl")]
    write_rows("j.jsonl", judged)
    assert set(read_ratings([Path("t.jsonl"), Path("j.jsonl")]).ratings) == {"people", "judge"}


def test_annotators_far_from_the_gold_ratings_are_left_out() -> None:
    pytest.importorskip("nltk", reason="nltk (extra annotation) is not installed")
    said = {"gold": [1, 3, 5, 2], "ana": [2, 3, 5, 1], "ben": [5, 3, 1, 3], "cleo": [4, 4, 4, 4]}
    keys = [one.id for one in make_study(STUDY).candidates()][:4]
    for name, ratings in said.items():
        annotate(*(Annotation(key, name, n) for key, n in zip(keys, ratings, strict=True)))
    done = lct("stats s.json --gold gold")
    names = ("ana ", "ben ", "cleo ")
    assert [line.split() for line in done.output.splitlines() if line.strip().startswith(names)] == [
        ["ana", "d1", "4", "0.89", "0.00"],
        ["ben", "d1", "4", "-0.96", "0.25"],
        ["cleo", "d1", "4", "-", "1.25"],
    ]
    done = lct("export s.json --out t.jsonl --gold gold --min-pearson 0.5")
    assert "without 2 annotators of a document: ben/d1, cleo/d1" in done.output
    assert [row["ratings"] for row in read_rows("t.jsonl")] == [[n] for n in said["ana"]]
