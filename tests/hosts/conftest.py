"""A small published file and a random model, for the tests of both hosts."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from invented_meetings import write_archives
from plugins import installed
from tiny_model import make_tiny_model
from toy_benchmark import PACKAGE


@pytest.fixture(scope="module")
def toy_installed() -> Iterator[None]:
    """The toy benchmark is found as that of another package."""
    with installed(PACKAGE):
        yield


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for published files, and an empty cache."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LCT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    # Nothing is downloaded; the host's dummy model would try to.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def meetings(data: Path) -> None:
    """Two meetings: two questions about the first, one about the second."""
    write_archives(data)


@pytest.fixture
def published(data: Path) -> Path:
    """Six BestAnswer cases, the last two ten times as long, in the published form."""
    rows = [
        {
            "question_id": str(i),
            "question": f"\nWhat is {i}?\n",
            "all_answers": [
                f"\nIt is {j}. " + "More words. " * (10 if i < 4 else 400) + "\n" for j in range(3)
            ],
            "answer": "A2",
            "tags": ["x"],
        }
        for i in range(6)
    ]
    folder = data / "ada_leval"
    folder.mkdir()
    with gzip.open(folder / "stackselect_1k.json.gz", "wt") as file:
        json.dump(rows, file)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model with a window of 1,500 tokens."""
    return make_tiny_model(tmp_path_factory.mktemp("model"), max_position_embeddings=1500)
