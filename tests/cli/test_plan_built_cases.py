"""`lct plan --missing` on built cases goes by the content of the cases and not by their folder; from folders and from bundles."""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from needs import needs
from run_commands import lct
from stored_runs import run_lm_eval
from stub_server import stub_server

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.schema import InputError

pytestmark = needs("lm_eval", "polars")

TASK = "elitr_bench_qa_synthetic"


def cell(results: Path, cases: Path, *words: object) -> tuple[str, str]:
    """State of the one cell, and why."""
    done = lct("plan", "--missing", results, "--tasks", TASK, "--cases", cases, "--json", *words)
    assert done.code in (0, 1), done
    [found] = json.loads(done.out)["cells"]
    assert (done.code == 0) is (found["state"] == "done")
    return found["state"], found["why"]


def build(folder: Path, seed: int) -> Path:
    done = lct("build", TASK, "--length", "1k", "--n", "3", "--seed", seed, "--out", folder)
    assert done.code == 0, done
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """``cases`` of two seeds, a run on the first in ``results``, and its ``bundle``."""
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(folder / "cache"))
        patch.delenv("LCT_JUDGE", raising=False)
        first, _ = build(folder / "first" / "cases", 0), build(folder / "other" / "cases", 1)
        with stub_server() as stub:
            arguments = f"model=stub,base_url={stub.url}/chat/completions"
            run_lm_eval(folder / "results", [TASK], arguments, {"lct_cases": str(first)})
        packed = lct("report", "pack", folder / "results", "--out", folder / "bundle")
        assert packed.code == 0, packed
        yield folder


@pytest.mark.parametrize("place", ["results", "bundle"])
def test_a_run_is_done_wherever_its_cases_lie_now(made: Path, tmp_path: Path, place: str) -> None:
    assert cell(made / place, made / "first" / "cases") == ("done", "")
    moved = shutil.copytree(made / "first" / "cases", tmp_path / "another name")
    assert cell(made / place, moved) == ("done", "")
    assert cell(made / place, moved, "--n", "2") == ("done", "")


@pytest.mark.parametrize("place", ["results", "bundle"])
def test_other_cases_in_a_folder_of_the_same_name_are_not_done(made: Path, place: str) -> None:
    state, why = cell(made / place, made / "other" / "cases")
    assert state == "absent" and f"contained different cases than {made / 'other' / 'cases'}" in why


def test_cases_that_were_built_anew_in_their_place_are_other_cases(made: Path, tmp_path: Path) -> None:
    place = made / "first" / "cases"
    kept = shutil.copytree(place, tmp_path / "kept")
    try:
        build(place, 5)
        state, why = cell(made / "results", place)
    finally:
        shutil.rmtree(place)
        shutil.copytree(kept, place)
    assert state == "absent" and "contained different cases" in why


def test_a_run_is_scored_and_judged_again_wherever_its_cases_lie_now(made: Path, tmp_path: Path) -> None:
    place = made / "first" / "cases"
    results = shutil.copytree(made / "results", tmp_path / "results")
    [samples] = results.rglob("results_*.json")
    metadata = json.loads(samples.read_text())["configs"][TASK]["metadata"]
    assert metadata["lct_cases"] == str(place) and len(metadata["cases_sha256"]) == 16
    moved = shutil.move(place, tmp_path / "moved")
    try:
        done = lct("runs", "rescore", results)
        assert done.code == 2 and f"not in {place}; name their folder with --cases" in done.err
        done = lct("runs", "rescore", results, "--cases", moved, "--json")
        assert done.code == 0 and done.rows["result"]["changed"] == 0, done
        other = lct("runs", "rescore", results, "--cases", made / "other" / "cases")
        assert other.code == 2 and metadata["cases_sha256"] in other.err and other.err.count("\n") == 1
        # A synthetic run is judged once more only where a judge has scored it.
        row = json.loads(samples.read_text())
        row["configs"][TASK]["metadata"]["judge"] = {"name": "earlier"}
        samples.write_text(json.dumps(row))
        with stub_server() as stub:
            judge = tmp_path / "judge.yaml"
            judge.write_text(f"name: j\nmodel: stub\nbase_url: {stub.url}\n")
            done = lct("judge", "run", results, "--judge", judge)
            said = done.err.splitlines()[-1]
            assert done.code == 2 and "nothing to judge: skipped " in said, done
            assert f"not in {place}; name their folder" in said and "no run of a task" not in said
            done = lct("judge", "run", results, "--judge", judge, "--cases", moved)
        assert list(results.rglob("judged/*/*.json")), done
    finally:
        shutil.move(moved, place)


def test_a_changed_text_of_cases_is_noticed(made: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(made / "first" / "cases", tmp_path / "cases")
    [path] = moved.rglob("*.sqlite")
    with closing(sqlite3.connect(path)) as table, table:
        table.execute("UPDATE documents SET text = text || '.'")
    changed = f"{path}: was changed after it was built"
    for words in (("runs", "rescore", made / "results", "--dry-run"), ("plan", "--tasks", TASK)):
        done = lct(*words, "--cases", moved)
        assert done.code and changed in done.err, done
    # As the hosts load it.
    with pytest.raises(InputError, match=re.escape(changed)):
        load_task(TASK, {"lct_cases": str(moved)})
