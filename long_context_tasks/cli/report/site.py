"""``lct report RESULTS... --out site/``: from runs of both hosts to a table, files for other programs, and the site."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import (
    CSV,
    Json,
    RunsDataDir,
    RunsOrBundles,
    complete_benchmark,
    examples,
    words,
)
from long_context_tasks.cli.output import end_with_problems, give, json_wanted, print_table, say, tell
from long_context_tasks.schema.extras import require

if TYPE_CHECKING:
    from long_context_tasks.results.case_pages import ShownCase
    from long_context_tasks.results.cells import Cell
    from long_context_tasks.results.collect import Collected
    from long_context_tasks.results.models import Models
    from long_context_tasks.results.tidy import Collection
    from long_context_tasks.schema import LoadedTask
    from long_context_tasks.schema.report import Section, Table
    from long_context_tasks.site.shown import SiteOptions

_NEEDED = ("polars",)
_SITE = ("jinja2", "plotly")
_TEXT = ("model", "judge", "metric", "host", "notes")
_SECTIONS = "Benchmarks' own tables"
SITE_EXAMPLES = examples(
    "lct report results/ opencompass_outputs/ --out site/",
    "lct report results/ --json",
    "lct report results/ --section BENCHMARK --csv tables/",
    "lct report results/ --by prompt_style,temperature",
)


PoolSeeds = Annotated[
    bool,
    typer.Option(
        "--pool-seeds",
        help="Count runs that differ only in the seed that their cases are made from (synthetic, built) as one run of more cases.",
    ),
]


def _address(text: str) -> str:
    """The value of --submit-to, which pages link to."""
    from long_context_tasks.schema import InputError

    if text and not text.startswith(("https://", "http://")):
        raise InputError(f"--submit-to {text}: expected an address, such as https://github.com/YOU/results")
    return text


def site(
    results: RunsOrBundles,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the site, results.parquet, leaderboard.csv and leaderboard.md. Without it only the table.",
        ),
    ] = None,
    data_dir: RunsDataDir = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Show prompts, gold and judges' replies of every benchmark; for a private site.",
        ),
    ] = False,
    with_cases: Annotated[
        bool, typer.Option("--case-pages/--no-case-pages", help="Pages of single cases with responses.")
    ] = True,
    title: Annotated[str, typer.Option(help="Of the site.")] = "Long-context leaderboard",
    badges: Annotated[
        bool,
        typer.Option("--badges", help="Add a badge for each score: as many files as models times tasks."),
    ] = False,
    space: Annotated[
        bool,
        typer.Option("--space", help="Add the README.md that makes the folder a static Space of the hub."),
    ] = False,
    submit_to: Annotated[
        str,
        typer.Option(
            callback=_address,
            help="https://...: the repository that takes new results, which the page on submitting a model then names.",
        ),
    ] = "",
    models: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with names, aliases, claimed windows, licences and parameters of models (docs/reading_the_site.md)."
        ),
    ] = None,
    claimed: Annotated[
        list[str] | None,
        typer.Option(help="MODEL=128k: the context window that its makers claim; repeatable."),
    ] = None,
    agreement: Annotated[
        Path | None,
        typer.Option(help="What `lct judge compare --out` wrote: how the judges agree with people."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Percent: a second effective context length, up to which the score stays above it (RULER: 85.6).",
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
            help="Metric to split, or `official`. Default: each run's headline.", rich_help_panel=_SECTIONS
        ),
    ] = "",
    lower: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            help="FIRST,SECOND: test whether FIRST scores lower (one-tailed Welch test); each is a model, a task or MODEL:TASK. "
            "Repeatable.",
            rich_help_panel=_SECTIONS,
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=20,
            help="Parts of a context, for scores by position. Default: 5.",
            rich_help_panel=_SECTIONS,
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="Where built cases lie now. Default: the runs' own lct_cases.", rich_help_panel=_SECTIONS
        ),
    ] = None,
    csv_dir: Annotated[Path | None, typer.Option("--csv", help=CSV, rich_help_panel=_SECTIONS)] = None,
    by: Annotated[
        str,
        typer.Option(
            help="Print a row for each combination of these settings, with commas, best first: prompt_style,temperature."
        ),
    ] = "",
    pool_seeds: PoolSeeds = False,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            help="People's ratings of some of the answers, JSON Lines: print each judge's mean corrected by them (docs/judges.md). "
            "Repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a leaderboard of runs of both hosts (the default: `lct report RESULTS... --out site/`).

    Any mixture of folders: several models, runs, seeds and judges. Runs that differ only in seed or time are averaged case by case. A
    score is not ranked when cases are missing or the task's version is old; the last column says why. Exit code 1 when something that was
    found is left out (damaged, unfinished, not evaluated); the rest is printed and written all the same.
    """
    require("report", "lct report", *_NEEDED, *(_SITE if out is not None else ()))
    from long_context_tasks.results.compare import unknown_model
    from long_context_tasks.results.models import Models, read_models, with_claims
    from long_context_tasks.results.sections import (
        SectionOptions,
        benchmark_sections,
        corrected_table,
        read_people,
        scored_runs,
    )
    from long_context_tasks.results.tables import (
        TERMINAL_COLUMNS,
        leaderboard,
        settings_table,
        summary,
        terminal_rows,
    )
    from long_context_tasks.schema import InputError
    from long_context_tasks.site.contents import read_agreement, site_contents

    if agreement is not None:
        read_agreement(agreement)  # report a mistake before costly work
    people = None if ratings is None else read_people(ratings)
    given = Models() if models is None else read_models(models)
    known = with_claims(given, claimed or ())
    collected, cells = collected_cells(
        results,
        known,
        "the folder that lm-eval's --output_path (with --log_samples) or OpenCompass's -w names, or bundles of `lct report pack`",
        pool_seeds=pool_seeds,
    )
    collection = collected.collection
    for claim in claimed or ():
        # It is of a model in the results, or in the file of models, which may name more.
        name, there = claim.rpartition("=")[0], collection.runs["model"].to_list()
        if given.name_of(name) is None and name not in there:
            raise InputError(f"--claimed {claim}: {unknown_model(name, there)}")
    if section:
        wanted = SectionOptions(metric, data_dir, cases, bins, tuple(lower or ()))
        found = [
            own
            for name in section
            for own in benchmark_sections(name, collection, collected.evaluations, wanted)
        ]
        for own in found:
            print_section(own, csv_dir)
    elif by:
        _give_tables([settings_table(cells, words(by))], csv_dir)
    else:
        values = leaderboard(collection, cells).to_dicts()
        print_table("leaderboard", TERMINAL_COLUMNS, terminal_rows(cells), _TEXT, values)
    if people is not None:
        judged, _ = scored_runs(
            collection.runs, collected.evaluations, SectionOptions(metric, data_dir, cases)
        )
        _give_tables([corrected_table(judged, people)], csv_dir)
    counted = summary(collection)
    counts = [f"{n} {noun}{'' if n == 1 else 's'}" for noun, n in counted.items()]
    typer.echo(f"{counts[0]} of {counts[1]} on {counts[2]}, {', '.join(counts[3:])}", err=True)
    result: dict[str, Any] = {f"{noun}s": n for noun, n in counted.items()} | {
        "problems": list(collection.problems)
    }
    give(None, **result)
    _give_lengths(collection, cells, threshold)
    if out is not None:
        options, notes = site_contents(
            collection,
            cells,
            collected.evaluations,
            title=title,
            models=known,
            data_dir=data_dir,
            agreement=agreement,
            threshold=None if threshold is None else threshold / 100,
        )
        for note in notes:
            typer.echo(f"note: {note}", err=True)
        noted = replace(collection, notes=(*collection.notes, *notes))
        shown = cases_of(collected, data_dir, private=private) if with_cases else iter(())
        _write_site(
            out, noted, cells, shown, replace(options, badges=badges, space=space, submit_to=submit_to)
        )
    end_with_problems(collection.problems)


def _give_lengths(collection: "Collection", cells: "Sequence[Cell]", threshold: float | None) -> None:
    """Give the effective lengths; they take a while, and only ``--json`` shows them."""
    from long_context_tasks.results.lengths import family_lengths, length_document
    from long_context_tasks.site.contents import chances

    if json_wanted():
        limit = None if threshold is None else threshold / 100
        found = family_lengths(collection, cells, chances(cells), limit)
        give(None, effective_lengths=[length_document(one) for one in found])


def _write_site(
    out: Path,
    collection: "Collection",
    cells: "Sequence[Cell]",
    shown: "Iterator[ShownCase]",
    options: "SiteOptions",
) -> None:
    from long_context_tasks.results.tables import FILES, write_tables
    from long_context_tasks.site.build import build_site

    built = build_site(out, collection, cells, shown, replace(options, downloads=FILES))
    paths = write_tables(out, collection, cells, options.lengths)
    say(
        f"{built.index}: {built.files} files, {built.size / 1e6:.1f} MB, {built.cases} case{'' if built.cases == 1 else 's'}; open it in a browser"
    )
    say(f"tables: {', '.join(path.name for path in paths)} in {out}")
    give(index=built.index, files=built.files, bytes=built.size, cases=built.cases, tables=paths)


def print_section(section: "Section", csv_dir: Path | None = None) -> None:
    """Print the tables and notes of a section; problems go to standard error, tables into a folder too where one is given."""
    for problem in section.problems:
        typer.echo(problem, err=True)
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
    results: Sequence[Path], models: "Models", expected: str, *, pool_seeds: bool = False
) -> "tuple[Collected, list[Cell]]":
    """Read runs under the names of a file of models, tell what is wrong with them, and return them with their cells.

    Raises:
        InputError: no run that can be used; ``expected`` says what to give.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.collect import collect_with_files, renamed
    from long_context_tasks.results.settings import pooled_seeds
    from long_context_tasks.schema import InputError

    collected = renamed(collect_with_files(results), models)
    tell(collected.collection.problems, collected.collection.notes)
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be used; give {expected}")
    if pool_seeds:
        collected = replace(collected, collection=pooled_seeds(collected.collection))
    versions = {name: catalogue.card(name).version for name in catalogue.benchmark_names()}
    return collected, cells_of(collected.collection, versions)


def cases_of(
    collected: "Collected", data_dir: Path | None, *, private: bool = False, inputs: bool = True
) -> "Iterator[ShownCase]":
    """The cases of all runs; one task is held at a time, as its texts may be large, and none without ``inputs``: prompts and gold."""
    from long_context_tasks.hosts.stored import Places, load_task
    from long_context_tasks.results.case_pages import shown_cases
    from long_context_tasks.results.sections import MOST_FOR_PAGES
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.case_folder import NotInCache

    loaded: tuple[str, LoadedTask | None] = ("", None)
    by_task = sorted(collected.evaluations.items(), key=lambda one: one[1].run.task_key)
    for run, evaluation in by_task:
        key = evaluation.run.task_key
        if inputs and key != loaded[0]:
            try:
                loaded = (key, load_task(evaluation.run, Places(data_dir), MOST_FOR_PAGES))
            except InputError as error:
                loaded = (key, None)  # each of its pages says so
                if isinstance(error, NotInCache):
                    typer.echo(f"note: no prompts and gold answers on pages: {error}", err=True)
        try:
            yield from shown_cases(run, evaluation, loaded[1], private=private)
        except InputError as error:
            # Scores of a later judge are there, and the responses behind them are damaged.
            typer.echo(f"single cases end here: {error}", err=True)
