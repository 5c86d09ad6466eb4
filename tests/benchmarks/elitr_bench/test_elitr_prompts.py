"""Prompts: committed texts of invented meetings to the byte, histories, and texts with braces or marks."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_lines import read_rows

from long_context_tasks.benchmarks.elitr_bench import prompts
from long_context_tasks.schema import Case, InputError, Turn

GOLDEN = Path(__file__).parent / "golden" / "elitr_prompts.jsonl"
TRANSCRIPTS = {"m": "(PERSON1) Hello.\n"}
TEXT = st.text(max_size=30)


def case(**inputs: Any) -> Case:
    chosen = {
        "transcript": "m",
        "language": "english",
        "history": "own",
        "style": "chat",
        "markers": False,
    } | inputs
    turns = tuple(Turn(gold=f"gold {n}", question=f" Question {n}? ") for n in (1, 2, 3))
    return Case("m", "elitr_bench_qa_dev_multiturn", chosen, turns, "m")


@pytest.mark.parametrize("row", read_rows(GOLDEN))
def test_golden_prompts(row: dict[str, Any]) -> None:
    if "judge" in row:
        prompt = prompts.judge_prompt(*row["texts"], judge=row["judge"], language=row["language"])
        sent = [message.chat() for message in prompts.judge_conversation(prompt, row["judge"])]
    else:
        messages = prompts.conversation(*row["conversation"], **row["settings"])
        sent = [message.chat() for message in messages]
    assert sent == row["sent"]


GOLD = ["Question 1?", "gold 1", "Question 2?", "gold 2", "Question 3?"]


@pytest.mark.parametrize(
    ("history", "answers", "sent"),
    [
        ("own", ["first", ""], ["Question 1?", "first", "Question 2?", "", "Question 3?"]),
        # An answer that is missing is left out.
        ("own", [None, "second"], ["Question 1?", "Question 2?", "second", "Question 3?"]),
        ("own", ["<think>well</think>yes", "no"], ["Question 1?", "yes", "Question 2?", "no", "Question 3?"]),
        ("gold", [], GOLD),
        ("gold", ["wrong", "wrong"], GOLD),
    ],
)
def test_histories(history: str, answers: list[str | None], sent: list[str]) -> None:
    system, *messages = prompts.messages(case(style="gpt", history=history), TRANSCRIPTS, 2, answers)
    assert system.role == "system" and [message.content for message in messages] == sent
    assert [message.role == "user" for message in messages] == ["Question" in text for text in sent]


def test_the_first_turn_needs_no_answers() -> None:
    (message,) = prompts.messages(case(), TRANSCRIPTS)
    assert message.role == "user" and message.content.endswith(".\n\n\n\nQuestion 1?")


@pytest.mark.parametrize("answers", [[], ["one", "two"]])
def test_a_turn_needs_as_many_answers_as_came_before(answers: list[str]) -> None:
    with pytest.raises(ValueError, match="need"):
        prompts.messages(case(), TRANSCRIPTS, 1, answers)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"style": "alpaca"}, "'alpaca' is not one of chat, gpt, raw"),
        ({"style": "gpt", "markers": True}, "no question-"),
    ],
)
def test_a_prompt_that_no_script_sends_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        prompts.messages(case(**settings), TRANSCRIPTS)


@given(TEXT, TEXT, TEXT)
def test_texts_go_in_as_they_are(transcript: str, question: str, reference: str) -> None:
    opening = prompts.instruction(transcript + "{transcript}{question}")
    head, tail = prompts.template("answer_english").split("{transcript}")
    assert opening == head + transcript + "{transcript}{question}" + tail
    judged = prompts.judge_prompt(question, "{reference} \\boxed{10}", reference)
    assert "\n{reference} \\boxed{10}\n" in judged
    assert f"### Reference answer (score 10):\n{reference.strip()}\n" in judged


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4), TEXT, st.sampled_from(sorted(prompts.CONVERSATIONS)))
def test_a_conversation_grows_at_its_end(history: list[tuple[str, str]], last: str, form: str) -> None:
    """Each prompt begins with the one before, so a prefix cache works."""
    questions = ["Q" + question for question, _ in history] + ["Q" + last]
    answers = ["A" + answer for _, answer in history]
    before = ""
    for turn in range(len(questions)):
        sent = prompts.conversation_prompt(questions[: turn + 1], answers[:turn], form)
        assert sent.startswith(before) and questions[turn] in sent
        before = sent
