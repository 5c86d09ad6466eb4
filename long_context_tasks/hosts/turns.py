"""What both hosts do with the turns of a case: responses on disk, and what is said of those that nobody has judged.

A case with one turn has a plain text as its response; a conversation has a JSON list of texts, and a status for each.
"""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from long_context_tasks.judges import ENDPOINT_FAILED
from long_context_tasks.judges.task_judge import Verdicts
from long_context_tasks.schema import Case, InputError, LoadedTask
from long_context_tasks.schema.response import Response, stored_form


def stored(task: LoadedTask, responses: Sequence[Response]) -> tuple[str, Any]:
    """Text and status as they stand in a host's files; :func:`read_back` is the inverse.

    A text that is not there is an empty one in a plain response, and null in a conversation.
    """
    return stored_form(responses, conversation=task.is_conversation)


def read_back(task: LoadedTask, case: Case, text: str | None, status: Any) -> list[Response]:
    """The responses of a case from a host's files.

    Raises:
        InputError: the text is not what :func:`stored` writes for the task.
    """
    if not task.is_conversation:
        return [Response(text if status is None else None, status)]
    try:
        texts = json.loads(text or "")
        statuses = status if isinstance(status, list) else [status] * len(texts)
        responses = [Response(one, state) for one, state in zip(texts, statuses, strict=True)]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{task.name}, case {case.id}: the stored response is not a list of {len(case.turns)} answers ({error}); run again"
        ) from error
    if len(responses) != len(case.turns):
        raise InputError(
            f"{task.name}, case {case.id}: {len(responses)} answers to {len(case.turns)} questions; run again"
        )
    return responses


def left_out_from(task: LoadedTask) -> str:
    """What of a case that does not fit is left out, for messages."""
    return " from the turn on that does not fit" if task.is_conversation else ""


def unanswered(verdicts: Verdicts) -> int:
    """How many responses have no verdict as the judge did not answer; judging again asks for them."""
    return sum(
        any(verdict.reason == ENDPOINT_FAILED for verdict in turn)
        for turns in verdicts.values()
        for turn in turns
    )


NO_JUDGE = "no judge was named (lct_judge, LCT_JUDGE or LCT_JUDGE_MODEL)"


def not_judged_hint(name: str, results: str | None, why: str = NO_JUDGE) -> str:
    """What to do about a judged task whose responses nobody has judged.

    Args:
        name: of the task.
        results: the folder that the host keeps the responses in; None when it does not, or when nobody knows.
        why: nobody has.
    """
    told = f"{name}: not judged: {why}"
    if results is None:
        return (
            f"{told}; --output_path RESULTS --log_samples keeps the responses, then: "
            "lct judge run RESULTS --judge judge.yaml"
        )
    return f"{told}; the responses are kept: lct judge run {shlex.quote(results)} --judge judge.yaml"
