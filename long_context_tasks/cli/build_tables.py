"""What `lct build` prints: the cases of each task and length, why others did not come about, how good labels are."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import TaskReport

_WIDEST = 140
"""Characters of a table with a column for each task; a wider one has a line for each task and reason instead."""


def show_label_quality(folder: Path) -> None:
    """Print how well the annotator's labels agree with a person's; the case folder's manifest has the figures."""
    from long_context_tasks.cli.tables import interval_text, print_table
    from long_context_tasks.schema.case_folder import read_manifest
    from long_context_tasks.stats import Interval

    rows = [
        [
            row["domain"],
            f"{row['n']} of {row['total']}",
            *(f"{100 * row[name]:.1f}" for name in ("f1", "precision", "recall")),
            interval_text(Interval(100 * row["interval"]["low"], 100 * row["interval"]["high"]), 1),
        ]
        for row in read_manifest(folder)["options"]["label_quality"]
    ]
    columns = ["domain", "chunks", "F1 %", "precision %", "recall %", "95 % interval of F1"]
    print_table("labels against those made by hand", columns, rows)


def short_names(tasks: Sequence[str]) -> list[str]:
    """Names of tasks without the words with which all of them begin.

    >>> short_names(["ada_leval_tsort_2k", "ada_leval_tsort_4k"]), short_names(["ethic_recall_books 4k"])
    (['2k', '4k'], ['books 4k'])
    """
    words = [task.split("_") for task in tasks]
    shortest = min(map(len, words))
    common = 0
    while common < shortest - 1 and len({tuple(own[: common + 1]) for own in words}) == 1:
        common += 1
    return ["_".join(own[common:]) for own in words]


def _reasons(reports: "list[TaskReport]") -> Any:
    """Table of why places of books, questions or documents gave no case, by length."""
    from rich import box
    from rich.table import Table

    title = "places, questions or documents that gave no case"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    names = short_names([report.task.removesuffix("_synthetic") for report in reports])
    reasons = dict.fromkeys(reason for report in reports for reason in report.dropped)
    if max(map(len, reasons), default=0) + sum(len(name) + 3 for name in names) > _WIDEST:
        for name in ("task", "why"):
            table.add_column(name, no_wrap=True)
        table.add_column("count", justify="right", no_wrap=True)
        for name, report in zip(names, reports, strict=True):
            for reason, count in report.dropped.items():
                table.add_row(name, reason, f"{count:,}")
        return table
    table.add_column("why")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for reason in reasons:
        table.add_row(reason, *(f"{report.dropped.get(reason, 0):,}" for report in reports))
    return table


def show_reports(reports: "list[TaskReport]", tokens: str, out: Path) -> None:
    """Print a table of what was built, and why some places or questions gave no case."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=f"cases in {out} (tokens: {tokens})", title_justify="left")
    table.add_column("task", no_wrap=True)
    built = [report for report in reports if report.tokens]
    # Not a number where guessing is not worth a figure.
    guessing = not all(math.isnan(report.random_guess) for report in built)
    for name in ("cases", "clusters", "mean", "min", "max", *(["guess %"] if guessing else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for report in built:
        sizes = report.tokens
        guess = f"{100 * report.random_guess:.1f}"
        table.add_row(
            report.task,
            f"{len(sizes):,}",
            f"{report.clusters:,}",
            *(f"{round(value):,}" for value in (sum(sizes) / len(sizes), min(sizes), max(sizes))),
            *([guess] if guessing else []),
        )
    # A table in a pipe must not be cut to eighty columns.
    console = Console(width=None if Console().is_terminal else 200, highlight=False)
    console.print(table)
    if any(report.dropped for report in built):
        console.print(_reasons(built))
    for note in (note for report in reports for note in report.notes):
        typer.echo(f"warning: {note}", err=True)
