"""A task as a host's adapter uses it: cases, messages and scoring."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from long_context_tasks.schema.case import Case, CaseScores, Message
from long_context_tasks.schema.case_folder import CaseSet, Documents
from long_context_tasks.schema.options import Options
from long_context_tasks.schema.response import writable
from long_context_tasks.schema.thinking import in_known_marks


@dataclass(frozen=True)
class LoadedTask:
    """A task with its cases and the benchmark's functions for them, made by each benchmark's ``load_task``."""

    name: str
    version: int  # version of the task's scores
    options: Options  # resolved options, which every result records
    cases: CaseSet  # the cases to run, in order
    # Names, headline first: ``catalogue.load_task`` puts it there.
    metrics: tuple[str, ...]
    intervals: tuple[str, ...]  # the metrics that get an interval
    answer_budget: int  # tokens that the model may generate; 0 for a task by likelihood
    render: Callable[[Case, Documents], list[Message]]  # renders a case with its documents as messages
    # Scores a case's response (None if it is missing) and status (a failure of ours such as ``does_not_fit``, or None). Turns of a
    # conversation are scored one by one: the case then has only that turn.
    score: Callable[[Case, str | None, str | None], CaseScores]
    # For tasks by likelihood only: case and documents to candidate texts.
    candidates: Callable[[Case, Documents], list[str]] | None = None
    # For tasks by likelihood only: scores the log-likelihoods (nats) and token counts of the candidates, with a status as
    # above.
    score_candidates: (
        Callable[[Case, Sequence[float] | None, Sequence[int] | None, str | None], CaseScores] | None
    ) = None
    # For conversations only: renders a turn after the model's own earlier answers.
    render_turn: Callable[[Case, Documents, int, Sequence[str | None]], list[Message]] | None = None
    judging: Any = None  # a judges.task_judge.Judging, for tasks that a judge scores
    # Metrics that are points instead of shares from 0 to 1, each with the ends of its scale, if it has any.
    points: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)
    # Name of the prompt style of prompts that mark the roles themselves, to which a chat template must not be applied. Empty
    # for chat messages.
    own_template: str = ""
    # For tasks answered in words: case and turn to the question and the reference answer, all that a judge of correctness
    # needs.
    asked_and_right: Callable[[Case, int], tuple[str, str]] | None = None
    # Number of cases without ``lct_n`` and ``lct_subset``, if the benchmark reports it.
    n_all: int | None = None
    headline: str = ""  # the main metric of this run, if it is not the headline of the card

    @property
    def by_likelihood(self) -> bool:
        return self.candidates is not None

    @property
    def is_conversation(self) -> bool:
        return self.render_turn is not None

    def messages(self, case: Case, turn: int = 0, answers: Sequence[str | None] = ()) -> list[Message]:
        """Return the messages to send for a turn, counted from 0, after the model's own answers to the previous ones."""
        if self.render_turn is not None:
            return self.render_turn(case, self.cases.documents, turn, answers)
        return self.render(case, self.cases.documents)

    def received(self, text: str) -> str:
        """Return a model's text as it is stored: writable, and with known marks around its thinking."""
        return in_known_marks(writable(text), self.options.thinking)

    def whole_conversation(self, case: Case) -> list[Message]:
        """Return the messages of the last turn without the answers, whose length is not known yet."""
        last = len(case.turns) - 1
        # Prompt templates may omit the tags around an empty answer.
        return self.messages(case, last, ["." if self.own_template else ""] * last)

    @cached_property
    def by_id(self) -> Mapping[str, Case]:
        return {case.id: case for case in self.cases.cases}

    def description(self) -> dict[str, Any]:
        """Return the task's entry in every result: its version, and the options without limits that exclude no case."""
        # `lct_n=500` of 500 cases is the complete task, so it must not be another setting.
        options = self.options.resolved()
        if self.n_all is not None and len(self.cases) == self.n_all:
            options = {name: value for name, value in options.items() if name not in ("lct_n", "lct_subset")}
        return {"version": self.version, **options}

    @property
    def n_available(self) -> int:
        """Number of cases of a complete run."""
        return len(self.cases) if self.n_all is None else self.n_all
