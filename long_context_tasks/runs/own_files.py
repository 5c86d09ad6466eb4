"""Runs of a pipeline of one's own: ``own_<task>_<time>.json`` with what was run, and ``.jsonl`` with a case in each line.

``lct runs score`` writes them; they are found, judged, scored again and reported like those of the hosts.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.runs.fast_json import loads
from long_context_tasks.runs.stored import OWN, StoredCase, StoredRun, labels_of, value_of, word_of
from long_context_tasks.schema import InputError
from long_context_tasks.schema.response import from_stored_form

FORMAT = 1
_NAME = re.compile(r"own_(?P<task>.+)_(?P<time>\d{8}T\d{6})\.json", re.ASCII)
_KIND = "own run"

Found = StoredRun | tuple[Path, str]
"""A run, or a file that cannot be used and why."""


def file_name(task: str, made: str) -> str:
    """Name of the file of a run.

    >>> file_name("ada_leval_tsort_2k", "20260101T120000")
    'own_ada_leval_tsort_2k_20260101T120000.json'
    """
    return f"own_{task}_{made}.json"


def heading(**told: Any) -> dict[str, Any]:
    """Content of the file of a run, with what tells it from other files."""
    return {"format": FORMAT, "kind": _KIND, **told}


def own_runs(folder: Path, files: Sequence[str]) -> list[Found]:
    """The runs whose files lie in a folder.

    Args:
        folder: any.
        files: names of the files in it.
    """
    found: list[Found] = []
    for name in files:
        if _NAME.fullmatch(name):
            path = folder / name
            try:
                row = json.loads(path.read_text(encoding="utf-8"))
                if isinstance(row, dict) and row.get("kind") == _KIND:
                    found.append(_run(path, row))
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                found.append(
                    (path, f"{path}: damaged ({_short(error)}); make it again with `lct runs score`")
                )
    return found


def _run(path: Path, row: Mapping[str, Any]) -> StoredRun:
    numbers = {
        key: math.nan if value_of(value) is None else float(value) for key, value in row["numbers"].items()
    }
    return StoredRun(
        host=OWN,
        model=str(row["model"]),
        task=str(row["task"]),
        options={key: value for key, value in row["options"].items() if key.startswith("lct_")},
        version=int(row["version"]),
        folder=path.parent,
        label=path.stem,
        made=str(row["made"]),
        files=(path.with_suffix(".jsonl"),),
        read=_read,
        result_file=path,
        numbers=numbers,
        headline=word_of(row["headline"]),
        points=tuple(map(str, row["points"])),
        provenance={key: row.get(key) for key in ("package", "n_cases_available", "pipeline")},
    )


def _read(run: StoredRun) -> Iterator[StoredCase]:
    [path] = run.files
    seen: Counter[str] = Counter()
    number = 0
    try:
        with path.open("rb") as file:
            for line in file:
                number += 1
                yield _case(loads(line), seen)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"{path}, line {number}: damaged ({_short(error)}); make it again with `lct runs score`"
        ) from error


def _case(row: Mapping[str, Any], seen: Counter[str]) -> StoredCase:
    name = str(row["case"])
    responses = from_stored_form(row["response"], row["status"])
    scores = {key: tuple(map(value_of, values)) for key, values in row["scores"].items()}
    reasons = tuple(map(word_of, row["reasons"]))
    if any(len(one) != len(responses) for one in (reasons, *scores.values())):
        raise ValueError(f"other turns than its {len(responses)}")
    repeat = seen[name]
    seen[name] += 1
    return StoredCase(
        id=name,
        responses=tuple(responses),
        scores=scores,
        reasons=reasons,
        repeat=repeat,
        cluster=str(row["cluster"]),
        labels=labels_of(row.get("labels")),
        turn_labels=tuple(map(labels_of, row.get("turn_labels") or ())),
    )


def _short(error: Exception) -> str:
    return f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)[:200]
