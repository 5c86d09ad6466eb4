"""The command `lct`: one file per command, imported when the command is used.

Help must appear at once, so these files import nothing heavy at the top; functions import what they need.
"""

import importlib
import os
import re
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from long_context_tasks.schema.files import DISK_FAULTS, InputError

# Command -> module in this folder and its typer app, which holds one command or a group of them.
_COMMANDS = {
    "annotate": "annotate:app",
    "build": "build:app",
    "check": "benchmark:check_app",
    "coverage": "coverage:app",
    "data": "data:app",
    "demo": "demo:app",
    "gate": "gate:app",
    "judge": "judge:app",
    "new": "benchmark:new_app",
    "noise": "noise:app",
    "orca": "orca:app",
    "plan": "plan:app",
    "report": "report:app",
    "runs": "runs:app",
    "tasks": "tasks:app",
}

# Exit codes other than 0; docs/cli.md explains them. The last two are those of a shell for a program ended by a signal.
FINDING, BAD_INPUT, INTERNAL, INTERRUPTED, CLOSED_PIPE = 1, 2, 3, 130, 141

_DEBUG = "--debug"

# Found by name: typer has error classes of its own or those of click, depending on its version.
_USAGE_ERROR: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


class _LazyCommands(TyperGroup):
    """Imports a command's file when the command is used, and turns every error into one line on stderr and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; None for an unknown name."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        app = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        command = typer.main.get_command(app)
        command.name = cmd_name  # the help lists commands by it, and groups have none of their own
        for each in (command, *getattr(command, "commands", {}).values()):
            each.help = _unwrap(each.help)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; the error for an unknown name names the groups that have such a command."""
        if args[0] not in _COMMANDS:
            groups = {name: getattr(self.get_command(ctx, name), "commands", {}) for name in _COMMANDS}
            if within := [f"`lct {name} {args[0]}`" for name, own in groups.items() if args[0] in own]:
                raise InputError(f"no such command {args[0]!r}; did you mean {' or '.join(within)}?")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept --debug anywhere before `--`."""
        end = args.index("--") if "--" in args else len(args)
        debug = _DEBUG in args[:end]
        words = [word for word in args[:end] if word != _DEBUG]
        try:
            return list(super().parse_args(ctx, [*([_DEBUG] if debug else []), *words, *args[end:]]))
        except _USAGE_ERROR as error:
            _end_usage_error(error, debug)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command, print the document of --json, and end with the exit code of the outcome."""
        from long_context_tasks.cli.output import finish_output, start_output

        start_output()
        debug, words = bool(ctx.params.get("debug")), list(ctx.args)
        try:
            try:
                result = super().invoke(ctx)
            except typer.Exit:
                finish_output()  # a check that failed has a result as well
                raise
            finish_output()
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError as error:
            _close_output()
            raise typer.Exit(CLOSED_PIPE) from error
        except _USAGE_ERROR as error:
            _end_usage_error(error, debug)
            raise
        except (Exception, KeyboardInterrupt) as error:
            message, code = _message_of(error, ctx.invoked_subcommand, words, debug)
            _end(message, code, error, debug)
        return result


def _unwrap(text: str | None) -> str | None:
    """Join the lines of each paragraph, so that the help fits the terminal; typer keeps the line breaks of the source."""
    return text and "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _message_of(error: BaseException, command: str, words: list[str], debug: bool) -> tuple[str, int]:
    """Return the line and the exit code for an error of a command with these words."""
    if isinstance(error, InputError):
        # An error of a run's option begins with its name, such as lct_answer_budget.
        found = re.match(r"lct_(\w+)", text := str(error))
        flag = f"--{found[1].replace('_', '-')}" if found else ""
        typed = any(word.partition("=")[0] == flag for word in words)
        return f"error: {flag + text[found.end() :] if found and typed else text}", BAD_INPUT
    if isinstance(error, KeyboardInterrupt):
        return ": ".join(["interrupted", *map(str, error.args)]), INTERRUPTED
    if isinstance(error, ModuleNotFoundError):
        from long_context_tasks.schema.extras import remedy_for

        missing = error.name or "a library"
        return f"error: lct {command} needs {missing}: {remedy_for(missing)}", BAD_INPUT
    if isinstance(error, OSError) and error.errno in DISK_FAULTS:
        place = f"{error.filename}: " if error.filename else ""
        return f"error: {place}{error.strerror}; make room there or choose another place", BAD_INPUT
    text = " ".join(str(error).split()) or "no message"
    remedy = "" if debug else f"; run again with {_DEBUG} for the traceback"
    return f"error: {type(error).__name__}: {text}{remedy}", INTERNAL


def _end_usage_error(error: Any, debug: bool) -> None:
    """End with one line for an unknown word or option; return if the error only asks for the help of a group."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lct"
    _end(f"error: {text}; see `{command} --help`", BAD_INPUT, error, debug)


def _end(message: str, code: int, error: BaseException, debug: bool) -> NoReturn:
    from long_context_tasks.cli.output import warn

    if debug:
        import traceback

        warn("".join(traceback.format_exception(error)).rstrip())
    warn(message)
    raise typer.Exit(code) from error


def _close_output() -> None:
    # Python would end with an error if it flushed buffered output into a closed pipe.
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is not a file
        return


def _print_version(value: bool) -> None:
    if value:
        from long_context_tasks import __version__

        typer.echo(f"lct {__version__}")
        raise typer.Exit


def lct(
    debug: Annotated[
        bool, typer.Option(_DEBUG, help="Show the traceback of an error. May also follow the command.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-context benchmarks for lm-evaluation-harness, OpenCompass and inspect_ai: data, cases, plans, judges, reports."""


app = typer.Typer(
    cls=_LazyCommands,
    name="lct",
    callback=lct,
    epilog="Examples:\n\n  lct tasks synthetic\n\n  lct plan --tasks lct_official --model ./Qwen2.5-7B\n\n  lct report results/ --out site/",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
