"""The benchmarks on the pages for authors of benchmarks pass `lct check`, and their prompts can be exported, built and scored."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins import DOCS, installed, package_on_page
from run_commands import lct

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import InputError

PAGE, JUDGED = "adding_a_benchmark.md", "adding_a_judged_benchmark.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    yield tmp_path / "package"
    for name in [name for name in sys.modules if re.match(r"(parcels|tales)_benchmark", name)]:
        del sys.modules[name]


def test_the_example_works(folder: Path, tmp_path: Path) -> None:
    with installed(package_on_page(PAGE, "parcels", folder)):
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


def test_each_builder_makes_the_cases_of_the_variant_it_is_named_after(folder: Path) -> None:
    package = package_on_page(PAGE, "parcels", folder) / "parcels_benchmark"
    for file, before, after in (
        (
            "card.yaml",
            "    variants:\n",
            "    variants:\n      - {name: easy, source: seed, lengths: [2k]}\n",
        ),
        ("__init__.py", "return [Shelf", "return [ShelfBuilder('parcels_shelf_easy', 'shelf'), Shelf"),
        ("data.py", "settings.shelves)", "2 if self.name.endswith('_easy') else settings.shelves)"),
    ):
        text = (package / file).read_text()
        assert text.count(before) == 1
        (package / file).write_text(text.replace(before, after))
    with installed(folder):
        golds = {
            variant: {
                case.turns[0].gold
                for case in load_task(f"parcels_shelf_2k_{variant}", {"lct_n": 9}).cases.cases
            }
            for variant in ("easy", "synthetic")
        }
        assert golds["easy"] == {1, 2} and max(golds["synthetic"]) > 2
        assert lct("check", "parcels").out.endswith("parcels: all is well\n")
        built = (package / "__init__.py").read_text().replace("parcels_shelf_easy", "parcels_shelf_hard")
        (package / "__init__.py").write_text(built)
    for name in [name for name in sys.modules if name.startswith("parcels_benchmark")]:
        del sys.modules[name]
    with (
        installed(folder),
        pytest.raises(InputError, match="none of its SeededBuilders is named parcels_shelf_easy"),
    ):
        load_task("parcels_shelf_2k_easy", {"lct_n": 9})


def test_the_judged_example_works(folder: Path, tmp_path: Path) -> None:
    with installed(package_on_page(JUDGED, "tales", folder)):
        checked = lct("check", "tales", "--write")
        assert checked.code == 0 and checked.out.endswith("tales: all is well\n"), checked.out
        prompts = tmp_path / "prompts.jsonl"
        assert lct("runs", "export", "tales_talk_2k", "--n", 2, "--out", prompts).code == 0
        rows = [json.loads(line) for line in prompts.read_text().splitlines()]
        assert json.dumps(rows[-1]).count("What did traveller") >= 1


@pytest.mark.parametrize(("page", "most"), [(PAGE, 900), (JUDGED, 950), ("plugin_reference.md", 500)])
def test_the_pages_are_short(page: str, most: int) -> None:
    text = (DOCS / page).read_text()
    assert len(text.split()) <= most
    # Narrow screens show this much of a line of code.
    code = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [line for block in code for line in block.splitlines() if len(line) > 76] == []
