"""Reports that a benchmark makes of scored runs: what goes in, and the titled tables and figures that come out.

A benchmark's ``sections`` takes :class:`ScoredRun` objects and gives :class:`Section` objects; it knows neither hosts nor files.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from long_context_tasks.schema.response import Response
from long_context_tasks.schema.task import LoadedTask

ALL_TEXT = frozenset(("host", "model", "task", "judge", "settings", "metric"))
"""Columns of every report that hold words."""


@dataclass(frozen=True)
class ScoredTurn:
    """A turn of a case with its score.

    Attributes:
        case, turn, repeat: which; turns and repeats are counted from 0.
        cluster: the unit of intervals.
        value: of the run's metric; None where there is none.
        response: of the model; text None where the files do not hold it.
        labels: of the case and the turn, as the host's files have them.
        verdicts: the judge's rows; empty without a judge, and in bundles.
    """

    case: str
    turn: int
    repeat: int
    cluster: str
    value: float | None
    response: Response
    labels: Mapping[str, Any] = field(default_factory=dict)
    verdicts: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class ScoredRun:
    """A run with the scores of one metric, by one judge.

    Attributes:
        host, model, task: of the run; the model by the name that reports show.
        judge: empty where the task needs none.
        version: of the task's scores.
        settings: options and arguments of generation that repeats share, see :mod:`long_context_tasks.results.settings`.
        metric: whose values the turns have.
        points: the metric has points of a scale and is no rate.
        seed: that the host was given; empty where it is not known.
        made: when, as the host wrote it.
        read: the turns in the order of the files, read as they are asked for.
        load: the task with its cases; raises InputError where its data are not here.
        by_judge_seed: mean of the metric with each seed of the judge, where it has several.
    """

    host: str
    model: str
    task: str
    judge: str
    version: int
    settings: Mapping[str, Any]
    metric: str
    points: bool
    seed: str
    made: str
    read: Callable[[], Iterable[ScoredTurn]] = field(repr=False)
    load: Callable[[], LoadedTask] = field(repr=False)
    by_judge_seed: Mapping[str, float] = field(default_factory=dict)

    def turns(self) -> Iterator[ScoredTurn]:
        """The turns, read once more at each call.

        Raises:
            InputError: a damaged file.
        """
        return iter(self.read())

    @property
    def how(self) -> str:
        """The settings in words; empty where all are the default ones."""
        return settings_text(self.settings)

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What runs share that are repeats of one another on one host."""
        return self.host, self.model, self.task, self.version, self.judge, self.how, self.metric


def settings_text(settings: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    """Settings in words.

    >>> settings_text({"lct_prompt_style": "raw", "temperature": 0.6, "lct_n": 5}, without=["lct_n"])
    'prompt_style=raw temperature=0.6'
    """
    kept = {key: value for key, value in settings.items() if key not in without}
    ordered = sorted(kept, key=lambda key: (not key.startswith("lct_"), key))
    return " ".join(f"{key.removeprefix('lct_')}={kept[key]}" for key in ordered)


K = TypeVar("K")


def mean_over_repeats(scored: Iterable[K]) -> list[K]:
    """One score for each key: the first with the mean of the values that there are. Several runs do not make more cases.

    Args:
        scored: dataclasses with a ``key`` of what the score is of, and its ``value``.
    """
    found: dict[Hashable, list[Any]] = {}
    score: Any
    for score in scored:
        found.setdefault(score.key, []).append(score)
    means = []
    for same in found.values():
        values = [score.value for score in same if score.value is not None]
        means.append(replace(same[0], value=math.fsum(values) / len(values) if values else None))
    return means


@dataclass(frozen=True)
class Table:
    """A table to print and to write.

    Attributes:
        key: name of its file.
        title, columns, rows: as printed.
        text: columns that hold words and are aligned left, beside :data:`ALL_TEXT`.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text: frozenset[str] = frozenset()

    def without_empty_columns(self) -> "Table":
        """The same without the columns that are empty in every row."""
        kept = [place for place in range(len(self.columns)) if any(row[place] for row in self.rows)]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(tuple(row[place] for place in kept) for row in self.rows),
        )


@dataclass(frozen=True)
class HeatMap:
    """Scores over two axes.

    Attributes:
        title: whose scores they are.
        caption: what a cell is, in a sentence.
        x_title, y_title, x, y: the axes and their names.
        values: a row for each of ``y``; None where there is none.
        counts: clusters behind each value.
        low, high: ends of the scale.
    """

    title: str
    caption: str
    x_title: str
    y_title: str
    x: Sequence[str]
    y: Sequence[str]
    values: Sequence[Sequence[float | None]]
    counts: Sequence[Sequence[int]]
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A line of a figure: its name, and the points (x, y, lower and upper end of the interval)."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True)
class Lines:
    """Lines with intervals over one axis; ``low`` and ``high`` are the ends of the scale."""

    title: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        key: short name; files of its tables begin with it.
        title: as shown.
        tables, figures: in order; a table without rows is not shown.
        notes: sentences that a reader needs.
        problems: what is wrong or had to be left out; a command that prints the section ends with exit code 1.
    """

    key: str
    title: str
    tables: tuple[Table, ...] = ()
    figures: tuple[HeatMap | Lines, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def figure_text(value: float, places: int = 2) -> str:
    """A number as a cell; a dash for not-a-number."""
    return "-" if math.isnan(value) else f"{value:.{places}f}"


def count_text(n: int, total: int) -> str:
    """How many are scored, and of how many where it is not all."""
    return str(n) if n == total else f"{n} of {total}"


def interval_text(interval: Any, places: int = 2) -> str:
    """``low to high`` of an interval or mean; empty without an interval, a dash where too few clusters allow none."""
    if interval is None:
        return ""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return "-"
    return f"{interval.low:.{places}f} to {interval.high:.{places}f}"


TEST_COLUMNS = ("n first", "mean first", "n second", "mean second", "t", "df", "p")


def test_cells(test: Any) -> tuple[str, ...]:
    """Cells under :data:`TEST_COLUMNS` of a :class:`long_context_tasks.stats.comparison.WelchTest`."""
    p = f"{test.p:.1e}" if test.p < 0.0001 else figure_text(test.p, 4)
    return (
        *(str(test.n_first), figure_text(test.mean_first), str(test.n_second), figure_text(test.mean_second)),
        *(figure_text(test.t, 3), figure_text(test.df, 1), p),
    )
