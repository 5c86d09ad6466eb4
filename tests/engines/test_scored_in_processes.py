"""Judging and rescoring in processes write what one process writes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from judge_server import judge_server
from scored_again import scored, write_runs
from stored_runs import judge_by_seed, judge_file

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "220")
        yield write_runs(tmp_path_factory.mktemp("runs") / "results")


def test_rescoring(runs: Path, tmp_path: Path) -> None:
    here = scored(runs, tmp_path / "a", judge=None)
    assert len(here["files"]) == 6
    assert scored(runs, tmp_path / "b", "--jobs", "2", judge=None) == here


def test_judging(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with judge_server(judge_by_seed) as server:
        file = judge_file(tmp_path / "judge.yaml", server.url, seeds=[1, 2])
        here = scored(runs, tmp_path / "a", judge=file)
        asked = len(server.bodies)
        monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))  # with no replies in it
        assert scored(runs, tmp_path / "b", "--jobs", "2", judge=file) == here
        # Runs that are judged at the same time may ask the same.
        assert len(here) == 4 and len(server.bodies) >= 2 * asked
