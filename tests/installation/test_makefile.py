"""`make` with a Python that cannot run both hosts: one line with the remedy, and nothing is installed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environments import REPOSITORY

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")

# Stands in for a Python of another version: it fails the check and tells its version.
OTHER_PYTHON = """#!/bin/sh
case "$2" in *sys.exit*) exit 1;; *) printf '%s 3.9.2 ' "$3";; esac
"""


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, folder)
    command = ["make", "--no-print-directory", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize(
    ("target", "found"), [("demo", "{python} 3.9.2"), ("test", "{python} 3.9.2"), ("demo", "none")]
)
def test_a_wrong_python_gets_one_line_with_the_remedy(tmp_path: Path, target: str, found: str) -> None:
    python = tmp_path / "python3"
    if found != "none":
        python.write_text(OTHER_PYTHON)
        python.chmod(0o755)
    result = make(tmp_path, target, f"PYTHON={python}")
    assert result.returncode != 0 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    for part in ("3.11 or 3.12", f"found: {found.format(python=python)}", f"make {target} PYTHON="):
        assert part in result.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.skipif(sys.version_info[:2] not in ((3, 11), (3, 12)), reason="needs a Python that make accepts")
def test_a_right_version_is_used_and_what_is_there_is_reused(tmp_path: Path) -> None:
    planned = make(tmp_path, "--dry-run", "demo", f"PYTHON={sys.executable}")
    assert f"{sys.executable} -m venv .venv" in planned.stdout
    stamp = tmp_path / ".venv" / ".installed"
    stamp.parent.mkdir()
    stamp.touch()
    make_again = ["make", "--dry-run", "-C", str(tmp_path), "demo"]
    again = subprocess.run(make_again, capture_output=True, text=True, check=True, timeout=600)
    assert "venv .venv" not in again.stdout
    assert "lct demo" in again.stdout
