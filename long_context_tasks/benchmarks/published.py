"""Figures that the papers print for the models that their authors ran: shown beside own runs, marked as not run here.

A benchmark's ``published.yaml`` holds the figures in the layout of the paper's tables, digit by digit as printed::

    windows: {Claude-2: 100k}                    # context length of a model, where the paper states it
    tables:
      - table: Table 2
        metric: official_accuracy                # unit, n, setting, subset: the same for all columns, or given by a column
        unit: percent
        columns: [ada_leval_tsort_2k, {task: ada_leval_tsort_4k, n: 200}]
        rows:
          Claude-2: ["5.0", null]                # null: the paper has no figure

In place of ``rows`` an entry may name a data file of the same folder and a table in it (``file``, ``key``) that has ``columns``
and ``rows`` of the same kind; its own ``columns`` then maps that table's columns to ours, and leaves out those it does not name.
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
"""Unit to the least and the greatest figure."""
_FIGURE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_REMEDY = "correct it against the paper"


class _Column(Checked):
    task: str
    metric: str
    unit: Literal["percent", "points"]
    n: Whole | None = None
    setting: str = ""
    subset: str = ""


class _Entry(Checked):
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
    def _has_figures(self) -> "_Entry":
        if self.rows is None and not (self.file and self.key):
            raise ValueError("no rows, or file and key of a table")
        return self


class _File(Checked):
    windows: dict[str, str] = Field(default_factory=dict)
    tables: list[_Entry] = Field(default_factory=list)


@dataclass(frozen=True)
class PublishedScore:
    """One figure of a paper.

    Attributes:
        benchmark: e.g. ``ada_leval``.
        model: as the paper names it; ``Random Guess`` and ``Expectation`` are no models.
        task: name of a task, or of the group of all splits of a task where the figure is the mean over all their cases.
        metric: name of our metric that follows the official rule.
        printed: the figure to the digit, in ``unit``.
        unit: percent or points.
        n: cases (ELITR-Bench: questions) of the figure; None where the paper does not say.
        setting: how it was measured, in a few words.
        subset: part of the task's questions that the figure is about, by its label in our reports; empty for all.
        window: context length of the model as the paper states it, e.g. ``128k``; empty where it does not.
        source: paper, table and row.
    """

    benchmark: str
    model: str
    task: str
    metric: str
    printed: str
    unit: str
    n: int | None
    setting: str
    subset: str
    window: str
    source: str

    @property
    def value(self) -> float:
        """The figure in its unit."""
        return float(self.printed)

    @property
    def score(self) -> float:
        """The figure on the metric's own scale: percent as a share from 0 to 1, points as they are."""
        return self.value / 100 if self.unit == "percent" else self.value


@lru_cache
def published(benchmark: str) -> tuple[PublishedScore, ...]:
    """Return all figures of a benchmark's paper, in the order of its tables; none where the benchmark has no such file.

    Raises:
        InputError: no such benchmark, or its file has a mistake.
    """
    if benchmark not in catalogue.benchmark_names():
        raise InputError(f"unknown benchmark {benchmark}; there are {', '.join(catalogue.benchmark_names())}")
    folder = catalogue.benchmark(benchmark).folder
    if not (folder / FILE).is_file():
        return ()
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
    return parse_published(texts[FILE], catalogue.card(benchmark), f"{benchmark}/{FILE}", texts.__getitem__)


def parse_published(
    text: str, card: Card, place: str, read: Callable[[str], str]
) -> tuple[PublishedScore, ...]:
    """Return the figures of a YAML text; ``read`` gives the text of another data file by its name.

    Raises:
        InputError: a key, task, metric, unit or figure that cannot be, a row of another length than the columns, or a figure
            given twice; table and row are named.
    """
    content = validated(_File, yaml_value(text, place, remedy=_REMEDY), place)
    scores: dict[tuple[object, ...], PublishedScore] = {}
    for entry in content.tables:
        for found in _figures(entry, content.windows, card, place, read):
            key = (found.model, found.task, found.metric, found.subset, found.n, found.setting)
            if key in scores:
                raise InputError(
                    f"{place}: {found.source}, {found.task}: a second figure of {found.metric} in the same setting; "
                    "remove one or tell them apart by their setting"
                )
            scores[key] = found
    if unused := set(content.windows) - {found.model for found in scores.values()}:
        raise InputError(f"{place}: windows of models without a figure: {sorted(unused)}; {_REMEDY}")
    return tuple(scores.values())


def _figures(
    entry: _Entry, windows: Mapping[str, str], card: Card, place: str, read: Callable[[str], str]
) -> Iterator[PublishedScore]:
    table = f"{place}: {entry.table}"
    columns, rows = _layout(entry, table, read)
    # What holds for all columns that do not say it themselves.
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
                raise InputError(f"{where}, {spec.task}: {printed!r} is no figure in quotes; {_REMEDY}")
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
    entry: _Entry, table: str, read: Callable[[str], str]
) -> tuple[Sequence[Any], Mapping[str, list[Any]]]:
    """Return columns as they are described (None: left out) and rows, from the entry or from the file that it names."""
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


def _column(column: str | Mapping[str, Any], shared: Mapping[str, Any], card: Card, table: str) -> _Column:
    own = {"task": column} if isinstance(column, str) else column
    spec = validated(_Column, {**shared, **own}, f"{table}, {own.get('task', column)}", remedy=_REMEDY)
    if spec.metric not in card.metrics:
        raise InputError(
            f"{table}, {spec.task}: unknown metric {spec.metric}; the card has {', '.join(card.metrics)}"
        )
    # Or the group of a task whose mean counts every case the same.
    if spec.task not in {f"{card.name}_{task}" for task, held in card.tasks.items() if held.pooled}:
        try:
            benchmark = catalogue.parse_task(spec.task).benchmark
        except InputError as error:
            raise InputError(f"{table}: {error}") from error
        if benchmark != card.name:
            raise InputError(f"{table}: {spec.task} is a task of {benchmark}, not of {card.name}")
    return spec
