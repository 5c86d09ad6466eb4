"""Options that several commands share, so that one thing has one name, one short form and one explanation everywhere.

A command that adds an option of these names takes it from here. Names follow the options of a run (``lct_n`` is
``--n``); ``--out`` has the short form ``-o`` and says in its own words what is written there.
"""

from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.completion import complete_task, complete_tasks
from long_context_tasks.cli.tables import want_json


def _json(value: bool) -> bool:
    return want_json(value)


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=_json,
        help="Print one JSON document on standard output; everything else goes to standard error.",
    ),
]
"""Of every command that prints a table or a result; :mod:`long_context_tasks.cli.tables` does the rest."""

DATA_DIR = "Folder of the published files. Default: LCT_DATA_DIR, else the cache."
DataDir = Annotated[Path | None, typer.Option("--data-dir", help=DATA_DIR)]
RunsDataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Folder of the published files. Default: LCT_DATA_DIR, else as in the runs."
    ),
]

RESULTS = "Folders with runs: what lm-eval's --output_path or OpenCompass's -w names, or above."
Results = Annotated[list[Path], typer.Argument(metavar="RESULTS...", help=RESULTS, show_default=False)]
RUNS_OR_BUNDLES = "Folders with runs of either host, and bundles of `lct report pack`, in any mixture."
RunsOrBundles = Annotated[
    list[Path], typer.Argument(metavar="RESULTS...", help=RUNS_OR_BUNDLES, show_default=False)
]

OnlyTasks = Annotated[
    str,
    typer.Option(
        "--tasks", help="Only these tasks, with commas. Default: all.", autocompletion=complete_tasks
    ),
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
    str, typer.Option("--seeds", help="Seeds of the judges with commas, in place of those in their files.")
]

Device = Annotated[
    str, typer.Option("--device", help="auto: the GPU when there is one; cpu, cuda, cuda:1 ...")
]
WORDING = "Prompt of the ORCA paper: Fig. 7, or the modified one of Fig. 8."
BatchTokens = Annotated[int, typer.Option("--batch-tokens", min=1, help="Most tokens computed at once.")]
Window = Annotated[
    str, typer.Option("--window", help="Most tokens of a text, e.g. 4k. Default: the model's window.")
]

CSV = "Write every table into this folder too."
Csv = Annotated[Path | None, typer.Option("--csv", help=CSV)]


def examples(*commands: str) -> str:
    """The end of a command's help: examples that can be typed, one a paragraph, as typer keeps no single line breaks."""
    head = "Example:" if len(commands) == 1 else "Examples:"
    return "\n\n".join((head, *(f"  {command}" for command in commands)))
