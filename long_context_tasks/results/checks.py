"""Checks of stored runs against their own cases: means, counts, scales of scores and verdicts, versions of tasks."""

import math
from collections.abc import Iterable, Iterator

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.results.evaluations import Evaluation, TurnScores
from long_context_tasks.results.tidy import TidyRun
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.response import NOT_SCORED

CHECKS = "means and counts against the cases, scores and verdicts against their scales, versions of tasks"
"""The checks of each run with cases, in words."""
_CLOSE = 1e-6
"""Tolerance for sums in another order and for the percentages of a host."""
_DAMAGED = "the file was changed or damaged; score the run again with `lct runs rescore`, or run again"


Failures = dict[str, Exception]
"""Parts of a report that a benchmark's own code failed to make, each with its first error; their names begin with that of the benchmark, and ``left_out`` puts them in words."""


def left_out(failures: Failures) -> list[str]:
    return [f"{part} are left out: {reason(error)}{_line(part, error)}" for part, error in failures.items()]


def _line(part: str, error: Exception) -> str:
    """Return the line of the benchmark's code that failed, in brackets."""
    benchmark = catalogue.benchmark(part.partition(":")[0])
    line = None if isinstance(error, InputError) else benchmark.line_of(error)
    # Pages show it, and local folders stay private.
    return f" ({line[0].relative_to(benchmark.folder.parent)}, line {line[1]})" if line else ""


def reason(error: Exception) -> str:
    return str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def check_version(evaluation: Evaluation) -> None:
    """Refuse a run of a later version of its task than this package scores."""
    # Not isinstance: true is an int, but not a version.
    if type(evaluation.version) is not int or evaluation.version < 0:
        version = str(evaluation.version)[:40]
        raise _fault(evaluation, f"version {version!r} of the task is not a whole number")
    today = catalogue.card(catalogue.parse_task(evaluation.run.task).benchmark).version
    if evaluation.version > today:
        raise InputError(
            f"{_place(evaluation)}: version {evaluation.version} of the task, and this package has {today}; update long_context_tasks, or run "
            "again if the file was changed"
        )


def checked_turns(
    evaluation: Evaluation, turns: Iterable[TurnScores], failures: Failures
) -> Iterator[TurnScores]:
    """Refuse scores and verdicts outside their scale, and scores that do not follow from their verdicts."""
    benchmark = catalogue.benchmark(catalogue.parse_task(evaluation.run.task).benchmark)
    card, judge = benchmark.card, evaluation.description or {}
    # Only judges that give verdicts by a rubric can be recomputed; trained judges have their own metrics.
    rated = stored_kind(judge) is None
    known = [scale for scale in card.points.values() if scale]
    # A verdict has the judge's scale, which the benchmark may widen to that of its points.
    verdicts = (0.0, max(high for _, high in known)) if known else None
    scales: dict[str, tuple[float, float] | None] = {}
    for turn in turns:
        for metric, value in turn.scores.items():
            if metric not in scales:
                scales[metric] = _scale(card, metric, evaluation)
            _check(evaluation, turn, metric, value, scales[metric])
        ratings = []
        for verdict in turn.verdicts:
            score = verdict.get("score")
            if not isinstance(score, int | float | None) or isinstance(score, bool):
                raise _fault(evaluation, "a verdict that is not a number", turn)
            _check(evaluation, turn, "a verdict", score, verdicts)
            ratings.append(score)
        try:
            remade = benchmark.rating(turn.scores, ratings, judge.get("rubric")) if rated else {}
        except Exception as error:  # of a plug-in, whose scores stay
            remade = {}
            failures.setdefault(f"{benchmark.name}: checks of scores against verdicts", error)
        for metric, made in remade.items():
            stored = turn.scores.get(metric)
            if stored is not None and made is not None and abs(stored - made) > _CLOSE:
                raise _fault(evaluation, f"{metric} is {stored:.6g}, but its verdicts give {made:.6g}", turn)
        yield turn


def _scale(card: Card, metric: str, evaluation: Evaluation) -> tuple[float, float] | None:
    if metric in card.points:
        return card.points[metric]
    # Metrics of judges of other kinds are points if the run declares them so.
    return None if metric in (evaluation.run.points or ()) or metric not in card.metrics else (0.0, 1.0)


def _check(
    evaluation: Evaluation,
    turn: TurnScores,
    name: str,
    value: float | None,
    scale: tuple[float, float] | None,
) -> None:
    if value is None or scale is None or scale[0] - _CLOSE <= value <= scale[1] + _CLOSE:
        return
    low, high = scale
    benchmark, remedy = catalogue.parse_task(evaluation.run.task).benchmark, _DAMAGED
    if benchmark not in catalogue.READ_ONLY and name in catalogue.card(benchmark).metrics:
        remedy = f"if `lct check {benchmark}` says so too, the benchmark gives it; otherwise {_DAMAGED}"
    problem = f"{name} of {value:g} is outside the scale of {low:g} to {high:g}"
    raise _fault(evaluation, problem, turn, remedy)


def check_means(evaluation: Evaluation, run: TidyRun) -> None:
    """Refuse a run whose results file has other means or counts than its cases give."""
    if run.scores["repeat"].max():
        return  # hosts differ in how they average repeats
    made = run.numbers()
    made["n"] -= made.get(f"n_{NOT_SCORED}", 0)  # answered after the evaluation
    # Hosts do not write every one of these numbers into their files.
    for name in (*run.row["metrics"], "n", "n_scored"):
        stated, computed = evaluation.numbers.get(name), made.get(name, math.nan)
        if stated is None or (math.isnan(stated) and math.isnan(computed)):
            continue
        if not math.isclose(stated, computed, rel_tol=_CLOSE, abs_tol=_CLOSE):
            problem = f"{name} is {stated:.6g}, but the cases give {computed:.6g}"
            raise _fault(evaluation, f"{evaluation.run.task}: {problem}")


def _place(evaluation: Evaluation) -> str:
    return str(evaluation.rows or evaluation.run.result_file or evaluation.run.folder)


def _fault(
    evaluation: Evaluation, problem: str, turn: TurnScores | None = None, remedy: str = _DAMAGED
) -> InputError:
    case = f", case {turn.case[:80]!r}" if turn else ""
    return InputError(f"{_place(evaluation)}{case}: {problem}; {remedy}")
