"""The command `lct`: one file per command, imported when it is asked for.

Help must come at once, so the files of the commands import nothing heavy at the top; what they do is imported when
they do it.
"""

import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from long_context_tasks.schema.files import DISK_FAULTS, InputError, visible

_COMMANDS = {
    "annotate": "annotate:app",
    "build": "build:app",
    "check": "benchmark:check_app",
    "coverage": "coverage:app",
    "data": "data:app",
    "demo": "demo:app",
    "gate": "gate:app",
    "generate": "installed:generate_app",
    "judge": "judge:app",
    "new": "benchmark:new_app",
    "noise": "noise:app",
    "orca": "orca:app",
    "plan": "plan:app",
    "report": "report:app",
    "runs": "runs:app",
    "tasks": "tasks:app",
}
"""Each command's module here, and the typer app in it with one command or a group of them."""

FINDING, BAD_INPUT, INTERNAL, INTERRUPTED, CLOSED_PIPE = 1, 2, 3, 130, 141
"""Exit codes beside 0; docs/cli.md explains them. The last two are those of shells for programs that a signal ended."""

_DEBUG = "--debug"

# By name, as typer brings these classes of its own or takes those of click.
_USAGE_ERROR: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


class _LazyCommands(TyperGroup):
    """Finds a command by importing its file, and turns every error into one line on stderr and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands, by name."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name, None when there is none."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        app = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        command = typer.main.get_command(app)
        command.name = cmd_name  # groups have none of their own, and the help lists commands by it
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take --debug wherever it stands."""
        end = args.index("--") if "--" in args else len(args)
        known, rest = args[:end], args[end:]
        debug = [_DEBUG] if _DEBUG in known else []
        known = [word for word in known if word != _DEBUG]
        try:
            return list(super().parse_args(ctx, [*debug, *known, *rest]))
        except _USAGE_ERROR as error:
            _fail_usage(error, _DEBUG in debug)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command, print what --json collected, and end with the exit code of what happened."""
        from long_context_tasks.cli.output import finish_output, start_output

        start_output()
        debug = bool(ctx.params.get("debug"))
        try:
            try:
                result = super().invoke(ctx)
            except typer.Exit:
                finish_output()  # a check that failed has a result all the same
                raise
            finish_output()
        except InputError as error:
            _fail(f"error: {error}", BAD_INPUT, error, debug)
        except KeyboardInterrupt as error:
            _fail("interrupted", INTERRUPTED, error, debug)
        except BrokenPipeError as error:
            _close_output()
            raise typer.Exit(CLOSED_PIPE) from error
        except _USAGE_ERROR as error:
            _fail_usage(error, debug)
            raise
        except (typer.Exit, typer.Abort):
            raise
        except ModuleNotFoundError as error:
            from long_context_tasks.schema.extras import remedy_for

            missing = error.name or "a library"
            _fail(
                f"error: lct {ctx.invoked_subcommand} needs {missing}: {remedy_for(missing)}",
                BAD_INPUT,
                error,
                debug,
            )
        except Exception as error:
            if isinstance(error, OSError) and error.errno in DISK_FAULTS:
                place = f"{error.filename}: " if error.filename else ""
                remedy = "make room there or choose another place"
                _fail(f"error: {place}{error.strerror}; {remedy}", BAD_INPUT, error, debug)
            said = " ".join(str(error).split())
            remedy = "" if debug else f"; run again with {_DEBUG} for the traceback"
            _fail(f"error: {type(error).__name__}: {said or 'no message'}{remedy}", INTERNAL, error, debug)
        return result


def _fail_usage(error: Any, debug: bool) -> None:
    """One line for a word that no command knows; returns only where help was asked for by giving no words at all."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return
    said = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lct"
    _fail(f"error: {said}; see `{command} --help`", BAD_INPUT, error, debug)


def _fail(message: str, code: int, error: BaseException, debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exception(error)
    typer.echo(visible(message), err=True)
    raise typer.Exit(code) from error


def _close_output() -> None:
    """Drop what is still buffered, so that Python ends without an error when the reader is gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no file
        return


app = typer.Typer(
    cls=_LazyCommands,
    name="lct",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from long_context_tasks import __version__

        typer.echo(f"lct {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Examples:\n\n  lct tasks synthetic\n\n  lct plan --tasks lct_official --model ./Qwen2.5-7B\n\n  lct report results/ --out site/"
)
def lct(
    debug: Annotated[
        bool, typer.Option(_DEBUG, help="Show the traceback of an error; before or after the command.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-context benchmarks for lm-evaluation-harness, OpenCompass and inspect_ai: data, cases, plans, judges, reports."""
