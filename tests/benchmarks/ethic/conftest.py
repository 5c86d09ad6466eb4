"""Fixtures of the tests of ETHIC."""

from pathlib import Path

import pytest
from ethic_oracle import write_documents


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer of an annotator reach another test."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of all four domains."""
    return write_documents(tmp_path_factory.mktemp("documents"))
