"""What the site shows beside runs and cells; the caller has it already and hands it over as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class ShownLength:
    """An effective context length.

    Attributes:
        model, family: whose, and over the lengths of which tasks.
        length: in words, as ``>= 65536``, ``16384``, ``none`` or ``unknown``.
        interval: ends in tokens; None where there is none.
        definition: in one sentence.
        variant, judge: of the tasks.
    """

    model: str
    family: str
    length: str
    interval: tuple[float, float] | None
    definition: str
    variant: str = ""
    judge: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A matrix with names of rows and columns, as where in the context the content of summaries comes from.

    Attributes:
        model: whose; empty where it belongs to the task alone.
        task: name.
        title: of the figure.
        caption: what a cell is, in one or two sentences.
        x_title, y_title: of the axes.
        x, y: names of columns and rows.
        values: a row for each of ``y``; None where there is nothing.
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
class SiteOptions:
    """How the site is made, and what it shows beside runs.

    Attributes:
        title: of the leaderboard.
        made: date of the site, as it should be read; empty leaves it out.
        published: figures of papers.
        lengths: effective context lengths.
        heat_maps: see :class:`HeatMap`.
        breakdowns: means by label; those of labels that the cases carry are computed and need not be given.
        claimed_windows: model to the context length that its makers claim, in tokens.
        measured_wer: task to the measured word error rate of its transcripts, in percent.
        chance: task to what guessing scores.
        judges: judge to a sentence about it, as its agreement with people.
        benchmarks: benchmark to its title.
        about: task, or family of tasks, to a sentence.
        metrics: metric to a sentence.
        downloads: names of files beside the first page, which the caller puts there, to link to.
    """

    title: str = "Long-context leaderboard"
    made: str = ""
    published: Sequence[PublishedRow] = ()
    lengths: Sequence[ShownLength] = ()
    heat_maps: Sequence[HeatMap] = ()
    breakdowns: Sequence[Breakdown] = ()
    claimed_windows: Mapping[str, int] = field(default_factory=dict)
    measured_wer: Mapping[str, float] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    benchmarks: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    downloads: Sequence[str] = ()
