"""The leaderboard's own data: small enough that 200 models x 100 tasks come in one script."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.results.cells import Cell
from long_context_tasks.site import words
from long_context_tasks.site.shown import PublishedRow, SiteOptions

_DIGITS = 10_000
_OFFICIAL = "official_"
"""How metrics that follow the official code's rule begin."""


@dataclass(frozen=True)
class Leaf:
    """A column of the leaderboard: cells that may be compared with one another.

    Attributes:
        task: name.
        judge: empty where none scored.
        settings: that differ from the defaults, in words; empty where none does.
    """

    task: str
    judge: str
    settings: str = ""


def is_score_of(metric: str, headline: str) -> bool:
    """Whether a published figure by this metric may stand among the scores of a table: by its headline, or by the official rule.

    >>> is_score_of("official_accuracy", "strict_accuracy"), is_score_of("copy_instruction", "strict_accuracy")
    (True, False)
    """
    return metric == headline or metric.startswith(_OFFICIAL)


def leaf_of(cell: Cell) -> Leaf:
    """The column of a cell."""
    return Leaf(cell.task, cell.judge or "", words.settings(cell.settings))


def leading_cells(cells: Iterable[Cell]) -> tuple[dict[tuple[str, Leaf], Cell], list[Cell]]:
    """Of several cells of a model in a column the one to lead with, and the others.

    The highest version of the task leads, then a cell that is ranked, then the newest. What differs from another cell in its judge or
    settings is in a column of its own.
    """
    first: dict[tuple[str, Leaf], Cell] = {}
    others: list[Cell] = []
    for cell in cells:
        key = (cell.model, leaf_of(cell))
        held = first.get(key)
        if held is None or _lead(cell) > _lead(held):
            first[key] = cell
            if held is not None:
                others.append(held)
        else:
            others.append(cell)
    return first, others


def _lead(cell: Cell) -> tuple[int, bool, str]:
    return (cell.version if cell.version is not None else -1, cell.ranked, words.moment(cell.made))


def ordered_leaves(leading: Mapping[tuple[str, Leaf], Cell]) -> dict[Leaf, Cell]:
    """Columns in reading order, each with a cell that knows its task: benchmark, family, plain before variants, length."""
    any_cell: dict[Leaf, Cell] = {}
    for (_, leaf), cell in leading.items():
        any_cell.setdefault(leaf, cell)

    def place(leaf: Leaf) -> tuple[Any, ...]:
        cell = any_cell[leaf]
        wer = -1 if cell.wer is None else cell.wer
        return (
            cell.benchmark,
            cell.family,
            wer,
            cell.variant or "",
            leaf.judge,
            leaf.settings,
            cell.length or 0,
            leaf.task,
        )

    return {leaf: any_cell[leaf] for leaf in sorted(any_cell, key=place)}


def index_payload(
    leading: Mapping[tuple[str, Leaf], Cell],
    models: Mapping[str, str],
    tasks: Mapping[str, str],
    options: SiteOptions,
) -> dict[str, Any]:
    """What index.js takes; texts of others stand in lists only.

    Args:
        leading: model and column to its cell.
        models: to their slugs, those with cells.
        tasks: to their slugs.
        options: of the site.
    """
    leaves = ordered_leaves(leading)
    numbers = {leaf: number for number, leaf in enumerate(leaves)}
    groups: dict[tuple[str, ...], int] = {}
    leaf_rows = []
    for leaf, cell in leaves.items():
        key = (cell.benchmark, cell.family, cell.variant or "", leaf.judge, leaf.settings)
        group = groups.setdefault(key, len(groups))
        leaf_rows.append(
            [
                leaf.task,
                tasks[leaf.task],
                group,
                cell.length,
                _wer(cell, options),
                cell.metric,
                int(cell.points),
                words.short_name(leaf.task, cell.benchmark),
                options.chance.get(leaf.task),
            ]
        )
    papers = list(dict.fromkeys(row.model for row in _leading_published(options.published, leaves)))
    hosts = sorted({host for cell in leading.values() for host in cell.hosts})
    return {
        "models": [[name, slug, options.claimed_windows.get(name)] for name, slug in models.items()],
        "papers": papers,
        "benchmarks": [
            [name, options.benchmarks.get(name, name)] for name in dict.fromkeys(key[0] for key in groups)
        ],
        "groups": [
            [benchmark, words.short_name(family, benchmark), variant, judge, words.settings_label(settings)]
            for benchmark, family, variant, judge, settings in groups
        ],
        "leaves": leaf_rows,
        "tops": _tops(leading, numbers),
        "hosts": hosts,
        "cells": _cell_columns(leading, list(models), numbers, hosts),
        "published": _published_columns(options.published, papers, leaves),
    }


def _wer(cell: Cell, options: SiteOptions) -> float | None:
    """Measured where that is known, else the target."""
    return options.measured_wer.get(cell.task, cell.wer)


def _tops(leading: Mapping[tuple[str, Leaf], Cell], numbers: Mapping[Leaf, int]) -> list[float]:
    highest = [0.0] * len(numbers)
    points = [False] * len(numbers)
    for (_, leaf), cell in leading.items():
        number = numbers[leaf]
        points[number] = cell.points
        for end in (cell.mean.high, cell.mean.value):
            if math.isfinite(end):
                highest[number] = max(highest[number], end)
    return [words.scale_top(high, points=is_points) for high, is_points in zip(highest, points, strict=True)]


def _cell_columns(
    leading: Mapping[tuple[str, Leaf], Cell],
    models: Sequence[str],
    numbers: Mapping[Leaf, int],
    hosts: Sequence[str],
) -> list[list[int | None]]:
    """Columns of numbers: model, leaf, mean, low, high (each x 10,000), n, total, bits of hosts, ranked."""
    place = {name: number for number, name in enumerate(models)}
    bit = {host: 1 << number for number, host in enumerate(hosts)}
    rows = [
        (
            place[model],
            numbers[leaf],
            _whole(cell.mean.value),
            _whole(cell.mean.low),
            _whole(cell.mean.high),
            cell.mean.n,
            cell.mean.total,
            sum(bit[host] for host in set(cell.hosts)),
            int(cell.ranked),
        )
        for (model, leaf), cell in leading.items()
    ]
    rows.sort()
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(9)]


def _whole(value: float) -> int | None:
    return round(value * _DIGITS) if math.isfinite(value * _DIGITS) else None


def _leading_published(rows: Iterable[PublishedRow], leaves: Mapping[Leaf, Cell]) -> list[PublishedRow]:
    """One figure for each model and task: of all its cases, by the headline, else by the official rule, else by the first metric."""
    metrics = {leaf.task: cell.metric for leaf, cell in leaves.items()}
    found: dict[tuple[str, str], PublishedRow] = {}

    def place(row: PublishedRow) -> tuple[bool, bool]:
        return row.metric == metrics[row.task], is_score_of(row.metric, metrics[row.task])

    for row in rows:
        if row.subset or row.task not in metrics:
            continue
        key = (row.model, row.task)
        held = found.get(key)
        if held is None or place(row) > place(held):
            found[key] = row
    return list(found.values())


def _published_columns(
    rows: Iterable[PublishedRow], papers: Sequence[str], leaves: Mapping[Leaf, Cell]
) -> list[list[Any]]:
    """Rows of model, leaf, value x 10,000, n, metric, source, and whether the metric makes it no score of the column."""
    place = {name: number for number, name in enumerate(papers)}
    leading = _leading_published(rows, leaves)
    return [
        [
            place[row.model],
            number,
            _whole(row.value),
            row.n,
            row.metric,
            row.source,
            int(not is_score_of(row.metric, cell.metric)),
        ]
        for number, (leaf, cell) in enumerate(leaves.items())
        for row in leading
        if row.task == leaf.task and not leaf.settings
    ]
