"""`lct runs`: score stored responses again, export prompts for another pipeline, score its responses."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import (
    EngineName,
    Jobs,
    Json,
    OnlyTasks,
    RunOptionsCommand,
    RunsCases,
    RunsDataDir,
    StoredResults,
    TaskName,
    examples,
    typed_options,
)
from long_context_tasks.cli.output import give, print_table, say, warn
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.report import interval_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_context_tasks.engines import Engine
    from long_context_tasks.hosts.stored import Places
    from long_context_tasks.results.rescore import Rescored
    from long_context_tasks.schema import Options

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Score stored responses again; export prompts for your own pipeline, and score its responses.",
)


@app.command(
    epilog=examples(
        "lct runs rescore results/ outputs/",
        "lct runs rescore results/ --dry-run --out changed.csv",
    )
)
def rescore(
    results: StoredResults,
    tasks: OnlyTasks = "",
    data_dir: RunsDataDir = None,
    cases: RunsCases = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the changes without writing anything.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file for every changed score: ids, old and new value."),
    ] = None,
    jobs: Jobs = 1,
    engine: EngineName = "",
    as_json: Json = False,
) -> None:
    """Score stored responses again by the current rules, without running a model.

    No judge is asked: the replies stored in the files are read again (`lct judge run` asks a judge). Results go into a folder `rescored`
    next to each run, where `lct report` uses them instead of the old scores; the hosts' own files do not change. Exit code 1 if a run was
    skipped.
    """
    from long_context_tasks.engines import engine_of
    from long_context_tasks.hosts.stored import Places

    with engine_of(jobs, engine) as running:
        made, skipped = _rescored(results, tasks, Places(data_dir, cases), running, write=not dry_run)
    for message in skipped:
        warn(f"skipped: {message}")
    if out is not None:
        _write_changes(out, made)
    _show(results, made)
    for rescored in made:
        for note in rescored.notes[:-1]:  # the last note repeats the row of the table
            warn(f"note: {rescored.evaluation.run}: {note}")
    changed = sum(bool(rescored.changes) for rescored in made)
    say(
        f"{changed} of {len(made)} scored runs changed"
        + ("; nothing was written (--dry-run)" if dry_run else "")
    )
    folders = list(dict.fromkeys(rescored.path.parent for rescored in made)) if not dry_run else []
    for folder in folders:
        say(f"written to {folder}")
    give(None, runs=len(made), changed=changed, skipped=skipped, written=folders, file=out)
    if skipped:
        warn(f"{len(skipped)} skipped, see above")
        raise typer.Exit(1)


def _rescored(
    results: "Sequence[Path]", tasks: str, places: "Places", engine: "Engine", *, write: bool
) -> "tuple[list[Rescored], list[str]]":
    """Return the runs scored again, and the reasons why others were skipped."""
    from long_context_tasks.cli.judge import chosen_runs, runs_below
    from long_context_tasks.results.new_scores import RunTasks
    from long_context_tasks.results.rescore import rescored_run

    stored, skipped = runs_below(*results)
    made: list[Rescored] = []
    # RunTasks loads a task once for all of its runs.
    again = partial(rescored_run, RunTasks(places), write)
    for run in engine.mapped(again, chosen_runs(stored, tasks)):
        for result in run:
            if isinstance(result, str):
                skipped.append(result)
            else:
                made.append(result)
    if not made:
        more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
        raise InputError(f"{', '.join(map(str, results))}: nothing could be scored again: {skipped[0]}{more}")
    return made, skipped


def _show(results: "Sequence[Path]", made: "Sequence[Rescored]") -> None:
    text = ("model", "made", "task", "judge", "version", "metric")
    rows: list[list[object]] = []
    for rescored in made:
        run, old, new = rescored.evaluation.run, rescored.evaluation.version, rescored.scored.version
        version = str(new) if old == new else f"{old} → {new}"
        for metric in rescored.metrics:
            run_columns = run.host, run.model, run.made.split(".")[0], run.task, _judge(rescored), version
            means = rescored.before(metric), rescored.after(metric)
            rows.append([*run_columns, metric, *means, rescored.changed_cases(metric)])
    columns = ["host", *text, "before", "after", "cases changed"]
    print_table(f"Scored again: {', '.join(map(str, results))}", columns, rows, text)


def _judge(rescored: "Rescored") -> str:
    description = rescored.evaluation.description
    return str(description.get("name", "judge")) if description else ""


def _write_changes(out: Path, made: "Sequence[Rescored]") -> None:
    from long_context_tasks.results.tables import csv_lines
    from long_context_tasks.schema.files import write_whole

    columns = ("host", "model", "made", "task", "judge", "case", "turn", "repeat", "metric", "old", "new")
    rows: list[tuple[object, ...]] = []
    for rescored in made:
        run = rescored.evaluation.run
        for change in rescored.changes:
            shown = (run.host, run.model, run.made, run.task, _judge(rescored), change.case)
            rows.append((*shown, change.turn, change.repeat, change.metric, change.before, change.after))
    write_whole(out, csv_lines([columns, *rows]))


def _options(ctx: typer.Context) -> "Options":
    """Resolve the options of a run; typed ones come before those of the environment."""
    from long_context_tasks.benchmarks.catalogue import resolve_options

    return resolve_options({f"lct_{name}": value for name, value in typed_options(ctx).items()})


@app.command(
    cls=RunOptionsCommand,
    epilog=examples(
        "lct runs export TASK --n 50 --out prompts.jsonl",
        "lct runs export TASK --length 24k --cases cases/ --out prompts.jsonl",
        "lct runs export TASK --data-dir data/",
    ),
)
def export(
    ctx: typer.Context,
    task: TaskName,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File of JSON Lines. Default: TASK.jsonl"),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--with-gold", help="Include the gold answers, if the data's owners allow it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the exact prompts of a task, one request per row, with the settings that the hosts use.

    A conversation has a row for each turn, with {{answer_0}} in place of the model's own first answer, and so on. `lct runs score`
    scores the responses. Options that are not given are read from the environment (LCT_NOISE_MODE and so on).
    """
    from long_context_tasks.hosts.own import export as exporting

    options = _options(ctx)
    if gold:
        exporting.check_gold(task, options)
    loaded = exporting.load(task, options)
    path = out or Path(f"{task}.jsonl")
    requests = exporting.write_export(loaded, path, gold=gold)
    give(
        f"{path}: {requests} requests of {len(loaded.cases)} cases",
        path=path,
        requests=requests,
        cases=len(loaded.cases),
        task=task,
        version=loaded.version,
    )
    if not exporting.may_be_shown(task, options):
        say("the data's owners do not allow these prompts to be published: keep the file to yourself")


@app.command(
    cls=RunOptionsCommand,
    epilog=examples("lct runs memorag TASK --model FOLDER --n 20 --out responses.jsonl"),
)
def memorag(
    ctx: typer.Context,
    task: TaskName,
    model: Annotated[str, typer.Option("--model", "-m", help="Folder or hub id of a chat model.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="JSON Lines file for the responses, for `lct runs score`.")
    ] = Path("responses.jsonl"),
    chunk_tokens: Annotated[int, typer.Option(min=1, help="Maximum number of tokens of a passage.")] = 512,
    hits: Annotated[int, typer.Option(min=1, help="Number of passages retrieved for each clue.")] = 3,
    clue_tokens: Annotated[
        int, typer.Option(min=1, help="Maximum number of tokens of a list of clues.")
    ] = 128,
    compression: Annotated[
        int, typer.Option(min=1, help="Number of context tokens for which the memory keeps one.")
    ] = 4,
    as_json: Json = False,
) -> None:
    """Answer a task with MemoRAG: clues from a compressed memory of the context retrieve passages, which give the answer.

    It answers single questions of benchmarks that separate context and question. Options that are not given are read from the environment.
    """
    from long_context_tasks.hosts.own.export import load
    from long_context_tasks.hosts.own.memorag import MemoRAGSettings, Reader, write_responses

    require("memorag", "lct runs memorag", "bm25s", "torch", "transformers")
    loaded = load(task, _options(ctx))
    settings = MemoRAGSettings(chunk_tokens, hits, clue_tokens, compression)
    write_responses(loaded, Reader(model), settings, out)
    give(f"{out}: {len(loaded.cases)} responses", path=out, cases=len(loaded.cases), task=task)


@app.command(
    cls=RunOptionsCommand,
    epilog=examples("lct runs score TASK responses.jsonl --n 50 --model my-model --out results/"),
)
def score(
    ctx: typer.Context,
    task: TaskName,
    responses: Annotated[
        Path,
        typer.Argument(help='JSON Lines: {"id": CASE, "response": TEXT}, with "turn" in conversations.'),
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the model in reports.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the run, as lm-eval's --output_path.")
    ] = Path("results"),
    pipeline: Annotated[str, typer.Option(help="Description of the pipeline, recorded with the run.")] = "",
    as_json: Json = False,
) -> None:
    """Score the responses of your own pipeline to the prompts of `lct runs export`, as a run that `lct report` reads.

    Give the options that the prompts were exported with. A task that needs a judge is left for `lct judge run`.
    """
    from long_context_tasks.hosts.own.export import load
    from long_context_tasks.hosts.own.score import read_responses, score_own
    from long_context_tasks.stats.intervals import Interval

    loaded = load(task, _options(ctx))
    answered = read_responses(responses, loaded)
    run = score_own(loaded, answered, model, out, pipeline)
    rows = []
    for metric in loaded.metrics:
        low, high = (run.numbers.get(f"{metric}_{end}") for end in ("low", "high"))
        interval = None if low is None or high is None else Interval(low, high)
        rows.append([metric, run.numbers[metric], interval_text(interval, 3)])
    print_table(f"{task}, {model}", ["metric", "mean", "95 % interval"], rows)
    give(
        f"{run.result_file}: {len(answered)} of {len(loaded.cases)} cases",
        path=run.result_file,
        cases=len(answered),
        available=len(loaded.cases),
    )
    if loaded.judging is not None:
        say(f"not judged yet: lct judge run {out} --judge judge.yaml")
