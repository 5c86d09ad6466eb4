"""What both hosts do with the turns of a case: responses on disk, and the hint for those without a judge.

A case with one turn has a plain text as its response; a conversation has a JSON list of texts, and a status for each.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from long_context_tasks.judges import ENDPOINT_FAILED
from long_context_tasks.judges.task_judge import Verdicts
from long_context_tasks.schema import LoadedTask


def left_out(task: LoadedTask, ids: Sequence[str], n: int, why: str, window: str) -> str:
    """Name the cases that got no answer."""
    what = " from the turn on that does not fit" if task.is_conversation else ""
    shown = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
    return f"{task.name}: {len(ids)} of {n} cases {why} ({window}) and are left out{what}: {shown}"


def unanswered(verdicts: Verdicts) -> int:
    """How many responses have no verdict as the judge did not answer; judging again asks for them."""
    return sum(
        any(verdict.reason == ENDPOINT_FAILED for verdict in turn)
        for turns in verdicts.values()
        for turn in turns
    )


NO_JUDGE = "no judge was named (lct_judge, LCT_JUDGE or LCT_JUDGE_MODEL)"


def not_judged_hint(name: str, results: str | None, why: str = NO_JUDGE) -> str:
    """Return the remedy for a judged task without verdicts; `results` is the folder of the responses, if known."""
    missing = f"{name}: not judged: {why}"
    if results is None:
        return (
            f"{missing}; --output_path RESULTS --log_samples keeps the responses, then: "
            "lct judge run RESULTS --judge judge.yaml"
        )
    return f"{missing}; the responses are kept: lct judge run {shlex.quote(results)} --judge judge.yaml"


NAME = "cases_sha256"
"""Under this name it stands in the results of both hosts."""


def cases_digest(task: LoadedTask) -> str:
    """Return 16 digits of the hashes that a folder of built cases has of its cases and texts; empty for tasks that were not built.

    The same wherever the folder lies, and however many of its cases run.
    """
    return "" if task.options.cases is None else manifest_digest(task.cases.manifest)


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """Return the same for the manifest of a case folder."""
    tasks = manifest.get("tasks")
    if not isinstance(tasks, Mapping):
        return ""
    hashes = {str(name): row.get("sha256") for name, row in tasks.items() if isinstance(row, Mapping)}
    texts = manifest.get("documents_sha256")
    return hashlib.sha256(json.dumps([hashes, texts], sort_keys=True).encode()).hexdigest()[:16]
