"""How an unfinished thinking looks in a response, in both hosts: it begins with ``<think>``, so that benchmarks can tell it."""

from collections.abc import Mapping
from typing import Any

_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put a thinking that they separate from the answer; the second is that of newer ones."""


def thinking_of(message: Any) -> str:
    """The thinking in a message of a chat completion, a mapping or an object; empty when there is none."""
    for name in _FIELDS:
        value = message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
        if isinstance(value, str) and value:
            return value
    return ""
