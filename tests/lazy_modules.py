"""Modules that are imported with their first use, so that collecting tests loads no torch; a test without them is skipped."""

from typing import Any

import pytest


class Lazy:
    """A module that is not imported yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks every name of a test module for its marks
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)


torch = Lazy("torch")
transformers = Lazy("transformers")
