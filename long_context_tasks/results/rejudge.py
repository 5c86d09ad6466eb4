"""Stored runs with the tasks behind them, judged again, with their results beside them: ``lct judge run``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.hosts.stored_task import load_task, responses_to
from long_context_tasks.judges import JudgeConfig
from long_context_tasks.judges.task_judge import with_judge
from long_context_tasks.results.evaluations import judged_path, needs_no_judge, write_judged
from long_context_tasks.results.scored_again import ROW_KEYS, ScoredAgain, scores_of
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.reasons import JUDGE_FAILED


@dataclass(frozen=True)
class JudgedRun:
    """A run with what a judge made of it.

    Attributes:
        run: as the host left it.
        judge: name of the judge.
        metrics: of the task, headline first.
        points: the metrics that are no shares.
        numbers: means, intervals and counts over all turns (see :func:`long_context_tasks.stats.means.task_numbers`).
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
    runs: Sequence[StoredRun], data_dir: Path | None, *, any_task: bool = False
) -> tuple[list[tuple[StoredRun, LoadedTask]], list[str]]:
    """The runs that can be judged with their tasks, and what is wrong with others; everything is read once.

    Args:
        runs: any; those of tasks without a judge are passed over.
        data_dir: folder of the published files; None: the runs' own.
        any_task: among the judges is one that judges every task with free responses, also one that needs no judge.
    """
    tasks: dict[str, LoadedTask] = {}
    ready, skipped = [], []
    for run in runs:
        if not any_task and needs_no_judge(run):
            continue
        key = run.task_key
        try:
            task = tasks[key] = tasks.get(key) or load_task(run, data_dir)
            if task.judging is not None or (any_task and task.asked_and_right is not None):
                responses_to(run, task)
                ready.append((run, task))
        except InputError as error:
            skipped.append(naming(run, error))
    return ready, skipped


def naming(run: StoredRun, error: InputError) -> str:
    """What is wrong with a run, with the run named once."""
    message = str(error)
    return message if str(run.folder) in message or str(run) in message else f"{run}: {message}"


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
    rubric = judge.rubric_name
    scored = ScoredAgain(run, task, repeats, verdicts, scores_of(task, repeats, verdicts, rubric), rubric)
    description = judge.description()
    path = judged_path(run, config.name, description)
    result = {
        **scored.told(),
        "judge": description,
        "judged": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "by_seed": scored.by_seed(config.seeds),
        "usage": lines,
        "notes": list(scored.notes),
    }
    write_judged(path, result, scored.rows(config.name))
    return JudgedRun(
        run=run,
        judge=config.name,
        metrics=task.metrics,
        points=task.points,
        numbers=scored.numbers,
        not_scored=scored.not_scored,
        usage="; ".join(lines),
        path=path,
        notes=scored.notes,
    )


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
    return config.changed(seeds=text) if text else config
