"""Installed packages that bring benchmarks, for tests: a folder with a ``.dist-info`` is as good as a wheel."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from long_context_tasks.benchmarks import catalogue

DOCS = Path(__file__).parents[1] / "docs"


def package_on_page(page: str, name: str, folder: Path) -> Path:
    """Write the package of a page for authors of benchmarks into a folder, as if it were installed."""
    text = (DOCS / page).read_text()
    for file, content in re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)
    metadata = folder / f"{name}-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    point = f"{name} = {name}_benchmark:BENCHMARK"
    assert point.replace("= ", '= "') + '"' in text
    (metadata / "entry_points.txt").write_text(f"[long_context_tasks.benchmarks]\n{point}\n")
    return folder


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Let this process find the packages in a folder, and the benchmarks that they bring."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        # Bytecode is told from its source by length and whole second: an edited file may look the same.
        patch.setattr(sys, "dont_write_bytecode", True)
        _forget()
        try:
            yield
        finally:
            patch.undo()
            _forget()


def _forget() -> None:
    specs = (catalogue.task_specs, catalogue.synthetic_tasks, catalogue._by_name)
    for cached in (catalogue._found, catalogue._every_option, *specs):
        cached.cache_clear()
