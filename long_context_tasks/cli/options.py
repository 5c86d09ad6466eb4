"""Options that several commands share, so that one thing has one name, one short form and one explanation everywhere.

A command takes an option of these names from here. Names follow the options of a run (``lct_n`` is ``--n``). ``--out`` has the short form
``-o``; each command describes what it writes there.
"""

import importlib
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from long_context_tasks.cli.output import want_json, warn
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.validated import described_fields


def with_default(name: str) -> type[TyperGroup]:
    """Return a group class that runs the command ``name`` if the first word is a path or an option."""

    class DefaultCommand(TyperGroup):
        """Group that runs its default command unless another is named."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Insert the name of the default command if it was left out."""
            if args and args[0] not in self.list_commands(ctx) and _is_argument(args[0]):
                args = [name, *args]
            return list(super().parse_args(ctx, args))

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """Find a command, and report another word as neither a path nor a command."""
            if args[0] not in self.list_commands(ctx):
                raise InputError(
                    f"{args[0]}: no such folder, file or command; see `{ctx.command_path} --help`"
                )
            return super().resolve_command(ctx, args)

    return DefaultCommand


def _is_argument(word: str) -> bool:
    # A word that only looks like a path counts too, so that a misspelt folder is reported as a missing folder.
    if word.startswith("-"):
        return word not in ("--help", "-h")
    return "/" in word or "\\" in word or word.startswith((".", "~")) or Path(word).exists()


class MoreOption(NamedTuple):
    """An option that is not a parameter of its command's function; :func:`typed_options` has its value."""

    name: str  # batch_size for --batch-size
    kind: Any  # type of the value
    help: str  # explanation
    default: Any = None  # value without the option; None if the option has no value then
    # Title of the options among which the help lists it; their explanations name their defaults.
    panel: str | None = None


_TYPED = "lct_typed_options"


def typed_options(ctx: typer.Context) -> dict[str, Any]:
    """Return the values of a command's :class:`MoreOption` objects by name; those without a value are missing."""
    typed: dict[str, Any] = ctx.meta.setdefault(_TYPED, {})
    return typed


def with_more_options(own: Sequence[Any], options: Iterable[MoreOption]) -> list[Any]:
    """Insert options before --json in a command's parameters, skipping any that it already defines."""
    taken = {each.name for each in own}
    # --json and --help end every list of options.
    end = next(place for place, each in enumerate(own) if each.name in ("as_json", "help"))
    return [*own[:end], *_parameters(option for option in options if option.name not in taken), *own[end:]]


def _parameters(options: Iterable[MoreOption]) -> list[Any]:
    # typer makes parameters only from the signature of a function, so one is made up here. The function is never called.
    def options_only() -> None: ...

    options_only.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=option.default,
                annotation=Annotated[
                    option.kind | None,
                    typer.Option(
                        f"--{option.name.replace('_', '-')}",
                        help=option.help,
                        rich_help_panel=option.panel,
                        show_default=option.panel is None,
                        expose_value=False,
                        callback=_keep,
                    ),
                ],
            )
            for option in options
        ]
    )
    made = typer.Typer(add_completion=False)
    made.command()(options_only)
    return list(typer.main.get_command(made).params)


def _keep(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    # typer passes an option that was not typed as None.
    if value is not None:
        typed_options(ctx)[str(param.name)] = value


# Type or format of a field in a JSON schema -> type of the option; all others are text.
_KINDS = {"integer": int, "number": float, "boolean": bool, "path": Path}


def field_options(kind: type) -> list[MoreOption]:
    """Return an option for every described field of a model or dataclass; a field with a panel has no default on the command line."""
    options = []
    for name, field in described_fields(kind).items():
        # A field of several forms, such as a number or a word, is read as text and checked by its class.
        forms = [form for form in field.get("anyOf", [field]) if form["type"] != "null"]
        kinds = {_KINDS.get(form.get("format", form["type"]), str) for form in forms}
        panel = field.get("panel")
        default = None if panel else field["default"]
        options.append(
            MoreOption(name, kinds.pop() if len(kinds) == 1 else str, field["description"], default, panel)
        )
    return options


def with_settings(place: str) -> type[TyperCommand]:
    """Return the class of a command with an option for every described field of a class at ``module:class``."""

    class SettingsCommand(TyperCommand):
        def get_params(self, ctx: Any) -> list[Any]:
            # Imported when the command runs or shows its help, so that `lct --help` stays fast.
            module, _, name = place.partition(":")
            return with_more_options(
                super().get_params(ctx), field_options(getattr(importlib.import_module(module), name))
            )

    return SettingsCommand


def complete_task(incomplete: str) -> list[str]:
    from long_context_tasks.benchmarks.catalogue import task_specs

    return [spec.name for spec in task_specs() if spec.name.startswith(incomplete)]


def complete_tasks(incomplete: str) -> list[str]:
    """Complete the last name of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    return [f"{before}{comma}{name}" for name in complete_task(last) if name not in taken]


def complete_benchmark(incomplete: str) -> list[str]:
    from long_context_tasks.benchmarks.catalogue import benchmark_names

    return [name for name in benchmark_names() if name.startswith(incomplete)]


def complete_family(incomplete: str) -> list[str]:
    from long_context_tasks.benchmarks.catalogue import builders

    return [name for name in builders() if name.startswith(incomplete)]


# For every command that prints a table or a result; cli/output.py does the rest.
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=want_json,
        help="Print one JSON document on standard output; everything else goes to standard error.",
    ),
]

_DATA_DIR = "Folder of the published files. Default: LCT_DATA_DIR, else the cache."
DataDir = Annotated[Path | None, typer.Option(help=_DATA_DIR)]
RunsDataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of the published files. Default: LCT_DATA_DIR, else that of the runs."),
]
RunsCases = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the runs' built cases, if it has moved; cases are recognised by their hash. Default: that of the runs."
    ),
]

# Some numbers are text here: `resolve_options` reads them, so that the command line and the environment accept the same forms.
# The options of a run that change the cases and prompts of a task.
RUN_OPTIONS = (
    MoreOption("cases", Path, "Folder of built cases, for tasks that take them."),
    MoreOption("length", str, "Length of tasks that end in _any, e.g. 24k."),
    MoreOption("length_policy", str, "same_information or same_tokens, as in a run."),
    MoreOption(
        "tokenizer", str, "Tokenizer of the model, a folder or hub id: prompts are counted in it too."
    ),
    MoreOption("n", int, "Number of cases."),
    MoreOption("subset", str, "Official subset: 1000, 200 or 50 cases."),
    MoreOption("seed", int, "Seed of generated cases."),
    MoreOption("answer_budget", str, "Tokens that the model may generate."),
    MoreOption("thinking", str, "Marks around the model's thinking, if not known: '<plan> </plan>'."),
    MoreOption("prompt_style", str, "How prompts are laid out; see the benchmark's page."),
    MoreOption("carriers", Path, "Folder of real texts for recast cases; see `lct data fetch carriers`."),
    MoreOption("data_dir", Path, _DATA_DIR),
)


class RunOptionsCommand(TyperCommand):
    """Command with the options of a run, except those that the command has itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        return with_more_options(super().get_params(ctx), RUN_OPTIONS)


StoredResults = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULTS...",
        help="Folders of lm-eval's --output_path (with --log_samples), OpenCompass's -w or inspect_ai's --log-dir.",
        show_default=False,
    ),
]
RunsOrBundles = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULTS...",
        help="Folders with runs of any host and bundles of `lct report pack`, in any mixture.",
        show_default=False,
    ),
]

NamesFile = Annotated[
    Path | None,
    typer.Option(
        "--models", help="YAML file with names, aliases and facts of models (docs/results_schema.md)."
    ),
]

OnlyTasks = Annotated[
    str,
    typer.Option(help="Only these tasks, with commas. Default: all.", autocompletion=complete_tasks),
]
TaskName = Annotated[
    str, typer.Argument(help="Name of a task; `lct tasks` lists them.", autocompletion=complete_task)
]

_JUDGE = "Judge file, YAML. Default: LCT_JUDGE and the LCT_JUDGE_ variables."
Judges = Annotated[
    list[Path] | None,
    typer.Option("--judge", help=f"{_JUDGE} Repeatable: the judges work one after another."),
]
OneJudge = Annotated[Path | None, typer.Option("--judge", help=_JUDGE)]
JudgeSeeds = Annotated[
    str, typer.Option(help="Seeds of the judges, with commas, instead of those in their files.")
]

# The default is in the help, because typer would put it on a line of its own.
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Processes on this machine. Default: 1", show_default=False)
]
EngineName = Annotated[
    str,
    typer.Option(
        help="ray for a Ray cluster, that of this machine or of RAY_ADDRESS; or its address, ray://host:10001.",
        show_default=False,
    ),
]

Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 ...; auto takes the GPU if there is one.")]
Window = Annotated[
    str, typer.Option(help="Maximum number of tokens of a text, e.g. 4k. Default: the model's window.")
]

CSV = "Write every table into this folder too."


def examples(*commands: str) -> str:
    """Return the end of a command's help: examples, each in a paragraph, because typer joins lines within one."""
    head = "Example:" if len(commands) == 1 else "Examples:"
    return "\n\n".join((head, *(f"  {command}" for command in commands)))


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def tokens(text: str) -> int | None:
    """Read the number of tokens of a ``--window`` such as 4096 or 4k; None if the text is empty."""
    return parse_length(text, option="--window") if text else None


def check_lengths(tasks: Sequence[str], lengths: Sequence[int]) -> None:
    """Name the tasks of other, fixed lengths, which ignore ``--length``.

    Raises:
        InputError: no task takes one of the lengths.
    """
    from long_context_tasks.benchmarks.catalogue import fixed_length, parse_task

    ignoring = dict.fromkeys(tasks)
    for length in lengths:
        reasons = {name: fixed_length(parse_task(name), length, "--length") for name in tasks}
        if reasons and all(reasons.values()):
            raise InputError(next(iter(reasons.values())))
        ignoring = {name: None for name in ignoring if reasons[name]}
    if lengths and ignoring:
        more = ", ..." if len(ignoring) > 3 else ""
        warn(f"tasks of a fixed length ignore --length: {', '.join([*ignoring][:3])}{more}")
