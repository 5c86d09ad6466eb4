"""The pages of models, tasks and benchmarks, as their templates take them."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import polars as pl

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import ends_words, length_words, settings_without_length
from long_context_tasks.results.models import ModelFacts, shown_name, shown_source
from long_context_tasks.schema.report import ALL_TEXT, Lines
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.site import words
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
from long_context_tasks.site.leaderboard import leaf_of, ordered_leaves, top_of
from long_context_tasks.site.rows import Names, label_tables, published_row, quality_table, row_of
from long_context_tasks.site.shown import Breakdown, SiteOptions

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


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
    benchmarks = grouped(ordered, lambda cell: cell.benchmark)
    known = options.models.facts.get(model, ModelFacts(name=model))
    aliases = [alias for alias in dict.fromkeys(map(shown_name, known.aliases)) if alias != model]
    figures, tables = [], []
    for benchmark, own in benchmarks.items():
        title = options.benchmarks.get(benchmark, benchmark)
        windows = {"": known.window} if known.window else {}
        figures += length_figures(own, line_name, windows, options, f"{title}: length")
        figures += wer_figures(own, lambda cell: line_name(cell, noise=True), options, f"{title}: noise")
        figures += moved_figures(own, lambda cell: line_name(replace(cell, variant="")), options)
        # Settings that all cells have are in the caption.
        shared = words.shared(words.settings(cell.settings) for cell in own)
        rows = [row_of(cell, "task", names, options, tops[leaf_of(cell)], shared) for cell in own]
        tables.append((words.joined(title, words.settings_label(shared)), rows))
    split = [each for each in breakdowns if each.cell.model == model]
    figures += position_figures(split, _task_name, options)
    figures += [heat_figure(each) for each in options.heat_maps if each.model == model]
    return {
        "model": model,
        "window": words.tokens(known.window),
        "about": known,
        "aliases": aliases,
        "hosts": sorted({host for cell in cells for host in cell.hosts}),
        "newest": max((words.day(cell.made) for cell in cells), default=""),
        "tables": tables,
        "others": [row_of(cell, "task", names, options, tops[leaf_of(cell)]) for cell in others],
        "lengths": [
            (
                words.length_name(each),
                length_words(str(each.found)),
                ends_words(each.found.interval.low, each.found.interval.high),
                each.found.definition,
            )
            for each in options.lengths
            if each.model == model
        ],
        "figures": figures,
        "labels": label_tables(split, "task", names),
        "quality": quality_table(ordered, "task", names, options.rates),
        **_runs_and_configs(runs),
        "settings": words.long_settings(cell.settings for cell in [*cells, *others]),
        "names": names,
    }


def _task_name(each: Breakdown) -> str:
    name = words.short_name(each.cell.task, each.cell.benchmark)
    return words.joined(name, words.setting_label(words.settings(each.cell.settings), each.cell.judge))


@dataclass(frozen=True)
class _Config:
    """How runs were made: number on the page, from 1; name to text; all that is known, as JSON for people."""

    number: int
    facts: Mapping[str, str]
    settings: str


def _runs_and_configs(runs: pl.DataFrame) -> dict[str, Any]:
    """Runs of a model, and their configurations, each once."""
    configs: dict[tuple[str, ...], _Config] = {}
    shown = []
    for row in runs.sort("task", "made").iter_rows(named=True):
        text = {name: "" if value is None else str(value) for name, value in row.items()}
        known = _known_settings(*(row.get(name) for name in ("options", "judge_settings", "provenance")))
        facts = {
            "Host": f"{text['host']} {text['host_version']}".strip(),
            "Package": text["package"],
            "Commit": text["commit"] or known.commit,
            "Window": text["window"],
            "Judge": text["judge"],
        }
        facts = {name: value for name, value in facts.items() if value}
        key = (*facts.values(), known.text)
        config = configs.setdefault(key, _Config(len(configs) + 1, facts, known.text))
        shown_columns = {name: text[name] for name in ("task", "host", "made", "seed", "version")}
        shown.append({**shown_columns, "source": shown_source(text["source"]), "config": config.number})
    return {"runs": shown, "configs": list(configs.values())}


class _Settings(NamedTuple):
    """All settings as JSON for people, without secrets, and the commit that the provenance names."""

    text: str
    commit: str


@lru_cache(maxsize=1_000)
def _known_settings(options: str | None, judge: str | None, provenance: str | None) -> _Settings:
    """Settings of a run from JSON texts; many runs have the same."""
    texts = {"options": options, "judge": judge, "provenance": provenance}
    values = {name: _public_json(text) for name, text in texts.items() if text}
    kept = {name: value for name, value in values.items() if value}
    source = values.get("provenance")
    commits = [source.get(name) for name in ("commit", "git_hash")] if isinstance(source, Mapping) else []
    commit = next((commit for commit in commits if isinstance(commit, str)), "")
    return _Settings(json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True), commit)


def _public_json(text: str) -> Any:
    """The value of a JSON text, without secrets; the text itself where it is no JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    try:
        public = without_secrets(value)
        json.dumps(public, indent=1)
    except RecursionError:
        return "(nested too deep to be shown)"
    return public


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
    papers = sorted((paper for paper in options.published if paper.task == task), key=lambda p: -p.score)
    papers = [paper for paper in papers if (paper.unit == "points") == one.points]
    siblings = {
        cell.task: cell
        for cell in sorted(family, key=lambda cell: (cell.length or 0, cell.wer or -1, cell.task))
    }
    models = list(dict.fromkeys(cell.model for cell in own))[:MOST_LINES]
    order = {cell.model: place for place, cell in reversed(list(enumerate(own)))}
    split = sorted(
        (each for each in breakdowns if each.cell.task == task),
        key=lambda each: order.get(each.cell.model, 0),
    )
    shown_tables = []
    for leaf, members in tables.items():
        rows = [row_of(cell, "model", names, options, tops[leaf], leaf.settings) for cell in members]
        figures_of_papers = [
            published_row(each, options, tops[leaf], one.metric) for each in papers if leaf == first
        ]
        rows += sorted(figures_of_papers, key=lambda row: not row.sort)  # figures that are no scores, last
        caption = words.joined(f"Models on {task}", words.setting_label(leaf.settings, leaf.judge))
        shown_tables.append((caption, rows))
    wer = options.measured_wer.get(task, math.nan)
    return {
        "task": task,
        "about": options.about.get(task) or options.about.get(one.family, ""),
        "benchmark": options.benchmarks.get(one.benchmark, one.benchmark),
        "benchmark_file": words.slug(one.benchmark),
        "length": words.tokens(one.length),
        "variant": one.variant or "",
        "wer": wer if math.isfinite(wer) else None,
        "target_wer": one.wer,
        "chance": words.score(options.chance[task], points=one.points) if task in options.chance else "",
        "metrics": {cell.metric: options.metrics.get(cell.metric, "") for cell in own},
        "points": one.points,
        "judges": {cell.judge: options.judges.get(cell.judge, "") for cell in own if cell.judge},
        "tables": shown_tables,
        "others": [row_of(cell, "model", names, options, tops[leaf_of(cell)]) for cell in others],
        "siblings": [
            (words.short_name(name, cell.benchmark), f"{names.tasks[name]}.html", name == task)
            for name, cell in siblings.items()
        ],
        "figures": _task_figures(one, models, family, split, options),
        "n_lines": len(models),
        "labels": label_tables(split, "model", names),
        "quality": quality_table(own, "model", names, options.rates),
        "settings": words.long_settings(cell.settings for cell in [*own, *others]),
        "names": names,
    }


def _task_figures(
    one: Cell,
    models: Sequence[str],
    family: Sequence[Cell],
    split: Sequence[Breakdown],
    options: SiteOptions,
) -> list[Any]:
    """Figures of the first models of a task's page, of cells that are comparable with one of the page's first table."""

    def setting(cell: Cell) -> tuple[str, str]:
        return cell.judge or "", settings_without_length(cell.settings)

    drawn = [cell for cell in family if cell.model in models and setting(cell) == setting(one)]
    drawn.sort(key=lambda cell: models.index(cell.model))
    same = [cell for cell in drawn if (cell.variant or "") == (one.variant or "") and cell.wer == one.wer]
    noisy = [cell for cell in drawn if plain_variant(cell) == plain_variant(one)]
    moved = [cell for cell in drawn if cell.length == one.length]
    placed = [each for each in split if each.cell.model in models and leaf_of(each.cell) == leaf_of(one)]
    windows = {
        f" of {model}": options.models.windows[model] for model in models if model in options.models.windows
    }
    return [
        *length_figures(same, _model, windows, options, "Score against length"),
        *wer_figures(noisy, _model, options, "Score against noise"),
        *moved_figures(moved, _model, options),
        *position_figures(placed, lambda each: each.cell.model, options),
        *(
            heat_figure(each, named=True)
            for each in options.heat_maps
            if each.task == one.task and (not each.model or each.model in models)
        ),
    ]


def _model(cell: Cell) -> str:
    return cell.model


def benchmark_context(
    benchmark: str, cells: Sequence[Cell], names: Names, options: SiteOptions
) -> dict[str, Any]:
    """Return what the template of a benchmark's page takes: tasks, pooled groups, sections of its report, figures of the paper without a run.

    Heat maps of the sections are on the pages of their models and tasks.
    """
    in_order = sorted(cells, key=lambda c: (c.family, c.wer or -1, c.variant, c.length or 0, c.task))
    groups = grouped(
        (cell for cell in options.groups if cell.benchmark == benchmark and cell.model in names.models),
        lambda cell: cell.task,
    )
    papers = grouped(
        (each for each in options.published if each.benchmark == benchmark and each.task not in names.tasks),
        lambda paper: paper.task,
    )
    for own in papers.values():
        own.sort(key=lambda paper: (paper.subset, paper.metric, -paper.score))
    sections = options.sections.get(benchmark, ())
    shown_groups = []
    for name, members in groups.items():
        shared = words.shared(words.settings(cell.settings) for cell in members)
        tops, ordered = top_of(members), sorted(members, key=_best_first)
        rows = [row_of(cell, "model", names, options, tops[leaf_of(cell)], shared) for cell in ordered]
        rows += [published_row(paper, options, tops[leaf_of(ordered[0])]) for paper in papers.get(name, [])]
        caption = words.joined(words.short_name(name, benchmark), words.settings_label(shared))
        shown_groups.append((caption, rows, any(cell.judge for cell in members)))
    return {
        "benchmark": benchmark,
        "title": options.benchmarks.get(benchmark, benchmark),
        "about": options.benchmark_about.get(benchmark, ""),
        "tasks": [
            (
                words.short_name(task, benchmark),
                f"{names.tasks[task]}.html",
                len({cell.model for cell in members}),
                options.about.get(task, ""),
            )
            for task, members in grouped(in_order, lambda cell: cell.task).items()
        ],
        "groups": shown_groups,
        "settings": words.long_settings(cell.settings for rows in groups.values() for cell in rows),
        "others": [
            (
                words.short_name(name, benchmark),
                [published_row(paper, options, _paper_top(own)) for paper in own],
            )
            for name, own in papers.items()
            if name not in groups
        ],
        "sections": [
            (
                section.title,
                (*section.notes, *section.problems),
                [table for table in section.tables if table.rows],
            )
            for section in sections
        ],
        "figures": [
            lines_figure(figure)
            for section in sections
            for figure in section.figures
            if isinstance(figure, Lines)
        ],
        "all_text": ALL_TEXT,
        "names": names,
    }


def _paper_top(papers: Sequence["PublishedScore"]) -> float:
    points = any(paper.unit == "points" for paper in papers)
    return words.scale_top(max(paper.score for paper in papers), points=points)


def _best_first(cell: Cell) -> tuple[bool, float]:
    value = cell.mean.value
    return not cell.ranked, -value if math.isfinite(value) else math.inf


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return the items by their key, in the order in which the keys first occur."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
