"""The page of a model."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from long_context_tasks.report.cells import Cell
from long_context_tasks.report.site import words
from long_context_tasks.report.site.figures import heat_figure, length_figures, line_name, wer_figures
from long_context_tasks.report.site.leaderboard import leaf_of, ordered_leaves
from long_context_tasks.report.site.pages import Names, label_tables, row_of, top_of
from long_context_tasks.report.site.provenance import shown_runs
from long_context_tasks.report.site.shown import Breakdown, SiteOptions


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
    figures += [heat_figure(each) for each in options.heat_maps if each.model == model]
    shown, configs = shown_runs(runs)
    return {
        "model": model,
        "window": words.tokens(window),
        "hosts": sorted({host for cell in cells for host in cell.hosts}),
        "newest": max((words.day(cell.made) for cell in cells), default=""),
        "tables": [
            (
                options.benchmarks.get(benchmark, benchmark),
                [
                    row_of(cell, "task", names, options, tops[leaf_of(cell)])
                    for cell in ordered
                    if cell.benchmark == benchmark
                ],
            )
            for benchmark in benchmarks
        ],
        "others": [row_of(cell, "task", names, options, tops[leaf_of(cell)]) for cell in others],
        "lengths": [each for each in options.lengths if each.model == model],
        "figures": figures,
        "labels": label_tables(
            [each for each in breakdowns if each.model == model],
            "task",
            names,
            {cell.task: cell.benchmark for cell in ordered},
        ),
        "runs": shown,
        "configs": configs,
        "settings": words.long_settings(cell.settings for cell in [*cells, *others]),
        "names": names,
    }


def _noise_name(cell: Cell) -> str:
    return line_name(cell, noise=True)
