"""What ``lct judge run`` does: stored runs with the tasks behind them, judged again, with their results beside them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import long_context_tasks
from long_context_tasks.hosts.results import summarize
from long_context_tasks.hosts.turns import TaskJudge, Verdicts, score_turns, with_judge
from long_context_tasks.judges import JudgeConfig, Verdict
from long_context_tasks.runs import StoredRun
from long_context_tasks.runs.evaluations import needs_no_judge
from long_context_tasks.runs.judged import judged_path, write_judged
from long_context_tasks.runs.tasks import Responses, load_task, responses_to
from long_context_tasks.schema import CaseScores, InputError, LoadedTask

JUDGE_FAILED = "judge_failed"
ROW_KEYS = (
    *("id", "cluster", "host", "model", "task", "case", "turn", "repeat"),
    *("status", "scores", "reasons", "verdicts"),
)
"""Keys of a row beside the judge's own score, which stands under the judge's name; see docs/judges.md."""


@dataclass(frozen=True)
class JudgedRun:
    """A run with what a judge made of it.

    Attributes:
        run: as the host left it.
        judge: name of the judge.
        metrics: of the task, headline first.
        points: the metrics that are no shares.
        numbers: means, intervals and counts over all turns (see :func:`long_context_tasks.hosts.results.summarize`).
        not_scored: reason to number of turns that have no headline score.
        usage: what the judging cost, in words.
        path: the file that was written.
        notes: what a reader of the numbers should know.
    """

    run: StoredRun
    judge: str
    metrics: tuple[str, ...]
    points: frozenset[str]
    numbers: Mapping[str, float]
    not_scored: Mapping[str, int]
    usage: str
    path: Path
    notes: tuple[str, ...]

    @property
    def unanswered(self) -> int:
        """Turns without a verdict because the judge did not answer; another run asks for them."""
        return self.not_scored.get(JUDGE_FAILED, 0)


def prepare(
    runs: Sequence[StoredRun], data_dir: Path | None, *, orca: bool = False
) -> tuple[list[tuple[StoredRun, LoadedTask]], list[str]]:
    """The runs that can be judged with their tasks, and what is wrong with others; everything is read once.

    Args:
        runs: any; those of tasks without a judge are passed over.
        data_dir: folder of the published files; None: the runs' own.
        orca: ORCA is among the judges: it can judge any task that is answered in words, also one that needs no judge.
    """
    tasks: dict[str, LoadedTask] = {}
    ready, skipped = [], []
    for run in runs:
        if not orca and needs_no_judge(run):
            continue
        key = run.task_key
        try:
            task = tasks[key] = tasks.get(key) or load_task(run, data_dir)
            if task.judging is not None or (orca and task.asked_and_right is not None):
                responses_to(run, task)
                ready.append((run, task))
        except InputError as error:
            message = str(error)
            skipped.append(
                message if str(run.folder) in message or str(run) in message else f"{run}: {message}"
            )
    return ready, skipped


def judge_run(run: StoredRun, task: LoadedTask, config: JudgeConfig) -> JudgedRun | None:
    """Judge all responses of a run and write what came out; None where the task needs no judge of this kind.

    Raises:
        InputError: responses that are damaged or of other data, a rubric that the benchmark does not have, or files that
            cannot be written.
    """
    task, judge = with_judge(task, config)
    if judge is None:
        return None
    repeats = responses_to(run, task)
    verdicts, lines = [], []
    for responses in repeats:
        found, line = judge.verdicts(task, responses)
        verdicts.append(found)
        lines.append(line)
    description = {**config.description(), "rubric": judge.rubric_name}
    scores = _scores(task, judge, repeats, verdicts)
    clusters = _clusters(task, repeats)
    numbers = _numbers(task, scores, clusters)
    headline = task.metrics[0]
    values = [turn[headline] for turn in scores]
    not_scored = Counter(str(score.reason) for score in values if score.value is None)
    notes = _notes(run, task, repeats)
    path = judged_path(run, config.name, description)
    result = {
        "host": run.host,
        "model": run.model,
        "task": run.task,
        "made": run.made,
        "files": [str(file.relative_to(run.folder)) for file in run.files],
        "version": task.version,
        "options": task.description(),
        "judge": description,
        "judged": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "package": long_context_tasks.__version__,
        "headline": headline,
        "points": sorted(task.points),
        "numbers": numbers,
        "by_seed": _by_seed(task, judge, repeats, verdicts, clusters),
        "not_scored": dict(not_scored),
        "usage": lines,
        "notes": list(notes),
        "of_the_run": {"version": run.version, "judge": dict(run.judge), "numbers": dict(run.numbers)},
    }
    write_judged(path, result, _rows(run, task, config.name, repeats, verdicts, scores))
    return JudgedRun(
        run=run,
        judge=config.name,
        metrics=task.metrics,
        points=task.points,
        numbers=numbers,
        not_scored=dict(not_scored),
        usage="; ".join(lines),
        path=path,
        notes=notes,
    )


def _scores(
    task: LoadedTask, judge: TaskJudge, repeats: Sequence[Responses], verdicts: Sequence[Verdicts]
) -> list[CaseScores]:
    """Of every turn, in the order of the responses."""
    return [
        turn
        for responses, found in zip(repeats, verdicts, strict=True)
        for case, turns in responses.items()
        for turn in score_turns(task, task.by_id[case], turns, found[case], judge.rubric_name)
    ]


def _clusters(task: LoadedTask, repeats: Sequence[Responses]) -> list[str]:
    return [task.by_id[case].cluster for one in repeats for case, turns in one.items() for _ in turns]


def _numbers(task: LoadedTask, scores: Sequence[CaseScores], clusters: Sequence[str]) -> dict[str, float]:
    numbers = summarize(scores, clusters, task.metrics, task.intervals, points=task.points)
    del numbers["n_truncated"]  # the host's run knows that, not this one
    return numbers


def _by_seed(
    task: LoadedTask,
    judge: TaskJudge,
    repeats: Sequence[Responses],
    verdicts: Sequence[Verdicts],
    clusters: Sequence[str],
) -> dict[str, dict[str, float]]:
    """Numbers of each seed of the judge alone, where there are several."""
    seeds = judge.config.seeds
    if len(seeds) < 2:
        return {}
    found = {}
    for seed in seeds:
        only = [
            {case: [[v for v in turn if v.seed == seed] for turn in turns] for case, turns in one.items()}
            for one in verdicts
        ]
        numbers = _numbers(task, _scores(task, judge, repeats, only), clusters)
        found[str(seed)] = {name: numbers[name] for name in (*task.metrics, "n_scored")}
    return found


def _notes(run: StoredRun, task: LoadedTask, repeats: Sequence[Responses]) -> tuple[str, ...]:
    notes = []
    n, available = len({case for one in repeats for case in one}), len(task.cases)
    if n < available:
        notes.append(f"holds {n} of the task's {available} cases")
    if len(repeats) > 1:
        notes.append(f"every case was answered {len(repeats)} times; all answers count")
    if run.version is not None and run.version != task.version:
        notes.append(f"ran as version {run.version} of the task, judged as version {task.version}")
    return tuple(notes)


def _rows(
    run: StoredRun,
    task: LoadedTask,
    judge: str,
    repeats: Sequence[Responses],
    verdicts: Sequence[Verdicts],
    scores: Sequence[CaseScores],
) -> Iterator[dict[str, Any]]:
    """A row for each turn; ``lct judge compare`` joins those of several judges by id."""
    left = iter(scores)
    for repeat, (responses, found) in enumerate(zip(repeats, verdicts, strict=True)):
        for case, turns in responses.items():
            for turn, response in enumerate(turns):
                metrics = next(left)
                said: Sequence[Verdict] = found[case][turn]
                place = (run.made, run.model, run.task, case, turn, *([repeat] if repeat else []))
                yield {
                    "id": "/".join(map(str, place)),
                    "cluster": task.by_id[case].cluster,
                    "host": run.host,
                    "model": run.model,
                    "task": run.task,
                    "case": case,
                    "turn": turn,
                    "repeat": repeat,
                    "status": response.status,
                    judge: metrics[task.metrics[0]].value,
                    "scores": {name: metrics[name].value for name in task.metrics},
                    "reasons": {name: reason for name in task.metrics if (reason := metrics[name].reason)},
                    "verdicts": [verdict.row() for verdict in said],
                }


def with_seeds(config: JudgeConfig, text: str) -> JudgeConfig:
    """A judge ready for stored runs: with the seeds of ``--seeds 2023,2024``, or its own when the text is empty.

    Raises:
        InputError: no whole numbers, or one of them twice; or a judge with the name of a column of the rows.
    """
    if config.name in ROW_KEYS:
        raise InputError(
            f"judge {config.name}: the results have a column of that name; give the judge another `name`"
        )
    # The configuration reads the text as it reads a variable of the environment.
    return replace(config, seeds=text) if text else config  # type: ignore[arg-type]


def table_of(judged: Sequence[JudgedRun]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the table."""
    headlines = {one.metrics[0] for one in judged}
    official = {name for one in judged for name in one.metrics if name.startswith("official_")}
    columns = ["host", "model", "made", "task", "judge", "n", "n_scored"]
    columns += [headlines.pop() if len(headlines) == 1 else "score", "95 % interval"]
    columns += [
        *([official.copy().pop() if len(official) == 1 else "official"] if official else []),
        "not scored",
    ]
    rows = []
    for one in judged:
        run, headline = one.run, one.metrics[0]
        places = 2 if headline in one.points else 3
        theirs = next((name for name in one.metrics if name in official), None)
        row = [run.host, run.model, run.made.split(".")[0], run.task, one.judge]
        row += [str(int(one.numbers["n"])), str(int(one.numbers["n_scored"]))]
        row += [_figure(one.numbers[headline], places)]
        row += [_interval(one.numbers, headline, places)]
        row += [_figure(one.numbers[theirs], places) if theirs else ""] if official else []
        row += [", ".join(f"{count} {reason}" for reason, count in sorted(one.not_scored.items()))]
        rows.append(row)
    return columns, rows


def _figure(value: float, places: int) -> str:
    return "-" if value != value else f"{value:.{places}f}"  # noqa: PLR0124


def _interval(numbers: Mapping[str, float], name: str, places: int) -> str:
    from long_context_tasks.cli.report import interval_text
    from long_context_tasks.stats import Interval

    if f"{name}_low" not in numbers:
        return ""
    return interval_text(Interval(numbers[f"{name}_low"], numbers[f"{name}_high"]), places)
