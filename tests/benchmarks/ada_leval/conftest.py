"""Data that several tests of this benchmark read."""

import gzip
import json
from pathlib import Path

import pytest
from published_files import record, tsort_record


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with small files in the published form."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "ada_leval"
    folder.mkdir(parents=True)
    (folder / "stackselect_1k.json").write_text(json.dumps([record(i) for i in range(1201)]))
    with gzip.open(folder / "textsort_2k.json.gz", "wt") as file:
        json.dump([tsort_record(i) for i in range(6)], file)
    (folder / "stackselect_32k.json").write_text(json.dumps([record(i) for i in range(205)]))
    return folder
