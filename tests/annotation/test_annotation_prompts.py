"""Prompts: the paper's words, and places that are filled once."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.annotation import AnnotationStudy, load_scale
from long_context_tasks.annotation.prepare import candidate_prompt, fill, prompt_text, rationale_prompt
from long_context_tasks.annotation.study import StudyQuestion
from long_context_tasks.schema import InputError


@pytest.mark.vectors
@pytest.mark.parametrize("name", ["fig6_rationale_system", "fig6_rationale_user"])
def test_the_papers_prompts_stand_in_the_paper(shared: Path, name: str) -> None:
    [paper] = (shared / "papers").glob("002_*.txt")
    printed = paper.read_text(encoding="utf-8")
    assert prompt_text(name) in printed


@pytest.mark.vectors
def test_the_default_scale_stands_in_the_paper(shared: Path) -> None:
    [paper] = (shared / "papers").glob("002_*.txt")
    printed = paper.read_text(encoding="utf-8")
    scale = load_scale()
    for step in scale.steps:
        assert f"{step.values[0]}. {step.label}: {step.text}" in printed
    for letter, code in scale.codes.items():
        assert f"- **{letter}:** {code.label}: {code.text}" in printed


def test_the_elitr_scale_is_that_of_its_judge_prompt() -> None:
    import long_context_tasks.benchmarks.elitr_bench as elitr

    folder = Path(next(iter(elitr.__path__))) / "prompts"
    rubric = (folder / "judge_gpt_english.txt").read_text(encoding="utf-8")
    for step in load_scale("elitr_bench").steps:
        assert f"Score {'-'.join(map(str, step.values))}: {step.text}" in rubric
    assert load_scale("elitr_bench").guidelines in rubric


@given(st.text(), st.text())
def test_what_is_filled_in_fills_nothing_else(question: str, answer: str) -> None:
    filled = fill("<[question]|[answer]|[other]>", {"question": question, "answer": answer})
    assert filled == f"<{question}|{answer}|[other]>"


def test_rationale_and_candidate_prompts(study: AnnotationStudy) -> None:
    asked = StudyQuestion("q", "When [answer]?", "Now", document="d1")
    document = study.documents["d1"]
    system, user = rationale_prompt(study, asked)
    assert (system.role, user.role) == ("system", "user") and user.content.endswith(f"Document: {document}")
    assert "Question: When [answer]?\n\nAnswer: Now" in user.content
    system, user = rationale_prompt(study, asked, "paper")
    assert user.content.endswith(f"Audio: {document}") and "analyzing audio" in system.content
    [user] = candidate_prompt(study, asked)
    assert document in user.content and user.content.endswith("Question: When [answer]?")
    assert "Now" not in user.content  # the reference is left out
    with pytest.raises(InputError, match="question x has neither a document nor a transcription"):
        candidate_prompt(study, StudyQuestion("x", "Q", "R"))
