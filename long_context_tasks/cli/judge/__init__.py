"""``lct judge``: judge stored responses, rate answers, compare judges, try a judge."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.judge.compare import compare
from long_context_tasks.cli.options import (
    Json,
    Judges,
    JudgeSeeds,
    OneJudge,
    OnlyTasks,
    RunsDataDir,
    examples,
)
from long_context_tasks.cli.output import give, say

if TYPE_CHECKING:
    from long_context_tasks.judges import JudgeConfig
    from long_context_tasks.results import FoundRuns, StoredRun
    from long_context_tasks.results.rejudge import JudgedRun

app = typer.Typer(add_completion=False, no_args_is_help=True)
app.command(
    "compare",
    epilog=examples(
        "lct judge compare scores.jsonl --gold gold",
    ),
)(compare)


@app.callback()
def judge() -> None:
    """Judge stored responses, rate answers, compare judges with people, try a judge."""


@app.command(
    epilog=examples(
        "lct judge run results/ --judge judge.yaml",
        "lct judge run results/ --judge a.yaml --judge b.yaml --tasks elitr_bench_qa_test",
    )
)
def run(
    results: Annotated[
        Path,
        typer.Argument(help="What lm-eval's --output_path (with --log_samples) or OpenCompass's -w names."),
    ],
    judge_files: Judges = None,
    seeds: JudgeSeeds = "",
    tasks: OnlyTasks = "",
    data_dir: RunsDataDir = None,
    as_json: Json = False,
) -> None:
    """Judge the stored responses of either host, without generating anew.

    Nothing that the judge has said before is asked again, so a stopped run goes on where it was. The results go into a
    folder `judged` beside each run; the hosts' own files stay as they are. Exit code 1 when a run was skipped or the judge
    could not be reached for some responses.
    """
    from long_context_tasks.cli.output import print_table, table_of
    from long_context_tasks.judges import check_judge
    from long_context_tasks.judges.kinds import kind_of
    from long_context_tasks.results.rejudge import judge_run, prepare, with_seeds
    from long_context_tasks.schema import InputError

    found = runs_below(results)
    chosen = chosen_runs(found.runs, tasks)
    configs = [with_seeds(one, seeds) for one in named_judges(judge_files or [])]
    for config in configs:
        check_judge(config)
    any_task = any(kind_of(config).prepare is not None for config in configs)
    ready, skipped = prepare(chosen, data_dir, any_task=any_task)
    skipped = [*(problem.message for problem in found.problems), *skipped]
    for message in skipped:
        typer.echo(f"skipped: {message}", err=True)
    if not ready:
        names = ", ".join(sorted({one.task for one in chosen})) or "none"
        raise InputError(
            f"{results}: nothing to judge: {len(skipped)} skipped, and no run of a task that a judge scores among {names}"
        )
    judged: list[JudgedRun] = []
    for config in configs:
        for one, task in ready:
            try:
                made = judge_run(one, task, config)
            except InputError as error:
                skipped.append(str(error))
                typer.echo(f"skipped: {error}", err=True)
                continue
            if made is not None:
                judged.append(made)
                for note in made.notes:
                    typer.echo(f"note: {one}: {note}", err=True)
    if not judged:
        raise InputError(f"{results}: nothing was judged: all {len(skipped)} runs were skipped, see above")
    columns, rows = table_of(judged)
    values = [
        {"host": one.run.host, "model": one.run.model, "made": one.run.made, "task": one.run.task}
        | {"judge": one.judge, "file": one.path, **one.numbers, "not_scored": one.not_scored}
        for one in judged
    ]
    text = ("model", "made", "task", "judge", "not scored")
    print_table(f"Judged runs in {results}", columns, rows, text, values)
    _end(judged, skipped)


def named_judges(files: list[Path]) -> "list[JudgeConfig]":
    """The judges of some files, else the one of the environment.

    Raises:
        InputError: there is none, or a file that cannot be used.
    """
    from long_context_tasks.judges import load_judge
    from long_context_tasks.schema import InputError

    configs = [load_judge(file) for file in files] if files else [load_judge()]
    named = [config for config in configs if config is not None]
    if not named:
        raise InputError("no judge is named; give --judge FILE, LCT_JUDGE or LCT_JUDGE_MODEL")
    return named


def runs_below(results: Path) -> "FoundRuns":
    """The runs of our tasks below a folder.

    Raises:
        InputError: there are none, nor anything left of one.
    """
    from long_context_tasks.results import find_runs
    from long_context_tasks.schema import InputError

    found = find_runs(results)
    if not found.runs and not found.problems:
        raise InputError(
            f"{results}: holds no runs of our tasks; give the folder that lm-eval's --output_path (with --log_samples) or "
            "OpenCompass's -w names"
        )
    return found


def chosen_runs(runs: "tuple[StoredRun, ...]", tasks: str) -> "list[StoredRun]":
    """The runs of some tasks, named with commas between; of all where none is named.

    Raises:
        InputError: a task without runs.
    """
    from long_context_tasks.schema import InputError

    names = [word.strip() for word in tasks.split(",") if word.strip()]
    there = {one.task for one in runs}
    if unknown := [name for name in names if name not in there]:
        raise InputError(f"--tasks {', '.join(unknown)}: no such runs; there are: {', '.join(sorted(there))}")
    return [one for one in runs if not names or one.task in names]


def _end(judged: "list[JudgedRun]", skipped: list[str]) -> None:
    """Say where the results are; exit code 1 when something is missing."""
    for one in judged:
        say(f"{one.path}: {one.usage}")
    failed = sum(one.unanswered for one in judged)
    if failed:
        typer.echo(
            f"{failed} responses have no verdict, as the judge did not answer; run the same again", err=True
        )
    if skipped:
        typer.echo(f"{len(skipped)} skipped, see above", err=True)
    if skipped or failed:
        raise typer.Exit(1)


@app.command(epilog=examples("lct judge check --judge judge.yaml"))
def check(
    judge_file: OneJudge = None,
    as_json: Json = False,
) -> None:
    """Try a judge with one tiny call: its address, key, model and settings; of a local one, whether model and engine are there."""
    from long_context_tasks.judges import check_judge

    [config] = named_judges([judge_file] if judge_file else [])
    check_judge(config)
    where = "is there and is loaded when it is needed; nothing was asked"
    if not config.in_process:
        where = f"at {config.base_url} answers"
    text = f"judge {config.name}: {config.model} {where}"
    give(text, judge=config.name, model=config.model, asked=not config.in_process)
