"""The Hugging Face hub: whether it answers, and work without it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OFFLINE = "HF_HUB_OFFLINE"
_MODULES = ("huggingface_hub.constants", "datasets.config")
"""They read the variable once, when they are imported."""
_TIMEOUT = 10.0
"""Seconds."""


def answers(data_set: str) -> bool:
    """Return whether the hub answers a question about a data set, asked once; its own library asks an unreachable hub six times."""
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info(data_set, timeout=_TIMEOUT)
    except Exception as error:  # whatever its HTTP layer raises; a refusal is an answer
        return getattr(error, "response", None) is not None
    return True


@contextmanager
def without_downloads() -> Iterator[None]:
    """Fetch nothing from the hub in this block; its libraries take what they have in their caches."""
    before = os.environ.get(_OFFLINE)
    read = {name: getattr(sys.modules[name], _OFFLINE) for name in _MODULES if name in sys.modules}
    os.environ[_OFFLINE] = "1"
    _set(dict.fromkeys(read, True))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_OFFLINE, None)
        else:
            os.environ[_OFFLINE] = before
        # A module that came in between has read the variable.
        _set(dict.fromkeys(_MODULES, before not in (None, "", "0")) | read)


def _set(offline: dict[str, bool]) -> None:
    """Tell modules of the hub's libraries that are loaded, and drop open sessions, which know what held when they were made."""
    for name, value in offline.items():
        if name in sys.modules:
            setattr(sys.modules[name], _OFFLINE, value)
    http = sys.modules.get("huggingface_hub.utils._http")
    if reset := getattr(http, "reset_sessions", None):
        reset()
