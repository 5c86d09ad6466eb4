"""The cost of a run before it starts: cases, tokens, cases that do not fit, hours, price.

Tokens are counted as they are sent, without the chat template, which adds a few tokens to each message:

- A case with a single prompt has a stored count; otherwise its messages are counted.
- In a conversation every turn sends the whole history again, so all turns are summed. The model's own earlier answers are unknown; they
  are listed separately as ``history_tokens``, at the expected length of an answer.
- A task by likelihood sends every candidate as a separate text.

If there is a prefix cache (:mod:`.prefixes`), every prompt is rendered and encoded, to find how much of it earlier prompts share. Rules
and prices are those of a dated table (:mod:`.prices`).
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.messages import checked_model
from long_context_tasks.judges.kinds import load_judge
from long_context_tasks.results.plan.prefixes import Encode, Order, Prompts, Shared
from long_context_tasks.results.plan.prices import PrefixCache, Price, Rate
from long_context_tasks.schema import Case, InputError, LoadedTask, Message, Options
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.files import MissingDataError, loads
from long_context_tasks.schema.progress import each_with_progress
from long_context_tasks.schema.report import Table

CountTexts = Callable[[Sequence[str]], Sequence[int]]
"""Counts the tokens of each of several texts."""
AROUND_MESSAGE = 16
"""Tokens reserved for the chat template around each message; hosts count the template itself if they can."""
_NAMED = 5
_ORDERS = {"cases": "task by task, case by case", "longest": "longest first"}


@dataclass(frozen=True)
class CasePlan:
    case: str
    answers: int  # number of prompts that get an answer
    # For each tokenizer, tokens of each prompt (without the model's earlier answers), or of each text whose
    # likelihood is computed.
    prompts: Mapping[str, Sequence[int]]
    history_answers: int  # number of earlier answers of the model that are sent again, over all turns
    messages: int  # number of messages of the longest prompt


@dataclass(frozen=True)
class TaskPlan:
    """Requests of one task, or of all tasks (``total``); totals are over the cases that fit the window."""

    task: str
    cases: int = 0
    does_not_fit: tuple[str, ...] = ()  # ids of the cases that are left out
    requests: int = 0
    # For each tokenizer, tokens of all prompts, without the model's earlier answers.
    prompt_tokens: Mapping[str, int] = field(default_factory=dict)
    # Tokens of earlier answers that are sent again, and of answers, both at the expected length of an answer.
    history_tokens: int = 0
    answer_tokens: int = 0
    # The part of the prompts, and of the answers, that the price list charges as long.
    long_tokens: int = 0
    long_answer_tokens: int = 0
    # For each tokenizer, tokens of the longest prompt, including cases that do not fit.
    longest: Mapping[str, int] = field(default_factory=dict)
    judged: bool = False  # whether a judge reads the answers; its own calls are not in the plan
    # Prefixes that the prompts share, in the tokenizer of the plan; None without a prefix cache.
    shared: Shared | None = None

    def hours(self, rate: Rate, tokenizer: str, cached: int = 0) -> float:
        """Return the hours at a rate in this tokenizer's tokens.

        The model also reads its own earlier answers, but no cached tokens.
        """
        sent = self.prompt_tokens.get(tokenizer, 0) + self.history_tokens - cached
        return rate.seconds(sent, self.answer_tokens) / 3600

    def price(self, price: Price, tokenizer: str, cache: PrefixCache | None = None) -> float:
        """Return the price in this tokenizer's tokens; the model's earlier answers count as not cached.

        If only some of the prompts are long, their share of the cached tokens is that of all tokens.
        """
        prompts = self.prompt_tokens.get(tokenizer, 0)
        cost = (prompts + self.history_tokens) * price.prompt
        if cache is not None and self.shared is not None:
            kept = cache.storage * (cache.lifetime or 0) / 60
            cost += self.shared.written * (price.prompt * (cache.write - 1) + kept)
            cost += self.shared.cached * price.prompt * (cache.read - 1)
        cost *= 1 + (price.long_prompt - 1) * self.long_tokens / max(1, prompts)
        answers = self.answer_tokens + (price.long_completion - 1) * self.long_answer_tokens
        cost += answers * price.completion
        return cost / 1_000_000


@dataclass(frozen=True)
class PlanSettings:
    counters: Mapping[str, CountTexts]  # for each tokenizer, a function that counts texts; cl100k is required
    tokenizer: str = CL100K  # tokenizer that windows, rates and prices refer to
    window: int | None = None  # context window of the model in its tokens; None if everything fits
    answer_tokens: int | None = None  # expected length of an answer; None for the task's budget, the maximum
    repeats: int = 1  # number of times every case is asked
    cache: PrefixCache | None = None  # prefix cache whose hits are estimated; None to not compare prompts
    order: Order = "cases"  # in which prompts reach the cache
    encode: Encode | None = None  # encodes a text in ``tokenizer``; required for a cache
    rate: Rate | None = None
    price: Price | None = None
    table: str = ""  # the table of the cache and the price, with its date; empty if neither is from one


@dataclass(frozen=True)
class CostPlan:
    tasks: tuple[TaskPlan, ...]
    not_planned: Mapping[str, str]  # tasks that cannot be planned, with the reason and the remedy
    settings: PlanSettings
    without_data: tuple[str, ...] = ()  # those of ``not_planned`` whose published files are missing

    @property
    def total(self) -> TaskPlan:
        tasks, names = self.tasks, tuple(self.settings.counters)
        shared = sum((task.shared for task in tasks if task.shared), Shared())
        return TaskPlan(
            task="total",
            cases=sum(task.cases for task in tasks),
            does_not_fit=tuple(case for task in tasks for case in task.does_not_fit),
            requests=sum(task.requests for task in tasks),
            prompt_tokens={name: sum(task.prompt_tokens.get(name, 0) for task in tasks) for name in names},
            history_tokens=sum(task.history_tokens for task in tasks),
            answer_tokens=sum(task.answer_tokens for task in tasks),
            long_tokens=sum(task.long_tokens for task in tasks),
            long_answer_tokens=sum(task.long_answer_tokens for task in tasks),
            longest={name: max((task.longest.get(name, 0) for task in tasks), default=0) for name in names},
            judged=any(task.judged for task in tasks),
            shared=shared if self.settings.cache else None,
        )

    def table(self, model: str) -> Table:
        """Return a table with a row for each task, and totals."""
        rows = [self._cells(task) for task in (*self.tasks, self.total)]
        known = self.settings.window
        window = f"window {known:,}" if known else "window unknown: everything is assumed to fit"
        title = f"{f'{model}: ' if model else ''}tokens, {window}"
        return Table("plan", title, tuple(rows[0]), tuple(tuple(row.values()) for row in rows))

    def _cells(self, task: TaskPlan) -> dict[str, str]:
        """Return the cells of a task's row by their headings."""
        tokenizer = self.settings.tokenizer
        counts = {"cases": task.cases, "left out": len(task.does_not_fit), "requests": task.requests}
        counts["prompts, cl100k"] = task.prompt_tokens.get(CL100K, 0)
        if tokenizer != CL100K:
            counts["prompts, model"] = task.prompt_tokens.get(tokenizer, 0)
        if task.shared:
            counts |= {"unique": task.shared.unique, "cached": task.shared.cached}
        counts |= {"own history": task.history_tokens, "answers": task.answer_tokens}
        counts["longest"] = task.longest.get(tokenizer, 0)
        costs = {name.replace("_", ", "): cost for name, cost in self._costs(task).items()}
        return {
            "task": task.task,
            **{name: f"{count:,}" for name, count in counts.items()},
            **{name: f"{cost:,.2f}" for name, cost in costs.items() if cost is not None},
        }

    def _costs(self, task: TaskPlan) -> dict[str, float | None]:
        """Return hours and price, also with a cache if the plan has one; None if the rate or price is unknown."""
        tokenizer, rate, price = self.settings.tokenizer, self.settings.rate, self.settings.price
        costs = {"hours": task.hours(rate, tokenizer) if rate else None}
        if task.shared:
            costs["hours_cached"] = task.hours(rate, tokenizer, task.shared.cached) if rate else None
        costs["price"] = task.price(price, tokenizer) if price else None
        if task.shared:
            costs["price_cached"] = task.price(price, tokenizer, self.settings.cache) if price else None
        return costs

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
        lines += [*self._cache_notes(), *([self.settings.table] if self.settings.table else [])]
        if (price := self.settings.price) is not None and price.above and (long := self.total.long_tokens):
            lines.append(
                f"{long:,} tokens are in prompts of over {price.above:,} tokens, which cost {price.long_prompt:g} times as much, and "
                f"their answers {price.long_completion:g} times."
            )
        lines += [
            f"{task.task}: {len(task.does_not_fit)} of {task.cases} cases do not fit the window: {first_names(task.does_not_fit)}; take "
            "a shorter length, a smaller lct_answer_budget or a model with a larger window (--window)"
            for task in self.tasks
            if task.does_not_fit
        ]
        if judged := [task.task for task in self.tasks if task.judged]:
            lines.append(f"A judge reads the answers of {', '.join(judged)}; its calls are not in the plan.")
        return lines

    def _cache_notes(self) -> list[str]:
        cache, shared = self.settings.cache, self.total.shared
        if cache is None or shared is None or not shared.tokens:
            return []
        size = "that holds everything" if cache.size is None else f"of {cache.size:,} tokens"
        steps = "that end at a mark" if cache.hits == "marks" else f"in steps of {cache.step:,}"
        lines = [
            f"A cache {size}, with hits from {max(cache.least, cache.step):,} tokens on {steps}, holds {shared.cached:,} of "
            f"{shared.tokens:,} prompt tokens ({shared.cached / shared.tokens:.1%}). All tokens divided by unique tokens: "
            f"{shared.tokens / max(1, shared.unique):.2f}. Requests are sent one after the other, {_ORDERS[self.settings.order]}."
        ]
        if cache.hits == "marks" and not shared.cached:
            lines.append("Only marked beginnings are found: --split-messages shows the price with marks.")
        if cache.lifetime and shared.cached and self.settings.rate is None:
            lines.append(
                f"An entry is lost {cache.lifetime:g} minutes after its last use; the plan counts that only with --rate-prompt and "
                "--rate-answer."
            )
        return lines

    def document(self, model: str) -> dict[str, Any]:
        """Return the plan for ``--json``."""
        settings = self.settings
        *tasks, total = (
            {
                name: value
                for name, value in (asdict(task) | self._costs(task)).items()
                if name != "shared" or self.settings.cache
            }
            for task in (*self.tasks, self.total)
        )
        return {
            "model": model or None,
            "tokenizer": self.settings.tokenizer,
            "window": self.settings.window,
            "repeats": self.settings.repeats,
            **({"cache": {**dict(settings.cache), "order": settings.order}} if settings.cache else {}),
            "rate": asdict(settings.rate) if settings.rate else None,
            "prices": {**dict(settings.price), "table": settings.table} if settings.price else None,
            "tasks": tasks,
            "total": total,
            "not_planned": [{"task": task, "message": message} for task, message in self.not_planned.items()],
        }


def first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def facts_of_folder(model: str) -> dict[str, str]:
    """Return the tokenizer and window of a model in a local folder; empty for any other model."""
    folder = Path(checked_model("--model", model)).expanduser()
    facts = {"tokenizer": str(folder)} if (folder / "tokenizer.json").is_file() else {}
    try:
        config = loads((folder / "config.json").read_bytes())
        # Configs of multimodal models keep these values in text_config.
        rows = [config, config.get("text_config") or {}]
        # Architectures have different names for the window.
        names = ("n_positions", "max_position_embeddings", "n_ctx")
        windows = [row[name] for row in rows for name in names if isinstance(row.get(name), int)]
    except (OSError, ValueError, AttributeError):
        windows = []
    return facts | ({"window": str(windows[0])} if windows else {})


def make_plan(names: Sequence[str], options: Options, settings: PlanSettings) -> CostPlan:
    """Plan several tasks; a task whose data are missing does not stop the others."""
    planned: list[TaskPlan] = []
    failed: dict[str, str] = {}
    without_data: list[str] = []
    prompts = Prompts()
    for name in each_with_progress(names, "reading"):
        # Only the cases of one task are in memory at a time.
        try:
            task = load_task(name, options)
            planned.append(plan_task(task, settings))
            if settings.cache is not None:
                _add_prompts(prompts, task, frozenset(planned[-1].does_not_fit), settings)
        except InputError as error:
            failed[name] = str(error).removeprefix(f"{name}: ")
            without_data += [name] if isinstance(error, MissingDataError) else []
    if settings.cache is not None:
        shared = prompts.shared(settings.cache, settings.order, settings.rate)
        planned = [replace(plan, shared=shared.get(plan.task, Shared())) for plan in planned]
    return CostPlan(tuple(planned), failed, settings, tuple(without_data))


def _add_prompts(
    prompts: Prompts, task: LoadedTask, left_out: Collection[str], settings: PlanSettings
) -> None:
    """Add the prompts of the cases that fit, in the order of a run."""
    encode = settings.encode
    assert encode is not None  # given with a cache
    answer = _expected_answer(task, settings)
    for case in task.cases.cases:
        for messages in [] if case.id in left_out else _requests(task, case):
            marked, parts = 0, list[Sequence[int]]()
            for message in messages:
                marked = len(parts) + 1 if message.shared else marked
                parts += [encode(text) for text in message.texts()]
            for _ in range(settings.repeats):
                # Log-likelihoods of a prompt's own tokens are computed from all of it, so no cache helps.
                prompts.add(task.name, parts, marked=marked, answer=answer, cacheable=not task.by_likelihood)


def _expected_answer(task: LoadedTask, settings: PlanSettings) -> int:
    if settings.answer_tokens is None or task.by_likelihood:
        return task.answer_budget
    return min(settings.answer_tokens, task.answer_budget)  # no answer exceeds the budget


def _requests(task: LoadedTask, case: Case) -> list[list[Message]]:
    """Return the messages of each prompt of a case, without the model's earlier answers."""
    if task.candidates is not None:
        return [[Message("user", text)] for text in task.candidates(case, task.cases.documents)]
    turns = range(len(case.turns) if task.is_conversation else 1)
    return [task.messages(case, turn, [None] * turn) for turn in turns]


def plan_task(task: LoadedTask, settings: PlanSettings) -> TaskPlan:
    plans = [plan_case(task, case, settings.counters) for case in task.cases.cases]
    fitting = [plan for plan in plans if _fits(task, plan, settings)]
    left_out = {plan.case for plan in plans} - {plan.case for plan in fitting}
    expected = _expected_answer(task, settings)
    above = settings.price and settings.price.above
    long = [n for plan in fitting for n in plan.prompts[settings.tokenizer] if above and n > above]
    return TaskPlan(
        task=task.name,
        cases=len(plans),
        does_not_fit=tuple(plan.case for plan in plans if plan.case in left_out),
        requests=settings.repeats * sum(len(plan.prompts[settings.tokenizer]) for plan in fitting),
        prompt_tokens={
            name: settings.repeats * sum(sum(plan.prompts[name]) for plan in fitting)
            for name in settings.counters
        },
        history_tokens=settings.repeats * expected * sum(plan.history_answers for plan in fitting),
        answer_tokens=settings.repeats * expected * sum(plan.answers for plan in fitting),
        long_tokens=settings.repeats * sum(long),
        long_answer_tokens=settings.repeats * expected * len(long),
        longest={
            name: max((n for plan in plans for n in plan.prompts[name]), default=0)
            for name in settings.counters
        },
        judged=_is_judged(task),
    )


def _is_judged(task: LoadedTask) -> bool:
    """Return whether a judge reads the answers: one is named, or the headline has no value without one."""
    if task.judging is None:
        return False
    return task.metrics[0] in task.judging.metrics or load_judge(task.options.judge) is not None


def _fits(task: LoadedTask, plan: CasePlan, settings: PlanSettings) -> bool:
    """Return whether a case fits the window, counting the whole conversation and every answer budget, as the hosts do."""
    if settings.window is None:
        return True
    room = plan.answers * task.answer_budget + AROUND_MESSAGE * plan.messages
    return max(plan.prompts[settings.tokenizer], default=0) + room <= settings.window


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
            return CasePlan(case.id, 1, {name: (tokens,) for name, tokens in known.items()}, 0, 2)
    texts = [[message.content for message in messages] for messages in _requests(task, case)]
    prompts = {}
    for name, counter in counters.items():
        # The turns of a conversation repeat their texts, and each is counted once.
        each = dict.fromkeys(text for request in texts for text in request)
        counts = dict(zip(each, counter(list(each)), strict=True))
        requests = [sum(counts[text] for text in request) for request in texts]
        if not (task.by_likelihood or task.is_conversation):
            requests = [case.num_tokens.get(name, requests[0])]
        prompts[name] = requests
    messages = max(map(len, texts), default=0) + (answers - 1 if again else 0)
    return CasePlan(case.id, answers, prompts, again, 0 if task.by_likelihood else messages)
