"""``lct report pack`` and ``lct report check``: runs as bundles that travel, and what a pull request with some is checked for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from long_context_tasks.cli.options import Json, examples
from long_context_tasks.cli.output import end_with_problems, give, print_table, say, tell

PACK_EXAMPLES = examples(
    "lct report pack results/ opencompass_outputs/ --out bundles/",
    "lct report pack results/owl --out owl.lct.zip",
)
CHECK_EXAMPLES = examples("lct report check bundles/*.lct.zip")


def pack(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Folders with runs of either host, or bundles, in any mixture.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A folder gets a bundle for each model; a name that ends in .zip takes all runs.",
            show_default=False,
        ),
    ],
    responses: Annotated[
        bool,
        typer.Option(
            "--responses/--no-responses", help="Pack responses where the benchmark's card allows it."
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Pack runs into small bundles: scores, provenance and, as far as the benchmark's card allows, responses.

    Neither prompts, gold answers nor judges' replies are in a bundle, and what looks like a key or a path of this machine is taken out.
    `lct report`, `lct report compare` and `lct plan --missing` read bundles like folders with runs. Exit code 1 when a run could not be
    packed.
    """
    from long_context_tasks.results.bundle.check import read_bundle
    from long_context_tasks.results.bundle.pack import pack as pack_runs
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.schema import InputError

    collected = collect_with_files(results)
    problems = collected.collection.problems
    tell(problems, collected.collection.notes)
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be packed")
    packed = pack_runs(collected, out, responses=responses)
    rows = []
    for one in packed:
        read_bundle(one.path)  # what is given away was checked as its reader will
        rows.append(
            {
                "bundle": str(one.path),
                "runs": one.runs,
                "cases_with_responses": one.cases,
                "bytes": one.size,
                "responses_withheld": list(one.withheld),
            }
        )
    shown = [[str(one.path), str(one.runs), str(one.cases), f"{one.size:,}"] for one in packed]
    print_table("bundles", ["bundle", "runs", "cases with responses", "bytes"], shown, values=rows)
    if withheld := sorted({name for one in packed for name in one.withheld}):
        say(f"without responses, as the benchmark's card does not allow them: {', '.join(withheld)}")
    give(written=[one.path for one in packed], runs=sum(one.runs for one in packed), problems=problems)
    end_with_problems(problems)


def check(
    bundles: Annotated[
        list[Path],
        typer.Argument(metavar="BUNDLE...", help="Bundles, or folders with some.", show_default=False),
    ],
    as_json: Json = False,
) -> None:
    """Check bundles as a pull request with them should be: hashes, columns, values, and what they leave out.

    Means are made again from the scores. Every problem of every bundle is told, and any gives exit code 1; notes (old version, cases
    that are missing) do not.
    """
    from long_context_tasks.results.bundle.format import bundles_below
    from long_context_tasks.results.bundle.runs import overview
    from long_context_tasks.schema import InputError

    paths: list[Path] = []
    for given in bundles:
        if not given.exists():
            raise InputError(f"{given}: not there; give bundles that `lct report pack` wrote")
        if given.is_dir() and not bundles_below(given):
            raise InputError(f"{given}: no bundle (*.lct.zip) in it")
        # A file that is given by name is checked whatever it is called.
        paths += bundles_below(given) if given.is_dir() else [given]
    rows, problems = overview(list(dict.fromkeys(paths)))
    names = ("bundle", "model", "host", "task", "judge", "metric", "mean", "n", "version", "notes")
    shown = [[_shown(row[name]) for name in names] for row in rows]
    if rows:
        print_table(
            "bundles", names, shown, ("model", "host", "task", "judge", "metric", "notes"), values=rows
        )
    for problem in problems:
        typer.echo(f"problem: {problem}", err=True)
    bad = len({problem.partition(": ")[0] for problem in problems})
    say(
        f"{len(paths)} bundle{'' if len(paths) == 1 else 's'}, {len(rows)} run{'' if len(rows) == 1 else 's'}, "
        f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    )
    give(bundles=len(paths), runs=len(rows), problems=problems, bundles_with_problems=bad)
    if problems:
        raise typer.Exit(1)


def _shown(value: Any) -> str:
    from long_context_tasks.results.tables import printable

    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else printable(str(value))
