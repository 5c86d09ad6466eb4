"""`lct tasks`: the names of all tasks."""

from typing import Annotated

import typer

from long_context_tasks.cli.options import Json, complete_task, examples
from long_context_tasks.cli.output import print_lines

app = typer.Typer(add_completion=False)


@app.command(epilog=examples("lct tasks", "lct tasks synthetic"))
def tasks(
    containing: Annotated[
        str,
        typer.Argument(
            help="Only names that contain this, e.g. recall or _synthetic.",
            show_default=False,
            autocompletion=complete_task,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """List the tasks, one name a line; both hosts know them under these names."""
    from long_context_tasks.benchmarks.catalogue import task_specs
    from long_context_tasks.schema import InputError

    names = [spec.name for spec in task_specs() if containing in spec.name]
    if not names:
        raise InputError(f"no task contains {containing!r}; `lct tasks` lists all")
    print_lines("tasks", ({"task": name} for name in names), "{task}")
