"""``lct report RESULTS... --out site/``: runs of all hosts to a table, files for other programs, and the site."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import (
    CSV,
    Json,
    RunsDataDir,
    RunsOrBundles,
    complete_benchmark,
    examples,
    with_default,
)
from long_context_tasks.cli.output import end_with_problems, give, json_wanted, print_table, say, tell

if TYPE_CHECKING:
    from long_context_tasks.results.case_pages import ShownCase
    from long_context_tasks.results.cells import Cell
    from long_context_tasks.results.collect import CollectedRuns
    from long_context_tasks.schema import LoadedTask
    from long_context_tasks.schema.report import Section, Table

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


@dataclass(frozen=True)
class _Tables:
    """What to print: the options of the panel "Benchmarks' own tables" and ``--ratings``."""

    sections: Sequence[str]  # benchmarks whose own tables are printed in place of the leaderboard
    ratings: Sequence[Path]  # files with people's ratings, by which judges' means are corrected
    csv_dir: Path | None
    # metric, data_dir, cases, bins: see SectionOptions
    metric: str
    data_dir: Path | None
    cases: Path | None
    bins: int | None


@dataclass(frozen=True)
class _Site:
    out: Path
    title: str
    submit_to: str
    private: bool
    case_pages: bool
    data_dir: Path | None
    agreement: Path | None
    threshold: float | None


def _address(text: str) -> str:
    from long_context_tasks.schema import InputError

    # Pages link to it: only web addresses, never javascript:.
    if text and not text.startswith(("https://", "http://")):
        raise InputError(f"--submit-to {text}: expected an address, such as https://github.com/YOU/results")
    return text


@app.command(
    epilog=examples(
        "lct report results/ opencompass_outputs/ --out site/",
        "lct report results/ --json",
        "lct report results/ --section BENCHMARK --csv tables/",
    )
)
def site(
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
    models: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with names, aliases, claimed windows, licences and parameters of models (docs/reading_the_site.md)."
        ),
    ] = None,
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
            help="JSON Lines with people's ratings of some answers: print the means of judges corrected by them (docs/judges.md). "
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

    require("report", "lct report", "polars", *(("jinja2", "plotly") if out is not None else ()))
    from long_context_tasks.site.contents import read_agreement

    if agreement is not None:
        read_agreement(agreement)  # reports a mistake before the costly work starts
    collected, cells = collected_cells(
        results,
        models,
        "the folder that lm-eval's --output_path (with --log_samples) or OpenCompass's -w names, or bundles of `lct report pack`",
    )
    _print_tables(
        collected,
        cells,
        _Tables(section or (), ratings or (), csv_dir, metric, data_dir, cases, bins),
    )
    _print_counts(collected)
    limit = None if threshold is None else threshold / 100
    if json_wanted():
        from long_context_tasks.results.lengths import chances, family_lengths, length_document

        found = family_lengths(collected.collection, cells, chances(cells), limit)
        give(None, effective_lengths=[length_document(one) for one in found])
    if out is not None:
        _write_site(
            collected,
            cells,
            _Site(out, title, submit_to, private, with_cases, data_dir, agreement, limit),
        )
    end_with_problems(collected.collection.problems)


def _print_tables(collected: "CollectedRuns", cells: "Sequence[Cell]", wanted: _Tables) -> None:
    """Print the leaderboard or its replacement, then the judges' corrected means."""
    from long_context_tasks.results.tables import (
        TERMINAL_COLUMNS,
        leaderboard,
        terminal_rows,
    )

    people = None
    if wanted.sections or wanted.ratings:
        # These files are costly to import and most reports need none of them.
        from long_context_tasks.results.corrected import corrected_table, read_people
        from long_context_tasks.results.sections import SectionOptions, benchmark_sections, scored_runs

        options = SectionOptions(wanted.metric, wanted.data_dir, wanted.cases, wanted.bins)
        people = read_people(wanted.ratings) if wanted.ratings else None
    if wanted.sections:
        for section in [
            each for name in wanted.sections for each in benchmark_sections(name, collected, options)
        ]:
            print_section(section, wanted.csv_dir)
    else:
        values = leaderboard(collected.collection, cells).to_dicts()
        print_table("leaderboard", TERMINAL_COLUMNS, terminal_rows(cells), _TEXT, values)
    if people is not None:
        judged, _ = scored_runs(collected, options)
        _give_tables([corrected_table(judged, people)], wanted.csv_dir)


def _print_counts(collected: "CollectedRuns") -> None:
    collection = collected.collection
    runs = collection.runs
    counted = {
        "run": len(runs),
        "model": runs["model"].n_unique(),
        "task": runs["task"].n_unique(),
        "problem": len(collection.problems),
        **({"note": len(collection.notes)} if collection.notes else {}),
    }
    counts = [f"{n} {noun}{'' if n == 1 else 's'}" for noun, n in counted.items()]
    typer.echo(f"{counts[0]} of {counts[1]} on {counts[2]}, {', '.join(counts[3:])}", err=True)
    give(None, **{f"{noun}s": n for noun, n in counted.items()} | {"problems": list(collection.problems)})


def _write_site(collected: "CollectedRuns", cells: "Sequence[Cell]", wanted: _Site) -> None:
    from long_context_tasks.results.tables import FILES, write_tables
    from long_context_tasks.site.build import build_site
    from long_context_tasks.site.contents import site_contents

    contents, notes = site_contents(
        collected, cells, data_dir=wanted.data_dir, agreement=wanted.agreement, threshold=wanted.threshold
    )
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    collection = replace(collected.collection, notes=(*collected.collection.notes, *notes))
    cases = cases_of(collected, wanted.data_dir, private=wanted.private) if wanted.case_pages else iter(())
    options = replace(contents, title=wanted.title, submit_to=wanted.submit_to, downloads=FILES)
    built = build_site(wanted.out, collection, cells, cases, options)
    paths = write_tables(wanted.out, collection, cells, options.lengths)
    several = "" if built.cases == 1 else "s"
    say(
        f"{built.index}: {built.files} files, {built.size / 1e6:.1f} MB, {built.cases} case{several}; open it in a browser"
    )
    say(f"tables: {', '.join(path.name for path in paths)} in {wanted.out}")
    give(index=built.index, files=built.files, bytes=built.size, cases=built.cases, tables=paths)


def print_section(section: "Section", csv_dir: Path | None = None) -> None:
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
    results: Sequence[Path], models: "Path | None", expected: str
) -> "tuple[CollectedRuns, list[Cell]]":
    """Read runs and print their problems and notes; ``expected`` describes valid input for the error."""
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.results.models import NO_MODELS, read_models
    from long_context_tasks.schema import InputError

    known = NO_MODELS if models is None else read_models(models)
    collected = collect_with_files(results, known)
    tell(collected.collection.problems, collected.collection.notes)
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be used; give {expected}")
    versions = {name: catalogue.card(name).version for name in catalogue.benchmark_names()}
    return collected, cells_of(collected.collection, versions)


def cases_of(
    collected: "CollectedRuns", data_dir: Path | None, *, private: bool = False, inputs: bool = True
) -> "Iterator[ShownCase]":
    """Yield the cases of all runs, task by task, as the cards allow them to be shown; ``inputs``: with prompts and gold answers."""
    from long_context_tasks.hosts.stored import Places, load_task
    from long_context_tasks.results.case_pages import MOST_FOR_PAGES, shown_cases
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.case_folder import NotInCache

    # Only one task is in memory at a time: its texts may be large.
    loaded: tuple[str, LoadedTask | None] = ("", None)
    by_task = sorted(collected.evaluations.items(), key=lambda one: one[1].run.task_key)
    for run, evaluation in by_task:
        key = evaluation.run.task_key
        if inputs and key != loaded[0]:
            try:
                loaded = (key, load_task(evaluation.run, Places(data_dir), MOST_FOR_PAGES))
            except InputError as error:
                loaded = (key, None)  # each page of the run says that the data are missing
                if isinstance(error, NotInCache):
                    typer.echo(f"note: no prompts and gold answers on pages: {error}", err=True)
        try:
            yield from shown_cases(run, evaluation, loaded[1], private=private)
        except InputError as error:
            # A later judge's scores can be intact while the responses they belong to are damaged.
            typer.echo(f"single cases end here: {error}", err=True)
