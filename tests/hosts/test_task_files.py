"""lm-eval's YAML files: made at first use, whole and current."""

import subprocess
import sys
from pathlib import Path

import pytest

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.lm_eval import task_files
from long_context_tasks.hosts.lm_eval.task_files import task_folder
from long_context_tasks.schema import InputError

FOLDER = "from long_context_tasks.hosts.lm_eval.task_files import task_folder as f; p = f(); print(p, len(list(p.glob('*.yaml'))))"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_task_has_a_file_that_is_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = task_folder()
    assert folder.is_relative_to(cache)
    assert {spec.name for spec in catalogue.task_specs() if spec.listed} < {
        path.stem for path in folder.glob("*.yaml")
    }
    monkeypatch.setattr(task_files, "task_files", lambda: pytest.fail("made again"))
    assert task_folder() == folder


def test_other_code_or_another_card_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = task_folder()
    made_from = list(task_files._made_from())
    monkeypatch.setattr(task_files, "_made_from", lambda: iter([*made_from[:-1], made_from[-1] + b"#"]))
    assert task_folder() != before


def test_processes_that_begin_at_once_get_the_same_folder(cache: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", FOLDER], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    folder = task_folder()
    lines = {process.communicate(timeout=600)[0] for process in running}
    assert lines == {f"{folder} {len(list(folder.glob('*.yaml')))}\n"}


def test_a_cache_that_cannot_be_written_is_named_with_the_remedy(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(InputError, match=f"{cache}.*LCT_CACHE_DIR"):
        task_folder()


def test_what_a_broken_benchmark_lacks_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "broken_benchmarks", lambda: {"broken": "cannot be imported"})
    folder = task_folder()
    monkeypatch.setattr(catalogue, "broken_benchmarks", dict)
    assert "broken" in folder.name and (folder / "_lct_official.yaml").is_file()
    assert task_folder() != folder
