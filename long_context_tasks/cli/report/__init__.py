"""`lct report`: the leaderboard, benchmarks' own tables, comparisons, bundles, and tables of papers made again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import (
    DataDir,
    Json,
    NamesFile,
    RunsOrBundles,
    complete_benchmark,
    examples,
    with_default,
    words,
)
from long_context_tasks.cli.output import (
    end_with_problems,
    give,
    give_document,
    print_table,
    say,
    tell,
)
from long_context_tasks.cli.report.export import (
    DIFFERENCE_EXAMPLES,
    EXPORT_EXAMPLES,
    REPOSITORY_EXAMPLES,
    difference,
    export,
    repository,
)
from long_context_tasks.cli.report.site import SITE_EXAMPLES, PoolSeeds, collected_cells, print_section, site

if TYPE_CHECKING:
    from long_context_tasks.results.compare import Comparisons

_SHOWN_REST = 20
app = typer.Typer(
    cls=with_default("site"),
    add_completion=False,
    no_args_is_help=True,
    subcommand_metavar="[RESULTS... --out DIR | COMMAND [ARGS]...]",
)
app.command("site", epilog=SITE_EXAMPLES)(site)
app.command("export", epilog=EXPORT_EXAMPLES)(export)
app.command("difference", epilog=DIFFERENCE_EXAMPLES)(difference)
app.command("repository", epilog=REPOSITORY_EXAMPLES)(repository)


@app.callback()
def report() -> None:
    """Make a leaderboard of runs, or print tables from results and from published archives.

    `lct report RESULTS... --out site/` is short for `lct report site RESULTS... --out site/`: it takes output folders of lm-eval and
    OpenCompass, and bundles of `lct report pack`, in any mixture.
    """


@app.command(
    epilog=examples(
        "lct report compare results/ --model Qwen2.5-7B --model Llama-3.1-8B",
        "lct report compare owl.lct.zip crow.lct.zip --same-within 2% --out comparison.md",
        "lct report compare results/ outputs/ --models models.yaml -m owl -m crow",
    )
)
def compare(
    results: RunsOrBundles,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="A model; twice or more. Not needed where the results hold two models."
        ),
    ] = None,
    tasks: Annotated[str, typer.Option(help="Only these tasks, with commas; * stands for anything.")] = "",
    same_within: Annotated[
        list[str] | None,
        typer.Option(
            help="Test whether models are the same within a margin: 2% of rates, 0.3 of points of a scale; may be given for both."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all figures to a file: .csv, .json or .md.")
    ] = None,
    names_file: NamesFile = None,
    pool_seeds: PoolSeeds = False,
    as_json: Json = False,
) -> None:
    """Compare models pair by pair on the cases that both could take.

    Only the same task, version, judge and settings are compared. Each line has the means on the shared turns, the difference with its
    95 % interval over clusters, p of a permutation test, p adjusted for all tasks shown, and what may be said: a model is better where the
    adjusted p is below 0.05 and the interval leaves out 0. With --json the document
    has the form of --out FILE.json. Exit code 1 when something that was found is left out (damaged, unfinished, not evaluated).
    """
    from fnmatch import fnmatchcase

    from long_context_tasks.results.compare import (
        FORMATS,
        as_document,
        choose_models,
        compare_models,
        read_margins,
        text_in,
    )
    from long_context_tasks.results.models import Models, read_models
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import write_whole

    if out is not None and out.suffix.lower() not in FORMATS:
        raise InputError(f"--out {out}: the name tells the format, and must end in {', '.join(FORMATS)}")
    margins = read_margins(same_within or ())
    for path in results:
        if not path.exists():
            raise InputError(
                f"{path}: not there; give folders with runs or bundles. A model is named with --model: lct report compare results/ "
                "--model A --model B"
            )
    known = Models() if names_file is None else read_models(names_file)
    expected = "folders of runs or bundles of `lct report pack`"
    collected, cells = collected_cells(results, known, expected, pool_seeds=pool_seeds)
    collection = collected.collection
    asked = [known.name_of(name) or name for name in models or ()]
    names = choose_models(collection.runs["model"].to_list(), asked)
    if patterns := words(tasks):
        cells = [cell for cell in cells if any(fnmatchcase(cell.task, pattern) for pattern in patterns)]
        if not cells:
            there = ", ".join(sorted(collection.runs["task"].unique())[:20])
            raise InputError(f"--tasks {tasks}: no run of such a task; there are: {there}")
    found = compare_models(collection, cells, names, margins)
    if as_json:
        give_document(as_document(found))
    else:
        _print(found)
    if out is not None:
        write_whole(out, text_in(out.suffix.lower(), found), remedy="choose another place with --out")
        typer.echo(f"written: {out}", err=True)
    end_with_problems(collection.problems)


def _print(found: "Comparisons") -> None:
    from long_context_tasks.results.compare import (
        TEXT_COLUMNS,
        heading,
        notes,
        pairs,
        rows_of,
        shown_table,
    )
    from long_context_tasks.results.tables import printable

    for pair in pairs(found):
        rows = [*rows_of(pair, found.tasks), *rows_of(pair, found.benchmarks)]
        columns, shown = shown_table(heading(pair[0]), heading(pair[1]), rows)
        print_table(" and ".join(map(printable, pair)), columns, shown, TEXT_COLUMNS)
    for line in notes(found):
        say(line)
    for line in found.not_compared[:_SHOWN_REST]:
        typer.echo(f"not compared: {line}", err=True)
    if len(found.not_compared) > _SHOWN_REST:
        typer.echo(f"... and {len(found.not_compared) - _SHOWN_REST} more; --out has all", err=True)


@app.command(
    epilog=examples(
        "lct report pack results/ opencompass_outputs/ --out bundles/",
        "lct report pack results/owl --out owl.lct.zip",
    )
)
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
    from long_context_tasks.results.bundle.format import read_bundle
    from long_context_tasks.results.bundle.pack import pack as pack_runs
    from long_context_tasks.results.collect import CHECKS, collect_with_files
    from long_context_tasks.schema import InputError

    collected = collect_with_files(results)
    problems = collected.collection.problems
    tell(problems, collected.collection.notes)
    say(f"checked: {CHECKS}")
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be packed")
    packed = pack_runs(collected, out, responses=responses)
    rows = []
    for bundle in packed:
        read_bundle(bundle.path)  # what is given away was checked as its reader will
        rows.append(
            {
                "bundle": str(bundle.path),
                "runs": bundle.runs,
                "cases_with_responses": bundle.cases,
                "bytes": bundle.size,
                "responses_withheld": list(bundle.withheld),
            }
        )
    shown = [[str(bundle.path), str(bundle.runs), str(bundle.cases), f"{bundle.size:,}"] for bundle in packed]
    print_table("bundles", ["bundle", "runs", "cases with responses", "bytes"], shown, values=rows)
    tell((), [f"{old}; it will not be ranked" for bundle in packed for old in bundle.old])
    if withheld := sorted({name for bundle in packed for name in bundle.withheld}):
        say(f"without responses, as the benchmark's card does not allow them: {', '.join(withheld)}")
    give(
        written=[bundle.path for bundle in packed],
        runs=sum(bundle.runs for bundle in packed),
        problems=problems,
    )
    end_with_problems(problems)


@app.command(epilog=examples("lct report check bundles/*.lct.zip"))
def check(
    bundles: Annotated[
        list[Path],
        typer.Argument(metavar="BUNDLE...", help="Bundles, or folders with some.", show_default=False),
    ],
    as_json: Json = False,
) -> None:
    """Check bundles as a pull request with them should be: hashes, columns, values, and what they leave out.

    Means are made again from the scores. Every problem of every bundle is listed, and any gives exit code 1; notes (old version, cases
    that are missing) do not.
    """
    from long_context_tasks.results.bundle.format import bundles_below
    from long_context_tasks.results.bundle.runs import overview
    from long_context_tasks.results.collect import CHECKS
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
        f"{len(problems)} problem{'' if len(problems) == 1 else 's'}; checked: hashes, columns, {CHECKS}"
    )
    give(bundles=len(paths), runs=len(rows), problems=problems, bundles_with_problems=bad)
    if problems:
        raise typer.Exit(1)


def _shown(value: Any) -> str:
    from long_context_tasks.results.tables import printable

    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else printable(str(value))


@app.command("paper", epilog=examples("lct report paper BENCHMARK --only table2,fig3"))
def paper(
    benchmark: Annotated[
        str, typer.Argument(help="Benchmark with published responses.", autocompletion=complete_benchmark)
    ],
    data_dir: DataDir = None,
    only: Annotated[str, typer.Option(help="Only these tables and figures, with commas: table2,fig3.")] = "",
    tokenizer: Annotated[
        str | None,
        typer.Option(help="The paper's tokenizer, a folder or hub id, for tables that count tokens."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recompute the tables of a benchmark's paper from the responses and scores that its authors published.

    "recomputed" is rounded as the paper did, "rounded once" plainly; both must be read against "published". Exit code 1 when a figure
    that can be recomputed does not come out.
    """
    from long_context_tasks.results.sections import paper_sections

    sections = paper_sections(benchmark, data_dir, only, tokenizer)
    for section in sections:
        print_section(section)
    if any(section.problems for section in sections):
        raise typer.Exit(1)
