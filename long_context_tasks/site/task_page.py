"""The page of a task."""

import math
from collections.abc import Sequence
from typing import Any

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import settings_without_length
from long_context_tasks.site import words
from long_context_tasks.site.figures import (
    MOST_LINES,
    heat_figure,
    length_figures,
    moved_figures,
    plain_variant,
    position_figures,
    wer_figures,
)
from long_context_tasks.site.leaderboard import Leaf, leaf_of
from long_context_tasks.site.rows import Names, label_tables, published_row, quality_table, row_of, top_of
from long_context_tasks.site.shown import Breakdown, SiteOptions
from long_context_tasks.site.words import slug


def task_context(
    task: str,
    family: Sequence[Cell],
    others: Sequence[Cell],
    breakdowns: Sequence[Breakdown],
    names: Names,
    options: SiteOptions,
) -> dict[str, Any]:
    """What the template takes.

    Args:
        task: name.
        family: cells that lead their columns, of all tasks of the same family.
        others: further cells of the task: older versions, repeats in the same settings.
        breakdowns: of all tasks.
        names: of files.
        options: of the site.
    """
    tables: dict[Leaf, list[Cell]] = {}
    for cell in sorted((cell for cell in family if cell.task == task), key=_best_first):
        tables.setdefault(leaf_of(cell), []).append(cell)
    tables = dict(sorted(tables.items(), key=lambda item: (item[0].settings, item[0].judge)))
    own = [cell for members in tables.values() for cell in members]
    one, first = own[0], next(iter(tables))
    tops = top_of([*own, *others])
    papers = sorted((row for row in options.published if row.task == task), key=lambda row: -row.value)
    siblings = {
        cell.task: cell
        for cell in sorted(family, key=lambda cell: (cell.length or 0, cell.wer or -1, cell.task))
    }
    order = {cell.model: place for place, cell in reversed(list(enumerate(own)))}
    models = list(dict.fromkeys(cell.model for cell in own))[:MOST_LINES]
    drawn = [cell for cell in family if cell.model in models and _comparable(cell, one)]
    drawn.sort(key=lambda cell: models.index(cell.model))
    same = [cell for cell in drawn if (cell.variant or "") == (one.variant or "") and cell.wer == one.wer]
    windows = {
        f" of {model}": options.claimed_windows[model] for model in models if model in options.claimed_windows
    }
    figures = length_figures(same, _model, windows, options, "Score against length")
    figures += wer_figures(
        [cell for cell in drawn if plain_variant(cell) == plain_variant(one)],
        _model,
        options,
        "Score against noise",
    )
    figures += moved_figures([cell for cell in drawn if cell.length == one.length], _model, options)
    split = sorted(
        (each for each in breakdowns if each.task == task), key=lambda each: order.get(each.model, 0)
    )
    figures += position_figures(
        [
            each
            for each in split
            if each.model in models and (each.judge, each.settings) == (first.judge, first.settings)
        ],
        lambda each: each.model,
        options,
    )
    figures += [
        heat_figure(each, named=True)
        for each in options.heat_maps
        if each.task == task and (not each.model or each.model in models)
    ]
    return {
        "task": task,
        "about": options.about.get(task) or options.about.get(one.family, ""),
        "benchmark": options.benchmarks.get(one.benchmark, one.benchmark),
        "benchmark_file": slug(one.benchmark),
        "length": words.tokens(one.length),
        "variant": one.variant or "",
        "wer": wer if math.isfinite(wer := options.measured_wer.get(task, math.nan)) else None,
        "target_wer": one.wer,
        "chance": words.score(options.chance[task], points=one.points) if task in options.chance else "",
        "metrics": {cell.metric: options.metrics.get(cell.metric, "") for cell in own},
        "points": one.points,
        "judges": {cell.judge: options.judges.get(cell.judge, "") for cell in own if cell.judge},
        "tables": [
            (
                " · ".join(
                    filter(
                        None,
                        (
                            f"Models on {task}",
                            words.settings_label(leaf.settings),
                            leaf.judge and f"judge {leaf.judge}",
                        ),
                    )
                ),
                [
                    *[row_of(cell, "model", names, options, tops[leaf], leaf.settings) for cell in members],
                    *sorted(
                        (
                            published_row(row, "model", one.benchmark, tops[leaf], one.metric)
                            for row in papers
                            if row.points == one.points and leaf == first
                        ),
                        key=lambda row: not row.sort,  # figures that are no scores, last
                    ),
                ],
            )
            for leaf, members in tables.items()
        ],
        "others": [row_of(cell, "model", names, options, tops[leaf_of(cell)]) for cell in others],
        "siblings": [
            (words.short_name(name, cell.benchmark), f"{names.tasks[name]}.html", name == task)
            for name, cell in siblings.items()
        ],
        "figures": figures,
        "n_lines": len(models),
        "labels": label_tables(split, "model", names, {}),
        "quality": quality_table(own, "model", names),
        "settings": words.long_settings(cell.settings for cell in [*own, *others]),
        "names": names,
    }


def _best_first(cell: Cell) -> tuple[bool, float]:
    value = cell.mean.value
    return (not cell.ranked, -value if math.isfinite(value) else math.inf)


def _comparable(cell: Cell, other: Cell) -> bool:
    """Same judge, same settings but for the length."""
    one, two = ((each.judge or "", settings_without_length(each.settings)) for each in (cell, other))
    return one == two


def _model(cell: Cell) -> str:
    return cell.model
