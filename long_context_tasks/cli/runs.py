"""``lct runs``: score stored responses again, and take part with another pipeline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import (
    EngineName,
    Jobs,
    Json,
    OnlyTasks,
    RunsCases,
    RunsDataDir,
    StoredResults,
    TaskName,
    examples,
    with_run_options,
)
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.report import figure_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_context_tasks.engines import Engine
    from long_context_tasks.hosts.stored import Places
    from long_context_tasks.results.rescore import Rescored
    from long_context_tasks.schema import Options

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Score stored responses again; write prompts for a pipeline of your own, and score its responses.",
)
_RESCORE = examples(
    "lct runs rescore results/",
    "lct runs rescore results/ --dry-run --only-changed --out changed.csv",
)
_EXPORT = examples(
    "lct runs export TASK --n 50 --out prompts.jsonl",
    "lct runs export TASK --length 24k --cases cases/ --out prompts.parquet",
    "lct runs export TASK --data-dir data/",
)


@app.command(epilog=_RESCORE)
def rescore(
    results: StoredResults,
    tasks: OnlyTasks = "",
    data_dir: RunsDataDir = None,
    cases: RunsCases = None,
    only_changed: Annotated[
        bool, typer.Option("--only-changed", help="Show only metrics of which a case has another score.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write every changed score here, CSV: ids, old and new value."),
    ] = None,
    jobs: Jobs = 1,
    engine: EngineName = "",
    as_json: Json = False,
) -> None:
    """Score stored responses again by today's rules, without running a model.

    Nothing is asked: the replies of judges that stand in the files are read again; `lct judge run` asks a judge. The results go into a folder
    `rescored` beside each run, where `lct report` takes them in the place of the old scores; the hosts' own files stay as they are.
    Exit code 1 when a run was skipped.
    """
    from long_context_tasks.cli.output import give, say
    from long_context_tasks.engines import engine_of
    from long_context_tasks.hosts.stored import Places

    with engine_of(jobs, engine) as running:
        made, skipped = _scored_again(results, tasks, Places(data_dir, cases), running, write=not dry_run)
    for message in skipped:
        typer.echo(f"skipped: {message}", err=True)
    if out is not None:
        _write_changes(out, made)
    _show(results, made, only_changed)
    for rescored in made:
        for note in rescored.notes[:-1]:  # the last one is the table's row in words
            typer.echo(f"note: {rescored.evaluation.run}: {note}", err=True)
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
        typer.echo(f"{len(skipped)} skipped, see above", err=True)
        raise typer.Exit(1)


def _scored_again(
    results: Path, tasks: str, places: "Places", engine: "Engine", *, write: bool
) -> "tuple[list[Rescored], list[str]]":
    """Return what was scored again, and why other runs were not."""
    from functools import partial

    from long_context_tasks.cli.judge import chosen_runs, runs_below
    from long_context_tasks.results.rescore import RunTasks, rescored_run
    from long_context_tasks.schema import InputError

    found = runs_below(results)
    skipped = [problem.message for problem in found.problems]
    made: list[Rescored] = []
    again = partial(rescored_run, RunTasks(places), write)
    for run in engine.mapped(again, chosen_runs(found.runs, tasks)):
        for result in run:
            if isinstance(result, str):
                skipped.append(result)
            else:
                made.append(result)
    if not made:
        more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
        raise InputError(f"{results}: nothing could be scored again: {skipped[0]}{more}")
    return made, skipped


def _show(results: Path, made: "Sequence[Rescored]", only_changed: bool) -> None:
    from long_context_tasks.cli.output import print_table

    text = ("model", "made", "task", "judge", "version", "metric")
    rows: list[list[str]] = []
    values: list[dict[str, object]] = []
    for rescored in made:
        run, old, new = rescored.evaluation.run, rescored.evaluation.version, rescored.scored.version
        version = str(new) if old == new else f"{old} → {new}"
        for metric in rescored.metrics:
            n = rescored.changed_cases(metric)
            if only_changed and not n:
                continue
            means = rescored.before(metric), rescored.after(metric)
            shown = [figure_text(mean, 2 if metric in rescored.scored.points else 3) for mean in means]
            who = [run.host, run.model, run.made.split(".")[0], run.task, _judge(rescored), version, metric]
            rows.append([*who, *shown, str(n)])
            values.append(
                {
                    **{name: getattr(run, name) for name in ("host", "model", "made", "task")},
                    "judge": _judge(rescored) or None,
                    "version_before": old,
                    "version_after": new,
                    "metric": metric,
                    "before": means[0],
                    "after": means[1],
                    "cases_changed": n,
                }
            )
    columns = ["host", *text, "before", "after", "cases changed"]
    print_table(f"Scored again: {results}", columns, rows, text, values=values)


def _judge(rescored: "Rescored") -> str:
    return (
        str(rescored.evaluation.description.get("name", "judge")) if rescored.evaluation.description else ""
    )


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


@app.command(epilog=_EXPORT)
@with_run_options
def export(
    task: TaskName,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="JSON Lines, or Parquet when the name ends in .parquet. Default: TASK.jsonl"
        ),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--with-gold", help="Write what is right, too, where the data's owners allow it.")
    ] = False,
    *,
    typed: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Write the exact prompts of a task, one request a row, with the settings that both hosts use.

    Of a conversation there is a row for each turn, in which {{answer_0}} stands for the model's own answer to the first, and so on.
    `lct runs score` scores the responses. Options that are not typed are read from the environment (LCT_NOISE_MODE and so on).
    """
    from long_context_tasks.cli.output import give, say
    from long_context_tasks.hosts.own import export as exporting

    options = _options(typed)
    if gold:
        exporting.check_gold(task, options)
    loaded = exporting.load(task, options)
    place = out or Path(f"{task}.jsonl")
    requests = exporting.write_export(loaded, place, gold=gold)
    give(
        f"{place}: {requests} requests of {len(loaded.cases)} cases",
        path=place,
        requests=requests,
        cases=len(loaded.cases),
        task=task,
        version=loaded.version,
    )
    if not exporting.may_be_shown(task, options):
        say("the data's owners do not allow these prompts to be published: keep the file to yourself")


def _options(typed: dict[str, Any]) -> "Options":
    """Resolve options as typed, then as in the environment."""
    from long_context_tasks.benchmarks.catalogue import resolve_options

    return resolve_options({f"lct_{name}": value for name, value in typed.items()})


@app.command(epilog=examples("lct runs memorag TASK --model FOLDER --n 20 --out responses.jsonl"))
@with_run_options
def memorag(
    task: TaskName,
    model: Annotated[str, typer.Option("--model", "-m", help="Folder or hub id of a chat model.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="JSON Lines with the responses, for `lct runs score`.")
    ] = Path("responses.jsonl"),
    chunk_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a passage, at most.")] = 512,
    hits: Annotated[int, typer.Option(min=1, help="Passages found for each clue.")] = 3,
    clue_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a list of clues, at most.")] = 128,
    compression: Annotated[
        int, typer.Option(min=1, help="The memory keeps one token in so many of the context.")
    ] = 4,
    *,
    typed: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Answer a task with MemoRAG: clues from a compressed memory of the context, passages found by them, the answer from these.

    Single questions of benchmarks that tell context and question apart. Options that are not typed are read from the environment.
    """
    from long_context_tasks.cli.output import give
    from long_context_tasks.hosts.own.export import load
    from long_context_tasks.hosts.own.memorag import MemoRAGSettings, Reader, write_responses

    require("memorag", "lct runs memorag", "bm25s", "torch", "transformers")
    loaded = load(task, _options(typed))
    settings = MemoRAGSettings(chunk_tokens, hits, clue_tokens, compression)
    write_responses(loaded, Reader(model), settings, out)
    give(f"{out}: {len(loaded.cases)} responses", path=out, cases=len(loaded.cases), task=task)


@app.command(epilog=examples("lct runs score TASK responses.jsonl --n 50 --model my-model --out results/"))
@with_run_options
def score(
    task: TaskName,
    responses: Annotated[
        Path,
        typer.Argument(help='JSON Lines: {"id": CASE, "response": TEXT}, with "turn" in conversations.'),
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the model in reports.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the run, as lm-eval's --output_path.")
    ] = Path("results"),
    pipeline: Annotated[
        str, typer.Option(help="What made the responses, in words; it stands in the provenance.")
    ] = "",
    *,
    typed: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Score the responses of a pipeline of your own to the prompts of `lct runs export`, into a run that `lct report` reads.

    Give the options that the prompts were exported with. A judged task is left for `lct judge run`.
    """
    from long_context_tasks.cli.output import give, print_table, say
    from long_context_tasks.hosts.own.export import load
    from long_context_tasks.hosts.own.score import read_responses, score_own
    from long_context_tasks.schema.report import interval_text
    from long_context_tasks.stats import Interval

    loaded = load(task, _options(typed))
    answered = read_responses(responses, loaded)
    run = score_own(loaded, answered, model, out, pipeline)
    rows = []
    for metric in loaded.metrics:
        places = 2 if metric in loaded.points else 3
        low, high = (run.numbers.get(f"{metric}_{end}") for end in ("low", "high"))
        interval = None if low is None or high is None else Interval(low, high)
        rows.append([metric, figure_text(run.numbers[metric], places), interval_text(interval, places)])
    print_table(f"{task}, {model}", ["metric", "mean", "95 % interval"], rows)
    give(
        f"{run.result_file}: {len(answered)} of {len(loaded.cases)} cases",
        path=run.result_file,
        cases=len(answered),
        available=len(loaded.cases),
    )
    if loaded.judging is not None:
        say(f"not judged yet: lct judge run {out} --judge judge.yaml")
