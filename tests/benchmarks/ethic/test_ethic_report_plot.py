"""Pictures of the reports: refused before costly work, written whole or not at all."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from long_context_tasks.cli.report.elitr import write_plot
from matplotlib.figure import Figure
from typer.testing import CliRunner

from long_context_tasks.cli import app


@pytest.mark.parametrize("report", ["ethic", "elitr"])
def test_a_picture_that_cannot_be_had_is_refused_first(
    report: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(plot: Path) -> str:
        words = ["report", report, str(tmp_path / "nothing"), "--plot", str(plot)]
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


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_written_whole_or_not_at_all(tmp_path: Path, ending: str) -> None:
    class Broken(Figure):
        def savefig(self, *args: Any, **kwargs: Any) -> None:
            super().savefig(*args, **kwargs)
            raise RuntimeError("stopped in the middle")

    path = tmp_path / f"x.{ending}"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_plot(Broken(), path)
    assert path.read_text() == "old"
    write_plot(Figure(), path)
    assert path.read_bytes()[:5] == {"svg": b"<?xml", "png": b"\x89PNG\r"}[ending]
    assert list(tmp_path.iterdir()) == [path]
