"""`lct build`: write test cases of any length from a user's own documents, or from a seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from long_context_tasks.benchmarks.shards import merge_shards, sharded
from long_context_tasks.cli.options import (
    EngineName,
    Jobs,
    Json,
    MoreOption,
    complete_family,
    examples,
    field_options,
    typed_options,
    with_more_options,
)
from long_context_tasks.cli.output import add_table, give, json_wanted, print_table, say, warn
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import Shard, read_manifest
from long_context_tasks.schema.report import interval_text

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder, TaskReport

# Takes the place of a builder's name to put shards together, which needs none of the builders' options.
_MERGE = "merge"
_PANEL = "All tasks"
_WORDS = "lct_build_words"
app = typer.Typer(add_completion=False)


class _BuildCommand(TyperCommand):
    """`lct build` with the options of the builder that is named first; without one, of all builders."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words, from which :meth:`get_params` takes the builder."""
        ctx.meta[_WORDS] = tuple(args)
        return list(super().parse_args(ctx, args))

    def get_params(self, ctx: Any) -> list[Any]:
        """Add the builders' options when the command runs or shows its help, so that `lct --help` loads no builder."""
        from long_context_tasks.benchmarks import catalogue

        own, words = super().get_params(ctx), ctx.meta.get(_WORDS, ())
        flags = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--help"}
        if words:
            with suppress(InputError):  # a misspelt name, which the command itself reports
                named = [] if words[0] == _MERGE else [catalogue.builder(words[0])]
                params = with_more_options(own, _options(named))
                if flags <= {flag for each in params for flag in each.opts}:
                    return params
        # An option of another builder gets an error that names both, so the options of all are read.
        return with_more_options(own, _options(catalogue.builders().values()))


def _options(builders: "Iterable[Builder]") -> list[MoreOption]:
    """Return the source and settings of some builders, each name once."""
    options: dict[str, MoreOption] = {}
    for builder in builders:
        if (source := builder.source) is not None:
            options.setdefault(source.name, MoreOption(source.name, Path, source.help, panel=source.panel))
        for option in field_options(builder.settings):
            options.setdefault(option.name, option)
    return list(options.values())


@app.command(
    cls=_BuildCommand,
    epilog=examples(
        "lct build BUILDER --length 4k,32k --n 50 --seed 7 --out cases/",
        "lct build BUILDER --help",
        "lct build BUILDER --length 128k --out cases/ --shard 2/7 --jobs 16",
        "lct build merge --out cases/",
    ),
)
def build(
    ctx: typer.Context,
    builder: Annotated[
        str,
        typer.Argument(
            autocompletion=complete_family,
            help="Name of a builder; without one, all builders are listed.",
            show_default=False,
        ),
    ] = "",
    length: Annotated[
        str,
        typer.Option(
            help="Lengths with commas: 2k, 128k, 1m, 4096. '...' stands for the published lengths between its neighbours: "
            "2k,...,128k.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = "",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the cases, with a folder for each builder. Hosts read it with lct_cases. Default: cases",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = Path("cases"),
    shard: Annotated[
        str,
        typer.Option(
            help="Make only one part of the cases, from 1/7 to 7/7, e.g. on each of 7 machines; then `lct build merge`.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = "",
    jobs: Jobs = 1,
    engine: EngineName = "",
    as_json: Json = False,
) -> None:
    """Build test cases of any length; the hosts run them with the option lct_cases.

    `lct build BUILDER --help` lists the options of one builder. A failed build keeps earlier cases and leaves no partial ones. The bytes do
    not depend on the number of processes, machines and shards. `lct build merge --out cases/` puts shards together.
    """
    from long_context_tasks.benchmarks.building import Work, ready_build
    from long_context_tasks.engines import engine_of

    typed = typed_options(ctx)
    if builder == _MERGE:
        if length or shard or engine or jobs > 1 or typed:
            raise InputError(
                f"lct build {_MERGE} takes only --out, the folder with the shards; leave out the rest"
            )
        _merge(out)
        return
    ready = ready_build(builder, length, typed)
    part = Shard.read(shard) if shard else None
    if part is not None and not ready.builder.sharded:
        raise InputError(
            f"{builder}: cases are chosen from all places in the texts, so a shard would repeat the work of the whole build; leave out "
            "--shard, and give --jobs for more processes"
        )
    folder = part.folder(out / builder) if part else out / builder
    with engine_of(jobs, engine) as running:
        reports = ready.write(folder, Work(running, part, progress=True))
    _show_reports(reports, ready.settings.measure.name, folder if part else out)
    give(None, folder=folder)
    # The build writes the agreement into the manifest, where hosts find it as well.
    if typed.get("check_labels") is not None:
        _show_label_quality(folder)


def _merge(out: Path) -> None:
    folders = sharded(out)
    if not folders:
        raise InputError(
            f"{out}: there are no shards; build them with --shard 1/2 and so on, or correct --out"
        )
    for folder in folders:
        print_table(f"cases in {folder}", ["task", "cases"], list(merge_shards(folder).items()))
    say("the shards are no longer needed")
    give(None, folders=folders)


def _show_reports(reports: "Sequence[TaskReport]", tokens: str, out: Path) -> None:
    """Print the cases built, the reasons why places or questions gave none, the sources read, and warnings."""
    built = [report for report in reports if report.tokens]
    if not built:  # a shard of a small build
        warn(f"no cases in {out}")
        return
    # Builders report NaN if guessing has no meaningful accuracy.
    guessing = not all(math.isnan(report.random_guess) for report in built)
    table: list[dict[str, object]] = []
    for report in built:
        sizes = report.tokens
        table.append(
            {"task": report.task, "cases": len(sizes), "clusters": report.clusters}
            | {"mean": sum(sizes) / len(sizes), "min": min(sizes), "max": max(sizes)}
            | ({"guess %": 100 * report.random_guess} if guessing else {})
            | dict(report.figures)
        )
    _print_rows(f"cases in {out} (tokens: {tokens})", table)
    if reasons := [
        [report.task, reason, count] for report in built for reason, count in report.dropped.items()
    ]:
        title = "places, questions or documents that gave no case"
        print_table(title, ["task", "why", "count"], reasons, ("why",))
    if sources := [source for report in reports for source in report.sources]:
        # Doubts are printed as warnings.
        _print_rows(
            "read", [{name: source[name] for name in source if name != "doubts"} for source in sources]
        )
    _show_encodings({name: encoding for report in reports for name, encoding in report.encodings.items()})
    for note in (note for report in reports for note in report.notes):
        warn(f"warning: {note}")


def _print_rows(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    print_table(title, list(rows[0]), [list(row.values()) for row in rows], places=1)


def _show_encodings(encodings: Mapping[str, str]) -> None:
    from long_context_tasks.corpora.plain_files import UTF8

    if not encodings:
        return
    others = [[name, encoding] for name, encoding in encodings.items() if encoding != UTF8]
    say(f"encoding: {len(encodings) - len(others):,} of {len(encodings):,} files are UTF-8")
    add_table("encodings", [{"file": name, "encoding": encoding} for name, encoding in encodings.items()])
    if others and not json_wanted():
        print_table("read in another encoding", ["file", "encoding"], others, ("encoding",))


def _show_label_quality(folder: Path) -> None:
    """Print the agreement of the annotator's labels with a person's, as the manifest of the case folder records it."""
    from long_context_tasks.stats.intervals import Interval

    rows = [
        [
            row["domain"],
            f"{row['n']} of {row['total']}",
            *(100 * row[name] for name in ("f1", "precision", "recall")),
            interval_text(Interval(100 * row["interval"]["low"], 100 * row["interval"]["high"]), 1),
        ]
        for row in read_manifest(folder)["options"]["label_quality"]
    ]
    columns = ["domain", "chunks", "F1 %", "precision %", "recall %", "95 % interval of F1"]
    print_table("labels compared with those made by hand", columns, rows, places=1)
