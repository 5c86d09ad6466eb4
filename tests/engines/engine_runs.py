"""Reads what lm-eval wrote of a model in its own process, whose prompts are texts and no messages."""

import json
from pathlib import Path
from typing import Any


def samples(folder: Path, task: str) -> dict[str, dict[str, Any]]:
    """Rows of a task by case."""
    [path] = folder.rglob(f"samples_{task}_2*.jsonl")
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["doc"]["case"]: row for row in rows}


def scores_of(row: dict[str, Any]) -> str:
    """Every metric of a case, as text: a missing value is equal to itself."""
    return json.dumps({name: row[name] for name in row["metrics"]}, sort_keys=True)
