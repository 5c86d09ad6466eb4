"""A judge of a task's responses, for the hosts and ``lct judge run``."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_judge, kind_of, load_judge
from long_context_tasks.judges.run import check_prompts, judge_all
from long_context_tasks.judges.store import Store, default_store_path
from long_context_tasks.judges.verdict import JudgeRequest, Rubric, Verdict, summarize
from long_context_tasks.schema import Case, CaseScores, LoadedTask, Score
from long_context_tasks.schema.response import NOT_JUDGED, Response

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Judging:
    """A benchmark's functions for a judged task. Rubrics have names; a judge file may choose one."""

    rubric: Callable[[str], Rubric]  # returns the named rubric in the task's language
    # Returns the judge requests for a case, its responses (one per turn; None after a failure on our side)
    # and a rubric name. A response may have any number of requests; meta["turn"] is its turn.
    requests: Callable[[Case, Sequence[str | None], str], list[JudgeRequest]]
    # Returns all metrics of a turn. Arguments: case, turn, response, verdicts (in the order of the turn's
    # requests, one per judge seed; empty if nothing was judged), rubric name and status (None, or a failure
    # on our side).
    score_turn: Callable[[Case, int, str | None, Sequence[Verdict], str, str | None], CaseScores]
    default: str  # rubric used if the judge file names none
    # Metrics that need verdicts; without a judge they have no value, even for a failure of the model.
    metrics: tuple[str, ...]
    headline: str = ""  # the main metric of a judged run, if it is not the card's headline


Verdicts = Mapping[str, Sequence[Sequence[Verdict]]]
"""Case -> verdicts on each turn, in request order, one per seed; empty if nothing was judged."""


@dataclass(frozen=True)
class TaskJudge:
    config: JudgeConfig
    judging: Judging

    @property
    def rubric_name(self) -> str:
        return self.config.rubric or self.judging.default

    def description(self) -> dict[str, Any]:
        return {**self.config.description(), "rubric": self.rubric_name}

    def check(self, task: LoadedTask | None = None) -> None:
        """Check the judge with one tiny call before expensive work, and that it accepts the task's prompts."""
        if task is not None:
            case = task.cases.cases[0]
            requests = self.judging.requests(case, ["."] * len(case.turns), self.rubric_name)
            check_prompts(requests[:1], self.config)
        check_judge(self.config)

    def verdicts(
        self, task: LoadedTask, responses: Mapping[str, Sequence[Response]], *, progress: bool = True
    ) -> tuple[Verdicts, str]:
        """Judge responses, reusing stored replies; return the verdicts and a one-line summary."""
        requests: list[JudgeRequest] = []
        places: list[tuple[str, int]] = []
        for case_id, turns in responses.items():
            texts = [None if turn.status is not None else turn.text or "" for turn in turns]
            asked = self.judging.requests(task.by_id[case_id], texts, self.rubric_name)
            requests += asked
            places += [(case_id, int(request.meta["turn"])) for request in asked]
        rubric = self.judging.rubric(self.rubric_name)
        store = Store(default_store_path(self.config))
        judged = judge_all(requests, self.config, rubric, store, progress=progress)
        found: dict[str, list[Sequence[Verdict]]] = {
            case: [()] * len(turns) for case, turns in responses.items()
        }
        for (case_id, place), verdicts in zip(places, judged, strict=True):
            found[case_id][place] = (*found[case_id][place], *verdicts)
        return found, str(summarize(judged, self.config))


class BatchedJudge:
    """A judge for a host that scores each case in its own thread: waiting cases are judged in batches."""

    def __init__(self, judge: TaskJudge, task: LoadedTask) -> None:
        self._judge, self._task = judge, task
        self._batch = threading.Lock()
        self._waiting: dict[tuple[int, str], Sequence[Response]] = {}
        self._found: dict[tuple[int, str], Sequence[Sequence[Verdict]]] = {}

    def verdicts(
        self, case: str, responses: Sequence[Response], repeat: int = 0
    ) -> Sequence[Sequence[Verdict]]:
        """Wait for and return the verdicts on each turn of a case; empty if judging fails, which is logged.

        ``repeat`` distinguishes several responses to the same case.
        """
        self._waiting[repeat, case] = responses
        with self._batch:
            if (repeat, case) in self._waiting:
                keys = [key for key in list(self._waiting) if key[0] == repeat]
                batch = {key[1]: self._waiting.pop(key) for key in keys}
                try:
                    found, line = self._judge.verdicts(self._task, batch, progress=False)
                except Exception:
                    # A judge failure must not lose the responses, which cost more than the verdicts.
                    logger.exception("%s: judging failed", self._task.name)
                else:
                    logger.info("%s: %s", self._task.name, line)
                    self._found.update({(repeat, name): verdicts for name, verdicts in found.items()})
        return self._found.pop((repeat, case), ())


def with_judge(task: LoadedTask, config: JudgeConfig | None = None) -> tuple[LoadedTask, TaskJudge | None]:
    """Return a task, with the metrics of the judge's kind if it has its own, and its judge.

    The judge defaults to that of the options or the environment; it is None if none is configured or the task
    needs none.
    """
    if task.judging is None and task.asked_and_right is None:
        return task, None
    config = config or load_judge(task.options.judge)
    if config is not None and (prepare := kind_of(config).prepare) is not None:
        task = prepare(task, config)
    if config is None or task.judging is None:
        return task, None
    judge = TaskJudge(config, task.judging)
    judge.judging.rubric(judge.rubric_name)
    return with_headline(task), judge


def with_headline(task: LoadedTask) -> LoadedTask:
    """Return a judged task with the headline that it has if a judge reads its responses."""
    judging: Judging = task.judging
    headline = judging.headline or task.metrics[0]
    return replace(
        task,
        metrics=tuple(dict.fromkeys((headline, *task.metrics))),
        intervals=task.intervals if headline in task.intervals else (headline, *task.intervals),
    )


def score_turns(
    task: LoadedTask,
    case: Case,
    responses: Sequence[Response],
    verdicts: Sequence[Sequence[Verdict]] = (),
    rubric: str | None = None,
) -> list[CaseScores]:
    """Compute every metric of every turn of a case.

    Args:
        rubric: name of the rubric used; if None, nothing was judged and no turn gets a score, not even the
            lowest.
    """
    if task.judging is None:
        return [task.score(case.only(turn), each.text, each.status) for turn, each in enumerate(responses)]
    judging: Judging = task.judging
    given = verdicts or [()] * len(responses)
    name = rubric or judging.default
    scores = [
        judging.score_turn(case, turn, response.text, given[turn], name, response.status)
        for turn, response in enumerate(responses)
    ]
    if rubric is not None:
        return scores
    # If only the model's failures had scores, they would determine the mean of an unjudged run.
    unjudged = Score(None, NOT_JUDGED)
    return [
        {
            metric: unjudged if metric in judging.metrics and score.value is not None else score
            for metric, score in turn.items()
        }
        for turn in scores
    ]
