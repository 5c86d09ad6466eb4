"""Run any benchmark's task in inspect_ai: samples, solver, scorer and means.

Samples contain ids and labels; a case's text is rendered when it is sent. Scores equal those of the other
hosts.
"""

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from anyio import to_thread
from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ContentReasoning, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as HostScore
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter

from long_context_tasks.benchmarks.catalogue import load_task, parse_task
from long_context_tasks.hosts.dialogue import Dialogue
from long_context_tasks.hosts.inspect.results import METADATA
from long_context_tasks.hosts.messages import (
    NO_PARTS,
    not_judged_hint,
    warn_of_long_answers,
    warn_of_misspelt_variables,
)
from long_context_tasks.hosts.rope import describe_rope
from long_context_tasks.hosts.sdk import mend_answers
from long_context_tasks.hosts.server import find_server
from long_context_tasks.hosts.stored import facts_of
from long_context_tasks.hosts.window import (
    IN_CL100K,
    PER_MESSAGE,
    UNCHECKED,
    Counter,
    Window,
    is_length_refusal,
)
from long_context_tasks.judges.task_judge import BatchedJudge, TaskJudge, score_turns, with_judge
from long_context_tasks.judges.verdict import Verdict
from long_context_tasks.schema import (
    Case,
    CaseScores,
    InputError,
    LoadedTask,
    Message,
    Options,
    Score,
)
from long_context_tasks.schema.case import SplitMessages, folded, takes_system
from long_context_tasks.schema.response import (
    DOES_NOT_FIT,
    ENDPOINT_FAILED,
    Response,
    from_stored_form,
    stored_form,
)
from long_context_tasks.schema.thinking import CLOSE, OPEN
from long_context_tasks.stats.means import mean_of_scores, task_numbers
from long_context_tasks.tokens import CL100K, get_tokenizer

logger = logging.getLogger(__name__)

_CHAT = TypeAdapter(list[ChatMessage])


def case_task(name: str, **options: Any) -> Task:
    """Make one of our tasks for inspect_ai; ``lct_*`` options not given come from the environment."""
    try:
        return _case_task(name, options)
    except InputError as error:
        raise PrerequisiteError(str(error)) from error


def _case_task(name: str, options: Mapping[str, Any]) -> Task:
    if foreign := [key for key in options if not key.startswith("lct_")]:
        raise InputError(f"{name}: unknown arguments {foreign}; options begin with lct_, like -T lct_n=50")
    warn_of_misspelt_variables()
    if parse_task(name).scoring != "generate":
        raise InputError(f"{name}: inspect_ai computes no likelihoods; run it in lm-eval or OpenCompass")
    task, judge = with_judge(load_task(name, options))
    name = task.name  # includes the variant named by lct_variant
    if not len(task.cases):
        raise InputError(f"{name}: no cases")
    if style := task.own_template:
        raise InputError(f"{name}: inspect_ai sends chats; lct_prompt_style={style} marks the roles itself")
    if judge is not None:
        judge.check(task)
    elif task.judging is not None:
        logger.warning(not_judged_hint(name, "logs"))
    warn_of_long_answers(name, task.answer_budget)
    points = dict(sorted(task.points.items()))
    return Task(
        dataset=MemoryDataset([_sample(case) for case in task.cases.cases], name=name),
        solver=ask(task),
        scorer=score_case(task, judge),
        metrics=[numbers(list(task.metrics), list(task.intervals), points)],
        config=GenerateConfig(temperature=0.0),  # as on the other hosts; --temperature overrides it
        version=task.version,
        metadata={METADATA: {**facts_of(task, judge), **_model_facts(task)}},
    )


def _model_facts(task: LoadedTask) -> dict[str, str]:
    """Return model metadata for the results.

    Empty if inspect_ai has not created the model yet, as in a program that calls ``eval`` later.
    """
    try:
        model = get_model()
    except ValueError:  # no model is specified
        return {}
    window = find_window(task.options, model)
    return {"window": window.describe(), "rope": describe_rope(model.api)}


def _sample(case: Case) -> Sample:
    gold = json.dumps([turn.gold for turn in case.turns], ensure_ascii=False)
    labels = {"labels": dict(case.labels), "turn_labels": [dict(turn.labels) for turn in case.turns]}
    metadata = {"cluster": case.cluster, "num_tokens": dict(case.num_tokens), **labels}
    return Sample(id=case.id, input=case.turns[0].question or case.id, target=gold, metadata=metadata)


@solver
def ask(task: LoadedTask) -> Solver:
    """Run a case's turns with the model's own answers as history; a case that does not fit is not sent."""
    window_of = cache(partial(find_window, task.options))  # a server is asked once for all cases

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case, model = task.by_id[str(state.sample_id)], get_model()
        if (client := openai_client(model)) is not None:
            mend_answers(client)
        if task.options.split_messages and hasattr(model.api, "hf_chat"):
            raise PrerequisiteError(f"{task.name}: {NO_PARTS}")
        dialogue = Dialogue(task, case)
        window = window_of(model)

        def chat(sent: Sequence[Message]) -> list[ChatMessage]:
            split = task.options.split_messages
            return _CHAT.validate_python([_host_message(m, split) for m in in_roles_of(model, sent)])

        if window.checked:
            prompt = rendered(model, chat(dialogue.longest_prompt()))
            fits = partial(window.fits, prompt, dialogue.answer_budget)
            # A server may count for seconds, but a tokenizer in this process must stay in one thread.
            here = _own_tokenizer(model) is not None
            if not (fits() if here else await to_thread.run_sync(fits)):
                dialogue.add(Response(None, DOES_NOT_FIT))
        while not dialogue.is_over:
            state.messages = chat(dialogue.next_prompt())
            state, response = await _answer(state, generate, task)
            dialogue.add(response)
        record = answers_record(task, dialogue.responses, dialogue.prompt_sha256, window.describe())
        state.store.set(METADATA, record)
        return state

    return solve


def _host_message(message: Message, split: SplitMessages | None) -> dict[str, Any]:
    """Return a message for inspect_ai, whose providers write the mark of their protocol themselves."""
    row = message.chat(split and "plain")
    if split not in (None, "plain") and message.shared:
        row["content"][0]["cache_breakpoint"] = True
    return row


async def _answer(state: TaskState, generate: Generate, task: LoadedTask) -> tuple[TaskState, Response]:
    try:
        state = await generate(state, tool_calls="none", max_tokens=task.answer_budget)
    except Exception as error:
        if not says_too_long(error):
            raise
        return state, Response(None, DOES_NOT_FIT)
    # inspect_ai converts some servers' context-length rejections to an output without token usage.
    if state.output.stop_reason == "model_length" and state.output.usage is None:
        return state, Response(None, DOES_NOT_FIT)
    return state, Response(task.received(response_text(state.output)))


def response_text(output: ModelOutput) -> str:
    """Return the response in the other hosts' format, with the thinking in the text, as scoring expects.

    inspect_ai separates the thinking. Thinking separated by the server counts only if no answer follows.
    White space next to the tags is lost.
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
    """Score cases as the other hosts do; without a judge, a judged task only stores its answers."""
    batched = BatchedJudge(judge, task) if judge is not None else None

    async def score(state: TaskState, target: Target) -> HostScore:
        case = task.by_id[str(state.sample_id)]
        # A failed case has no answers; it is scored with --score-on-error.
        failed = [Response(None, ENDPOINT_FAILED)] * len(case.turns)
        answers = state.store.get(METADATA) or answers_record(task, failed)
        responses = from_stored_form(answers["response"], answers["status"])

        def scored() -> HostScore:
            verdicts = batched.verdicts(case.id, responses, state.epoch) if batched else ()
            rubric = judge.rubric_name if judge and verdicts else None
            return host_score(task, answers, score_turns(task, case, responses, verdicts, rubric), verdicts)

        # A judge may take minutes, during which inspect_ai must keep querying the model.
        return await to_thread.run_sync(scored)

    return score


# Names of the window in transformers configs.
_SIZES = ("max_position_embeddings", "n_positions", "max_seq_len")


def find_window(options: Options, model: Model) -> Window:
    """Return the context window with a function that counts a prompt's tokens.

    A model on a server has the server's, if it tells them. inspect_ai's own token count is an estimate; so if
    nothing else is known, the server decides.
    """
    tokenizer = _own_tokenizer(model)
    tokens, source = options.window, "lct_window"
    if tokens is None and tokenizer is not None:
        config: Any = model.api.model.config.get_text_config()  # type: ignore[attr-defined]
        tokens, source = next(filter(None, (getattr(config, name, None) for name in _SIZES)), None), "host"
    if tokenizer is not None:
        return Window(tokens, lambda text: len(tokenizer(text)["input_ids"]), source)
    count: Counter | None = get_tokenizer(options.tokenizer).count if options.tokenizer else None
    if (tokens is None or count is None) and (client := openai_client(model)) is not None:
        server = find_server(str(client.base_url), model.api.service_model_name(), client.api_key or "")
        if server is not None:
            count = count or server.counter
            if count is None and options.window is None:
                server.report_missing_tokenizer()
            tokens, source = (server.window, "server") if tokens is None else (tokens, source)
    if count is None and options.window is not None:
        count, source = get_tokenizer(CL100K).count, IN_CL100K
    return Window(tokens, count, source, PER_MESSAGE)


def openai_client(model: Model) -> Any | None:
    """Return the client of a provider that uses the package openai; None for other providers."""
    client = getattr(model.api, "client", None)
    return client if hasattr(client, "chat") else None


def rendered(model: Model, messages: Sequence[ChatMessage]) -> str:
    """Return the text that an in-process model receives, or other models' message contents."""
    if _own_tokenizer(model) is not None:
        return str(model.api.hf_chat(list(messages), []))  # type: ignore[attr-defined]
    return "\n".join(message.text for message in messages)


def in_roles_of(model: Model, messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages, folding in the system message if the model's chat template does not accept one."""
    tokenizer = _own_tokenizer(model)
    if tokenizer is None or tokenizer.chat_template is None:
        return messages
    apply = partial(tokenizer.apply_chat_template, tokenize=False, add_generation_prompt=True)
    return messages if takes_system(apply) else folded(messages)


def _own_tokenizer(model: Model) -> Any | None:
    """Return the tokenizer of a model that inspect_ai loaded with transformers; None for other models."""
    return getattr(model.api, "tokenizer", None) if hasattr(model.api, "hf_chat") else None


def says_too_long(error: Exception) -> bool:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return isinstance(status, int) and is_length_refusal(status, str(error))


def answers_record(
    task: LoadedTask, responses: Sequence[Response], hashes: Sequence[str] = (), window: str = UNCHECKED
) -> dict[str, Any]:
    text, status = stored_form(responses, conversation=task.is_conversation)
    return {"response": text, "status": status, "prompt_sha256": list(hashes), "window": window}


def host_score(
    task: LoadedTask,
    answers: dict[str, Any],
    turns: Sequence[CaseScores],
    verdicts: Sequence[Sequence[Verdict]],
) -> HostScore:
    """Return a score: the value (mean over turns) is for inspect_ai's pages, the metadata hold details."""
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
        reason=next((str(row["reason"]) for row in rows if row["reason"]), None),
        metadata={
            **answers,
            "verdicts": [[verdict.row() for verdict in turn] for turn in verdicts],
            "turns": rows,
        },
    )


def turns_of(samples: Iterable[SampleScore]) -> tuple[list[CaseScores], list[str]]:
    """Return the scores for each turn of each sample, headline metric first, with the sample's cluster.

    Reasons are those of the headline metric.
    """
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
    """Compute means over turns, headline first, intervals and standard errors over clusters, and counts.

    Unknown and zero values are omitted.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        turns, clusters = turns_of(scores)
        checked = all((sample.score.metadata or {})["window"] != UNCHECKED for sample in scores)
        results = task_numbers(turns, clusters, metrics, intervals, 0 if checked else math.nan, points)
        for name in intervals:
            results[f"{name}_stderr"] = mean_of_scores([turn[name] for turn in turns], clusters).se
        return {
            key: value
            for key, value in results.items()
            if not math.isnan(value) and (value or key == "n_truncated" or not key.startswith("n_"))
        }

    return compute
