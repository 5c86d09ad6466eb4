"""What a run will cost before it starts: cases, tokens, what does not fit, hours, the price.

Nothing here counts tokens itself: it takes the counts that cases carry, and functions that count texts, one for each tokenizer.

What is counted is what is sent, without a chat template (a few tokens for each message). A case that asks once has the count
that is stored with it, or else the sum over its messages. In a conversation every turn sends the whole history again: all of its
turns are summed, each with the texts that stand before it; the model's own earlier answers are not known and stand apart, as
``history_tokens``, at the length that is expected of an answer. A task by likelihood sends every candidate as a text of its own.
"""

import difflib
import fnmatch
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import Case, InputError, LoadedTask, Options
from long_context_tasks.schema.case import CL100K

Counter = Callable[[Sequence[str]], Sequence[int]]
"""Texts to the tokens of each."""
AROUND_MESSAGE = 16
"""Tokens kept free for the chat template around each message; the hosts count the template itself where they can."""
_SECONDS = 3600
_PER = 1_000_000
_NEAR = 0.75
"""How alike a name must be to be meant; at 0.6 anything that ends in "bench" is."""


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

    def hours(self, prompt_tokens: float, answer_tokens: float) -> float:
        """Time for so many tokens."""
        return (prompt_tokens / self.prompt + answer_tokens / self.answer) / _SECONDS


@dataclass(frozen=True)
class Price:
    """What tokens cost.

    Attributes:
        prompt, completion: of a million tokens.
    """

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, answer_tokens: float) -> float:
        """Price of so many tokens; discounts for prompts that a provider has in its cache are not looked at."""
        return (prompt_tokens * self.prompt + answer_tokens * self.completion) / _PER


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

    def sent_tokens(self, tokenizer: str) -> int:
        """All that the model reads: prompts and its own earlier answers."""
        return self.prompt_tokens.get(tokenizer, 0) + self.history_tokens

    def hours(self, rate: Rate, tokenizer: str) -> float:
        """At a rate in tokens of this tokenizer."""
        return rate.hours(self.sent_tokens(tokenizer), self.answer_tokens)

    def price(self, price: Price, tokenizer: str) -> float:
        """At a price of tokens of this tokenizer."""
        return price.of(self.sent_tokens(tokenizer), self.answer_tokens)


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
class Settings:
    """How a run is planned.

    Attributes:
        counters: tokenizer to a function that counts texts in it; cl100k is among them.
        tokenizer: the one that windows, rates and prices go by.
        window: of the model in its tokens; None: everything fits.
        answer_tokens: expected of an answer; None: the whole budget of the task, the most it can be.
        repeats: how often every case is asked.
    """

    counters: Mapping[str, Counter]
    tokenizer: str = CL100K
    window: int | None = None
    answer_tokens: int | None = None
    repeats: int = 1


@dataclass(frozen=True)
class Plan:
    """What a run of several tasks will cost.

    Attributes:
        tasks: in the order in which they were asked for.
        not_planned: tasks whose data are missing, and the like.
        settings: of the plan.
    """

    tasks: tuple[TaskPlan, ...]
    not_planned: tuple[NotPlanned, ...]
    settings: Settings

    @property
    def total(self) -> TaskPlan:
        """The sums over the tasks."""
        names = tuple(self.settings.counters)
        return TaskPlan(
            task="total",
            cases=sum(one.cases for one in self.tasks),
            does_not_fit=tuple(case for one in self.tasks for case in one.does_not_fit),
            requests=sum(one.requests for one in self.tasks),
            prompt_tokens={name: sum(one.prompt_tokens.get(name, 0) for one in self.tasks) for name in names},
            history_tokens=sum(one.history_tokens for one in self.tasks),
            answer_tokens=sum(one.answer_tokens for one in self.tasks),
            longest={
                name: max((one.longest.get(name, 0) for one in self.tasks), default=0) for name in names
            },
            judged=any(one.judged for one in self.tasks),
        )


def expand_tasks(words: Iterable[str], groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Task names from names, groups and globs, with commas between, as lm-eval takes them; each once, in order.

    Args:
        words: what the user gave.
        groups: name to members, tasks or groups.

    Raises:
        InputError: a word that names nothing.
    """
    tasks = [spec.name for spec in catalogue.task_specs()]
    known = dict.fromkeys([*tasks, *groups])
    found: dict[str, None] = {}
    for word in (part.strip() for given in words for part in given.split(",")):
        matched = fnmatch.filter(known, word) if word else []
        if word and not matched:
            near = ", ".join(_near(word, known))
            hint = f"did you mean: {near}?" if near else "`lct tasks` lists them."
            raise InputError(f"no task, group or glob {word!r}; {hint} Other lengths: *_any with --length")
        for name in matched:
            found.update(dict.fromkeys(_members(name, groups)))
    if not found:
        raise InputError(
            "no tasks; name some with --tasks, e.g. --tasks lct_official; `lct tasks` lists them"
        )
    return list(found)


def _near(word: str, names: Iterable[str]) -> list[str]:
    """Up to three names that hold the word, the shortest first, else names that are spelled like it.

    >>> _near("qa_dev", ["toy_qa_dev_wer20", "toy_qa_dev", "other"]), _near("longbench", ["toy_bench"])
    (['toy_qa_dev', 'toy_qa_dev_wer20'], [])
    """
    known = list(names)
    return sorted((one for one in known if word in one), key=len)[:3] or difflib.get_close_matches(
        word, known, n=3, cutoff=_NEAR
    )


def _members(name: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    if name not in groups:
        return [name]
    return [task for member in groups[name] for task in _members(member, groups)]


def load_tasks(names: Iterable[str], options: Options) -> tuple[list[LoadedTask], list[NotPlanned]]:
    """The tasks with their cases, and those that cannot be had."""
    tasks: list[LoadedTask] = []
    failed: list[NotPlanned] = []
    for name in names:
        try:
            tasks.append(load_task(name, options))
        except InputError as error:
            failed.append(NotPlanned(name, str(error)))
    return tasks, failed


def plan_task(task: LoadedTask, settings: Settings) -> TaskPlan:
    """What a task sends.

    Raises:
        InputError: a text or tokenizer that cannot be had.
    """
    plans = [plan_case(task, case, settings.counters) for case in task.cases.cases]
    fitting = [one for one in plans if fits(task, one, settings)]
    left_out = {one.case for one in plans} - {one.case for one in fitting}
    expected = expected_answer(task, settings)
    return TaskPlan(
        task=task.name,
        cases=len(plans),
        does_not_fit=tuple(one.case for one in plans if one.case in left_out),
        requests=settings.repeats * sum(one.requests for one in fitting),
        prompt_tokens={
            name: settings.repeats * sum(one.prompt_tokens[name] for one in fitting)
            for name in settings.counters
        },
        history_tokens=settings.repeats * expected * sum(one.history_answers for one in fitting),
        answer_tokens=settings.repeats * expected * sum(one.answers for one in fitting),
        longest={name: max((one.longest[name] for one in plans), default=0) for name in settings.counters},
        judged=task.judging is not None,
    )


def expected_answer(task: LoadedTask, settings: Settings) -> int:
    """Tokens that an answer is taken to have."""
    if settings.answer_tokens is None or task.by_likelihood:
        return task.answer_budget
    return min(settings.answer_tokens, task.answer_budget)


def fits(task: LoadedTask, plan: CasePlan, settings: Settings) -> bool:
    """Whether a case fits the window: a conversation is held against it whole, with the budget for every answer, as the hosts do."""
    if settings.window is None:
        return True
    room = plan.answers * task.answer_budget + AROUND_MESSAGE * plan.messages
    return plan.longest[settings.tokenizer] + room <= settings.window


def plan_case(task: LoadedTask, case: Case, counters: Mapping[str, Counter]) -> CasePlan:
    """What a case sends; see the top of this module for how it is counted.

    Args:
        task: of the case.
        case: any of its cases.
        counters: tokenizer to a function that counts texts in it.
    """
    if task.candidates is not None:
        texts = [[text] for text in task.candidates(case, task.cases.documents)]
        answers = again = 0
    elif task.is_conversation:
        texts, again = _conversation(task, case)
        answers = len(texts)
    else:
        answers, again = 1, 0
        stored = {name: case.num_tokens[name] for name in counters if name in case.num_tokens}
        if len(stored) == len(counters):
            # Nothing is rendered, so that a plan of a thousand long prompts takes no time.
            return CasePlan(case.id, 1, 1, stored, 0, stored, 2)
        texts = [[message.content for message in task.messages(case)]]
    sums, longest = {}, {}
    for name, counter in counters.items():
        each = dict.fromkeys(text for request in texts for text in request)
        known = dict(zip(each, counter(list(each)), strict=True))
        requests = [sum(known[text] for text in request) for request in texts]
        if not (task.by_likelihood or task.is_conversation):
            requests = [case.num_tokens.get(name, requests[0])]
        sums[name], longest[name] = sum(requests), max(requests, default=0)
    messages = max(map(len, texts), default=0) + (answers - 1 if again else 0)
    return CasePlan(case.id, len(texts), answers, sums, again, longest, 0 if task.by_likelihood else messages)


def _conversation(task: LoadedTask, case: Case) -> tuple[list[list[str]], int]:
    """The texts of the messages of every turn, and how often an own answer is sent again."""
    turns = len(case.turns)
    texts = [
        [message.content for message in task.messages(case, turn, [None] * turn)] for turn in range(turns)
    ]
    # With the gold history nothing that the model has said is sent.
    own = turns > 1 and task.messages(case, 1, ["."]) != task.messages(case, 1, [None])
    return texts, math.comb(turns, 2) if own else 0


def make_plan(names: Sequence[str], options: Options, settings: Settings) -> Plan:
    """The plan of several tasks; one whose data are missing does not stop the others.

    Args:
        names: of tasks.
        options: of the run.
        settings: see there.
    """
    planned: list[TaskPlan] = []
    failed: list[NotPlanned] = []
    for name in names:
        # One after the other, so that memory holds the cases of one task.
        tasks, problems = load_tasks([name], options)
        failed += problems
        for task in tasks:
            try:
                planned.append(plan_task(task, settings))
            except InputError as error:
                failed.append(NotPlanned(name, str(error)))
    return Plan(tuple(planned), tuple(failed), settings)
