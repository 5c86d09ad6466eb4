"""What must not leave the machine with a bundle: keys, and where files lie on it."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from long_context_tasks.results.settings import without_places
from long_context_tasks.schema.secrets import HIDDEN, without_secrets

OF_THE_MACHINE = ("lct_data_dir", "lct_judge")
"""Options that tell a place and nothing about the task; left out."""
_FILE = re.compile(r"\bfile://+", re.ASCII)
_WORD = "(not_shown)"
_ROUNDS = 8


def fit_to_travel(value: Any) -> Any:
    """A value in which a path of this machine is its last part, and keys and what stands behind ``?`` in addresses are not shown.

    >>> fit_to_travel({"model_args": "pretrained=/home/me/Qwen2.5-7B,base_url=http://host/v1?key=1", "a": ["../x/y", "Qwen/Qwen2"]})
    {'model_args': 'pretrained=Qwen2.5-7B,base_url=http://host/v1', 'a': ['y', 'Qwen/Qwen2']}
    """
    # A text that has lost a part may show another: what is packed must hold out against a second look.
    for _ in range(_ROUNDS):
        before, value = value, _once(value)
        if before == value:
            break
    return value


def _once(value: Any) -> Any:
    # In one word, so that what was hidden before is hidden as a whole.
    before = _each(value, lambda text: text.replace(HIDDEN, _WORD))
    return _each(
        without_places(_each(without_secrets(before), lambda text: _FILE.sub("/", text))),
        lambda text: text.replace(_WORD, HIDDEN),
    )


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """A value with every text in it changed, keys too."""
    if isinstance(value, Mapping):
        return {change(str(key)): _each(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_each(each, change) for each in value]
    return change(value) if isinstance(value, str) else value
