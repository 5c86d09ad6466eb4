"""What the site shows beside runs and cells: options, and means by label."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from long_context_tasks.results.cells import Cell, mean_of, scale_of, turns_of_cells
from long_context_tasks.results.lengths import FamilyLength
from long_context_tasks.results.models import Models
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.report import HeatMap, Section
from long_context_tasks.site import words
from long_context_tasks.stats import Mean

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore


class CellMap(NamedTuple):
    """A heat map of a model on a task; the model is empty where the map belongs to the task alone."""

    model: str
    task: str
    map: HeatMap


@dataclass(frozen=True)
class Breakdown:
    """Means of a cell's turns by one of their labels.

    Attributes:
        cell: whose turns.
        label: as ``position`` or ``question type``.
        groups: value of the label to the mean over the turns that have it, in the order to show.
    """

    cell: Cell
    label: str
    groups: Sequence[tuple[str, Mean]]

    @property
    def top(self) -> float:
        """Upper end of the scale of its bars."""
        ends = [end for _, mean in self.groups for end in (mean.value, mean.high) if math.isfinite(end)]
        return words.scale_top(max(ends, default=0.0), points=self.cell.points)


@dataclass(frozen=True)
class SiteOptions:
    """How the site is made, and what it shows beside runs.

    Attributes:
        title: of the leaderboard.
        made: date of the site, as text; empty leaves it out.
        published: figures of papers; all are on the benchmark's page, those of tasks with runs on theirs as well.
        groups: cells of groups of tasks that weigh every case equally; see :mod:`long_context_tasks.results.cells`.
        lengths: effective context lengths.
        heat_maps: see :class:`CellMap`.
        sections: benchmark to the sections of its own report, which its page shows.
        label_values: label to its values in the order to show, each with the words for it.
        label_titles: label to words for it.
        positions: labels that say where in the context something is; they are drawn as well.
        position_variants: variants of tasks that move it, in order; they are drawn over one another.
        models: claimed windows and what else is known about models.
        measured_wer: task to the measured word error rate of its transcripts, in percent.
        chance: task to the score of guessing.
        judges: judge to a sentence about it, such as its agreement with people.
        benchmarks: benchmark to its title.
        benchmark_about: benchmark to a sentence or two, with the paper.
        about: task, or family of tasks, to a sentence.
        metrics: metric to a sentence.
        official: task to the metric that follows the paper's code, where there is one.
        rates: metrics that describe how a model responds, not how well, each with the heading of its column.
        downloads: names of files that the caller puts beside the first page, to link to.
        submit_to: address of the repository that takes new results; empty where there is none.
    """

    title: str = "Long-context leaderboard"
    made: str = ""
    published: "Sequence[PublishedScore]" = ()
    groups: Sequence[Cell] = ()
    lengths: Sequence[FamilyLength] = ()
    heat_maps: Sequence[CellMap] = ()
    sections: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    label_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    label_titles: Mapping[str, str] = field(default_factory=dict)
    positions: Sequence[str] = ()
    position_variants: Sequence[str] = ()
    models: Models = field(default_factory=Models)
    measured_wer: Mapping[str, float] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    benchmarks: Mapping[str, str] = field(default_factory=dict)
    benchmark_about: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    official: Mapping[str, str] = field(default_factory=dict)
    rates: Mapping[str, str] = field(default_factory=dict)
    downloads: Sequence[str] = ()
    submit_to: str = ""


MOST_VALUES = 12
"""A label with more values, such as an id, breaks down nothing."""


def label_breakdowns(
    collection: Collection,
    cells: Sequence[Cell],
    orders: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Breakdown]:
    """Return means of the turns of each cell by each label with 2 to :data:`MOST_VALUES` values and on average two turns or more a value.

    Measured quantities, which are no whole numbers, break down nothing.

    ``orders`` gives a label's values in the order to show, each with the words for it; others go by size or name.
    """
    return [
        breakdown
        for place, turns in turns_of_cells(collection, cells).items()
        for breakdown in _breakdowns(cells[place], turns, orders or {})
    ]


def _breakdowns(
    cell: Cell, turns: pl.DataFrame, orders: Mapping[str, Mapping[str, str]]
) -> Iterator[Breakdown]:
    texts = turns["labels"].cast(pl.String()).to_list()
    parsed = {text: _parsed_labels(text) for text in dict.fromkeys(texts) if text}
    for name in dict.fromkeys(name for labels in parsed.values() for name in labels):
        values = [parsed[text].get(name) if text else None for text in texts]
        different = dict.fromkeys(value for value in values if value is not None)
        n = sum(value is not None for value in values)
        if not 2 <= len(different) <= MOST_VALUES or 2 * len(different) > n:
            continue
        shown = orders.get(name, {})
        place = {value: number for number, value in enumerate(shown)}
        parts = (
            turns.with_columns(pl.Series("value_of_label", values, pl.String()))
            .drop_nulls("value_of_label")
            .partition_by("value_of_label", as_dict=True)
        )
        graded = not turns["value"].drop_nulls().is_in([0.0, 1.0]).all()
        ordered = sorted(different, key=lambda value: (place.get(value, len(place)), *_natural(value)))
        scale = scale_of(cell.benchmark, cell.metric, points=cell.points)
        groups = [
            (shown.get(value, value), mean_of(parts[(value,)], scale, graded=graded)) for value in ordered
        ]
        yield Breakdown(cell, name, groups)


def _parsed_labels(text: str) -> dict[str, str]:
    """The labels that are words, whole numbers, yes or no."""
    try:
        held = loads(text)
    except ValueError:
        return {}
    if not isinstance(held, dict):
        return {}
    spelled = {True: "yes", False: "no"}
    return {
        str(name): spelled[value] if isinstance(value, bool) else str(value)
        for name, value in held.items()
        if isinstance(value, str | int)
    }


def _natural(text: str) -> tuple[float, str]:
    """Numbers by size, before words."""
    try:
        return (float(text.partition("–")[0]), text)
    except ValueError:
        return (math.inf, text)
