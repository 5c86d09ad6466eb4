"""The page of a model."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.models import shown_source
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.site import words
from long_context_tasks.site.figures import (
    heat_figure,
    length_figures,
    line_name,
    moved_figures,
    position_figures,
    wer_figures,
)
from long_context_tasks.site.leaderboard import leaf_of, ordered_leaves
from long_context_tasks.site.rows import Names, Row, label_tables, quality_table, row_of, top_of
from long_context_tasks.site.shown import Breakdown, ModelNote, SiteOptions


@dataclass(frozen=True)
class ShownRun:
    """A run on a page.

    Attributes:
        run, task, host, made: as in the tidy schema.
        seed, version: as text, empty where there is none.
        source: the last two folders.
        config: number of its configuration on the page, from 1.
    """

    run: str
    task: str
    host: str
    made: str
    seed: str
    version: str
    source: str
    config: int


@dataclass(frozen=True)
class ShownConfig:
    """How runs were made.

    Attributes:
        number: on the page, from 1.
        facts: name to text: host with its version, package, commit ...
        settings: all that is known, as JSON for people.
    """

    number: int
    facts: Mapping[str, str]
    settings: str


def shown_runs(runs: pl.DataFrame) -> tuple[list[ShownRun], list[ShownConfig]]:
    """Runs, and their configurations, each once.

    Args:
        runs: of one model.
    """
    configs: dict[tuple[str, ...], ShownConfig] = {}
    shown = []
    for row in runs.sort("task", "made").iter_rows(named=True):
        settings = {
            name: _shown(row.get(column))
            for name, column in (
                ("options", "options"),
                ("judge", "judge_settings"),
                ("provenance", "provenance"),
            )
        }
        text = json.dumps(
            {name: value for name, value in settings.items() if value},
            ensure_ascii=False,
            indent=1,
            sort_keys=True,
        )
        facts = {
            "Host": f"{_text(row, 'host')} {_text(row, 'host_version')}".strip(),
            "Package": _text(row, "package"),
            "Commit": _text(row, "commit") or _commit(settings["provenance"]),
            "Window": _text(row, "window"),
            "Judge": _text(row, "judge"),
        }
        facts = {name: value for name, value in facts.items() if value}
        key = (*facts.values(), text)
        config = configs.setdefault(key, ShownConfig(len(configs) + 1, facts, text))
        shown.append(
            ShownRun(
                run=row["run"],
                task=row["task"],
                host=_text(row, "host"),
                made=_text(row, "made"),
                seed=_text(row, "seed"),
                version=_text(row, "version"),
                source=shown_source(_text(row, "source")),
                config=config.number,
            )
        )
    return shown, list(configs.values())


def _shown(text: Any) -> Any:
    """What a JSON text holds, without secrets; of what nests deeper than can be written again only that it does."""
    try:
        found = without_secrets(_json(text))
        json.dumps(found, indent=1)
    except RecursionError:
        return "(nested too deep to be shown)"
    return found


def _json(text: Any) -> Any:
    """The value of a JSON text; the text itself where it is none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _commit(provenance: Any) -> str:
    if not isinstance(provenance, Mapping):
        return ""
    for name in ("commit", "git_hash"):
        if isinstance(provenance.get(name), str):
            return str(provenance[name])
    return ""


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    return "" if value is None else str(value)


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
