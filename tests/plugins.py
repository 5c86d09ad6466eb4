"""Installed packages that bring benchmarks, for tests: a folder with a ``.dist-info`` is as good as a wheel."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from long_context_tasks.benchmarks import catalogue


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Let this process find the packages in a folder, and the benchmarks that they bring."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        _forget()
        try:
            yield
        finally:
            patch.undo()
            _forget()


def _forget() -> None:
    for cached in (catalogue._found, catalogue._every_option, catalogue.task_specs, catalogue._by_name):
        cached.cache_clear()
