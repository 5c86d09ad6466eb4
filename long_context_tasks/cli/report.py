"""`lct report`: runs of all hosts to a leaderboard and a site; benchmarks' own tables, comparisons, bundles, exports, tables of papers."""

import atexit
import gc
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import (
    CSV,
    DataDir,
    Json,
    NamesFile,
    RunsDataDir,
    RunsOrBundles,
    complete_benchmark,
    examples,
    with_default,
    words,
)
from long_context_tasks.cli.output import (
    add_table,
    end_with_problems,
    give,
    give_document,
    json_wanted,
    print_table,
    say,
    tell,
    warn,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import one_line, write_whole

if TYPE_CHECKING:
    from long_context_tasks.results.case_pages import ShownCase
    from long_context_tasks.results.cells import Cell
    from long_context_tasks.results.collect import CollectedRuns
    from long_context_tasks.results.compare import Comparisons
    from long_context_tasks.results.sections import SectionOptions
    from long_context_tasks.results.tidy import Collection
    from long_context_tasks.schema.report import Section, Table
    from long_context_tasks.site.build import BuiltSite
    from long_context_tasks.site.cases import SitePages

# Modules and millions of values are read and stay; the default searches them for garbage again and again, and at the end.
gc.set_threshold(50_000, 20, 100)
atexit.register(gc.freeze)
_MOST_NOT_COMPARED = 20
_OTHER_OUT = "choose another place with --out"
_TEXT = ("model", "judge", "metric", "host", "notes")
_SECTIONS = "Benchmarks' own tables"
app = typer.Typer(
    cls=with_default("site"),
    help="Make a leaderboard of runs, or print tables from results and from published archives.\n\n"
    "`lct report RESULTS... --out site/` is short for `lct report site RESULTS... --out site/`. RESULTS is any mixture of output folders of "
    "lm-eval, OpenCompass and inspect_ai, and of bundles of `lct report pack`.",
    add_completion=False,
    no_args_is_help=True,
    subcommand_metavar="[RESULTS... --out DIR | COMMAND [ARGS]...]",
)


def _address(text: str) -> str:
    # Pages link to it: only web addresses, never javascript:.
    if text and not text.startswith(("https://", "http://")):
        raise InputError(f"--submit-to {text}: expected an address, such as https://github.com/YOU/results")
    return text


def _add_cards(files: list[Path]) -> list[Path]:
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.hosts.own_tasks import add_cards

    for path in files or ():
        add_cards(path)
        if same := [name for name in catalogue.benchmark_names() if name in catalogue.READ_ONLY]:
            raise InputError(f"{path}: {same[0]} is a benchmark of `lct tasks`; choose another name")
    return files


Cards = Annotated[
    list[Path] | None,
    typer.Option(
        "--cards", callback=_add_cards, help="YAML file with cards of hosts' own tasks; repeatable."
    ),
]


@app.command(
    epilog=examples(
        "lct report results/ opencompass_outputs/ --out site/",
        "lct report results/ --json",
        "lct report results/ --section BENCHMARK --csv tables/",
    )
)
def site(
    ctx: typer.Context,
    results: RunsOrBundles,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the site, results.parquet and leaderboard.csv. Without it, only print the table.",
        ),
    ] = None,
    data_dir: RunsDataDir = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Show prompts, gold answers and judges' replies of every benchmark; do not publish such a site.",
        ),
    ] = False,
    with_cases: Annotated[
        bool,
        typer.Option("--case-pages/--no-case-pages", help="Add a page for each case with its responses."),
    ] = True,
    title: Annotated[str, typer.Option(help="Title of the site.")] = "Long-context leaderboard",
    submit_to: Annotated[
        str,
        typer.Option(
            callback=_address,
            help="Address of the repository that takes new results; the page on submitting a model links to it.",
        ),
    ] = "",
    models: NamesFile = None,
    cards: Cards = None,
    agreement: Annotated[
        Path | None,
        typer.Option(help="File of `lct judge compare --out`: how the judges agree with people."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Percent: add an effective context length up to which the score stays above this bar (RULER: 85.6).",
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            help="Print a benchmark's own tables in place of the leaderboard; repeatable.",
            autocompletion=complete_benchmark,
            rich_help_panel=_SECTIONS,
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="Metric to split, or `official`. Default: the headline of each run.",
            rich_help_panel=_SECTIONS,
        ),
    ] = "",
    bins: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=20,
            help="Number of parts of a context, for scores by position. Default: 5.",
            rich_help_panel=_SECTIONS,
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="New place of built cases that moved. Default: lct_cases of the runs.",
            rich_help_panel=_SECTIONS,
        ),
    ] = None,
    csv_dir: Annotated[Path | None, typer.Option("--csv", help=CSV, rich_help_panel=_SECTIONS)] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            help="JSON Lines with human ratings of some answers: print the means of judges corrected by them (docs/judges.md). "
            "Repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a leaderboard of runs (the default: `lct report RESULTS... --out site/`).

    RESULTS is any mixture of folders: several models, hosts, seeds and judges. Runs that differ only in seed or time are averaged case by
    case. A score is not ranked if cases are missing or the version of the task is old; the last column gives the reason. Exit code 1 if
    anything found had to be left out (damaged, unfinished, not evaluated); the rest is still printed and written.
    """
    from long_context_tasks.schema.extras import require

    require("report", "lct report", "polars", "orjson", *(("jinja2", "plotly") if out is not None else ()))
    from long_context_tasks.results.lengths import chances, family_lengths, length_document
    from long_context_tasks.results.sections import SectionOptions
    from long_context_tasks.results.tables import FILES, write_tables
    from long_context_tasks.site.build import built_site, replaced, write_site
    from long_context_tasks.site.contents import read_agreement, site_contents

    for_site = ("private", "with_cases", "title", "submit_to", "agreement")
    _note_unused(ctx, "--out", for_site if json_wanted() else (*for_site, "threshold"))
    _note_unused(ctx, "--section", ("bins",) if ratings else ("metric", "bins", "cases", "csv_dir"))
    if agreement is not None:
        read_agreement(agreement)  # reports a mistake before the costly work starts
    limit = None if threshold is None else threshold / 100
    with nullcontext() if out is None else replaced(out) as part:
        pages = _site_pages(part, out, data_dir, private=private) if part and out and with_cases else None
        collected, cells = collected_cells(results, models, pages)
        options = SectionOptions(metric, data_dir, cases, bins)
        failures = _print_tables(collected, cells, section or (), options, ratings or (), csv_dir)
        if part is not None:
            contents, notes, failed = site_contents(
                collected, cells, data_dir=data_dir, agreement=agreement, threshold=limit
            )
            tell(failed)
            failures += failed
        problems = (*collected.collection.problems, *failures)
        collection = replace(collected.collection, problems=problems)
        _print_counts(collection)
        if json_wanted():
            lengths = family_lengths(collection, cells, chances(cells), limit)
            give(None, effective_lengths=[length_document(length) for length in lengths])
        if part is not None:
            for note in notes:
                warn(f"note: {note}")
            collection = replace(collection, notes=(*collection.notes, *notes))
            contents = replace(contents, title=title, submit_to=submit_to, downloads=FILES)
            lists = pages.of(collection.runs["run"]) if pages else ()
            n_cases = write_site(part, collection, cells, lists, contents)
    if out is not None:
        paths = write_tables(out, collection, cells, contents.lengths)
        _print_site(built_site(out, n_cases), paths)
    collection.reuse.save()
    end_with_problems(problems)


def _site_pages(part: Path, out: Path, data_dir: Path | None, *, private: bool) -> "SitePages":
    from long_context_tasks.results.case_pages import ShownTasks
    from long_context_tasks.results.reuse import kept_reports
    from long_context_tasks.site.cases import SitePages

    return SitePages(part, out, ShownTasks(data_dir, warn), kept_reports(), warn, private=private)


def _note_unused(ctx: typer.Context, needed: str, names: Sequence[str]) -> None:
    """Name the given options that have no effect because the option they need is missing."""
    flags = {parameter.name: parameter.opts[0] for parameter in ctx.command.params}
    given = {
        flags[name]: name
        for name in flags
        if (source := ctx.get_parameter_source(name)) and source.name == "COMMANDLINE"
    }
    if needed not in given:
        for flag, name in given.items():
            if name in names:
                warn(f"note: {flag} has no effect without {needed}")


def _print_tables(
    collected: "CollectedRuns",
    cells: "Sequence[Cell]",
    sections: Sequence[str],
    options: "SectionOptions",
    ratings: Sequence[Path],
    csv_dir: Path | None,
) -> list[str]:
    """Print the leaderboard, or benchmarks' own tables in its place, then the judges' means corrected by human ratings.

    Return the tables that are left out because the benchmark's own code fails.
    """
    from long_context_tasks.results.checks import Failures, left_out
    from long_context_tasks.results.corrected import corrected_table, read_people
    from long_context_tasks.results.sections import Tasks, benchmark_sections, scored_runs
    from long_context_tasks.results.tables import TERMINAL_COLUMNS, leaderboard, terminal_rows

    people = read_people(ratings) if ratings else None
    failures: Failures = {}
    for name in sections:
        try:
            made = benchmark_sections(name, collected, options)
        except InputError:
            raise
        except Exception as error:  # of a plug-in; other tables are printed
            failures[f"{name}: tables of --section"], made = error, []
        for section in made:
            print_section(section, csv_dir)
    problems = left_out(failures)
    tell(problems)
    if not sections and json_wanted():
        add_table("leaderboard", leaderboard(collected.collection, cells).to_dicts())
    elif not sections:
        print_table("leaderboard", TERMINAL_COLUMNS, terminal_rows(cells), _TEXT)
    if people is not None:
        runs = collected.collection.runs.iter_rows(named=True)
        judged, _ = scored_runs(collected, Tasks(options), runs)
        _give_tables([corrected_table(judged, people)], csv_dir)
    return problems


def _print_counts(collection: "Collection") -> None:
    runs = collection.runs
    counted = {
        "run": len(runs),
        "model": runs["model"].n_unique(),
        "task": runs["task"].n_unique(),
        "problem": len(collection.problems),
        **({"note": len(collection.notes)} if collection.notes else {}),
    }
    counts = [f"{n} {noun}{'' if n == 1 else 's'}" for noun, n in counted.items()]
    warn(f"{counts[0]} of {counts[1]} on {counts[2]}, {', '.join(counts[3:])}")
    give(None, **{f"{noun}s": n for noun, n in counted.items()} | {"problems": list(collection.problems)})


def _print_site(built: "BuiltSite", tables: Sequence[Path]) -> None:
    several = "" if built.cases == 1 else "s"
    say(
        f"{built.index}: {built.files} files, {built.size / 1e6:.1f} MB, {built.cases} case{several}; open it in a browser"
    )
    say(f"tables: {', '.join(path.name for path in tables)} in {built.index.parent}")
    give(index=built.index, files=built.files, bytes=built.size, cases=built.cases, tables=tables)


def print_section(section: "Section", csv_dir: Path | None = None) -> None:
    for problem in section.problems:
        warn(problem)
    _give_tables(section.tables, csv_dir)
    for note in section.notes:
        say(note)


def _give_tables(tables: "Sequence[Table]", csv_dir: Path | None) -> None:
    from long_context_tasks.results.tables import write_csv
    from long_context_tasks.schema.report import ALL_TEXT

    shown = [table.without_empty_columns() for table in tables if table.rows]
    for table in shown:
        print_table(table.title, table.columns, table.rows, table.text | ALL_TEXT)
    if csv_dir is not None:
        write_csv(shown, csv_dir)


def collected_cells(
    results: Sequence[Path], models: "Path | None", pages: "SitePages | None" = None
) -> "tuple[CollectedRuns, list[Cell]]":
    """Read runs and print their problems and notes; ``pages`` makes the pages of the runs' cases."""
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.results.models import NO_MODELS, read_models
    from long_context_tasks.results.reuse import kept_reports

    known = NO_MODELS if models is None else read_models(models)
    collected = collect_with_files(results, known, pages.reuse if pages else kept_reports(), pages)
    tell(collected.collection.problems, collected.collection.notes)
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be used, see above")
    cells = cells_of(collected.collection)
    collected.collection.reuse.save()
    return collected, cells


def cases_of(collected: "CollectedRuns", data_dir: Path | None, *, inputs: bool) -> "Iterator[ShownCase]":
    """Yield the cases of all runs, task by task, as the cards allow them to be shown; ``inputs`` is with prompts and gold answers."""
    from long_context_tasks.results.case_pages import ShownTasks, shown_cases
    from long_context_tasks.results.checks import reason

    tasks = ShownTasks(data_dir, warn)
    for key, evaluation in sorted(collected.evaluations.items(), key=lambda item: item[1].run.task_key):
        try:
            yield from shown_cases(key, evaluation, tasks.load(evaluation.run) if inputs else None)
        except Exception as error:  # scores can be intact while responses are damaged, or a plug-in fails
            warn(f"single cases of {evaluation.run} end here: {reason(error)}")


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
            "--model",
            "-m",
            help="A model; give two or more. Not needed if the results hold exactly two models.",
        ),
    ] = None,
    tasks: Annotated[str, typer.Option(help="Only these tasks, with commas; * stands for anything.")] = "",
    same_within: Annotated[
        list[str] | None,
        typer.Option(
            help="Test whether models are the same within a margin: 2% for rates, 0.3 for points of a scale; repeat it to give both."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all figures to a file: .csv, .json or .md.")
    ] = None,
    names_file: NamesFile = None,
    cards: Cards = None,
    as_json: Json = False,
) -> None:
    """Compare models pairwise on the cases that both ran.

    Only runs of the same task, version, judge and settings are compared. Each line has the means on the shared turns, the difference with
    its 95 % interval over clusters, the p-value of a permutation test, the p-value adjusted for all tasks shown, and a verdict: a model is
    better if the adjusted p-value is below 0.05 and the interval excludes 0. With --json the document has the form of --out FILE.json. Exit
    code 1 if anything found had to be left out (damaged, unfinished, not evaluated).
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

    if out is not None and out.suffix.lower() not in FORMATS:
        raise InputError(f"--out {out}: the ending sets the format and must be one of {', '.join(FORMATS)}")
    margins = read_margins(same_within or ())
    for path in results:
        if not path.exists():
            raise InputError(
                f"{path}: no such folder or bundle. Name models with --model: lct report compare results/ --model A --model B"
            )
    collected, cells = collected_cells(results, names_file)
    collection = collected.collection
    asked = [collected.models.name_of(name) or name for name in models or ()]
    names = choose_models(collection.runs["model"].to_list(), asked)
    if patterns := words(tasks):
        cells = [cell for cell in cells if any(fnmatchcase(cell.task, pattern) for pattern in patterns)]
        if not cells:
            known = ", ".join(sorted(collection.runs["task"].unique())[:20])
            raise InputError(f"--tasks {tasks}: no run of such a task; there are: {known}")
    comparisons = compare_models(collection, cells, names, margins)
    if as_json:
        give_document(as_document(comparisons))
    else:
        _print_comparisons(comparisons)
    if out is not None:
        write_whole(out, text_in(out.suffix.lower(), comparisons), remedy=_OTHER_OUT)
        warn(f"written: {out}")
    end_with_problems(collection.problems)


def _print_comparisons(comparisons: "Comparisons") -> None:
    from long_context_tasks.results.compare import TEXT_COLUMNS, by_pair, heading, notes, shown_table
    from long_context_tasks.results.tables import printable

    for pair, compared in by_pair(comparisons).items():
        columns, shown = shown_table(heading(pair[0]), heading(pair[1]), compared)
        print_table(" and ".join(map(printable, pair)), columns, shown, TEXT_COLUMNS)
    for line in notes(comparisons):
        say(line)
    for line in comparisons.not_compared[:_MOST_NOT_COMPARED]:
        warn(f"not compared: {line}")
    if len(comparisons.not_compared) > _MOST_NOT_COMPARED:
        warn(f"... and {len(comparisons.not_compared) - _MOST_NOT_COMPARED} more; --out FILE lists all")


@app.command(
    epilog=examples(
        "lct report pack results/ opencompass_outputs/ --out bundles/",
        "lct report pack results/owl --out owl.lct.zip",
    )
)
def pack(
    results: RunsOrBundles,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A folder gets one bundle for each model; a name that ends in .zip gets all runs.",
            show_default=False,
        ),
    ],
    responses: Annotated[
        bool,
        typer.Option("--responses/--no-responses", help="Pack responses if the benchmark's card allows it."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Pack runs into small bundles: scores, provenance and, as far as the benchmark's card allows, responses.

    A bundle holds no prompts, gold answers or judges' replies; whatever looks like a key or a local path is removed. `lct report`,
    `lct report compare` and `lct plan --missing` read bundles like folders of runs. Exit code 1 if a run could not be packed.
    """
    from long_context_tasks.results.bundle.format import read_bundle
    from long_context_tasks.results.bundle.pack import pack as pack_runs
    from long_context_tasks.results.checks import CHECKS
    from long_context_tasks.results.collect import collect_with_files

    collected = collect_with_files(results)
    problems = collected.collection.problems
    tell(problems, collected.collection.notes)
    say(f"checked: {CHECKS}")
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be packed, see above")
    packed = pack_runs(collected, out, responses=responses)
    for bundle in packed:
        read_bundle(bundle.path, [])  # as its readers will: what is given away must pass their checks
    rows = [[bundle.path, bundle.runs, bundle.cases, bundle.size] for bundle in packed]
    print_table("bundles", ["bundle", "runs", "cases with responses", "bytes"], rows)
    tell((), [f"{old}; it will not be ranked" for bundle in packed for old in bundle.old])
    if withheld := sorted({name for bundle in packed for name in bundle.withheld}):
        say(f"without responses, because the benchmark's card does not allow them: {', '.join(withheld)}")
    give(
        written=[bundle.path for bundle in packed],
        runs=sum(bundle.runs for bundle in packed),
        responses_withheld=withheld,
        problems=problems,
    )
    end_with_problems(problems)


@app.command(
    epilog=examples(
        "lct report check bundles/*.lct.zip",
        "lct report check bundles/ --against main/bundles > difference.md",
    )
)
def check(
    bundles: Annotated[
        list[Path],
        typer.Argument(metavar="BUNDLE...", help="Bundles, or folders that hold some.", show_default=False),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Older bundles or runs, or folders of them (may be empty): print as Markdown what the bundles change, in place of the "
            "table. Repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check bundles as for a pull request: checksums, columns, values, and missing parts.

    Means are computed again from the scores. Every problem of every bundle is listed on standard error and gives exit code 1; notes (old
    version, missing cases) do not. With --against, the Markdown has scores and places before and after, and compares each new model with
    the nearest one; text from the bundles is escaped.
    """
    from long_context_tasks.results.bundle.runs import overview
    from long_context_tasks.results.checks import CHECKS
    from long_context_tasks.results.tables import printable

    paths = _bundles_in(bundles)
    rows, problems = overview(paths)
    names = ("bundle", "model", "host", "task", "judge", "metric", "mean", "n", "version", "notes")
    if rows and (not against or json_wanted()):
        text = ("model", "host", "task", "judge", "metric", "notes")
        shown = [
            [printable(row[name]) if isinstance(row[name], str) else row[name] for name in names]
            for row in rows
        ]
        print_table("bundles", names, shown, text, places=4)
    for problem in problems:
        warn(one_line(f"problem: {problem}"))
    bad = len({problem.partition(": ")[0] for problem in problems})
    counts = ((len(paths), "bundle"), (len(rows), "run"), (len(problems), "problem"))
    summary = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
    # Standard output holds nothing but the Markdown, so that it can go to a file.
    typer.echo(
        f"{summary}; checked: checksums, columns, responses, {CHECKS}", err=bool(against) or json_wanted()
    )
    give(bundles=len(paths), runs=len(rows), problems=problems, bundles_with_problems=bad)
    if against:
        _give_difference([Path(place) for place in against], paths)
    if problems:
        raise typer.Exit(1)


def _bundles_in(files: "Sequence[Path]") -> list[Path]:
    from long_context_tasks.results import bundles_below

    paths: list[Path] = []
    for path in files:
        if not path.exists():
            raise InputError(f"{path}: no such file; give bundles that `lct report pack` wrote")
        if path.is_dir() and not bundles_below(path):
            raise InputError(f"{path}: no bundle (*.lct.zip) in it")
        # A file given by name is checked whatever its ending.
        paths += bundles_below(path) if path.is_dir() else [path]
    return list(dict.fromkeys(paths))


def _give_difference(before: "Sequence[Path]", after: "Sequence[Path]") -> None:
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.results.difference import difference_markdown

    old = collect_with_files(before)
    tell(old.collection.problems)
    text = difference_markdown(old, collect_with_files(after))
    give(text.rstrip("\n"), markdown=text)


@app.command(
    epilog=examples(
        'lct report export results/ --eee records/ --organisation "My lab"',
        "lct report export bundles/ --eval-results models/ --dataset BENCHMARK=org/name --source https://example.org/leaderboard/",
    )
)
def export(
    results: RunsOrBundles,
    eee: Annotated[
        Path | None,
        typer.Option(help="Folder for records of Every Eval Ever, schema 0.3.0: runs and their turns."),
    ] = None,
    eval_results: Annotated[
        Path | None,
        typer.Option(help="Folder for the hub's .eval_results/*.yaml, one subfolder for each model."),
    ] = None,
    models: NamesFile = None,
    data_dir: RunsDataDir = None,
    inputs: Annotated[
        bool,
        typer.Option("--inputs", help="Include prompts, questions and gold answers if the card allows it."),
    ] = False,
    responses: Annotated[
        bool,
        typer.Option(
            "--responses/--no-responses", help="Include responses if the benchmark's card allows it."
        ),
    ] = True,
    organisation: Annotated[str, typer.Option(help="Organisation that publishes the records.")] = "unknown",
    relation: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        typer.Option(help="Relation of the evaluator to the makers of the models."),
    ] = "other",
    developer: Annotated[
        str, typer.Option(help="Developer of models whose names have no organisation.")
    ] = "",
    organisation_url: Annotated[str, typer.Option(help="Address of that organisation.")] = "",
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="BENCHMARK=ORG/NAME or BENCHMARK=ORG/NAME@REVISION: the hub's dataset with its leaderboard; repeatable."
        ),
    ] = None,
    source: Annotated[str, typer.Option(help="Address that the scores on the hub link to.")] = "",
    source_org: Annotated[str, typer.Option(help="Organisation on the hub that --source belongs to.")] = "",
    source_user: Annotated[str, typer.Option(help="User of the hub that --source belongs to.")] = "",
    as_json: Json = False,
) -> None:
    """Write results in the formats of other collections: Every Eval Ever, and model repositories of the Hugging Face hub.

    Runs of every host and bundles are read. As in bundles, responses are written only if the benchmark's card allows it, and keys and local
    paths never. Exit code 1 if anything found had to be left out.
    """
    import time

    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.results.case_pages import without_responses
    from long_context_tasks.results.exports import Provider, write_eval_results, write_records

    if eee is None and eval_results is None:
        raise InputError("nothing to write; give --eee FOLDER, --eval-results FOLDER, or both")
    datasets = dict(pair.partition("=")[::2] for pair in dataset or ())
    for name, repository in datasets.items():
        if name not in catalogue.benchmark_names() or repository.count("/") != 1:
            raise InputError(
                f"--dataset {name}={repository}: give BENCHMARK=ORG/NAME with a benchmark of `lct tasks`"
            )
    if eval_results is not None and not datasets:
        raise InputError(
            "--eval-results: name the hub's dataset of each benchmark with --dataset BENCHMARK=ORG/NAME"
        )
    if (source_org or source_user) and not source:
        raise InputError("--source-org and --source-user: the hub needs an address too; give --source")
    collected, cells = collected_cells(results, models)
    written: dict[str, Any] = {}
    if eee is not None:
        cases = cases_of(collected, data_dir, inputs=inputs)
        cases = cases if responses else map(without_responses, cases)
        provider = Provider(organisation, relation, developer, organisation_url, collected.models)
        written["eee"] = write_records(eee, collected.collection, cases, provider, time.time())
        say(f"{eee}: {len(written['eee'])} records of Every Eval Ever")
    if eval_results is not None:
        attribution = {"url": source, "name": "Leaderboard", "user": source_user, "org": source_org}
        written["eval_results"], left_out = write_eval_results(
            eval_results, cells, datasets, attribution if source else {}
        )
        tell((), (f"left out: {line}" for line in left_out))
        say(f"{eval_results}: {len(written['eval_results'])} files for the hub")
    give(**written, problems=list(collected.collection.problems))
    end_with_problems(collected.collection.problems)


@app.command(epilog=examples("lct report paper BENCHMARK --only table2,fig3"))
def paper(
    benchmark: Annotated[
        str, typer.Argument(help="Benchmark with published responses.", autocompletion=complete_benchmark)
    ],
    data_dir: DataDir = None,
    only: Annotated[str, typer.Option(help="Only these tables and figures, with commas: table2,fig3.")] = "",
    as_json: Json = False,
) -> None:
    """Recompute the tables of a benchmark's paper from the responses and scores that its authors published.

    "recomputed" is rounded as in the paper, "rounded once" from the unrounded value; compare both with "published". Exit code 1 if a
    figure that can be recomputed differs.
    """
    from long_context_tasks.results.sections import paper_sections

    sections = paper_sections(benchmark, data_dir, only)
    for section in sections:
        print_section(section)
    if any(section.problems for section in sections):
        raise typer.Exit(1)
