"""The study of :mod:`annotation_study`, open."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from annotation_study import make_study

from long_context_tasks.annotation import Study


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """In ``s.db``."""
    with make_study(tmp_path / "s.db") as opened:
        yield opened
