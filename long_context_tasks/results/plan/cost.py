"""What a run will cost before it starts: cases, tokens, what does not fit, hours, the price; and how fast stored runs were.

Nothing here counts tokens itself: it takes the counts that cases carry, and functions that count texts, one for each tokenizer.

What is counted is what is sent, without a chat template (a few tokens for each message). A case that asks once has the count
that is stored with it, or else the sum over its messages. In a conversation every turn sends the whole history again: all of its
turns are summed, each with the texts that stand before it; the model's own earlier answers are not known and stand apart, as
``history_tokens``, at the length that is expected of an answer. A task by likelihood sends every candidate as a text of its own.

lm-eval writes one time for all tasks of a run, from the loading of the model to the last score; OpenCompass one for each process
that asks a model. Neither tells prompts from answers, so that one rate comes out for both; it is good for runs whose prompts and
answers are about as long as those that it was measured on.

With a cache of prefixes (:mod:`.prefixes`) every prompt is rendered and encoded, to find what it shares with those before it.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import loading
from long_context_tasks.hosts import stored
from long_context_tasks.hosts.stored import INSPECT, LM_EVAL, StoredRun
from long_context_tasks.results.plan.prefixes import Encode, PrefixCache, Prompts, Shared
from long_context_tasks.schema import Case, InputError, LoadedTask, Options
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.report import Table

CountTexts = Callable[[Sequence[str]], Sequence[int]]
"""Texts to the tokens of each."""
AROUND_MESSAGE = 16
"""Tokens kept free for the chat template around each message; the hosts count the template itself where they can."""
_NAMED = 5
_ELAPSED = re.compile(r"time elapsed: *([0-9.]+)s")
_END = 65_536
QUIET_SECONDS = 2.0
"""A plan that is ready within them shows no bar."""
_ORDERS = {"cases": "task by task, case by case", "longest": "longest first"}


@dataclass(frozen=True)
class Rate:
    """How fast a model takes prompts and writes answers, over all requests side by side.

    Attributes:
        prompt, answer: tokens a second.
    """

    prompt: float
    answer: float

    def __post_init__(self) -> None:
        """Both must be above 0."""
        if not (self.prompt > 0 and self.answer > 0):
            raise InputError(
                f"a rate must be above 0 tokens a second, not {self.prompt:g} and {self.answer:g}"
            )


@dataclass(frozen=True)
class Price:
    """What tokens cost.

    Attributes:
        prompt, completion: of a million tokens.
        cached: of a million tokens of prompts that a provider has in its cache; None: not known.
    """

    prompt: float
    completion: float
    cached: float | None = None


@dataclass(frozen=True)
class CasePlan:
    """What one case sends.

    Attributes:
        case: its id.
        requests: how many prompts, or texts whose likelihood is asked for.
        answers: how many of them are answered.
        prompt_tokens: tokenizer to the tokens of all of them together.
        history_answers: how often an own earlier answer is sent again, over all turns.
        longest: tokenizer to the tokens of the longest of them; without own earlier answers.
        messages: of the longest.
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
    """What one task sends; the totals are over the cases that fit the window.

    Attributes:
        task: its name; of totals, what they are of.
        cases: how many there are.
        does_not_fit: the cases that are left out.
        requests: prompts sent.
        prompt_tokens: tokenizer to tokens of all prompts, without own earlier answers.
        history_tokens: of own earlier answers that are sent again, at the expected length of an answer.
        answer_tokens: at the expected length of an answer.
        longest: tokenizer to the tokens of the longest prompt of any case, also of one that does not fit.
        judged: a judge reads the answers; its own calls are not in the plan.
        shared: what its prompts share, in the tokenizer of the plan; None where that was not asked for.
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
        """Of prompts, expected in the cache; 0 without one."""
        return self.shared.cached if self.shared else 0

    def hours(self, rate: Rate, tokenizer: str, cached: int = 0) -> float:
        """At a rate in tokens of this tokenizer; the model reads prompts, but for those ``cached``, and its own earlier answers."""
        sent = self.prompt_tokens.get(tokenizer, 0) + self.history_tokens - cached
        return (sent / rate.prompt + self.answer_tokens / rate.answer) / 3600

    def price(self, price: Price, tokenizer: str, cached: int = 0) -> float:
        """At a price of tokens of this tokenizer, ``cached`` ones at the price of those; own earlier answers count as not cached."""
        sent = self.prompt_tokens.get(tokenizer, 0) + self.history_tokens - cached
        held = cached * (price.prompt if price.cached is None else price.cached)
        return (sent * price.prompt + held + self.answer_tokens * price.completion) / 1_000_000


@dataclass(frozen=True)
class NotPlanned:
    """A task that cannot be planned.

    Attributes:
        task: its name.
        message: why, with the remedy.
    """

    task: str
    message: str


@dataclass(frozen=True)
class PlanSettings:
    """How a run is planned.

    Attributes:
        counters: tokenizer to a function that counts texts in it; cl100k is among them.
        tokenizer: the one that windows, rates and prices go by.
        window: of the model in its tokens; None: everything fits.
        answer_tokens: expected of an answer; None: the whole budget of the task, the most it can be.
        repeats: how often every case is asked.
        cache: of prefixes, whose hits are expected; None: prompts are not compared.
        encode: a text to tokens of ``tokenizer``; needed for a cache.
    """

    counters: Mapping[str, CountTexts]
    tokenizer: str = CL100K
    window: int | None = None
    answer_tokens: int | None = None
    repeats: int = 1
    cache: PrefixCache | None = None
    encode: Encode | None = None


@dataclass(frozen=True)
class Plan:
    """A plan of several tasks.

    Attributes:
        tasks: those that could be planned.
        not_planned: those whose data are missing, and the like.
        settings: of the plan.
    """

    tasks: tuple[TaskPlan, ...]
    not_planned: tuple[NotPlanned, ...]
    settings: PlanSettings

    @property
    def total(self) -> TaskPlan:
        """The sums over the tasks."""
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
        """A row for each task, and the totals."""
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
        window = f"window {known:,}" if known else "window not known: everything is taken to fit"
        return Table("plan", f"{f'{model}: ' if model else ''}tokens, {window}", tuple(columns), tuple(rows))

    def notes(self) -> list[str]:
        """What a reader of the table must know."""
        answer = self.settings.answer_tokens
        expected = "the whole budget, the most" if answer is None else f"{answer:,} tokens"
        lines = [
            f"Tokens of prompts are without chat template; an answer is taken to have {expected}. "
            f"Windows, hours and prices go by {self.settings.tokenizer}."
        ]
        if self.total.history_tokens:
            lines.append(
                "In conversations every turn sends the history again: its known texts count as prompts, the model's own earlier answers "
                "as own history."
            )
        if (cache := self.settings.cache) and (shared := self.total.shared) and shared.tokens:
            size = "that holds everything" if cache.size is None else f"of {cache.size:,} tokens"
            lines.append(
                f"A cache {size}, hits of {max(cache.least, cache.step):,} tokens or more by {cache.step}: it has {shared.cached:,} of "
                f"{shared.tokens:,} tokens of prompts ({shared.cached / shared.tokens:.1%}). Total over unique tokens: "
                f"{shared.tokens / max(1, shared.unique):.2f}. Requests one after the other, {_ORDERS[cache.order]}."
            )
        lines += [
            f"{task.task}: {len(task.does_not_fit)} of {task.cases} cases do not fit the window: {first_names(task.does_not_fit)}"
            for task in self.tasks
            if task.does_not_fit
        ]
        if judged := [task.task for task in self.tasks if task.judged]:
            lines.append(f"A judge reads the answers of {', '.join(judged)}; its calls are not in the plan.")
        return lines

    def document(
        self, model: str, rate: Rate | None, notes: Sequence[str], price: Price | None
    ) -> dict[str, Any]:
        """The plan for ``--json``; ``notes`` are those on the rate."""
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
            "rate": {**asdict(rate), "notes": list(notes)} if rate else None,
            "tasks": [row(task) for task in self.tasks],
            "total": row(self.total),
            "not_planned": [asdict(task) for task in self.not_planned],
        }


def first_names(names: Sequence[str]) -> str:
    """The first few of some names."""
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def facts_of_folder(model: str) -> dict[str, str]:
    """Tokenizer and window of a model in a folder; nothing of any other."""
    folder = Path(model).expanduser()
    known: dict[str, str] = {}
    if (folder / "tokenizer.json").is_file():
        known["tokenizer"] = str(folder)
    try:
        config = loads((folder / "config.json").read_bytes())
        rows = [config, config.get("text_config") or {}]
        names = ("n_positions", "max_position_embeddings", "n_ctx")
        found = [row[name] for row in rows for name in names if isinstance(row.get(name), int)]
    except (OSError, ValueError, AttributeError):
        found = []
    return {**known, **({"window": str(found[0])} if found else {})}


def counted(names: Sequence[str]) -> Iterable[str]:
    """Return the names of tasks that are loaded one after the other; on a terminal a bar says how many of them are done."""
    from tqdm import tqdm

    return tqdm(names, desc="reading tasks", unit="task", delay=QUIET_SECONDS, disable=None, leave=False)


def make_plan(names: Sequence[str], options: Options, settings: PlanSettings) -> Plan:
    """The plan of several tasks; one whose data are missing does not stop the others."""
    planned: list[TaskPlan] = []
    failed: list[NotPlanned] = []
    prompts = Prompts()
    for name in counted(names):
        # One after the other, so that memory holds the cases of one task.
        try:
            task = loading.load_task(name, options)
            planned.append(plan_task(task, settings))
            if settings.cache is not None:
                _add_prompts(prompts, task, frozenset(planned[-1].does_not_fit), settings)
        except InputError as error:
            failed.append(NotPlanned(name, str(error)))
    if settings.cache is not None:
        shared = prompts.shared(settings.cache)
        planned = [replace(plan, shared=shared.get(plan.task, Shared())) for plan in planned]
    return Plan(tuple(planned), tuple(failed), settings)


def _add_prompts(
    prompts: Prompts, task: LoadedTask, left_out: Collection[str], settings: PlanSettings
) -> None:
    """Add the prompts of the cases that fit, as a run sends them."""
    encode = settings.encode
    if encode is None:
        raise ValueError("a cache of prefixes needs the tokens of texts: set PlanSettings.encode")
    for case in task.cases.cases:
        for texts in [] if case.id in left_out else _requests(task, case):
            tokens = [token for text in texts for token in encode(text)]
            for _ in range(settings.repeats):
                # Log-likelihoods of a prompt's own tokens need all of it to be computed.
                prompts.add(task.name, tokens, cacheable=not task.by_likelihood)


def _requests(task: LoadedTask, case: Case) -> list[list[str]]:
    """Return the texts of each prompt of a case; own earlier answers are left out."""
    if task.candidates is not None:
        return [[text] for text in task.candidates(case, task.cases.documents)]
    turns = range(len(case.turns) if task.is_conversation else 1)
    return [[message.content for message in task.messages(case, turn, [None] * turn)] for turn in turns]


def plan_task(task: LoadedTask, settings: PlanSettings) -> TaskPlan:
    """What a task sends.

    Raises:
        InputError: a text or tokenizer that cannot be had.
    """
    plans = [plan_case(task, case, settings.counters) for case in task.cases.cases]
    fitting = [plan for plan in plans if _fits(task, plan, settings)]
    left_out = {plan.case for plan in plans} - {plan.case for plan in fitting}
    expected = task.answer_budget
    if settings.answer_tokens is not None and not task.by_likelihood:
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
    """Whether a case fits the window: a conversation is held against it whole, with the budget for every answer, as the hosts do."""
    if settings.window is None:
        return True
    room = plan.answers * task.answer_budget + AROUND_MESSAGE * plan.messages
    return plan.longest[settings.tokenizer] + room <= settings.window


def plan_case(task: LoadedTask, case: Case, counters: Mapping[str, CountTexts]) -> CasePlan:
    """What a case sends; see the top of this module for how it is counted."""
    turns, answers, again = len(case.turns), 1, 0
    if task.candidates is not None:
        answers = 0
    elif task.is_conversation:
        answers = turns
        # With the gold history nothing that the model has said is sent.
        if turns > 1 and task.messages(case, 1, ["."]) != task.messages(case, 1, [None]):
            again = math.comb(turns, 2)
    else:
        known = {name: case.num_tokens[name] for name in counters if name in case.num_tokens}
        if len(known) == len(counters):
            # Nothing is rendered, so that a plan of a thousand long prompts takes no time.
            return CasePlan(case.id, 1, 1, known, 0, known, 2)
    texts = _requests(task, case)
    sums, longest = {}, {}
    for name, counter in counters.items():
        each = dict.fromkeys(text for request in texts for text in request)
        counts = dict(zip(each, counter(list(each)), strict=True))
        requests = [sum(counts[text] for text in request) for request in texts]
        if not (task.by_likelihood or task.is_conversation):
            requests = [case.num_tokens.get(name, requests[0])]
        sums[name], longest[name] = sum(requests), max(requests, default=0)
    messages = max(map(len, texts), default=0) + (answers - 1 if again else 0)
    return CasePlan(case.id, len(texts), answers, sums, again, longest, 0 if task.by_likelihood else messages)


def measured_rate(
    runs: Sequence[StoredRun], counter: CountTexts, places: stored.Places = stored.AS_IN_THE_RUN
) -> tuple[Rate, list[str]]:
    """The rate of some runs of one model, and lines for the user: what it was measured on, and why it may be wrong.

    Raises:
        InputError: no run tells its time and has its data there, or there are several models.
    """
    if len(models := sorted({run.model for run in runs})) > 1:
        raise InputError(
            f"the rate of one model is needed, and these runs are of {', '.join(models)}; name one folder"
        )
    together: dict[tuple[Path, str], list[StoredRun]] = {}
    for run in runs:
        together.setdefault((run.folder, run.made), []).append(run)
    sizes: list[tuple[int, int, int]] = []
    seconds = 0.0
    notes: list[str] = []
    for group in together.values():
        took, note = _TIME_OF.get(group[0].host, _opencompass_time)(group[0])
        if note:
            notes.append(note)
        if took is None:
            continue
        try:
            sizes += [_tokens(run, stored.load_task(run, places), counter) for run in group]
        except InputError as error:
            notes.append(f"{group[0].folder}: left out of the rate: {error}")
            continue
        seconds += took
    prompt, answer, answers = map(sum, zip(*sizes, strict=True)) if sizes else (0, 0, 0)
    if not seconds or not prompt + answer:
        raise InputError(
            "; ".join(["no run gives a rate", *notes]) + ". Give --rate-prompt and --rate-answer instead"
        )
    rate = (prompt + answer) / seconds
    line = (
        f"{rate:,.1f} tokens a second: {prompt:,} of prompts and {answer:,} of {answers:,} answers in {seconds:,.0f} s, "
        f"{len(sizes)} runs of tasks."
    )
    return Rate(rate, rate), [line, *notes]


def _tokens(run: StoredRun, task: LoadedTask, counter: CountTexts) -> tuple[int, int, int]:
    """Return the tokens of prompts (own earlier answers among them) and of answers, and the number of answers."""
    prompts = answers = number = 0
    for answered in run.cases():
        case = task.by_id.get(answered.id)
        sent = [response for response in answered.responses if response.status is None]
        if case is None or not sent:
            continue
        plan = plan_case(task, case, {"": counter})
        sizes = counter([response.text or "" for response in sent])
        prompts += plan.prompt_tokens[""]
        if plan.history_answers:
            prompts += sum(size * (len(sizes) - 1 - place) for place, size in enumerate(sizes))
        if not task.by_likelihood:
            answers += sum(sizes)
            number += len(sizes)
    return prompts, answers, number


def _lm_eval_time(run: StoredRun) -> tuple[float | None, str]:
    """Return the seconds of a run, or None, and what should be known of them."""
    try:
        seconds = float(str(run.provenance.get("total_evaluation_time_seconds") or ""))
    except ValueError:
        return None, f"{run.folder}, {run.made}: the results file tells no time"
    if not run.provenance.get("use_cache"):
        return seconds, ""
    cached = "ran with --use_cache: if answers came from the cache, the rate is too high"
    return seconds, f"{run.folder}, {run.made}: {cached}"


def _opencompass_time(run: StoredRun) -> tuple[float | None, str]:
    """Return the seconds of all processes that asked the model, or None, and what should be known of them."""
    if len(list((run.folder / "configs").glob("*.py"))) > 1:
        return None, f"{run.folder}: was continued (-r), and its logs tell the time of the last part only"
    logs = sorted((run.folder / "logs" / "infer" / run.model).glob("*.out"))
    if not logs:
        return None, f"{run.folder}: there are no logs (the host keeps none with --debug)"
    seconds = 0.0
    for path in logs:
        try:
            with path.open("rb") as file:
                file.seek(max(path.stat().st_size - _END, 0))
                found = _ELAPSED.findall(file.read().decode("utf-8", "replace"))
        except OSError:
            found = []
        if not found:
            return None, f"{path}: tells no time, the process did not come to its end"
        seconds += float(found[-1])
    if len(logs) == 1:
        return seconds, ""
    return (
        seconds,
        f"{run.folder}: {len(logs)} processes ran, perhaps side by side; the rate is that of one",
    )


def _inspect_time(run: StoredRun) -> tuple[float | None, str]:
    """Return the seconds from the first question to the last score of a log."""
    times = [run.provenance.get(name) for name in ("started", "completed")]
    if not all(times):
        return None, f"{run.folder}, {run.made}: the log tells no time"
    started, completed = (datetime.fromisoformat(str(time)) for time in times)
    return (completed - started).total_seconds(), ""


_TIME_OF = {LM_EVAL: _lm_eval_time, INSPECT: _inspect_time}
