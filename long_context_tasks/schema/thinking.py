"""What reasoning models think aloud before they answer: it is no part of the answer, in any benchmark."""

from dataclasses import dataclass

OPEN, CLOSE = "<think>", "</think>"
_MARK = "think>"
"""Stands in both; a response without it, which is nearly every one, is looked through once."""


@dataclass(frozen=True)
class Answer:
    """A response without its thinking.

    Attributes:
        text: the answer.
        unclosed: the response ended inside its thinking.
    """

    text: str
    unclosed: bool


def without_thinking(response: str) -> Answer:
    """Remove ``<think>...</think>``, also when the server swallowed the opening tag; other responses stay to the byte.

    >>> without_thinking("A1? No, A2.</think>Answer: A2")
    Answer(text='Answer: A2', unclosed=False)
    >>> without_thinking("<think>A1 or A2 or")
    Answer(text='', unclosed=True)
    """
    if _MARK not in response:
        return Answer(response, False)
    answer = response.rpartition(CLOSE)[2]
    head, opened, _ = answer.partition(OPEN)
    return Answer(head, bool(opened))
