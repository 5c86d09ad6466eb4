"""Fixtures that all tests share."""

import functools
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from long_context_tasks.schema.options import cache_dir

if TYPE_CHECKING:
    from long_context_tasks.corpora.books import Book
    from long_context_tasks.corpora.opinions import Opinion

# The same examples in every run, so that a change is judged by itself; `make faults` draws anew.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("drawn", deadline=None, print_blob=True)
settings.load_profile("drawn" if "LCT_FAULTS" in os.environ else "fixed")

# inspect_ai lists the files of all installed packages anew for every task, which takes a second.
metadata.packages_distributions = functools.cache(metadata.packages_distributions)

REPOSITORY = Path(__file__).resolve().parent.parent
_CACHE = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Give all processes of the run an empty cache: cases that an earlier run kept can hide a fault.

    Only converted models are shared with the user's own cache, since making one takes long.
    """
    if hasattr(config, "workerinput"):
        gc.disable()  # until all is collected: a third of the time of collecting would be search for garbage
        return  # the cache comes from the process that started this one
    models = cache_dir() / "models"
    models.mkdir(parents=True, exist_ok=True)
    config.stash[_CACHE] = cache = Path(tempfile.mkdtemp(prefix="lct-tests-"))
    (cache / "models").symlink_to(models, target_is_directory=True)
    os.environ["LCT_CACHE_DIR"] = str(cache)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


def pytest_collection_finish() -> None:
    """What was collected lives to the end: it is not searched for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real input data and parity vectors; tests that need it skip where it is not there."""
    folder = Path(os.environ.get("LCT_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder {folder} with real data and vectors (set LCT_SHARED)")
    return folder


@pytest.fixture(scope="session")
def real_books(shared: Path) -> "list[Book]":
    """The real novels, which take long to read."""
    from long_context_tasks.corpora.books import read_books

    return list(read_books(shared / "data" / "books"))


@pytest.fixture(scope="session")
def real_opinions(shared: Path) -> "list[Opinion]":
    """The real court opinions, which take long to read."""
    from long_context_tasks.corpora.opinions import read_opinions

    return list(read_opinions(shared / "data" / "court_opinions"))


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options in the caller's environment must not change a test."""
    for name in list(os.environ):
        if name.startswith("LCT_") and name not in ("LCT_SHARED", "LCT_CACHE_DIR", "LCT_DEMO_MODEL"):
            monkeypatch.delenv(name)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LCT_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """One headless browser for all tests of pages; see ``headless.needs_browser``."""
    from headless import new_driver

    found = new_driver(requests=True)
    yield found
    found.quit()
