"""Thinking is taken out of a response, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema.response import Answer, without_thinking

PLAIN = st.text(max_size=30).filter(lambda text: "think>" not in text)


@given(thought=PLAIN, answer=PLAIN)
def test_only_the_answer_is_left(thought: str, answer: str) -> None:
    expected = Answer(answer, False)
    assert without_thinking(answer) == expected
    assert without_thinking(f"<think>{thought}</think>{answer}") == expected
    # The server swallowed the opening tag.
    assert without_thinking(f"{thought}</think>{answer}") == expected
    assert without_thinking(f"<think>{thought}</think>{thought}</think>{answer}") == expected
    assert without_thinking(f"{answer}<think>{thought}") == Answer(answer, True)


@pytest.mark.parametrize(
    ("response", "text", "unclosed"),
    [
        ("A1", "A1", False),
        ("<think>x</think>A1", "A1", False),
        ("x</think>A1", "A1", False),
        ("<think>x</think>A1<think>y</think>A2", "A2", False),
        ("<think>x", "", True),
        ("A1<think>x", "A1", True),
        ("<think>x</think>A1<think>y", "A1", True),
        ("</think>", "", False),
        ("I think> so", "I think> so", False),
    ],
)
def test_tags_in_odd_places(response: str, text: str, unclosed: bool) -> None:
    stripped = without_thinking(response)
    assert (stripped.text, stripped.unclosed) == (text, unclosed)
