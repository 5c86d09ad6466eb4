"""What a judge said of a stored run, written beside it; the hosts' own files are never touched.

``<folder of the run>/judged/<judge>-<8 digits>/<label>.jsonl`` has a line for each turn of each case, ``<label>.json`` the
numbers and what they were made with. The digits stand for the judge's settings, so that other seeds get a folder of their own.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from long_context_tasks.runs.stored import JUDGED_FOLDER, StoredRun
from long_context_tasks.schema import InputError

FORMAT = 1


def judged_path(run: StoredRun, name: str, description: Mapping[str, Any]) -> Path:
    """Where the numbers go; the rows lie beside them, as ``.jsonl``.

    Args:
        run: the run.
        name: of the judge.
        description: all that can change its verdicts.
    """
    text = json.dumps(description, sort_keys=True, ensure_ascii=True)
    digits = hashlib.sha256(text.encode("ascii")).hexdigest()[:8]
    return run.folder / JUDGED_FOLDER / f"{name}-{digits}" / f"{run.label}.json"


def write_judged(path: Path, numbers: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows, then numbers, each file at one stroke.

    Args:
        path: see :func:`judged_path`.
        numbers: what the file says; not-a-number becomes ``null``.
        rows: one for each turn.

    Raises:
        InputError: the folder cannot be written.
    """
    content = _plain({"format": FORMAT, **numbers})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(_plain(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        _write(path.with_suffix(".jsonl"), lines)
        _write(path, [json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"])
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); copy the run to a folder of your own. The judge's replies are kept"
        ) from error


def _write(path: Path, lines: Iterable[str]) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # A response may hold half of a surrogate pair, and feedback may quote it.
        with part.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(lines)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """With ``null`` for what is not a number, which JSON has no word for."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
