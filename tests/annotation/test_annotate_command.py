"""``lct annotate`` from questions to training data, with a model at a local endpoint."""

import json
from pathlib import Path
from typing import Any

import pytest
from annotation_study import make_study
from judge_server import Answer, judge_server
from typer.testing import CliRunner

from long_context_tasks.annotation import Annotation, annotate, open_study
from long_context_tasks.cli import app

RUNNER = CliRunner()


def lct(*words: object) -> Any:
    return RUNNER.invoke(app, ["annotate", *map(str, words)])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, content: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return path


def test_all_three_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nltk", reason="nltk (extra annotation) is not installed")
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    study = tmp_path / "s.db"
    questions = write(
        tmp_path / "q.jsonl",
        [
            {
                "id": f"q{n}",
                "question": f"Question {n}?",
                "reference": f"Reference {n}",
                "document": "d",
                "source": "dev",
            }
            for n in (1, 2)
        ],
    )
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.txt").write_text("The whole document.")

    def behave(body: dict[str, Any], _: int) -> Answer:
        said = body["messages"][-1]["content"]
        return Answer("Because." if "rationale" in said else f"Answer to {said[-11:]}")

    with judge_server(behave) as server:
        model = tmp_path / "model.yaml"
        model.write_text(f"model: tiny\nbase_url: {server.url}\n")
        start = (
            "prepare",
            study,
            "--questions",
            questions,
            "--documents",
            tmp_path / "documents",
            "--scale",
            "orca_text",
        )
        done = lct(*start, "--rationales", model, "--candidates", model)
        assert done.exit_code == 0, done.output
        assert "tiny: 2 rationales of 2" in done.output and "tiny: 2 answers of 2" in done.output
        sent = [body["messages"] for body in server.bodies if len(body["messages"]) == 2]
        assert all("The whole document." in messages[1]["content"] for messages in sent) and len(sent) == 2
        with open_study(study) as opened:
            assert {one.rationale for one in opened.questions()} == {"Because."}
            found = {one.id: one.text for one in opened.candidates()}
            assert found == {"q1/tiny": "Answer to Question 1?", "q2/tiny": "Answer to Question 2?"}
            said = [
                ("q1/tiny", "ana", 4),
                ("q1/tiny", "ben", 5),
                ("q2/tiny", "ana", 1),
                ("q2/tiny", "ben", 2),
            ]
            annotate(opened, [Annotation(*one) for one in said])
            annotate(opened, [Annotation("q2/tiny", "cleo", None, "R")])

        review = tmp_path / "review.jsonl"
        assert "1 questions to review" in lct("review", study, "--out", review).output
        [row] = rows(review)
        write(review, [{**row, "decision": "correct", "question": "Question 3?"}])
        done = lct("correct", study, review, "--editor", "eva")
        assert done.exit_code == 0 and "1 fields of 1 questions corrected" in done.output
        again = lct("correct", study, review, "--editor", "eva")  # applied once only
        assert again.exit_code == 2 and "is at version 2" in again.output
        calls = len(server.bodies)
        done = lct("prepare", study, "--candidates", model)
        assert (
            "tiny: 1 answers of 1" in done.output and len(server.bodies) == calls + 2
        )  # the check and the question
        done = lct(
            "prepare", study, "--candidates", model, "--rationales", model
        )  # nothing is missing: nothing is asked
        assert (
            done.exit_code == 0 and "tiny: 0 answers of 0" in done.output and len(server.bodies) == calls + 2
        )
        with open_study(study) as opened:
            assert opened.candidates(current=True)[-1].text == "Answer to Question 3?"
            annotate(opened, [Annotation("q2@2/tiny", "ana", 3)])

    done = lct("stats", study, "--out", tmp_path / "stats.json")
    assert done.exit_code == 0 and "Corrections (Table 1)" in done.output
    figures = json.loads((tmp_path / "stats.json").read_text())
    assert figures["corrected"]["question"] == {"dev": 1}
    assert [figures[part]["ratings"] for part in ("before", "removed", "after")] == [5, 2, 3]
    assert lct("export", study, "--out", tmp_path / "t.jsonl").exit_code == 0
    assert [(row["id"], row["ratings"]) for row in rows(tmp_path / "t.jsonl")] == [
        ("q1/tiny", [4, 5]),
        ("q2@2/tiny", [3]),
    ]
    assert lct("export", study, "--out", tmp_path / "h.jsonl", "--format", "history").exit_code == 0
    assert rows(tmp_path / "h.jsonl")[0]["changes"]["question"] == {
        "old": "Question 2?",
        "new": "Question 3?",
    }


def test_a_model_that_does_not_answer_leaves_the_study_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))

    def behave(body: dict[str, Any], number: int) -> Answer:
        return Answer("yes") if number == 0 else Answer(status=400, error="too long")

    with make_study(tmp_path / "s.db"), judge_server(behave) as server:
        model = tmp_path / "model.yaml"
        model.write_text(f"model: tiny\nbase_url: {server.url}\nretries: 0\nretry_wait: 0.01\n")
        done = lct("prepare", tmp_path / "s.db", "--candidates", model)
    assert (
        done.exit_code == 1 and "3 texts are missing" in done.output and "tiny: 0 answers of 3" in done.output
    )
    with open_study(tmp_path / "s.db") as study:
        assert len(study.candidates()) == 6


def test_a_judge_rates_what_people_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))

    def behave(body: dict[str, Any], _: int) -> Answer:
        said = body["messages"][-1]["content"]
        return Answer(f"Explanation: Score 1 is too low.\n\n**Score:** {5 if 'Answer small' in said else 2}")

    with make_study(tmp_path / "s.db") as study, judge_server(behave) as server:
        annotate(study, [Annotation("q1/small", "ana", 4), Annotation("q1/small", "ben", 5)])
        model = tmp_path / "model.yaml"
        model.write_text(f"model: tiny\nbase_url: {server.url}\n")
        done = lct(
            "judge",
            tmp_path / "s.db",
            "--judge",
            model,
            "--out",
            tmp_path / "j.jsonl",
            "--wording",
            "modified",
        )
        assert done.exit_code == 0 and "scored 6 of 6" in done.output
        sent = [body["messages"][0]["content"] for body in server.bodies[1:]]
        assert all("expert LLM judge" in text for text in sent)
        # Two of three questions have a rationale; the judge of the third is not told of any.
        assert sum("**Supplementary Information:** " in text for text in sent) == 4
        assert sum("upplementary" not in text for text in sent) == 2
    found = {row["id"]: row for row in rows(tmp_path / "j.jsonl")}
    assert found["q1/small"] == {"id": "q1/small", "cluster": "q1", "people": 4.5, "tiny": 5}
    assert found["q2/large/x"]["people"] is None and found["q2/large/x"]["tiny"] == 2
    with make_study(tmp_path / "e.db", "elitr_bench"):
        done = lct("judge", tmp_path / "e.db", "--judge", model, "--out", tmp_path / "e.jsonl")
    assert done.exit_code == 2 and "not 1 to 5" in done.output


def test_annotations_go_from_one_copy_to_another(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        with make_study(tmp_path / name) as study:
            annotate(study, [Annotation("q1/small", name[0], 3, "A", "x")])
    file = tmp_path / "a.jsonl"
    assert lct("export", tmp_path / "a.db", "--out", file, "--format", "annotations").exit_code == 0
    done = lct("import", tmp_path / "b.db", file)
    assert done.exit_code == 0 and "1 new or changed annotations of 1 read" in done.output
    write(file, [{**rows(file)[0], "rating": 5}])
    done = lct("import", tmp_path / "b.db", file)
    assert done.exit_code == 2 and "--replace" in done.output
    assert lct("import", tmp_path / "b.db", file, "--replace").exit_code == 0
    with open_study(tmp_path / "b.db") as study:
        assert [(one.annotator, one.rating) for one in study.annotations()] == [("a", 5), ("b", 3)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("stats", "none.db"), "no such study"),
        (("prepare", "none.db"), "give --questions FILE"),
        (("prepare", "s.db", "--scale", "elitr_bench"), "is there already, with another --scale"),
        (("prepare", "s.db", "--annotators", "3"), "is there already, with another --annotators"),
        (
            ("prepare", "new.db", "--questions", "q.jsonl", "--scale", "likert"),
            "scale likert: there is no such file",
        ),
        (("import", "s.db", "."), "no */user_state.json"),
        (("correct", "s.db", "q.jsonl", "--editor", " "), "unknown key 'id'; keys are: question_id"),
        (("export", "s.db", "--out", "x.jsonl"), "no ratings that count yet, so nothing was written"),
        (("review", "s.db", "--out", "none/x.jsonl"), "choose another place with --out"),
        (("review", "s.db", "--out", "s.db"), "is a database, perhaps the study"),
        (("stats", "s.db", "--out", "s.db"), "is a database, perhaps the study"),
        (("export", "s.db", "--out", "s.db", "--format", "questions"), "is a database, perhaps the study"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with make_study(tmp_path / "s.db"):
        pass
    write(tmp_path / "q.jsonl", [{"id": "q", "question": "Q?", "reference": "R"}])
    before = (tmp_path / "s.db").read_bytes()
    done = lct(*words)
    assert (tmp_path / "s.db").read_bytes() == before
    assert done.exit_code == 2 and message in done.output and done.output.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.jsonl", "s.db"]


def test_the_first_command_can_be_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a mistake in it, when nothing changed, and after a correction."""
    monkeypatch.chdir(tmp_path)
    row = {
        "id": "q",
        "question": "Q?",
        "reference": "R",
        "document": "d",
        "candidates": [{"model": "m", "text": "A"}],
    }
    write(tmp_path / "q.jsonl", [row])
    given = "prepare", "s.db", "--questions", "q.jsonl", "--scale", "orca_text", "--annotators", "2"
    done = lct(*given)
    assert done.exit_code == 2 and "document d is missing" in done.output
    assert not (tmp_path / "s.db").exists()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d.txt").write_text("D")
    given = (*given, "--documents", "docs")
    assert "1 new questions, 1 new candidates" in lct(*given).output
    done = lct(*given)
    assert done.exit_code == 0 and "0 new questions, 0 new candidates" in done.output
    write(tmp_path / "r.jsonl", [{"question_id": "q", "decision": "correct", "reference": "R2"}])
    assert lct("correct", "s.db", "r.jsonl", "--editor", "eva").exit_code == 0
    done = lct(*given)
    assert done.exit_code == 0 and "0 new questions, 0 new candidates" in done.output
    with open_study(tmp_path / "s.db") as study:
        assert [(one.reference, one.version) for one in study.questions()] == [("R2", 2)]
        assert study.candidates(current=True) == []
    # An answer to what was corrected would not count.
    row["candidates"].append({"model": "n", "text": "B"})  # type: ignore[attr-defined]
    write(tmp_path / "q.jsonl", [row])
    done = lct(*given)
    assert done.exit_code == 2 and "reference of question q differs from version 2" in done.output


def test_an_export_says_what_was_not_reviewed(tmp_path: Path) -> None:
    with make_study(tmp_path / "s.db") as study:
        annotate(study, [Annotation("q1/small", "ana", 3), Annotation("q2/small", "ana", 3, "R")])
    done = lct("export", tmp_path / "s.db", "--out", tmp_path / "t.jsonl")
    assert done.exit_code == 0 and "note: 1 questions have flags that no expert has reviewed" in done.output
    assert lct("review", tmp_path / "s.db", "--out", tmp_path / "r.jsonl").exit_code == 0
    assert lct("correct", tmp_path / "s.db", tmp_path / "r.jsonl", "--editor", "eva").exit_code == 0
    assert "note:" not in lct("export", tmp_path / "s.db", "--out", tmp_path / "t.jsonl").output
