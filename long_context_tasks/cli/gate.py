"""`lct gate`: decide whether one stack is as good as another."""

from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.options import (
    Json,
    RunOptionsCommand,
    RunsDataDir,
    check_lengths,
    examples,
    typed_options,
    words,
)
from long_context_tasks.cli.output import give, say, warn
from long_context_tasks.schema import InputError, parse_length

app = typer.Typer(add_completion=False)
_LOCK = ".lock"  # in the folder of --out, held while a gate runs
# A pipeline that treats any code but 0 as failure must not release on UNDECIDED.
EXIT = {"PASS": 0, "FAIL": 1, "UNDECIDED": 2}
_STACK = "http://HOST:PORT/v1, MODEL@http://..., a YAML file with model and base_url, or a folder of results."


@app.command(
    cls=RunOptionsCommand,
    epilog=examples(
        "lct gate http://127.0.0.1:8001/v1 http://127.0.0.1:8000/v1 --length 8k,32k",
        "lct gate new.yaml gate/runs/B --within 2 --out nightly/",
        "lct gate results/fp8 results/bf16",
    ),
)
def gate(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help=f"Stack under test: {_STACK}")],
    b: Annotated[str, typer.Argument(metavar="B", help="Stack that A is compared with, in the same forms.")],
    within: Annotated[float, typer.Option(min=0.1, max=99, help="Acceptable loss, in points of 100.")] = 5.0,
    error: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="Probability of a wrong verdict of either kind.")
    ] = 0.05,
    tasks: Annotated[
        str, typer.Option(help="Tasks, with commas. Default: all synthetic tasks that need no judge.")
    ] = "",
    length: Annotated[str, typer.Option(help="Lengths, with commas.")] = "8k",
    n: Annotated[int, typer.Option(min=1, help="Maximum number of cases of each task and length.")] = 200,
    batch: Annotated[
        int, typer.Option(min=1, help="Number of documents between two tests of the results.")
    ] = 16,
    concurrency: Annotated[int, typer.Option(min=1, help="Number of parallel calls to each endpoint.")] = 8,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="FAIL if a self-check finds a fault of a stack, regardless of the scores."
        ),
    ] = False,
    data_dir: RunsDataDir = None,
    private: Annotated[
        bool, typer.Option("--private", help="Show prompts and gold of every benchmark on the page.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the page, gate.json, replies and runs.")
    ] = Path("gate"),
    as_json: Json = False,
) -> None:
    """Decide whether stack A is as good as stack B: PASS, FAIL or UNDECIDED, on as few cases as necessary.

    Both stacks get the same synthetic cases, or are folders of results. The cases of all tasks at 32k take minutes to build on a CPU; they
    are kept for later gates. After each batch: PASS if A loses less than --within points at every length, FAIL if A is worse at a length,
    UNDECIDED if neither is shown when the cases are used up, or if B scores too low for a loss to show. Replies in --out are not requested again. Exit codes are 0, 1 and 2 in this
    order; a gate that cannot run also ends with 2, but writes no gate.json.
    """
    from filelock import FileLock, Timeout

    from long_context_tasks.gate.page import document_of, write_gate
    from long_context_tasks.gate.run import GateSettings, run_gate
    from long_context_tasks.gate.stacks import StoredStack, planned_cells, read_stack, stored_cells
    from long_context_tasks.schema.files import make_folder

    typed = typed_options(ctx)
    make_folder(out, remedy="choose another place with --out")
    try:
        lock = FileLock(out / _LOCK).acquire(timeout=0)
    except Timeout:
        # Both would ask, and pay for, the same cases.
        raise InputError(
            f"--out {out}: another gate is running there; wait, or choose another place"
        ) from None
    with lock:
        stacks = [read_stack(*stack, out, concurrency, _progress) for stack in (("A", a), ("B", b))]
        if any(isinstance(stack, StoredStack) for stack in stacks):
            if ignored := [f"--{name}" for name in ("tasks", "length", "n") if _typed(ctx, name)]:
                warn(f"{', '.join(ignored)}: no effect, because all cases of the stored runs are compared")
            cells = stored_cells(stacks, data_dir)
        else:
            run_options = {f"lct_{name}": value for name, value in typed.items()}
            given = {**run_options, "lct_n": n, "lct_data_dir": data_dir}
            if _typed(ctx, "length"):
                check_lengths(words(tasks), [parse_length(word, option="--length") for word in words(length)])
            cells = planned_cells(words(tasks), words(length), given, _progress)
        settings = GateSettings(within / 100, error, batch, typed.get("tokenizer", ""), strict)
        try:
            result = run_gate(stacks, cells, settings, _progress)
        except KeyboardInterrupt as interrupt:
            kept = f"the replies so far are kept in {out}; repeat the command to go on from there"
            raise KeyboardInterrupt(kept) from interrupt
        page = write_gate(result, stacks, cells, out, private=private)
    give(result.text(), **document_of(result), page=page)
    say(f"page: {page}")
    raise typer.Exit(EXIT[result.verdict])


def _typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


# To standard error, because standard output holds the verdict or the document of --json.
def _progress(row: object) -> None:
    warn(str(row))
