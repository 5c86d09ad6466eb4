"""What `lct build` prints: the cases of each task and length, why others did not come about, how good labels are."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from long_context_tasks.cli.tables import interval_text, print_table

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import TaskReport

_WIDEST = 140
"""Characters of a table with a column for each task; a wider one has a line for each task and reason instead."""


def show_label_quality(folder: Path) -> None:
    """Print how well the annotator's labels agree with a person's; the case folder's manifest has the figures."""
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


def _show_reasons(reports: "Sequence[TaskReport]") -> None:
    """Table of why places of books, questions or documents gave no case, by length."""
    title = "places, questions or documents that gave no case"
    names = short_names([report.task.removesuffix("_synthetic") for report in reports])
    reasons = dict.fromkeys(reason for report in reports for reason in report.dropped)
    values = [
        {"task": report.task, "why": reason, "count": count}
        for report in reports
        for reason, count in report.dropped.items()
    ]
    if max(map(len, reasons), default=0) + sum(len(name) + 3 for name in names) > _WIDEST:
        rows = [
            [name, reason, f"{count:,}"]
            for name, report in zip(names, reports, strict=True)
            for reason, count in report.dropped.items()
        ]
        print_table(title, ["task", "why", "count"], rows, ("why",), values)
        return
    rows = [[reason, *(f"{report.dropped.get(reason, 0):,}" for report in reports)] for reason in reasons]
    print_table(title, ["why", *names], rows, values=values)


def show_reports(reports: "Sequence[TaskReport]", tokens: str, out: Path) -> None:
    """Print a table of what was built, and why some places or questions gave no case."""
    built = [report for report in reports if report.tokens]
    # Not a number where guessing is not worth a figure.
    guessing = not all(math.isnan(report.random_guess) for report in built)
    values: list[dict[str, Any]] = []
    for report in built:
        sizes = report.tokens
        values.append(
            {"task": report.task, "cases": len(sizes), "clusters": report.clusters}
            | {"mean": sum(sizes) / len(sizes), "min": min(sizes), "max": max(sizes)}
            | ({"guess %": 100 * report.random_guess} if guessing else {})
        )
    print_table(
        f"cases in {out} (tokens: {tokens})",
        ["task", "cases", "clusters", "mean", "min", "max", *(["guess %"] if guessing else [])],
        [[_cell(name, value) for name, value in row.items()] for row in values],
        values=values,
    )
    if any(report.dropped for report in built):
        _show_reasons(built)
    for note in (note for report in reports for note in report.notes):
        typer.echo(f"warning: {note}", err=True)


def _cell(name: str, value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if name == "guess %" else f"{round(value):,}"
