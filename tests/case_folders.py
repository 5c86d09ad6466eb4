"""What a case folder holds, to be compared with another one."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import TaskReport, Work
from long_context_tasks.tokens.build_settings import BuildSettings


def contents(folder: Path) -> dict[str, object]:
    """Bytes of its files; of the table of documents its rows, in the order of the table."""
    found: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".sqlite":
            with closing(sqlite3.connect(path)) as table:
                found[path.name] = table.execute("SELECT key, text FROM documents").fetchall()
        else:
            found[path.name] = path.read_bytes()
    return found


def build(name: str, source: Path | None, settings: BuildSettings, folder: Path) -> Sequence[TaskReport]:
    """Build the cases of a builder into a folder."""
    return catalogue.builder(name).write(source, settings, folder, Work())
