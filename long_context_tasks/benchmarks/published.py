"""Scores printed in the papers for the models that their authors ran; reports mark them as not run here.

A benchmark's ``published.yaml`` holds the figures in the layout of the paper's tables, digit by digit as printed::

    windows: {Claude-2: 100k}                    # context length of a model, if the paper states it
    tables:
      - table: Table 2
        metric: official_accuracy                # unit, n, setting, subset: the same for all columns, or given by a column
        unit: percent
        columns: [ada_leval_tsort_2k, {task: ada_leval_tsort_4k, n: 200}]
        rows:
          Claude-2: ["5.0", null]                # null: the paper has no figure

Instead of ``rows`` an entry may name a data file of the same folder and a table in it (``file``, ``key``) that has ``columns``
and ``rows`` of the same kind; ``columns`` of the entry then maps that table's columns to ours and leaves out the others.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, model_validator

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Card
from long_context_tasks.schema.files import yaml_value
from long_context_tasks.schema.validated import Checked, Whole, validated

FILE = "published.yaml"
_RANGES: Mapping[str, tuple[float, float]] = {"percent": (0, 100), "points": (1, 10)}
"""Lowest and highest figure, by unit."""
_FIGURE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_REMEDY = "correct it against the paper"


class _PublishedColumn(Checked):
    task: str
    metric: str
    unit: Literal["percent", "points"]
    n: Whole | None = None
    setting: str = ""
    subset: str = ""


class _PublishedTable(Checked):
    table: str
    columns: list[str | dict[str, Any]] | dict[str, str | dict[str, Any]]
    rows: dict[str, list[Any]] | None = None
    file: str = ""
    key: str = ""
    metric: str = ""
    unit: str = ""
    n: Whole | None = None
    setting: str = ""
    subset: str = ""

    @model_validator(mode="after")
    def _has_figures(self) -> "_PublishedTable":
        if self.rows is None and not (self.file and self.key):
            raise ValueError("no rows, or file and key of a table")
        return self


class _PublishedTables(Checked):
    windows: dict[str, str] = Field(default_factory=dict)
    tables: list[_PublishedTable] = Field(default_factory=list)


@dataclass(frozen=True)
class PublishedScore:
    benchmark: str  # e.g. ada_leval
    model: str  # the paper's name of the model; Random Guess and Expectation are not models
    # Name of a task, or of the group of all splits of a task if the score is the mean over all their cases.
    task: str
    metric: str  # name of our metric that follows the official rule
    printed: str  # the score with the paper's digits, in unit
    unit: str  # percent or points
    n: int | None  # number of cases (ELITR-Bench: questions); None if the paper does not state it
    setting: str  # a few words on how the score was measured
    subset: str  # label of the part of the task's questions in our reports; empty for all
    window: str  # context length of the model, e.g. 128k; empty if the paper does not state it.
    source: str  # paper, table and row

    @property
    def value(self) -> float:
        return float(self.printed)

    @property
    def score(self) -> float:
        """The score on the metric's own scale: percent as a share from 0 to 1, points unchanged."""
        return self.value / 100 if self.unit == "percent" else self.value


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


def parse_published(
    text: str, card: Card, place: str, read: Callable[[str], str]
) -> tuple[PublishedScore, ...]:
    """Return the scores of a YAML text; ``read`` returns the text of another data file by its name. Errors name table and row."""
    content = validated(_PublishedTables, yaml_value(text, place, remedy=_REMEDY), place)
    scores: dict[tuple[object, ...], PublishedScore] = {}
    for entry in content.tables:
        for found in _figures(entry, content.windows, card, place, read):
            # The same score may be printed in two tables, but only one of them may be entered.
            key = (found.model, found.task, found.metric, found.subset, found.n, found.setting)
            if key in scores:
                raise InputError(
                    f"{place}: {found.source}, {found.task}: a second figure of {found.metric} in the same setting; "
                    "remove one or tell them apart by their setting"
                )
            scores[key] = found
    # A misspelt model name would lose its window silently.
    if unused := set(content.windows) - {found.model for found in scores.values()}:
        raise InputError(f"{place}: windows of models without a figure: {sorted(unused)}; {_REMEDY}")
    return tuple(scores.values())


def _figures(
    entry: _PublishedTable, windows: Mapping[str, str], card: Card, place: str, read: Callable[[str], str]
) -> Iterator[PublishedScore]:
    table = f"{place}: {entry.table}"
    columns, rows = _layout(entry, table, read)
    # Columns may override these.
    shared = entry.model_dump(include={"metric", "unit", "n", "setting", "subset"}, exclude_unset=True)
    specs = [None if column is None else _column(column, shared, card, table) for column in columns]
    for model, row in rows.items():
        where = f"{table}, {model}"
        if len(row) != len(specs):
            raise InputError(f"{where}: {len(row)} figures for {len(specs)} columns; {_REMEDY}")
        for spec, printed in zip(specs, row, strict=True):
            if spec is None or printed is None:
                continue
            low, high = _RANGES[spec.unit]
            # A number without quotes has lost its last zeros.
            if not isinstance(printed, str) or not _FIGURE.fullmatch(printed):
                raise InputError(f"{where}, {spec.task}: {printed!r} is not a figure in quotes; {_REMEDY}")
            if not low <= float(printed) <= high:
                raise InputError(f"{where}, {spec.task}: {printed} lies outside {low} to {high}; {_REMEDY}")
            yield PublishedScore(
                benchmark=card.name,
                model=model,
                printed=printed,
                window=windows.get(model, ""),
                source=f"{card.title} paper ({card.paper['venue']}), {entry.table}, {model}",
                **dict(spec),
            )


def _layout(
    entry: _PublishedTable, table: str, read: Callable[[str], str]
) -> tuple[Sequence[Any], Mapping[str, list[Any]]]:
    """Return descriptions of columns (None: left out) and rows, from the entry or from the file that it names."""
    if entry.rows is not None:
        return list(entry.columns), entry.rows
    tables = yaml_value(read(entry.file), entry.file, remedy=_REMEDY)
    if entry.key not in tables:
        raise InputError(f"{table}: {entry.file} has no {entry.key}; it has {', '.join(tables)}")
    held = tables[entry.key]
    ours = dict(entry.columns) if isinstance(entry.columns, dict) else {}
    if unknown := set(ours) - set(held["columns"]):
        raise InputError(
            f"{table}: {entry.file}, {entry.key} has no columns {sorted(unknown)}; it has {held['columns']}"
        )
    return [ours.get(column) for column in held["columns"]], held["rows"]


def _column(
    column: str | Mapping[str, Any], shared: Mapping[str, Any], card: Card, table: str
) -> _PublishedColumn:
    own = {"task": column} if isinstance(column, str) else column
    spec = validated(
        _PublishedColumn, {**shared, **own}, f"{table}, {own.get('task', column)}", remedy=_REMEDY
    )
    if spec.metric not in card.metrics:
        raise InputError(
            f"{table}, {spec.task}: unknown metric {spec.metric}; the card has {', '.join(card.metrics)}"
        )
    # The group of a task with splits is not a task; its mean weighs all cases equally.
    if spec.task not in {f"{card.name}_{task}" for task, held in card.tasks.items() if held.pooled}:
        try:
            benchmark = catalogue.parse_task(spec.task).benchmark
        except InputError as error:
            raise InputError(f"{table}: {error}") from error
        if benchmark != card.name:
            raise InputError(f"{table}: {spec.task} is a task of {benchmark}, not of {card.name}")
    return spec
