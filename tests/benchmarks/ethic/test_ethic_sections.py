"""Eight questions on one document: they share its context, cover it, and are scored as recall is."""

import json
from pathlib import Path

import pytest

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.ethic.prompts import context_of, user_text
from long_context_tasks.benchmarks.ethic.settings import SyntheticSettings
from long_context_tasks.benchmarks.ethic.synthetic import build, make_cases, questions_at, tokenizers_of
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Writings
from long_context_tasks.schema import Case, LoadedTask, Options

pytestmark = pytest.mark.slow


def loaded() -> LoadedTask:
    return load_task("ethic_sections_medicine", Options(length=4000, n=8))


def right(case: Case) -> str:
    return "; ".join(case.turns[0].gold)


def value(task: LoadedTask, case: Case, response: str | None) -> float:
    found = task.score(case, response, None)["strict_f1"].value
    assert found is not None
    return found


def test_all_questions_and_recall_show_one_context() -> None:
    task = loaded()
    recall = load_task("ethic_recall_medicine_synthetic", Options(length=4000, n=2))
    wanted = [context_of(recall.messages(case)[-1].content) for case in recall.cases.cases]
    cases = task.cases.cases
    assert [case.cluster for case in cases] == [cases[0].cluster] * 4 + [cases[4].cluster] * 4
    assert len({case.id for case in cases}) == 8 and questions_at(4000) == 4 and questions_at(8000) == 8
    for case in cases:
        user = task.messages(case)[-1].content
        assert context_of(user) == wanted[case.cluster != cases[0].cluster]
        assert user == user_text(case, task.cases.documents) and case.num_tokens["cl100k"] <= 4000
    # The texts of a document lie in the table once.
    assert len({case.document for case in cases}) == 2 == len({case.inputs["user"][0] for case in cases})


def test_sections_cover_the_context() -> None:
    tokenizers = tokenizers_of(SyntheticSettings((8000,)))
    made = make_cases("sections", "medicine", 8000, 5, tokenizers, 0, Writings(GENRES["medicine"]))
    assert len(made) == 8
    shown = "".join(one.text for own in made for one in own.paragraphs)
    assert "".join(shown.split()) == "".join(str(context_of(made[0].draft.user)).split())
    # Each question names the beginning of its section, and that of the next one.
    for place, one in enumerate(made):
        asked = one.draft.user.split("### Instruction:")[1]
        assert f'"{one.paragraphs[0].text[:9]}' in asked and ("to the end of the context" in asked) == (
            place == 7
        )


def test_right_answers_score_one_and_those_of_another_section_less() -> None:
    task = loaded()
    cases = task.cases.cases
    assert all(value(task, case, right(case)) == pytest.approx(1) for case in cases)
    other = [value(task, case, right(cases[(place + 1) % 4])) for place, case in enumerate(cases[:4])]
    assert sum(other) / 4 < 0.4
    assert value(task, cases[0], None) == value(task, cases[1], "I'm sorry, I can't.") == 0
    assert task.score(cases[1], None, None)["strict_f1"].reason == "empty"
    assert task.score(cases[1], "x", "does_not_fit")["strict_f1"].value is None


def test_a_document_is_asked_whole_at_1k_and_the_number_counts_questions(tmp_path: Path) -> None:
    folder = tmp_path / "ethic_sections"
    reports = build("ethic_sections", None, SyntheticSettings((1000, 2000), n=6), folder)
    assert [(one.task, len(one.tokens)) for one in reports] == [
        ("ethic_sections_medicine 1k", 6),
        ("ethic_sections_medicine 2k", 6),
    ]
    assert all(max(one.tokens) <= int(one.task.split()[1][0]) * 1000 for one in reports)
    assert "ethic_sections_medicine" in json.loads((folder / "manifest.json").read_text())["tasks"]
    task = load_task("ethic_sections_medicine", Options(cases=tmp_path, length=2000))
    assert len(task.cases) == 6 and len({case.cluster for case in task.cases.cases}) == 3


def test_the_group_asks_sixteen_questions_on_each_meeting() -> None:
    task = load_task("elitr_bench_qa_nano", Options(length=8000, n=32))
    per_meeting = [
        sum(case.document == one for case in task.cases.cases)
        for one in {case.document for case in task.cases.cases}
    ]
    assert per_meeting == [16, 16]
    assert len({case.turns[0].question for case in task.cases.cases[:16]}) == 16
