"""The archives with invented meetings, and a cache of their own."""

from pathlib import Path

import pytest
from invented_meetings import write_archives

from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ElitrBenchOptions:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    write_archives(tmp_path / "data")
    return ElitrBenchOptions(data_dir=tmp_path / "data")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of the archives."""
    return write_archives(tmp_path)
