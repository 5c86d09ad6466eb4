"""The two stacks of a gate, each an endpoint or stored runs, and their answers to cases."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts import stored
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.hosts.window import is_length_refusal
from long_context_tasks.judges.client import EndpointClient, EndpointError, diagnosis, probe, wait_for
from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import load_judge
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.task_judge import score_turns
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.results import find_runs
from long_context_tasks.results.evaluations import scored_cases, unjudged_evaluation
from long_context_tasks.results.settings import settings_of
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema import Case, InputError, LoadedTask, Message, format_length
from long_context_tasks.schema.progress import progress, step
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED, Response
from long_context_tasks.schema.thinking import OPEN
from long_context_tasks.schema.validated import validated

SIDES = ("A", "B")
_ADDRESS = re.compile(r"(?:(?P<model>.+)@)?(?P<url>https?://\S+)")
_SEEDS_APART = 1_000
_SECONDS = 3_600.0
# An address may be that of a server that hangs; the first answer may have to load the model.
_FIRST_SECONDS, _LIST_SECONDS = 120.0, 30.0
_RETRIES = 3
_FAULT_OF_STACK = (DOES_NOT_FIT, ENDPOINT_FAILED)
_MAY_DIFFER = ("lct_n", "lct_subset", "lct_answer_budget")


@dataclass(frozen=True)
class StackAnswer:
    scores: tuple[float | None, ...]  # headline score of each turn, from 0 to 1; None if not scored
    reasons: tuple[str | None, ...]  # why a turn's score is missing or lowest; otherwise None
    responses: tuple[Response, ...] = ()  # one per turn
    # An endpoint's replies, one per answered turn; empty for stored runs.
    replies: tuple[Reply, ...] = ()

    @property
    def lacking(self) -> tuple[bool, ...]:
        """Whether each turn has no answer, because its prompt exceeds the window or the server failed."""
        return tuple(reason in _FAULT_OF_STACK for reason in self.reasons)


@dataclass(frozen=True)
class GateCell:
    """Cases of one task at one length."""

    name: str  # task name, plus the length if the name does not contain it
    length: str  # length as users write it; empty for tasks without one
    task: LoadedTask | None  # the loaded task; None if both stacks are stored runs
    documents: Mapping[str, Sequence[str]]  # each cluster's cases, in query order
    runs: Mapping[str, StoredRun] = field(default_factory=dict)  # side -> its stored run, if it has one
    # Answers in these runs, by side and case.
    stored: Mapping[str, Mapping[str, StackAnswer]] = field(default_factory=dict)


@dataclass(frozen=True)
class Endpoint:
    side: str  # A or B
    config: JudgeConfig  # model, URL, sampling, calls in flight
    store: Store  # keeps its replies, so that no case is sent twice

    def __str__(self) -> str:
        return f"{self.config.model} at {self.config.base_url}"


@dataclass(frozen=True)
class StoredStack:
    side: str
    folder: Path
    runs: Mapping[str, StoredRun]

    def __str__(self) -> str:
        models = ", ".join(sorted({run.model for run in self.runs.values()}))
        return f"{models} in {self.folder}"


Stack = Endpoint | StoredStack


def read_stack(side: str, text: str, out: Path, concurrency: int, report: Callable[[str], None]) -> Stack:
    """Load the stack that a user specified.

    ``text`` is a URL (``http://host:8000/v1``, or ``MODEL@http://...`` if it serves several models), a YAML
    file with the fields of a judge file, or a folder with results of any host or of an earlier gate.
    ``report`` gets a line before each wait for an endpoint where no terminal shows it.
    """
    if match := _ADDRESS.fullmatch(text):
        model = match["model"] or _only_model(match["url"], side, report)
        config = _stack_config(side, model, match["url"])
    elif Path(text).is_dir():
        # The gate writes its own runs there.
        if Path(text).resolve().is_relative_to(out.resolve()):
            raise InputError(
                f"--out {out}: contains stack {side} and would overwrite it; choose another folder"
            )
        return StoredStack(side, Path(text), _newest_runs(Path(text)))
    elif Path(text).is_file():
        # Without the environment: its variables describe a judge, not a stack.
        read = load_judge(text, {})
        if read is None or read.kind != "openai":
            raise InputError(
                f"{text}: a stack is an endpoint; give kind: openai, or serve the model and give its address"
            )
        config = read
    else:
        raise InputError(
            f"{text}: not a stack {side}; give an address such as http://127.0.0.1:8000/v1, a YAML file with model and base_url, or a "
            "folder of results"
        )
    # The storage key omits the URL, but two stacks with the same model name differ in it.
    config = config.changed(concurrency=concurrency, revision=config.base_url, seeds=config.seeds[:1])
    store = Store(out / "replies" / f"{side}.jsonl")
    if not len(store):  # a gate whose replies are all stored needs no server
        first = config.changed(timeout=_FIRST_SECONDS) if match else config
        waiting = f"waiting for stack {side}'s first answer ({config.base_url})"
        with step(waiting, report, limit=first.timeout):
            wait_for(probe(first, f"stack {side}"))
    return Endpoint(side, config, store)


def _stack_config(side: str, model: str, url: str) -> JudgeConfig:
    row = {"name": f"stack_{side}", "model": model, "base_url": url, "timeout": _SECONDS, "retries": _RETRIES}
    return validated(JudgeConfig, row, f"stack {side}")


def _only_model(url: str, side: str, report: Callable[[str], None]) -> str:
    config = _stack_config(side, "any", url).changed(retries=0, timeout=_LIST_SECONDS)

    async def ask() -> tuple[list[str], str]:
        """Return the models and why they are not listed."""
        reason = ""
        async with EndpointClient(config, f"stack {side}") as client:
            try:
                with step(f"waiting for stack {side}'s list of models ({url})", report, limit=_LIST_SECONDS):
                    if models := await client.models():
                        return models, reason
            except EndpointError as error:
                if error.late:  # the next call would be waited for as long
                    raise
                reason = f" ({error})"
            try:
                with step(f"waiting for stack {side}'s answer ({url})", report, limit=_LIST_SECONDS):
                    await client.complete([Message("user", "Answer with the word yes.")], Draw(None))
            except EndpointError as error:
                # Others may be about the model's name, which is not known.
                if error.status in (None, 401, 403, 407):
                    raise
        return [], reason

    try:
        models, reason = wait_for(ask())
    except EndpointError as error:
        raise InputError(diagnosis(config, error, [], f"stack {side}")) from None
    # A server with several models would answer with an arbitrary one.
    if len(models) != 1:
        offer = f"offers {', '.join(models[:8])}" if models else f"does not list its models{reason}"
        base = url.rstrip("/")
        ending = "" if models or base.endswith("/v1") else f" end the address in /v1 ({base}/v1), or"
        raise InputError(f"stack {side}: {url} {offer};{ending} name the model: MODEL@{url}")
    return models[0]


def _newest_runs(folder: Path) -> dict[str, StoredRun]:
    collected = find_runs(folder)
    newest: dict[str, StoredRun] = {}
    for run in sorted(collected.runs, key=lambda run: moment(run.made)):
        settings = {
            name: value
            for name, value in settings_of(run).items()
            if name.startswith("lct_") and name not in _MAY_DIFFER
        }
        # The settings determine which cases were sent, so runs of A and B are matched by them.
        newest[json.dumps([run.task, settings], default=str)] = run
    if not newest:
        problem = f": {collected.problems[0]}" if collected.problems else ""
        raise InputError(f"{folder}: holds no runs{problem}")
    return newest


def gate_tasks() -> list[str]:
    """Return a gate's default tasks: without variants, synthetic, with free-text answers."""
    return [
        spec.name
        for spec in catalogue.task_specs()
        if spec.source == "seed"
        and spec.scoring == "generate"
        and len(spec.variants) < 2
        and spec.length in ("", catalogue.ANY)
    ]


def planned_cells(
    tasks: Sequence[str],
    lengths: Sequence[str],
    given: Mapping[str, object],
    report: Callable[[str], None],
) -> list[GateCell]:
    """Load every task at every length, with different seeds so that no two share a document.

    Building long cases takes minutes, so ``report`` gets a line for each task where no terminal shows it.
    """
    cells: list[GateCell] = []
    specs = [catalogue.parse_task(name) for name in tasks or gate_tasks()]
    wanted = [
        (spec, length) for spec in specs for length in (lengths if spec.tokens is None else [spec.length])
    ]
    with progress(len(wanted)) as bar:
        for bar.n, (spec, length) in enumerate(wanted):
            name, of_length = spec.name, "" if spec.tokens else f" {length}"
            bar.set_description_str(f"{name}{of_length}")
            if bar.disable:
                report(f"cases of {name}{of_length}")
            # The seed depends only on the position, so that repeating a command sends the same cases.
            seed = int(str(given.get("lct_seed") or 0)) * _SEEDS_APART + len(cells)
            task = load_task(name, {**given, "lct_length": length, "lct_seed": seed})
            if task.judging is not None and task.metrics[0] in task.judging.metrics:
                if tasks:
                    raise InputError(f"{name}: a judge scores it; gate stored runs, or take other tasks")
                continue
            _check_chat(task)
            # Cases of one document are dependent, so documents are drawn instead of cases.
            documents: dict[str, list[str]] = {}
            for case in task.cases.cases:
                documents.setdefault(case.cluster, []).append(case.id)
            cells.append(GateCell(name + of_length, length, task, documents))
    return cells


def _check_chat(task: LoadedTask) -> None:
    if task.by_likelihood or task.own_template:
        raise InputError(f"{task.name}: is not sent as a chat; use a generating task and the chat style")


def stored_cells(stacks: Sequence[Stack], data_dir: Path | None) -> list[GateCell]:
    """Return the cases shared by the stored stacks, with their tasks if one stack is an endpoint."""
    folders = [stack for stack in stacks if isinstance(stack, StoredStack)]
    keys = [key for key in folders[0].runs if all(key in folder.runs for folder in folders)]
    cells = []
    for key in keys:
        runs = {folder.side: folder.runs[key] for folder in folders}
        run = next(iter(runs.values()))
        if len({run.version for run in runs.values()}) > 1:
            raise InputError(f"{run}: the stacks ran different versions of it; run one again")
        answers = {side: _stored_answers(run) for side, run in runs.items()}
        shared = set.intersection(*map(set, answers.values()))
        task = None
        if len(folders) < len(stacks):
            task = stored.load_task(run, stored.Places(data_dir))
            _check_chat(task)
            shared &= task.by_id.keys()
        documents: dict[str, list[str]] = {}
        for case in run.cases():
            # Later repeats of a case are not sent again.
            if case.id in shared and not case.repeat:
                documents.setdefault(case.cluster or case.id, []).append(case.id)
        asked = settings_of(run).get("lct_length")
        length = format_length(asked) if isinstance(asked, int) else ""
        name = f"{run.task} {length}" if length else run.task
        of_name = catalogue.parse_task(run.task).length
        length = length or ("" if of_name == catalogue.ANY else of_name)
        cells.append(GateCell(name, length, task, documents, runs, answers))
    if not any(cell.documents for cell in cells):
        tasks = [", ".join(sorted({run.task for run in folder.runs.values()})) for folder in folders]
        raise InputError(
            f"the stacks share no case: {' | '.join(tasks)}; give runs of one task with the same options (length, seed, cases)"
        )
    return cells


def _stored_answers(run: StoredRun) -> dict[str, StackAnswer]:
    evaluation = unjudged_evaluation(run)
    headline = evaluation.headline
    if headline is None or headline in (run.points or ()):
        raise InputError(f"{run}: its headline is not a rate from 0 to 1; choose tasks whose headline is")
    return {
        case.id: StackAnswer(
            tuple(turn.scores.get(headline) for turn in turns),
            tuple(turn.reason for turn in turns),
            case.responses,
        )
        for case, turns in scored_cases(evaluation)
        if not case.repeat
    }


class Asking:
    """Connections to an endpoint, limited to its configured calls in flight; an async context manager."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.client = EndpointClient(endpoint.config, f"stack {endpoint.side}")

    async def __aenter__(self) -> "Asking":
        await self.client.__aenter__()
        self._free = asyncio.Semaphore(self.endpoint.config.concurrency)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.client.__aexit__(None, None, None)
        self.endpoint.store.sync()

    async def answer(self, task: LoadedTask, case: Case) -> StackAnswer:
        """Send a case's turns in sequence, each with the earlier answers, and score them."""
        responses: list[Response] = []
        replies: list[Reply] = []
        for turn in range(len(case.turns)):
            reply = await self._reply(task, case, turn, [response.text for response in responses])
            if reply is None:
                responses.append(Response(None, DOES_NOT_FIT))
                continue
            replies.append(reply)
            text = OPEN + reply.thinking if reply.thinking else reply.text
            responses.append(Response(task.received(text)))
        scores = [turn[task.metrics[0]] for turn in score_turns(task, case, responses)]
        return StackAnswer(
            tuple(score.value for score in scores),
            tuple(score.reason for score in scores),
            tuple(responses),
            tuple(replies),
        )

    async def _reply(
        self, task: LoadedTask, case: Case, turn: int, before: Sequence[str | None]
    ) -> Reply | None:
        """Return the stored or new reply; None after a context-length rejection."""
        config, store = self.endpoint.config.changed(max_tokens=task.answer_budget), self.endpoint.store
        messages, draw = task.messages(case, turn, before), Draw(config.seeds[0])
        key = config.key(messages, draw)
        if (known := store.get(key)) is not None:
            return known
        async with self._free:
            try:
                reply = await self.client.complete(messages, draw, task.answer_budget)
            except EndpointError as error:
                if error.status is not None and is_length_refusal(error.status, str(error)):
                    return None
                raise InputError(
                    f"stack {self.endpoint.side}, {self.endpoint}: {error}; fix the server, then run again: the replies so far are kept"
                ) from None
        store.append([(key, reply)], sync=False)
        return reply
