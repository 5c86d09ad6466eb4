"""What the templates get: numbers already as text, links made, nothing escaped (the templates escape)."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from long_context_tasks.results.cells import Cell, HostsApart, mean_of, turns_of_cells
from long_context_tasks.results.lengths import ends_words, length_words
from long_context_tasks.results.tidy import Collection
from long_context_tasks.site import words
from long_context_tasks.site.leaderboard import Leaf, is_score_of, leaf_of
from long_context_tasks.site.shown import Breakdown, PublishedRow, ShownLength, SiteOptions
from long_context_tasks.stats import Mean

# Links from a score to the cases of its runs, each named by what tells it from the others: host,
# judge, day, seed.


@dataclass(frozen=True)
class RunFacts:
    """What tells a run from others of the same score; texts, empty where nobody says.

    Attributes:
        task, host, judge, made, seed: as in the tidy schema.
    """

    task: str
    host: str
    judge: str
    made: str
    seed: str

    @property
    def told(self) -> str:
        """All but the task in one line, for the title of a link."""
        parts = (self.host, self.judge and f"judge {self.judge}", words.day(self.made), self._seed)
        return ", ".join(part for part in parts if part)

    @property
    def parts(self) -> tuple[str, ...]:
        """What may stand in a link, in the order in which it is asked for."""
        judge = self.judge and f"judge {self.judge}"
        return self.task, self.host, judge, words.day(self.made), self._seed, _time(self.made)

    @property
    def _seed(self) -> str:
        return self.seed and f"seed {self.seed}"


@dataclass(frozen=True)
class RunLink:
    """A link to the cases of a run.

    Attributes:
        label: what it shows; empty where it is the only one.
        told: the run in one line.
        chunk: with the list of its cases.
    """

    label: str
    told: str
    chunk: str


def facts_of(runs: pl.DataFrame) -> dict[str, RunFacts]:
    """Run to its facts; see :data:`long_context_tasks.results.tidy.RUNS`."""
    columns = ("task", "host", "judge", "made", "seed")
    return {
        str(run): RunFacts(*("" if one is None else str(one) for one in facts))
        for run, *facts in runs.select("run", *columns).iter_rows()
    }


def run_links(runs: Sequence[str], facts: Mapping[str, RunFacts], lists: Mapping[str, str]) -> list[RunLink]:
    """Links of the runs that have a list of cases.

    Args:
        runs: of one score.
        facts: see :func:`facts_of`; a run without any has a number.
        lists: run to the chunk with the list of its cases.
    """
    shown = [run for run in runs if run in lists]
    known = [facts.get(run, RunFacts("", "", "", "", "")) for run in shown]
    return [
        RunLink(label, one.told, lists[run])
        for run, one, label in zip(shown, known, labels_of(known), strict=True)
    ]


def labels_of(facts: Sequence[RunFacts]) -> list[str]:
    """As much of each as tells them apart, and a number where nothing does; empty for a single one.

    >>> first = RunFacts("t", "lm_eval", "", "2026-01-31T10-00-00", "1")
    >>> labels_of([first, RunFacts("t", "opencompass", "", "20260131_100000", "1")])
    ['lm_eval', 'opencompass']
    >>> labels_of([first, RunFacts("t", "lm_eval", "", "2026-01-31T11-00-00", "2")]), labels_of([first, first])
    (['seed 1', 'seed 2'], ['1', '2'])
    """
    labels = [""] * len(facts)
    for texts in zip(*(one.parts for one in facts), strict=True):
        longer = [" ".join(filter(None, pair)) for pair in zip(labels, texts, strict=True)]
        if len(set(longer)) > len(set(labels)):
            labels = longer
    counted: dict[str, int] = {}
    numbered = []
    for label in labels:
        counted[label] = counted.get(label, 0) + 1
        same = labels.count(label) > 1
        numbered.append(" ".join(filter(None, (label, str(counted[label]) if same else ""))))
    return numbered


def _time(made: str) -> str:
    """Time of the day in a moment as a host wrote it; empty where it has none.

    >>> _time("20260131_100230"), _time("2026-01-31")
    ('10:02:30', '')
    """
    digits = re.sub(r"\D", "", made)
    return f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}" if len(digits) >= 14 else ""


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


# What became of the responses: how many were scored, cut, empty, unparsable or not judged, and the
# rates beside the score.


RATES: Mapping[str, str] = {
    "instruction_following": "Followed the form",
    "copy_instruction": "Copied the example",
    "answered": "Answered",
    "sections_covered": "Sections covered",
    "judged_share": "Judgements with a rating",
}
"""Metrics that tell how a model responds rather than how well."""


@dataclass(frozen=True)
class QualityTable:
    """Columns, and rows of a name, a link and a text for each column."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[str]]]


def quality_table(cells: Sequence[Cell], about: str, names: Names) -> QualityTable | None:
    """A row for each cell; of reasons and rates those columns that some cell has.

    Args:
        cells: of a page, in its order.
        about: ``model`` or ``task``: what rows are.
        names: of files.
    """
    if not cells:
        return None
    counted: dict[str, int] = {}
    for cell in cells:
        for reason, count in cell.mean.reasons.items():
            counted[reason] = counted.get(reason, 0) + count
    reasons = sorted(
        (reason for reason, count in counted.items() if count), key=lambda one: (-counted[one], one)
    )
    rates = [metric for metric in RATES if any(_value(cell, metric) for cell in cells)]
    columns = (
        "Scored",
        "Coverage",
        "Cut by the host",
        *map(_heading, reasons),
        *(RATES[metric] for metric in rates),
    )
    rows = []
    named = [row_name(cell, about, names) for cell in cells]
    labels = [words.told_of(words.settings(cell.settings), cell.judge or "") for cell in cells]
    apart = words.told_apart([name for name, _ in named], labels)
    for cell, name, (_, link) in zip(cells, apart, named, strict=True):
        truncated = "unknown" if cell.truncated is None else f"{cell.truncated:,}"
        rows.append(
            (
                name,
                link,
                (
                    words.cases(cell.mean),
                    f"{100 * cell.mean.coverage:.1f} %" if cell.mean.total else "–",
                    truncated,
                    *(f"{cell.mean.reasons.get(reason, 0):,}" for reason in reasons),
                    *(_value(cell, metric) or "–" for metric in rates),
                ),
            )
        )
    return QualityTable(columns, rows)


def _heading(reason: str) -> str:
    text = words.reason_words(reason)
    return text[:1].upper() + text[1:]


def _value(cell: Cell, metric: str) -> str:
    mean = cell.official.get(metric)
    if mean is None or not math.isfinite(100 * mean.value):
        return ""
    return f"{100 * mean.value:.1f} %"


# Means of a cell's turns by the labels that they carry (question type, where the answer lies,
# domain).


MOST_VALUES = 12
"""A label with more values, as an id, is none to break scores down by."""


def label_breakdowns(
    collection: Collection,
    cells: Sequence[Cell],
    orders: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Breakdown]:
    """Breakdowns of all cells by each label with 2 to :data:`MOST_VALUES` values and two turns or more a value on average.

    Measured quantities, which are no whole numbers, are none to break scores down by.

    Args:
        collection: that the cells are of.
        cells: any.
        orders: label to its values in the order to show, each with the words for it; others go by size or name.
    """
    found: list[Breakdown] = []
    for place, turns in turns_of_cells(collection, cells).items():
        found += _of_cell(cells[place], turns, orders or {})
    return found


def _of_cell(cell: Cell, turns: pl.DataFrame, orders: Mapping[str, Mapping[str, str]]) -> list[Breakdown]:
    texts = turns["labels"].cast(pl.String()).to_list()
    read = {text: _labels(text) for text in dict.fromkeys(texts) if text}
    breakdowns = []
    for name in dict.fromkeys(name for labels in read.values() for name in labels):
        values = [read[text].get(name) if text else None for text in texts]
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
        groups = [
            (shown.get(value, value), mean_of(parts[(value,)], points=cell.points, graded=graded))
            for value in sorted(different, key=lambda one: (place.get(one, len(place)), *_natural(one)))
        ]
        breakdowns.append(
            Breakdown(
                cell.model,
                cell.task,
                name,
                groups,
                cell.points,
                cell.judge or "",
                settings=words.settings(cell.settings),
            )
        )
    return breakdowns


def _labels(text: str) -> dict[str, str]:
    """The labels that are words, whole numbers, yes or no."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    return {str(name): _word(value) for name, value in held.items() if isinstance(value, str | int)}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _natural(text: str) -> tuple[float, str]:
    """Numbers by size, before words."""
    head = text.partition("–")[0]
    try:
        return (float(head), text)
    except ValueError:
        return (float("inf"), text)


# The first page's table of effective context lengths: models by families of tasks.


@dataclass(frozen=True)
class LengthCell:
    """A length in words, its interval, the number of its definition below the table, and what the column is sorted by."""

    length: str
    interval: str
    mark: int
    definition: str
    sort: str


@dataclass(frozen=True)
class LengthRow:
    """A model, the file of its page, and a cell for each column; None without one."""

    model: str
    file: str
    cells: Sequence[LengthCell | None]


@dataclass(frozen=True)
class LengthTable:
    """Names of the columns, rows, and the definitions in the order of their numbers."""

    columns: Sequence[str]
    rows: Sequence[LengthRow]
    definitions: Sequence[str]


def length_table(lengths: Sequence[ShownLength], names: Names) -> LengthTable | None:
    """The table; None without any length of a model that has a page."""
    shown = [each for each in lengths if each.model in names.models]
    if not shown:
        return None
    columns = {each.name: words.short_name(each.name, each.benchmark) for each in shown}
    marks = {text: number for number, text in enumerate(dict.fromkeys(map(_definition, shown)), start=1)}
    by_place = {(each.model, each.name): each for each in shown}
    rows = []
    for model in sorted({each.model for each in shown}, key=str.lower):
        found = [by_place.get((model, column)) for column in columns]
        rows.append(
            LengthRow(
                model, names.models[model], [None if one is None else _cell(one, marks) for one in found]
            )
        )
    return LengthTable(list(columns.values()), rows, list(marks))


def _definition(one: ShownLength) -> str:
    """Without the lengths that decided nothing, which differ from model to model."""
    return one.definition.partition("; not decided")[0]


def _cell(one: ShownLength, marks: dict[str, int]) -> LengthCell:
    digits = "".join(character for character in one.length if character.isdecimal())
    return LengthCell(
        length_words(one.length),
        "" if one.interval is None else ends_words(*one.interval),
        marks[_definition(one)],
        one.definition,
        digits or ("0" if one.length == "none" else ""),
    )
