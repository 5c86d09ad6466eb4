"""A task of any benchmark in inspect_ai: samples, the solver that asks, the scorer, and the means.

Samples hold ids and labels; the text of a case is rendered when it is asked. Scores stand in the log as the other hosts have them.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from anyio import to_thread
from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ContentReasoning, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import Score as HostScore
from inspect_ai.scorer import Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter

import long_context_tasks
from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts import turns as built_cases
from long_context_tasks.hosts.environment import warn_of_misspelt_variables
from long_context_tasks.hosts.inspect.results import METADATA
from long_context_tasks.hosts.inspect.scores import answers_record, host_score, numbers
from long_context_tasks.hosts.inspect.stopping import WidthStopping, by_cluster_at_random
from long_context_tasks.hosts.inspect.window import find_window, in_roles_of, rendered, says_too_long
from long_context_tasks.hosts.rope import describe_rope
from long_context_tasks.hosts.turns import not_judged_hint
from long_context_tasks.judges.task_judge import BatchedJudge, TaskJudge, score_turns, with_judge
from long_context_tasks.schema import Case, InputError, LoadedTask, Message, prompt_hash
from long_context_tasks.schema.response import (
    CLOSE,
    DOES_NOT_FIT,
    ENDPOINT_FAILED,
    OPEN,
    Response,
    from_stored_form,
    writable,
)

logger = logging.getLogger(__name__)

_ANSWERS = "long_context_tasks"
"""Under this name the answers to a case stand in the sample's store."""
_CHAT = TypeAdapter(list[ChatMessage])


def case_task(name: str, stop_width: float | None = None, **options: Any) -> Task:
    """Make the host's task.

    Args:
        name: see ``lct tasks``.
        stop_width: stop when the 95 % interval of the headline metric is this wide, on cases in random order; None: run all cases.
        options: the ``lct_*`` ones; the environment fills in what is missing.

    Raises:
        PrerequisiteError: bad options or data, or a judge that cannot be reached; the host prints its message alone.
    """
    try:
        return _case_task(name, stop_width, options)
    except InputError as error:
        raise PrerequisiteError(str(error)) from error


def _case_task(name: str, stop_width: float | None, options: Mapping[str, Any]) -> Task:
    if foreign := [key for key in options if not key.startswith("lct_")]:
        raise InputError(f"{name}: unknown arguments {foreign}; options begin with lct_, like -T lct_n=50")
    warn_of_misspelt_variables()
    if parse_task(name).scoring != "generate":
        raise InputError(f"{name}: inspect_ai gives no likelihoods; run it in lm-eval or OpenCompass")
    task, judge = with_judge(load_task(name, options))
    name = task.name  # with the variant that lct_variant names
    if not len(task.cases):
        raise InputError(f"{name}: no cases")
    if style := task.own_template:
        raise InputError(f"{name}: inspect_ai sends chats; lct_prompt_style={style} marks the roles itself")
    if judge is not None:
        judge.check(task)
    elif task.judging is not None:
        logger.warning(not_judged_hint(name, "logs"))
    cases: Sequence[Case] = task.cases.cases
    stopping = None
    if stop_width is not None:
        cases = by_cluster_at_random(cases, task.options.seed)
        stopping = WidthStopping(stop_width, rates=task.metrics[0] not in task.points)
    points = sorted(task.points)
    return Task(
        dataset=MemoryDataset([_sample(case) for case in cases], name=name),
        solver=ask(task),
        scorer=score_case(task, judge),
        metrics=[numbers(list(task.metrics), list(task.intervals), points)],
        config=GenerateConfig(temperature=0.0),
        early_stopping=stopping,
        version=task.version,
        metadata={
            METADATA: {
                **task.description(),
                "task": name,
                "benchmark": parse_task(name).benchmark,
                "headline": task.metrics[0],
                "points": points,
                "package": long_context_tasks.__version__,
                "n_cases_available": len(task.cases),
                **_model_facts(task),
                "stop_width": stop_width,
                "judge": judge.description() if judge else {},
                built_cases.NAME: built_cases.cases_digest(task),
            }
        },
    )


def _model_facts(task: LoadedTask) -> dict[str, str]:
    """What results say of the model; empty where the host has not made it yet, as in a program that calls ``eval`` later."""
    try:
        model = get_model()
    except ValueError:  # no model is named
        return {}
    window = find_window(task.options, model, task.answer_budget)
    return {"window": window.describe(), "rope": describe_rope(model.api)}


def _sample(case: Case) -> Sample:
    gold = json.dumps([turn.gold for turn in case.turns], ensure_ascii=False)
    labels = {"labels": dict(case.labels), "turn_labels": [dict(turn.labels) for turn in case.turns]}
    metadata = {"cluster": case.cluster, "num_tokens": dict(case.num_tokens), **labels}
    return Sample(id=case.id, input=case.turns[0].question or case.id, target=gold, metadata=metadata)


@solver
def ask(task: LoadedTask) -> Solver:
    """Ask the turns of a case, with the model's own answers as history; what does not fit the window is not sent."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case, model = task.by_id[str(state.sample_id)], get_model()
        budget = task.answer_budget * len(case.turns)
        window = find_window(task.options, model, budget)

        def chat(sent: Sequence[Message]) -> list[ChatMessage]:
            return _CHAT.validate_python([asdict(message) for message in in_roles_of(model, sent)])

        responses: list[Response] = []
        hashes: list[str] = []
        # The last turn holds all questions and leaves room for an answer to each.
        whole = task.whole_conversation(case) if task.is_conversation else task.messages(case)
        if window.checked and not window.fits(rendered(model, chat(whole)), budget):
            responses = [Response(None, DOES_NOT_FIT)] * len(case.turns)
        while len(responses) < len(case.turns):
            sent = task.messages(case, len(responses), [response.text or "" for response in responses])
            hashes.append(prompt_hash(sent))
            state.messages = chat(sent)
            state, response = await _answer(state, generate, task.answer_budget)
            left = len(case.turns) - len(responses)
            # A conversation that has grown too long for the server ends there.
            responses += [response] * (1 if response.status is None else left)
        state.store.set(_ANSWERS, answers_record(task, responses, hashes, window.describe()))
        return state

    return solve


async def _answer(state: TaskState, generate: Generate, answer_budget: int) -> tuple[TaskState, Response]:
    """The state after the model's answer to its messages, and the answer."""
    try:
        state = await generate(state, tool_calls="none", max_tokens=answer_budget)
    except Exception as error:
        if not says_too_long(error):
            raise
        return state, Response(None, DOES_NOT_FIT)
    # The host makes an output of some servers' refusals; a model that has answered has used tokens.
    if state.output.stop_reason == "model_length" and state.output.usage is None:
        return state, Response(None, DOES_NOT_FIT)
    return state, Response(writable(response_text(state.output)))


def response_text(output: ModelOutput) -> str:
    """The response as the other hosts have it: the host takes thinking out of the text, and scoring wants to see it there.

    Thinking that the server separates counts only where no answer follows. White space beside the tags is lost.
    """
    message = output.message
    parts = message.content if isinstance(message.content, list) else []
    thinking = next((part for part in parts if isinstance(part, ContentReasoning)), None)
    if thinking is None or CLOSE in message.text:
        return message.text
    if thinking.internal == "think":
        return f"{OPEN}{thinking.reasoning}{CLOSE}{message.text}"
    return message.text or f"{OPEN}{thinking.reasoning}"


@scorer(metrics=[])
def score_case(task: LoadedTask, judge: TaskJudge | None) -> Scorer:
    """Score the cases of a task as the other hosts do; a judged task without a judge keeps its answers only."""
    batched = BatchedJudge(judge, task) if judge is not None else None

    async def score(state: TaskState, target: Target) -> HostScore:
        case = task.by_id[str(state.sample_id)]
        # Without answers where the case failed, and the user wants such cases scored.
        failed = [Response(None, ENDPOINT_FAILED)] * len(case.turns)
        answers = state.store.get(_ANSWERS) or answers_record(task, failed)
        responses = from_stored_form(answers["response"], answers["status"])

        def scored() -> HostScore:
            verdicts = batched.verdicts(case.id, responses, state.epoch) if batched else ()
            rubric = judge.rubric_name if judge and verdicts else None
            return host_score(task, answers, score_turns(task, case, responses, verdicts, rubric), verdicts)

        return await to_thread.run_sync(scored)

    return score
