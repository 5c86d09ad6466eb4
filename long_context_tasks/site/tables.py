"""The leaderboard's columns, and the rows of tables on pages."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl

from long_context_tasks.results.cells import Cell, columns_of, mean_of, scale_of, turns_of_cells
from long_context_tasks.results.lengths import FamilyLength
from long_context_tasks.results.tidy import Collection, moment
from long_context_tasks.schema.card import LabelCard
from long_context_tasks.schema.files import loads
from long_context_tasks.site import words
from long_context_tasks.site.cases import PageNames
from long_context_tasks.site.contents import SiteOptions
from long_context_tasks.stats.means import Mean

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

About = Literal["model", "task"]
"""Subject of a table's rows: models on a task's page, tasks on a model's page."""
MOST_VALUES = 12
"""Labels with more values, such as ids, get no table."""
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


def score_text(value: float, *, points: bool) -> str:
    shown = value if points else 100 * value
    if not math.isfinite(shown):
        return "–"
    return f"{shown:.2f}" if points else f"{shown:.1f}"


def interval_text(mean: Mean, *, points: bool) -> str:
    if not (math.isfinite(mean.low) and math.isfinite(mean.high)):
        return ""
    return f"{score_text(mean.low, points=points)}–{score_text(mean.high, points=points)}"


def bar_ends(mean: Mean, top: float) -> str:
    """Return low, mean and high in per mille of ``top`` for the bar script; empty without a mean."""
    if not math.isfinite(mean.value):
        return ""
    known = math.isfinite(mean.low) and math.isfinite(mean.high)
    ends = (mean.low, mean.value, mean.high) if known else (mean.value,) * 3
    return " ".join(str(round(1000 * min(max(end / top, 0.0), 1.0))) for end in ends)


def sort_value(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""


def cases_text(mean: Mean) -> str:
    return f"{mean.n:,}" if mean.n == mean.total else f"{mean.n:,} of {mean.total:,}"


@dataclass(frozen=True)
class Leaf:
    """A column of the leaderboard, whose cells are comparable."""

    task: str
    judge: str  # the judge's name; empty if there is none
    settings: str = ""  # settings that differ from the defaults, in words


def leaf_of(cell: Cell) -> Leaf:
    return Leaf(cell.task, cell.judge or "", words.settings(cell.settings))


def leading_cells(cells: Iterable[Cell]) -> tuple[dict[tuple[str, Leaf], Cell], list[Cell]]:
    """Choose the cell shown for each model and column; also return the others.

    The newest version is preferred, then a ranked cell, then the newest cell.
    """
    cells = list(cells)
    best: dict[tuple[str, Leaf], Cell] = {}
    # Older versions never replace newer ones, even if only the older ones are ranked.
    for cell in sorted(cells, key=lambda cell: (cell.version, cell.ranked, moment(cell.made)), reverse=True):
        best.setdefault((cell.model, leaf_of(cell)), cell)
    columns = [(cell.model, leaf_of(cell)) for cell in cells]
    others = [cell for cell, column in zip(cells, columns, strict=True) if best[column] is not cell]
    return {column: best[column] for column in columns}, others


def ordered_leaves(leading: Mapping[tuple[str, Leaf], Cell]) -> dict[Leaf, Cell]:
    """Return the columns, each with a cell, by benchmark, family, variant (plain first) and length."""
    any_cell: dict[Leaf, Cell] = {}
    for (_, leaf), cell in leading.items():
        any_cell.setdefault(leaf, cell)

    def place(item: tuple[Leaf, Cell]) -> tuple[Any, ...]:
        leaf, cell = item
        *family, length, task = cell.place
        return *family, leaf.judge, leaf.settings, length, task

    return dict(sorted(any_cell.items(), key=place))


def top_of(cells: Iterable[Cell]) -> dict[Leaf, float]:
    """Return the upper end of each column's bars, shared within a benchmark and metric."""
    scales: dict[Leaf, tuple[str, str, bool]] = {}
    highest: dict[tuple[str, str, bool], float] = {}
    for cell in cells:
        scale = scales[leaf_of(cell)] = cell.benchmark, cell.metric, cell.points
        ends = [end for end in (cell.mean.value, cell.mean.high) if math.isfinite(end)]
        highest[scale] = max([highest.get(scale, 0.0), *ends])
    return {leaf: words.scale_top(highest[scale], points=scale[-1]) for leaf, scale in scales.items()}


def is_score(paper: "PublishedScore", headline: str, options: SiteOptions) -> bool:
    """Return whether a published score is on the headline metric or the card's official metric."""
    return paper.metric in (headline, options.official.get(paper.task))


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def rows_of(
    cells: Sequence[Cell],
    about: About,
    names: PageNames,
    options: SiteOptions,
    tops: Mapping[Leaf, float],
    shared: str = "",
) -> list[dict[str, Any]]:
    """Return cells as table rows of scores.

    ``shared`` lists the settings (in words) already given in the table's caption.
    """
    # Texts are formatted here, because formatting them in a template takes several times as long.
    rows = []
    for cell in cells:
        mean, settings = cell.mean, words.settings(cell.settings)
        anchor = names.models[cell.model] if about == "model" else names.tasks[cell.task]
        rows.append(
            {
                "paper": None,
                "name": _name(cell, about),
                "page": names.page(about, cell),
                # Anchors must be unique, and a model's settings would all share this one.
                "anchor": "" if settings else f"{about}-{anchor}",
                "ranked": cell.ranked,
                "settings": "" if settings == shared else words.settings_label(settings),
                "sort": sort_value(mean.value),
                "value": score_text(mean.value, points=cell.points),
                "interval": interval_text(mean, points=cell.points),
                "bar": bar_ends(mean, tops[leaf_of(cell)]),
                "cases": cases_text(mean),
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
    """Return name, value, interval and description of all metrics except the headline."""
    others, known = [], options.metrics.get(cell.benchmark, {})
    for metric, mean in cell.official.items():
        if metric != cell.metric:
            points = metric in cell.points_metrics
            ends = interval_text(mean, points=points)
            others.append((metric, score_text(mean.value, points=points), ends, known.get(metric, "")))
    return others


def notes_of(cell: Cell) -> list[str]:
    notes = []
    if not cell.ranked:
        notes.append(f"not ranked: {cell.why_unranked}" if cell.why_unranked else "not ranked")
    elif cell.mean.n < cell.mean.total:
        notes.append(f"{100 * cell.mean.coverage:.1f} % scored")
    counts = sorted(cell.mean.reasons.items(), key=lambda item: (-item[1], item[0]))
    notes += [f"{count:,} {words.reason_words(reason)}" for reason, count in counts]
    if math.isfinite(cell.mean.value) and not interval_text(cell.mean, points=cell.points):
        why = "1 case; " if cell.mean.n == 1 else ""
        spread = " with different scores" if cell.points else ""
        notes.append(f"no interval: {why}it needs 2 clusters{spread}")
    if cell.truncated:
        notes.append(f"{cell.truncated:,} prompt{'s' * (cell.truncated != 1)} truncated by the host")
    # Runs on different hosts are not repeats of one another.
    n_hosts = len(cell.hosts)
    if cell.n_runs > n_hosts:
        known = cell.run_sd is not None and math.isfinite(cell.run_sd)
        between = "between them" if n_hosts == 1 else "within a host"
        spread = f", SD {between} {score_text(cell.run_sd or 0.0, points=cell.points)}" if known else ""
        notes.append(f"{cell.n_runs} runs{spread}")
    if n_hosts > 1:
        notes.append(f"{n_hosts} hosts")
    if cell.version > 1:
        notes.append(f"version {cell.version}")
    return notes


def paper_row(paper: "PublishedScore", options: SiteOptions, top: float, metric: str = "") -> dict[str, Any]:
    """Return a published score as a row about its model.

    A score on another metric than ``metric`` is marked. Unless that is the official metric, it has no bar and
    is not ranked among the scores.
    """
    notes = [text for text in (paper.subset and f"only {paper.subset}", paper.setting) if text]
    other = metric not in ("", paper.metric)
    alike = not other or is_score(paper, metric, options)
    if other:
        notes.insert(0, f"† in a different metric than {metric}")
    return {
        "paper": paper,
        "judge": "",
        "cases": "" if paper.n is None else f"{paper.n:,}",
        "value": ("† " if other else "") + score_text(paper.score, points=paper.points),
        "bar": bar_ends(Mean(paper.score, math.nan, math.nan, 0, 0, {}), top) if alike else "",
        "sort": sort_value(paper.score) if alike else "",
        "notes": "; ".join(notes),
    }


@dataclass(frozen=True)
class Breakdown:
    cell: Cell
    label: str  # the label's name, such as position
    # The label's values with the mean over their turns, in display order.
    groups: Sequence[tuple[str, Mean]]

    @property
    def top(self) -> float:
        ends = [end for _, mean in self.groups for end in (mean.value, mean.high) if math.isfinite(end)]
        return words.scale_top(max(ends, default=0.0), points=self.cell.points)


_Groups = list[tuple[str, list[tuple[str, Mean]]]]
"""Labels of a cell, with the fields of :class:`Breakdown`."""


def label_breakdowns(
    collection: Collection,
    cells: Sequence[Cell],
    labels: Mapping[str, Mapping[str, LabelCard]] | None = None,
) -> list[Breakdown]:
    """Return the means of each cell's turns by label.

    Labels need 2 to :data:`MOST_VALUES` values with at least two turns per value on average. ``labels``
    describes those of each benchmark; values that a description lists come first, in its order and words.
    """
    orders = {
        benchmark: {name: label.values for name, label in described.items()}
        for benchmark, described in (labels or {}).items()
    }
    keys = [collection.key(_Groups, cell.runs, cell.state, orders.get(cell.benchmark, {})) for cell in cells]
    found: list[_Groups | None] = [collection.reuse.find(_Groups, key) for key in keys]
    missing = [place for place, groups in enumerate(found) if groups is None]
    # Task by task, because the turns of all cells need much memory.
    for places in grouped(missing, lambda place: cells[place].task).values():
        for number, turns in turns_of_cells(collection, [cells[place] for place in places]).items():
            place = places[number]
            found[place] = list(_breakdowns(cells[place], turns, orders.get(cells[place].benchmark, {})))
            collection.reuse.keep(_Groups, keys[place], found[place])
    # In the order of the scores.
    order = {run: number for number, run in enumerate(collection.runs["run"])}
    places = sorted(range(len(cells)), key=lambda place: min(order[run] for run in cells[place].runs))
    return [
        Breakdown(cells[place], label, groups) for place in places for label, groups in found[place] or ()
    ]


def _breakdowns(
    cell: Cell, turns: pl.DataFrame, orders: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, list[tuple[str, Mean]]]]:
    texts, columns = turns["labels"].to_list(), columns_of(turns)
    graded = any(value not in (None, 0.0, 1.0) for value in columns["value"])
    scale = scale_of(cell.benchmark, cell.metric, points=cell.points)
    parsed = {text: _parsed_labels(text) for text in dict.fromkeys(texts) if text}
    for name in dict.fromkeys(name for labels in parsed.values() for name in labels):
        values = [parsed[text].get(name) if text else None for text in texts]
        different = dict.fromkeys(value for value in values if value is not None)
        n = sum(value is not None for value in values)
        # One value splits nothing, and values with a single turn each are ids.
        if not 2 <= len(different) <= MOST_VALUES or 2 * len(different) > n:
            continue
        shown = orders.get(name, {})
        place = {value: number for number, value in enumerate(shown)}
        rows: dict[str | None, list[int]] = {}
        for row, value in enumerate(values):
            rows.setdefault(value, []).append(row)
        groups = []
        for value in sorted(different, key=lambda value: (place.get(value, len(place)), _natural(value))):
            part = {column: [cells[row] for row in rows[value]] for column, cells in columns.items()}
            groups.append((shown.get(value, value), mean_of(part, scale, graded=graded)))
        yield name, groups


def _parsed_labels(text: str) -> dict[str, str]:
    """Return the labels whose values are words, whole numbers or booleans."""
    spelled = {True: "yes", False: "no"}
    return {
        name: spelled[value] if isinstance(value, bool) else str(value)
        for name, value in loads(text).items()
        if isinstance(value, str | int)
    }


def _natural(text: str) -> list[str | float]:
    """Return a key that sorts the numbers in texts by value: ``0 %``, ``25 %``, ``100 %``."""
    parts = re.split(r"((?:^-)?[0-9]+(?:\.[0-9]+)?)", text)
    return [float(part) if place % 2 else part for place, part in enumerate(parts)]


def label_tables(
    breakdowns: Sequence[Breakdown], about: About, labels: Mapping[str, Mapping[str, LabelCard]]
) -> list[dict[str, Any]]:
    tables = grouped(
        breakdowns, lambda each: (each.cell.benchmark, each.label, tuple(value for value, _ in each.groups))
    )
    return [
        {
            "title": words.label_title(label, labels.get(benchmark, {})),
            "columns": columns,
            "rows": list(zip(_distinct_names([each.cell for each in members], about), members, strict=True)),
        }
        for (benchmark, label, columns), members in tables.items()
    ]


def quality_table(
    cells: Sequence[Cell], about: About, names: PageNames, rates: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return coverage, reasons and rates per cell, omitting reasons and rates that no cell has."""
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
            cases_text(cell.mean),
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


def length_table(lengths: Sequence[FamilyLength], names: PageNames) -> dict[str, Any] | None:
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


def _name(cell: Cell, about: About) -> str:
    return cell.model if about == "model" else words.short_name(cell.task, cell.benchmark)


def setting_name(cell: Cell, about: About) -> str:
    label = words.setting_label(words.settings(cell.settings), cell.judge)
    return words.joined(_name(cell, about), label)


def _distinct_names(cells: Sequence[Cell], about: About) -> list[str]:
    names = [_name(cell, about) for cell in cells]
    return [
        setting_name(cell, about) if names.count(name) > 1 else name
        for cell, name in zip(cells, names, strict=True)
    ]
