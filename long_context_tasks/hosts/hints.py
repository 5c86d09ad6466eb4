"""What hosts tell the user of responses: which cases got none, and how to judge those without a verdict."""

import shlex
from collections.abc import Sequence

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
