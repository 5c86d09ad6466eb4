"""What came of a turn: the response, why it has no score or the lowest, and how it is written in a host's files."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.schema.files import loads

DOES_NOT_FIT = "does_not_fit"
"""The prompt and its answer budget exceed the context window; nothing is sent."""
ENDPOINT_FAILED = "endpoint_failed"
"""The model's server, or the judge's, gives no reply."""
NOT_JUDGED = "not_judged"
JUDGE_FAILED = "judge_failed"
"""The judge gives no reply; another run asks it again."""
JUDGE_UNPARSABLE = "judge_unparsable"
"""The judge replies, and its reply holds no score."""
UNPARSABLE = "unparsable"
"""The same of a single verdict."""
NOT_SCORED = "not_scored"
"""The host scores other cases of the run, and not this one."""

ANSWER_CUT = "answer_cut"
"""The answer budget ends while the model is still thinking."""
EMPTY = "empty"
REFUSED = "refused"
"""A refusal is an answer: it gets the lowest score."""
UNPARSED = "unparsed"
AMBIGUOUS = "ambiguous"
WRONG_LENGTH = "wrong_length"

OF_THE_JUDGE = (NOT_JUDGED, JUDGE_FAILED, JUDGE_UNPARSABLE)
UNSCORED = (DOES_NOT_FIT, ENDPOINT_FAILED, *OF_THE_JUDGE)
"""No score, through no fault of the model."""
REASONS = (*UNSCORED, ANSWER_CUT, EMPTY, REFUSED, UNPARSED, AMBIGUOUS, WRONG_LENGTH)
"""All that results count; those that are not in :data:`UNSCORED` give the lowest score."""


@dataclass(frozen=True)
class Response:
    """What came of one turn.

    Attributes:
        text: of the model; None when there is none.
        status: None, or a failure of ours such as ``does_not_fit``.
    """

    text: str | None
    status: str | None = None


def stored_form(responses: Sequence[Response], *, conversation: bool) -> tuple[str, Any]:
    """Text and status as they stand in a host's files; :func:`from_stored_form` is the inverse.

    A case with one turn has a plain text, empty when there is none, and its status. A conversation has a JSON list of texts,
    null where there is none, and a list of statuses.

    Raises:
        ValueError: several responses to a case that is no conversation.
    """
    if conversation:
        texts = [response.text for response in responses]
        return json.dumps(texts, ensure_ascii=False), [response.status for response in responses]
    [response] = responses
    return response.text or "", response.status


def from_stored_form(text: str | None, status: Any) -> list[Response]:
    """The responses of a case from a host's files; a list of statuses tells a conversation.

    >>> from_stored_form("Yes.", None)
    [Response(text='Yes.', status=None)]
    >>> from_stored_form('["Yes.", null]', [None, "does_not_fit"])
    [Response(text='Yes.', status=None), Response(text=None, status='does_not_fit')]

    Raises:
        ValueError, TypeError: not what :func:`stored_form` writes.
    """
    if not isinstance(status, list):
        if not isinstance(text, str | None) or not isinstance(status, str | None):
            raise TypeError(f"a {type(text).__name__} with status {status!r}, expected a text")
        return [Response(text if status is None else None, status)]
    texts = loads(text or "")
    if not isinstance(texts, list) or not all(isinstance(text, str | None) for text in [*texts, *status]):
        raise TypeError("expected a list of texts")
    return [Response(text, state) for text, state in zip(texts, status, strict=True)]


def writable(text: str) -> str:
    """A response that every file can hold: half of a surrogate pair, which a server may send, has no bytes and becomes a question mark.

    >>> writable("half \\ud83d a smile, \\u00e9")
    'half ? a smile, é'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


_REFUSAL = re.compile(
    r"(?:i['’]?m|i am|we are|we['’]re)?\s*(?:very |really )?(?:sorry|unable to|not able to)\b|"
    r"(?:unfortunately,? )?i (?:can['’]?t|cannot|can not|won['’]?t|will not|am not going to)\b|"
    r"as an? (?:ai|large language) ",
    re.IGNORECASE,
)
# A refusal is a sentence or two; a long text that begins like one may hold an answer.
_REFUSAL_CHARS = 600


def is_refusal(answer: str) -> bool:
    """Whether a text without an answer in it refuses to give one.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Anne, Jane")
    (True, False)
    """
    text = answer.strip()
    return len(text) <= _REFUSAL_CHARS and _REFUSAL.match(text) is not None
