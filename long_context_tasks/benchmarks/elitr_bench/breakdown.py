"""Scores of stored runs, split as the paper splits them: by question type, answer position, wording, noise and seed.

Pure: it takes scores of turns and gives figures. Intervals are over meetings, not questions.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.archives import POSITIONS, TYPES
from long_context_tasks.benchmarks.elitr_bench.names import SYNTHETIC, TaskName
from long_context_tasks.schema import Case
from long_context_tasks.stats import Group, WelchTest, cluster_t, summarize, welch_test

ALL, DIFFERING = "all", "QA/Conv differ"
MIDDLE = "M"
SETTINGS = {"st_qa": "QA, single-turn", "mt_qa": "QA, multi-turn", "mt_conv": "Conv, multi-turn"}
"""The three settings of Table 2 and Fig. 3."""


@dataclass(frozen=True)
class ScoredTurn:
    """The score of one answer.

    Attributes:
        meeting: id of the meeting, the unit of intervals.
        question: id of the question within the meeting.
        type: who, what, when or howmany.
        position: B, M, E or S.
        differs: QA and Conv word the question differently.
        measured_wer: of the transcript, 0 to 1; 0 where no noise was put in.
        value: the score; None where there is none.
    """

    meeting: str
    question: str
    type: str
    position: str
    differs: bool
    measured_wer: float
    value: float | None

    @property
    def key(self) -> tuple[str, str]:
        """Of the question, the same in every task of a split."""
        return self.meeting, self.question


def scored_turns(
    cases: Mapping[str, Case], values: Iterable[tuple[str, int, float | None]]
) -> list[ScoredTurn]:
    """Scores with the labels of their turns.

    Args:
        cases: of the task, by id.
        values: case id, turn (from 0) and score.

    Raises:
        KeyError: a case that the task does not have.
        IndexError: a turn that the case does not have.
    """
    return [_scored(cases[case], turn, value) for case, turn, value in values]


def _scored(case: Case, turn: int, value: float | None) -> ScoredTurn:
    labels: Mapping[str, Any] = case.turns[turn].labels
    return ScoredTurn(
        meeting=str(case.cluster),
        question=labels["question_id"],
        type=labels["question_type"],
        position=labels["answer_position"],
        differs=labels["qa_conv_differs"],
        measured_wer=float(case.labels.get("measured_wer", 0.0)),
        value=value,
    )


def mean_over_runs(runs: Sequence[Sequence[ScoredTurn]]) -> list[ScoredTurn]:
    """One score for each question: its mean over the runs that scored it. Several runs do not make more questions.

    Raises:
        ValueError: no runs.
    """
    if not runs:
        raise ValueError("no runs")
    found: dict[tuple[str, str], list[ScoredTurn]] = {}
    for turn in (turn for run in runs for turn in run):
        found.setdefault(turn.key, []).append(turn)
    return [replace(turns[0], value=_mean([turn.value for turn in turns])) for turns in found.values()]


def _mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return math.fsum(there) / len(there) if there else None


def figures(turns: Sequence[ScoredTurn]) -> Group:
    """Mean, interval and counts of some turns."""
    return summarize([turn.value for turn in turns], [turn.meeting for turn in turns])


def by_label(turns: Sequence[ScoredTurn]) -> dict[str, Group]:
    """Figures of all turns, of each question type, of each answer position, and of the questions that QA and Conv word differently.

    Labels without a turn are left out.
    """
    parts = {ALL: list(turns)}
    parts |= {kind: [turn for turn in turns if turn.type == kind] for kind in TYPES}
    parts |= {place: [turn for turn in turns if turn.position == place] for place in POSITIONS}
    parts[DIFFERING] = [turn for turn in turns if turn.differs]
    return {label: figures(part) for label, part in parts.items() if part}


def middle_test(turns: Sequence[ScoredTurn]) -> WelchTest | None:
    """Are answers in the middle of a meeting worse than the others (Table 10)? None where a group has fewer than two scores."""
    return lower_test(
        [turn for turn in turns if turn.position == MIDDLE],
        [turn for turn in turns if turn.position != MIDDLE],
    )


def lower_test(first: Sequence[ScoredTurn], second: Sequence[ScoredTurn]) -> WelchTest | None:
    """One-tailed Welch test: the alternative is that the first scores are lower. None for fewer than two scores in a group."""
    groups = [[turn.value for turn in turns if turn.value is not None] for turns in (first, second)]
    if min(map(len, groups)) < 2:
        return None
    return welch_test(groups[0], groups[1], "less")


def setting_of(task: TaskName) -> str | None:
    """Which of :data:`SETTINGS` a task belongs to; None for Czech, noisy, gold-history and synthetic tasks."""
    if task.czech or task.wer or task.gold_history or task.split == SYNTHETIC:
        return None
    if task.conv:
        return "mt_conv"
    return "mt_qa" if task.multi_turn else "st_qa"


@dataclass(frozen=True)
class Difference:
    """How much lower one setting is than another, question by question.

    Attributes:
        mean: first minus second.
        low, high: 95 % interval over meetings; not a number for a single meeting.
        n: questions that both have a score for.
    """

    mean: float
    low: float
    high: float
    n: int


def paired_difference(first: Sequence[ScoredTurn], second: Sequence[ScoredTurn]) -> Difference | None:
    """The mean difference over the questions that both have; None where there is none."""
    others = {turn.key: turn.value for turn in second if turn.value is not None}
    pairs = [
        (turn.value - others[turn.key], turn.meeting)
        for turn in first
        if turn.value is not None and turn.key in others
    ]
    if not pairs:
        return None
    losses = [loss for loss, _ in pairs]
    ends = cluster_t(losses, [meeting for _, meeting in pairs], skewed=False)
    return Difference(math.fsum(losses) / len(losses), ends.low, ends.high, len(losses))


def measured_wer(turns: Sequence[ScoredTurn]) -> float:
    """Mean word error rate over the meetings of a task, 0 to 1, as in Table 5.

    Raises:
        ValueError: no turns.
    """
    rates: dict[Hashable, float] = {turn.meeting: turn.measured_wer for turn in turns}
    if not rates:
        raise ValueError("no turns")
    return math.fsum(rates.values()) / len(rates)
