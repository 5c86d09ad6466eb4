"""The cost of a run before it starts: cases, tokens, cases that do not fit, hours, price.

Tokens are counted as they are sent, without the chat template, which adds a few tokens to each message:

- A case with a single prompt has a stored count; otherwise its messages are counted.
- In a conversation every turn sends the whole history again, so all turns are summed. The model's own earlier answers are unknown; they
  are listed separately as ``history_tokens``, at the expected length of an answer.
- A task by likelihood sends every candidate as a separate text.

If there is a prefix cache (:mod:`.prefixes`), every prompt is rendered and encoded, to find how much of it earlier prompts share.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.results.plan.prefixes import Encode, PrefixCache, Prompts, Shared
from long_context_tasks.schema import Case, InputError, LoadedTask, Options
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.report import Table

CountTexts = Callable[[Sequence[str]], Sequence[int]]
"""Counts the tokens of each of several texts."""
AROUND_MESSAGE = 16
"""Tokens reserved for the chat template around each message; hosts count the template itself if they can."""
_NAMED = 5
QUIET_SECONDS = 2.0
"""The progress bar appears only after this time."""
_ORDERS = {"cases": "task by task, case by case", "longest": "longest first"}


@dataclass(frozen=True)
class Rate:
    """Speed of a model over all concurrent requests.

    Attributes:
        prompt: prompt tokens read per second.
        answer: answer tokens written per second.
    """

    prompt: float
    answer: float

    def __post_init__(self) -> None:
        """Check that both rates are above 0."""
        if not (self.prompt > 0 and self.answer > 0):
            raise InputError(
                f"a rate must be above 0 tokens a second, not {self.prompt:g} and {self.answer:g}"
            )


@dataclass(frozen=True)
class Price:
    """Prices of a million tokens.

    Attributes:
        prompt: price of prompt tokens.
        completion: price of answer tokens.
        cached: price of prompt tokens that the provider has in its cache; None if unknown.
    """

    prompt: float
    completion: float
    cached: float | None = None


@dataclass(frozen=True)
class CasePlan:
    """Requests of one case.

    Attributes:
        case: id of the case.
        requests: number of prompts, or of texts whose likelihood is computed.
        answers: number of prompts that get an answer.
        prompt_tokens: for each tokenizer, number of tokens of all prompts together.
        history_answers: number of earlier answers of the model that are sent again, over all turns.
        longest: for each tokenizer, number of tokens of the longest prompt, without the model's earlier answers.
        messages: number of messages of the longest prompt.
    """

    case: str
    requests: int
    answers: int
    prompt_tokens: Mapping[str, int]
    history_answers: int
    longest: Mapping[str, int]
    messages: int


@dataclass(frozen=True)
class TaskPlan:
    """Requests of one task; totals are over the cases that fit the window.

    Attributes:
        task: name of the task, or ``total``.
        cases: number of cases.
        does_not_fit: ids of the cases that are left out.
        requests: number of prompts sent.
        prompt_tokens: for each tokenizer, number of tokens of all prompts, without the model's earlier answers.
        history_tokens: number of tokens of earlier answers that are sent again, at the expected length of an answer.
        answer_tokens: number of tokens of answers, at the expected length.
        longest: for each tokenizer, number of tokens of the longest prompt, including cases that do not fit.
        judged: whether a judge reads the answers; its own calls are not in the plan.
        shared: prefixes that its prompts share, in the tokenizer of the plan; None without a prefix cache.
    """

    task: str
    cases: int = 0
    does_not_fit: tuple[str, ...] = ()
    requests: int = 0
    prompt_tokens: Mapping[str, int] = field(default_factory=dict)
    history_tokens: int = 0
    answer_tokens: int = 0
    longest: Mapping[str, int] = field(default_factory=dict)
    judged: bool = False
    shared: Shared | None = None

    @property
    def cached_tokens(self) -> int:
        """Number of prompt tokens expected in the cache; 0 without a cache."""
        return self.shared.cached if self.shared else 0

    def hours(self, rate: Rate, tokenizer: str, cached: int = 0) -> float:
        """Return the hours at a rate in tokens of this tokenizer; the model reads its own earlier answers too, but no cached tokens."""
        sent = self.prompt_tokens.get(tokenizer, 0) + self.history_tokens - cached
        return (sent / rate.prompt + self.answer_tokens / rate.answer) / 3600

    def price(self, price: Price, tokenizer: str, cached: int = 0) -> float:
        """Return the price in tokens of this tokenizer; the model's earlier answers count as not cached."""
        sent = self.prompt_tokens.get(tokenizer, 0) + self.history_tokens - cached
        held = cached * (price.prompt if price.cached is None else price.cached)
        return (sent * price.prompt + held + self.answer_tokens * price.completion) / 1_000_000


@dataclass(frozen=True)
class NotPlanned:
    """A task that cannot be planned.

    Attributes:
        task: name of the task.
        message: the reason and the remedy.
    """

    task: str
    message: str


@dataclass(frozen=True)
class PlanSettings:
    """Settings of a plan.

    Attributes:
        counters: for each tokenizer, a function that counts texts; cl100k is always among them.
        tokenizer: tokenizer that windows, rates and prices refer to.
        window: context window of the model in its tokens; None if everything fits.
        answer_tokens: expected length of an answer; None for the whole budget of the task, the maximum.
        repeats: number of times every case is asked.
        cache: prefix cache whose hits are estimated; None to skip the comparison of prompts.
        encode: encodes a text in ``tokenizer``; required for a cache.
    """

    counters: Mapping[str, CountTexts]
    tokenizer: str = CL100K
    window: int | None = None
    answer_tokens: int | None = None
    repeats: int = 1
    cache: PrefixCache | None = None
    encode: Encode | None = None


@dataclass(frozen=True)
class CostPlan:
    """The cost of several tasks.

    Attributes:
        tasks: tasks that could be planned.
        not_planned: tasks that could not, for example because their data are missing.
        settings: settings of the plan.
    """

    tasks: tuple[TaskPlan, ...]
    not_planned: tuple[NotPlanned, ...]
    settings: PlanSettings

    @property
    def total(self) -> TaskPlan:
        """Sums over the tasks."""
        names = tuple(self.settings.counters)
        return TaskPlan(
            task="total",
            cases=sum(task.cases for task in self.tasks),
            does_not_fit=tuple(case for task in self.tasks for case in task.does_not_fit),
            requests=sum(task.requests for task in self.tasks),
            prompt_tokens={
                name: sum(task.prompt_tokens.get(name, 0) for task in self.tasks) for name in names
            },
            history_tokens=sum(task.history_tokens for task in self.tasks),
            answer_tokens=sum(task.answer_tokens for task in self.tasks),
            longest={
                name: max((task.longest.get(name, 0) for task in self.tasks), default=0) for name in names
            },
            judged=any(task.judged for task in self.tasks),
            shared=sum((task.shared for task in self.tasks if task.shared), Shared())
            if self.settings.cache
            else None,
        )

    def table(self, model: str, rate: Rate | None, price: Price | None) -> Table:
        """Return a table with a row for each task, and totals."""
        tokenizer = self.settings.tokenizer
        own = [name for name in self.settings.counters if name != CL100K]
        columns = ["task", "cases", "left out", "requests", "prompts, cl100k"]
        columns += ["prompts, model"] if own else []
        cache = self.settings.cache is not None
        discount = cache and price is not None and price.cached is not None
        columns += ["unique", "cached"] if cache else []
        columns += ["own history", "answers", "longest"]
        columns += [*(["hours"] if rate else []), *(["hours, cached"] if rate and cache else [])]
        columns += [*(["price"] if price else []), *(["price, cached"] if discount else [])]
        rows = []
        for task in (*self.tasks, self.total):
            numbers = [task.cases, len(task.does_not_fit), task.requests]
            numbers += [task.prompt_tokens.get(name, 0) for name in (CL100K, *own)]
            numbers += [task.shared.unique, task.shared.cached] if task.shared else []
            numbers += [task.history_tokens, task.answer_tokens, task.longest.get(tokenizer, 0)]
            row = [task.task, *(f"{number:,}" for number in numbers)]
            cached = task.cached_tokens
            row += [f"{task.hours(rate, tokenizer):,.2f}"] if rate else []
            row += [f"{task.hours(rate, tokenizer, cached):,.2f}"] if rate and cache else []
            row += [f"{task.price(price, tokenizer):,.2f}"] if price else []
            row += [f"{task.price(price, tokenizer, cached):,.2f}"] if price and discount else []
            rows.append(tuple(row))
        known = self.settings.window
        window = f"window {known:,}" if known else "window unknown: everything is assumed to fit"
        return Table("plan", f"{f'{model}: ' if model else ''}tokens, {window}", tuple(columns), tuple(rows))

    def notes(self) -> list[str]:
        """Return the notes that a reader of the table needs."""
        answer = self.settings.answer_tokens
        expected = "use its whole budget, the maximum" if answer is None else f"have {answer:,} tokens"
        lines = [
            f"Prompt tokens are without chat template; every answer is assumed to {expected}. "
            f"Windows, hours and prices refer to tokens of {self.settings.tokenizer}."
        ]
        if self.total.history_tokens:
            lines.append(
                "In conversations every turn sends the history again: its known texts count as prompts, the model's own earlier answers "
                "as own history."
            )
        if (cache := self.settings.cache) and (shared := self.total.shared) and shared.tokens:
            size = "that holds everything" if cache.size is None else f"of {cache.size:,} tokens"
            lines.append(
                f"A cache {size}, with hits from {max(cache.least, cache.step):,} tokens in steps of {cache.step}, holds {shared.cached:,} of "
                f"{shared.tokens:,} prompt tokens ({shared.cached / shared.tokens:.1%}). All tokens divided by unique tokens: "
                f"{shared.tokens / max(1, shared.unique):.2f}. Requests are sent one after the other, {_ORDERS[cache.order]}."
            )
        lines += [
            f"{task.task}: {len(task.does_not_fit)} of {task.cases} cases do not fit the window: {first_names(task.does_not_fit)}"
            for task in self.tasks
            if task.does_not_fit
        ]
        if judged := [task.task for task in self.tasks if task.judged]:
            lines.append(f"A judge reads the answers of {', '.join(judged)}; its calls are not in the plan.")
        return lines

    def document(self, model: str, rate: Rate | None, price: Price | None) -> dict[str, Any]:
        """Return the plan for ``--json``."""
        tokenizer = self.settings.tokenizer

        def row(task: TaskPlan) -> dict[str, Any]:
            hours = task.hours(rate, tokenizer) if rate else None
            money = task.price(price, tokenizer) if price else None
            found = {**asdict(task), "hours": hours, "price": money}
            if self.settings.cache is None:
                del found["shared"]
                return found
            known = price is not None and price.cached is not None
            return {
                **found,
                "hours_cached": task.hours(rate, tokenizer, task.cached_tokens) if rate else None,
                "price_cached": task.price(price, tokenizer, task.cached_tokens) if price and known else None,
            }

        return {
            "model": model or None,
            "tokenizer": tokenizer,
            "window": self.settings.window,
            "repeats": self.settings.repeats,
            **({"cache": asdict(self.settings.cache)} if self.settings.cache else {}),
            "rate": asdict(rate) if rate else None,
            "tasks": [row(task) for task in self.tasks],
            "total": row(self.total),
            "not_planned": [asdict(task) for task in self.not_planned],
        }


def first_names(names: Sequence[str]) -> str:
    """Return the first few of some names in one line."""
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def facts_of_folder(model: str) -> dict[str, str]:
    """Return tokenizer and window of a model in a local folder; empty for any other model."""
    folder = Path(model).expanduser()
    known: dict[str, str] = {}
    if (folder / "tokenizer.json").is_file():
        known["tokenizer"] = str(folder)
    try:
        config = loads((folder / "config.json").read_bytes())
        # Configs of multimodal models keep these values in text_config.
        rows = [config, config.get("text_config") or {}]
        # Architectures have different names for the window.
        names = ("n_positions", "max_position_embeddings", "n_ctx")
        found = [row[name] for row in rows for name in names if isinstance(row.get(name), int)]
    except (OSError, ValueError, AttributeError):
        found = []
    return {**known, **({"window": str(found[0])} if found else {})}


def counted(names: Sequence[str]) -> Iterable[str]:
    """Iterate over names of tasks with a progress bar on a terminal."""
    from tqdm import tqdm

    return tqdm(names, desc="reading tasks", unit="task", delay=QUIET_SECONDS, disable=None, leave=False)


def make_plan(names: Sequence[str], options: Options, settings: PlanSettings) -> CostPlan:
    """Plan several tasks; a task whose data are missing does not stop the others."""
    planned: list[TaskPlan] = []
    failed: list[NotPlanned] = []
    prompts = Prompts()
    for name in counted(names):
        # Only the cases of one task are in memory at a time.
        try:
            task = load_task(name, options)
            planned.append(plan_task(task, settings))
            if settings.cache is not None:
                _add_prompts(prompts, task, frozenset(planned[-1].does_not_fit), settings)
        except InputError as error:
            failed.append(NotPlanned(name, str(error)))
    if settings.cache is not None:
        shared = prompts.shared(settings.cache)
        planned = [replace(plan, shared=shared.get(plan.task, Shared())) for plan in planned]
    return CostPlan(tuple(planned), tuple(failed), settings)


def _add_prompts(
    prompts: Prompts, task: LoadedTask, left_out: Collection[str], settings: PlanSettings
) -> None:
    """Add the prompts of the cases that fit, in the order of a run."""
    encode = settings.encode
    if encode is None:
        raise ValueError("a prefix cache needs the tokens of texts: set PlanSettings.encode")
    for case in task.cases.cases:
        for texts in [] if case.id in left_out else _requests(task, case):
            tokens = [token for text in texts for token in encode(text)]
            for _ in range(settings.repeats):
                # Log-likelihoods of a prompt's own tokens are computed from all of it, so no cache helps.
                prompts.add(task.name, tokens, cacheable=not task.by_likelihood)


def _requests(task: LoadedTask, case: Case) -> list[list[str]]:
    """Return the texts of each prompt of a case, without the model's earlier answers."""
    if task.candidates is not None:
        return [[text] for text in task.candidates(case, task.cases.documents)]
    turns = range(len(case.turns) if task.is_conversation else 1)
    return [[message.content for message in task.messages(case, turn, [None] * turn)] for turn in turns]


def plan_task(task: LoadedTask, settings: PlanSettings) -> TaskPlan:
    """Plan a task.

    Raises:
        InputError: a text or tokenizer is not available.
    """
    plans = [plan_case(task, case, settings.counters) for case in task.cases.cases]
    fitting = [plan for plan in plans if _fits(task, plan, settings)]
    left_out = {plan.case for plan in plans} - {plan.case for plan in fitting}
    expected = task.answer_budget
    if settings.answer_tokens is not None and not task.by_likelihood:
        # No answer exceeds the budget.
        expected = min(settings.answer_tokens, expected)
    return TaskPlan(
        task=task.name,
        cases=len(plans),
        does_not_fit=tuple(plan.case for plan in plans if plan.case in left_out),
        requests=settings.repeats * sum(plan.requests for plan in fitting),
        prompt_tokens={
            name: settings.repeats * sum(plan.prompt_tokens[name] for plan in fitting)
            for name in settings.counters
        },
        history_tokens=settings.repeats * expected * sum(plan.history_answers for plan in fitting),
        answer_tokens=settings.repeats * expected * sum(plan.answers for plan in fitting),
        longest={name: max((plan.longest[name] for plan in plans), default=0) for name in settings.counters},
        judged=task.judging is not None,
    )


def _fits(task: LoadedTask, plan: CasePlan, settings: PlanSettings) -> bool:
    """Return whether a case fits the window; like the hosts, count a whole conversation with the budget for every answer."""
    if settings.window is None:
        return True
    room = plan.answers * task.answer_budget + AROUND_MESSAGE * plan.messages
    return plan.longest[settings.tokenizer] + room <= settings.window


def plan_case(task: LoadedTask, case: Case, counters: Mapping[str, CountTexts]) -> CasePlan:
    """Plan a case; the docstring of this module describes how tokens are counted."""
    turns, answers, again = len(case.turns), 1, 0
    if task.candidates is not None:
        answers = 0
    elif task.is_conversation:
        answers = turns
        # With the gold history none of the model's own answers is sent again.
        if turns > 1 and task.messages(case, 1, ["."]) != task.messages(case, 1, [None]):
            # Turn k sends the k - 1 earlier answers again.
            again = math.comb(turns, 2)
    else:
        known = {name: case.num_tokens[name] for name in counters if name in case.num_tokens}
        if len(known) == len(counters):
            # Skip rendering: a plan of a thousand long prompts would take minutes.
            return CasePlan(case.id, 1, 1, known, 0, known, 2)
    texts = _requests(task, case)
    sums, longest = {}, {}
    for name, counter in counters.items():
        # The turns of a conversation repeat their texts, and each is counted once.
        each = dict.fromkeys(text for request in texts for text in request)
        counts = dict(zip(each, counter(list(each)), strict=True))
        requests = [sum(counts[text] for text in request) for request in texts]
        if not (task.by_likelihood or task.is_conversation):
            requests = [case.num_tokens.get(name, requests[0])]
        sums[name], longest[name] = sum(requests), max(requests, default=0)
    messages = max(map(len, texts), default=0) + (answers - 1 if again else 0)
    return CasePlan(case.id, len(texts), answers, sums, again, longest, 0 if task.by_likelihood else messages)
