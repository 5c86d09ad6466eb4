"""What the site shows beside runs and cells; the caller has it already and hands it over as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from long_context_tasks.results.cells import Cell
from long_context_tasks.stats import Mean


@dataclass(frozen=True)
class PublishedRow:
    """A figure of a paper: shown in a style of its own as published, not run here.

    Attributes:
        model: as the paper names it.
        task: name of ours.
        metric: name of ours that follows the paper's rule.
        value: a share from 0 to 1, or points.
        points: the value is points of a scale.
        source: paper, table and row.
        n: cases of the figure; None where the paper does not say.
        setting: how it was measured; empty where there is nothing to say.
        subset: part of the task that it is about; empty for all. A part is shown on the task's page only.
        benchmark: of the task; empty leaves figures of tasks without a run out.
    """

    model: str
    task: str
    metric: str
    value: float
    points: bool
    source: str
    n: int | None = None
    setting: str = ""
    subset: str = ""
    benchmark: str = ""


@dataclass(frozen=True)
class ShownLength:
    """An effective context length.

    Attributes:
        model, family: whose, and over the lengths of which tasks.
        length: in words, as ``>= 65536``, ``16384``, ``none`` or ``unknown``.
        interval: ends in tokens; None where there is none.
        definition: in one sentence.
        variant, judge: of the tasks.
        settings: of the tasks without the length, in words; empty without any.
        benchmark: of the family; empty where nobody says.
    """

    model: str
    family: str
    length: str
    interval: tuple[float, float] | None
    definition: str
    variant: str = ""
    judge: str = ""
    settings: str = ""
    benchmark: str = ""

    @property
    def name(self) -> str:
        """Of the family with all that tells it from others."""
        parts = (self.family, self.variant, self.settings, self.judge and f"judge {self.judge}")
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True)
class HeatMap:
    """A matrix with names of rows and columns, as where in the context the content of summaries comes from.

    Attributes:
        model: whose; empty where it belongs to the task alone.
        task: name.
        title: of the figure, without the model.
        caption: what a cell is, in one or two sentences.
        x_title, y_title: of the axes.
        x, y: names of columns and rows.
        values: a row for each of ``y``; None where there is nothing.
        low, high: ends of the scale; None: those of the values.
        counts: cases that each value rests on, those of one document once; None leaves them out.
    """

    model: str
    task: str
    title: str
    caption: str
    x_title: str
    y_title: str
    x: Sequence[str]
    y: Sequence[str]
    values: Sequence[Sequence[float | None]]
    low: float | None = None
    high: float | None = None
    counts: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True)
class Breakdown:
    """Means of a cell's cases by one of their labels.

    Attributes:
        model, task: of the cell.
        label: as ``position`` or ``question type``.
        groups: value of the label to the mean over the cases that have it, in the order to show.
        points: the means are points of a scale.
        judge: of the cell; empty without one.
        about: what the figures are, where the label alone does not say; empty else.
        settings: of the cell, in words; empty without any.
    """

    model: str
    task: str
    label: str
    groups: Sequence[tuple[str, Mean]]
    points: bool
    judge: str = ""
    about: str = ""
    settings: str = ""


@dataclass(frozen=True)
class ModelNote:
    """What makers or the user say about a model, as text; empty where nobody says.

    Attributes:
        licence, parameters: of the model.
        aliases: other names that its runs have.
    """

    licence: str = ""
    parameters: str = ""
    aliases: Sequence[str] = ()


@dataclass(frozen=True)
class SiteOptions:
    """How the site is made, and what it shows beside runs.

    Attributes:
        title: of the leaderboard.
        made: date of the site, as it should be read; empty leaves it out.
        published: figures of papers; those of tasks without a run stand on the benchmark's page.
        groups: cells of groups of tasks, every case the same; see :mod:`long_context_tasks.results.cells`.
        lengths: effective context lengths.
        heat_maps: see :class:`HeatMap`.
        breakdowns: means by label; those of labels that the scores carry are computed and need not be given.
        label_values: label to its values in the order to show, each with the words for it.
        positions: labels that tell where in the context something stands: they are drawn as well.
        position_variants: variants of tasks that tell it, in order: they are drawn over one another.
        claimed_windows: model to the context length that its makers claim, in tokens.
        models: model to what else is said about it.
        measured_wer: task to the measured word error rate of its transcripts, in percent.
        chance: task to what guessing scores.
        judges: judge to a sentence about it, as its agreement with people.
        benchmarks: benchmark to its title.
        benchmark_about: benchmark to a sentence or two, with the paper.
        about: task, or family of tasks, to a sentence.
        metrics: metric to a sentence.
        downloads: names of files beside the first page, which the caller puts there, to link to.
    """

    title: str = "Long-context leaderboard"
    made: str = ""
    published: Sequence[PublishedRow] = ()
    groups: Sequence[Cell] = ()
    lengths: Sequence[ShownLength] = ()
    heat_maps: Sequence[HeatMap] = ()
    breakdowns: Sequence[Breakdown] = ()
    label_values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    positions: Sequence[str] = ()
    position_variants: Sequence[str] = ()
    claimed_windows: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, ModelNote] = field(default_factory=dict)
    measured_wer: Mapping[str, float] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    benchmarks: Mapping[str, str] = field(default_factory=dict)
    benchmark_about: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    downloads: Sequence[str] = ()
