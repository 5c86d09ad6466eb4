"""Means of a cell's turns by the labels that they carry (question type, where the answer lies, domain)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from long_context_tasks.report.cells import Cell, mean_of, turns_of_cells
from long_context_tasks.report.schema import Collection
from long_context_tasks.report.site import words
from long_context_tasks.report.site.shown import Breakdown

MOST_VALUES = 12
"""A label with more values, as an id, is none to break scores down by."""


def label_breakdowns(
    collection: Collection,
    cells: Sequence[Cell],
    orders: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Breakdown]:
    """Breakdowns of all cells by each label with 2 to :data:`MOST_VALUES` values and two turns or more a value on average.

    Measured quantities, which are no whole numbers, are none to break scores down by.

    Args:
        collection: that the cells are of.
        cells: any.
        orders: label to its values in the order to show, each with the words for it; others go by size or name.
    """
    found: list[Breakdown] = []
    for place, turns in turns_of_cells(collection, cells).items():
        found += _of_cell(cells[place], turns, orders or {})
    return found


def _of_cell(cell: Cell, turns: pl.DataFrame, orders: Mapping[str, Mapping[str, str]]) -> list[Breakdown]:
    texts = turns["labels"].cast(pl.String()).to_list()
    read = {text: _labels(text) for text in dict.fromkeys(texts) if text}
    breakdowns = []
    for name in dict.fromkeys(name for labels in read.values() for name in labels):
        values = [read[text].get(name) if text else None for text in texts]
        different = dict.fromkeys(value for value in values if value is not None)
        n = sum(value is not None for value in values)
        if not 2 <= len(different) <= MOST_VALUES or 2 * len(different) > n:
            continue
        shown = orders.get(name, {})
        place = {value: number for number, value in enumerate(shown)}
        parts = (
            turns.with_columns(pl.Series("value_of_label", values, pl.String()))
            .drop_nulls("value_of_label")
            .partition_by("value_of_label", as_dict=True)
        )
        graded = not turns["value"].drop_nulls().is_in([0.0, 1.0]).all()
        groups = [
            (shown.get(value, value), mean_of(parts[(value,)], points=cell.points, graded=graded))
            for value in sorted(different, key=lambda one: (place.get(one, len(place)), *_natural(one)))
        ]
        breakdowns.append(
            Breakdown(
                cell.model,
                cell.task,
                name,
                groups,
                cell.points,
                cell.judge or "",
                settings=words.settings(cell.settings),
            )
        )
    return breakdowns


def _labels(text: str) -> dict[str, str]:
    """The labels that are words, whole numbers, yes or no."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    return {str(name): _word(value) for name, value in held.items() if isinstance(value, str | int)}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _natural(text: str) -> tuple[float, str]:
    """Numbers by size, before words."""
    head = text.partition("–")[0]
    try:
        return (float(head), text)
    except ValueError:
        return (float("inf"), text)
