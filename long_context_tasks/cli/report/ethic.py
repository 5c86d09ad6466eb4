"""``lct report ethic``: what stored runs of ETHIC say, split as in the paper's analyses."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import CSV, Json, Results, RunsDataDir
from long_context_tasks.cli.output import interval_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from long_context_tasks.benchmarks.elitr_bench.report import Evaluation, Setting, Table
    from long_context_tasks.benchmarks.ethic.report import ScoredCase, ScoredPart
    from long_context_tasks.hosts.stored import StoredCase
    from long_context_tasks.judges import Verdict
    from long_context_tasks.results import StoredRun
    from long_context_tasks.schema import LoadedTask
    from long_context_tasks.stats import GroupMean

_NAME = "ethic"
_WHO = ("host", "model", "task", "judge", "settings", "domain")
_TEXT = frozenset((*_WHO, "length", "items", "position", "metric", "of", "low task", "high task"))
# Which cases were run, not how: cases are told apart by their ids.
_CHOICES = ("lct_length", "lct_n", "lct_prompt_tokens")
_JUDGED = "summarize"
# Counterpart to tasks that have the same contexts; those of the other tasks are shorter or made otherwise.
_HIGH = {
    "single_qa": ("recall",),
    "multi_qa": ("recall",),
    "focused_summary": (_JUDGED, "recall"),
}
_COMPARED = (*_HIGH, _JUDGED, "recall")


@dataclass(frozen=True)
class Measured:
    """All runs of a task with one model, judge and settings, over all domains that were run.

    Attributes:
        setting: which; its task is a family such as ``ethic_recall``.
        how: its options without the folder of built cases.
        task: of the card, such as ``recall``.
        metric: whose values the scores are.
        points: the metric has points from 1 to 5 and no rates.
        cases, parts: scores, the mean over runs where there are several.
    """

    setting: "Setting"
    how: str
    task: str
    metric: str
    points: bool
    cases: "tuple[ScoredCase, ...]"
    parts: "tuple[ScoredPart, ...]"

    def figures(self, group: "GroupMean") -> tuple[str, ...]:
        """Cells of n, mean and interval."""
        from long_context_tasks.benchmarks.elitr_bench.report import count_text, figure_text

        places = 2 if self.points else 3
        return (
            count_text(group.n, group.total),
            figure_text(group.mean, places),
            interval_text(group.interval, places),
        )


def ethic(
    results: Results,
    data_dir: RunsDataDir = None,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", help="Where built cases lie now. Default: the runs' own lct_cases."),
    ] = None,
    official: Annotated[
        bool, typer.Option("--official", help="Split the official scores instead of the headline ones.")
    ] = False,
    bins: Annotated[int, typer.Option("--bins", min=2, max=20, help="Parts of a context, for position.")] = 5,
    csv_dir: Annotated[Path | None, typer.Option("--csv", help=CSV)] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Draw scores of sections over position and length (Fig. 5), .svg or .png."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Split the scores of stored runs as the ETHIC paper's analyses do.

    By context length (5.2), by position (5.3: which labels were recalled, how sections were summarized), low against high
    coverage on the same contexts (5.1), and by input and output length at once. Built cases have the length that they were
    built for, published ones a span of their cl100k tokens. Runs of one setting count as one, with each case's mean over
    them. Intervals (95 %) are over documents.
    """
    from long_context_tasks.cli.report.elitr import check_plot, give_tables

    if plot is not None:
        check_plot(plot)
    measured = measure(ethic_runs(results, cases), data_dir, official=official)
    # What cannot be drawn is told before pages of tables.
    figure = None if plot is None else draw(measured, bins, plot)
    tables = [coverage_table(measured), *split_tables(measured, bins)]
    give_tables(tables, _TEXT, csv_dir, figure, plot)


def ethic_runs(paths: Sequence[Path], cases: Path | None) -> "list[StoredRun]":
    """The runs of ETHIC under some folders; what is wrong with others is told.

    Raises:
        InputError: no such folder, or no run in any of them.
    """
    from long_context_tasks.results import find_runs
    from long_context_tasks.schema import InputError

    runs: dict[tuple[Path, str], StoredRun] = {}
    for path in paths:
        found = find_runs(path)
        runs |= {(run.folder, run.label): run for run in found.runs if run.task.startswith(f"{_NAME}_")}
        for problem in found.problems:
            typer.echo(f"left out: {problem.message}", err=True)
    if not runs:
        raise InputError(
            f"{', '.join(map(str, paths))}: no runs of {_NAME}; give the folder that lm-eval's --output_path (with "
            "--log_samples) or OpenCompass's -w names"
        )
    if cases is None:
        return list(runs.values())
    return [
        replace(run, options={**run.options, "lct_cases": str(cases)}) if "lct_cases" in run.options else run
        for run in runs.values()
    ]


def measure(runs: "Sequence[StoredRun]", data_dir: Path | None, *, official: bool = False) -> list[Measured]:
    """The scores of all runs; those of one setting together. Summaries that nobody has judged are told and left out.

    Raises:
        InputError: damaged files, data that are not there, or no score at all.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.benchmarks.elitr_bench.report import evaluations, unjudged_evaluation
    from long_context_tasks.benchmarks.ethic.report import mean_over_runs
    from long_context_tasks.hosts.stored_task import load_task
    from long_context_tasks.schema import InputError

    tasks: dict[str, LoadedTask] = {}
    found: dict[Setting, Measured] = {}
    for run, said in zip(runs, evaluations(runs), strict=True):
        spec = catalogue.parse_task(run.task)
        judged = said if spec.task == _JUDGED else [replace(unjudged_evaluation(run), judge="")]
        if not judged:
            typer.echo(
                f"left out: {run}: nobody has judged it; lct judge run {run.folder} --judge judge.yaml",
                err=True,
            )
            continue
        key = run.task_key
        task = tasks.setdefault(key, tasks.get(key) or load_task(run, data_dir))
        metric = spec.card.official if official else run.headline or spec.headline
        for one in judged:
            cases, parts = scores_of(one, task, spec.task, metric)
            # Folders of built cases are told apart by their paths, and shown by their names.
            place = run.options.get("lct_cases")
            short = None if place is None else Path(str(place)).name
            new = Measured(
                setting=_setting(one, spec.family, short),
                how=_setting(one, spec.family, None).how,
                task=spec.task,
                metric=metric,
                points=metric in task.points,
                cases=tuple(cases),
                parts=tuple(parts),
            )
            same = _setting(one, spec.family, place)
            before = found.get(same, replace(new, cases=(), parts=()))
            found[same] = replace(new, cases=before.cases + new.cases, parts=before.parts + new.parts)
    if not found:
        raise InputError("no run has been judged yet; `lct judge run RESULTS --judge judge.yaml` does it")
    return [
        replace(one, cases=tuple(mean_over_runs(one.cases)), parts=tuple(mean_over_runs(one.parts)))
        for one in found.values()
    ]


def _setting(one: "Evaluation", family: str, cases: str | None) -> "Setting":
    """What runs of a family share, with the folder of built cases as given."""
    from long_context_tasks.benchmarks.elitr_bench.report import setting_of_run

    options = {key: value for key, value in one.run.options.items() if key not in (*_CHOICES, "lct_cases")}
    if cases is not None:
        options["lct_cases"] = cases
    return replace(setting_of_run(replace(one, run=replace(one.run, options=options))), task=family)


def scores_of(
    one: "Evaluation", task: "LoadedTask", name: str, metric: str
) -> "tuple[list[ScoredCase], list[ScoredPart]]":
    """Scores of the cases of a run, and of their labels or sections.

    Raises:
        InputError: damaged files, or cases that the task does not have.
    """
    from long_context_tasks.benchmarks.ethic.report import (
        context_key,
        label_parts,
        scored_case,
        section_parts,
    )
    from long_context_tasks.schema import InputError

    cases: list[ScoredCase] = []
    parts: list[ScoredPart] = []
    later = None if one.rows is None else _judged_later(one.rows, metric)
    for stored in one.run.cases():
        case = task.by_id.get(stored.id)
        if case is None:
            raise InputError(
                f"{one.run}: has a score of case {stored.id}, which the task does not have; it was made with other data, give "
                "their folder (--data-dir, --cases)"
            )
        [response] = stored.responses
        if later is not None and (stored.id, stored.repeat) not in later:
            raise InputError(f"{one.rows}: lacks case {stored.id}; make it again with `lct judge run`")
        value, verdicts = _in_run(stored, metric) if later is None else later[stored.id, stored.repeat]
        comparable = task.options.cases is not None and name in _COMPARED
        context = context_key(task.cases.documents[case.inputs["user"]]) if comparable else ""
        cases.append(scored_case(case, value, context))
        if response.status is None and name == "recall":
            parts += label_parts(case, response.text)
        elif response.status is None and name == _JUDGED:
            parts += section_parts(case, response.text, verdicts)
    return cases, parts


def _in_run(stored: "StoredCase", metric: str) -> "tuple[float | None, list[Verdict]]":
    from long_context_tasks.benchmarks.ethic.scoring.summaries import stored_verdicts

    [value] = stored.scores.get(metric, (None,))
    return value, stored_verdicts(stored.verdicts[0] if stored.verdicts else ())


def _judged_later(path: Path, metric: str) -> "dict[tuple[str, int], tuple[float | None, list[Verdict]]]":
    """Case and repeat to what ``lct judge run`` made of it."""
    from long_context_tasks.benchmarks.ethic.scoring.summaries import stored_verdicts
    from long_context_tasks.schema import InputError

    found: dict[tuple[str, int], tuple[float | None, list[Verdict]]] = {}
    place = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                place = number
                row = json.loads(line)
                said = row["scores"][metric], stored_verdicts(row["verdicts"])
                found[str(row["case"]), int(row["repeat"])] = said
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}, line {place}: cannot be read ({error}); make it again with `lct judge run`"
        ) from error
    return found


# --- tables ----------------------------------------------------------------------------------------------------


def split_tables(measured: Sequence[Measured], bins: int) -> "list[Table]":
    """Scores by context length, by position, and by input and output length; a heat map of sections."""
    from long_context_tasks.benchmarks.elitr_bench.report import Table, figure_text
    from long_context_tasks.benchmarks.ethic import report as breakdown

    ending = ("n", "score", "95 % interval")
    length, position, heat, items = [], [], [], []
    for one in measured:
        who = one.setting.row()
        length += [
            (*who, *row.labels, one.metric, *one.figures(row.group))
            for row in breakdown.length_rows(one.cases, rates=not one.points)
        ]
        of = "section score" if one.points else "labels recalled"
        position += [
            (*who, *row.labels, of, *one.figures(row.group))
            for row in breakdown.position_rows(one.parts, bins)
        ]
        if one.task not in _HIGH:
            items += [
                (*who, *row.labels, one.metric, *one.figures(row.group))
                for row in breakdown.items_rows(one.cases, rates=not one.points)
            ]
        for domain, parts in breakdown.of_domain(one.parts if one.points else ()).items():
            for span, places in breakdown.by_position(parts, bins).items():
                cells = [figure_text(places[at].mean) if at in places else "" for at in range(bins)]
                total = str(sum(group.n for group in places.values()))
                heat.append((*who, domain, breakdown.length_text(span), total, *cells))
    across = [breakdown.position_text(at, bins) for at in range(bins)]
    output = "items of the right answer: labels, options, ids, sections"
    parts_of = (
        ("length", "by context length (5.2)", ("mean tokens", "metric", *ending), length),
        ("position", "by position in the context (5.3)", ("position", "of", *ending), position),
        ("heat_map", "mean scores of sections by position (Fig. 5)", ("sections", *across), heat),
        ("items", f"input against output length ({output})", ("items", "metric", *ending), items),
    )
    return [
        Table(key, title, (*_WHO, "length", *columns), tuple(rows)) for key, title, columns, rows in parts_of
    ]


def coverage_table(measured: Sequence[Measured]) -> "Table":
    """Low- against high-coverage tasks on the same contexts."""
    from long_context_tasks.benchmarks.elitr_bench.report import Table
    from long_context_tasks.benchmarks.ethic.report import compare, of_domain

    rows = []
    pairs = [(low, high) for low in measured if low.task in _HIGH for high in measured]
    for low, high in pairs:
        whose, other = ((one.setting.host, one.setting.model, one.how) for one in (low, high))
        if whose != other or high.task not in _HIGH[low.task]:
            continue
        for domain, cases in of_domain(low.cases).items():
            found = compare(cases, high.cases, rates=not high.points)
            if found is None:
                continue
            n, *low_cells = low.figures(found.low)
            # Points and rates have no difference.
            loss = ("", "") if high.points else high.figures(found.difference)[1:]
            who = (*whose, high.setting.judge, domain, n)
            row = (low.setting.task, *low_cells, high.setting.task, *high.figures(found.high)[1:], *loss)
            rows.append((*who, *row))
    columns = (
        *("host", "model", "settings", "judge", "domain", "n", "low task", "low", "interval of low"),
        *("high task", "high", "interval of high", "high - low", "interval of high - low"),
    )
    title = "low against high coverage on the same contexts (5.1); each task has a metric of its own"
    return Table("coverage", title, columns, tuple(rows))


def draw(measured: Sequence[Measured], bins: int, path: Path) -> "Figure":
    """The heat map of Fig. 5, a panel for each setting, all domains together.

    Raises:
        InputError: no judged summaries.
    """
    import math

    from matplotlib.figure import Figure

    from long_context_tasks.benchmarks.ethic.report import by_position, length_text, position_text
    from long_context_tasks.schema import InputError

    panels = [one for one in measured if one.points and one.parts]
    if not panels:
        raise InputError(f"--plot {path}: no judged runs of ethic_summarize")
    figure = Figure(figsize=(6.5, 3 * len(panels)), layout="constrained")
    for place, one in enumerate(panels, start=1):
        table = by_position(one.parts, bins)
        axes = figure.add_subplot(len(panels), 1, place)
        values = [
            [row[number].mean if number in row else math.nan for number in range(bins)]
            for row in table.values()
        ]
        image = axes.imshow(values, vmin=1, vmax=5, cmap="viridis", aspect="auto")
        axes.set_xticks(range(bins), [position_text(number, bins) for number in range(bins)])
        axes.set_yticks(range(len(table)), [length_text(length) for length in table])
        axes.set_title(f"{one.setting.model}, {one.setting.judge}", fontsize="small")
        axes.set_xlabel("position in the context")
        figure.colorbar(image, ax=axes, label="score of sections")
    return figure
