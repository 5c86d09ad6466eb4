"""A task as a host's adapter sees it: its cases, what to send, how to score."""

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
    """A task with its cases and the benchmark's functions for them. Each benchmark's ``data.load_task`` makes one.

    Attributes:
        name: task name.
        version: version of the task's scores.
        options: resolved options; they stand in every result.
        cases: the cases to run, in the order to run them.
        metrics: names, headline first.
        intervals: the metrics that get an interval.
        answer_budget: tokens that the model may generate; 0 for a task by likelihood.
        render: case and documents to messages.
        score: case, response (None when there is none) and status (None, or one of ours such as ``does_not_fit``).
        candidates: for a task by likelihood, case and documents to candidate texts; else None.
        score_candidates: for a task by likelihood: case, log-likelihoods (nats) and token counts of the candidates, and
            status (None, or one of ours).
        render_turn: for a task whose turns are asked in one conversation: case, documents, turn and the model's own earlier
            answers to messages; else None.
        judging: for a task whose responses a judge scores, a :class:`long_context_tasks.judges.Judging`; else None.
        points: metrics that are points and not shares from 0 to 1, each with the ends of its scale (None without).
        own_template: name of the prompt style where a prompt is one text that marks the roles itself; a chat template must not be
            applied to it. Empty for chat messages.
        asked_and_right: for a task that is answered in words: case and turn to the question and the reference answer, which is all that
            a judge of correctness needs; else None.
        n_all: number of cases without ``lct_n`` and ``lct_subset``; None if the benchmark does not say.
    """

    name: str
    version: int
    options: Options
    cases: CaseSet
    metrics: tuple[str, ...]
    intervals: tuple[str, ...]
    answer_budget: int
    render: Callable[[Case, Documents], list[Message]]
    score: Callable[[Case, str | None, str | None], CaseScores]
    candidates: Callable[[Case, Documents], list[str]] | None = None
    score_candidates: (
        Callable[[Case, Sequence[float] | None, Sequence[int] | None, str | None], CaseScores] | None
    ) = None
    render_turn: Callable[[Case, Documents, int, Sequence[str | None]], list[Message]] | None = None
    judging: Any = None
    points: Mapping[str, tuple[float, float] | None] = field(default_factory=dict)
    own_template: str = ""
    asked_and_right: Callable[[Case, int], tuple[str, str]] | None = None
    n_all: int | None = None

    @property
    def by_likelihood(self) -> bool:
        """The task compares log-likelihoods of candidates instead of generating."""
        return self.candidates is not None

    @property
    def is_conversation(self) -> bool:
        """The turns of a case are asked one after the other, in one conversation."""
        return self.render_turn is not None

    def messages(self, case: Case, turn: int = 0, answers: Sequence[str | None] = ()) -> list[Message]:
        """Messages to send for a turn of a case.

        Args:
            case: of this task.
            turn: from 0; above 0 only in a conversation.
            answers: the model's own answers to the turns before.
        """
        if self.render_turn is not None:
            return self.render_turn(case, self.cases.documents, turn, answers)
        return self.render(case, self.cases.documents)

    def received(self, text: str) -> str:
        """Return a model's text as responses hold it: writable, and with known marks around its thinking."""
        return in_known_marks(writable(text), self.options.thinking)

    def whole_conversation(self, case: Case) -> list[Message]:
        """What the last turn sends, without the answers: they are still to come and need room of their own."""
        last = len(case.turns) - 1
        # Templates of prompts may leave tags out around an empty answer.
        return self.messages(case, last, ["." if self.own_template else ""] * last)

    @cached_property
    def by_id(self) -> Mapping[str, Case]:
        """Cases by id."""
        return {case.id: case for case in self.cases.cases}

    def description(self) -> dict[str, Any]:
        """Return what every result holds of the task: its version, and the options without limits that leave nothing out."""
        options = self.options.resolved()
        if self.n_all is not None and len(self.cases) == self.n_all:
            options = {name: value for name, value in options.items() if name not in ("lct_n", "lct_subset")}
        return {"version": self.version, **options}

    @property
    def n_available(self) -> int:
        """Number of cases that a complete run has."""
        return len(self.cases) if self.n_all is None else self.n_all
