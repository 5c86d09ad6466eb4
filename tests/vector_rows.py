"""Rows of the vectors: inputs of the official code and what it made of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def vector_rows(shared: Path, folder: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file with their numbers from 1; without the file the test is skipped."""
    path = shared / "vectors" / folder / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    with path.open(encoding="utf-8") as file:
        yield from ((number, json.loads(line)) for number, line in enumerate(file, start=1))


def failing_rows(shared: Path, folder: str, name: str, holds: Callable[[dict[str, Any]], bool]) -> list[int]:
    """The numbers of the rows, of which there are some, that a check does not hold for."""
    found = [(number, holds(row)) for number, row in vector_rows(shared, folder, name)]
    assert found
    return [number for number, held in found if not held]
