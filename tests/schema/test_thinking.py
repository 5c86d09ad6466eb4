"""Thinking is taken out of a response, and nothing else is."""

import doctest

from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema import thinking
from long_context_tasks.schema.thinking import Answer, without_thinking

PLAIN = st.text(max_size=30).filter(lambda text: "think>" not in text)


def test_examples_in_docstrings() -> None:
    results = doctest.testmod(thinking)
    assert results.attempted and not results.failed


@given(thought=PLAIN, answer=PLAIN)
def test_only_the_answer_is_left(thought: str, answer: str) -> None:
    expected = Answer(answer, False)
    assert without_thinking(answer) == expected
    assert without_thinking(f"<think>{thought}</think>{answer}") == expected
    # The server swallowed the opening tag.
    assert without_thinking(f"{thought}</think>{answer}") == expected
    assert without_thinking(f"<think>{thought}</think>{thought}</think>{answer}") == expected
    assert without_thinking(f"{answer}<think>{thought}") == Answer(answer, True)
