"""Tasks that are answered in words, scored by ORCA: what a host sees of such a task when the judge file says ``kind: orca``.

The metrics that another judge would give make way for ``orca_mean`` and ``orca_std``, both on 0 to 1; those that need no judge stay.
"""

from collections.abc import Sequence
from dataclasses import replace

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.request import JudgeRequest
from long_context_tasks.judges.task_judge import Judging
from long_context_tasks.judges.verdict import Rubric, Verdict
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.judge import RUBRIC, answer_message, input_format, read_prediction
from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Score
from long_context_tasks.schema.reasons import (
    ANSWER_CUT,
    EMPTY,
    ENDPOINT_FAILED,
    JUDGE_FAILED,
    JUDGE_UNPARSABLE,
    NOT_JUDGED,
)
from long_context_tasks.schema.thinking import without_thinking

METRICS = ("orca_mean", "orca_std")
"""Expected human rating, and the standard deviation of human ratings."""


def judged_by_orca(task: LoadedTask, config: JudgeConfig) -> LoadedTask:
    """The task with ORCA as its judge.

    Args:
        task: any.
        config: a judge of kind ``orca``.

    Returns:
        The task with other metrics, of which ``orca_mean`` is the headline; itself where it is not answered in words and needs no judge.

    Raises:
        InputError: a judged task without reference answers, or the judge's checkpoint is not there.
    """
    if task.asked_and_right is None:
        if task.judging is None:
            return task
        raise InputError(
            f"{task.name}: its judge reads other things than a question and a reference answer, so ORCA ({config.name}) cannot judge it; "
            "name a language model as judge, or leave the task out"
        )
    return with_predictions_of_orca(task, input_format(config))


def with_predictions_of_orca(task: LoadedTask, form: InputFormat | None) -> LoadedTask:
    """A task that is answered in words, with ORCA's predictions as its verdicts.

    Args:
        task: with questions and reference answers.
        form: what the checkpoint reads; None where nothing will be asked, as its predictions are stored.
    """
    assert task.asked_and_right is not None
    own = tuple(name for name in task.metrics if task.judging is None or name not in task.judging.metrics)
    asked_and_right = task.asked_and_right

    def requests(case: Case, responses: Sequence[str | None], _: str) -> list[JudgeRequest]:
        found = []
        for turn, response in enumerate(responses):
            answer = without_thinking(response or "").text
            if response is None or not answer.strip():
                continue
            question, reference = asked_and_right(case, turn)
            # Only a checkpoint that was trained on transcripts gets to see the document.
            shown = form is not None and form.transcript and case.document
            document = task.cases.documents[str(case.document)] if shown else None
            item = OrcaItem(case.id, question, reference, answer, transcription=document)
            found.append(
                JudgeRequest(f"{case.id}_{turn}", (answer_message(item),), {"case": case.id, "turn": turn})
            )
        return found

    def score_turn(
        case: Case,
        turn: int,
        response: str | None,
        verdicts: Sequence[Verdict],
        _: str,
        status: str | None,
    ) -> CaseScores:
        scores = _own_scores(task, case, turn, response, status)
        kept = {name: scores[name] for name in own}
        return {**_orca_scores(response, verdicts, status), **kept}

    return replace(
        task,
        metrics=(*METRICS, *own),
        intervals=(METRICS[0], *(name for name in task.intervals if name in own)),
        points=frozenset(name for name in task.points if name in own),
        judging=Judging(
            rubric=_rubric, requests=requests, score_turn=score_turn, default=RUBRIC.name, metrics=METRICS
        ),
    )


def _rubric(name: str) -> Rubric:
    if name != RUBRIC.name:
        raise InputError(f"rubric {name!r}: ORCA has none; leave `rubric` out of the judge file")
    return RUBRIC


def _own_scores(
    task: LoadedTask, case: Case, turn: int, response: str | None, status: str | None
) -> CaseScores:
    """What can be said without a judge."""
    if task.judging is None:
        return task.score(case, response, status)
    judging: Judging = task.judging
    return judging.score_turn(case, turn, response, (), judging.default, status)


def _orca_scores(response: str | None, verdicts: Sequence[Verdict], status: str | None) -> dict[str, Score]:
    """An empty response has the lowest mean and nothing to differ about."""
    answer = without_thinking(response or "")
    if status is not None:
        return dict.fromkeys(METRICS, Score(None, status))
    if not answer.text.strip():
        why = ANSWER_CUT if answer.unclosed else EMPTY
        return {METRICS[0]: Score(0.0, why), METRICS[1]: Score(0.0, why)}
    if not verdicts:
        return dict.fromkeys(METRICS, Score(None, NOT_JUDGED))
    [verdict] = verdicts
    prediction = None if verdict.feedback is None else read_prediction(verdict.feedback)
    if verdict.score is None or prediction is None:
        why = JUDGE_FAILED if verdict.reason == ENDPOINT_FAILED else JUDGE_UNPARSABLE
        return dict.fromkeys(METRICS, Score(None, why))
    if prediction.std is None:
        return {METRICS[0]: Score(prediction.mean), METRICS[1]: Score(None, "not_predicted")}
    return {METRICS[0]: Score(prediction.mean, std=prediction.std), METRICS[1]: Score(prediction.std)}
