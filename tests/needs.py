"""Marks for tests of what an optional library does; nothing is imported to find out."""

from importlib.util import find_spec

import pytest


def needs(*libraries: str) -> pytest.MarkDecorator:
    """Skip tests where a library is not installed."""
    missing = [library for library in libraries if find_spec(library) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")
