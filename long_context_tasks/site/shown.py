"""What the site shows beside runs and cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import FamilyLength
from long_context_tasks.results.models import Models
from long_context_tasks.schema.report import HeatMap, Section
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


@dataclass(frozen=True)
class SiteOptions:
    """How the site is made, and what it shows beside runs.

    Attributes:
        title: of the leaderboard.
        made: date of the site, as text; empty leaves it out.
        published: figures of papers; those of tasks without a run are on the benchmark's page.
        groups: cells of groups of tasks that weigh every case equally; see :mod:`long_context_tasks.results.cells`.
        lengths: effective context lengths.
        heat_maps: see :class:`CellMap`.
        sections: benchmark to the sections of its own report, which its page shows.
        label_values: label to its values in the order to show, each with the words for it.
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
    """

    title: str = "Long-context leaderboard"
    made: str = ""
    published: "Sequence[PublishedScore]" = ()
    groups: Sequence[Cell] = ()
    lengths: Sequence[FamilyLength] = ()
    heat_maps: Sequence[CellMap] = ()
    sections: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    label_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
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
