"""The data laid out by page templates: first page, models, tasks, benchmarks, and how to submit a model."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.cells import Cell, best_first, held_settings
from long_context_tasks.results.lengths import settings_without_length
from long_context_tasks.results.models import ModelFacts, shown_name, shown_source
from long_context_tasks.results.tidy import ORDER, Collection
from long_context_tasks.schema.report import ALL_TEXT, Lines
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.site import words
from long_context_tasks.site.cases import PageNames
from long_context_tasks.site.contents import CellMap, SiteOptions
from long_context_tasks.site.figures import (
    MOST_LINES,
    heat_figure,
    length_figures,
    line_name,
    lines_figure,
    moved_figures,
    plain_variant,
    position_figures,
    wer_figures,
)
from long_context_tasks.site.tables import (
    Breakdown,
    Leaf,
    grouped,
    is_score,
    label_tables,
    leaf_of,
    ordered_leaves,
    paper_row,
    quality_table,
    rows_of,
    setting_name,
    top_of,
)

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

_BESIDE = 4
"""Number of models whose answers a case page shows side by side; ``MOST`` of case.js must agree."""
_DIGITS = 10_000_000


def index_payload(
    leading: Mapping[tuple[str, Leaf], Cell],
    names: PageNames,
    options: SiteOptions,
) -> dict[str, Any]:
    """Return the leaderboard data for index.js, small enough for 200 models x 100 tasks in one script."""
    # External texts are list values, never keys, because keys such as __proto__ are special in JavaScript.
    leaves = ordered_leaves(leading)
    groups: dict[tuple[str, ...], int] = {}
    leaf_rows = []
    for leaf, cell in leaves.items():
        key = (cell.benchmark, cell.family, cell.variant or "", leaf.judge, leaf.settings)
        group = groups.setdefault(key, len(groups))
        wer = options.measured_wer.get(cell.task, cell.wer)
        name, chance = words.short_name(leaf.task, cell.benchmark), options.chance.get(leaf.task)
        task = [leaf.task, names.tasks[leaf.task], group, cell.length, wer]
        leaf_rows.append([*task, cell.metric, int(cell.points), name, chance])
    published = _leading_published(options, leaves)
    papers = list(dict.fromkeys(paper.model for paper in published))
    hosts = sorted({host for cell in leading.values() for host in cell.hosts})
    tops = top_of(leading.values())
    models: list[list[Any]] = []
    for name, slug in names.models.items():
        known = options.models.facts.get(name)
        facts = (known.window, known.parameters, known.licence) if known else (None, "", "")
        models.append([name, slug, *facts])
    return {
        "models": models,
        "papers": papers,
        "benchmarks": [
            [name, options.benchmarks.get(name, name)] for name in dict.fromkeys(key[0] for key in groups)
        ],
        "groups": [
            [benchmark, words.short_name(family, benchmark), variant, judge, words.settings_label(settings)]
            for benchmark, family, variant, judge, settings in groups
        ],
        "leaves": leaf_rows,
        "tops": [tops[leaf] for leaf in leaves],
        "hosts": hosts,
        "cells": _cell_columns(leading, list(names.models), list(leaves), hosts),
        "published": _published_rows(published, papers, leaves, options),
    }


def _cell_columns(
    leading: Mapping[tuple[str, Leaf], Cell],
    models: Sequence[str],
    leaves: Sequence[Leaf],
    hosts: Sequence[str],
) -> list[list[int | None]]:
    """Return columns of numbers: model, leaf, mean, low, high, n, total, host bits, ranked."""
    place = {name: number for number, name in enumerate(models)}
    number_of = {leaf: number for number, leaf in enumerate(leaves)}
    bit = {host: 1 << number for number, host in enumerate(hosts)}
    rows = []
    for (model, leaf), cell in leading.items():
        mean, ran = cell.mean, sum(bit[host] for host in set(cell.hosts))
        score = (_whole(mean.value), _whole(mean.low), _whole(mean.high), mean.n, mean.total)
        rows.append((place[model], number_of[leaf], *score, ran, int(cell.ranked)))
    rows.sort()
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(9)]


def _whole(value: float) -> int | None:
    return round(value * _DIGITS) if math.isfinite(value * _DIGITS) else None


def _leading_published(options: SiteOptions, leaves: Mapping[Leaf, Cell]) -> list["PublishedScore"]:
    """Choose one published score per model and task, over all cases.

    It is the one on the headline metric, otherwise on the official metric, otherwise the first.
    """
    metrics = {leaf.task: cell.metric for leaf, cell in leaves.items()}
    # A score on part of the cases is not comparable with a column on all cases.
    papers = [paper for paper in options.published if not paper.subset and paper.task in metrics]

    def preference(paper: "PublishedScore") -> tuple[bool, bool]:
        headline = metrics[paper.task]
        return paper.metric == headline, is_score(paper, headline, options)

    best: dict[tuple[str, str], PublishedScore] = {}
    for paper in sorted(papers, key=preference, reverse=True):
        best.setdefault((paper.model, paper.task), paper)
    return [best[key] for key in dict.fromkeys((paper.model, paper.task) for paper in papers)]


def _published_rows(
    published: Sequence["PublishedScore"],
    papers: Sequence[str],
    leaves: Mapping[Leaf, Cell],
    options: SiteOptions,
) -> list[list[Any]]:
    """Return rows of model, leaf, value x :data:`_DIGITS`, n, metric and source.

    A final item is 1 if the metric is not comparable with the column's, otherwise 0.
    """
    return [
        [
            *(papers.index(paper.model), number, _whole(paper.score), paper.n, paper.metric, paper.source),
            int(not is_score(paper, cell.metric, options)),
        ]
        for number, (leaf, cell) in enumerate(leaves.items())
        for paper in published
        if paper.task == leaf.task and not leaf.settings
    ]


def model_context(
    model: str,
    cells: Sequence[Cell],
    others: Sequence[Cell],
    runs: pl.DataFrame,
    breakdowns: Sequence[Breakdown],
    names: PageNames,
    options: SiteOptions,
) -> dict[str, Any]:
    """Return the data for a model's page.

    ``cells`` are those shown on the leaderboard; ``others`` are the rest, such as older versions of a task.
    """
    ordered = list(ordered_leaves({(model, leaf_of(cell)): cell for cell in cells}).values())
    tops = top_of([*ordered, *others])
    known = options.models.facts.get(model) or ModelFacts.model_construct(name=model)  # allows an empty name
    figures, tables = [], []
    for benchmark, of_benchmark in grouped(ordered, lambda cell: cell.benchmark).items():
        title = options.benchmarks.get(benchmark, benchmark)
        windows = {"": known.window} if known.window else {}
        figures += length_figures(of_benchmark, line_name, windows, options, f"{title}: length")
        figures += wer_figures(
            of_benchmark, lambda cell: line_name(cell, noise=True), options, f"{title}: noise"
        )
        figures += moved_figures(of_benchmark, lambda cell: line_name(replace(cell, variant="")), options)
        # Settings shared by all cells are in the caption, not in the rows.
        shared = words.shared(words.settings(cell.settings) for cell in of_benchmark)
        caption = words.joined(title, words.settings_label(shared))
        tables.append((caption, rows_of(of_benchmark, "task", names, options, tops, shared)))
    split = [each for each in breakdowns if each.cell.model == model]
    figures += position_figures(split, lambda each: setting_name(each.cell, "task"), options)
    figures += [heat_figure(each) for each in options.heat_maps if each.model == model]
    return {
        "model": model,
        "known": known,
        "aliases": [alias for alias in dict.fromkeys(map(shown_name, known.aliases)) if alias != model],
        "hosts": sorted({host for cell in cells for host in cell.hosts}),
        "newest": max((words.day(cell.made) for cell in cells), default=""),
        "tables": tables,
        "others": rows_of(others, "task", names, options, tops),
        "lengths": [each for each in options.lengths if each.model == model],
        "figures": figures,
        "labels": label_tables(split, "task", options.labels),
        "quality": quality_table(ordered, "task", names, options.rates),
        **_runs_and_configs(runs),
        "settings": words.long_settings(cell.settings for cell in [*cells, *others]),
    }


def _runs_and_configs(runs: pl.DataFrame) -> dict[str, Any]:
    """Return a model's runs, and the configurations to which they refer by number, from 1.

    A configuration combines a run's metadata and settings.
    """
    configs: dict[tuple[tuple[tuple[str, str], ...], str], int] = {}
    shown = []
    for row in runs.sort(*ORDER, "made").iter_rows(named=True):
        text = {name: "" if value is None else str(value) for name, value in row.items()}
        facts = {
            "Host": f"{text['host']} {text['host_version']}".strip(),
            "Package": text["package"],
            "Commit": text["commit"],
            "Window": text["window"],
            "Judge": text["judge"],
        }
        key = tuple((name, value) for name, value in facts.items() if value), _known_settings(row)
        number = configs.setdefault(key, len(configs) + 1)
        shown.append(text | {"source": shown_source(text["source"]), "config": number})
    return {"runs": shown, "configs": configs}


def _known_settings(row: Mapping[str, Any]) -> str:
    """Return all settings of a run as indented JSON, without secrets."""
    columns = {"options": "options", "judge": "judge_settings", "provenance": "provenance"}
    values = {name: held_settings(row[column]) for name, column in columns.items()}
    # Judge settings and provenance may contain URLs with API keys.
    known = without_secrets({name: value for name, value in values.items() if value})
    return json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True)


def task_context(
    task: str,
    family: Sequence[Cell],
    others: Sequence[Cell],
    breakdowns: Sequence[Breakdown],
    names: PageNames,
    options: SiteOptions,
) -> dict[str, Any]:
    """Return the data for a task's page; ``family`` has the leaderboard's cells for the task's family."""
    tables = grouped(sorted((cell for cell in family if cell.task == task), key=best_first), leaf_of)
    tables = dict(sorted(tables.items(), key=lambda item: (item[0].settings, item[0].judge)))
    shown = [cell for members in tables.values() for cell in members]
    one, first = shown[0], next(iter(tables))
    tops = top_of([*shown, *others])
    papers = sorted(
        (each for each in options.published if each.task == task and each.points == one.points),
        key=lambda paper: -paper.score,
    )
    shown_tables = []
    for leaf, members in tables.items():
        rows = rows_of(members, "model", names, options, tops, leaf.settings)
        if leaf == first:
            figures = [paper_row(each, options, tops[leaf], one.metric) for each in papers]
            rows += sorted(
                figures, key=lambda row: not row["sort"]
            )  # scores that are not comparable come last
        caption = words.joined(f"Models on {task}", words.setting_label(leaf.settings, leaf.judge))
        shown_tables.append((caption, rows))
    models = list(dict.fromkeys(cell.model for cell in shown))[:MOST_LINES]
    # In reverse, so that each model's best row counts.
    order = {cell.model: place for place, cell in reversed(list(enumerate(shown)))}
    split = sorted(
        (each for each in breakdowns if each.cell.task == task),
        key=lambda each: order.get(each.cell.model, 0),
    )
    wer = options.measured_wer.get(task, math.nan)
    return {
        "task": task,
        "one": one,
        "wer": wer if math.isfinite(wer) else None,
        "metrics": {
            cell.metric: options.metrics.get(cell.benchmark, {}).get(cell.metric, "") for cell in shown
        },
        "judges": {cell.judge: options.judges.get(cell.judge, "") for cell in shown if cell.judge},
        "tables": shown_tables,
        "others": rows_of(others, "model", names, options, tops),
        "siblings": {
            cell.task: cell
            for cell in sorted(family, key=lambda cell: (cell.length or 0, cell.wer or -1, cell.task))
        },
        "figures": _task_figures(one, models, family, split, options),
        "n_lines": len(models),
        "side_by_side": _side_by_side(next(iter(tables.values())), names),
        "labels": label_tables(split, "model", options.labels),
        "quality": quality_table(shown, "model", names, options.rates),
        "settings": words.long_settings(cell.settings for cell in [*shown, *others]),
    }


def _side_by_side(cells: Sequence[Cell], names: PageNames) -> str:
    """Return the URL of the page with the top models' cases side by side; empty for a single model."""
    lists = [links[0][2] for cell in cells if (links := names.run_links(cell.runs))][:_BESIDE]
    return "/".join([lists[0], "0", *lists[1:]]) if len(lists) > 1 else ""


def _task_figures(
    shown: Cell,
    models: Sequence[str],
    family: Sequence[Cell],
    split: Sequence[Breakdown],
    options: SiteOptions,
) -> list[Any]:
    """Return plots for the top models, drawn only from cells comparable with the first table."""

    def setting(cell: Cell) -> tuple[str, str]:
        return cell.judge or "", settings_without_length(cell.settings)

    def model(cell: Cell) -> str:
        return cell.model

    drawn = [cell for cell in family if cell.model in models and setting(cell) == setting(shown)]
    drawn.sort(key=lambda cell: models.index(cell.model))
    same = [cell for cell in drawn if (cell.variant or "") == (shown.variant or "") and cell.wer == shown.wer]
    noisy = [cell for cell in drawn if plain_variant(cell) == plain_variant(shown)]
    moved = [cell for cell in drawn if cell.length == shown.length]
    placed = [each for each in split if each.cell.model in models and leaf_of(each.cell) == leaf_of(shown)]
    known = options.models.windows
    windows = {name: known[name] for name in models if name in known}
    maps = [each for each in options.heat_maps if shown.task in each.tasks]
    return [
        *length_figures(same, model, windows, options, "Score against length"),
        *wer_figures(noisy, model, options, "Score against noise"),
        *moved_figures(moved, model, options),
        *position_figures(placed, lambda each: each.cell.model, options),
        *(heat_figure(each, named=True) for each in maps if not each.model or each.model in models),
    ]


def benchmark_context(
    benchmark: str, cells: Sequence[Cell], names: PageNames, options: SiteOptions
) -> dict[str, Any]:
    """Return the data for a benchmark's page; heat maps that the benchmark offers are on model and task pages."""
    in_order = sorted(cells, key=attrgetter("place"))
    groups = grouped(
        (cell for cell in options.groups if cell.benchmark == benchmark and cell.model in names.models),
        lambda cell: cell.task,
    )
    papers = grouped(
        (each for each in options.published if each.benchmark == benchmark), lambda paper: paper.task
    )
    for scores in papers.values():
        scores.sort(key=lambda paper: (paper.subset, paper.metric, -paper.score))
    shown_groups = []
    for name, members in groups.items():
        shared = words.shared(words.settings(cell.settings) for cell in members)
        tops, ordered = top_of(members), sorted(members, key=best_first)
        rows = rows_of(ordered, "model", names, options, tops, shared)
        rows += [paper_row(paper, options, tops[leaf_of(ordered[0])]) for paper in papers.get(name, [])]
        caption = words.joined(words.short_name(name, benchmark), words.settings_label(shared))
        shown_groups.append((caption, rows))
    published = []
    for name, scores in papers.items():
        points = any(paper.points for paper in scores)
        top = words.scale_top(max(paper.score for paper in scores), points=points)
        shown, page = words.short_name(name, benchmark), names.tasks.get(name, "")
        published += [paper_row(paper, options, top) | {"task": shown, "page": page} for paper in scores]
    sections = options.sections.get(benchmark, ())
    figures = (figure for section in sections for figure in section.figures)
    return {
        "benchmark": benchmark,
        "title": options.benchmarks.get(benchmark, benchmark),
        "tasks": {
            task: {cell.model for cell in members}
            for task, members in grouped(in_order, lambda cell: cell.task).items()
        },
        "groups": shown_groups,
        "settings": words.long_settings(cell.settings for rows in groups.values() for cell in rows),
        "published": published,
        "sections": sections,
        "figures": [
            lines_figure(figure) if isinstance(figure, Lines) else heat_figure(CellMap("", (), figure))
            for figure in figures
            # Otherwise its maps are on the pages of models and tasks.
            if isinstance(figure, Lines) or not catalogue.benchmark(benchmark).has_heat_maps
        ],
        "all_text": ALL_TEXT,
    }


def submit_columns(leading: Iterable[Cell], collection: Collection) -> list[dict[str, Any]]:
    """Return the task, options and cases behind each column of our tasks, and whether one of its scores is ranked."""
    # Hosts' own tasks have no names or options of ours to run them by.
    ours = [cell for cell in leading if cell.benchmark not in catalogue.READ_ONLY]
    ours.sort(key=lambda cell: (*cell.place, cell.settings, cell.n_available))
    provenance = dict(collection.runs.select("run", "provenance").iter_rows())
    rows = []
    for (task, settings, n), cells in grouped(ours, attrgetter("task", "settings", "n_available")).items():
        held = held_settings(settings)
        # Generation arguments are given to the host, not to the task.
        given = {key: value for key, value in held.items() if key.startswith("lct_")}
        first = held.pop("lct_n", n)
        part = f"first {first} of " if isinstance(first, int) and first < n else ""
        facts = [held_settings(provenance[run]) for cell in cells for run in cell.runs]
        # Hosts write this key for built cases only.
        hashes = sorted({str(each.get("cases_sha256") or "") for each in facts} - {""})
        known = "cases_sha256 " * bool(hashes) + ", ".join(hashes)
        count = f"{part}{n} case{'s' if n != 1 else ''}"
        text = words.joined(words.settings(json.dumps(held)), known, count)
        options = json.dumps(given) if given else ""
        ranked = any(cell.ranked for cell in cells)
        rows.append({"task": task, "text": text, "options": options, "ranked": ranked})
    return rows
