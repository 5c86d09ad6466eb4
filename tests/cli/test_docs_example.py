"""The benchmark on the page for authors of benchmarks passes `lct check`, and its prompts can be exported, built and scored."""

import json
import re
import sys
from pathlib import Path

import pytest
from plugins import installed
from run_commands import lct

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import InputError

PAGE = Path(__file__).parents[2] / "docs" / "adding_a_benchmark.md"
POINTS = "[long_context_tasks.benchmarks]\nparcels = parcels:BENCHMARK\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package whose files are on the page."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "package"
    for name, text in re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    metadata = folder / "parcels-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: parcels\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    assert 'parcels = "parcels:BENCHMARK"' in (folder / "pyproject.toml").read_text()
    return folder


def test_the_example_works(folder: Path, tmp_path: Path) -> None:
    with installed(folder):
        checked = lct("check", "parcels", "--write")
        assert checked.code == 0 and checked.out.endswith("parcels: all is well\n"), checked.out
        assert "note" not in checked.out, checked.out
        task, prompts = "parcels_shelf_2k_synthetic", tmp_path / "prompts.jsonl"
        done = lct("runs", "export", task, "--n", 2, "--with-gold", "--out", prompts)
        assert done.code == 0, done.err
        rows = [json.loads(line) for line in prompts.read_text().splitlines()]
        assert all("On which shelf is parcel" in json.dumps(row) for row in rows[-2:])
        built = lct(
            "build", "parcels_shelf_synthetic", "--length", "2k", "--n", 2, "--out", tmp_path / "cases"
        )
        assert built.code == 0 and task in built.out, built.err
        cases = load_task(task, {"lct_n": 9, "lct_shelves": 2}).cases.cases
        assert {case.turns[0].gold for case in cases} == {1, 2}
        with pytest.raises(InputError, match="lct_shelves must be at least 2"):
            load_task(task, {"lct_shelves": 1})
    for name in [name for name in sys.modules if name.partition(".")[0] == "parcels"]:
        del sys.modules[name]


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text().split()) <= 900
