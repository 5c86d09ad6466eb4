"""`lct report`: the leaderboard, benchmarks' own tables, comparisons, bundles, and tables of papers made again."""

from typing import Annotated

import typer

from long_context_tasks.cli.options import DataDir, Json, complete_benchmark, examples, with_default
from long_context_tasks.cli.report.compare import EXAMPLES, compare
from long_context_tasks.cli.report.pack import CHECK_EXAMPLES, PACK_EXAMPLES, check, pack
from long_context_tasks.cli.report.site import SITE_EXAMPLES, print_section, site

app = typer.Typer(
    cls=with_default("site"),
    add_completion=False,
    no_args_is_help=True,
    subcommand_metavar="[RESULTS... --out DIR | COMMAND [ARGS]...]",
)
app.command("site", epilog=SITE_EXAMPLES)(site)
app.command("compare", epilog=EXAMPLES)(compare)
app.command("pack", epilog=PACK_EXAMPLES)(pack)
app.command("check", epilog=CHECK_EXAMPLES)(check)


@app.callback()
def report() -> None:
    """Make a leaderboard of runs, or print tables from results and from published archives.

    `lct report RESULTS... --out site/` is short for `lct report site RESULTS... --out site/`: it takes output folders of lm-eval and
    OpenCompass, and bundles of `lct report pack`, in any mixture.
    """


@app.command("paper", epilog=examples("lct report paper BENCHMARK --only table2,fig3"))
def paper(
    benchmark: Annotated[
        str, typer.Argument(help="Benchmark with published responses.", autocompletion=complete_benchmark)
    ],
    data_dir: DataDir = None,
    only: Annotated[
        str, typer.Option("--only", help="Only these tables and figures, with commas: table2,fig3.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Recompute the tables of a benchmark's paper from the responses and scores that its authors published.

    "recomputed" is rounded as the paper did, "rounded once" plainly; both must be read against "published". Exit code 1 when a figure
    that can be recomputed does not come out.
    """
    from long_context_tasks.results.sections import paper_sections

    sections = paper_sections(benchmark, data_dir, only)
    for section in sections:
        print_section(section)
    if any(section.problems for section in sections):
        raise typer.Exit(1)
