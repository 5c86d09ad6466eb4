"""What the templates get: numbers already as text, links made, nothing escaped (the templates escape)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from long_context_tasks.report.cells import Cell
from long_context_tasks.report.repeats import HostsApart
from long_context_tasks.report.site import words
from long_context_tasks.report.site.leaderboard import Leaf, is_score_of, leaf_of
from long_context_tasks.report.site.run_links import RunFacts, RunLink, run_links
from long_context_tasks.report.site.shown import Breakdown, PublishedRow, SiteOptions
from long_context_tasks.stats import Mean


@dataclass(frozen=True)
class Other:
    """A metric beside the headline: name, value, interval, and what it is."""

    name: str
    value: str
    interval: str
    about: str


@dataclass(frozen=True)
class Row:
    """A score in a table.

    Attributes:
        name: of the model or task that the row is about.
        link: to its page, from a page one folder down; empty where it has none.
        anchor: of the row.
        value, interval, cases: as text.
        bar: low, mean, high in per mille of the scale, for the script that draws it; empty where there is nothing to draw.
        sort: what the score column is sorted by, empty where there is none.
        notes: coverage, reasons, why it is not ranked: short texts.
        ranked: False marks it.
        metric, judge, made, host: as text.
        others: other metrics.
        runs: links to the cases of the cell's runs.
        published: source of the figure, of a published one; empty for an own one.
        settings: a short name for those that differ from the defaults; empty where the table names them.
    """

    name: str
    link: str
    anchor: str
    value: str
    interval: str
    cases: str
    bar: str
    sort: str
    notes: Sequence[str]
    ranked: bool
    metric: str
    judge: str
    made: str
    host: str
    others: Sequence[Other] = ()
    runs: Sequence[RunLink] = ()
    published: str = ""
    settings: str = ""


@dataclass(frozen=True)
class LabelTable:
    """A breakdown: name of the table, names of the columns, and rows of a name, a link and a cell for each column."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence["LabelCell | None"]]]


@dataclass(frozen=True)
class LabelCell:
    """Value, interval, n and bar of one cell of a breakdown."""

    value: str
    interval: str
    n: str
    bar: str


@dataclass(frozen=True)
class Names:
    """Slugs of models and tasks; of runs, the chunks with the lists of their cases and what tells them apart."""

    models: Mapping[str, str]
    tasks: Mapping[str, str]
    case_lists: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, RunFacts] = field(default_factory=dict)


def row_of(cell: Cell, about: str, names: Names, options: SiteOptions, top: float, shared: str = "") -> Row:
    """A cell as a row.

    Args:
        cell: with what a row says.
        about: ``model`` for rows of models on a task's page, ``task`` for rows of tasks on a model's page.
        names: of files.
        options: of the site.
        top: upper end of the bars.
        shared: settings that the table names, in words.
    """
    mean: Mean = cell.mean
    name, link = row_name(cell, about, names)
    told = words.settings(cell.settings)
    anchor = names.models[cell.model] if about == "model" else names.tasks[cell.task]
    return Row(
        name=name,
        link=link,
        # A cell with settings of its own stands beside the plain one, which has the anchor.
        anchor="" if told else f"{about}-{anchor}",
        value=words.score(mean.value, points=cell.points),
        interval=words.interval(mean, points=cell.points),
        cases=words.cases(mean),
        bar=bar(mean, top),
        sort=f"{mean.value:.6g}" if math.isfinite(mean.value) else "",
        notes=_notes(cell),
        ranked=cell.ranked,
        metric=cell.metric,
        judge=cell.judge or "",
        made=words.day(cell.made),
        host=", ".join(sorted(cell.hosts)),
        others=[
            Other(
                metric,
                words.score(value.value, points=metric in cell.points_metrics),
                words.interval(value, points=metric in cell.points_metrics),
                options.metrics.get(metric, ""),
            )
            for metric, value in cell.official.items()
            if metric != cell.metric
        ],
        runs=run_links(cell.runs, names.runs, names.case_lists),
        settings="" if told == shared else words.settings_label(told),
    )


def row_name(cell: Cell, about: str, names: Names) -> tuple[str, str]:
    """Name of a row and the link to its page, from a page one folder down; see :func:`row_of`."""
    if about == "model":
        return cell.model, f"../model/{names.models[cell.model]}.html"
    return words.short_name(cell.task, cell.benchmark), f"../task/{names.tasks[cell.task]}.html"


def _notes(cell: Cell) -> list[str]:
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
    notes += _repeats(cell)
    if cell.version is not None and cell.version > 1:
        notes.append(f"version {cell.version}")
    return notes


def _repeats(cell: Cell) -> list[str]:
    """Repeats within a host with their spread, and how hosts differ: they are no repeats of one another."""
    notes = []
    n_hosts = len(cell.hosts)
    if cell.n_runs > n_hosts:
        between = "between them" if n_hosts == 1 else "within a host"
        spread = (
            f", SD {between} {words.score(cell.run_sd, points=cell.points)}"
            if cell.run_sd is not None and math.isfinite(cell.run_sd)
            else ""
        )
        notes.append(f"{cell.n_runs} runs{spread}")
    if cell.apart is not None:
        notes.append(f"{n_hosts} hosts{_apart(cell.apart, points=cell.points)}")
    return notes


def _apart(apart: HostsApart, *, points: bool) -> str:
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


def published_row(row: PublishedRow, about: str, benchmark: str, top: float, metric: str = "") -> Row:
    """A published figure as a row.

    Args:
        row: the figure.
        about: see :func:`row_of`.
        benchmark: of its task.
        top: upper end of the bars.
        metric: of the table's scores; a figure by another one is marked, and neither drawn nor sorted among the scores unless it is the
            official form of it. Empty: the table names the metric of each row.
    """
    name = row.model if about == "model" else words.short_name(row.task, benchmark)
    notes = [text for text in (row.subset and f"only {row.subset}", row.setting) if text]
    nowhere = math.nan
    other = metric not in ("", row.metric)
    alike = not other or is_score_of(row.metric, metric)
    if other:
        notes.insert(0, f"† by another metric than {metric}")
    return Row(
        name=name,
        link="",
        anchor="",
        value=("† " if other else "") + words.score(row.value, points=row.points),
        interval="",
        cases="" if row.n is None else f"{row.n:,}",
        bar=bar(Mean(row.value, nowhere, nowhere, row.n or 0, row.n or 0, {}), top) if alike else "",
        sort=f"{row.value:.6g}" if alike and math.isfinite(row.value) else "",
        notes=notes,
        ranked=False,
        metric=row.metric,
        judge="",
        made="",
        host="",
        published=row.source,
    )


def bar(mean: Mean, top: float) -> str:
    """Low, mean and high in per mille of a scale from 0 to ``top``; without an interval the mean thrice.

    >>> bar(Mean(0.5, 0.4, 0.61, 9, 9, {}), 1.0)
    '400 500 610'
    """
    if not math.isfinite(mean.value):
        return ""
    ends = (
        (mean.low, mean.value, mean.high)
        if math.isfinite(mean.low) and math.isfinite(mean.high)
        else (mean.value,) * 3
    )
    return " ".join(str(round(1000 * min(max(end / top, 0.0), 1.0))) for end in ends)


def top_of(cells: Iterable[Cell]) -> dict[Leaf, float]:
    """Upper ends of the bars of each column."""
    highest: dict[Leaf, float] = {}
    points: dict[Leaf, bool] = {}
    for cell in cells:
        leaf = leaf_of(cell)
        points[leaf] = cell.points
        ends = [end for end in (cell.mean.value, cell.mean.high) if math.isfinite(end)]
        highest[leaf] = max([highest.get(leaf, 0.0), *ends])
    return {leaf: words.scale_top(high, points=points[leaf]) for leaf, high in highest.items()}


def label_tables(
    breakdowns: Sequence[Breakdown], about: str, names: Names, benchmarks: Mapping[str, str]
) -> list[LabelTable]:
    """Breakdowns by the same label as one table each: rows are models on a task's page, tasks on a model's.

    Args:
        breakdowns: of one model or of one task.
        about: ``model`` or ``task``: what rows are.
        names: of files.
        benchmarks: task to its benchmark.
    """
    tables: dict[tuple[str, str, tuple[str, ...]], list[Breakdown]] = {}
    for each in breakdowns:
        columns = tuple(value for value, _ in each.groups)
        tables.setdefault((each.label, each.about, columns), []).append(each)
    found = []
    for (label, text, columns), members in tables.items():
        rows = []
        named = words.told_apart(
            [
                each.model if about == "model" else words.short_name(each.task, benchmarks.get(each.task, ""))
                for each in members
            ],
            [words.told_of(each.settings, each.judge) for each in members],
        )
        for each, name in zip(members, named, strict=True):
            link = (
                f"../model/{names.models[each.model]}.html"
                if about == "model"
                else f"../task/{names.tasks[each.task]}.html"
            )
            ends = [end for _, mean in each.groups for end in (mean.value, mean.high) if math.isfinite(end)]
            top = words.scale_top(max(ends, default=0.0), points=each.points)
            rows.append((name, link, [_label_cell(mean, each.points, top) for _, mean in each.groups]))
        found.append(LabelTable(label.replace("_", " "), text, columns, rows))
    return found


def _label_cell(mean: Mean, points: bool, top: float) -> LabelCell | None:
    if mean.n == 0:
        return None
    return LabelCell(
        words.score(mean.value, points=points),
        words.interval(mean, points=points),
        words.cases(mean),
        bar(mean, top),
    )
