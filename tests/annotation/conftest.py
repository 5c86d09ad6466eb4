"""The study of :mod:`annotation_study`."""

from pathlib import Path

import pytest
from annotation_study import make_study

from long_context_tasks.annotation import AnnotationStudy


@pytest.fixture
def study(tmp_path: Path) -> AnnotationStudy:
    """The study in memory; its file is ``s.json``."""
    return make_study(tmp_path / "s.json")
