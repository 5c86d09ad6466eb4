"""The page of a benchmark: its tasks, groups of tasks with all cases pooled, and what its paper printed and nobody ran here."""

import math
from collections.abc import Sequence
from typing import Any

from long_context_tasks.results.cells import Cell
from long_context_tasks.site import words
from long_context_tasks.site.leaderboard import Leaf, leaf_of
from long_context_tasks.site.rows import Names, Row, published_row, row_of, top_of
from long_context_tasks.site.shown import PublishedRow, SiteOptions


def benchmark_context(
    benchmark: str, cells: Sequence[Cell], names: Names, options: SiteOptions
) -> dict[str, Any]:
    """What the template takes.

    Args:
        benchmark: name.
        cells: of the benchmark, one or more.
        names: of files.
        options: of the site.
    """
    tasks: dict[str, set[str]] = {}
    for cell in sorted(
        cells, key=lambda one: (one.family, one.wer or -1, one.variant, one.length or 0, one.task)
    ):
        tasks.setdefault(cell.task, set()).add(cell.model)
    groups: dict[str, list[Cell]] = {}
    for cell in options.groups:
        if cell.benchmark == benchmark and cell.model in names.models:
            groups.setdefault(cell.task, []).append(cell)
    papers: dict[str, list[PublishedRow]] = {}
    for row in options.published:
        if row.benchmark == benchmark and row.task not in names.tasks:
            papers.setdefault(row.task, []).append(row)
    pooled = {
        name: _group(name, groups.get(name, []), papers.get(name, []), names, options) for name in groups
    }
    others = {
        name: [published_row(row, "model", benchmark, _top(rows)) for row in _best_first(rows)]
        for name, rows in papers.items()
        if name not in groups
    }
    return {
        "benchmark": benchmark,
        "title": options.benchmarks.get(benchmark, benchmark),
        "about": options.benchmark_about.get(benchmark, ""),
        "tasks": [
            (
                words.short_name(task, benchmark),
                f"{names.tasks[task]}.html",
                len(models),
                options.about.get(task, ""),
            )
            for task, models in tasks.items()
        ],
        "groups": [
            (
                " · ".join(
                    filter(
                        None,
                        (words.short_name(name, benchmark), words.settings_label(_shared(groups[name]))),
                    )
                ),
                rows,
                any(cell.judge for cell in groups[name]),
            )
            for name, rows in pooled.items()
        ],
        "settings": words.long_settings(cell.settings for rows in groups.values() for cell in rows),
        "others": [(words.short_name(name, benchmark), rows) for name, rows in others.items()],
        "names": names,
    }


def _group(
    name: str, cells: Sequence[Cell], papers: Sequence[PublishedRow], names: Names, options: SiteOptions
) -> list[Row]:
    tops = top_of(cells)
    ordered = sorted(
        cells,
        key=lambda cell: (not cell.ranked, -cell.mean.value if math.isfinite(cell.mean.value) else math.inf),
    )
    top = tops[leaf_of(ordered[0])] if ordered else _top(papers)
    rows = [
        row_of(
            cell,
            "model",
            names,
            options,
            tops[Leaf(name, cell.judge or "", words.settings(cell.settings))],
            _shared(cells),
        )
        for cell in ordered
    ]
    benchmark = cells[0].benchmark
    return rows + [published_row(row, "model", benchmark, top) for row in _best_first(papers)]


def _shared(cells: Sequence[Cell]) -> str:
    return words.common(words.settings(cell.settings) for cell in cells)


def _best_first(rows: Sequence[PublishedRow]) -> list[PublishedRow]:
    return sorted(rows, key=lambda row: (row.subset, row.metric, -row.value))


def _top(rows: Sequence[PublishedRow]) -> float:
    points = any(row.points for row in rows)
    return words.scale_top(max((row.value for row in rows), default=0.0), points=points)
