"""What the files of a run must agree on: means and counts are those of its cases, scores lie on their scales, the version is one that this package knows."""

import math
from collections.abc import Iterable, Iterator
from types import NoneType

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.bundle.format import BundleRun, numbers_of
from long_context_tasks.results.evaluations import Evaluation, TurnScores
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.response import NOT_SCORED

CHECKS = "means and counts made again from the cases, scores and verdicts on their scales, versions of tasks"
"""What is checked of each run with cases, for people."""
_CLOSE = 1e-6
"""Sums in another order differ by less; so do the percentages of a host."""


def check_version(one: Evaluation) -> None:
    """Refuse a run of a later version than this package scores.

    Raises:
        InputError: a later version, or none that can be compared; names the run and the remedy.
    """
    if type(one.version) not in (int, NoneType):
        raise InputError(
            f"{_place(one)}: version {str(one.version)[:40]!r} of the task is no whole number; {_REMEDY}"
        )
    today = catalogue.card(catalogue.parse_task(one.run.task).benchmark).version
    if one.version is not None and one.version > today:
        raise InputError(
            f"{_place(one)}: version {one.version} of the task, and this package has {today}; update long_context_tasks, or run again "
            "where the file was changed"
        )


def on_scale(one: Evaluation, turns: Iterable[TurnScores]) -> Iterator[TurnScores]:
    """Yield the turns of a run.

    Raises:
        InputError: a score or a judge's verdict lies off its scale.
    """
    card = catalogue.card(catalogue.parse_task(one.run.task).benchmark)
    known = [scale for scale in card.points.values() if scale]
    # A verdict has the judge's scale, which the benchmark may widen to that of its points.
    verdicts = (0.0, max(high for _, high in known)) if known else None
    for turn in turns:
        for metric, value in turn.scores.items():
            _check(one, turn, metric, value, _scale(card, metric, one))
        for verdict in turn.verdicts:
            score = verdict.get("score")
            if not isinstance(score, int | float | None) or isinstance(score, bool):
                raise InputError(
                    f"{_place(one)}, case {turn.case[:80]!r}: a verdict that is no number; {_REMEDY}"
                )
            _check(one, turn, "a verdict", score, verdicts)
        yield turn


_REMEDY = "the file was changed or damaged; score the run again with `lct runs rescore`, or run again"


def _scale(card: Card, metric: str, one: Evaluation) -> tuple[float, float] | None:
    if metric in card.points:
        return card.points[metric]
    # Metrics of judges of other kinds may be points as the run has it.
    return None if metric in (one.run.points or ()) or metric not in card.metrics else (0.0, 1.0)


def _check(
    one: Evaluation, turn: TurnScores, what: str, value: float | None, scale: tuple[float, float] | None
) -> None:
    if value is None or scale is None or scale[0] - _CLOSE <= value <= scale[1] + _CLOSE:
        return
    raise InputError(
        f"{_place(one)}, case {turn.case[:80]!r}: {what} of {value:g} lies off the scale of {scale[0]:g} to {scale[1]:g}; {_REMEDY}"
    )


def check_means(one: Evaluation, run: BundleRun) -> None:
    """Refuse a run whose results file has other means or counts than its cases make.

    Raises:
        InputError: names the first number that differs, and the remedy.
    """
    if run.scores["repeat"].max():
        return  # hosts differ in what they make of repeats
    made = numbers_of(run)
    made["n"] -= made.get(f"n_{NOT_SCORED}", 0)  # answered after the evaluation
    for name in (*run.row["metrics"], "n", "n_scored"):
        stated = one.numbers.get(name)
        if stated is None:
            continue
        own = made.get(name, math.nan)
        if math.isnan(stated) and math.isnan(own):
            continue
        if not math.isclose(stated, own, rel_tol=_CLOSE, abs_tol=_CLOSE):
            raise InputError(
                f"{_place(one)}: {one.run.task}: {name} is {stated:.6g} there, and the cases make {own:.6g}; {_REMEDY}"
            )


def _place(one: Evaluation) -> str:
    return str(one.rows or one.run.result_file or one.run.folder)
