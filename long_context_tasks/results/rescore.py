"""Score stored runs again by the current rules (``lct runs rescore``).

No judge is queried: the stored judge replies are parsed again. Reports use the new scores instead of those they were computed from.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

import long_context_tasks
from long_context_tasks.hosts.stored import StoredCase, StoredRun, cases_of, in_repeats, metric_names
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.judges.task_judge import Verdicts, with_headline
from long_context_tasks.judges.verdict import Reply, Rubric, Usage, Verdict
from long_context_tasks.results.evaluations import (
    BEFORE,
    Evaluation,
    TurnScores,
    original_evaluations,
    rescored_path,
    scored_cases,
    scores_of_case,
    unjudged_evaluation,
)
from long_context_tasks.results.new_scores import (
    ROW_KEYS,
    NewScores,
    RunTasks,
    ScoreFigures,
    error_of,
    score_all,
    utc_now,
)
from long_context_tasks.schema import CaseScores, InputError, LoadedTask
from long_context_tasks.schema.response import ENDPOINT_FAILED, NOT_JUDGED, UNPARSABLE
from long_context_tasks.schema.validated import Checked, validated

# A damaged file may state any number of attempts.
_MOST_REPLIES = 1000
_EQUAL = 1e-9
_Scored = tuple[StoredCase, Sequence[TurnScores]]
_Text = Annotated[str, Field(strict=True)] | None
_Count = Annotated[int, Field(strict=True, ge=0)]


@dataclass(frozen=True)
class Change:
    case: str
    turn: int
    repeat: int
    metric: str
    before: float | None  # None if not scored
    after: float | None


@dataclass(frozen=True)
class Rescored:
    evaluation: Evaluation  # the earlier evaluation, by the host or lct judge run
    scored: ScoreFigures  # figures by the current rules
    changes: tuple[Change, ...]  # every score that changed
    notes: tuple[str, ...]  # notes for readers of the numbers

    @property
    def path(self) -> Path:
        return rescored_path(self.evaluation.run, self.evaluation.judge)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The current metrics, headline first, then those that only an earlier version had."""
        today = self.scored.metrics
        return (*today, *(name for name in metric_names(list(self.evaluation.numbers)) if name not in today))

    def before(self, metric: str) -> float:
        return self.evaluation.numbers.get(metric, math.nan)

    def after(self, metric: str) -> float:
        return self.scored.numbers.get(metric, math.nan)

    def changed_cases(self, metric: str) -> int:
        return len({(change.case, change.repeat) for change in self.changes if change.metric == metric})


def rescored_run(tasks: RunTasks, write: bool, run: StoredRun) -> list[Rescored | str]:
    """Run :func:`rescore` for each judge of a run in an engine's worker; return errors as messages."""
    try:
        task = tasks.of(run)
        if run.version > task.version:
            raise InputError(
                f"{run}: has scores of version {run.version} of the task, but this package has version {task.version}; update it "
                "(pip install -U long_context_tasks)"
            )
    except InputError as error:
        return [error_of(run, error)]
    evaluations, damaged = original_evaluations(run)
    if not evaluations or (run.numbers and not run.judge and task.judging is None):
        evaluations = [unjudged_evaluation(run, original=True), *evaluations]
    results: list[Rescored | str] = list(damaged)
    for evaluation in evaluations:
        try:
            results.append(rescore(evaluation, task, write=write))
        except InputError as error:
            results.append(error_of(run, error))
    return results


def rescore(evaluation: Evaluation, task: LoadedTask, *, write: bool = False) -> Rescored:
    """Score an evaluation of the host or of a later judge by the current rules, without querying a judge.

    Raises:
        InputError: responses are missing, damaged or belong to other data; the rubric no longer exists; the numbers of tokens of
            log-likelihoods were not kept; or files cannot be written.
    """
    run, description = evaluation.run, evaluation.description
    if (stored := stored_kind(description)) is not None:
        try:
            task = stored.task(task)
        except InputError as error:
            raise InputError(f"{run}: {error}") from error
    cases = list(scored_cases(evaluation, cases_of(run, task)))
    if task.by_likelihood:
        scored = _by_likelihood(run, task, [case for case, _ in cases])
    else:
        scored = _by_responses(evaluation, task, cases)
    # For tasks by likelihood the host's scores are the earlier ones, even if a judge has read the run.
    before = {
        (turn.repeat, turn.case, turn.turn): turn.scores
        for case, turns in cases
        for turn in (scores_of_case(case, description) if task.by_likelihood else turns)
    }
    changes = []
    for repeat, case, turn, new in scored.turns():
        old = before.get((repeat, case, turn), {})
        for metric in dict.fromkeys((*new, *old)):
            then, now = old.get(metric), new[metric].value if metric in new else None
            if then is None or now is None:
                # One score missing and the other 0 is a change; both missing is not.
                same = then is now
            else:
                same = math.isclose(then, now, rel_tol=_EQUAL, abs_tol=_EQUAL)
            if not same:
                changes.append(Change(case, turn, repeat, metric, then, now))
    notes = (*scored.notes, *_lost(scored, cases), _provenance(evaluation, task))
    made = Rescored(evaluation, scored.figures, tuple(changes), notes)
    if write:
        _write_rescored(made, scored)
    return made


def _write_rescored(rescored: Rescored, scored: NewScores) -> None:
    evaluation = rescored.evaluation
    seeds = evaluation.description.get("seeds")
    more = {
        "judge": dict(evaluation.description),
        **{key: evaluation.stated[key] for key in ("judged", "usage") if key in evaluation.stated},
        "by_seed": scored.by_seed(seeds if isinstance(seeds, list) else []),
        "rescored": utc_now(),
        "notes": list(rescored.notes),
        BEFORE: evaluation.state(),
    }
    name = str(evaluation.description.get("name", "judge")) if evaluation.description else None
    scored.write(rescored.path, None if name in ROW_KEYS else name, more)


def _by_likelihood(run: StoredRun, task: LoadedTask, cases: Sequence[StoredCase]) -> NewScores:
    """Score candidates by their stored log-likelihoods; perplexity needs numbers of tokens, which only OpenCompass keeps."""
    assert task.score_candidates is not None
    if any(case.log_likelihoods and case.num_candidate_tokens is None for case in cases):
        raise InputError(
            f"{run}: holds log-likelihoods without the numbers of tokens that perplexity needs (lm-eval does not keep them), and no text to "
            "score; run again"
        )
    scores: list[tuple[StoredCase, CaseScores]] = []
    for case in cases:
        [response] = case.responses
        values, counts = case.log_likelihoods, case.num_candidate_tokens
        try:
            case_scores = task.score_candidates(task.by_id[case.id], values, counts, response.status)
        except ValueError as error:
            raise InputError(
                f"{run}: {error}; they were made with other data, give the folder of those data (--data-dir)"
            ) from error
        scores.append((case, case_scores))
    repeats = in_repeats((case, list(case.responses)) for case in cases)
    flat = [case_scores for repeat in in_repeats(scores) for case_scores in repeat.values()]
    return NewScores(run, task, repeats, [{} for _ in repeats], flat, None)


def _by_responses(evaluation: Evaluation, task: LoadedTask, cases: Sequence[_Scored]) -> NewScores:
    run, description = evaluation.run, evaluation.description
    repeats = in_repeats((case, list(case.responses)) for case, _ in cases)
    verdicts: list[Verdicts] = [{} for _ in repeats]
    rubric = None
    if description and task.judging is not None:
        task = with_headline(task)
        rubric = str(description.get("rubric") or task.judging.default)
        # A run whose judge failed on every turn has no verdict, and is scored as without a judge.
        silent = not any(turn.verdicts for _, turns in cases for turn in turns)
        if silent and _was_waiting(task, cases, rubric):
            rubric = None
    if rubric is not None:
        reader = task.judging.rubric(rubric)
        weighed, place = description.get("logprobs") is not None, f"{run}: a verdict of {evaluation.judge}"

        def read(turn: TurnScores) -> list[Verdict]:
            return [read_again(row, reader, weighed=weighed, place=place) for row in turn.verdicts]

        verdicts = list(in_repeats((case, list(map(read, turns))) for case, turns in cases))
    return NewScores(run, task, repeats, verdicts, score_all(task, repeats, verdicts, rubric), rubric)


class _VerdictRow(Checked):
    model_config = ConfigDict(extra="ignore")
    feedback: _Text
    first_reply: _Text
    attempts: _Count
    seed: Any
    key: Any
    reason: _Text
    error: _Text
    prompt_tokens: _Count
    completion_tokens: _Count
    top_logprobs: list[tuple[Any, float | None]] | None = None

    def replies(self) -> list[Reply]:
        """Return the judge's replies; files keep only the first and last, so those in between, which had no score, are empty."""
        attempts = min(self.attempts, _MOST_REPLIES)
        if self.feedback is None:
            return []
        tops = None
        if self.top_logprobs is not None:
            tops = tuple((str(token), value) for token, value in self.top_logprobs)
        last = Reply(self.feedback, top_logprobs=tops)
        if attempts < 2 or self.first_reply is None:
            return [last]
        return [Reply(self.first_reply), *[Reply("")] * (attempts - 2), last]


def read_again(row: Mapping[str, Any], rubric: Rubric, *, weighed: bool, place: str = "a verdict") -> Verdict:
    """Read a verdict from its row (see :meth:`Verdict.row`) and score its replies by the current rules.

    ``weighed``: whether the judge's scores are weighted by token probabilities. ``place`` names the row in errors.
    """
    verdict = validated(_VerdictRow, row, place, remedy="judge it again with `lct judge run`")
    replies = verdict.replies()
    score: float | None = None
    seen: list[Reply] = []
    for reply in replies:
        seen.append(reply)
        score = rubric.score_reply(reply, weighed=weighed)
        if score is not None:
            break
    # Items with only empty replies carry an error too, but count as unparsable.
    failed = ENDPOINT_FAILED if verdict.reason == ENDPOINT_FAILED else UNPARSABLE
    return Verdict(
        score=score,
        reason=None if score is not None else failed,
        feedback=seen[-1].text if seen else None,
        replies=tuple(reply.text for reply in seen),
        seed=verdict.seed,
        key=str(verdict.key),
        usage=Usage(len(replies), verdict.prompt_tokens, verdict.completion_tokens),
        error=verdict.error,
        top_logprobs=seen[-1].top_logprobs if seen else None,
    )


def _was_waiting(task: LoadedTask, cases: Sequence[_Scored], rubric: str) -> bool:
    """Return whether a judged run without any verdict is waiting for its judge.

    Otherwise its responses gave the judge nothing to rate: a summary without sections is scored without a judge. A run is waiting if a
    turn has the reason :data:`NOT_JUDGED`, or if the current version of the task would query the judge.
    """
    if any(turn.reason == NOT_JUDGED for _, turns in cases for turn in turns):
        return True
    return any(
        task.judging.requests(
            task.by_id[case.id],
            [(response.text or "") if response.status is None else None for response in case.responses],
            rubric,
        )
        for case, _ in cases
    )


def _lost(scored: NewScores, cases: Sequence[_Scored]) -> list[str]:
    if scored.rubric is None:
        return []
    before = sum(
        row.get("score") is not None for _, turns in cases for turn in turns for row in turn.verdicts
    )
    turns_now = (turn for by_case in scored.verdicts for turns in by_case.values() for turn in turns)
    lost = before - sum(verdict.score is not None for turn in turns_now for verdict in turn)
    return (
        [f"{lost} replies of the judge no longer have a score; `lct judge run` would ask again"]
        if lost > 0
        else []
    )


def _provenance(evaluation: Evaluation, task: LoadedTask) -> str:
    package = evaluation.stated.get("package") or evaluation.run.provenance.get("package")
    headline = evaluation.headline or task.metrics[0]
    value = evaluation.numbers.get(headline, math.nan)
    was = f", {headline} {value:.4g}" if math.isfinite(value) else ", without scores"
    return (
        f"scored again by long_context_tasks {long_context_tasks.__version__} as version {task.version} of the task; before: version "
        f"{evaluation.version}, package {package or 'unknown'}{was}"
    )
