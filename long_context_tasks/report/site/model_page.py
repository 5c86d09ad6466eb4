"""The page of a model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from long_context_tasks.report.cells import Cell
from long_context_tasks.report.site import words
from long_context_tasks.report.site.figures import (
    heat_figure,
    length_figures,
    line_name,
    moved_figures,
    position_figures,
    wer_figures,
)
from long_context_tasks.report.site.leaderboard import leaf_of, ordered_leaves
from long_context_tasks.report.site.pages import Names, Row, label_tables, row_of, top_of
from long_context_tasks.report.site.provenance import shown_runs
from long_context_tasks.report.site.quality import quality_table
from long_context_tasks.report.site.shown import Breakdown, ModelNote, SiteOptions


def model_context(
    model: str,
    cells: Sequence[Cell],
    others: Sequence[Cell],
    runs: pl.DataFrame,
    breakdowns: Sequence[Breakdown],
    names: Names,
    options: SiteOptions,
) -> dict[str, Any]:
    """What the template takes.

    Args:
        model: name.
        cells: of the model that lead their columns.
        others: further cells of the model: older versions of a task, other settings.
        runs: of the model.
        breakdowns: of all models.
        names: of files.
        options: of the site.
    """
    order = ordered_leaves({(model, leaf_of(cell)): cell for cell in cells})
    ordered = list(order.values())
    tops = top_of([*ordered, *others])
    benchmarks = list(dict.fromkeys(cell.benchmark for cell in ordered))
    window = options.claimed_windows.get(model)
    windows = {"": window} if window else {}
    figures = []
    for benchmark in benchmarks:
        own = [cell for cell in ordered if cell.benchmark == benchmark]
        title = options.benchmarks.get(benchmark, benchmark)
        figures += length_figures(own, line_name, windows, options, f"{title}: length")
        figures += wer_figures(own, _noise_name, options, f"{title}: noise")
        figures += moved_figures(own, _moved_name, options)
    split = [each for each in breakdowns if each.model == model]
    of_benchmark = {cell.task: cell.benchmark for cell in ordered}
    figures += position_figures(
        split, lambda each: _split_name(each, of_benchmark.get(each.task, "")), options
    )
    figures += [heat_figure(each) for each in options.heat_maps if each.model == model]
    shown, configs = shown_runs(runs)
    return {
        "model": model,
        "window": words.tokens(window),
        "about": options.models.get(model, ModelNote()),
        "hosts": sorted({host for cell in cells for host in cell.hosts}),
        "newest": max((words.day(cell.made) for cell in cells), default=""),
        "tables": [
            _table(
                options.benchmarks.get(benchmark, benchmark),
                [cell for cell in ordered if cell.benchmark == benchmark],
                lambda cell, shared: row_of(cell, "task", names, options, tops[leaf_of(cell)], shared),
            )
            for benchmark in benchmarks
        ],
        "others": [row_of(cell, "task", names, options, tops[leaf_of(cell)]) for cell in others],
        "lengths": [each for each in options.lengths if each.model == model],
        "figures": figures,
        "labels": label_tables(
            split,
            "task",
            names,
            of_benchmark,
        ),
        "quality": quality_table(ordered, "task", names),
        "runs": shown,
        "configs": configs,
        "settings": words.long_settings(cell.settings for cell in [*cells, *others]),
        "names": names,
    }


def _table(title: str, cells: Sequence[Cell], row: Callable[[Cell, str], Row]) -> tuple[str, list[Row]]:
    """Caption and rows; settings that all cells have stand in the caption."""
    shared = words.common(words.settings(cell.settings) for cell in cells)
    caption = " · ".join(filter(None, (title, words.settings_label(shared))))
    return caption, [row(cell, shared) for cell in cells]


def _noise_name(cell: Cell) -> str:
    return line_name(cell, noise=True)


def _moved_name(cell: Cell) -> str:
    return line_name(replace(cell, variant=""))


def _split_name(each: Breakdown, benchmark: str) -> str:
    parts = (
        words.short_name(each.task, benchmark),
        words.settings_label(each.settings),
        each.judge and f"judge {each.judge}",
    )
    return " · ".join(part for part in parts if part)
