"""What came of a turn, and how the turns of a case stand in a host's files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
    texts = json.loads(text or "")
    if not isinstance(texts, list) or not all(isinstance(one, str | None) for one in [*texts, *status]):
        raise TypeError("expected a list of texts")
    return [Response(one, state) for one, state in zip(texts, status, strict=True)]


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
