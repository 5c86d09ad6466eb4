"""The examples in docstrings of the small libraries and of the site do what they show."""

import doctest
import importlib
import pkgutil

import pytest

ROOMS = ("noise", "site", "stats", "tokens")


@pytest.mark.parametrize("room", ROOMS)
def test_examples(room: str) -> None:
    package = importlib.import_module(f"long_context_tasks.{room}")
    names = [module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    results = [doctest.testmod(importlib.import_module(name), optionflags=flags) for name in names]
    assert sum(result.attempted for result in results) > 0
    assert sum(result.failed for result in results) == 0
