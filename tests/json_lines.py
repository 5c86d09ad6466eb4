"""JSON Lines files of the tests."""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_rows(path: Path | str, rows: Iterable[Mapping[str, Any]]) -> Path:
    path = Path(path)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read_rows(path: Path | str) -> list[dict[str, Any]]:
    # Not splitlines, which also splits at U+2028, a character that JSON may contain.
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]
