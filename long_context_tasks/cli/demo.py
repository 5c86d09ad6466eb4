"""`lct demo`: build synthetic cases, run them through the commands of two hosts with a small real model, make a table and a site."""

import itertools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks import __version__
from long_context_tasks.cli.options import Json, examples
from long_context_tasks.cli.output import give, print_table, say, warn
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from long_context_tasks.results import StoredRun

_NEEDED = ("lm_eval", "opencompass", "torch", "transformers", "gguf", "polars", "jinja2", "plotly")
_SILENT_SECONDS = 10  # between two lines of progress in a log file
app = typer.Typer(add_completion=False)


@app.command(epilog=examples("lct demo --out demo_output"))
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for cases, logs, results and the site.")
    ] = Path("demo_output"),
    n: Annotated[int, typer.Option(min=1, help="Number of cases of each task.")] = 8,
    as_json: Json = False,
) -> None:
    """Build synthetic cases, run them through lm-eval and OpenCompass with a small real model, print a table and make a site.

    It needs no model hub and no key. A second run reuses the model, the cases and the responses.
    """
    require("demo", "lct demo", *_NEEDED)
    from rich.console import Console

    from long_context_tasks.benchmarks.catalogue import demo as demo_benchmark
    from long_context_tasks.hosts.demo_model import demo_model_path
    from long_context_tasks.results import find_runs

    console = Console(stderr=as_json)
    if not console.is_terminal:
        console = Console(width=140, stderr=as_json)  # a log file has room for wide lines
    # The results of an earlier run hold only for the same cases and the same code.
    folder = out / f"{n}-cases-{__version__}"
    folder.mkdir(parents=True, exist_ok=True)
    model = demo_model_path()
    card = demo_benchmark()
    chosen = card.demo
    names = chosen["tasks"]
    _build(names, n, folder, console)
    lm_eval = _run_lm_eval(names, model, folder, console)
    opencompass = _run_opencompass(names, model, folder, console)
    site = folder / "site"
    report = ["lct", "report", str(lm_eval), str(opencompass), "--out", str(site), "--title", "Demo"]
    _run(report, folder / "report.log", {}, console)
    hosts = {"lm-eval": lm_eval, "OpenCompass": opencompass}
    newest = {
        (run.task, host): run
        for host, output in hosts.items()
        for run in sorted(find_runs(output).runs, key=attrgetter("made"))
    }
    runs = {(task, host): newest[task, host] for task in names for host in hosts if (task, host) in newest}
    _print_results(runs, chosen["metrics"], model.name)
    for name in chosen["metrics"]:
        say(f"{name.replace('_', ' ')}: {card.metrics[name]}")
    give(site=site / "index.html")
    console.print(f"Open in a browser: {(site / 'index.html').resolve()}", highlight=False, soft_wrap=True)


def _build(names: Sequence[str], n: int, folder: Path, console: "Console") -> None:
    """Build the cases of the tasks that an earlier run did not build."""
    from long_context_tasks.benchmarks.catalogue import parse_task

    cases = folder / "cases"
    specs = [parse_task(task) for task in names]
    families = {spec.name: "_".join(filter(None, (spec.family, spec.variant))) for spec in specs}
    for family in dict.fromkeys(families.values()):
        members = [spec for spec in specs if families[spec.name] == family]
        if not all((cases / family / f"{spec.name}.jsonl").is_file() for spec in members):
            lengths = ",".join(spec.length for spec in members)
            command = ["lct", "build", family, "--length", lengths, "--n", str(n), "--out", str(cases)]
            _run(command, folder / f"build_{family}.log", {}, console)


def _run_lm_eval(names: Sequence[str], model: Path, folder: Path, console: "Console") -> Path:
    output = folder / "lm_eval"
    # float32, because half precision is slow or missing on processors.
    command = [
        *("lm_eval", "--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu"),
        *("--tasks", ",".join(names), "--apply_chat_template", "--batch_size", "1", "--log_samples"),
        *("--output_path", str(output), "--use_cache", str(folder / "lm_eval_cache")),
        *("--metadata", json.dumps({"lct_cases": str(folder / "cases")})),
    ]
    _run(command, folder / "lm_eval.log", {}, console)
    return output


def _run_opencompass(names: Sequence[str], model: Path, folder: Path, console: "Console") -> Path:
    from long_context_tasks.benchmarks.catalogue import parse_task
    from long_context_tasks.cli.tasks import config_folder

    output = folder / "opencompass"
    # All tasks of the demo are of one benchmark, so one config file runs them.
    config = config_folder() / f"eval_{parse_task(names[0]).benchmark}.py"
    command = ["opencompass", str(config), "-w", str(output)]
    # OpenCompass reuses the responses of an earlier run only if told to continue it.
    if output.is_dir() and any(output.iterdir()):
        command += ["-r", "latest"]
    options = {
        "LCT_CASES": str((folder / "cases").resolve()),
        "LCT_TASKS": ",".join(names),
        "LCT_MODEL": str(model),
    }
    _run(command, folder / "opencompass.log", options, console)
    return output


def _run(command: list[str], log: Path, environment: Mapping[str, str], console: "Console") -> None:
    """Run a command of this Python environment with its output in ``log``."""
    shown = [f"{key}={value}" for key, value in environment.items()] + [shlex.join(command)]
    console.print(f"[bold]$[/bold] {' '.join(shown)}", highlight=False, soft_wrap=True)
    # Of this environment, which need not be on the PATH.
    program = Path(sys.executable).with_name(command[0])
    # The caller's own options (LCT_N, LCT_WINDOW, ...) would change the run.
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("LCT_") or key == "LCT_CACHE_DIR"
    }
    # Everything is on this machine; offline, the hosts do not wait for the hub.
    variables = {**inherited, **environment, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [str(program), *command[1:]], stdout=file, stderr=subprocess.STDOUT, env=variables
        )
        try:
            _show_progress(process, log, console)
        except BaseException:  # also Ctrl-C: the host must not go on without the demo
            process.kill()
            raise
    if process.returncode:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        warn(tail)
        raise InputError(
            f"{command[0]} failed with code {process.returncode}; its output ends as above, all of it is in {log}"
        )


def _show_progress(process: "subprocess.Popen[bytes]", log: Path, console: "Console") -> None:
    """Show the last line of a command's output until it ends: in place on a terminal, otherwise every ten seconds."""
    from rich.text import Text

    from long_context_tasks.hosts.opencompass.console import last_line

    with console.status("starting") as status:
        for second in itertools.count(1):
            try:
                process.wait(timeout=1)
                return
            except subprocess.TimeoutExpired:
                line = Text(last_line(log) or "starting", overflow="ellipsis", no_wrap=True)
            if console.is_terminal:
                status.update(line)
            elif second % _SILENT_SECONDS == 0:
                console.print("  ", line)


def _print_results(runs: Mapping[tuple[str, str], "StoredRun"], metrics: Sequence[str], model: str) -> None:
    """Print a row for each task and host; figures in percent, the first one with its interval."""
    rows = []
    for (task, host), run in runs.items():
        numbers = run.numbers
        first, *others = (f"{100 * numbers[name]:.1f}" for name in metrics)
        low, high = (100 * numbers[f"{metrics[0]}_{end}"] for end in ("low", "high"))
        cases = f"{numbers['n_scored']:.0f}/{numbers['n']:.0f}"
        rows.append([task, host, cases, f"{first} [{low:.1f}, {high:.1f}]", *others])
    columns = ["task", "host", "cases", *(name.replace("_", " ") for name in metrics)]
    print_table(f"{model}, synthetic cases, percent", columns, rows, ("host",))
