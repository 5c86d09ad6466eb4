"""``lct report elitr`` and ``lct report elitr-search``: what stored runs of ELITR-Bench say, split as in the paper."""

import csv
import importlib.util
import io
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import CSV, Json, Results, RunsDataDir
from long_context_tasks.cli.output import interval_text, print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from long_context_tasks.benchmarks.elitr_bench.report import Measured, Table, Tried

_TEXT = frozenset(
    (
        "model",
        "task",
        "judge",
        "settings",
        "label",
        "setting",
        "decoding",
        "style",
        "markers",
        "first is lower",
        "seeds",
    )
)


def elitr(
    results: Results,
    data_dir: RunsDataDir = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="judge_score, official_judge_score, answered, or orca_mean of runs that ORCA judged.",
        ),
    ] = "judge_score",
    lower: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            help="FIRST,SECOND: test whether FIRST scores lower (one-tailed Welch test); each is a model, a task or MODEL:TASK. "
            "May be given again.",
        ),
    ] = None,
    csv_dir: Annotated[Path | None, typer.Option("--csv", help=CSV)] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw scores over measured word error rates, .svg or .png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Split the scores of stored runs as the ELITR-Bench paper does.

    By question type and answer position, on the questions that QA and Conv word differently (Fig. 3), over the measured word
    error rate (Fig. 1), mean and standard deviation over runs (Table 9), and the test of answers in the middle (Table 10).
    Runs of the same model, task, judge and settings count as seeds of one another: other tables take each question's mean
    over them. Intervals are over meetings.
    """
    from long_context_tasks.benchmarks.elitr_bench import report as elitr_tables
    from long_context_tasks.benchmarks.elitr_bench.report import elitr_runs, measure
    from long_context_tasks.benchmarks.elitr_bench.scoring import METRICS
    from long_context_tasks.orca.judge import METRICS as ORCA_METRICS
    from long_context_tasks.schema import InputError

    if metric not in (*METRICS, *ORCA_METRICS):
        raise InputError(f"--metric {metric}: there are {', '.join((*METRICS, *ORCA_METRICS))}")
    if plot is not None:
        check_plot(plot)
    runs, problems = elitr_runs(results)
    for problem in problems:
        typer.echo(f"left out: {problem}", err=True)
    measured, unjudged = measure(runs, data_dir, metric)
    for run in unjudged:
        typer.echo(
            f"left out: {run}: nobody has judged it; lct judge run {run.folder} --judge judge.yaml", err=True
        )
    if not measured and len(unjudged) < len(runs):
        raise InputError(
            f"no judged run has {metric}; give another --metric (ORCA's are {', '.join(ORCA_METRICS)})"
        )
    if not measured:
        raise InputError("no run has been judged yet; `lct judge run RESULTS --judge judge.yaml` does it")
    tables = [
        elitr_tables.labels_table(measured, metric),
        elitr_tables.middle_table(measured, metric),
        elitr_tables.differing_table(measured, metric),
        elitr_tables.noise_table(measured, metric),
        elitr_tables.seeds_table(measured, metric),
        *([elitr_tables.tests_table(measured, lower, metric)] if lower else []),
    ]
    # What cannot be drawn is told before pages of tables.
    figure = None if plot is None else draw(measured, metric, plot)
    give_tables(tables, _TEXT, csv_dir, figure, plot)


def elitr_search(
    results: Results,
    as_json: Json = False,
) -> None:
    """Print the table of the configuration search, best score first; runs come from configs/search_elitr_bench.py and .sh.

    Cells that lack some scores stand behind the others. Without a judge there is no score yet: `lct judge run RESULTS --judge
    judge.yaml`, then this again. Of several runs of a cell the last one counts.
    """
    from long_context_tasks.benchmarks.elitr_bench.report import (
        NO_JUDGE,
        count_text,
        elitr_runs,
        evaluations,
        figure_text,
        newest,
        tried,
        unjudged_evaluation,
    )
    from long_context_tasks.schema import InputError
    from long_context_tasks.stats import Interval

    runs, problems = elitr_runs(results)
    for problem in problems:
        typer.echo(f"left out: {problem}", err=True)
    found = [
        (run, tried(one))
        for run, judged in zip(runs, evaluations(runs), strict=True)
        for one in judged or [unjudged_evaluation(run)]
    ]
    cells = newest(cell for _, cell in found if cell is not None)
    if others := {str(run) for run, cell in found if cell is None}:
        typer.echo(f"left out, as their decoding is not known: {'; '.join(sorted(others))}", err=True)
    if not cells:
        raise InputError("no cell of the search; run configs/search_elitr_bench.py or .sh first")

    def score(cell: "Tried") -> float:
        # Without a judge a run knows the score of empty answers only.
        judged = cell.evaluation.judge != NO_JUDGE
        return cell.evaluation.numbers.get("judge_score", math.nan) if judged else math.nan

    def order(cell: "Tried") -> tuple[bool, bool, float]:
        # A cell without all scores is shown behind those that have them.
        value, numbers = score(cell), cell.evaluation.numbers
        return numbers.get("n_scored", 0) < numbers.get("n", 0), math.isnan(value), -value

    rows = []
    for cell in sorted(cells, key=order):
        run, numbers = cell.evaluation.run, cell.evaluation.numbers
        interval = None
        if not math.isnan(score(cell)):
            interval = Interval(
                numbers.get("judge_score_low", math.nan), numbers.get("judge_score_high", math.nan)
            )
        n, scored = int(numbers.get("n", 0)), int(numbers.get("n_scored", 0))
        rows.append(
            (
                *(run.host, cell.model, run.task, cell.decoding, cell.style, "yes" if cell.markers else "no"),
                *(f"{cell.penalty:.1f}", cell.evaluation.judge, figure_text(score(cell))),
                *(interval_text(interval), figure_text(numbers.get("answered", math.nan), 3)),
                count_text(scored, n),
            )
        )
    cell_columns = ("decoding", "style", "markers", "rep. penalty", "judge")
    columns = ("host", "model", "task", *cell_columns, "judge_score", "95 % interval", "answered", "n")
    print_table("configuration search", columns, rows, _TEXT)


def give_tables(
    tables: "Sequence[Table]",
    text: Collection[str],
    csv_dir: Path | None = None,
    figure: "Figure | None" = None,
    plot: Path | None = None,
) -> None:
    """Print tables, and write them and a picture where that was asked for.

    Args:
        tables: those without a row, and columns that say nothing, are left out.
        text: the columns that hold words.
        csv_dir: folder for the tables.
        figure: the picture.
        plot: file for it.

    Raises:
        InputError: a file cannot be written.
    """
    shown = [table.without_empty_columns() for table in tables if table.rows]
    for table in shown:
        print_table(table.title, table.columns, table.rows, text)
    if csv_dir is not None:
        write_csv(shown, csv_dir)
    if plot is not None and figure is not None:
        write_plot(figure, plot)


def write_csv(tables: Sequence["Table"], folder: Path) -> None:
    """Write each table as ``<key>.csv``.

    Raises:
        InputError: the folder cannot be written.
    """
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import write_whole

    remedy = "choose another folder with --csv"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); {remedy}") from error
    for table in tables:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([table.columns, *table.rows])
        write_whole(folder / f"{table.key}.csv", text.getvalue(), remedy=remedy)


def check_plot(path: Path) -> None:
    """Whether a picture can be drawn and has a place, before costly work.

    Raises:
        InputError: a name of another kind, no such folder, or no matplotlib.
    """
    from long_context_tasks.schema import InputError

    if path.suffix not in (".svg", ".png"):
        raise InputError(f"--plot {path}: give a name that ends with .svg or .png")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"--plot {path}: give the name of a file in a folder that exists")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            "--plot needs matplotlib: pip install matplotlib, or use --csv and a program of your own"
        )


def write_plot(figure: "Figure", path: Path) -> None:
    """Write a picture, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    from long_context_tasks.schema.files import write_whole

    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:])
    write_whole(path, content.getvalue(), remedy="choose another place with --plot")


def draw(measured: Sequence["Measured"], metric: str, path: Path) -> "Figure":
    """The lines of Fig. 1 with their intervals.

    Raises:
        InputError: no noisy runs.
    """
    from matplotlib.figure import Figure

    from long_context_tasks.benchmarks.elitr_bench.report import noise_points
    from long_context_tasks.schema import InputError

    points = noise_points(measured)
    if not points:
        raise InputError(f"--plot {path}: no runs on noisy transcripts (tasks that end in _wer20 to _wer100)")
    lines = list(dict.fromkeys(point.line for point in points))
    shared, labels = told_apart(lines)
    figure = Figure(figsize=(7, 4.5 + 0.2 * len(lines)), layout="constrained")
    axes = figure.subplots()
    for line, label in zip(lines, labels, strict=True):
        own = [point for point in points if point.line == line]
        ends = [
            [0.0 if math.isnan(point.low) else point.mean - point.low for point in own],
            [0.0 if math.isnan(point.high) else point.high - point.mean for point in own],
        ]
        axes.errorbar(
            [100 * point.measured for point in own],
            [point.mean for point in own],
            yerr=ends,
            marker="o",
            capsize=3,
            label=label,
        )
    axes.set_xlabel("measured word error rate, %")
    axes.set_ylabel(metric)
    # The whole scale: a stretched one makes small differences look large.
    low, high = (f(end, *(point.mean for point in points)) for f, end in ((min, 1.0), (max, 10.0)))
    axes.set_ylim(*((0, 1) if metric == "answered" else (math.floor(low), math.ceil(high))))
    axes.set_title(shared, fontsize="small")
    if len(lines) > 1:
        figure.legend(loc="outside lower center", fontsize="small")
    return figure


def told_apart(lines: Sequence[Sequence[str]]) -> tuple[str, list[str]]:
    """What names of several parts share, and what tells each from the others.

    >>> told_apart([("lm_eval", "A", "qa"), ("lm_eval", "B", "qa")])
    ('lm_eval, qa', ['A', 'B'])
    """
    same = [len(set(parts)) == 1 for parts in zip(*lines, strict=True)]
    shared = ", ".join(part for part, one in zip(lines[0], same, strict=True) if one and part)
    return shared, [
        ", ".join(part for part, one in zip(line, same, strict=True) if part and not one) for line in lines
    ]
