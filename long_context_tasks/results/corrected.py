"""Means of judges corrected by people's ratings of some of the answers (prediction-powered inference)."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows
from long_context_tasks.schema.report import ScoredRun, Table, figure_text, interval_text
from long_context_tasks.schema.validated import Checked, Number, Whole, validated
from long_context_tasks.stats.means import CorrectedMean, corrected_mean

RATING = '{"model": "org/model", "task": "TASK", "case": "meeting_3", "turn": 1, "rating": 7}'
_COLUMNS = (
    *("host", "model", "task", "judge", "settings", "metric", "n", "rated", "raw", "corrected"),
    *("95 % interval", "rated only", "95 % of these", "bias", "95 % of bias", "why not"),
)


class _RatingRow(Checked):
    model: str
    task: str
    case: str
    turn: Whole = Field(1, ge=1)
    rating: Number


class _RatedTurn(NamedTuple):
    model: str
    task: str
    case: str
    turn: int


Ratings = Mapping[_RatedTurn, float]
"""Mean of people's ratings of each answer; turns are counted from 0."""


def read_people(files: Sequence[Path]) -> Ratings:
    """Read people's ratings from JSON Lines; several ratings of an answer are averaged."""
    ratings: dict[_RatedTurn, list[float]] = defaultdict(list)
    for path in files:
        for place, row in json_rows(path, f"JSON Lines, {RATING}"):
            each = validated(_RatingRow, row, place, remedy=f"expected {RATING}")
            ratings[_RatedTurn(each.model, each.task, each.case, each.turn - 1)].append(each.rating)
    if not ratings:
        raise InputError(f"{', '.join(map(str, files))}: no ratings; expected {RATING}")
    return {answer: math.fsum(values) / len(values) for answer, values in ratings.items()}


def corrected_table(runs: Sequence[ScoredRun], ratings: Ratings) -> Table:
    """Return a row for each judged run: the judge's mean and the mean corrected by ratings, or why it cannot be corrected."""
    rows = [_row(run, ratings) for run in runs if run.judge]
    return Table(
        "corrected",
        "judge means corrected by human ratings",
        _COLUMNS,
        tuple(rows),
        frozenset({"why not"}),
    )


def _row(run: ScoredRun, ratings: Ratings) -> tuple[str, ...]:
    turns = [turn for turn in run.turns() if turn.value is not None and turn.repeat == 0]
    judged = [float(turn.value or 0) for turn in turns]
    rated = [ratings.get(_RatedTurn(run.model, run.task, turn.case, turn.turn)) for turn in turns]
    raw = math.fsum(judged) / len(judged) if judged else math.nan
    first = (run.host, run.model, run.task, run.judge, run.how, run.metric, str(len(judged)))
    number = sum(value is not None for value in rated)
    if not number:
        why = "none of its answers is rated; ratings of other models do not show the judge's bias on its answers"
        return (*first, "0", figure_text(raw), *[""] * 6, why)
    try:
        means = corrected_mean(judged, rated, [turn.cluster for turn in turns])
    except ValueError as error:
        return (*first, str(number), figure_text(raw), *[""] * 6, str(error))
    return (*first, str(number), *_cells(means), "")


def _cells(means: CorrectedMean) -> tuple[str, ...]:
    return (
        figure_text(means.raw),
        figure_text(means.corrected),
        interval_text(means.interval, 2),
        figure_text(means.rated_only),
        interval_text(means.rated_interval, 2),
        f"{means.bias:+.2f}",
        interval_text(means.bias_interval, 2),
    )
