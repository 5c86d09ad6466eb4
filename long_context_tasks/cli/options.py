"""Options that several commands share, so that one thing has one name, one short form and one explanation everywhere.

A command that adds an option of these names takes it from here. Names follow the options of a run (``lct_n`` is
``--n``); ``--out`` has the short form ``-o`` and says in its own words what is written there.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from long_context_tasks.cli.output import want_json
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.validated import described_fields


def with_default(name: str) -> type[TyperGroup]:
    """The class of a group that takes a first word which is a path, or an option, for an argument of the command ``name``."""

    class DefaultCommand(TyperGroup):
        """See :func:`with_default`."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Put the name of the default command in front where it was left out."""
            if args and args[0] not in self.list_commands(ctx) and _is_argument(args[0]):
                args = [name, *args]
            return list(super().parse_args(ctx, args))

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """Find a command; say of another word that it names no path either."""
            if args[0] not in self.list_commands(ctx):
                raise InputError(
                    f"{args[0]}: no such folder, file or command; see `{ctx.command_path} --help`"
                )
            return super().resolve_command(ctx, args)

    return DefaultCommand


def _is_argument(word: str) -> bool:
    if word.startswith("-"):
        return word not in ("--help", "-h")
    return "/" in word or "\\" in word or word.startswith((".", "~")) or Path(word).exists()


_TYPED = "lct_typed_options"
_KINDS = {"integer": int, "number": float, "boolean": bool, "path": Path}
"""Type or format of a field in its JSON schema to what a command line reads; all else is text."""


def parameters_of(options: Sequence[tuple[str, Any, Any, dict[str, Any]]]) -> list[Any]:
    """Make parameters of a command that it does not know by name; :func:`typed_options` has what was typed.

    Args:
        options: name, type, default, and what ``typer.Option`` takes; ``batch_size`` is the option ``--batch-size``.
    """
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[
                kind | None,
                typer.Option(f"--{name.replace('_', '-')}", expose_value=False, callback=_keep, **more),
            ],
        )
        for name, kind, default, more in options
    ]

    def signature_only() -> None:
        """Never called."""

    signature_only.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    signature_only.__annotations__ = {each.name: each.annotation for each in parameters}
    made = typer.Typer(add_completion=False)
    made.command()(signature_only)
    return list(typer.main.get_command(made).params)


def _keep(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    if value is not None:
        typed_options(ctx)[str(param.name)] = value


def typed_options(ctx: typer.Context) -> dict[str, Any]:
    """Return the values of the options that :func:`parameters_of` made, by name."""
    typed: dict[str, Any] = ctx.meta.setdefault(_TYPED, {})
    return typed


def field_options(kind: type) -> list[tuple[str, Any, Any, dict[str, Any]]]:
    """Return what :func:`parameters_of` takes for every described field of a model or dataclass.

    A field with a panel states its default in its help; it is typed only where the user gives it.
    """
    options = []
    for name, field in described_fields(kind).items():
        forms = [form for form in field.get("anyOf", [field]) if form["type"] != "null"]
        kinds = {_KINDS.get(form.get("format", form["type"]), str) for form in forms}
        panel = field.get("panel")
        shown = {"rich_help_panel": panel, "show_default": False} if panel else {}
        default = None if panel else field["default"]
        kind = kinds.pop() if len(kinds) == 1 else str
        options.append((name, kind, default, {"help": field["description"], **shown}))
    return options


def with_settings(place: str) -> type[TyperCommand]:
    """Return the class of a command with an option for every described field of settings.

    Args:
        place: ``module:class``, imported when the command runs or shows its help.
    """

    class SettingsCommand(TyperCommand):
        """See :func:`with_settings`."""

        def get_params(self, ctx: Any) -> list[Any]:
            """Add the options of the fields."""
            module, _, name = place.partition(":")
            options = field_options(getattr(importlib.import_module(module), name))
            own = super().get_params(ctx)
            end = next(at for at, each in enumerate(own) if each.name in ("as_json", "help"))
            return [*own[:end], *parameters_of(options), *own[end:]]

    return SettingsCommand


def complete_task(incomplete: str) -> list[str]:
    """Names of tasks that begin like what was typed."""
    return _beginning(_task_names(), incomplete)


def complete_tasks(incomplete: str) -> list[str]:
    """The same for a list with commas: what stands before the last comma is kept."""
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    return [f"{before}{comma}{name}" for name in _beginning(_task_names(), last) if name not in taken]


def complete_benchmark(incomplete: str) -> list[str]:
    """Names of benchmarks that begin like what was typed."""
    from long_context_tasks.benchmarks.catalogue import benchmark_names

    return _beginning(benchmark_names(), incomplete)


def complete_family(incomplete: str) -> list[str]:
    """What `lct build` can build."""
    from long_context_tasks.benchmarks.catalogue import builders

    return _beginning(builders(), incomplete)


def _task_names() -> list[str]:
    from long_context_tasks.benchmarks.catalogue import task_specs

    return [spec.name for spec in task_specs()]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=want_json,
        help="Print one JSON document on standard output; everything else goes to standard error.",
    ),
]
"""Of every command that prints a table or a result; :mod:`long_context_tasks.cli.output` does the rest."""

DATA_DIR = "Folder of the published files. Default: LCT_DATA_DIR, else the cache."
DataDir = Annotated[Path | None, typer.Option(help=DATA_DIR)]
RunsDataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of the published files. Default: LCT_DATA_DIR, else as in the runs."),
]

RunsCases = Annotated[
    Path | None,
    typer.Option(
        help="Where the built cases of the runs lie now; they are known by their hash. Default: as in the runs."
    ),
]

RUN_OPTIONS: Mapping[str, Any] = {
    "cases": Annotated[Path | None, typer.Option(help="Folder of built cases, for tasks that take them.")],
    "length": Annotated[str, typer.Option(help="Length of tasks that end in _any, e.g. 24k.")],
    "length_policy": Annotated[str, typer.Option(help="same_information or same_tokens, as in a run.")],
    "tokenizer": Annotated[
        str,
        typer.Option(help="Tokenizer of the model, a folder or hub id: prompts are counted in it too."),
    ],
    "n": Annotated[int | None, typer.Option(help="Number of cases.")],
    "subset": Annotated[str, typer.Option(help="Official subset: 1000, 200 or 50 cases.")],
    "seed": Annotated[int | None, typer.Option(help="Seed of generated cases.")],
    "answer_budget": Annotated[str, typer.Option(help="Tokens that the model may generate.")],
    "thinking": Annotated[
        str, typer.Option(help="Marks around the model's thinking, if not known: '<plan> </plan>'.")
    ],
    "prompt_style": Annotated[str, typer.Option(help="How prompts are laid out; see the benchmark's page.")],
    "carriers": Annotated[
        Path | None,
        typer.Option(
            help="Folder of real texts that recast cases are made from; see `lct data fetch carriers`.",
        ),
    ],
    "data_dir": DataDir,
}
"""The options of a run that change the cases and prompts of a task."""


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a run before its last one; it takes those that were typed as ``typed``, by name.

    An option of the command's own stands in the place of the one here of that name.
    """
    *own, last = (
        each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "typed"
    )
    names = [name for name in RUN_OPTIONS if name not in {each.name for each in own}]
    keyword = inspect.Parameter.KEYWORD_ONLY
    more = [inspect.Parameter(name, keyword, annotation=RUN_OPTIONS[name], default=None) for name in names]

    @wraps(command)
    def with_typed(**given: Any) -> None:
        typed = {name: given.pop(name) for name in names}
        command(**given, typed={name: value for name, value in typed.items() if value not in ("", None)})

    parameters = [*own, *more, last]
    with_typed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=keyword) for each in parameters]
    )
    return with_typed


StoredResults = Annotated[
    Path,
    typer.Argument(
        help="What lm-eval's --output_path (with --log_samples), OpenCompass's -w or inspect_ai's --log-dir names."
    ),
]
RUNS_OR_BUNDLES = "Folders with runs of either host, and bundles of `lct report pack`, in any mixture."
RunsOrBundles = Annotated[
    list[Path], typer.Argument(metavar="RESULTS...", help=RUNS_OR_BUNDLES, show_default=False)
]

NamesFile = Annotated[
    Path | None,
    typer.Option("--models", help="YAML file with names and aliases of models (docs/results_schema.md)."),
]

OnlyTasks = Annotated[
    str,
    typer.Option(help="Only these tasks, with commas. Default: all.", autocompletion=complete_tasks),
]
TaskName = Annotated[
    str, typer.Argument(help="Name of a task; `lct tasks` lists them.", autocompletion=complete_task)
]

JUDGE = "Judge file, YAML."
Judges = Annotated[
    list[Path] | None,
    typer.Option(
        "--judge", help=f"{JUDGE} Default: LCT_JUDGE and the LCT_JUDGE_ variables. Several: each in turn."
    ),
]
OneJudge = Annotated[
    Path | None, typer.Option("--judge", help=f"{JUDGE} Default: LCT_JUDGE and the LCT_JUDGE_ variables.")
]
JudgeSeeds = Annotated[
    str, typer.Option(help="Seeds of the judges with commas, in place of those in their files.")
]

Jobs = Annotated[
    int, typer.Option("--jobs", "-j", help="Processes on this machine. Default: 1", show_default=False)
]
EngineName = Annotated[
    str,
    typer.Option(
        help="ray: a Ray cluster works, that of this machine or of RAY_ADDRESS; or its address, ray://host:10001.",
        show_default=False,
    ),
]

Device = Annotated[str, typer.Option(help="auto: the GPU when there is one; cpu, cuda, cuda:1 ...")]
BatchTokens = Annotated[int, typer.Option(min=1, help="Most tokens computed at once.")]
Window = Annotated[str, typer.Option(help="Most tokens of a text, e.g. 4k. Default: the model's window.")]

CSV = "Write every table into this folder too."


def examples(*commands: str) -> str:
    """The end of a command's help: examples that can be typed, one a paragraph, as typer keeps no single line breaks."""
    head = "Example:" if len(commands) == 1 else "Examples:"
    return "\n\n".join((head, *(f"  {command}" for command in commands)))


def words(text: str) -> tuple[str, ...]:
    """Split a list with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def tokens(text: str) -> int | None:
    """Read the tokens of a ``--window`` such as 4096 or 4k; None where nothing is given.

    Raises:
        InputError: something else, or 0.
    """
    if not text:
        return None
    try:
        number = int(text) if text.isdecimal() else parse_length(text)
    except ValueError as error:
        raise InputError(f"--window {text}: give a number of tokens, such as 4096 or 4k") from error
    if number < 1:
        raise InputError(f"--window {text}: give 1 or more")
    return number
