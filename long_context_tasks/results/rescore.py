"""Stored runs scored again, with their results beside them: by a judge (``lct judge run``), or by today's rules (``lct runs rescore``).

By today's rules nothing is asked: what a judge has said stands in the files of the run, and its replies are read again. Both write the
same form (see :mod:`long_context_tasks.results.evaluations`); reports take rescored results in the place of those that they were made from.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

import long_context_tasks
from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.hosts.stored import (
    AS_IN_THE_RUN,
    Places,
    Responses,
    StoredCase,
    StoredRun,
    cases_of,
    in_repeats,
    load_task,
    metric_names,
    responses_to,
)
from long_context_tasks.judges import ENDPOINT_FAILED, UNPARSABLE, JudgeConfig, Reply, Rubric, Usage, Verdict
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.judges.task_judge import Verdicts, score_turns, with_judge
from long_context_tasks.results.evaluations import (
    BEFORE,
    Evaluation,
    TurnScores,
    judged_path,
    needs_no_judge,
    original_evaluations,
    rescored_path,
    scored_cases,
    scores_of_case,
    unjudged_evaluation,
    write_judged,
)
from long_context_tasks.schema import CaseScores, InputError, LoadedTask
from long_context_tasks.schema.response import JUDGE_FAILED, JUDGE_UNPARSABLE, NOT_JUDGED
from long_context_tasks.schema.validated import Checked, validated
from long_context_tasks.stats.means import task_numbers

ROW_KEYS = (
    *("id", "cluster", "host", "model", "task", "case", "turn", "repeat"),
    *("status", "scores", "reasons", "verdicts"),
)
"""Keys of a row beside the judge's own score, under the judge's name; see docs/judge_files.md."""
_MOST_REPLIES = 1000
_EQUAL = 1e-9
_Scored = tuple[StoredCase, Sequence[TurnScores]]


@dataclass(frozen=True)
class ScoreFigures:
    """The figures of a run that was scored, without the scores.

    Attributes:
        run: as the host left it.
        version: of the task, as it scores today.
        metrics: headline first.
        points: metrics that are points of a scale.
        numbers: means, intervals and counts over all turns (see :func:`long_context_tasks.stats.means.task_numbers`).
        not_scored: reason to number of turns that have no headline score.
        notes: what a reader of the numbers should know.
    """

    run: StoredRun
    version: int
    metrics: tuple[str, ...]
    points: frozenset[str]
    numbers: Mapping[str, float]
    not_scored: Mapping[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ScoredAgain:
    """The scores of a run, turn by turn.

    Attributes:
        run: as the host left it.
        task: as it scores today, with this judge.
        repeats: the responses, one mapping for each repeat of the cases.
        verdicts: of a judge on them; empty mappings without a judge.
        scores: of every turn, in the order of the responses.
        rubric: by which the judge scored; None without one.
    """

    run: StoredRun
    task: LoadedTask
    repeats: Sequence[Responses]
    verdicts: Sequence[Verdicts]
    scores: Sequence[CaseScores]
    rubric: str | None

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Means, intervals and counts over all turns (see :func:`long_context_tasks.stats.means.task_numbers`)."""
        return self._numbers(self.scores)

    @property
    def not_scored(self) -> dict[str, int]:
        """Reason to number of turns that have no headline score."""
        values = [turn[self.task.metrics[0]] for turn in self.scores]
        return dict(Counter(str(score.reason) for score in values if score.value is None))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        run, task = self.run, self.task
        notes = []
        n, available = len({case for repeat in self.repeats for case in repeat}), len(task.cases)
        if n < available:
            notes.append(f"holds {n} of the task's {available} cases")
        if len(self.repeats) > 1:
            notes.append(f"every case was answered {len(self.repeats)} times; all answers count")
        if run.version != task.version:
            word = "judged" if self.rubric is not None else "scored"
            notes.append(f"ran as version {run.version} of the task, {word} as version {task.version}")
        return tuple(notes)

    @property
    def figures(self) -> ScoreFigures:
        """What is shown of them."""
        task = self.task
        return ScoreFigures(
            self.run,
            task.version,
            task.metrics,
            frozenset(task.points),
            self.numbers,
            self.not_scored,
            self.notes,
        )

    def turns(self) -> Iterator[tuple[int, str, int, CaseScores]]:
        """Yield repeat, case, turn and scores of every turn."""
        left = iter(self.scores)
        for repeat, responses in enumerate(self.repeats):
            for case, turns in responses.items():
                yield from ((repeat, case, turn, next(left)) for turn in range(len(turns)))

    def write(self, path: Path, judge: str | None, more: Mapping[str, Any]) -> None:
        """Write the numbers and a row for each turn; ``lct judge compare`` joins the rows of several judges by id.

        Args:
            path: of the numbers.
            judge: name under which the headline score stands once more in the rows; None: nowhere.
            more: what else the file of the numbers says.

        Raises:
            InputError: they cannot be written.
        """
        run, task = self.run, self.task
        numbers = {
            "host": run.host,
            "model": run.model,
            "task": run.task,
            "made": run.made,
            "files": [str(file.relative_to(run.folder)) for file in run.files],
            "version": task.version,
            "options": task.description(),
            "package": long_context_tasks.__version__,
            "headline": task.metrics[0],
            "points": sorted(task.points),
            "numbers": self.numbers,
            "not_scored": self.not_scored,
            "of_the_run": {"version": run.version, "judge": dict(run.judge), "numbers": dict(run.numbers)},
            **more,
        }
        write_judged(path, numbers, self._rows(judge))

    def _rows(self, judge: str | None) -> Iterator[dict[str, Any]]:
        run, metrics = self.run, self.task.metrics
        for repeat, case, turn, scores in self.turns():
            found = self.verdicts[repeat]
            place = (run.made, run.model, run.task, case, turn, *([repeat] if repeat else []))
            yield {
                "id": "/".join(map(str, place)),
                "cluster": self.task.by_id[case].cluster,
                "host": run.host,
                "model": run.model,
                "task": run.task,
                "case": case,
                "turn": turn,
                "repeat": repeat,
                "status": self.repeats[repeat][case][turn].status,
                **({} if judge is None else {judge: scores[metrics[0]].value}),
                "scores": {name: scores[name].value for name in metrics},
                "reasons": {name: reason for name in metrics if (reason := scores[name].reason)},
                "verdicts": [verdict.row() for verdict in (found[case][turn] if found else ())],
            }

    def by_seed(self, seeds: Sequence[Any]) -> dict[str, dict[str, float]]:
        """Means of each seed of the judge alone, where there are several."""
        if len(seeds) < 2 or self.rubric is None:
            return {}
        found = {}
        for seed in seeds:
            only = [
                {
                    case: [[v for v in turn if v.seed == seed] for turn in turns]
                    for case, turns in by_case.items()
                }
                for by_case in self.verdicts
            ]
            numbers = self._numbers(_scores_of(self.task, self.repeats, only, self.rubric))
            found[str(seed)] = {name: numbers[name] for name in (*self.task.metrics, "n_scored")}
        return found

    def _numbers(self, scores: Sequence[CaseScores]) -> dict[str, float]:
        task = self.task
        clusters = [task.by_id[case].cluster for _, case, _, _ in self.turns()]
        numbers = task_numbers(scores, clusters, task.metrics, task.intervals, points=task.points)
        del numbers["n_truncated"]  # the host's run knows that, not this one
        return numbers


def _scores_of(
    task: LoadedTask, repeats: Sequence[Responses], verdicts: Sequence[Verdicts], rubric: str | None
) -> list[CaseScores]:
    return [
        turn
        for responses, found in zip(repeats, verdicts, strict=True)
        for case, turns in responses.items()
        for turn in score_turns(task, task.by_id[case], turns, found.get(case, ()), rubric)
    ]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(frozen=True)
class JudgedRun:
    """A run with what a judge made of it.

    Attributes:
        scored: by the judge.
        judge: name of the judge.
        usage: what the judging cost, in words.
        path: the file that was written.
        judged: number of turns with a score of the judge.
    """

    scored: ScoreFigures
    judge: str
    usage: str
    path: Path
    judged: int

    @property
    def unanswered(self) -> int:
        """Turns without a score because the judge did not answer; another run asks for them."""
        return self.scored.not_scored.get(JUDGE_FAILED, 0)

    @property
    def unparsable(self) -> int:
        """Turns without a score because no reply of the judge holds one."""
        return self.scored.not_scored.get(JUDGE_UNPARSABLE, 0)


def prepare(
    runs: Sequence[StoredRun], tasks: "RunTasks", *, any_task: bool = False
) -> tuple[list[StoredRun], list[str]]:
    """The runs that can be judged, and what is wrong with others; everything is read once.

    Args:
        runs: any; those of tasks without a judge are passed over.
        tasks: loads their tasks.
        any_task: among the judges is one that judges every task with free responses, also one that needs no judge.
    """
    ready, skipped = [], []
    read = [run for run in runs if any_task or not needs_no_judge(run) or parse_task(run.task).judged]
    for run, task in _with_tasks(read, tasks):
        if isinstance(task, str):
            skipped.append(task)
        elif task.judging is not None or (any_task and task.asked_and_right is not None):
            try:
                responses_to(run, task)
                ready.append(run)
            except InputError as error:
                skipped.append(naming(run, error))
    return ready, skipped


@dataclass(frozen=True)
class RunTasks:
    """The tasks of runs, each loaded once in a process.

    Attributes:
        places: where their data lie now.
    """

    places: Places = AS_IN_THE_RUN
    _loaded: dict[str, LoadedTask] = field(default_factory=dict, repr=False)

    def of(self, run: StoredRun) -> LoadedTask:
        """Return the task of a run.

        Raises:
            InputError: it cannot be loaded.
        """
        key = run.task_key
        if key not in self._loaded:
            self._loaded[key] = load_task(run, self.places)
        return self._loaded[key]

    def __reduce__(self) -> tuple[type["RunTasks"], tuple[Places]]:
        """Only the places travel to another process."""
        return type(self), (self.places,)


def _with_tasks(runs: Iterable[StoredRun], tasks: RunTasks) -> Iterator[tuple[StoredRun, LoadedTask | str]]:
    """Yield runs with their tasks, or with why the task cannot be loaded."""
    for run in runs:
        try:
            task = tasks.of(run)
        except InputError as error:
            yield run, naming(run, error)
            continue
        yield run, task


def naming(run: StoredRun, error: InputError) -> str:
    """What is wrong with a run, with the run named once."""
    message = str(error)
    return message if str(run.folder) in message or str(run) in message else f"{run}: {message}"


def judge_run(run: StoredRun, task: LoadedTask, config: JudgeConfig) -> JudgedRun | None:
    """Judge all responses of a run and write what came out; None where the task needs no judge of this kind.

    Raises:
        InputError: responses that are damaged or of other data, a rubric that the benchmark does not have, or files that
            cannot be written.
    """
    task, judge = with_judge(task, config)
    if judge is None:
        return None
    repeats = responses_to(run, task)
    judged = [judge.verdicts(task, responses) for responses in repeats]
    verdicts, usage = [found for found, _ in judged], [line for _, line in judged]
    rubric, description = judge.rubric_name, judge.description()
    scored = ScoredAgain(run, task, repeats, verdicts, _scores_of(task, repeats, verdicts, rubric), rubric)
    path = judged_path(run, config.name, description)
    more = {
        "judge": description,
        "judged": _now(),
        "by_seed": scored.by_seed(config.seeds),
        "usage": usage,
        "notes": list(scored.notes),
    }
    scored.write(path, config.name, more)
    turns = [turn for found in verdicts for by_turn in found.values() for turn in by_turn]
    judged_turns = sum(any(verdict.score is not None for verdict in turn) for turn in turns)
    return JudgedRun(scored.figures, config.name, "; ".join(usage), path, judged_turns)


def judged_run(tasks: "RunTasks", config: JudgeConfig, run: StoredRun) -> JudgedRun | str | None:
    """Do :func:`judge_run` wherever an engine works; what is wrong with the run is a result."""
    try:
        return judge_run(run, tasks.of(run), config)
    except InputError as error:
        return str(error)


def with_seeds(config: JudgeConfig, text: str) -> JudgeConfig:
    """A judge ready for stored runs: with the seeds of ``--seeds 2023,2024``, or its own when the text is empty.

    Raises:
        InputError: no whole numbers, or one of them twice; or a judge with the name of a column of the rows.
    """
    if config.name in ROW_KEYS:
        raise InputError(
            f"judge {config.name}: the results have a column of that name; give the judge another `name`"
        )
    # The configuration reads the text as it reads a variable of the environment.
    return config.changed(seeds=text) if text else config


_Text = Annotated[str, Field(strict=True)] | None
_Count = Annotated[int, Field(strict=True, ge=0)]


class _VerdictRow(Checked):
    """A row of a verdict in a file; see :meth:`long_context_tasks.judges.Verdict.row`."""

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
        """The first reply and the last, which had the score or was the last try. Those between had none, and count as empty."""
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
    """A verdict from its row (see :meth:`long_context_tasks.judges.Verdict.row`), with the score by today's rules.

    Raises:
        InputError: no row of a verdict.
    """
    held = validated(_VerdictRow, row, place, remedy="judge it again with `lct judge run`")
    replies = held.replies()
    score: float | None = None
    seen: list[Reply] = []
    for reply in replies:
        seen.append(reply)
        score = rubric.score_reply(reply, weighed=weighed)
        if score is not None:
            break
    # An item that got nothing but empty replies has an error as well, and is unparsable.
    failed = ENDPOINT_FAILED if held.reason == ENDPOINT_FAILED else UNPARSABLE
    return Verdict(
        score=score,
        reason=None if score is not None else failed,
        feedback=seen[-1].text if seen else None,
        replies=tuple(reply.text for reply in seen),
        seed=held.seed,
        key=str(held.key),
        usage=Usage(len(replies), held.prompt_tokens, held.completion_tokens),
        error=held.error,
        top_logprobs=seen[-1].top_logprobs if seen else None,
    )


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
        scored: by today's rules.
        changes: every score that changed.
        notes: what a reader of the numbers should know.
    """

    evaluation: Evaluation
    scored: ScoreFigures
    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The file for the numbers."""
        return rescored_path(self.evaluation.run, self.evaluation.judge)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those of today, headline first, then those that the task had before."""
        today = self.scored.metrics
        return (*today, *(name for name in metric_names(list(self.evaluation.numbers)) if name not in today))

    def before(self, metric: str) -> float:
        """The mean as it was; not-a-number without one."""
        return self.evaluation.numbers.get(metric, math.nan)

    def after(self, metric: str) -> float:
        """The mean of today; not-a-number without one."""
        return self.scored.numbers.get(metric, math.nan)

    def changed_cases(self, metric: str) -> int:
        """Number of cases of which a turn has another score, each repeat counted."""
        return len({(change.case, change.repeat) for change in self.changes if change.metric == metric})


def to_rescore(runs: Sequence[StoredRun], tasks: "RunTasks") -> Iterator[tuple[Evaluation, LoadedTask] | str]:
    """The evaluations of runs with today's tasks, and what is wrong with others, in order.

    A run that judges scored is there once for each of them; one without a judge once.
    """
    for run, task in _with_tasks(runs, tasks):
        if isinstance(task, str):
            yield task
            continue
        if run.version > task.version:
            yield (
                f"{run}: has scores of version {run.version} of the task, and this package has version {task.version}; update it "
                "(pip install -U long_context_tasks)"
            )
            continue
        found, damaged = original_evaluations(run)
        yield from damaged
        if not found or (run.numbers and not run.judge and task.judging is None):
            found = [unjudged_evaluation(run, original=True), *found]
        yield from ((evaluation, task) for evaluation in found)


def rescored_run(tasks: "RunTasks", write: bool, run: StoredRun) -> list[Rescored | str]:
    """Do :func:`rescore` for all evaluations of a run, wherever an engine works; what is wrong with one is a result."""
    found: list[Rescored | str] = []
    for each in to_rescore([run], tasks):
        try:
            found.append(each if isinstance(each, str) else rescore(*each, write=write))
        except InputError as error:
            found.append(naming(run, error))
    return found


def rescore(evaluation: Evaluation, task: LoadedTask, *, write: bool = False) -> Rescored:
    """Score an evaluation again.

    Raises:
        InputError: no responses on disk, damaged files, responses to other data, a rubric that is no more, log-likelihoods whose
            numbers of tokens were not kept, or files that cannot be written.
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
    # Of a task by likelihood the host's own scores are those before, also where a judge has read it.
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
                same = then is now
            else:
                same = math.isclose(then, now, rel_tol=_EQUAL, abs_tol=_EQUAL)
            if not same:
                changes.append(Change(case, turn, repeat, metric, then, now))
    notes = (*scored.notes, *_lost(scored, cases), _told_again(evaluation, task))
    made = Rescored(evaluation, scored.figures, tuple(changes), notes)
    if write:
        _write_rescored(made, scored)
    return made


def _write_rescored(rescored: Rescored, scored: ScoredAgain) -> None:
    evaluation = rescored.evaluation
    seeds = evaluation.description.get("seeds")
    more = {
        "judge": dict(evaluation.description),
        **{key: evaluation.stated[key] for key in ("judged", "usage") if key in evaluation.stated},
        "by_seed": scored.by_seed(seeds if isinstance(seeds, list) else []),
        "rescored": _now(),
        "notes": list(rescored.notes),
        BEFORE: evaluation.state(),
    }
    name = str(evaluation.description.get("name", "judge")) if evaluation.description else None
    scored.write(rescored.path, None if name in ROW_KEYS else name, more)


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
    flat = [found for repeat in in_repeats(scores) for found in repeat.values()]
    return ScoredAgain(run, task, repeats, [{} for _ in repeats], flat, None)


def _by_responses(evaluation: Evaluation, task: LoadedTask, cases: Sequence[_Scored]) -> ScoredAgain:
    run, description = evaluation.run, evaluation.description
    repeats = in_repeats((case, list(case.responses)) for case, _ in cases)
    verdicts: list[Verdicts] = [{} for _ in repeats]
    rubric = None
    if description and task.judging is not None:
        rubric = str(description.get("rubric") or task.judging.default)
        # A host whose judge failed altogether has no verdict at all, and scores as without a judge.
        silent = not any(turn.verdicts for _, turns in cases for turn in turns)
        if silent and _was_waiting(task, cases, rubric):
            rubric = None
    if rubric is not None:
        reader = task.judging.rubric(rubric)
        weighed, place = description.get("logprobs") is not None, f"{run}: what {evaluation.judge} said"
        read = (
            (
                case,
                [
                    [read_again(row, reader, weighed=weighed, place=place) for row in turn.verdicts]
                    for turn in turns
                ],
            )
            for case, turns in cases
        )
        verdicts = list(in_repeats(read))
    return ScoredAgain(run, task, repeats, verdicts, _scores_of(task, repeats, verdicts, rubric), rubric)


def _was_waiting(task: LoadedTask, cases: Sequence[_Scored], rubric: str) -> bool:
    """Whether a judged run without any verdict waits for its judge, and not one whose responses left the judge nothing to say.

    A summary without sections has its score without a judge. A run waits where its files say so, or where today's task would ask
    something.
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


def _lost(scored: ScoredAgain, cases: Sequence[_Scored]) -> list[str]:
    """Verdicts that had a score and have none by today's rules: the judge would be asked again, and here it is not."""
    if scored.rubric is None:
        return []
    before = sum(
        row.get("score") is not None for _, turns in cases for turn in turns for row in turn.verdicts
    )
    after = sum(
        verdict.score is not None
        for by_case in scored.verdicts
        for turns in by_case.values()
        for turn in turns
        for verdict in turn
    )
    if after >= before:
        return []
    return [f"{before - after} replies of the judge have no score any more; `lct judge run` would ask again"]


def _told_again(evaluation: Evaluation, task: LoadedTask) -> str:
    """Both states in a line, for the provenance of every number."""
    package = evaluation.stated.get("package") or evaluation.run.provenance.get("package")
    headline = evaluation.headline or task.metrics[0]
    value = evaluation.numbers.get(headline, math.nan)
    was = f", {headline} {value:.4g}" if math.isfinite(value) else ", without scores"
    return (
        f"scored again by long_context_tasks {long_context_tasks.__version__} as version {task.version} of the task; before: version "
        f"{evaluation.version}, package {package or 'unknown'}{was}"
    )
