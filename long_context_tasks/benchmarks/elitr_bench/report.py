"""Scores of ELITR-Bench split as the paper splits them: by question type, answer position, wording, noise and seed.

:func:`sections` makes the tables of Fig. 1, Fig. 3, Table 9 and Table 10 from scored runs. Intervals are over meetings.
"""

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.archives import POSITIONS, TYPES
from long_context_tasks.benchmarks.elitr_bench.names import SYNTHETIC, TaskName, parse_name
from long_context_tasks.schema import InputError
from long_context_tasks.schema.report import (
    TEST_COLUMNS,
    Line,
    Lines,
    ScoredRun,
    Section,
    Table,
    count_text,
    figure_text,
    interval_text,
    mean_over_repeats,
    test_cells,
)
from long_context_tasks.stats import (
    GroupMean,
    Interval,
    WelchTest,
    cluster_t,
    group_mean,
    seed_spread,
    welch_test,
)

ALL, DIFFERING = "all", "QA/Conv differ"
MIDDLE = "M"
SETTINGS = {"st_qa": "QA, single-turn", "mt_qa": "QA, multi-turn", "mt_conv": "Conv, multi-turn"}
"""The three settings of Table 2 and Fig. 3."""


@dataclass(frozen=True)
class ScoredQuestion:
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


def scored_questions(run: ScoredRun) -> list[list[ScoredQuestion]]:
    """The scores of a run with their labels, one list for each repeat of the cases.

    Raises:
        InputError: damaged files, or turns without the labels of the benchmark.
    """
    repeats: dict[int, list[ScoredQuestion]] = {}
    for turn in run.turns():
        labels: Mapping[str, Any] = turn.labels
        try:
            scored = ScoredQuestion(
                meeting=turn.cluster,
                question=str(labels["question_id"]),
                type=str(labels["question_type"]),
                position=str(labels["answer_position"]),
                differs=bool(labels["qa_conv_differs"]),
                measured_wer=float(labels.get("measured_wer", 0.0)),
                value=turn.value,
            )
        except KeyError as error:
            raise InputError(
                f"{run.task} ({run.host}, {run.model}, {run.made}): case {turn.case} has no label {error}; run the task again"
            ) from error
        repeats.setdefault(turn.repeat, []).append(scored)
    return [questions for _, questions in sorted(repeats.items())]


def figures(turns: Sequence[ScoredQuestion]) -> GroupMean:
    """Mean, interval and counts of some turns."""
    return group_mean([turn.value for turn in turns], [turn.meeting for turn in turns])


def by_label(turns: Sequence[ScoredQuestion]) -> dict[str, GroupMean]:
    """Figures of all turns, of each question type, of each answer position, and of the questions that QA and Conv word differently.

    Labels without a turn are left out.
    """
    parts = {ALL: list(turns)}
    parts |= {kind: [turn for turn in turns if turn.type == kind] for kind in TYPES}
    parts |= {place: [turn for turn in turns if turn.position == place] for place in POSITIONS}
    parts[DIFFERING] = [turn for turn in turns if turn.differs]
    return {label: figures(part) for label, part in parts.items() if part}


def middle_test(turns: Sequence[ScoredQuestion]) -> WelchTest | None:
    """Are answers in the middle of a meeting worse than the others (Table 10)? None where a group has fewer than two scores."""
    return lower_test(
        [turn for turn in turns if turn.position == MIDDLE],
        [turn for turn in turns if turn.position != MIDDLE],
    )


def lower_test(first: Sequence[ScoredQuestion], second: Sequence[ScoredQuestion]) -> WelchTest | None:
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


def paired_difference(first: Sequence[ScoredQuestion], second: Sequence[ScoredQuestion]) -> Difference | None:
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


def measured_wer(turns: Sequence[ScoredQuestion]) -> float:
    """Mean word error rate over the meetings of a task, 0 to 1, as in Table 5.

    Raises:
        ValueError: no turns.
    """
    rates: dict[Hashable, float] = {turn.meeting: turn.measured_wer for turn in turns}
    if not rates:
        raise ValueError("no turns")
    return math.fsum(rates.values()) / len(rates)


@dataclass(frozen=True)
class Measured:
    """All runs of a setting.

    Attributes:
        first: a run of the setting, for what all of them share.
        runs: the scores of each run and repeat.
        seeds: that the host was given for each; empty where it is not known.
        by_judge_seed: mean with each seed of the judge; of a single run that was judged with several.
    """

    first: ScoredRun
    runs: tuple[tuple[ScoredQuestion, ...], ...]
    seeds: tuple[str, ...]
    by_judge_seed: Mapping[str, float] = field(default_factory=dict)

    @property
    def turns(self) -> list[ScoredQuestion]:
        """One score for each question, the mean over the runs."""
        return mean_over_repeats(question for run in self.runs for question in run)

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of a table."""
        return self.first.host, self.first.model, self.first.task, self.first.judge, self.first.how


def measure(runs: Iterable[ScoredRun]) -> list[Measured]:
    """Scores of runs, those of one setting together; by host, model and task.

    Raises:
        InputError: damaged files.
    """
    found: dict[Hashable, list[tuple[ScoredRun, list[ScoredQuestion]]]] = {}
    for run in runs:
        found.setdefault(run.key, []).extend((run, questions) for questions in scored_questions(run))
    measured = [
        Measured(
            parts[0][0],
            tuple(tuple(questions) for _, questions in parts),
            tuple(run.seed for run, _ in parts),
            parts[0][0].by_judge_seed if len(parts) == 1 else {},
        )
        for parts in found.values()
        if parts
    ]
    return sorted(measured, key=_place)


def _place(one: Measured) -> tuple[str, str, list[tuple[int, str]]]:
    """Where a setting stands: by host and model, then by the task, with _wer20 in front of _wer100."""
    words = re.findall(r"\d+|\D+", one.first.task)
    return one.first.host, one.first.model, [(int(word) if word.isdigit() else 0, word) for word in words]


def sections(runs: Sequence[ScoredRun]) -> list[Section]:
    """A section for each metric of the runs.

    Raises:
        InputError: damaged files.
    """
    metrics = list(dict.fromkeys(run.metric for run in runs))
    return [
        _section(metric, [run for run in runs if run.metric == metric], len(metrics)) for metric in metrics
    ]


def _section(metric: str, runs: Sequence[ScoredRun], n_metrics: int) -> Section:
    measured = measure(runs)
    tables = (labels_table, middle_table, differing_table, noise_table, seeds_table)
    figure = noise_figure(measured, metric)
    return Section(
        "elitr_bench" if n_metrics == 1 else f"elitr_bench_{metric}",
        f"ELITR-Bench as in the paper, {metric}",
        tuple(table(measured, metric) for table in tables),
        (figure,) if figure else (),
    )


_WHO = ("host", "model", "task", "judge", "settings")
_TEXT = frozenset(("label", "setting", "seeds"))


def _cells(group: GroupMean) -> tuple[str, str, str]:
    """Return the cells of n, mean and interval."""
    return count_text(group.n, group.total), figure_text(group.mean), interval_text(group.interval)


def labels_table(measured: Sequence[Measured], metric: str) -> Table:
    """By question type, answer position and wording."""
    rows = [
        (*one.row, label, str(len(one.runs)), *_cells(group))
        for one in measured
        for label, group in by_label(one.turns).items()
    ]
    columns = (*_WHO, "label", "runs", "n", metric, "95 % interval")
    return Table("labels", "by question type and answer position", columns, tuple(rows), _TEXT)


def middle_table(measured: Sequence[Measured], metric: str) -> Table:
    """Answers in the middle of the meeting against all others."""
    rows = [(*one.row, *test_cells(test)) for one in measured if (test := middle_test(one.turns)) is not None]
    title = "are answers in the middle of the meeting lower than the others? One-tailed Welch test (Table 10)"
    return Table("middle", f"{title}, {metric}", (*_WHO, *TEST_COLUMNS), tuple(rows))


def differing_table(measured: Sequence[Measured], metric: str) -> Table:
    """Questions that QA and Conv word differently, in the three settings, dev and test pooled; Conv against QA in multi-turn."""
    found: dict[tuple[str, ...], dict[str, list[ScoredQuestion]]] = {}
    splits: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for one in measured:
        task, who = parse_name(one.first.task), one.first
        if (setting := setting_of(task)) is not None:
            key = (who.host, who.model, who.judge, who.how)
            found.setdefault(key, {}).setdefault(setting, []).extend(
                turn for turn in one.turns if turn.differs
            )
            splits.setdefault(key, {}).setdefault(setting, set()).add(task.split)
    rows = []
    for whose, settings in found.items():
        for setting, name in SETTINGS.items():
            if turns := settings.get(setting):
                which = "+".join(sorted(splits[whose][setting]))
                rows.append((*whose, f"{name} ({which})", *_cells(figures(turns))))
        loss = paired_difference(settings.get("mt_conv", []), settings.get("mt_qa", []))
        if loss is not None:
            ends = interval_text(Interval(loss.low, loss.high))
            rows.append((*whose, "Conv - QA, multi-turn", str(loss.n), figure_text(loss.mean), ends))
    columns = ("host", "model", "judge", "settings", "setting", "n", metric, "95 % interval")
    return Table(
        "differing", "questions that QA and Conv word differently (Fig. 3)", columns, tuple(rows), _TEXT
    )


@dataclass(frozen=True)
class NoisePoint:
    """A point of Fig. 1.

    Attributes:
        line: which line it lies on: host, model, judge, settings, and task without its noise.
        target, measured: word error rates, 0 to 1.
        group: the scores of the task.
    """

    line: tuple[str, ...]
    target: float
    measured: float
    group: GroupMean


def noise_points(measured: Sequence[Measured]) -> list[NoisePoint]:
    """Points of the lines that have noise on them, in order of line and measured rate."""
    points = []
    for one in measured:
        task, who, turns = parse_name(one.first.task), one.first, one.turns
        line = (who.host, who.model, who.judge, who.how, replace(task, wer=None).name)
        points.append(NoisePoint(line, (task.wer or 0) / 100, measured_wer(turns), figures(turns)))
    noisy = {point.line for point in points if point.target}
    return sorted(
        (point for point in points if point.line in noisy), key=lambda point: (point.line, point.measured)
    )


def noise_table(measured: Sequence[Measured], metric: str) -> Table:
    """Scores over the measured word error rate."""
    rows = [
        (*point.line, f"{100 * point.target:.0f}", f"{100 * point.measured:.2f}", *_cells(point.group))
        for point in noise_points(measured)
    ]
    columns = ("host", "model", "judge", "settings", "task", "target WER, %", "measured WER, %", "n", metric)
    return Table(
        "noise",
        "scores over the measured word error rate (Fig. 1)",
        (*columns, "95 % interval"),
        tuple(rows),
    )


def noise_figure(measured: Sequence[Measured], metric: str) -> Lines | None:
    """The lines of Fig. 1 with their intervals; None without noisy runs."""
    points = noise_points(measured)
    if not points:
        return None
    names = list(dict.fromkeys(point.line for point in points))
    shared, labels = told_apart(names)
    lines = tuple(
        Line(
            label,
            tuple(
                (100 * point.measured, point.group.mean, point.group.interval.low, point.group.interval.high)
                for point in points
                if point.line == name
            ),
        )
        for name, label in zip(names, labels, strict=True)
    )
    # The whole scale: a stretched one makes small differences look large.
    low, high = (f(end, *(point.group.mean for point in points)) for f, end in ((min, 1.0), (max, 10.0)))
    ends = (math.floor(low), math.ceil(high)) if measured[0].first.points else (0.0, 1.0)
    return Lines(shared, "measured word error rate, %", metric, lines, *ends)


def told_apart(lines: Sequence[Sequence[str]]) -> tuple[str, list[str]]:
    """What names of several parts share, and what tells each from the others.

    >>> told_apart([("lm_eval", "A", "qa"), ("lm_eval", "B", "qa")])
    ('lm_eval, qa', ['A', 'B'])
    """
    same = [len(set(parts)) == 1 for parts in zip(*lines, strict=True)]
    shared = ", ".join(part for part, one in zip(lines[0], same, strict=True) if one and part)
    return shared, [
        ", ".join(part for part, one in zip(line, same, strict=True) if part and not one) for line in lines
    ]


def seeds_table(measured: Sequence[Measured], metric: str) -> Table:
    """Mean and sample standard deviation over runs where there are several, else over the seeds of the judge."""
    rows = []
    for one in measured:
        means = [mean for run in one.runs if not math.isnan(mean := figures(run).mean)]
        seeds = [f"host {seed}" for seed in one.seeds if seed]
        if len(one.runs) == 1:
            means = [mean for mean in one.by_judge_seed.values() if not math.isnan(mean)]
            seeds = [f"judge {seed}" for seed in one.by_judge_seed]
        if len(means) > 1:
            spread = seed_spread(means)
            each = ", ".join(f"{mean:.2f}" for mean in means)
            figures_of_all = figure_text(spread.mean), figure_text(spread.sd)
            rows.append((*one.row, str(spread.n), ", ".join(seeds), each, *figures_of_all))
    columns = (*_WHO, "runs", "seeds", f"{metric} of each", "mean", "standard deviation")
    return Table(
        "seeds", "mean and sample standard deviation over runs (Table 9)", columns, tuple(rows), _TEXT
    )
