"""The command `lct`: one file per command, imported when it is asked for.

Help must come at once, so the files of the commands import nothing heavy at the top; what they do is imported when
they do it.
"""

import importlib
import importlib.util
from typing import Any

import typer
from typer.core import TyperGroup

from long_context_tasks.schema.errors import InputError

_HERE = "long_context_tasks.cli"
_COMMANDS = (
    "annotate",
    "build",
    "coverage",
    "data",
    "demo",
    "generate",
    "judge",
    "noise",
    "orca",
    "paths",
    "plan",
    "report",
    "tasks",
)
"""Each names a module here that holds a typer app called ``app`` with one command or a group of them."""


class _LazyCommands(TyperGroup):
    """Finds a command by importing its file, and turns bad input into one line on stderr."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands whose files are there."""
        return [name for name in _COMMANDS if importlib.util.find_spec(f"{_HERE}.{name}")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name, None when there is none."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = typer.main.get_command(importlib.import_module(f"{_HERE}.{cmd_name}").app)
        command.name = cmd_name  # groups have none of their own, and the help lists commands by it
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command; bad input ends with exit code 2 and one line that says what to do."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_LazyCommands,
    name="lct",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def lct() -> None:
    """Long-context benchmarks for lm-evaluation-harness and OpenCompass: data, cases, noise, judges, folders."""
