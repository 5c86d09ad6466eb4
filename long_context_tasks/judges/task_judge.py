"""A judge for the responses of a task, as the hosts and ``lct judge run`` use it."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    """A benchmark's functions for a judged task. Rubrics go by name; a judge file may choose one.

    Attributes:
        rubric: name to rubric, in the language of the task.
        requests: case, responses (one per turn, None where there is none through a failure of ours) and rubric name to what
            the judge is asked: any number of requests for each response that is there; ``meta["turn"]`` says to which one a
            request belongs.
        score_turn: case, turn, response, verdicts (on the turn's requests in order, one per seed of the judge for each; none
            when nothing was judged), rubric name and status (None, or a failure of ours in generation) to every metric of the
            turn.
        default: name of the rubric where the judge file names none.
        metrics: those that need verdicts: without a judge they have no value, not even for a failure of the model.
    """

    rubric: Callable[[str], Rubric]
    requests: Callable[[Case, Sequence[str | None], str], list[JudgeRequest]]
    score_turn: Callable[[Case, int, str | None, Sequence[Verdict], str, str | None], CaseScores]
    default: str
    metrics: tuple[str, ...]


Verdicts = Mapping[str, Sequence[Sequence[Verdict]]]
"""Case to the verdicts on each of its turns, in order of its requests, one per seed; empty where nothing was judged."""


@dataclass(frozen=True)
class TaskJudge:
    """A judge for the responses of one task.

    Attributes:
        config: the judge.
        judging: the benchmark's functions.
    """

    config: JudgeConfig
    judging: Judging

    @property
    def rubric_name(self) -> str:
        """Return the rubric of the judge file, else the benchmark's own choice."""
        return self.config.rubric or self.judging.default

    def description(self) -> dict[str, Any]:
        """Return what results say of the judge and of the rubric by which it scored."""
        return {**self.config.description(), "rubric": self.rubric_name}

    def check(self, task: LoadedTask | None = None) -> None:
        """Check what can be known before costly work: one tiny call, and whether the judge takes the prompts of the task.

        Args:
            task: whose prompts are checked; none are without it.

        Raises:
            InputError: see :func:`long_context_tasks.judges.check_judge`; or a prompt that cannot be sent to this judge.
        """
        if task is not None:
            case = task.cases.cases[0]
            requests = self.judging.requests(case, ["."] * len(case.turns), self.rubric_name)
            check_prompts(requests[:1], self.config)
        check_judge(self.config)

    def verdicts(
        self, task: LoadedTask, responses: Mapping[str, Sequence[Response]], *, progress: bool = True
    ) -> tuple[Verdicts, str]:
        """Judge what there is; an answer that the store holds is not asked for again.

        Args:
            task: of the responses.
            responses: case to one response per turn.
            progress: show a progress bar on standard error.

        Returns:
            The verdicts, and one line that sums them up.
        """
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
    """A judge for a host that scores each case by itself, in threads: cases that wait are judged together, one batch after the other.

    Each batch is judged as parallel as the judge file says.
    """

    def __init__(self, judge: TaskJudge, task: LoadedTask) -> None:
        """Judge responses to a task."""
        self._judge, self._task = judge, task
        self._batch = threading.Lock()
        self._waiting: dict[tuple[int, str], Sequence[Response]] = {}
        self._found: dict[tuple[int, str], Sequence[Sequence[Verdict]]] = {}

    def verdicts(
        self, case: str, responses: Sequence[Response], repeat: int = 0
    ) -> Sequence[Sequence[Verdict]]:
        """The verdicts on each turn of a case; blocks until they are there. None when judging fails, which is logged.

        Args:
            case: id.
            responses: one per turn.
            repeat: distinguishes several answers to a case.
        """
        self._waiting[repeat, case] = responses
        with self._batch:
            if (repeat, case) in self._waiting:
                keys = [key for key in list(self._waiting) if key[0] == repeat]
                batch = {key[1]: self._waiting.pop(key) for key in keys}
                try:
                    found, line = self._judge.verdicts(self._task, batch, progress=False)
                except Exception:
                    # Whatever happens here must not cost the answers.
                    logger.exception("%s: judging failed", self._task.name)
                else:
                    logger.info("%s: %s", self._task.name, line)
                    self._found.update({(repeat, name): verdicts for name, verdicts in found.items()})
        return self._found.pop((repeat, case), ())


def with_judge(task: LoadedTask, config: JudgeConfig | None = None) -> tuple[LoadedTask, TaskJudge | None]:
    """Return a task with the judge that the options or the environment name, as that judge scores it.

    Args:
        task: any.
        config: a judge that was read already.

    Returns:
        The task, with the metrics of the judge's kind where it has its own, and its judge: None without one, or when the task needs none.

    Raises:
        InputError: a judge file that cannot be used, a rubric that the benchmark does not have, or a judge that cannot judge the task.
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
    return task, judge


def score_turns(
    task: LoadedTask,
    case: Case,
    responses: Sequence[Response],
    verdicts: Sequence[Sequence[Verdict]] = (),
    rubric: str | None = None,
) -> list[CaseScores]:
    """Compute every metric of every turn of a case.

    Args:
        task: of the case.
        case: with as many turns as there are responses.
        responses: one per turn.
        verdicts: of the judge on each turn.
        rubric: name of the rubric that was used; None: nothing was judged, and no turn has points, not even the lowest.
    """
    if task.judging is None:
        [response] = responses
        return [task.score(case, response.text, response.status)]
    judging: Judging = task.judging
    given = verdicts or [()] * len(responses)
    name = rubric or judging.default
    scores = [
        judging.score_turn(case, turn, response.text, given[turn], name, response.status)
        for turn, response in enumerate(responses)
    ]
    if rubric is not None:
        return scores
    # Were the model's failures scored alone, the mean of an unjudged run would be theirs.
    unjudged = Score(None, NOT_JUDGED)
    return [
        {
            metric: unjudged if metric in judging.metrics and score.value is not None else score
            for metric, score in turn.items()
        }
        for turn in scores
    ]
