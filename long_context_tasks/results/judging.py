"""Judging of stored runs (``lct judge run``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.hosts.stored import StoredRun, responses_to
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.task_judge import with_judge
from long_context_tasks.results.evaluations import judged_path, needs_no_judge
from long_context_tasks.results.new_scores import (
    ROW_KEYS,
    NewScores,
    RunTasks,
    ScoreFigures,
    error_of,
    score_all,
    utc_now,
)
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.response import JUDGE_FAILED, JUDGE_UNPARSABLE


@dataclass(frozen=True)
class JudgedRun:
    scored: ScoreFigures  # figures of the judge
    judge: str
    usage: str  # tokens and cost of the judging, in words
    path: Path  # file that was written
    judged: int  # number of turns with a score of the judge

    @property
    def unanswered(self) -> int:
        """Number of turns without a score because the judge did not answer; running the command again asks again."""
        return self.scored.not_scored.get(JUDGE_FAILED, 0)

    @property
    def unparsable(self) -> int:
        return self.scored.not_scored.get(JUDGE_UNPARSABLE, 0)


def prepare(
    runs: Sequence[StoredRun], tasks: RunTasks, *, any_task: bool = False
) -> tuple[list[StoredRun], list[str]]:
    """Return the runs that can be judged, and messages about the others; ``any_task``: a judge can judge even tasks that need no judge."""
    ready, skipped = [], []
    for run in runs:
        try:
            if not any_task and needs_no_judge(run) and not parse_task(run.task).judged:
                continue
            task = tasks.of(run)
            # A trained judge compares a response with the right answer, which the task must provide.
            if task.judging is not None or (any_task and task.asked_and_right is not None):
                responses_to(run, task)
                ready.append(run)
        except InputError as error:
            skipped.append(error_of(run, error))
    return ready, skipped


def judge_run(run: StoredRun, task: LoadedTask, config: JudgeConfig) -> JudgedRun | None:
    """Judge all responses of a run and write the results; None if a judge of this kind cannot judge the task."""
    task, judge = with_judge(task, config)
    if judge is None:
        return None
    repeats = responses_to(run, task)
    judged = [judge.verdicts(task, responses) for responses in repeats]
    verdicts, usage = [by_case for by_case, _ in judged], [line for _, line in judged]
    rubric, description = judge.rubric_name, judge.description()
    scored = NewScores(run, task, repeats, verdicts, score_all(task, repeats, verdicts, rubric), rubric)
    path = judged_path(run, config.name, description)
    more = {
        "judge": description,
        "judged": utc_now(),
        "by_seed": scored.by_seed(config.seeds),
        "usage": usage,
        "notes": list(scored.notes),
    }
    scored.write(path, config.name, more)
    turns = [turn for by_case in verdicts for by_turn in by_case.values() for turn in by_turn]
    judged_turns = sum(any(verdict.score is not None for verdict in turn) for turn in turns)
    return JudgedRun(scored.figures, config.name, "; ".join(usage), path, judged_turns)


def judged_run(tasks: RunTasks, config: JudgeConfig, run: StoredRun) -> JudgedRun | str | None:
    """Run :func:`judge_run` in a worker of an engine; an error message is a result, so that other runs go on."""
    try:
        return judge_run(run, tasks.of(run), config)
    except InputError as error:
        return str(error)


def with_seeds(config: JudgeConfig, text: str) -> JudgeConfig:
    """Return a judge with the seeds of ``--seeds 2023,2024``, or with its own if the text is empty."""
    if config.name in ROW_KEYS:
        raise InputError(
            f"judge {config.name}: the results have a column of that name; give the judge another `name`"
        )
    # The configuration parses the text like a variable of the environment.
    return config.changed(seeds=text) if text else config
