"""``lct runs``: score stored responses again, and take part with a pipeline of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import Json, JudgeSeeds, OnlyTasks, RunsDataDir, examples
from long_context_tasks.cli.runs import export as runs_export
from long_context_tasks.cli.runs import score as runs_score
from long_context_tasks.schema.report import figure_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_context_tasks.results.rescore import Rescored

app = typer.Typer(add_completion=False, no_args_is_help=True)
_RESCORE = examples(
    "lct runs rescore results/",
    "lct runs rescore results/ --dry-run --only-changed --out changed.csv",
    "lct runs rescore results/ --judge judge.yaml --seeds 2023,2024",
)


@app.callback()
def runs() -> None:
    """Score stored responses again; write prompts for a pipeline of your own, and score its responses."""


@app.command(epilog=_RESCORE)
def rescore(
    results: Annotated[
        Path,
        typer.Argument(help="What lm-eval's --output_path (with --log_samples) or OpenCompass's -w names."),
    ],
    tasks: OnlyTasks = "",
    data_dir: RunsDataDir = None,
    judge_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--judge",
            help="Judge file, YAML: a judge scores the responses, as `lct judge run` does. Several: each in turn.",
        ),
    ] = None,
    seeds: JudgeSeeds = "",
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
    as_json: Json = False,
) -> None:
    """Score stored responses again by today's rules, without running a model; with --judge, by a judge.

    Without --judge nothing is asked: the replies of judges that stand in the files are read again. The results go into a folder
    `rescored` beside each run, where `lct report` takes them in the place of the old scores; the hosts' own files stay as they are.
    Exit code 1 when a run was skipped.
    """
    if judge_files or seeds:
        _by_judge(
            results,
            judge_files,
            seeds,
            tasks,
            data_dir,
            {"--only-changed": only_changed, "--dry-run": dry_run, "--out": out},
        )
        return
    from long_context_tasks.cli.output import give, say

    made, skipped = _scored_again(results, tasks, data_dir, write=not dry_run)
    for message in skipped:
        typer.echo(f"skipped: {message}", err=True)
    if out is not None:
        _write_changes(out, made)
    _show(results, made, only_changed)
    for one in made:
        for note in one.notes[:-1]:  # the last one is the table's row in words
            typer.echo(f"note: {one.evaluation.run}: {note}", err=True)
    changed = sum(one.changed for one in made)
    say(
        f"{changed} of {len(made)} scored runs changed"
        + ("; nothing was written (--dry-run)" if dry_run else "")
    )
    folders = list(dict.fromkeys(one.path.parent for one in made)) if not dry_run else []
    for folder in folders:
        say(f"written to {folder}")
    give(None, runs=len(made), changed=changed, skipped=skipped, written=folders, file=out)
    if skipped:
        typer.echo(f"{len(skipped)} skipped, see above", err=True)
        raise typer.Exit(1)


def _scored_again(
    results: Path, tasks: str, data_dir: Path | None, *, write: bool
) -> "tuple[list[Rescored], list[str]]":
    """What was scored again, and why other runs were not."""
    from long_context_tasks.cli.judge import chosen_runs, runs_below
    from long_context_tasks.results.rejudge import naming
    from long_context_tasks.results.rescore import rescore, to_rescore, write_rescored
    from long_context_tasks.schema import InputError

    found = runs_below(results)
    skipped = [problem.message for problem in found.problems]
    made: list[Rescored] = []
    for each in to_rescore(chosen_runs(found.runs, tasks), data_dir):
        if isinstance(each, str):
            skipped.append(each)
            continue
        evaluation, task = each
        try:
            one, scored = rescore(evaluation, task)
            if write:
                write_rescored(one, scored)
        except InputError as error:
            skipped.append(naming(evaluation.run, error))
            continue
        made.append(one)
    if not made:
        more = f" (and {len(skipped) - 1} more)" if len(skipped) > 1 else ""
        raise InputError(f"{results}: nothing could be scored again: {skipped[0]}{more}")
    return made, skipped


def _by_judge(
    results: Path,
    judge_files: list[Path] | None,
    seeds: str,
    tasks: str,
    data_dir: Path | None,
    others: "dict[str, object]",
) -> None:
    """The very same as ``lct judge run``."""
    from long_context_tasks.cli.judge import run
    from long_context_tasks.schema import InputError

    if given := [name for name, value in others.items() if value]:
        raise InputError(
            f"{', '.join(given)}: for scoring without a judge; leave out {'it' if len(given) == 1 else 'them'}, or --judge and --seeds"
        )
    run(results, judge_files, seeds, tasks, data_dir)


def _show(results: Path, made: "Sequence[Rescored]", only_changed: bool) -> None:
    from long_context_tasks.cli.output import print_table

    text = ("model", "made", "task", "judge", "version", "metric")
    columns = ["host", *text, "before", "after", "cases changed"]
    rows: list[list[str]] = []
    values: list[dict[str, object]] = []
    for one in made:
        run, old, new = one.evaluation.run, one.evaluation.version, one.version
        judge = _judge(one)
        version = str(new) if old == new else f"{'?' if old is None else old} → {new}"
        for metric in one.metrics:
            n = one.changed_cases(metric)
            if only_changed and not n:
                continue
            places = 2 if metric in one.points else 3
            means = one.before(metric), one.after(metric)
            shown = [figure_text(mean, places) for mean in means]
            who = [run.host, run.model, run.made.split(".")[0], run.task, judge, version, metric]
            rows.append([*who, *shown, str(n)])
            values.append(
                {
                    **{name: getattr(run, name) for name in ("host", "model", "made", "task")},
                    "judge": judge or None,
                    "version_before": old,
                    "version_after": new,
                    "metric": metric,
                    "before": means[0],
                    "after": means[1],
                    "cases_changed": n,
                }
            )
    print_table(f"Scored again: {results}", columns, rows, text, values=values)


def _judge(one: "Rescored") -> str:
    return str(one.evaluation.description.get("name", "judge")) if one.evaluation.description else ""


def _write_changes(out: Path, made: "Sequence[Rescored]") -> None:
    import csv
    import io

    from long_context_tasks.results.tables import safe_field
    from long_context_tasks.schema.files import write_whole

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("host", "model", "made", "task", "judge", "case", "turn", "repeat", "metric", "old", "new")
    )
    for one in made:
        run = one.evaluation.run
        for change in one.changes:
            values = ("" if value is None else value for value in (change.before, change.after))
            told = (run.host, run.model, run.made, run.task, _judge(one), change.case)
            writer.writerow((*map(safe_field, told), change.turn, change.repeat, change.metric, *values))
    write_whole(out, text.getvalue())


app.command("export", epilog=runs_export.EXAMPLES)(runs_export.export)
app.command("score", epilog=runs_score.EXAMPLES)(runs_score.score)
