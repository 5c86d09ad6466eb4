"""Stored responses scored again by today's rules, without a model and without a judge: ``lct runs rescore``.

What a judge has said stands in the files of the run; its replies are read again. The results lie beside the run in the form of those
of ``lct judge run`` (see :mod:`long_context_tasks.results.evaluations`), and reports take them in the place of those that they were made from.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import long_context_tasks
from long_context_tasks.hosts.stored import (
    StoredCase,
    StoredRun,
    cases_of,
    in_repeats,
    load_task,
    metric_names,
)
from long_context_tasks.judges import ENDPOINT_FAILED, UNPARSABLE, Judging, Reply, Rubric, Usage, Verdict
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.judges.task_judge import Verdicts
from long_context_tasks.results.evaluations import (
    BEFORE,
    NO_JUDGE,
    Evaluation,
    TurnScores,
    original_evaluations,
    rescored_path,
    scored_cases,
    scores_of_case,
    unjudged_evaluation,
    write_judged,
)
from long_context_tasks.results.rejudge import ROW_KEYS, ScoredAgain, naming, scores_of
from long_context_tasks.schema import CaseScores, InputError, LoadedTask
from long_context_tasks.schema.response import NOT_JUDGED

_MOST_REPLIES = 1000


def read_again(row: Mapping[str, Any], rubric: Rubric, *, weighed: bool) -> Verdict:
    """A verdict from its row (see :meth:`long_context_tasks.judges.Verdict.row`), with the score by today's rules.

    A row keeps the first reply and the last, which had the score or was the last try. Those between had none, and count as empty.

    Args:
        row: of a file.
        rubric: of today, which reads the replies.
        weighed: the judge was asked for log-probabilities.

    Raises:
        ValueError, TypeError: no row of a verdict.
    """
    top = row.get("top_logprobs")
    tops = None if top is None else tuple((str(token), _number(value)) for token, value in top)
    replies = _replies(row, tops)
    score: float | None = None
    seen: list[Reply] = []
    for reply in replies:
        seen.append(reply)
        score = rubric.score_reply(reply, weighed=weighed)
        if score is not None:
            break
    error = _text(row.get("error"))
    reason = None if score is not None else UNPARSABLE if error is None else ENDPOINT_FAILED
    tokens = [_count(row.get(f"{kind}_tokens")) for kind in ("prompt", "completion")]
    return Verdict(
        score=score,
        reason=reason,
        feedback=seen[-1].text if seen else None,
        replies=tuple(reply.text for reply in seen),
        seed=row.get("seed"),
        key=str(row.get("key", "")),
        usage=Usage(len(replies), *tokens),
        error=error,
        top_logprobs=seen[-1].top_logprobs if seen else None,
    )


def _replies(row: Mapping[str, Any], tops: Any) -> list[Reply]:
    first, last = _text(row.get("first_reply")), _text(row.get("feedback"))
    attempts = min(_count(row.get("attempts")), _MOST_REPLIES)
    if last is None:
        return []
    if attempts < 2 or first is None:
        return [Reply(last, top_logprobs=tops)]
    return [Reply(first), *[Reply("")] * (attempts - 2), Reply(last, top_logprobs=tops)]


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} in the place of a judge's text")
    return value


def _count(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


_EQUAL = 1e-9
_Scored = tuple[StoredCase, Sequence[TurnScores]]


@dataclass(frozen=True)
class Change:
    """A score that is not what it was.

    Attributes:
        case, turn, repeat: which turn.
        metric: which score.
        before, after: its value; None where there was, or is, none.
    """

    case: str
    turn: int
    repeat: int
    metric: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Rescored:
    """A run with what today's rules make of it.

    Attributes:
        evaluation: as it was: of the host, or of ``lct judge run``.
        version: of the task's scores today.
        metrics: those of today, headline first, then those that the task had before.
        points: the metrics that are no shares.
        numbers: means, intervals and counts of today.
        not_scored: reason to number of turns without a headline score.
        changes: every score that changed.
        path: the file for the numbers.
        notes: what a reader of the numbers should know.
    """

    evaluation: Evaluation
    version: int
    metrics: tuple[str, ...]
    points: frozenset[str]
    numbers: Mapping[str, float]
    not_scored: Mapping[str, int]
    changes: tuple[Change, ...]
    path: Path
    notes: tuple[str, ...]

    def before(self, metric: str) -> float:
        """The mean as it was; not-a-number without one."""
        return self.evaluation.numbers.get(metric, math.nan)

    def after(self, metric: str) -> float:
        """The mean of today; not-a-number without one."""
        return self.numbers.get(metric, math.nan)

    def changed_cases(self, metric: str) -> int:
        """Number of cases of which a turn has another score, each repeat counted."""
        return len({(one.case, one.repeat) for one in self.changes if one.metric == metric})

    @property
    def changed(self) -> bool:
        """Whether any score is another one."""
        return bool(self.changes)


def to_rescore(
    runs: Sequence[StoredRun], data_dir: Path | None
) -> Iterator[tuple[Evaluation, LoadedTask] | str]:
    """The evaluations of runs with today's tasks, and what is wrong with others, in order.

    A run that judges scored is there once for each of them; one that nobody judged once.

    Args:
        runs: any.
        data_dir: folder of the published files; None: the runs' own.
    """
    tasks: dict[str, LoadedTask] = {}
    for run in runs:
        try:
            key = run.task_key
            task = tasks[key] = tasks.get(key) or load_task(run, data_dir)
            if run.version is not None and run.version > task.version:
                raise InputError(
                    f"{run}: has scores of version {run.version} of the task, and this package has version {task.version}; update it "
                    "(pip install -U long_context_tasks)"
                )
        except InputError as error:
            yield naming(run, error)
            continue
        found, damaged = original_evaluations(run, skip_damaged=True)
        yield from (message for _, message in damaged)
        if not found or (run.numbers and not run.judge and task.judging is None):
            found = [unjudged_evaluation(run, original=True), *found]
        yield from ((one, task) for one in found)


def rescore(evaluation: Evaluation, task: LoadedTask) -> tuple[Rescored, ScoredAgain]:
    """Score an evaluation again; nothing is written, see :func:`write_rescored`.

    Args:
        evaluation: of the host, of ``lct judge run``, or of nobody; not one that is scored again already.
        task: of today, without a judge.

    Returns:
        What changed, and the scores.

    Raises:
        InputError: no responses on disk, damaged files, responses to other data, a rubric that is no more, or log-likelihoods whose
            numbers of tokens were not kept.
    """
    run, description = evaluation.run, evaluation.description
    if (stored := stored_kind(description)) is not None:
        try:
            task = stored.task(task)
        except InputError as error:
            raise InputError(f"{run}: {error}") from error
    cases = list(scored_cases(evaluation, cases_of(run, task)))
    scored = (
        _by_likelihood(run, task, [case for case, _ in cases])
        if task.by_likelihood
        else _by_responses(evaluation, task, cases)
    )
    # Of a task by likelihood the host's own scores are those before, also where a judge has read it.
    before = {
        (turn.case, turn.repeat, turn.turn): turn.scores
        for case, turns in cases
        for turn in (scores_of_case(case, description) if task.by_likelihood else turns)
    }
    changes = tuple(_changes(scored, before))
    gone = [name for name in metric_names(list(evaluation.numbers)) if name not in task.metrics]
    rescored = Rescored(
        evaluation=evaluation,
        version=task.version,
        metrics=(*task.metrics, *gone),
        points=task.points,
        numbers=scored.numbers,
        not_scored=scored.not_scored,
        changes=changes,
        path=rescored_path(run, None if evaluation.judge == NO_JUDGE else evaluation.judge),
        notes=(*scored.notes, *_lost(scored, cases), _told_again(evaluation, task)),
    )
    return rescored, scored


def write_rescored(rescored: Rescored, scored: ScoredAgain) -> None:
    """Write the numbers and the rows beside the run.

    Raises:
        InputError: they cannot be written.
    """
    one = rescored.evaluation
    seeds = one.description.get("seeds")
    result: dict[str, Any] = {
        **scored.told(),
        "judge": dict(one.description),
        **{key: one.told[key] for key in ("judged", "usage") if key in one.told},
        "by_seed": scored.by_seed(seeds if isinstance(seeds, list) else []),
        "rescored": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "notes": list(rescored.notes),
        BEFORE: one.state(),
    }
    name = str(one.description.get("name", "judge")) if one.description else None
    write_judged(rescored.path, result, scored.rows(None if name in ROW_KEYS else name))


def _by_likelihood(run: StoredRun, task: LoadedTask, cases: Sequence[StoredCase]) -> ScoredAgain:
    """Perplexity divides by numbers of tokens, which only OpenCompass' files hold."""
    assert task.score_candidates is not None
    if any(case.log_likelihoods and case.num_candidate_tokens is None for case in cases):
        raise InputError(
            f"{run}: holds log-likelihoods without the numbers of tokens by which perplexity divides (lm-eval does not keep them), and no "
            "text to score; run again"
        )
    scores: list[tuple[StoredCase, CaseScores]] = []
    for case in cases:
        [response] = case.responses
        values, counts = case.log_likelihoods, case.num_candidate_tokens
        try:
            found = task.score_candidates(task.by_id[case.id], values, counts, response.status)
        except ValueError as error:
            raise InputError(
                f"{run}: {error}; they were made with other data, give the folder of those data (--data-dir)"
            ) from error
        scores.append((case, found))
    repeats = in_repeats((case, list(case.responses)) for case in cases)
    ordered = in_repeats(scores)
    flat = [ordered[place][case] for place, one in enumerate(repeats) for case in one]
    return ScoredAgain(run, task, repeats, [{} for _ in repeats], flat, None)


def _by_responses(
    evaluation: Evaluation,
    task: LoadedTask,
    cases: Sequence[_Scored],
) -> ScoredAgain:
    run, description = evaluation.run, evaluation.description
    rubric = None
    if description and task.judging is not None:
        rubric = str(description.get("rubric") or task.judging.default)
        # A host whose judge failed altogether has no verdict at all, and scores as without a judge.
        silent = not any(turn.verdicts for _, turns in cases for turn in turns)
        if silent and _was_waiting(task, task.judging, cases, rubric):
            rubric = None
    repeats = in_repeats((case, list(case.responses)) for case, _ in cases)
    verdicts: list[Verdicts] = [{} for _ in repeats]
    if rubric is not None:
        reader = task.judging.rubric(rubric)
        weighed = description.get("logprobs") is not None
        try:
            read = [
                (
                    case,
                    [[read_again(row, reader, weighed=weighed) for row in turn.verdicts] for turn in turns],
                )
                for case, turns in cases
            ]
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{run}: what {evaluation.judge} said cannot be read ({error}); judge it again with `lct judge run`"
            ) from error
        verdicts = list(in_repeats(read))
    return ScoredAgain(run, task, repeats, verdicts, scores_of(task, repeats, verdicts, rubric), rubric)


def _was_waiting(
    task: LoadedTask,
    judging: Judging,
    cases: Sequence[_Scored],
    rubric: str,
) -> bool:
    """Whether a judged run without any verdict waits for its judge, and not one whose responses left the judge nothing to say.

    A summary without sections has its score without a judge. A run waits where its files say so, or where today's task would ask
    something.
    """
    if any(turn.reason == NOT_JUDGED for _, turns in cases for turn in turns):
        return True
    return any(
        judging.requests(
            task.by_id[case.id],
            [(one.text or "") if one.status is None else None for one in case.responses],
            rubric,
        )
        for case, _ in cases
    )


def _changes(
    scored: ScoredAgain, before: Mapping[tuple[str, int, int], Mapping[str, float | None]]
) -> Iterator[Change]:
    left = iter(scored.scores)
    for repeat, responses in enumerate(scored.repeats):
        for case, turns in responses.items():
            for turn in range(len(turns)):
                new, old = next(left), before.get((case, repeat, turn), {})
                for metric in dict.fromkeys((*new, *old)):
                    after = new[metric].value if metric in new else None
                    if not _same(old.get(metric), after):
                        yield Change(case, turn, repeat, metric, old.get(metric), after)


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_EQUAL, abs_tol=_EQUAL)


def _lost(scored: ScoredAgain, cases: Sequence[_Scored]) -> list[str]:
    """Verdicts that had a score and have none by today's rules: the judge would be asked again, and here it is not."""
    if scored.rubric is None:
        return []
    rows = [row for _, turns in cases for turn in turns for row in turn.verdicts]
    before = sum(row.get("score") is not None for row in rows)
    after = sum(
        verdict.score is not None
        for one in scored.verdicts
        for turns in one.values()
        for turn in turns
        for verdict in turn
    )
    if after >= before:
        return []
    return [f"{before - after} replies of the judge have no score any more; `lct judge run` would ask again"]


def _told_again(evaluation: Evaluation, task: LoadedTask) -> str:
    """Both states in a line, for the provenance of every number."""
    run = evaluation.run
    package = evaluation.told.get("package") or run.provenance.get("package")
    headline = evaluation.headline or task.metrics[0]
    value = evaluation.numbers.get(headline, math.nan)
    was = f", {headline} {value:.4g}" if math.isfinite(value) else ", without scores"
    return (
        f"scored again by long_context_tasks {long_context_tasks.__version__} as version {task.version} of the task; before: version "
        f"{evaluation.version if evaluation.version is not None else 'not told'}, package {package or 'not told'}{was}"
    )
