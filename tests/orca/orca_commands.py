"""`lct orca` as a user types it, and the files it reads and writes."""

import gzip
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from long_context_tasks.cli import app


def orca(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["orca", *map(str, arguments)])


def good(*arguments: object) -> Result:
    result = orca(*arguments)
    assert result.exit_code == 0, result.output
    return result


def bad(*arguments: object) -> str:
    """Bad input: exit code 2 and one line."""
    result = orca(*arguments)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in result.output
    return lines[0]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
