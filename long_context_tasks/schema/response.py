"""A turn's outcome: the response, the reasons for no score or the lowest one, and the stored format."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.schema.files import loads

DOES_NOT_FIT = "does_not_fit"
"""The prompt and its answer budget exceed the context window; nothing is sent."""
ENDPOINT_FAILED = "endpoint_failed"
"""The model's or judge's server does not reply."""
NOT_JUDGED = "not_judged"
JUDGE_FAILED = "judge_failed"
"""The judge does not reply; another run retries the call."""
JUDGE_UNPARSABLE = "judge_unparsable"
"""The judge's reply contains no score."""
UNPARSABLE = "unparsable"
"""A single verdict contains no score."""
NOT_SCORED = "not_scored"
"""The host scored other cases in the run but not this one."""

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
"""Reasons for no score that are not model failures."""
REASONS = (*UNSCORED, ANSWER_CUT, EMPTY, REFUSED, UNPARSED, AMBIGUOUS, WRONG_LENGTH)
"""All reasons counted in results; those not in :data:`UNSCORED` give the lowest score."""


def counted(counts: Mapping[str, int]) -> str:
    """Return reasons with their counts, the most frequent first.

    >>> counted({"does_not_fit": 1, "empty": 2})
    '2 empty, 1 does_not_fit'
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)


@dataclass(frozen=True)
class Response:
    text: str | None  # the model's text, if there is one
    status: str | None = None  # a failure on our side such as ``does_not_fit``, or None


def stored_form(responses: Sequence[Response], *, conversation: bool) -> tuple[str, Any]:
    """Return text and status in the format of hosts' files; :func:`from_stored_form` is the inverse.

    A single-turn case has a plain text, empty if it is missing, and its status. A dialogue has a JSON list of
    texts, null for missing ones, and a list of statuses.
    """
    if conversation:
        texts = [response.text for response in responses]
        return json.dumps(texts, ensure_ascii=False), [response.status for response in responses]
    # A single turn stays plain text, so that the host's own tools can show it.
    [response] = responses
    return response.text or "", response.status


def from_stored_form(text: str | None, status: Any) -> list[Response]:
    """Return a case's responses from a host's files; a list of statuses marks a dialogue.

    >>> from_stored_form('["Yes.", null]', [None, "does_not_fit"])
    [Response(text='Yes.', status=None), Response(text=None, status='does_not_fit')]

    Raises:
        ValueError, TypeError: the values are not in the format written by :func:`stored_form`.
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
    """Replace lone surrogates, which servers may send and UTF-8 cannot encode, with question marks.

    >>> writable("half \\ud83d a smile, \\u00e9")
    'half ? a smile, é'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


_REFUSALS = (
    re.compile(
        r"(?:i['’]?m|i am|we are|we['’]re)?\s*(?:very |really )?(?:sorry|unable to|not able to)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:unfortunately,? )?i (?:can['’]?t|cannot|can not|won['’]?t|will not|am not going to)\b",
        re.IGNORECASE,
    ),
    re.compile(r"as an? (?:ai|large language) ", re.IGNORECASE),
)
# A refusal is a sentence or two; a long text that begins like one may contain an answer.
_REFUSAL_CHARS = 600


def is_refusal(answer: str) -> bool:
    """Return whether a text refuses to give an answer.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Anne, Jane")
    (True, False)
    """
    text = answer.strip()
    return len(text) <= _REFUSAL_CHARS and any(refusal.match(text) for refusal in _REFUSALS)
