"""Scores printed in the papers for the models that their authors ran; reports mark them as not run here.

A benchmark's ``published.yaml`` holds the figures in the layout of the paper's tables, digit by digit as printed::

    windows: {Claude-2: 100k}                    # context length of a model, if the paper states it
    tables:
      - table: Table 2
        metric: official_accuracy                # n, setting, subset: the same for all columns, or given by a column
        columns: [ada_leval_tsort_2k, {task: ada_leval_tsort_4k, n: 200}]
        rows:
          Claude-2: ["5.0", null]                # null: the paper has no figure

Figures are percentages, or points if the card has the metric under ``points``. Instead of ``rows``,
``rows_of: paper.yaml/table2`` takes a table with ``columns`` and ``rows`` from another data file of the folder; ``columns`` of the
entry then maps that table's columns to ours and leaves out the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.files import yaml_value
from long_context_tasks.schema.validated import Checked, Whole, validated

FILE = "published.yaml"
PEOPLE = "people"  # in the place of a model, for the human baselines of cards
_REMEDY = "correct it against the paper"
# Text, because a number has lost its last zeros.
_Rows = dict[str, list[Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?$")] | None]]


class _PublishedColumn(Checked):
    task: str
    metric: str
    n: Whole | None = None
    setting: str = ""
    subset: str = ""


class _PublishedTable(Checked):
    table: str
    columns: list[str | dict[str, Any]] | dict[str, str | dict[str, Any]]
    rows: _Rows = Field(default_factory=dict)
    rows_of: str = ""
    metric: str = ""
    n: Whole | None = None
    setting: str = ""
    subset: str = ""


class _PublishedTables(Checked):
    windows: dict[str, str] = Field(default_factory=dict)
    tables: list[_PublishedTable] = Field(default_factory=list)


class _OtherTable(Checked):
    columns: list[str]
    rows: _Rows


@dataclass(frozen=True)
class PublishedScore:
    benchmark: str  # e.g. ada_leval
    model: str  # the paper's name of the model, or PEOPLE; Random Guess and Expectation are not models
    # Name of a task, or of the group of all splits of a task if the score is the mean over all their cases.
    task: str
    metric: str  # name of our metric that follows the official rule
    printed: str  # the score with the paper's digits
    points: bool  # whether it is points instead of a percentage
    source: str  # paper, table and row
    n: int | None = None  # number of cases (ELITR-Bench: questions); None if the paper does not state it
    setting: str = ""  # a few words on how the score was measured
    subset: str = ""  # label of the part of the task's questions in our reports; empty for all
    window: str = ""  # context length of the model, e.g. 128k; empty if the paper does not state it.

    @property
    def value(self) -> float:
        return float(self.printed)

    @property
    def score(self) -> float:
        """The score on the metric's own scale: percent as a share from 0 to 1, points unchanged."""
        return self.value if self.points else self.value / 100


@lru_cache
def published(benchmark: str) -> tuple[PublishedScore, ...]:
    """Return all scores of a benchmark's paper, in the order of its tables; nothing without a ``published.yaml``."""
    if benchmark not in catalogue.benchmark_names():
        raise InputError(f"unknown benchmark {benchmark}; there are {', '.join(catalogue.benchmark_names())}")
    folder = catalogue.benchmark(benchmark).folder
    if not (folder / FILE).is_file():
        return ()
    # Tables may name other data files of the benchmark, such as paper.yaml.
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
    return parse_published(texts[FILE], catalogue.card(benchmark), f"{benchmark}/{FILE}", texts.__getitem__)


def human_scores(tasks: Iterable[catalogue.TaskSpec]) -> Iterator[PublishedScore]:
    """Yield the human baselines of the cards of some tasks."""
    for spec in tasks:
        if human := spec.human:
            points = spec.headline in catalogue.card(spec.benchmark).points
            printed = f"{human.score * (1 if points else 100):.10g}"
            place = (spec.benchmark, PEOPLE, spec.name, spec.headline)
            yield PublishedScore(*place, printed, points, source=human.source)


def parse_published(
    text: str, card: Card, place: str, read: Callable[[str], str]
) -> tuple[PublishedScore, ...]:
    """Return the scores of a YAML text; ``read`` returns the text of another data file by its name. Errors name table and row."""
    content = validated(_PublishedTables, yaml_value(text, place, remedy=_REMEDY), place)
    scores: dict[tuple[object, ...], PublishedScore] = {}
    for entry in content.tables:
        for score in _figures(entry, content.windows, card, place, read):
            # The same score may be printed in two tables, but only one of them may be entered.
            key = (score.model, score.task, score.metric, score.subset, score.n, score.setting)
            if key in scores:
                raise InputError(
                    f"{place}: {score.source}, {score.task}: a second figure of {score.metric} in the same setting; "
                    "remove one or give them different settings"
                )
            scores[key] = score
    # A misspelt model name would lose its window silently.
    if unused := set(content.windows) - {score.model for score in scores.values()}:
        raise InputError(f"{place}: windows of models without a figure: {sorted(unused)}; {_REMEDY}")
    return tuple(scores.values())


def _figures(
    entry: _PublishedTable, windows: Mapping[str, str], card: Card, place: str, read: Callable[[str], str]
) -> Iterator[PublishedScore]:
    table, columns, rows = f"{place}: {entry.table}", entry.columns, entry.rows
    if entry.rows_of:
        file, _, key = entry.rows_of.partition("/")
        tables = yaml_value(read(file), file, remedy=_REMEDY)
        if key not in tables:
            raise InputError(f"{table}: {file} has no {key}; it has {', '.join(tables)}")
        other = validated(_OtherTable, tables[key], f"{file}, {key}", remedy=_REMEDY)
        ours, rows = columns if isinstance(columns, dict) else {}, other.rows
        if unknown := set(ours) - set(other.columns):
            raise InputError(
                f"{table}: {file}, {key} has no columns {sorted(unknown)}; it has {other.columns}"
            )
        columns = [ours.get(column, {}) for column in other.columns]
    if not rows:
        raise InputError(f"{table}: no rows, nor rows_of; {_REMEDY}")
    # Columns may override these.
    shared = entry.model_dump(include={"metric", "n", "setting", "subset"}, exclude_unset=True)
    # Columns of another file that are left out are empty.
    specs = [_column(column, shared, card, table) if column else None for column in columns]
    for model, row in rows.items():
        if len(row) != len(specs):
            raise InputError(f"{table}, {model}: {len(row)} figures for {len(specs)} columns; {_REMEDY}")
        for spec, printed in zip(specs, row, strict=True):
            if spec is None or printed is None:
                continue
            points = spec.metric in card.points
            scale = card.points[spec.metric] if points else (0, 100)
            if scale is not None and not scale[0] <= float(printed) <= scale[1]:
                raise InputError(
                    f"{table}, {model}, {spec.task}: {printed} lies outside {scale[0]} to {scale[1]}; {_REMEDY}"
                )
            yield PublishedScore(
                benchmark=card.name,
                model=model,
                printed=printed,
                points=points,
                window=windows.get(model, ""),
                source=f"{card.title} paper ({card.paper['venue']}), {entry.table}, {model}",
                **dict(spec),
            )


def _column(
    column: str | Mapping[str, Any], shared: Mapping[str, Any], card: Card, table: str
) -> _PublishedColumn:
    own = {"task": column} if isinstance(column, str) else column
    place = f"{table}, {own.get('task', column)}"
    spec = validated(_PublishedColumn, {**shared, **own}, place, remedy=_REMEDY)
    if spec.metric not in card.metrics:
        raise InputError(f"{place}: unknown metric {spec.metric}; the card has {', '.join(card.metrics)}")
    # The group of a task with splits is not a task; its mean weighs all cases equally.
    if spec.task not in {f"{card.name}_{name}" for name, task in card.tasks.items() if task.pooled}:
        try:
            benchmark = catalogue.parse_task(spec.task).benchmark
        except InputError as error:
            raise InputError(f"{table}: {error}") from error
        if benchmark != card.name:
            raise InputError(f"{table}: {spec.task} is a task of {benchmark}, not of {card.name}")
    return spec
