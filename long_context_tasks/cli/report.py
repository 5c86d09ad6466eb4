"""`lct report`: tables from results and from published archives."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.elitr_bench.paper_cells import Cell, Table
    from long_context_tasks.stats import Interval

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def report() -> None:
    """Print tables from results and from published archives."""


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[str] = ()
) -> None:
    """A table on standard output; the first column and those named in ``text`` are aligned left, the others right.

    Wide enough for any table when it goes to a file or a pipe.
    """
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(escape(column), justify="right" if number and column not in text else "left")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(table)


def interval_text(interval: "Interval | None", places: int = 2) -> str:
    """``low to high``; empty when there is none, a dash when too few clusters allow none."""
    import math

    if interval is None:
        return ""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return "-"
    return f"{interval.low:.{places}f} to {interval.high:.{places}f}"


@app.command("elitr-paper")
def elitr_paper(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir", help="Folder with one folder per benchmark. Default: LCT_DATA_DIR, else the cache."
        ),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help="Only these, with commas: table1 ... table11, fig2a, fig2b, fig3.")
    ] = "",
) -> None:
    """Recompute the tables of the ELITR-Bench paper from its published responses and scores.

    "recomputed" is rounded as the paper did, "rounded once" plainly; both must be read against "published". Test-set means
    over three seeds cannot be recomputed from the one run that was published: that run stands beside them. Intervals
    resample meetings. Exit code 1 when a figure that can be recomputed does not come out.
    """
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.benchmarks.elitr_bench.paper_tables import paper_tables
    from long_context_tasks.schema import InputError, resolve_options

    tables = paper_tables(Archives.of(resolve_options({"lct_data_dir": data_dir})))
    wanted = [word.strip() for word in only.split(",") if word.strip()]
    if unknown := sorted(set(wanted) - {table.key for table in tables}):
        raise InputError(f"--only {', '.join(unknown)}: there are {', '.join(table.key for table in tables)}")
    shown = [table for table in tables if not wanted or table.key in wanted]
    for table in shown:
        _print_paper_table(table)
    matches = [cell.match for table in shown for cell in table.cells]
    right, wrong = matches.count("yes"), matches.count("no")
    typer.echo(
        f"{right} of {right + wrong} figures that can be recomputed come out as printed; "
        f"{matches.count('published only')} can only be shown as published, "
        f"{matches.count('not printed')} are not printed in the paper."
    )
    if wrong:
        raise typer.Exit(1)


def _print_paper_table(table: "Table") -> None:
    columns = ["row", "column", "recomputed", "rounded once", "n", "95 % interval", "published", "match"]
    notes = any(cell.note for cell in table.cells)
    rows = [[*_cells(cell), *([cell.note] if notes else [])] for cell in table.cells]
    print_table(table.title, [*columns, *(["note"] if notes else [])], rows, ("column", "match", "note"))


def _cells(cell: "Cell") -> list[str]:
    match = f"{cell.match}: {cell.reason}" if cell.reason else str(cell.match)
    one_run = cell.reason == "three seeds" and cell.recomputed is not None
    return [
        cell.row,
        cell.column,
        f"{cell.recomputed} (one seed)" if one_run else cell.recomputed or "",
        cell.plain or "",
        "" if cell.n is None else str(cell.n),
        interval_text(cell.interval),
        cell.published or "",
        match,
    ]
