"""A task of any benchmark in inspect_ai: samples, the solver that asks, the scorer, and the means.

Samples hold ids and labels; the text of a case is rendered when it is asked. Scores stand in the log as the other hosts have them.
"""

import json
import logging
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from anyio import to_thread
from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSpec
from inspect_ai.model import ChatMessage, ContentReasoning, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as HostScore
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import EarlyStop
from pydantic import JsonValue, TypeAdapter

from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.inspect.results import METADATA
from long_context_tasks.hosts.messages import not_judged_hint, warn_of_misspelt_variables
from long_context_tasks.hosts.rope import describe_rope
from long_context_tasks.hosts.sdk import mend_answers
from long_context_tasks.hosts.stored import facts_of
from long_context_tasks.hosts.window import PER_MESSAGE, UNCHECKED, Window, at_most, is_length_refusal
from long_context_tasks.judges import Verdict
from long_context_tasks.judges.task_judge import BatchedJudge, TaskJudge, score_turns, with_judge
from long_context_tasks.schema import (
    Case,
    CaseScores,
    InputError,
    LoadedTask,
    Message,
    Options,
    Score,
    prompt_hash,
)
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.schema.response import (
    DOES_NOT_FIT,
    ENDPOINT_FAILED,
    Response,
    from_stored_form,
    stored_form,
)
from long_context_tasks.schema.thinking import CLOSE, OPEN
from long_context_tasks.stats.means import RATES, Scale, mean_of_scores, task_numbers
from long_context_tasks.tokens import CL100K, get_tokenizer

logger = logging.getLogger(__name__)

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
        stopping = WidthStopping(stop_width, scale=task.points.get(task.metrics[0], RATES))
    points = dict(sorted(task.points.items()))
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
                **facts_of(task, judge),
                **_model_facts(task),
                "stop_width": stop_width,
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
        if (client := getattr(model.api, "client", None)) is not None and hasattr(client, "chat"):
            mend_answers(client)
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
            state, response = await _answer(state, generate, task)
            # A conversation that has grown too long for the server ends there.
            responses += [response] * (1 if response.status is None else len(case.turns) - len(responses))
        state.store.set(METADATA, answers_record(task, responses, hashes, window.describe()))
        return state

    return solve


async def _answer(state: TaskState, generate: Generate, task: LoadedTask) -> tuple[TaskState, Response]:
    """The state after the model's answer to its messages, and the answer."""
    try:
        state = await generate(state, tool_calls="none", max_tokens=task.answer_budget)
    except Exception as error:
        if not says_too_long(error):
            raise
        return state, Response(None, DOES_NOT_FIT)
    # The host makes an output of some servers' refusals; a model that has answered has used tokens.
    if state.output.stop_reason == "model_length" and state.output.usage is None:
        return state, Response(None, DOES_NOT_FIT)
    return state, Response(task.received(response_text(state.output)))


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
        answers = state.store.get(METADATA) or answers_record(task, failed)
        responses = from_stored_form(answers["response"], answers["status"])

        def scored() -> HostScore:
            verdicts = batched.verdicts(case.id, responses, state.epoch) if batched else ()
            rubric = judge.rubric_name if judge and verdicts else None
            return host_score(task, answers, score_turns(task, case, responses, verdicts, rubric), verdicts)

        return await to_thread.run_sync(scored)

    return score


FEWEST_CLUSTERS = 10
"""Before so many books (meetings, ...) nothing stops: an interval over few clusters is itself uncertain."""


def by_cluster_at_random(cases: Sequence[Case], seed: int) -> list[Case]:
    """The cases, clusters in random order, so that the first stand for all; those of one cluster stay together."""
    order = list(dict.fromkeys(case.cluster for case in cases))
    random.Random(seed).shuffle(order)
    place = {cluster: number for number, cluster in enumerate(order)}
    return sorted(cases, key=lambda case: place[case.cluster])


class WidthStopping:
    """The host's protocol ``EarlyStopping``: no case begins once the interval is narrow enough; those that run are finished."""

    def __init__(self, width: float, *, scale: Scale | None) -> None:
        """Stop at a width, from the lower to the upper end; `scale` is that of the headline.

        Raises:
            InputError: no width above 0.
        """
        if not isinstance(width, int | float) or not width > 0:
            raise InputError(f"stop_width={width}: give the width of an interval, like -T stop_width=0.1")
        self._width, self._scale = float(width), scale
        self._scores: list[Score] = []
        self._clusters: list[str] = []
        self._reached: float | None = None

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Name the manager."""
        return f"interval no wider than {self._width:g}"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Leave a case out when the interval is narrow enough."""
        if self._reached is None:
            return None
        return EarlyStop(id=id, epoch=epoch, reason=f"the interval is {self._reached:.4g} wide")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Take the headline's scores of a case in."""
        turns, clusters = turns_of(scores.values())
        self._scores += [next(iter(turn.values())) for turn in turns]
        self._clusters += clusters
        if self._reached is None and len(set(self._clusters)) >= FEWEST_CLUSTERS:
            mean = mean_of_scores(self._scores, self._clusters, scale=self._scale)
            if mean.high - mean.low <= self._width:
                self._reached = mean.high - mean.low

    async def complete_task(self) -> dict[str, JsonValue]:
        """What the log says of the stop."""
        return {"width": self._width, "reached": self._reached}


_SIZES = ("max_position_embeddings", "n_positions", "max_seq_len")
"""Names of the window in the configs of transformers."""


def find_window(options: Options, model: Model, answer_budget: int) -> Window:
    """Return the window, and how to count a prompt in it that leaves room for `answer_budget` tokens.

    A model behind an address tells neither, and the host's own count of tokens is an estimate: without ``lct_window`` its server
    decides.

    Raises:
        InputError: a tokenizer that cannot be loaded.
    """
    tokenizer = _own_tokenizer(model)
    tokens, source = options.window, "lct_window"
    if tokens is None and tokenizer is not None:
        config: Any = model.api.model.config.get_text_config()  # type: ignore[attr-defined]
        tokens, source = next(filter(None, (getattr(config, name, None) for name in _SIZES)), None), "host"
    if tokens is None:
        return Window()
    if tokenizer is not None:
        return Window(tokens, lambda text: len(tokenizer(text)["input_ids"]), source)
    count = get_tokenizer(options.tokenizer or CL100K).count
    source += "" if options.tokenizer else ", counted in cl100k"
    return Window(tokens, at_most(count, PER_MESSAGE, tokens - answer_budget), source)


def rendered(model: Model, messages: Sequence[ChatMessage]) -> str:
    """The text that a model in this process reads; for others the contents."""
    if _own_tokenizer(model) is not None:
        return str(model.api.hf_chat(list(messages), []))  # type: ignore[attr-defined]
    return "\n".join(message.text for message in messages)


def in_roles_of(model: Model, messages: Sequence[Message]) -> Sequence[Message]:
    """The messages, without a system message where the model's chat template takes none."""
    tokenizer = _own_tokenizer(model)
    if tokenizer is None or tokenizer.chat_template is None:
        return messages
    apply = partial(tokenizer.apply_chat_template, tokenize=False, add_generation_prompt=True)
    return messages if takes_system(apply) else folded(messages)


def _own_tokenizer(model: Model) -> Any | None:
    """The tokenizer of a model that the host has loaded through transformers."""
    return getattr(model.api, "tokenizer", None) if hasattr(model.api, "hf_chat") else None


def says_too_long(error: Exception) -> bool:
    """Whether a provider's exception is a server's refusal of a prompt for its length."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return isinstance(status, int) and is_length_refusal(status, str(error))


def answers_record(
    task: LoadedTask, responses: Sequence[Response], hashes: Sequence[str] = (), window: str = UNCHECKED
) -> dict[str, Any]:
    """The answers to a case, and hashes of what was sent for them."""
    text, status = stored_form(responses, conversation=task.is_conversation)
    return {"response": text, "status": status, "prompt_sha256": list(hashes), "window": window}


def host_score(
    task: LoadedTask,
    answers: dict[str, Any],
    turns: Sequence[CaseScores],
    verdicts: Sequence[Sequence[Verdict]],
) -> HostScore:
    """A score whose value is for the host's pages, the mean over turns, and whose metadata hold everything."""
    rows = [
        {
            "scores": {name: turn[name].value for name in task.metrics},
            "reason": turn[task.metrics[0]].reason,
            "stds": {name: turn[name].std for name in task.metrics if turn[name].std},
        }
        for turn in turns
    ]
    means = {
        name: mean_of_scores([turn[name] for turn in turns], range(len(turns))).value for name in task.metrics
    }
    return HostScore(
        value={name: None if math.isnan(mean) else mean for name, mean in means.items()},
        answer=answers["response"],
        metadata={**answers, "verdicts": [[one.row() for one in turn] for turn in verdicts], "turns": rows},
    )


def turns_of(samples: Iterable[SampleScore]) -> tuple[list[CaseScores], list[str]]:
    """The scores of each turn of samples, headline first, and its cluster; reasons are those of the headline metric."""
    turns: list[CaseScores] = []
    clusters: list[str] = []
    for sample in samples:
        for row in (sample.score.metadata or {})["turns"]:
            scores, stds = row["scores"], row["stds"]
            turns.append({name: Score(scores[name], row["reason"], stds.get(name, 0.0)) for name in scores})
            clusters.append(str((sample.sample_metadata or {})["cluster"]))
    return turns, clusters


@metric(scores="unreduced")
def numbers(metrics: list[str], intervals: list[str], points: dict[str, Any]) -> Metric:
    """Means over turns, headline first, intervals and standard errors over clusters, and counts; without what is unknown or counts 0."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        turns, clusters = turns_of(scores)
        checked = all((sample.score.metadata or {})["window"] != UNCHECKED for sample in scores)
        found = task_numbers(turns, clusters, metrics, intervals, 0 if checked else math.nan, points)
        for name in intervals:
            found[f"{name}_stderr"] = mean_of_scores([turn[name] for turn in turns], clusters).se
        return {
            key: value
            for key, value in found.items()
            if not math.isnan(value) and (value or key == "n_truncated" or not key.startswith("n_"))
        }

    return compute
