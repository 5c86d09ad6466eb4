"""What a judge, or a later rule, made of a stored run, written beside it; the hosts' own files are never touched.

``<folder of the run>/judged/<judge>-<8 digits>/<label>.jsonl`` has a line for each turn of each case, ``<label>.json`` the
numbers and what they were made with. The digits stand for the judge's settings, so that other seeds get a folder of their own.
Scores by later rules (``lct runs rescore``) lie in ``rescored/`` in the same way, those without a judge in ``rescored/no_judge/``.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from long_context_tasks.runs.stored import JUDGED_FOLDER, RESCORED_FOLDER, StoredRun
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, write_whole

FORMAT = 1
_NO_JUDGE = "no_judge"  # no judge's folder has this name, as theirs end in digits


def judged_path(run: StoredRun, name: str, description: Mapping[str, Any]) -> Path:
    """Where the numbers go; the rows lie beside them, as ``.jsonl``.

    Args:
        run: the run.
        name: of the judge.
        description: all that can change its verdicts.
    """
    return run.folder / JUDGED_FOLDER / judge_label(name, description) / f"{run.label}.json"


def rescored_path(run: StoredRun, label: str | None) -> Path:
    """Where the numbers go when a run is scored again by later rules.

    Args:
        run: the run.
        label: of the judge whose stored verdicts count, see :func:`judge_label`; None: no judge's.
    """
    # A stored file names the judge, and a name must not lead out of the folder.
    folder = _NO_JUDGE if label is None else re.sub(r"[^\w.-]", "_", label)
    return run.folder / RESCORED_FOLDER / folder / f"{run.label}.json"


def judge_label(name: str, description: Mapping[str, Any]) -> str:
    """The name of a judge with eight digits that tell its settings from others of the same name."""
    text = json.dumps(description, sort_keys=True, ensure_ascii=True)
    return f"{name}-{hashlib.sha256(text.encode('ascii')).hexdigest()[:8]}"


def write_judged(path: Path, numbers: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows, then numbers, each file at one stroke.

    Args:
        path: see :func:`judged_path` and :func:`rescored_path`.
        numbers: what the file says; not-a-number becomes ``null``.
        rows: one for each turn.

    Raises:
        InputError: the folder cannot be written.
    """
    content = json_value({"format": FORMAT, **numbers})
    remedy = "copy the run to a folder of your own; the judge's replies are kept"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); {remedy}") from error
    lines = (json.dumps(json_value(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_whole(path.with_suffix(".jsonl"), lines, remedy=remedy)
    write_whole(
        path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", remedy=remedy
    )
