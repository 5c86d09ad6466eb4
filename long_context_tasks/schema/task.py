"""A task as used by a host's adapter: cases, messages and scoring."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from long_context_tasks.schema.case import Case, CaseScores, Message
from long_context_tasks.schema.case_folder import CaseSet, Documents
from long_context_tasks.schema.options import Options
from long_context_tasks.schema.response import writable
from long_context_tasks.schema.secrets import without_known
from long_context_tasks.schema.thinking import in_known_marks


@dataclass(frozen=True)
class LoadedTask:
    """A task with its cases and functions, created by the benchmark's ``load_task``."""

    name: str
    version: int  # version of the task's scores
    options: Options  # resolved options, which every result records
    cases: CaseSet  # the cases to run, in order
    # Names, headline first, as arranged by ``catalogue.load_task``.
    metrics: tuple[str, ...]
    intervals: tuple[str, ...]  # metrics that get an interval
    answer_budget: int  # number of tokens that the model may generate; 0 for a likelihood task
    render: Callable[[Case, Documents], list[Message]]  # renders a case and its documents as messages
    # Scores a case's response (None if missing) and status (a failure on our side such as ``does_not_fit``,
    # or None). Dialogue turns are scored one by one: the case then has only that turn.
    score: Callable[[Case, str | None, str | None], CaseScores]
    # Only for likelihood tasks: case and documents to candidate texts.
    candidates: Callable[[Case, Documents], list[str]] | None = None
    # Only for likelihood tasks: scores the candidates' log-likelihoods (nats) and token counts, with a status
    # as above.
    score_candidates: (
        Callable[[Case, Sequence[float] | None, Sequence[int] | None, str | None], CaseScores] | None
    ) = None
    # Only for dialogues: renders a turn after the model's own earlier answers.
    render_turn: Callable[[Case, Documents, int, Sequence[str | None]], list[Message]] | None = None
    judging: Any = None  # a judges.task_judge.Judging, for tasks that a judge scores
    # Metrics in points instead of rates from 0 to 1, each with the bounds of its scale, if any.
    points: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)
    # Name of the prompt style if prompts contain role tokens, so that no chat template must be applied. Empty
    # for chat messages.
    own_template: str = ""
    # For generative tasks: case and turn to the question and the reference answer, which is all a correctness
    # judge needs.
    asked_and_right: Callable[[Case, int], tuple[str, str]] | None = None
    # Number of cases without ``lct_n`` and ``lct_subset``, if the benchmark reports it.
    n_all: int | None = None

    @property
    def by_likelihood(self) -> bool:
        return self.candidates is not None

    @property
    def is_conversation(self) -> bool:
        return self.render_turn is not None

    def messages(self, case: Case, turn: int = 0, answers: Sequence[str | None] = ()) -> list[Message]:
        """Return the messages for a turn, counted from 0, after the model's own earlier answers.

        A message has a shared part only if ``lct_split_messages`` asks for it and another prompt of the task
        begins with it: providers bill what they write into a cache.
        """
        documents = self.cases.documents
        if self.render_turn is not None:
            messages = self.render_turn(case, documents, turn, answers)
        else:
            messages = self.render(case, documents)
        again = len(case.turns) > 1 or self._num_prompts[case.document] > 1
        if self.options.split_messages is not None and case.document is not None and again:
            return messages
        return [replace(message, shared=0) for message in messages]

    @cached_property
    def _num_prompts(self) -> Counter[str | None]:
        return Counter(case.document for case in self.cases.cases)

    def received(self, text: str) -> str:
        """Return a model's text as stored: encodable, with standard thinking markers, without known secrets."""
        return in_known_marks(without_known(writable(text)), self.options.thinking)

    def whole_conversation(self, case: Case) -> list[Message]:
        """Return the last turn's messages without the answers, whose length is not yet known."""
        last = len(case.turns) - 1
        # Prompt templates may omit the tags around an empty answer.
        return self.messages(case, last, ["." if self.own_template else ""] * last)

    @cached_property
    def by_id(self) -> Mapping[str, Case]:
        return {case.id: case for case in self.cases.cases}

    def description(self) -> dict[str, Any]:
        """Return the task's entry in results: version and options, without limits that exclude no case."""
        # `lct_n=500` with 500 cases is the complete task, so it must not count as another setting.
        options = self.options.resolved()
        if self.n_all is not None and len(self.cases) == self.n_all:
            options = {name: value for name, value in options.items() if name not in ("lct_n", "lct_subset")}
        return {"version": self.version, **options}

    @property
    def n_available(self) -> int:
        """Number of cases in a complete run."""
        return len(self.cases) if self.n_all is None else self.n_all
