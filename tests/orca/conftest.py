"""Models that the tests of ORCA share, made once; torch is loaded with the first test that asks for one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from orca_checkpoints import save_tiny_lm, saved_checkpoint


@pytest.fixture(scope="session")
def tiny_lm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model with its tokenizer; not to be changed."""
    pytest.importorskip("peft")
    return save_tiny_lm(tmp_path_factory.mktemp("lm") / "tiny")


@pytest.fixture(scope="session")
def _judge_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    pytest.importorskip("torch")
    place, made = tmp_path_factory.mktemp("judges"), {}

    def folder(head: str) -> Path:
        if head not in made:
            made[head] = place / head
            saved_checkpoint(made[head], head)
        return made[head]

    return folder


@pytest.fixture
def judge_copy(_judge_folder: Callable[[str], Path]) -> Callable[..., Path]:
    """Put a copy of a random checkpoint into a folder."""

    def copy(folder: Path, head: str = "beta") -> Path:
        return Path(shutil.copytree(_judge_folder(head), folder))

    return copy
