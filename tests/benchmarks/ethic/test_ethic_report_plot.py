"""Pictures of the reports: refused before costly work, written whole or not at all."""

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.results.sections import picture_bytes


def test_a_picture_that_cannot_be_had_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(plot: Path) -> str:
        words = ["report", str(tmp_path / "nothing"), "--section", "ethic", "--plot", str(plot)]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        return " ".join(result.output.split())

    assert "give a name that ends with .svg or .png" in said(tmp_path / "x.pdf")
    assert "in a folder that exists" in said(tmp_path / "away" / "x.svg")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name == "matplotlib" else found(name, *more)
    )
    assert "pip install matplotlib" in said(tmp_path / "x.svg")


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG\r")])
def test_a_picture_has_the_form_of_its_name(ending: str, begins: bytes) -> None:
    from matplotlib.figure import Figure

    assert picture_bytes(Figure(), Path(f"x.{ending}"))[:5] == begins
