"""`lct report`: tables from results and from published archives."""

from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import DataDir, Json, examples, with_default
from long_context_tasks.cli.output import interval_text, print_table, say
from long_context_tasks.cli.report.compare import EXAMPLES, compare
from long_context_tasks.cli.report.elitr import elitr, elitr_search
from long_context_tasks.cli.report.ethic import ethic
from long_context_tasks.cli.report.pack import CHECK_EXAMPLES, PACK_EXAMPLES, check, pack
from long_context_tasks.cli.report.site import site

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.elitr_bench.paper.tables import Cell, Table

__all__ = ["app", "interval_text", "print_table"]

app = typer.Typer(
    cls=with_default("site"),
    add_completion=False,
    no_args_is_help=True,
    subcommand_metavar="[RESULTS... --out DIR | COMMAND [ARGS]...]",
)
app.command(
    "site",
    epilog=examples("lct report results/ opencompass_outputs/ --out site/", "lct report results/ --json"),
)(site)
app.command("compare", epilog=EXAMPLES)(compare)
app.command("pack", epilog=PACK_EXAMPLES)(pack)
app.command("check", epilog=CHECK_EXAMPLES)(check)
app.command("elitr", epilog=examples("lct report elitr results/ --csv tables/ --plot wer.svg"))(elitr)
app.command("elitr-search", epilog=examples("lct report elitr-search search/"))(elitr_search)
app.command("ethic", epilog=examples("lct report ethic results/ --plot positions.svg"))(ethic)


@app.callback()
def report() -> None:
    """Make a leaderboard of runs, or print tables from results and from published archives.

    `lct report RESULTS... --out site/` is short for `lct report site RESULTS... --out site/`: it takes output folders of lm-eval and
    OpenCompass, and bundles of `lct report pack`, in any mixture.
    """


@app.command("elitr-paper", epilog=examples("lct report elitr-paper --only table2,fig3"))
def elitr_paper(
    data_dir: DataDir = None,
    only: Annotated[
        str, typer.Option("--only", help="Only these, with commas: table1 ... table11, fig2a, fig2b, fig3.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Recompute the tables of the ELITR-Bench paper from its published responses and scores.

    "recomputed" is rounded as the paper did, "rounded once" plainly; both must be read against "published". Test-set means
    over three seeds cannot be recomputed from the one run that was published: that run stands beside them. Intervals
    are over meetings. Exit code 1 when a figure that can be recomputed does not come out.
    """
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.benchmarks.elitr_bench.paper.tables import paper_tables
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
    say(
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
