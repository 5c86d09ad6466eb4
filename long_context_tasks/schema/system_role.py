"""Chat templates without a system role: the system message goes in front of the user's. Both hosts and whoever counts a prompt use this.

Left to itself lm-eval drops a system message that a template refuses, OpenCompass stops, and some templates leave it out without a
word.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from long_context_tasks.schema.case import Message

_PROBE = "A system message."


def folded(messages: Sequence[Message]) -> list[Message]:
    """The same without a system role: its text stands in front of the first other message, with a blank line between.

    >>> folded([Message("system", "S"), Message("user", "U")])
    [Message(role='user', content='S\\n\\nU')]
    """
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if not system or not others:
        return list(messages)
    return [replace(others[0], content="\n\n".join([*system, others[0].content])), *others[1:]]


def takes_system(apply: Callable[[list[dict[str, str]]], Any]) -> bool:
    """Whether a chat template writes a system message.

    Args:
        apply: messages as mappings to the template's text.
    """
    try:
        text = apply([{"role": "system", "content": _PROBE}, {"role": "user", "content": "A question."}])
    except Exception:
        # jinja's TemplateError mostly; templates raise what they like.
        return False
    return _PROBE in str(text)
