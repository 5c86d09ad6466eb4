"""What a model of lm-eval takes in place of messages: a text, or the host's own form of a chat."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from long_context_tasks.schema import Message
from long_context_tasks.schema.system_role import folded, takes_system

# What is sent when not one prompt fits: most of the host's models fail on an empty list of requests.
_FILLER = "."


def context_of(
    sent: Sequence[Message],
    system_instruction: str | None = None,
    chat_template: Callable[..., Any] | None = None,
) -> Any:
    """Messages through the chat template, or their texts with a blank line between.

    Args:
        sent: the messages of a case.
        system_instruction: of ``--system_instruction``; stands in front of a system message of the case.
        chat_template: of the model, with ``--apply_chat_template``.
    """
    if chat_template is not None and sent[0].role == "system" and not _takes_system(chat_template):
        sent = folded(sent)
    messages = [asdict(message) for message in sent]
    if system_instruction:
        if messages[0]["role"] == "system":
            messages[0]["content"] = f"{system_instruction}\n\n{messages[0]['content']}"
        else:
            messages.insert(0, {"role": "system", "content": system_instruction})
    if chat_template is not None:
        return chat_template(messages, add_generation_prompt=True)
    return "\n\n".join(message["content"] for message in messages)


@lru_cache(maxsize=1)
def _takes_system(chat_template: Callable[..., Any]) -> bool:
    """Asked of a model once: the host drops what a template refuses, and warns each time."""
    return takes_system(lambda messages: plain_text(chat_template(messages, add_generation_prompt=True)))


def plain_text(context: Any) -> str:
    """The text of a context; for chat servers the host carries messages as JSON in a named tuple."""
    if isinstance(context, str):
        return context
    messages = json.loads(context.prompt) if hasattr(context, "prompt") else context
    return "\n".join(str(message["content"]) for message in messages)


def filler(chat_template: Callable[..., Any] | None) -> Any:
    """A prompt of next to nothing, in the form that the model takes."""
    if chat_template is None:
        return _FILLER
    return chat_template([{"role": "user", "content": _FILLER}], add_generation_prompt=True)
