"""The pages of models, tasks and benchmarks: the data that their templates lay out."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl

from long_context_tasks.results.cells import Cell, HostsApart, held_settings
from long_context_tasks.results.lengths import FamilyLength, settings_without_length
from long_context_tasks.results.models import ModelFacts, shown_name, shown_source
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.report import ALL_TEXT, Lines
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.site import words
from long_context_tasks.site.cases import Names
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
from long_context_tasks.site.leaderboard import Leaf, is_score, leaf_of, ordered_leaves, top_of
from long_context_tasks.site.shown import Breakdown, SiteOptions
from long_context_tasks.stats import Mean

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

About = Literal["model", "task"]
"""What rows are about: models on a task's page, tasks on a model's page."""
_BESIDE = 4
"""Models whose answers are side by side on the page of cases; see ``MOST`` of case.js."""
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


def submit_columns(leading: Iterable[Cell]) -> list[dict[str, str]]:
    """Return for each column of the board its task, what else a run in it shares, and the options that give this, as JSON or empty."""
    rows = []
    for task, settings, n in sorted({(cell.task, cell.settings, cell.n_available) for cell in leading}):
        # Built cases lie in a folder of whoever ran them.
        own = {
            key: value
            for key, value in held_settings(settings).items()
            if key.startswith("lct_") and key != "lct_cases"
        }
        text = words.joined(words.settings(settings), f"{n} case{'s' if n != 1 else ''}")
        rows.append({"task": task, "text": text, "options": json.dumps(own) if own else ""})
    return rows


def model_context(
    model: str,
    cells: Sequence[Cell],
    others: Sequence[Cell],
    runs: pl.DataFrame,
    breakdowns: Sequence[Breakdown],
    names: Names,
    options: SiteOptions,
) -> dict[str, Any]:
    """Return what the template of a model's page takes.

    ``cells`` lead their columns; ``others`` are older versions of a task and repeats in other settings.
    """
    ordered = list(ordered_leaves({(model, leaf_of(cell)): cell for cell in cells}).values())
    tops = top_of([*ordered, *others])
    known = options.models.facts.get(model) or ModelFacts.model_construct(name=model)  # a name may be empty
    figures, tables = [], []
    for benchmark, own in grouped(ordered, lambda cell: cell.benchmark).items():
        title = options.benchmarks.get(benchmark, benchmark)
        windows = {"": known.window} if known.window else {}
        figures += length_figures(own, line_name, windows, options, f"{title}: length")
        figures += wer_figures(own, lambda cell: line_name(cell, noise=True), options, f"{title}: noise")
        figures += moved_figures(own, lambda cell: line_name(replace(cell, variant="")), options)
        # Settings that all cells have are in the caption.
        shared = words.shared(words.settings(cell.settings) for cell in own)
        caption = words.joined(title, words.settings_label(shared))
        tables.append((caption, rows_of(own, "task", names, options, tops, shared)))
    split = [each for each in breakdowns if each.cell.model == model]
    figures += position_figures(split, lambda each: _setting_name(each.cell, "task"), options)
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
        "labels": label_tables(split, "task", options.label_titles),
        "quality": quality_table(ordered, "task", names, options.rates),
        **_runs_and_configs(runs),
        "settings": words.long_settings(cell.settings for cell in [*cells, *others]),
    }


def _runs_and_configs(runs: pl.DataFrame) -> dict[str, Any]:
    """Runs of a model, and how they were made: facts and settings with the numbers of their configurations, from 1."""
    configs: dict[tuple[tuple[tuple[str, str], ...], str], int] = {}
    shown = []
    for row in runs.sort("task", "made").iter_rows(named=True):
        text = {name: "" if value is None else str(value) for name, value in row.items()}
        settings = _known_settings(row["options"], row["judge_settings"], row["provenance"])
        facts = {
            "Host": f"{text['host']} {text['host_version']}".strip(),
            "Package": text["package"],
            "Commit": text["commit"],
            "Window": text["window"],
            "Judge": text["judge"],
        }
        key = tuple((name, value) for name, value in facts.items() if value), settings
        number = configs.setdefault(key, len(configs) + 1)
        shown.append(text | {"source": shown_source(text["source"]), "config": number})
    return {"runs": shown, "configs": configs}


@lru_cache(maxsize=1_000)
def _known_settings(options: str | None, judge: str | None, provenance: str | None) -> str:
    """All settings of a run as JSON for people, without secrets."""
    texts = {"options": options, "judge": judge, "provenance": provenance}
    values = {name: _public_json(text) for name, text in texts.items() if text}
    kept = {name: value for name, value in values.items() if value}
    return json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True)


def _public_json(text: str) -> Any:
    """The value of a JSON text, without secrets; what is wrong where it is no JSON."""
    try:
        return without_secrets(loads(text))
    except ValueError as error:
        return f"(not JSON: {error})"


def task_context(
    task: str,
    family: Sequence[Cell],
    others: Sequence[Cell],
    breakdowns: Sequence[Breakdown],
    names: Names,
    options: SiteOptions,
) -> dict[str, Any]:
    """Return what the template of a task's page takes.

    ``family`` has the cells that lead their columns, of all tasks of the family; ``others`` are older versions and repeats in other
    settings.
    """
    tables = grouped(sorted((cell for cell in family if cell.task == task), key=_best_first), leaf_of)
    tables = dict(sorted(tables.items(), key=lambda item: (item[0].settings, item[0].judge)))
    own = [cell for members in tables.values() for cell in members]
    one, first = own[0], next(iter(tables))
    tops = top_of([*own, *others])
    papers = sorted(
        (each for each in options.published if each.task == task and (each.unit == "points") == one.points),
        key=lambda paper: -paper.score,
    )
    shown_tables = []
    for leaf, members in tables.items():
        rows = rows_of(members, "model", names, options, tops, leaf.settings)
        if leaf == first:
            figures = [paper_row(each, options, tops[leaf], one.metric) for each in papers]
            rows += sorted(figures, key=lambda row: not row["sort"])  # figures that are no scores, last
        caption = words.joined(f"Models on {task}", words.setting_label(leaf.settings, leaf.judge))
        shown_tables.append((caption, rows))
    models = list(dict.fromkeys(cell.model for cell in own))[:MOST_LINES]
    order = {cell.model: place for place, cell in reversed(list(enumerate(own)))}
    split = sorted(
        (each for each in breakdowns if each.cell.task == task),
        key=lambda each: order.get(each.cell.model, 0),
    )
    wer = options.measured_wer.get(task, math.nan)
    return {
        "task": task,
        "one": one,
        "wer": wer if math.isfinite(wer) else None,
        "metrics": {cell.metric: options.metrics.get(cell.metric, "") for cell in own},
        "judges": {cell.judge: options.judges.get(cell.judge, "") for cell in own if cell.judge},
        "tables": shown_tables,
        "others": rows_of(others, "model", names, options, tops),
        "siblings": {
            cell.task: cell
            for cell in sorted(family, key=lambda cell: (cell.length or 0, cell.wer or -1, cell.task))
        },
        "figures": _task_figures(one, models, family, split, options),
        "n_lines": len(models),
        "side_by_side": _side_by_side(next(iter(tables.values())), names),
        "labels": label_tables(split, "model", options.label_titles),
        "quality": quality_table(own, "model", names, options.rates),
        "settings": words.long_settings(cell.settings for cell in [*own, *others]),
    }


def _side_by_side(cells: Sequence[Cell], names: Names) -> str:
    """The cases of the first models of a task in one address, for the page of cases; empty with fewer than two."""
    lists = [links[0][2] for cell in cells if (links := names.run_links(cell.runs))][:_BESIDE]
    return "/".join([lists[0], "0", *lists[1:]]) if len(lists) > 1 else ""


def _task_figures(
    shown: Cell,
    models: Sequence[str],
    family: Sequence[Cell],
    split: Sequence[Breakdown],
    options: SiteOptions,
) -> list[Any]:
    """Figures of the first models of a task's page, of cells that are comparable with one of the page's first table."""

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
    windows = {f" of {name}": known[name] for name in models if name in known}
    maps = [each for each in options.heat_maps if each.task == shown.task]
    return [
        *length_figures(same, model, windows, options, "Score against length"),
        *wer_figures(noisy, model, options, "Score against noise"),
        *moved_figures(moved, model, options),
        *position_figures(placed, lambda each: each.cell.model, options),
        *(heat_figure(each, named=True) for each in maps if not each.model or each.model in models),
    ]


def benchmark_context(
    benchmark: str, cells: Sequence[Cell], names: Names, options: SiteOptions
) -> dict[str, Any]:
    """Return what the template of a benchmark's page takes: tasks, pooled groups, sections of its report, all figures of the paper.

    Heat maps of the sections are on the pages of their models and tasks.
    """
    in_order = sorted(cells, key=lambda c: (c.family, c.wer or -1, c.variant, c.length or 0, c.task))
    groups = grouped(
        (cell for cell in options.groups if cell.benchmark == benchmark and cell.model in names.models),
        lambda cell: cell.task,
    )
    papers = grouped(
        (each for each in options.published if each.benchmark == benchmark), lambda paper: paper.task
    )
    for own in papers.values():
        own.sort(key=lambda paper: (paper.subset, paper.metric, -paper.score))
    shown_groups = []
    for name, members in groups.items():
        shared = words.shared(words.settings(cell.settings) for cell in members)
        tops, ordered = top_of(members), sorted(members, key=_best_first)
        rows = rows_of(ordered, "model", names, options, tops, shared)
        rows += [paper_row(paper, options, tops[leaf_of(ordered[0])]) for paper in papers.get(name, [])]
        caption = words.joined(words.short_name(name, benchmark), words.settings_label(shared))
        shown_groups.append((caption, rows))
    published = []
    for name, own in papers.items():
        points = any(paper.unit == "points" for paper in own)
        top = words.scale_top(max(paper.score for paper in own), points=points)
        shown, page = words.short_name(name, benchmark), names.tasks.get(name, "")
        published += [paper_row(paper, options, top) | {"task": shown, "page": page} for paper in own]
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
        "figures": [lines_figure(figure) for figure in figures if isinstance(figure, Lines)],
        "all_text": ALL_TEXT,
    }


def _best_first(cell: Cell) -> tuple[bool, float]:
    value = cell.mean.value
    return not cell.ranked, -value if math.isfinite(value) else math.inf


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return the items by their key, in the order in which the keys first occur."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def rows_of(
    cells: Sequence[Cell],
    about: About,
    names: Names,
    options: SiteOptions,
    tops: Mapping[Leaf, float],
    shared: str = "",
) -> list[dict[str, Any]]:
    """Return cells as rows of a table of scores, all texts: formatting in a template takes several times as long.

    ``tops`` has the upper ends of the bars, ``shared`` is the settings that the table names.
    """
    rows = []
    for cell in cells:
        mean, settings = cell.mean, words.settings(cell.settings)
        anchor = names.models[cell.model] if about == "model" else names.tasks[cell.task]
        rows.append(
            {
                "paper": None,
                "name": _name(cell, about),
                "page": names.page(about, cell),
                # The anchor is that of the cell with the default settings, which is in the same table.
                "anchor": "" if settings else f"{about}-{anchor}",
                "ranked": cell.ranked,
                "settings": "" if settings == shared else words.settings_label(settings),
                "sort": words.sorted_by(mean.value),
                "value": words.score(mean.value, points=cell.points),
                "interval": words.interval(mean, points=cell.points),
                "bar": words.bar(mean, tops[leaf_of(cell)]),
                "cases": words.cases(mean),
                "notes": "; ".join(notes_of(cell)),
                "others": _other_metrics(cell, options),
                "judge": cell.judge or "",
                "host": ", ".join(sorted(cell.hosts)),
                "made": words.day(cell.made),
                "runs": names.run_links(cell.runs),
            }
        )
    return rows


def _other_metrics(cell: Cell, options: SiteOptions) -> list[tuple[str, str, str, str]]:
    """Name, value, interval and meaning of the metrics beside the headline."""
    found = []
    for metric, mean in cell.official.items():
        if metric != cell.metric:
            points = metric in cell.points_metrics
            ends = words.interval(mean, points=points)
            found.append(
                (metric, words.score(mean.value, points=points), ends, options.metrics.get(metric, ""))
            )
    return found


def _name(cell: Cell, about: About) -> str:
    return cell.model if about == "model" else words.short_name(cell.task, cell.benchmark)


def _setting_name(cell: Cell, about: About) -> str:
    label = words.setting_label(words.settings(cell.settings), cell.judge)
    return words.joined(_name(cell, about), label)


def _distinct_names(cells: Sequence[Cell], about: About) -> list[str]:
    """Names of rows; those that occur more than once with settings and judge."""
    names = [_name(cell, about) for cell in cells]
    return [
        _setting_name(cell, about) if names.count(name) > 1 else name
        for cell, name in zip(cells, names, strict=True)
    ]


def notes_of(cell: Cell) -> list[str]:
    """Return what the row of a cell says beside its score: coverage, reasons, intervals, repeats, hosts and version."""
    notes = []
    if not cell.ranked:
        notes.append(f"not ranked: {cell.why_unranked}" if cell.why_unranked else "not ranked")
    elif cell.mean.n < cell.mean.total:
        notes.append(f"{100 * cell.mean.coverage:.1f} % scored")
    notes += [f"{count:,} {reason}" for reason, count in words.reasons(cell.mean.reasons)]
    if math.isfinite(cell.mean.value) and not words.interval(cell.mean, points=cell.points):
        why = "1 case; " if cell.mean.n == 1 else ""
        spread = " with different scores" if cell.points else ""
        notes.append(f"no interval: {why}it needs 2 clusters{spread}")
    if cell.truncated:
        notes.append(f"{cell.truncated:,} prompt{'s' * (cell.truncated != 1)} truncated by the host")
    # Repeats are within a host: hosts are no repeats of one another.
    n_hosts = len(cell.hosts)
    if cell.n_runs > n_hosts:
        known = cell.run_sd is not None and math.isfinite(cell.run_sd)
        between = "between them" if n_hosts == 1 else "within a host"
        spread = f", SD {between} {words.score(cell.run_sd or 0.0, points=cell.points)}" if known else ""
        notes.append(f"{cell.n_runs} runs{spread}")
    if cell.apart is not None:
        notes.append(f"{n_hosts} hosts{_hosts_note(cell.apart, points=cell.points)}")
    if cell.version > 1:
        notes.append(f"version {cell.version}")
    return notes


def _hosts_note(apart: HostsApart, *, points: bool) -> str:
    far = math.isfinite(apart.spread) and apart.spread > 1e-9
    parts = []
    if apart.turns and not apart.differing:
        # One host may have run more than another.
        parts.append(f"same scores on the {apart.turns:,} answers that all have" if far else "same scores")
    elif apart.turns:
        parts.append(f"{apart.differing:,} of {apart.turns:,} answers scored differently")
    if far or (apart.differing and math.isfinite(apart.spread)):
        parts.append(f"means {words.score(apart.spread, points=points)} apart")
    return "".join(f", {part}" for part in parts)


def paper_row(paper: "PublishedScore", options: SiteOptions, top: float, metric: str = "") -> dict[str, Any]:
    """Return a published figure as a row about its model.

    A figure by another metric than ``metric``, that of the table's scores, is marked, and neither drawn nor sorted among the scores
    unless it is the official form of it. An empty ``metric``: the table names the metric of each row.
    """
    notes = [text for text in (paper.subset and f"only {paper.subset}", paper.setting) if text]
    other = metric not in ("", paper.metric)
    alike = not other or is_score(paper, metric, options)
    if other:
        notes.insert(0, f"† by another metric than {metric}")
    return {
        "paper": paper,
        "judge": "",
        "cases": "" if paper.n is None else f"{paper.n:,}",
        "value": ("† " if other else "") + words.score(paper.score, points=paper.unit == "points"),
        "bar": words.bar(Mean(paper.score, math.nan, math.nan, 0, 0, {}), top) if alike else "",
        "sort": words.sorted_by(paper.score) if alike else "",
        "notes": "; ".join(notes),
    }


def label_tables(
    breakdowns: Sequence[Breakdown], about: About, titles: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the breakdowns of one model or task, those by the same label and values in one table."""
    tables = grouped(breakdowns, lambda each: (each.label, tuple(value for value, _ in each.groups)))
    return [
        {
            "title": words.label_title(label, titles),
            "columns": columns,
            "rows": list(zip(_distinct_names([each.cell for each in members], about), members, strict=True)),
        }
        for (label, columns), members in tables.items()
    ]


def quality_table(
    cells: Sequence[Cell], about: About, names: Names, rates: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return coverage, reasons and rates with a row for each cell; of reasons and rates those that some cell has."""
    if not cells:
        return None
    counted: Counter[str] = Counter()
    for cell in cells:
        counted.update(cell.mean.reasons)
    reasons = sorted((reason for reason in counted if counted[reason]), key=lambda r: (-counted[r], r))
    metrics = [metric for metric in rates if any(_rate(cell, metric) for cell in cells)]
    headings = (words.reason_words(reason) for reason in reasons)
    columns = [
        *("Scored", "Coverage", "Cut by the host"),
        *(text[:1].upper() + text[1:] for text in headings),
        *(rates[metric] for metric in metrics),
    ]
    rows = []
    for cell, name in zip(cells, _distinct_names(cells, about), strict=True):
        texts = [
            words.cases(cell.mean),
            f"{100 * cell.mean.coverage:.1f} %" if cell.mean.total else "–",
            "unknown" if cell.truncated is None else f"{cell.truncated:,}",
            *(f"{cell.mean.reasons.get(reason, 0):,}" for reason in reasons),
            *(_rate(cell, metric) or "–" for metric in metrics),
        ]
        rows.append((name, names.page(about, cell), texts))
    return {"columns": columns, "rows": rows}


def _rate(cell: Cell, metric: str) -> str:
    mean = cell.official.get(metric)
    if mean is None or not math.isfinite(100 * mean.value):
        return ""
    return f"{100 * mean.value:.1f} %"


def length_table(lengths: Sequence[FamilyLength], names: Names) -> dict[str, Any] | None:
    """Return the first page's effective context lengths of models by families of tasks; None without any of a model with a page."""
    shown = [each for each in lengths if each.model in names.models]
    if not shown:
        return None
    definitions = dict.fromkeys(each.found.definition for each in shown)
    return {
        "models": sorted({each.model for each in shown}, key=str.lower),
        "columns": {
            words.length_name(each): words.short_name(words.length_name(each), each.benchmark)
            for each in shown
        },
        "cells": {(each.model, words.length_name(each)): each for each in shown},
        "marks": {text: number for number, text in enumerate(definitions, start=1)},
    }
