"""What both hosts do with the turns of a case: responses on disk, the judge, scores.

A case with one turn has a plain text as its response; a conversation has a JSON list of texts, and a status for each.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.hosts.open_ended import judged_by_orca
from long_context_tasks.judges import (
    ENDPOINT_FAILED,
    Generate,
    GenerateSettings,
    JudgeConfig,
    JudgeRequest,
    Judging,
    Reply,
    Store,
    Verdict,
    check_judge,
    check_prompts,
    default_store_path,
    judge_all,
    load_judge,
    summarize,
)
from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Message, Score
from long_context_tasks.schema.response import Response, stored_form

Verdicts = Mapping[str, Sequence[Sequence[Verdict]]]
"""Case to the verdicts on each of its turns, in order of its requests, one per seed; empty where nothing was judged."""


def prompt_hash(messages: Sequence[Message]) -> str:
    """SHA-256 of the JSON list of [role, content] pairs."""
    return hashlib.sha256(json.dumps([[m.role, m.content] for m in messages]).encode("ascii")).hexdigest()


def stored(task: LoadedTask, responses: Sequence[Response]) -> tuple[str, Any]:
    """Text and status as they stand in a host's files; :func:`read_back` is the inverse.

    A text that is not there is an empty one in a plain response, and null in a conversation.
    """
    return stored_form(responses, conversation=task.is_conversation)


def read_back(task: LoadedTask, case: Case, text: str | None, status: Any) -> list[Response]:
    """The responses of a case from a host's files.

    Raises:
        InputError: the text is not what :func:`stored` writes for the task.
    """
    if not task.is_conversation:
        return [Response(text if status is None else None, status)]
    try:
        texts = json.loads(text or "")
        statuses = status if isinstance(status, list) else [status] * len(texts)
        responses = [Response(one, state) for one, state in zip(texts, statuses, strict=True)]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{task.name}, case {case.id}: the stored response is not a list of {len(case.turns)} answers ({error}); run again"
        ) from error
    if len(responses) != len(case.turns):
        raise InputError(
            f"{task.name}, case {case.id}: {len(responses)} answers to {len(case.turns)} questions; run again"
        )
    return responses


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
        """As the judge file has it, else the benchmark's own choice."""
        return self.config.rubric or self.judging.default

    def description(self) -> dict[str, Any]:
        """What stands beside results: the judge, and the rubric by which it scored."""
        return {**self.config.description(), "rubric": self.rubric_name}

    def check(self, task: LoadedTask | None = None) -> None:
        """All that can be known before costly work: one tiny call, and whether the judge takes the prompts of the task.

        Args:
            task: whose prompts are checked; none are without it.

        Raises:
            InputError: see :func:`long_context_tasks.judges.check_judge`; or a prompt that cannot be sent to this judge.
        """
        if task is not None:
            case = task.cases.cases[0]
            requests = self.judging.requests(case, ["."] * len(case.turns), self.rubric_name)
            check_prompts(requests[:1], self.config)
        if self.config.in_process:
            from long_context_tasks.judges.local import check_local_judge

            check_local_judge(self.config)
        check_judge(self.config)

    def verdicts(self, task: LoadedTask, responses: Mapping[str, Sequence[Response]]) -> tuple[Verdicts, str]:
        """Judge what there is; an answer that the store holds is not asked for again.

        Args:
            task: of the responses.
            responses: case to one response per turn.

        Returns:
            The verdicts, and one line that sums them up.

        Raises:
            InputError: see :func:`long_context_tasks.judges.judge_all`.
        """
        requests: list[JudgeRequest] = []
        places: list[tuple[str, int]] = []
        for case_id, turns in responses.items():
            there = [turn.text if turn.text is not None else "" for turn in turns]
            texts = [text if turn.status is None else None for text, turn in zip(there, turns, strict=True)]
            asked = self.judging.requests(task.by_id[case_id], texts, self.rubric_name)
            requests += asked
            places += [(case_id, int(request.meta["turn"])) for request in asked]
        store = Store(default_store_path(self.config))
        rubric = self.judging.rubric(self.rubric_name)
        judged = judge_all(requests, self.config, rubric, store, self._generate())
        found: dict[str, list[Sequence[Verdict]]] = {
            case_id: [()] * len(turns) for case_id, turns in responses.items()
        }
        for (case_id, place), verdicts in zip(places, judged, strict=True):
            found[case_id][place] = (*found[case_id][place], *verdicts)
        return found, str(summarize(judged, self.config))

    def _generate(self) -> Generate | None:
        """What a local judge answers; its model is loaded when something has to be asked."""
        if not self.config.in_process:
            return None

        def generate(prompts: Sequence[Sequence[Message]], settings: GenerateSettings) -> list[Reply]:
            from long_context_tasks.judges.local import load_local_judge

            return load_local_judge(self.config)(prompts, settings)

        return generate


def with_judge(task: LoadedTask, config: JudgeConfig | None = None) -> tuple[LoadedTask, TaskJudge | None]:
    """A task with the judge that the options or the environment name, as that judge scores it.

    Args:
        task: any.
        config: a judge that was read already.

    Returns:
        The task, with other metrics where the judge is ORCA, and its judge: None without one, or when the task needs none.

    Raises:
        InputError: a judge file that cannot be used, a rubric that the benchmark does not have, or a judge that cannot judge the task.
    """
    if task.judging is None and task.asked_and_right is None:
        return task, None
    config = config or load_judge(task.options.judge)
    if config is not None and config.kind == "orca":
        task = judged_by_orca(task, config)
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
    """Every metric of every turn of a case.

    Args:
        task: of the case.
        case: with as many turns as there are responses.
        responses: one per turn.
        verdicts: of the judge on each turn.
        rubric: name of the rubric that was used; None: nobody has judged, and no turn has points, not even the lowest.
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
    return [
        {
            metric: Score(None, NOT_JUDGED)
            if metric in judging.metrics and score.value is not None
            else score
            for metric, score in turn.items()
        }
        for turn in scores
    ]


def left_out_from(task: LoadedTask) -> str:
    """What of a case that does not fit is left out, for messages."""
    return " from the turn on that does not fit" if task.is_conversation else ""


def unanswered(verdicts: Verdicts) -> int:
    """How many responses have no verdict as the judge did not answer; judging again asks for them."""
    return sum(
        any(verdict.reason == ENDPOINT_FAILED for verdict in turn)
        for turns in verdicts.values()
        for turn in turns
    )


NOT_JUDGED = "not_judged"
NO_JUDGE = "no judge was named (lct_judge, LCT_JUDGE or LCT_JUDGE_MODEL)"


def not_judged_hint(name: str, results: str | None, why: str = NO_JUDGE) -> str:
    """What to do about a judged task whose responses nobody has judged.

    Args:
        name: of the task.
        results: the folder that the host keeps the responses in; None when it does not, or when nobody knows.
        why: nobody has.
    """
    told = f"{name}: not judged: {why}"
    if results is None:
        return (
            f"{told}; --output_path RESULTS --log_samples keeps the responses, then: "
            "lct judge run RESULTS --judge judge.yaml"
        )
    return f"{told}; the responses are kept: lct judge run {shlex.quote(results)} --judge judge.yaml"
