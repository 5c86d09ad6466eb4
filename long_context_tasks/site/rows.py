"""Tables of the pages as templates take them: numbers as text, links made, nothing escaped (the templates escape)."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl

from long_context_tasks.results.cells import Cell, HostsApart, mean_of, turns_of_cells
from long_context_tasks.results.lengths import FamilyLength, ends_words, length_words
from long_context_tasks.results.tidy import Collection
from long_context_tasks.site import words
from long_context_tasks.site.leaderboard import is_score
from long_context_tasks.site.shown import Breakdown, SiteOptions
from long_context_tasks.stats import Mean

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.published import PublishedScore

About = Literal["model", "task"]
"""What rows are about: models on a task's page, tasks on a model's page."""


@dataclass(frozen=True)
class RunFacts:
    """What distinguishes a run from others of the same score; texts, empty where unknown.

    Attributes:
        task, host, judge, made, seed: as in the tidy schema.
    """

    task: str = ""
    host: str = ""
    judge: str = ""
    made: str = ""
    seed: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """What a link may show, in the order in which it is needed."""
        seed = self.seed and f"seed {self.seed}"
        judge = words.judged_by(self.judge)
        return self.task, self.host, judge, words.day(self.made), seed, words.time_of_day(self.made)

    @property
    def line(self) -> str:
        """All but the task and the time of day in one line, for the title of a link."""
        return ", ".join(filter(None, self.parts[1:5]))


class RunLink(NamedTuple):
    """A link to the cases of a run.

    Attributes:
        label: what it shows; empty where it is the only one.
        line: the run in one line.
        chunk: with the list of its cases.
    """

    label: str
    line: str
    chunk: str


def facts_of(runs: pl.DataFrame) -> dict[str, RunFacts]:
    """Return run to its facts; see :data:`long_context_tasks.results.tidy.RUNS`."""
    columns = ("task", "host", "judge", "made", "seed")
    return {
        str(run): RunFacts(*("" if fact is None else str(fact) for fact in facts))
        for run, *facts in runs.select("run", *columns).iter_rows()
    }


def labels_of(facts: Sequence[RunFacts]) -> list[str]:
    """Return as much of each run as distinguishes them, and a number where nothing does; empty for a single run.

    >>> first = RunFacts("t", "lm_eval", "", "2026-01-31T10-00-00", "1")
    >>> labels_of([first, RunFacts("t", "opencompass", "", "20260131_100000", "1")])
    ['lm_eval', 'opencompass']
    >>> labels_of([first, RunFacts("t", "lm_eval", "", "2026-01-31T11-00-00", "2")]), labels_of([first, first])
    (['seed 1', 'seed 2'], ['1', '2'])
    """
    labels = [""] * len(facts)
    for texts in zip(*(run.parts for run in facts), strict=True):
        longer = [" ".join(filter(None, pair)) for pair in zip(labels, texts, strict=True)]
        if len(set(longer)) > len(set(labels)):
            labels = longer
    seen: Counter[str] = Counter()
    numbered = []
    for label in labels:
        seen[label] += 1
        number = str(seen[label]) if labels.count(label) > 1 else ""
        numbered.append(" ".join(filter(None, (label, number))))
    return numbered


@dataclass(frozen=True)
class Names:
    """Slugs of models and tasks; of runs, the chunks with the lists of their cases and what distinguishes them."""

    models: Mapping[str, str]
    tasks: Mapping[str, str]
    case_lists: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, RunFacts] = field(default_factory=dict)

    def link(self, about: About, model: str, task: str) -> str:
        """Return the link to the page of a model or task, from a page one folder down."""
        return (
            f"../model/{self.models[model]}.html" if about == "model" else f"../task/{self.tasks[task]}.html"
        )

    def run_links(self, runs: Sequence[str]) -> list[RunLink]:
        """Return links to the cases of the runs of one score, for those that have any."""
        listed = [run for run in runs if run in self.case_lists]
        known = [self.runs.get(run, RunFacts()) for run in listed]
        return [
            RunLink(label, facts.line, self.case_lists[run])
            for run, facts, label in zip(listed, known, labels_of(known), strict=True)
        ]


class Other(NamedTuple):
    """A metric beside the headline: name, value, interval, and what it is."""

    name: str
    value: str
    interval: str
    about: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """A score in a table; all texts.

    Attributes:
        name: of the model or task that the row is about.
        link: to its page; empty where it has none.
        anchor: of the row.
        value, interval, cases: of the score.
        bar: see :func:`bar`; empty where there is nothing to draw.
        sort: what the score column is sorted by; empty without a value.
        notes: coverage, reasons, why it is not ranked.
        ranked: False marks the row.
        metric, judge, made, host: of the score.
        others: other metrics.
        runs: links to the cases of its runs.
        published: source of a published figure; empty for a score of runs.
        settings: a short name for those that differ from the defaults; empty where the table names them.
    """

    name: str
    value: str
    cases: str
    bar: str
    sort: str
    notes: Sequence[str]
    metric: str
    ranked: bool = False
    link: str = ""
    anchor: str = ""
    interval: str = ""
    judge: str = ""
    made: str = ""
    host: str = ""
    others: Sequence[Other] = ()
    runs: Sequence[RunLink] = ()
    published: str = ""
    settings: str = ""


def row_of(cell: Cell, about: About, names: Names, options: SiteOptions, top: float, shared: str = "") -> Row:
    """Return a cell as a row.

    ``top`` is the upper end of the bars; ``shared`` the settings that the table names.
    """
    mean = cell.mean
    settings = words.settings(cell.settings)
    anchor = names.models[cell.model] if about == "model" else names.tasks[cell.task]
    return Row(
        name=_row_name(cell, about),
        link=names.link(about, cell.model, cell.task),
        # The anchor is that of the cell with the default settings, which is in the same table.
        anchor="" if settings else f"{about}-{anchor}",
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
        runs=names.run_links(cell.runs),
        settings="" if settings == shared else words.settings_label(settings),
    )


def _row_name(cell: Cell, about: About) -> str:
    return cell.model if about == "model" else words.short_name(cell.task, cell.benchmark)


def _distinct_names(cells: Sequence[Cell], about: About) -> list[str]:
    """Names of rows; those that occur more than once with settings and judge."""
    labels = [words.setting_label(words.settings(cell.settings), cell.judge) for cell in cells]
    return words.told_apart([_row_name(cell, about) for cell in cells], labels)


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
    # Repeats are within a host: hosts are no repeats of one another.
    n_hosts = len(cell.hosts)
    if cell.n_runs > n_hosts:
        known = cell.run_sd is not None and math.isfinite(cell.run_sd)
        between = "between them" if n_hosts == 1 else "within a host"
        spread = f", SD {between} {words.score(cell.run_sd or 0.0, points=cell.points)}" if known else ""
        notes.append(f"{cell.n_runs} runs{spread}")
    if cell.apart is not None:
        notes.append(f"{n_hosts} hosts{_hosts_note(cell.apart, points=cell.points)}")
    if cell.version is not None and cell.version > 1:
        notes.append(f"version {cell.version}")
    return notes


def _hosts_note(apart: HostsApart, *, points: bool) -> str:
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


def published_row(paper: "PublishedScore", options: SiteOptions, top: float, metric: str = "") -> Row:
    """Return a published figure as a row about its model.

    A figure by another metric than ``metric``, that of the table's scores, is marked, and neither drawn nor sorted among the scores
    unless it is the official form of it. An empty ``metric``: the table names the metric of each row.
    """
    notes = [text for text in (paper.subset and f"only {paper.subset}", paper.setting) if text]
    other = metric not in ("", paper.metric)
    alike = not other or is_score(paper, metric, options)
    if other:
        notes.insert(0, f"† by another metric than {metric}")
    return Row(
        name=paper.model,
        value=("† " if other else "") + words.score(paper.score, points=paper.unit == "points"),
        cases="" if paper.n is None else f"{paper.n:,}",
        bar=bar(Mean(paper.score, math.nan, math.nan, 0, 0, {}), top) if alike else "",
        sort=f"{paper.score:.6g}" if alike and math.isfinite(paper.score) else "",
        notes=notes,
        metric=paper.metric,
        published=paper.source,
    )


def bar(mean: Mean, top: float) -> str:
    """Return low, mean and high in per mille of a scale from 0 to ``top``, for the script that draws them; without an interval the mean thrice.

    >>> bar(Mean(0.5, 0.4, 0.61, 9, 9, {}), 1.0)
    '400 500 610'
    """
    if not math.isfinite(mean.value):
        return ""
    known = math.isfinite(mean.low) and math.isfinite(mean.high)
    ends = (mean.low, mean.value, mean.high) if known else (mean.value,) * 3
    return " ".join(str(round(1000 * min(max(end / top, 0.0), 1.0))) for end in ends)


class LabelCell(NamedTuple):
    """Value, interval, n and bar of one cell of a breakdown."""

    value: str
    interval: str
    n: str
    bar: str


class LabelTable(NamedTuple):
    """A breakdown: name of the table, names of the columns, and rows of a name, a link and a cell for each column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[LabelCell | None]]]


def label_tables(breakdowns: Sequence[Breakdown], about: About, names: Names) -> list[LabelTable]:
    """Return the breakdowns of one model or task, those by the same label and values in one table."""
    tables: dict[tuple[str, tuple[str, ...]], list[Breakdown]] = {}
    for each in breakdowns:
        columns = tuple(value for value, _ in each.groups)
        tables.setdefault((each.label, columns), []).append(each)
    found = []
    for (label, columns), members in tables.items():
        rows = []
        for each, name in zip(members, _distinct_names([each.cell for each in members], about), strict=True):
            points = each.cell.points
            ends = [end for _, mean in each.groups for end in (mean.value, mean.high) if math.isfinite(end)]
            top = words.scale_top(max(ends, default=0.0), points=points)
            link = names.link(about, each.cell.model, each.cell.task)
            rows.append((name, link, [_label_cell(mean, points, top) for _, mean in each.groups]))
        found.append(LabelTable(label.replace("_", " "), columns, rows))
    return found


def _label_cell(mean: Mean, points: bool, top: float) -> LabelCell | None:
    if mean.n == 0:
        return None
    value, interval = words.score(mean.value, points=points), words.interval(mean, points=points)
    return LabelCell(value, interval, words.cases(mean), bar(mean, top))


class QualityTable(NamedTuple):
    """What became of the responses: columns, and rows of a name, a link and a text for each column."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[str]]]


def quality_table(
    cells: Sequence[Cell], about: About, names: Names, rates: Mapping[str, str]
) -> QualityTable | None:
    """Return coverage, reasons and rates with a row for each cell; of reasons and rates those that some cell has."""
    if not cells:
        return None
    counted: Counter[str] = Counter()
    for cell in cells:
        counted.update(cell.mean.reasons)
    reasons = sorted((reason for reason in counted if counted[reason]), key=lambda r: (-counted[r], r))
    metrics = [metric for metric in rates if any(_rate(cell, metric) for cell in cells)]
    headings = (words.reason_words(reason) for reason in reasons)
    columns = (
        *("Scored", "Coverage", "Cut by the host"),
        *(text[:1].upper() + text[1:] for text in headings),
        *(rates[metric] for metric in metrics),
    )
    rows = []
    for cell, name in zip(cells, _distinct_names(cells, about), strict=True):
        texts = (
            words.cases(cell.mean),
            f"{100 * cell.mean.coverage:.1f} %" if cell.mean.total else "–",
            "unknown" if cell.truncated is None else f"{cell.truncated:,}",
            *(f"{cell.mean.reasons.get(reason, 0):,}" for reason in reasons),
            *(_rate(cell, metric) or "–" for metric in metrics),
        )
        rows.append((name, names.link(about, cell.model, cell.task), texts))
    return QualityTable(columns, rows)


def _rate(cell: Cell, metric: str) -> str:
    mean = cell.official.get(metric)
    if mean is None or not math.isfinite(100 * mean.value):
        return ""
    return f"{100 * mean.value:.1f} %"


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
        for breakdown in _breakdowns_of(cells[place], turns, orders or {})
    ]


def _breakdowns_of(
    cell: Cell, turns: pl.DataFrame, orders: Mapping[str, Mapping[str, str]]
) -> Iterable[Breakdown]:
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
        groups = [
            (shown.get(value, value), mean_of(parts[(value,)], points=cell.points, graded=graded))
            for value in ordered
        ]
        yield Breakdown(cell, name, groups)


def _parsed_labels(text: str) -> dict[str, str]:
    """The labels that are words, whole numbers, yes or no."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict):
        return {}
    return {str(name): _label_word(value) for name, value in held.items() if isinstance(value, str | int)}


def _label_word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _natural(text: str) -> tuple[float, str]:
    """Numbers by size, before words."""
    try:
        return (float(text.partition("–")[0]), text)
    except ValueError:
        return (math.inf, text)


class LengthCell(NamedTuple):
    """A length in words, its interval, the number of its definition below the table, and what the column is sorted by."""

    length: str
    interval: str
    mark: int
    definition: str
    sort: str


class LengthRow(NamedTuple):
    """A model, the file of its page, and a cell for each column; None without one."""

    model: str
    file: str
    cells: Sequence[LengthCell | None]


class LengthTable(NamedTuple):
    """Effective context lengths of models by families of tasks; definitions in the order of their numbers."""

    columns: Sequence[str]
    rows: Sequence[LengthRow]
    definitions: Sequence[str]


def length_table(lengths: Sequence[FamilyLength], names: Names) -> LengthTable | None:
    """Return the first page's table; None without a length of any model that has a page."""
    shown = [each for each in lengths if each.model in names.models]
    if not shown:
        return None
    columns = {
        words.length_name(each): words.short_name(words.length_name(each), each.benchmark) for each in shown
    }
    marks = {text: number for number, text in enumerate(dict.fromkeys(map(_definition, shown)), start=1)}
    by_place = {(each.model, words.length_name(each)): each for each in shown}
    rows = []
    for model in sorted({each.model for each in shown}, key=str.lower):
        found = [by_place.get((model, column)) for column in columns]
        cells = [None if each is None else _length_cell(each, marks) for each in found]
        rows.append(LengthRow(model, names.models[model], cells))
    return LengthTable(list(columns.values()), rows, list(marks))


def _definition(each: FamilyLength) -> str:
    """Without the lengths that decide nothing, which differ from model to model."""
    return each.found.definition.partition("; not decided")[0]


def _length_cell(each: FamilyLength, marks: Mapping[str, int]) -> LengthCell:
    found = each.found
    return LengthCell(
        length_words(str(found)),
        ends_words(found.interval.low, found.interval.high),
        marks[_definition(each)],
        found.definition,
        "" if found.length is None else str(found.length),
    )
