"""Convert the bodies of chat and text completions to the protocol's format, for all hosts and judges."""

from collections.abc import Mapping, Sequence
from typing import Any

THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Fields for thinking that a server separates from the answer; newer servers use the second."""


class NoCompletion(RuntimeError):
    """A server returns status 200 without a completion: a server failure, never an empty response.

    Attributes:
        code: status given in the body itself, if any.
        no_choices: whether the body is a completion with an empty list of choices.
    """

    def __init__(self, text: str, code: int | None = None, *, no_choices: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.no_choices = no_choices


def mended(body: Any) -> dict[str, Any]:
    """Return a body with choices in the protocol's format, or raise :class:`NoCompletion`.

    A missing ``index`` is filled in, and omitted content becomes null. If the content is a list of parts, the
    texts become the content and the other parts the thinking. The error has the server's own message.
    """
    if not isinstance(body, dict):
        raise NoCompletion("status 200 with a body that is not an OpenAI-style completion")
    choices = body.get("choices")
    if not choices or not isinstance(choices, list):
        raise _failure(body.get("error"), no_choices=choices == [])
    return {**body, "choices": [_choice(choice, place) for place, choice in enumerate(choices)]}


def _choice(row: Any, place: int) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise NoCompletion("status 200 with a choice that is not an object")
    # Some routers return a provider's error inside the choice, with status 200.
    if row.get("error"):
        raise _failure(row["error"])
    # All servers that omit the index list the choices in order.
    index = row.get("index")
    choice: dict[str, Any] = {**row, "index": place if index is None else index}
    message = choice.get("message")
    # A text completion, or a server that omits the message of an empty answer.
    if message is None:
        if not isinstance(choice.get("text"), str | None) or "text" not in choice:
            raise NoCompletion("status 200 with a choice that has neither message nor text")
        return choice
    if not isinstance(message, dict):
        raise NoCompletion("status 200 with a message that is not an object")
    content, thinking = message.get("content"), thinking_of(message)
    if isinstance(content, list):
        content, parts = _from_parts(content)
        thinking = thinking or parts
    if not isinstance(content, str | None):
        raise NoCompletion("status 200 with a message whose content is not text")
    message = {**message, "content": content}
    if thinking:
        message["reasoning_content"] = thinking
    return {**choice, "message": message}


def _from_parts(parts: Sequence[Any]) -> tuple[str, str]:
    texts, thoughts = [], []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif (
            isinstance(part, dict)
            and isinstance(part.get("text"), str)
            and part.get("type") in (None, "text", "output_text")
        ):
            texts.append(part["text"])
        # Thinking may itself be a list of parts (Mistral).
        elif isinstance(part, dict) and (
            inner := part.get("thinking") or part.get("reasoning") or part.get("text")
        ):
            thoughts.append(inner if isinstance(inner, str) else "".join(_from_parts(inner)))
        elif not isinstance(part, dict):
            raise NoCompletion("status 200 with a message whose content is not text")
    return "".join(texts), "".join(thoughts)


def _failure(error: Any, *, no_choices: bool = False) -> NoCompletion:
    if not error:
        problem = "without choices" if no_choices else "that is not an OpenAI-style completion"
        return NoCompletion(f"status 200 with a body {problem}", no_choices=no_choices)
    row = error if isinstance(error, dict) else {"message": str(error)}
    code_text = str(row.get("code", ""))
    # Codes may also be words; only an HTTP status determines whether the call is retried.
    code = int(code_text) if code_text.isdecimal() and 400 <= int(code_text) <= 599 else None
    shown = f" (code {code_text})" if code_text else ""
    return NoCompletion(
        f"status 200 with an error in the body: {row.get('message') or 'no message'}{shown}", code
    )


def thinking_of(message: Mapping[str, Any]) -> str:
    """Return the thinking in a chat completion's message, or an empty string.

    >>> thinking_of({"content": None, "reasoning": "hm"})
    'hm'
    """
    texts = (message.get(name) for name in THINKING_FIELDS)
    return next((value for value in texts if isinstance(value, str) and value), "")
