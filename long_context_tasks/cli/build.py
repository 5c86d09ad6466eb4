"""`lct build`: test cases of any length from a user's own documents, or on texts that are written from a seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from long_context_tasks.cli.options import Json, complete_family, examples, parameters_of, typed_options
from long_context_tasks.cli.output import print_table
from long_context_tasks.schema import InputError, Options, resolve_options
from long_context_tasks.schema.case_folder import read_manifest
from long_context_tasks.schema.report import interval_text

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Progress, TaskReport
    from long_context_tasks.benchmarks.plugin import Benchmark, Builder
    from long_context_tasks.tokens.build_settings import BuildOption, BuildSettings

_WIDEST = 140
"""Characters of a table with a column for each task; a wider one has a line for each task and reason instead."""


def show_label_quality(folder: Path) -> None:
    """Print how well the annotator's labels agree with a person's; the case folder's manifest has the figures."""
    from long_context_tasks.stats import Interval

    rows = [
        [
            row["domain"],
            f"{row['n']} of {row['total']}",
            *(f"{100 * row[name]:.1f}" for name in ("f1", "precision", "recall")),
            interval_text(Interval(100 * row["interval"]["low"], 100 * row["interval"]["high"]), 1),
        ]
        for row in read_manifest(folder)["options"]["label_quality"]
    ]
    columns = ["domain", "chunks", "F1 %", "precision %", "recall %", "95 % interval of F1"]
    print_table("labels against those made by hand", columns, rows)


def short_names(tasks: Sequence[str]) -> list[str]:
    """Return names of tasks without the words with which all of them begin or end.

    >>> short_names(["toy_sort_2k_noisy", "toy_sort_4k_noisy"]), short_names(["toy_recall_books 4k"])
    (['2k', '4k'], ['books 4k'])
    """
    words = [task.split("_") for task in tasks]
    for end in (0, -1):
        while min(map(len, words)) > 1 and len({own[end] for own in words}) == 1:
            words = [own[1:] if end == 0 else own[:-1] for own in words]
    return ["_".join(own) for own in words]


def _show_reasons(reports: "Sequence[TaskReport]") -> None:
    """Table of why places of books, questions or documents gave no case, by length."""
    title = "places, questions or documents that gave no case"
    names = short_names([report.task for report in reports])
    reasons = dict.fromkeys(reason for report in reports for reason in report.dropped)
    values = [
        {"task": report.task, "why": reason, "count": count}
        for report in reports
        for reason, count in report.dropped.items()
    ]
    if max(map(len, reasons), default=0) + sum(len(name) + 3 for name in names) > _WIDEST:
        rows = [
            [name, reason, f"{count:,}"]
            for name, report in zip(names, reports, strict=True)
            for reason, count in report.dropped.items()
        ]
        print_table(title, ["task", "why", "count"], rows, ("why",), values)
        return
    rows = [[reason, *(f"{report.dropped.get(reason, 0):,}" for report in reports)] for reason in reasons]
    print_table(title, ["why", *names], rows, values=values)


def show_reports(reports: "Sequence[TaskReport]", tokens: str, out: Path) -> None:
    """Print a table of what was built, and why some places or questions gave no case."""
    built = [report for report in reports if report.tokens]
    # Not a number where guessing is not worth a figure.
    guessing = not all(math.isnan(report.random_guess) for report in built)
    values: list[dict[str, Any]] = []
    for report in built:
        sizes = report.tokens
        values.append(
            {"task": report.task, "cases": len(sizes), "clusters": report.clusters}
            | {"mean": sum(sizes) / len(sizes), "min": min(sizes), "max": max(sizes)}
            | ({"guess %": 100 * report.random_guess} if guessing else {})
            | dict(report.figures)
        )
    print_table(
        f"cases in {out} (tokens: {tokens})",
        list(values[0]),
        [list(map(_cell, row.values())) for row in values],
        values=values,
    )
    if any(report.dropped for report in built):
        _show_reasons(built)
    if sources := [source for report in reports for source in report.sources]:
        names = [name for name in sources[0] if name != "doubts"]  # these are printed as warnings
        print_table(
            "read",
            names,
            [[_cell(source[name]) for name in names] for source in sources],
            values=sources,
        )
    for note in (note for report in reports for note in report.notes):
        typer.echo(f"warning: {note}", err=True)


def _cell(value: str | bool | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if isinstance(value, float) and value <= 100 else f"{round(value):,}"


app = typer.Typer(add_completion=False)
T = TypeVar("T")


class _BuildCommand(TyperCommand):
    """`lct build` with an option for every source and every field of the builders' settings, of all benchmarks."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Add the builders' options when the command runs or shows its help, so that `lct --help` loads no builder."""
        own = super().get_params(ctx)
        return [*own[:-2], *_parameters(), *own[-2:]]  # --json and --help stay last


def _parameters() -> list[Any]:
    """The builders' options as parameters of a command."""
    return parameters_of(
        [
            (
                option.name,
                option.type,
                None,
                {"help": option.help, "rich_help_panel": option.panel, "show_default": False},
            )
            for option in _options()
        ]
    )


def _options() -> "list[BuildOption]":
    """Sources and settings of all builders, each name once."""
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.tokens.build_settings import BuildOption, build_options

    options: dict[str, BuildOption] = {}
    for benchmark, builder in catalogue.builders().values():
        if (source := benchmark.source_of(builder)) is not None:
            options.setdefault(source.name, BuildOption(source.name, Path, source.help, source.panel, None))
        for option in build_options(benchmark.settings_of(builder)):
            options.setdefault(option.name, option)
    return list(options.values())


@app.command(
    cls=_BuildCommand,
    epilog=examples(
        "lct build BUILDER --length 4k,32k --n 50 --seed 7 --out cases/",
        "lct build BUILDER --length 2k,...,128k --out cases/",
    ),
)
def build(
    ctx: typer.Context,
    builder: Annotated[
        str,
        typer.Argument(
            autocompletion=complete_family,
            help="What to build; without it, or with a wrong name, all builders are listed.",
            show_default=False,
        ),
    ] = "",
    length: Annotated[
        str,
        typer.Option(
            "--length",
            help="Lengths with commas: 2k, 128k, 1m, 4096. '...' stands for the published lengths between its neighbours: "
            "2k,...,128k.",
            rich_help_panel="All tasks",
            show_default=False,
        ),
    ] = "",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the cases; each builder gets a folder in it. Hosts read it with lct_cases. Default: cases",
            rich_help_panel="All tasks",
            show_default=False,
        ),
    ] = Path("cases"),
    as_json: Json = False,
) -> None:
    """Build test cases of any length; both hosts run on them with the option lct_cases.

    A build that fails leaves nothing behind; an earlier folder of the same builder stays as it was until the new one is whole.
    """
    from long_context_tasks.benchmarks.building import parse_lengths
    from long_context_tasks.cli.output import give

    benchmark, chosen = _builder(builder)
    kind, source = benchmark.settings_of(chosen), benchmark.source_of(chosen)
    typed = typed_options(ctx)
    settings = _settings(
        builder,
        kind,
        {name: value for name, value in typed.items() if source is None or name != source.name},
        parse_lengths(length, chosen.lengths or benchmark.card.tasks[chosen.task].lengths),
    )
    reports = benchmark.writer_of(chosen)(
        builder, typed.get(source.name) if source else None, settings, out / builder, _bars()
    )
    show_reports(reports, settings.measure.name, out)
    give(None, folder=out / builder)
    if typed.get("check_labels") is not None:
        show_label_quality(out / builder)


def _builder(name: str) -> "tuple[Benchmark, Builder]":
    from long_context_tasks.benchmarks import catalogue

    builders = catalogue.builders()
    if name in builders:
        return builders[name]
    needs = [
        f"{each} (needs --{source.name})" if (source := benchmark.source_of(builder)) else each
        for each, (benchmark, builder) in builders.items()
    ]
    raise InputError(f"nothing builds {name!r}; there are: {', '.join(needs)}")


def _settings(
    name: str, kind: "type[BuildSettings]", typed: Mapping[str, Any], lengths: tuple[int, ...]
) -> Any:
    """The settings of a builder from what was typed, common options also from the environment.

    Raises:
        InputError: an option of another builder, or a value that does not fit.
    """
    from long_context_tasks.tokens.build_settings import BuildSettings, build_options

    options = {option.name: option for option in build_options(kind)}
    for option in typed:
        if option not in options:
            raise InputError(f"{name} takes no --{option.replace('_', '-')}; see `lct build --help`")
    common = [option.name for option in build_options(BuildSettings)]
    run: Options = resolve_options({f"lct_{option}": typed.get(option) for option in common})
    values = {option: getattr(run, option) for option in common if option in run.given}
    values |= {
        option: options[option].value_of(value) for option, value in typed.items() if option not in common
    }
    return kind(lengths=lengths, **values)


def _bars() -> "Progress":
    """Progress bars with a rate on stderr, where somebody can see them and the work takes a while."""
    from tqdm import tqdm

    from long_context_tasks.benchmarks.building import Progress

    class Bars(Progress):
        def over(self, items: Iterable[T], what: str, unit: str, total: int | None = None) -> Iterable[T]:
            return tqdm(items, desc=what, unit=f" {unit}s", total=total, delay=1.0, disable=None, leave=False)

    return Bars()
