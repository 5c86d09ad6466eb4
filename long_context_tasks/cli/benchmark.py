"""`lct new` and `lct check`: start your own benchmark, and find the faults in one."""

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.options import Json, complete_benchmark, examples
from long_context_tasks.cli.output import add_table, give, say
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import make_folder, whole_folder, write_whole

new_app = typer.Typer(add_completion=False)
check_app = typer.Typer(add_completion=False)
_OTHER = "choose another --out"
_SKELETON = Path(__file__).with_name("skeleton")


@new_app.command(epilog=examples("lct new riddles", "lct new riddles --out ~/benchmarks"))
def new(
    name: Annotated[
        str, typer.Argument(help="Lower-case letters, digits and _; the first part of every task's name.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder in which the folder NAME is created.")
    ] = Path(),
    as_json: Json = False,
) -> None:
    """Write the skeleton of a benchmark: a package with card, cases from a seed, prompt, scoring, a test and its entry point.

    The skeleton works; change it step by step, and run `lct check NAME` after each step.
    """
    from long_context_tasks.benchmarks.catalogue import benchmark_names

    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise InputError(
            f"{name!r} cannot name a benchmark: give lower-case letters, digits and single underscores"
        )
    if name in benchmark_names():
        raise InputError(f"{name}: a benchmark of this name exists; choose another name")
    folder = out / name
    if folder.exists():
        raise InputError(f"{folder}: already exists; choose another name or folder")
    class_name = "".join(word.capitalize() for word in name.split("_"))
    written = []
    # All files or none, so that a second call after a full disk can use the same name.
    with whole_folder(folder, remedy=_OTHER) as part:
        for source in sorted(_SKELETON.rglob("*.txt")):
            target = source.relative_to(_SKELETON).as_posix().removesuffix(".txt")
            target = target.replace("package", f"{name}_benchmark")
            make_folder((part / target).parent, remedy=_OTHER)
            text = source.read_text(encoding="utf-8").replace("NAME", name).replace("CLASS", class_name)
            write_whole(part / target, text, remedy=_OTHER)
            written.append(folder / target)
    for path in written:
        say(str(path))
    say(f"Next: pip install -e {folder}; lct check {name} --write")
    give(folder=folder, files=written)


@check_app.command(epilog=examples("lct check riddles", "lct check riddles --write"))
def check(
    name: Annotated[str, typer.Argument(help="Name of the benchmark.", autocompletion=complete_benchmark)],
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write the hashes of cases from seeds, with which later checks compare."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a benchmark: functions, cases, prompts, scores of example answers.

    Reads a few cases of one task of each kind, and compares the hashes of cases generated from seeds.
    Exit code 1 if a check fails.
    """
    import logging

    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.benchmarks.checking import check_benchmark, write_reference
    from long_context_tasks.benchmarks.downloads import without_downloads

    # The error of a benchmark that cannot be loaded says the same as the warning.
    logging.getLogger(catalogue.__name__).addFilter(
        lambda record: record.args is None or name not in record.args
    )
    # Written first, so that the check compares with the new hashes.
    if write:
        say(f"written: {write_reference(name)}")
    with without_downloads():
        findings = list(check_benchmark(name))
    wrong = [finding for finding in findings if finding.wrong]
    for finding in findings:
        place = f"{finding.file}: {finding.place}" if finding.file else finding.place
        say(f"{'wrong' if finding.wrong else 'note'}: {place}: {finding.text}")
    add_table("findings", [finding._asdict() for finding in findings])
    give(f"{name}: {len(wrong)} wrong" if wrong else f"{name}: all is well", wrong=len(wrong))
    if wrong:
        raise typer.Exit(1)
