"""What the papers print for the models that their authors ran: to be shown beside runs of one's own, marked as not run here.

A benchmark's ``published.yaml`` holds the figures in the layout of the paper's tables, digit by digit as printed::

    windows: {Claude-2: 100k}                    # context length of a model, where the paper tells
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

import importlib.resources
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Card

FILE = "published.yaml"
UNITS: Mapping[str, tuple[float, float]] = {"percent": (0, 100), "points": (1, 10)}
"""Unit to the least and the greatest figure."""
_SHARED = ("metric", "unit", "n", "setting", "subset")
_ENTRY = {"table", "columns", "rows", "file", "key", *_SHARED}
_FIGURE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_REMEDY = "correct it against the paper"


@dataclass(frozen=True)
class PublishedScore:
    """One figure of a paper.

    Attributes:
        benchmark: e.g. ``ada_leval``.
        model: as the paper names it; ``Random Guess`` and ``Expectation`` are no models.
        task: name of a task, or of the group of all splits of a task where the figure is the mean over all their cases.
        metric: name of the metric of ours that follows the official rule.
        printed: the figure to the digit, in ``unit``.
        unit: percent or points.
        n: cases (ELITR-Bench: questions) of the figure; None where the paper does not say.
        setting: how it was measured, in a few words.
        subset: part of the task's questions that the figure is about, by its label in our reports; empty for all.
        window: context length of the model as the paper tells it, e.g. ``128k``; empty where it does not.
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
    """All figures of a benchmark's paper, in the order of its tables; none where the benchmark has no such file.

    Raises:
        InputError: no such benchmark, or its file has a mistake.
    """
    if benchmark not in catalogue.benchmark_names():
        raise InputError(f"unknown benchmark {benchmark}; there are {', '.join(catalogue.benchmark_names())}")
    folder = importlib.resources.files(f"{catalogue.PACKAGE}.{benchmark}")
    if not (folder / FILE).is_file():
        return ()

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    return parse_published(read(FILE), catalogue.card(benchmark), f"{benchmark}/{FILE}", read)


def parse_published(
    text: str, card: Card, place: str, read: Callable[[str], str]
) -> tuple[PublishedScore, ...]:
    """Figures from YAML text.

    Args:
        text: of the file.
        card: of the benchmark that it belongs to.
        place: name of the file, for messages.
        read: text of another data file, by its name.

    Raises:
        InputError: a key, task, metric, unit or figure that cannot be, a row of another length than the columns, or a figure
            given twice; table and row are named.
    """
    content = yaml.safe_load(text)
    _check_keys(content, {"windows", "tables"}, place)
    windows: Mapping[str, str] = content.get("windows", {})
    scores: list[PublishedScore] = []
    seen: set[tuple[object, ...]] = set()
    for entry in content.get("tables", ()):
        for found in _figures(entry, windows, card, place, read):
            key = (found.model, found.task, found.metric, found.subset, found.n, found.setting)
            if key in seen:
                raise InputError(
                    f"{place}: {found.source}, {found.task}: a second figure of {found.metric} in the same setting; "
                    "remove one or tell them apart by their setting"
                )
            seen.add(key)
            scores.append(found)
    if unused := set(windows) - {found.model for found in scores}:
        raise InputError(f"{place}: windows of models without a figure: {sorted(unused)}; {_REMEDY}")
    return tuple(scores)


def _figures(
    entry: Mapping[str, Any],
    windows: Mapping[str, str],
    card: Card,
    place: str,
    read: Callable[[str], str],
) -> Iterator[PublishedScore]:
    """The figures of one entry of ``tables``."""
    _check_keys(entry, _ENTRY, place)
    table = f"{place}: {entry.get('table')}"
    if missing := {"table", "columns", *(("file", "key") if "file" in entry else ("rows",))} - set(entry):
        raise InputError(f"{table}: no {', '.join(sorted(missing))}")
    common = {name: entry[name] for name in _SHARED if name in entry}
    columns, rows = _layout(entry, table, read)
    specs = [None if column is None else _column(column, common, card, table) for column in columns]
    for model, row in rows.items():
        where = f"{table}, {model}"
        if len(row) != len(specs):
            raise InputError(f"{where}: {len(row)} figures for {len(specs)} columns; {_REMEDY}")
        for spec, printed in zip(specs, row, strict=True):
            if spec is None or printed is None:
                continue
            low, high = UNITS[spec["unit"]]
            # A number without quotes has lost its last zeros.
            if not isinstance(printed, str) or not _FIGURE.fullmatch(printed):
                raise InputError(f"{where}, {spec['task']}: {printed!r} is no figure in quotes; {_REMEDY}")
            if not low <= float(printed) <= high:
                raise InputError(
                    f"{where}, {spec['task']}: {printed} lies outside {low} to {high}; {_REMEDY}"
                )
            yield PublishedScore(
                benchmark=card.name,
                model=model,
                printed=printed,
                window=windows.get(model, ""),
                source=f"{card.title} paper ({card.paper['venue']}), {entry['table']}, {model}",
                **spec,
            )


def _layout(
    entry: Mapping[str, Any], table: str, read: Callable[[str], str]
) -> tuple[list[Any], Mapping[str, list[str | None]]]:
    """Columns as they are described (None: left out) and rows, from the entry or from the file that it names."""
    if "file" not in entry:
        return list(entry["columns"]), entry["rows"]
    tables = yaml.safe_load(read(entry["file"]))
    if entry["key"] not in tables:
        raise InputError(f"{table}: {entry['file']} has no {entry['key']}; it has {', '.join(tables)}")
    held = tables[entry["key"]]
    ours: Mapping[str, Any] = entry["columns"]
    if unknown := set(ours) - set(held["columns"]):
        raise InputError(
            f"{table}: {entry['file']}, {entry['key']} has no columns {sorted(unknown)}; it has {held['columns']}"
        )
    return [ours.get(column) for column in held["columns"]], held["rows"]


def _column(
    column: str | Mapping[str, Any], common: Mapping[str, Any], card: Card, table: str
) -> dict[str, Any]:
    """Fields of a figure that its column gives, checked."""
    own = {"task": column} if isinstance(column, str) else column
    _check_keys(own, {"task", *_SHARED}, table)
    spec = {"n": None, "setting": "", "subset": "", **common, **own}
    if missing := {"task", "metric", "unit"} - set(spec):
        raise InputError(f"{table}, column {column}: no {', '.join(sorted(missing))}")
    if spec["metric"] not in card.metrics:
        raise InputError(
            f"{table}, {spec['task']}: unknown metric {spec['metric']}; the card has {', '.join(card.metrics)}"
        )
    if spec["unit"] not in UNITS:
        raise InputError(
            f"{table}, {spec['task']}: unknown unit {spec['unit']}; there are {', '.join(UNITS)}"
        )
    _check_task(spec["task"], card, table)
    return spec


def _check_task(name: str, card: Card, table: str) -> None:
    """The name is a task's, or that of a group whose mean counts every case the same."""
    if name in {f"{card.name}_{task}" for task, task_card in card.tasks.items() if task_card.pooled}:
        return
    try:
        spec = catalogue.parse_task(name)
    except InputError as error:
        raise InputError(f"{table}: {error}") from error
    if spec.benchmark != card.name:
        raise InputError(f"{table}: {name} is a task of {spec.benchmark}, not of {card.name}")


def _check_keys(row: Mapping[str, Any], known: set[str], place: str) -> None:
    if unknown := set(row) - known:
        raise InputError(f"{place}: unknown keys {sorted(unknown)}; there are {', '.join(sorted(known))}")
