"""`lct judge`: judge stored responses, compare judges with people."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import (
    EngineName,
    Jobs,
    Json,
    Judges,
    JudgeSeeds,
    OnlyTasks,
    RunsCases,
    RunsDataDir,
    StoredResults,
    examples,
    words,
)
from long_context_tasks.cli.output import give, print_table, say, warn
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import write_json
from long_context_tasks.schema.report import interval_text
from long_context_tasks.schema.response import JUDGE_FAILED, JUDGE_UNPARSABLE, counted

if TYPE_CHECKING:
    from long_context_tasks.judges.config import JudgeConfig
    from long_context_tasks.results import StoredRun
    from long_context_tasks.results.new_scores import JudgedRun
    from long_context_tasks.stats.raters import Panel, RaterStudy

_FORMAT = 'one JSON object a line: {"id": "m1/3", "cluster": "m1", "gpt-4": 9, "gold": 8.5}'

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Judge stored responses, and compare judges with people."
)


@app.command(
    epilog=examples(
        "lct judge run results/ --judge judge.yaml",
        "lct judge run results/ --judge a.yaml --judge b.yaml --seeds 1,2,3",
    )
)
def run(
    results: StoredResults,
    judge_files: Judges = None,
    seeds: JudgeSeeds = "",
    tasks: OnlyTasks = "",
    data_dir: RunsDataDir = None,
    cases: RunsCases = None,
    jobs: Jobs = 1,
    engine: EngineName = "",
    as_json: Json = False,
) -> None:
    """Judge the stored responses of any host, without running the model again.

    Stored replies of a judge are reused, so the same command resumes a stopped run. Results go into a folder `judged` next
    to each run; the hosts' own files do not change. Exit code 1 if a run was skipped or the judge gave some responses no score, 2 if it
    gave none a score or had none to read.
    """
    from functools import partial

    from long_context_tasks.engines import engine_of
    from long_context_tasks.hosts.stored import Places
    from long_context_tasks.judges.kinds import check_judge, kind_of
    from long_context_tasks.results.new_scores import RunTasks, judged_run, prepare, with_seeds

    stored, unread = runs_below(*results)
    places = ", ".join(map(str, results))
    chosen = chosen_runs(stored, tasks)
    configs = [with_seeds(judge, seeds) for judge in named_judges(judge_files or [])]
    for config in configs:
        # One short call, so that a wrong key or model is an error before the runs are read.
        check_judge(config)
    # ORCA rates the responses of any task; a language model needs the rubric of a judged task.
    any_task = any(kind_of(config).prepare is not None for config in configs)
    loaded = RunTasks(Places(data_dir, cases))
    ready, skipped = prepare(chosen, loaded, any_task=any_task)
    skipped = [*unread, *skipped]
    for message in skipped:
        warn(f"skipped: {message}")
    if not ready:
        if skipped:
            more = f", and {len(skipped) - 1} more, see above" if skipped[1:] else ""
            raise InputError(f"{places}: nothing to judge: skipped {skipped[0]}{more}")
        names = ", ".join(sorted({run.task for run in chosen})) or "none"
        raise InputError(f"{places}: nothing to judge: no run of a task that a judge scores among {names}")
    judged: list[JudgedRun] = []
    with engine_of(jobs, engine) as running:
        for config in configs:
            for made in running.mapped(partial(judged_run, loaded, config), ready):
                if isinstance(made, str):
                    skipped.append(made)
                    warn(f"skipped: {made}")
                elif made is not None:
                    judged.append(made)
                    for note in made.scored.notes:
                        warn(f"note: {made.scored.run}: {note}")
    if not judged:
        raise InputError(f"{places}: nothing was judged: all {len(skipped)} runs were skipped, see above")
    _print_judged(places, judged)
    _end(judged, skipped)


def named_judges(files: list[Path]) -> "list[JudgeConfig]":
    """Load the judges of some files; without files, the judge of the environment."""
    from long_context_tasks.judges.kinds import load_judge

    configs = [load_judge(file) for file in files] if files else [load_judge()]
    named = [config for config in configs if config is not None]
    if not named:
        raise InputError("no judge is named; give --judge FILE, LCT_JUDGE or LCT_JUDGE_MODEL")
    return named


def runs_below(*folders: Path) -> "tuple[list[StoredRun], list[str]]":
    """Find the runs of our tasks below some folders, each once, and messages about those that cannot be read."""
    from long_context_tasks.hosts.readers import RESULT_FOLDERS
    from long_context_tasks.results import find_runs

    # Folders may lie in one another.
    runs: dict[object, StoredRun] = {}
    problems: dict[str, None] = {}
    for folder in folders:
        found = find_runs(folder)
        if not found.runs and not found.problems:
            raise InputError(f"{folder}: holds no runs of our tasks; give the folder of {RESULT_FOLDERS}")
        for run in found.runs:
            runs.setdefault((run.host, run.folder.resolve(), run.label), run)
        problems |= dict.fromkeys(found.problems)
    return list(runs.values()), list(problems)


def chosen_runs(runs: "list[StoredRun]", tasks: str) -> "list[StoredRun]":
    """Return the runs of some tasks, a list with commas; of all tasks if it is empty."""
    names = words(tasks)
    known = {run.task for run in runs}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--tasks {', '.join(unknown)}: no such runs; there are: {', '.join(sorted(known))}")
    return [run for run in runs if not names or run.task in names]


def _end(judged: "list[JudgedRun]", skipped: list[str]) -> None:
    """Print the paths of the results; exit with 1 if scores are missing, with 2 if all are."""
    for outcome in judged:
        say(f"{outcome.path}: {outcome.usage}")
    give(None, files=[outcome.path for outcome in judged])
    unjudged = sum((Counter(outcome.unjudged) for outcome in judged), Counter[str]())
    failed, unparsable = unjudged[JUDGE_FAILED], unjudged[JUDGE_UNPARSABLE]
    if failed:
        warn(f"{failed} responses have no score because the judge did not answer; run the same command again")
    if unparsable:
        warn(
            f"{unparsable} responses have no score because no reply of the judge holds one; read `feedback` in the files above, "
            "then change the judge, its prompt or max_tokens"
        )
    if skipped:
        warn(f"{len(skipped)} skipped, see above")
    if unjudged and not any(outcome.judged for outcome in judged):
        raise InputError(f"nothing was judged: {counted(unjudged)}")
    if skipped or failed or unparsable:
        raise typer.Exit(1)


@app.command(epilog=examples("lct judge compare scores.jsonl --gold gold"))
def compare(
    files: Annotated[list[Path], typer.Argument(help=f"Scores, {_FORMAT}. Files are joined by id.")],
    gold: Annotated[str | None, typer.Option(help="Rater that the others are compared with.")] = None,
    raters: Annotated[
        str,
        typer.Option(
            help="Fields with scores, with commas. Default: those listed in `scales` of the rows, else all that hold numbers."
        ),
    ] = "",
    panel: Annotated[
        str,
        typer.Option(help="Raters in the ICC, with commas. Default: all, if the rows state their scales."),
    ] = "",
    by: Annotated[str | None, typer.Option(help="Field that splits the means, e.g. the model.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the figures to this JSON file too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare judges with people and with each other.

    Prints means, correlations of every pair (Pearson, Spearman, Kendall), scores for each gold score, and the agreement of the panel
    (ICC). Intervals are 95 % over clusters (meetings); those of the ICC treat items as independent.
    """
    from long_context_tasks.judges.ratings import on_one_scale, read_ratings
    from long_context_tasks.stats.raters import study_panel, study_raters

    members = words(panel)
    table = read_ratings(files, words(raters), by, also=[*members, *([] if gold is None else [gold])])
    if table.note:
        say(table.note)
    if unknown := [name for name in [gold, *members] if name is not None and name not in table.ratings]:
        raise InputError(f"no rater {', '.join(unknown)}; there are: {', '.join(table.ratings)}")
    if len(members) == 1:
        raise InputError(f"--panel {panel}: agreement needs two raters or more")
    study = study_raters(table.ratings, table.clusters, gold, table.labels)
    _print_study(study, gold, by)
    agreement: Panel | None = None
    try:
        if not members and (unknown := [name for name in table.ratings if name not in table.scales]):
            raise InputError(
                f"the rows do not state the scale of {', '.join(unknown)}; add scales, or name raters of one scale with --panel"
            )
        scores, note = on_one_scale(table, members or list(table.ratings))
        agreement = study_panel(scores, table.clusters)
    except (InputError, ValueError) as error:
        if members:
            raise InputError(f"--panel: {error}") from error
        say(f"ICC left out: {error}")
    if agreement is not None:
        _print_panel(agreement)
        if note:
            say(note)
    if out is not None:
        content = {"study": asdict(study), "icc": agreement and asdict(agreement)}
        write_json(out, content, remedy="choose another place with --out")
        give(None, file=out)


def _print_judged(places: str, judged: "list[JudgedRun]") -> None:
    from long_context_tasks.stats.intervals import Interval

    headlines = {each.scored.metrics[0] for each in judged}
    official = {name for each in judged for name in each.scored.metrics if name.startswith("official_")}
    columns = ["host", "model", "made", "task", "judge", "n", "n_scored"]
    columns += [headlines.pop() if len(headlines) == 1 else "score", "95 % interval"]
    columns += [next(iter(official)) if len(official) == 1 else "official"] if official else []
    rows = []
    for each in judged:
        run, scored, numbers = each.scored.run, each.scored, each.scored.numbers
        headline, other = scored.metrics[0], [numbers[name] for name in scored.metrics if name in official]
        low, high = (numbers.get(f"{headline}_{end}") for end in ("low", "high"))
        interval = None if low is None or high is None else Interval(low, high)
        rows.append(
            [
                *(run.host, run.model, run.made.split(".")[0], run.task, each.judge),
                *(int(numbers[name]) for name in ("n", "n_scored")),
                *(numbers[headline], interval_text(interval, 3)),
                *((*other, "")[:1] if official else ()),
                counted(scored.not_scored),
            ]
        )
    text = ("model", "made", "task", "judge", "not scored")
    print_table(f"Judged runs in {places}", [*columns, "not scored"], rows, text)


def _print_study(study: "RaterStudy", gold: str | None, by: str | None) -> None:
    def figures(group: Any) -> list[object]:
        return [group.n, group.total, group.clusters, group.mean, group.sd, interval_text(group.interval)]

    head = ["n", "of", "clusters", "mean", "sd", "95 % interval"]
    title = f"Mean of each rater: {study.items} items in {study.clusters} clusters"
    means = [[name, *figures(group)] for name, group in study.means.items()]
    print_table(title, ["rater", *head], means, places=2)
    if study.by_label:
        by_label = [
            [label, n, *figures(g)] for label, groups in study.by_label.items() for n, g in groups.items()
        ]
        print_table(f"Mean by {by}", [str(by), "rater", *head], by_label, ("rater",), places=2)
    columns = ["method", "first", "second", "correlation", "95 % interval", "n", "clusters"]
    correlations = [
        [c.method, c.first, c.second, c.value, interval_text(c.interval, 3), c.n, c.clusters]
        for c in study.correlations
    ]
    print_table("Correlation of raters", columns, correlations, ("first", "second"))
    if study.bins:
        bins = [[n, score, *figures(g)] for n, scores in study.bins.items() for score, g in scores.items()]
        print_table(f"Scores for each score of {gold}", ["rater", str(gold), *head], bins, places=2)


def _print_panel(panel: "Panel") -> None:
    left_out = f", {panel.left_out} without all scores left out" if panel.left_out else ""
    title = f"Intra-class correlation of {', '.join(panel.raters)}: {panel.items} items{left_out}"
    rows = [
        [str(cluster), icc.form, icc.value, interval_text(icc.interval, 3), icc.targets, icc.raters]
        for cluster, icc in [*panel.by_cluster.items(), *(("all", each) for each in panel.overall.values())]
    ]
    columns = ["cluster", "form", "ICC", "95 % interval", "items", "raters"]
    print_table(title, columns, rows, ("form",))
