"""What a response is besides an answer: thinking, nothing at all, or a refusal."""

import re
from dataclasses import dataclass

from long_context_tasks.benchmarks.ethic.official import REFUSAL
from long_context_tasks.schema.thinking import without_thinking

EMPTY = "empty"
CUT = "answer_cut"
REFUSED = "refused"
UNPARSED = "unparsed"

_REFUSAL = re.compile(
    r"(?:i['’]?m|i am|we are|we['’]re)?\s*(?:very |really )?(?:sorry|unable to|not able to)\b|"
    r"(?:unfortunately,? )?i (?:can['’]?t|cannot|can not|won['’]?t|will not|am not going to)\b|"
    r"as an? (?:ai|large language) ",
    re.IGNORECASE,
)
# A refusal is a sentence or two; a long text that begins like one may hold an answer.
_REFUSAL_CHARS = 600


@dataclass(frozen=True)
class Answer:
    """A response without its thinking.

    Attributes:
        text: the answer.
        failure: None, ``empty`` (nothing but white space), or ``answer_cut`` (the response ended inside its thinking).
    """

    text: str
    failure: str | None


def answer_of(response: str | None) -> Answer:
    """Remove ``<think>...</think>``, also when the server swallowed the opening tag.

    >>> answer_of("<think>Anne? Jane?</think>Anne"), answer_of("<think>Anne or")
    (Answer(text='Anne', failure=None), Answer(text='', failure='answer_cut'))
    """
    answer = without_thinking(response or "")
    if answer.text.strip():
        return Answer(answer.text, None)
    return Answer("", CUT if answer.unclosed else EMPTY)


def is_refusal(answer: str) -> bool:
    """Whether a text without an answer in it refuses to give one.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Anne, Jane")
    (True, False)
    """
    text = answer.strip()
    return text == REFUSAL or (len(text) <= _REFUSAL_CHARS and _REFUSAL.match(text) is not None)
