"""Input and output of a benchmark's report: scored runs in, titled tables and figures out.

A benchmark's ``sections`` takes :class:`ScoredRun` objects and returns :class:`Section` objects, independent
of hosts and files.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from long_context_tasks.schema.response import Response
from long_context_tasks.schema.task import LoadedTask

ALL_TEXT = frozenset(("host", "model", "task", "judge", "settings", "metric"))
"""Text columns of every report."""


@dataclass(frozen=True)
class ScoredTurn:
    case: str
    # Counted from 0.
    turn: int
    repeat: int
    cluster: str  # the cluster over which intervals are computed
    value: float | None  # value of the run's metric, or None
    response: Response  # the text is None if the files do not contain it
    labels: Mapping[str, Any] = field(default_factory=dict)  # case and turn labels, as in the host's files
    verdicts: tuple[Mapping[str, Any], ...] = ()  # the judge's rows; empty without a judge, and in bundles


@dataclass(frozen=True)
class ScoredRun:
    """A run with its scores on one metric, by one judge."""

    host: str
    model: str
    task: str
    judge: str  # the judge's name; empty for a task without one
    version: int
    # Options and generation arguments shared by repeats, see :mod:`long_context_tasks.results.settings`.
    settings: Mapping[str, Any]
    metric: str
    points: bool  # whether the metric is in points instead of a rate
    seed: str  # seed given to the host; empty if unknown
    made: str  # time of the run, as written by the host
    read: Callable[[], Iterable[ScoredTurn]] = field(repr=False)  # reads the turns lazily, in file order
    # Loads the task with its cases; raises InputError if its data are not available.
    load: Callable[[], LoadedTask] = field(repr=False)
    # Mean of the metric per judge seed, if there are several.
    by_judge_seed: Mapping[str, float] = field(default_factory=dict)

    def turns(self) -> Iterator[ScoredTurn]:
        """Read the turns; each call reads the files again."""
        return iter(self.read())

    @property
    def how(self) -> str:
        """The settings in words; empty if all are defaults."""
        return settings_text(self.settings)

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Identity shared by the repeats of a run on one host."""
        return self.host, self.model, self.task, self.version, self.judge, self.how, self.metric


def settings_text(settings: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    """Format settings in words.

    >>> settings_text({"lct_prompt_style": "raw", "temperature": 0.6, "lct_n": 5}, without=["lct_n"])
    'prompt_style=raw temperature=0.6'
    """
    shown = {key: value for key, value in settings.items() if key not in without}
    # Our options first, then the host's generation arguments.
    ordered = sorted(shown, key=lambda key: (not key.startswith("lct_"), key))
    return " ".join(f"{key.removeprefix('lct_')}={shown[key]}" for key in ordered)


K = TypeVar("K")


def mean_over_repeats(scored: Iterable[K]) -> list[K]:
    """Merge dataclasses with the same ``key`` into one with the mean ``value``; repeats do not add cases."""
    found: dict[Hashable, list[Any]] = {}
    score: Any
    for score in scored:
        found.setdefault(score.key, []).append(score)
    means = []
    for same in found.values():
        # fsum, so that the mean does not depend on the order of the repeats.
        values = [score.value for score in same if score.value is not None]
        means.append(replace(same[0], value=math.fsum(values) / len(values) if values else None))
    return means


def only(parts: Iterable[K], what: str, *kinds: type) -> list[K]:
    """Return the parts of a report as a list, or raise if one has another type."""
    found = list(parts)
    if others := [type(part).__name__ for part in found if not isinstance(part, kinds)]:
        raise ValueError(f"{what}: must be {' or '.join(kind.__name__ for kind in kinds)}, not {others[0]}")
    return found


@dataclass(frozen=True)
class Table:
    key: str  # its file name
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text: frozenset[str] = frozenset()  # left-aligned text columns in addition to :data:`ALL_TEXT`

    def __post_init__(self) -> None:
        # Checked here, in the benchmark's own code: an error while a page is written would stop the site.
        if any([type(cell) for cell in row] != [str] * len(self.columns) for row in self.rows):
            raise ValueError(
                f"table {self.key}: rows need a cell for each of the columns {self.columns}, each a text"
            )

    def without_empty_columns(self) -> "Table":
        filled = [column for column in range(len(self.columns)) if any(row[column] for row in self.rows)]
        return replace(
            self,
            columns=tuple(self.columns[column] for column in filled),
            rows=tuple(tuple(row[column] for column in filled) for row in self.rows),
        )


@dataclass(frozen=True)
class HeatMap:
    title: str  # name of the scored run
    caption: str  # a sentence that explains a cell
    # Names and labels of the axes.
    x_title: str
    y_title: str
    x: Sequence[str]
    y: Sequence[str]
    values: Sequence[Sequence[float | None]]  # one row per entry in ``y``; None for a cell without cases
    counts: Sequence[Sequence[int]]  # number of clusters behind each value; may be empty
    # Bounds of the scale.
    low: float
    high: float

    def __post_init__(self) -> None:
        # Counts need not be given.
        for name, rows in (("values", self.values), ("counts", self.counts or self.values)):
            if not self.x or not self.y or [len(row) for row in rows] != [len(self.x)] * len(self.y):
                raise ValueError(
                    f"heat map {self.title}: {name} need a row for each of y and a cell for each of x, of which there must be some"
                )


@dataclass(frozen=True)
class Line:
    name: str
    points: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True)
class Lines:
    """Curves with intervals along one axis; ``low`` and ``high`` are the bounds of the scale."""

    title: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Section:
    key: str  # short name, used as a prefix of its tables' file names
    title: str
    # In order; a table without rows is not shown.
    tables: tuple[Table, ...] = ()
    figures: tuple[HeatMap | Lines, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the reader
    problems: tuple[
        str, ...
    ] = ()  # errors and omissions; make a command that prints the section exit with code 1

    def __post_init__(self) -> None:
        only(self.tables, f"tables of section {self.key}", Table)
        only(self.figures, f"figures of section {self.key}", HeatMap, Lines)
        only((*self.notes, *self.problems), f"notes and problems of section {self.key}", str)


def figure_text(value: float, places: int = 2) -> str:
    return "-" if math.isnan(value) else f"{value:.{places}f}"


def count_text(n: int, total: int) -> str:
    return str(n) if n == total else f"{n} of {total}"


def interval_text(interval: Any, places: int = 2) -> str:
    """Format a mean's interval as ``low to high``; empty if None, a dash if there are too few clusters."""
    if interval is None:
        return ""
    # Fewer than two clusters give a mean but no interval.
    if math.isnan(interval.low) or math.isnan(interval.high):
        return "-"
    return f"{interval.low:.{places}f} to {interval.high:.{places}f}"


TEST_COLUMNS = ("n first", "mean first", "n second", "mean second", "t", "df", "p")


def test_cells(test: Any) -> tuple[str, ...]:
    # Four decimals would show a small p as 0.0000.
    p = f"{test.p:.1e}" if test.p < 0.0001 else figure_text(test.p, 4)
    return (
        *(str(test.n_first), figure_text(test.mean_first), str(test.n_second), figure_text(test.mean_second)),
        *(figure_text(test.t, 3), figure_text(test.df, 1), p),
    )
