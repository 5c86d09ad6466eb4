"""The columns of the leaderboard, and its data: small enough that 200 models x 100 tasks come in one script."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.tidy import moment
from long_context_tasks.site import words
from long_context_tasks.site.shown import SiteOptions

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

_DIGITS = 10_000_000


@dataclass(frozen=True)
class Leaf:
    """A column of the leaderboard: cells that may be compared with one another.

    Attributes:
        task: name.
        judge: empty without one.
        settings: that differ from the defaults, in words.
    """

    task: str
    judge: str
    settings: str = ""


def is_score(paper: "PublishedScore", headline: str, options: SiteOptions) -> bool:
    """Return whether a published figure is ranked among the scores of its task: by the headline or by the card's official metric."""
    return paper.metric in (headline, options.official.get(paper.task))


def leaf_of(cell: Cell) -> Leaf:
    """Return the column of a cell."""
    return Leaf(cell.task, cell.judge or "", words.settings(cell.settings))


def top_of(cells: Iterable[Cell]) -> dict[Leaf, float]:
    """Return the upper ends of the bars of each column; a metric of a benchmark has one scale on a page."""
    scales: dict[Leaf, tuple[str, str, bool]] = {}
    highest: dict[tuple[str, str, bool], float] = {}
    for cell in cells:
        scale = scales[leaf_of(cell)] = cell.benchmark, cell.metric, cell.points
        ends = [end for end in (cell.mean.value, cell.mean.high) if math.isfinite(end)]
        highest[scale] = max([highest.get(scale, 0.0), *ends])
    return {leaf: words.scale_top(highest[scale], points=scale[-1]) for leaf, scale in scales.items()}


def leading_cells(cells: Iterable[Cell]) -> tuple[dict[tuple[str, Leaf], Cell], list[Cell]]:
    """Return, of several cells of a model in a column, the one to lead with, and the others.

    The highest version of the task leads, then a cell that is ranked, then the newest. Other judges and settings
    are columns of their own.
    """
    first: dict[tuple[str, Leaf], Cell] = {}
    others: list[Cell] = []

    def place(cell: Cell) -> tuple[int, bool, str]:
        return cell.version, cell.ranked, moment(cell.made)

    for cell in cells:
        held = first.setdefault((cell.model, leaf_of(cell)), cell)
        if held is cell:
            continue
        if place(cell) > place(held):
            first[cell.model, leaf_of(cell)] = cell
            others.append(held)
        else:
            others.append(cell)
    return first, others


def ordered_leaves(leading: Mapping[tuple[str, Leaf], Cell]) -> dict[Leaf, Cell]:
    """Return the columns in reading order, each with one of its cells: benchmark, family, plain before variants, length."""
    any_cell: dict[Leaf, Cell] = {}
    for (_, leaf), cell in leading.items():
        any_cell.setdefault(leaf, cell)

    def place(item: tuple[Leaf, Cell]) -> tuple[Any, ...]:
        leaf, cell = item
        wer = -1 if cell.wer is None else cell.wer
        family = (cell.benchmark, cell.family, wer, cell.variant or "")
        return *family, leaf.judge, leaf.settings, cell.length or 0, leaf.task

    return dict(sorted(any_cell.items(), key=place))


def index_payload(
    leading: Mapping[tuple[str, Leaf], Cell],
    models: Mapping[str, str],
    tasks: Mapping[str, str],
    options: SiteOptions,
) -> dict[str, Any]:
    """Return what index.js takes. Texts from outside are in lists only, never keys.

    ``models`` and ``tasks`` give the slugs of their pages.
    """
    leaves = ordered_leaves(leading)
    groups: dict[tuple[str, ...], int] = {}
    leaf_rows = []
    for leaf, cell in leaves.items():
        key = (cell.benchmark, cell.family, cell.variant or "", leaf.judge, leaf.settings)
        group = groups.setdefault(key, len(groups))
        wer = options.measured_wer.get(cell.task, cell.wer)
        name, chance = words.short_name(leaf.task, cell.benchmark), options.chance.get(leaf.task)
        task = [leaf.task, tasks[leaf.task], group, cell.length, wer]
        leaf_rows.append([*task, cell.metric, int(cell.points), name, chance])
    published = _leading_published(options, leaves)
    papers = list(dict.fromkeys(paper.model for paper in published))
    hosts = sorted({host for cell in leading.values() for host in cell.hosts})
    tops = top_of(leading.values())
    return {
        "models": [[name, slug, *_known_of(name, options)] for name, slug in models.items()],
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
        "cells": _cell_columns(leading, list(models), list(leaves), hosts),
        "published": _published_rows(published, papers, leaves, options),
    }


def _known_of(model: str, options: SiteOptions) -> tuple[int | None, str, str]:
    """The claimed window, the number of parameters and the licence of a model."""
    known = options.models.facts.get(model)
    return (known.window, known.parameters, known.licence) if known else (None, "", "")


def _cell_columns(
    leading: Mapping[tuple[str, Leaf], Cell],
    models: Sequence[str],
    leaves: Sequence[Leaf],
    hosts: Sequence[str],
) -> list[list[int | None]]:
    """Columns of numbers: model, leaf, mean, low, high (each x 10 million, so that means over columns are those of unrounded scores), n, total, bits of hosts, ranked."""
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
    """One figure for each model and task: of all its cases, by the headline, else by the official rule, else by the first metric."""
    metrics = {leaf.task: cell.metric for leaf, cell in leaves.items()}
    found: dict[tuple[str, str], PublishedScore] = {}

    def place(paper: "PublishedScore") -> tuple[bool, bool]:
        headline = metrics[paper.task]
        return paper.metric == headline, is_score(paper, headline, options)

    for paper in options.published:
        if paper.subset or paper.task not in metrics:
            continue
        held = found.setdefault((paper.model, paper.task), paper)
        if place(paper) > place(held):
            found[paper.model, paper.task] = paper
    return list(found.values())


def _published_rows(
    published: Sequence["PublishedScore"],
    papers: Sequence[str],
    leaves: Mapping[Leaf, Cell],
    options: SiteOptions,
) -> list[list[Any]]:
    """Rows of model, leaf, value x 10,000, n, metric, source, and whether the metric makes it no score of the column."""
    return [
        [
            *(papers.index(paper.model), number, _whole(paper.score), paper.n, paper.metric, paper.source),
            int(not is_score(paper, cell.metric, options)),
        ]
        for number, (leaf, cell) in enumerate(leaves.items())
        for paper in published
        if paper.task == leaf.task and not leaf.settings
    ]
