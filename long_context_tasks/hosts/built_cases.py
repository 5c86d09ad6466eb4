"""Which built cases a run was on, by what they hold and not by where they lie."""

import hashlib
import json
from collections.abc import Mapping

from long_context_tasks.schema import LoadedTask

NAME = "cases_sha256"
"""Under this name it stands in the results of both hosts."""


def cases_digest(task: LoadedTask) -> str:
    """Sixteen digits of the hashes that a folder of built cases has of its files; empty for tasks that were not built.

    The same wherever the folder lies, and however many of its cases run.

    Args:
        task: with its cases.
    """
    tasks = task.cases.manifest.get("tasks")
    if task.options.cases is None or not isinstance(tasks, Mapping):
        return ""
    told = {str(name): row.get("sha256") for name, row in tasks.items() if isinstance(row, Mapping)}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
