"""Prompts of judges of correctness: the paper's words, what each condition leaves out, and the score in a reply."""

from pathlib import Path

import pytest

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.study.rating import (
    CONDITIONS,
    RUBRIC,
    WORDINGS,
    Condition,
    Wording,
    judge_prompt,
    judge_score,
    prompt_file,
)

GOLDEN = Path(__file__).parent / "correctness_prompts"
HOSTILE = OrcaItem("1", "Who\nspeaks?", "Ana", "It is [question] Ana.", "She says \\1 so.", "ANA: hello {x}")
"""Texts that hold a place, a line break, and what regular expressions and format strings would read."""


@pytest.mark.vectors
@pytest.mark.parametrize("wording", WORDINGS)
def test_the_complete_prompts_stand_in_the_paper(shared: Path, wording: Wording) -> None:
    [paper] = (shared / "papers").glob("002_*.txt")
    printed = paper.read_text(encoding="utf-8")
    # The only line that is not in the extracted text by itself was broken there.
    printed = printed.replace("Evaluation Criteria**Key", "Evaluation Criteria\n\n**Key")
    assert prompt_file(wording) in printed


@pytest.mark.parametrize("wording", WORDINGS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_condition_to_the_byte(condition: Condition, wording: Wording) -> None:
    [message] = judge_prompt(HOSTILE, condition, wording)
    assert message.role == "user"
    assert message.content.encode() == (GOLDEN / f"{wording}_{condition}.txt").read_bytes()


@pytest.mark.parametrize("wording", WORDINGS)
def test_context_that_an_answer_lacks_is_left_out(wording: Wording) -> None:
    def said(condition: Condition, rationale: str | None, transcription: str | None) -> str:
        fields = OrcaItem(
            "1", HOSTILE.question, HOSTILE.reference, HOSTILE.candidate, rationale, transcription
        )
        return judge_prompt(fields, condition, wording)[0].content

    only_transcript = (GOLDEN / f"{wording}_only_transcript.txt").read_bytes().decode()
    for nothing in (None, "", " \n"):
        assert said("with_context", nothing, HOSTILE.transcription) == only_transcript
        assert said("with_context", HOSTILE.rationale, nothing) == said(
            "without_transcription", HOSTILE.rationale, HOSTILE.transcription
        )
        assert said("with_context", nothing, nothing) == said("without_context", "x", "y")
        # Not "nothing but a transcript": the condition shows none.
        assert said("without_transcription", nothing, HOSTILE.transcription) == said(
            "without_context", "x", "y"
        )


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Explanation: fine.\n\nScore: 4", 4),
        ("**Score:** 5", 5),
        ("Score:\n\n**2**", 2),
        ("score: [3]", 3),
        ("Score: 3/5", 3),
        ("Score (1-5): 2", 2),
        ("Score (1–5): 4", 4),
        ("Score: 4.0", 4),
        ('The candidate says "Score: 5".\nScore: 1', 1),
        ("Score: 4 - 5 would be too much", None),
        ('It says "Score: 5".\n\nScore: 10', None),
        ("Score: 4.5", None),
        ("Score: 4/10", None),
        ("Score: 0", None),
        ("Score: 45", None),
        ("Score: [1|2|3|4|5]", None),
        ("Score: " + "9" * 400, None),
        ("Score: [Numerical score from 1–5]", None),
        ("I would give it four.", None),
        ("", None),
    ],
)
def test_the_score_in_a_reply(reply: str, score: int | None) -> None:
    assert judge_score(reply) == score
    assert RUBRIC.score(reply) == score
