"""`lct synthetic`: what can be known of the tasks that are made from a seed without doing what they ask for."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import Json, OnlyTasks, examples, words
from long_context_tasks.cli.output import print_table, say
from long_context_tasks.schema import InputError

if TYPE_CHECKING:
    from long_context_tasks.audit.run import Audit

app = typer.Typer(no_args_is_help=True, add_completion=False)
_TEXT = ("claim", "fails")


@app.callback()
def synthetic() -> None:
    """Examine the tasks that are made from a seed."""


@app.command(
    "audit",
    epilog=examples(
        "lct synthetic audit --length 2k --n 100",
        "lct synthetic audit --tasks TASK --length 2k,16k,128k --seed 11 --json",
    ),
)
def audit_command(
    tasks: OnlyTasks = "",
    length: Annotated[str, typer.Option(help="Lengths, with commas.")] = "2k",
    n: Annotated[int, typer.Option(help="Cases attacked, of each task and length.", min=3)] = 100,
    seed: Annotated[int, typer.Option(help="Of these; attackers learn from the next seed.")] = 0,
    carriers: Annotated[
        Path | None,
        typer.Option(
            help="Folder of real texts: for recast tasks, and to compare the overlap of texts with. Default: LCT_CARRIERS, else carriers/ "
            "in LCT_DATA_DIR."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Attack tasks with readings that are too cheap for what they claim to measure.

    Exit status 1: a task that claims understanding can be answered without.
    """
    found = []
    for name in words(tasks) or _made_tasks():
        for size in words(length):
            found.append(_audited(name, size, n, seed, carriers))
            say(f"{name} {size}: {', '.join(found[-1].failures) or 'passed'}")
    _print(found)
    if any(audited.failed for audited in found):
        raise typer.Exit(1)


def _made_tasks() -> list[str]:
    """Every task that is made from a seed and answered in words, once; those of lct_nano ask about the same texts."""
    from long_context_tasks.benchmarks import catalogue

    return [
        spec.name
        for spec in catalogue.task_specs()
        if spec.source not in ("published", "built")
        and spec.scoring == "generate"
        and spec.length in ("", catalogue.ANY)
        and not any(variant.axis for variant in spec.variants)
        and not spec.card.nano
    ]


def _audited(name: str, length: str, n: int, seed: int, carriers: Path | None) -> "Audit":
    from long_context_tasks.audit.run import Questions, audit
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.benchmarks.loading import load_task
    from long_context_tasks.recast.carriers import NAME
    from long_context_tasks.schema.options import data_dir

    spec = catalogue.parse_task(name)
    take_apart = catalogue.benchmark(spec.benchmark).function("challenges")
    if take_apart is None:
        raise InputError(f"{name}: the benchmark {spec.benchmark} does not say how attackers see its cases (challenges)")  # fmt: skip
    given = {"lct_length": length, "lct_n": n, "lct_carriers": carriers}
    tested, other = (
        Questions.of(load_task(name, {**given, "lct_seed": number}), take_apart)
        for number in (seed, seed + 1)
    )
    real = tested.task.options.carriers or data_dir(tested.task.options, NAME)
    return audit(tested, other.challenges, spec.claim, length, real)


def _print(found: "list[Audit]") -> None:
    from long_context_tasks.audit.run import ATTACKERS

    columns = [
        "task",
        "length",
        "claim",
        *ATTACKERS,
        "rules",
        "chance",
        "half limit",
        "overlap",
        "templated",
        "carriers",
        "fails",
    ]
    rows, values = [], []
    for audited in found:
        rules = [score for name, score in audited.scores.items() if name not in ATTACKERS]
        figures = [audited.scores.get(name, math.nan) for name in ATTACKERS] + [max(rules, default=math.nan)]
        figures += [audited.chance, audited.half_limit, audited.overlap, audited.templated, audited.carriers]
        shown = ["-" if math.isnan(value) else f"{value:.2f}" for value in figures]
        rows.append(
            [audited.task, audited.length, audited.claim or "-", *shown, ", ".join(audited.failures) or "-"]
        )
        values.append(
            {**asdict(audited), "best": audited.best[0], "fails": audited.failures, "failed": audited.failed}
        )
    print_table("Attackers", columns, rows, _TEXT, values)
