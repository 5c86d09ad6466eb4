"""``lct report compare RESULTS... --model A --model B``: whether one model is better than another, on the same cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import Json, RunsOrBundles, examples
from long_context_tasks.cli.output import end_with_problems, give_document, print_table, say, tell

if TYPE_CHECKING:
    from long_context_tasks.results.compare import Comparisons

_SHOWN_REST = 20


EXAMPLES = examples(
    "lct report compare results/ --model Qwen2.5-7B --model Llama-3.1-8B",
    "lct report compare owl.lct.zip crow.lct.zip --out comparison.md",
    "lct report compare results/ outputs/ --models models.yaml -m owl -m crow",
)


def compare(
    results: RunsOrBundles,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="A model; twice or more. Not needed where the results hold two models."
        ),
    ] = None,
    tasks: Annotated[
        str, typer.Option("--tasks", help="Only these tasks, with commas; * stands for anything.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all figures to a file: .csv, .json or .md.")
    ] = None,
    names_file: Annotated[
        Path | None,
        typer.Option(
            "--models",
            help="YAML file with names and aliases of models, for one that hosts name differently (docs/reading_the_site.md).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare models pair by pair on the cases that both could take.

    Only the same task, version, judge and settings are compared. Each line has the means on the shared turns, the difference with its
    95 % interval over clusters, p of a permutation test, p adjusted for all tasks shown, and what may be said. With --json the document
    has the form of --out FILE.json. Exit code 1 when something that was found is left out (damaged, unfinished, not evaluated).
    """
    from fnmatch import fnmatchcase

    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.results.cells import cells_of
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.results.compare import (
        FORMATS,
        as_document,
        choose_models,
        compare_models,
        text_in,
    )
    from long_context_tasks.results.models import Models, read_models, renamed
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import write_whole

    if out is not None and out.suffix.lower() not in FORMATS:
        raise InputError(f"--out {out}: the name tells the format, and must end in {', '.join(FORMATS)}")
    _check_places(results)
    known = Models() if names_file is None else read_models(names_file)
    collected = collect_with_files(results)
    told = {run: one.run.model for run, one in collected.evaluations.items()}
    collection = renamed(collected.collection, known, told)
    tell(collection.problems, collection.notes)
    if not len(collection.runs):
        raise InputError(
            f"{', '.join(map(str, results))}: no run that can be used; give folders of runs or bundles of `lct report pack`"
        )
    asked = [known.name_of(name) or name for name in models or ()]
    names = choose_models(collection.runs["model"].to_list(), asked)
    versions = {name: catalogue.card(name).version for name in catalogue.benchmark_names()}
    cells = cells_of(collection, versions)
    if patterns := [word.strip() for word in tasks.split(",") if word.strip()]:
        cells = [cell for cell in cells if any(fnmatchcase(cell.task, pattern) for pattern in patterns)]
        if not cells:
            there = ", ".join(sorted(collection.runs["task"].unique())[:20])
            raise InputError(f"--tasks {tasks}: no run of such a task; there are: {there}")
    found = compare_models(collection, cells, names)
    if as_json:
        give_document(as_document(found))
    else:
        _print(found)
    if out is not None:
        write_whole(out, text_in(out.suffix.lower(), found), remedy="choose another place with --out")
        typer.echo(f"written: {out}", err=True)
    end_with_problems(collection.problems)


def _check_places(results: list[Path]) -> None:
    from long_context_tasks.schema import InputError

    for path in results:
        if not path.exists():
            raise InputError(
                f"{path}: not there; give folders with runs or bundles. A model is named with --model: lct report compare results/ "
                "--model A --model B"
            )


def _print(found: "Comparisons") -> None:
    from long_context_tasks.results.compare import (
        TEXT_COLUMNS,
        notes,
        pairs,
        rows_of,
        terminal_columns,
        terminal_rows,
    )
    from long_context_tasks.results.tables import printable

    for pair in pairs(found):
        columns = terminal_columns(*pair)
        rows = terminal_rows([*rows_of(pair, found.tasks), *rows_of(pair, found.benchmarks)])
        # What is empty everywhere takes no room.
        kept = [number for number in range(len(columns)) if any(row[number] for row in rows)]
        shown = [[row[number] for number in kept] for row in rows]
        title = " and ".join(map(printable, pair))
        print_table(title, [columns[number] for number in kept], shown, TEXT_COLUMNS)
    for line in notes(found):
        say(line)
    for line in found.not_compared[:_SHOWN_REST]:
        typer.echo(f"not compared: {line}", err=True)
    if len(found.not_compared) > _SHOWN_REST:
        typer.echo(f"... and {len(found.not_compared) - _SHOWN_REST} more; --out has all", err=True)
