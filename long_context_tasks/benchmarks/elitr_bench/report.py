"""Break down ELITR-Bench scores as in the paper: question type, answer position, wording, noise and seed.

:func:`sections` makes the tables for Fig. 1, Fig. 3, Table 9 and Table 10 from scored runs. Intervals are
over meetings.
"""

import math
import re
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.elitr_bench.archives import NAME, POSITIONS, TYPES
from long_context_tasks.benchmarks.elitr_bench.task import parse_name
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import packaged_yaml
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
from long_context_tasks.stats.comparison import WelchTest, welch_test
from long_context_tasks.stats.intervals import Interval, cluster_t
from long_context_tasks.stats.means import RATES, GroupMean, Scale, group_mean

ALL, DIFFERING = "all", "QA/Conv differ"
# Task and variant to the setting in Table 2 and Fig. 3.
SETTINGS = {
    ("qa", ""): "QA, single-turn",
    ("qa", "multiturn"): "QA, multi-turn",
    ("conv", ""): "Conv, multi-turn",
}
_WHO = ("host", "model", "task", "judge", "settings")
_TEXT = frozenset(("label", "setting", "seeds"))


@dataclass(frozen=True)
class ScoredQuestion:
    meeting: str  # the cluster for intervals
    question: str
    type: str
    position: str
    differs: bool  # whether QA and Conv word the question differently
    measured_wer: float  # the transcript's, 0 to 1; 0 without noise
    value: float | None

    @property
    def key(self) -> tuple[str, str]:
        """Identical in all tasks of a split."""
        return self.meeting, self.question


def figures(questions: Iterable[ScoredQuestion], scale: Scale | None) -> GroupMean:
    listed = list(questions)
    return group_mean([each.value for each in listed], [each.meeting for each in listed], scale)


def by_label(questions: Sequence[ScoredQuestion], scale: Scale | None) -> dict[str, GroupMean]:
    """Return figures for all questions, and for every type, position and wording that occurs."""
    # A question counts in several groups: its type, its position and its wording.
    parts = {ALL: list(questions)}
    parts |= {kind: [each for each in questions if each.type == kind] for kind in TYPES}
    parts |= {place: [each for each in questions if each.position == place] for place in POSITIONS}
    parts[DIFFERING] = [each for each in questions if each.differs]
    return {label: figures(part, scale) for label, part in parts.items() if part}


def paired_difference(
    first: Sequence[ScoredQuestion], second: Sequence[ScoredQuestion]
) -> tuple[int, float, Interval] | None:
    """Return n, the mean of first minus second, and its interval over shared questions, or None."""
    others = {each.key: each.value for each in second if each.value is not None}
    pairs = [
        (each.value - others[each.key], each.meeting)
        for each in first
        if each.value is not None and each.key in others
    ]
    if not pairs:
        return None
    # Differences are nearly symmetric, so their interval needs no skewness correction.
    losses = [loss for loss, _ in pairs]
    interval = cluster_t(losses, [meeting for _, meeting in pairs], skewed=False)
    return len(losses), math.fsum(losses) / len(losses), interval


@dataclass(frozen=True)
class SettingRuns:
    first: ScoredRun  # source of the properties that all runs share
    runs: list[list[ScoredQuestion]]  # one list per run and repeat
    seeds: list[str]  # each list's host seed; empty if unknown
    # Judge seed to mean, for a single run judged with several seeds.
    by_judge_seed: Mapping[str, float] = field(default_factory=dict)

    @property
    def scale(self) -> Scale | None:
        return card(NAME).points.get(self.first.metric, RATES)

    @property
    def questions(self) -> list[ScoredQuestion]:
        """One score per question: the mean over the runs."""
        return mean_over_repeats(question for run in self.runs for question in run)

    @property
    def row(self) -> tuple[str, ...]:
        return self.first.host, self.first.model, self.first.task, self.first.judge, self.first.how


def _measured(runs: Iterable[ScoredRun]) -> list[SettingRuns]:
    """Group the runs' scores by setting, sorted by host, model and task."""
    settings: dict[Hashable, SettingRuns] = {}
    for run in runs:
        repeats = _repeats(run)
        same = settings.setdefault(run.key, SettingRuns(run, [], [], run.by_judge_seed))
        same.runs.extend(repeats)
        # Repeats within a run and runs with other seeds count alike.
        same.seeds.extend([run.seed] * len(repeats))

    def place(entry: SettingRuns) -> tuple[str, str, list[tuple[int, str]]]:
        first = entry.first
        # Digits are compared as numbers, so that _wer20 comes before _wer100.
        words = [(int(word) if word.isdigit() else 0, word) for word in re.findall(r"\d+|\D+", first.task)]
        return first.host, first.model, words

    return sorted((entry for entry in settings.values() if entry.runs), key=place)


def _repeats(run: ScoredRun) -> list[list[ScoredQuestion]]:
    """Return a run's scores with their labels, one list per repeat of the cases."""
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


def sections(runs: Sequence[ScoredRun]) -> list[Section]:
    """Return a section for each metric in the runs."""
    metrics = list(dict.fromkeys(run.metric for run in runs))
    by_metric = []
    for metric in metrics:
        measured = _measured(run for run in runs if run.metric == metric)
        noise = _noise_points(measured)
        by_metric.append(
            Section(
                "elitr_bench" if len(metrics) == 1 else f"elitr_bench_{metric}",
                f"ELITR-Bench as in the paper, {metric}",
                (
                    _labels_table(measured, metric),
                    _middle_table(measured, metric),
                    _differing_table(measured, metric),
                    _noise_table(noise, metric),
                    _seeds_table(measured, metric),
                ),
                (_noise_figure(noise, metric, points_of_a_scale=measured[0].first.points),) if noise else (),
            )
        )
    return by_metric


def _cells(group: GroupMean) -> tuple[str, str, str]:
    return count_text(group.n, group.total), figure_text(group.mean), interval_text(group.interval)


def _labels_table(measured: Sequence[SettingRuns], metric: str) -> Table:
    rows = [
        (*entry.row, label, str(len(entry.runs)), *_cells(group))
        for entry in measured
        for label, group in by_label(entry.questions, entry.scale).items()
    ]
    columns = (*_WHO, "label", "runs", "n", metric, "95 % interval")
    return Table("labels", "by question type and answer position", columns, tuple(rows), _TEXT)


def middle_test(scores: Iterable[tuple[str, float | None]]) -> WelchTest | None:
    """Test middle-of-meeting answers against all others (Table 10).

    ``scores`` contains each answer's position and score. Return None if a group has fewer than two scores.
    """
    groups: dict[bool, list[float]] = {True: [], False: []}
    for position, value in scores:
        if value is not None:
            groups[position == "M"].append(value)
    return welch_test(groups[True], groups[False]) if min(map(len, groups.values())) > 1 else None


def _middle_table(measured: Sequence[SettingRuns], metric: str) -> Table:
    tests = (
        (entry, middle_test((each.position, each.value) for each in entry.questions)) for entry in measured
    )
    rows = [(*entry.row, *test_cells(test)) for entry, test in tests if test is not None]
    title = "are answers in the middle of the meeting lower than the others? One-tailed Welch test (Table 10)"
    return Table("middle", f"{title}, {metric}", (*_WHO, *TEST_COLUMNS), tuple(rows))


def _differing_table(measured: Sequence[SettingRuns], metric: str) -> Table:
    """Compare the settings on questions that QA and Conv word differently, with dev and test pooled."""
    pooled: dict[tuple[str, ...], dict[str, list[ScoredQuestion]]] = {}
    splits: dict[tuple[tuple[str, ...], str], set[str]] = {}
    for entry in measured:
        task, who = parse_name(entry.first.task), entry.first
        if (name := SETTINGS.get((task.task, task.variant))) is not None:
            whose = (who.host, who.model, who.judge, who.how)
            differing = [each for each in entry.questions if each.differs]
            pooled.setdefault(whose, {}).setdefault(name, []).extend(differing)
            splits.setdefault((whose, name), set()).add(task.split)
    # Dev and test are pooled, because each has only 16 or 17 such questions.
    _, talk, conv = SETTINGS.values()
    rows = []
    for group, settings in pooled.items():
        for name in SETTINGS.values():
            if questions := settings.get(name):
                which = "+".join(sorted(splits[group, name]))
                rows.append((*group, f"{name} ({which})", *_cells(figures(questions, entry.scale))))
        if (loss := paired_difference(settings.get(conv, []), settings.get(talk, []))) is not None:
            n, mean, interval = loss
            cells = str(n), figure_text(mean), interval_text(interval)
            rows.append((*group, "Conv - QA, multi-turn", *cells))
    columns = ("host", "model", "judge", "settings", "setting", "n", metric, "95 % interval")
    return Table(
        "differing", "questions that QA and Conv word differently (Fig. 3)", columns, tuple(rows), _TEXT
    )


class _NoisePoint(NamedTuple):
    """A point in Fig. 1; rates are in percent.

    A curve is identified by host, model, judge, settings, and the task without noise.
    """

    line: tuple[str, ...]
    target: int
    measured: float
    group: GroupMean


def _noise_points(measured: Sequence[SettingRuns]) -> list[_NoisePoint]:
    """Return the points of every curve with noise, sorted by curve and measured error rate."""
    points = []
    for entry in measured:
        task, who = parse_name(entry.first.task), entry.first
        line = (who.host, who.model, who.judge, who.how, task.without(f"wer{task.wer}").name)
        # The mean over the meetings, as in Table 5.
        rates = {each.meeting: each.measured_wer for each in entry.questions}
        rate = 100 * (math.fsum(rates.values()) / len(rates))
        points.append(_NoisePoint(line, task.wer or 0, rate, figures(entry.questions, entry.scale)))
    # A curve with only a clean point shows nothing about noise.
    noisy = {point.line for point in points if point.target}
    return sorted(
        (point for point in points if point.line in noisy), key=lambda point: (point.line, point.measured)
    )


def _noise_table(points: Sequence[_NoisePoint], metric: str) -> Table:
    rows = [
        (*point.line, str(point.target), f"{point.measured:.2f}", *_cells(point.group)) for point in points
    ]
    columns = ("host", "model", "judge", "settings", "task", "target WER, %", "measured WER, %", "n", metric)
    return Table(
        "noise", "scores over the measured word error rate (Fig. 1)", (*columns, "95 % interval"), tuple(rows)
    )


def _noise_figure(points: Sequence[_NoisePoint], metric: str, *, points_of_a_scale: bool) -> Lines:
    names = list(dict.fromkeys(point.line for point in points))
    shared, labels = shared_and_own(names)
    lines = tuple(
        Line(
            label,
            tuple(
                (point.measured, point.group.mean, point.group.interval.low, point.group.interval.high)
                for point in points
                if point.line == name
            ),
        )
        for name, label in zip(names, labels, strict=True)
    )
    # The axis shows the whole scale, because a stretched one exaggerates small differences.
    means = [point.group.mean for point in points]
    ends = (math.floor(min(1.0, *means)), math.ceil(max(10.0, *means))) if points_of_a_scale else (0.0, 1.0)
    return Lines(shared, "measured word error rate, %", metric, lines, *ends)


def shared_and_own(lines: Sequence[Sequence[str]]) -> tuple[str, list[str]]:
    """Return the parts that all names share, and for each name the parts in which it differs.

    >>> shared_and_own([("lm_eval", "A", "qa"), ("lm_eval", "B", "qa")])
    ('lm_eval, qa', ['A', 'B'])
    """
    same = [len(set(parts)) == 1 for parts in zip(*lines, strict=True)]
    shared = ", ".join(part for part, is_same in zip(lines[0], same, strict=True) if is_same and part)
    return shared, [
        ", ".join(part for part, is_same in zip(line, same, strict=True) if part and not is_same)
        for line in lines
    ]


def _seeds_table(measured: Sequence[SettingRuns], metric: str) -> Table:
    """Show the mean and sample standard deviation over runs, or over judge seeds for a single run."""
    rows = []
    for entry in measured:
        if len(entry.runs) == 1:
            means = list(entry.by_judge_seed.values())
            seeds = [f"judge {seed}" for seed in entry.by_judge_seed]
        else:
            means = [figures(run, entry.scale).mean for run in entry.runs]
            seeds = [f"host {seed}" for seed in entry.seeds if seed]
        means = [mean for mean in means if not math.isnan(mean)]
        if len(means) > 1:
            each = ", ".join(f"{mean:.2f}" for mean in means)
            over_all = figure_text(statistics.fmean(means)), figure_text(statistics.stdev(means))
            rows.append((*entry.row, str(len(means)), ", ".join(seeds), each, *over_all))
    columns = (*_WHO, "runs", "seeds", f"{metric} of each", "mean", "standard deviation")
    return Table(
        "seeds", "mean and sample standard deviation over runs (Table 9)", columns, tuple(rows), _TEXT
    )


# Read directly rather than through `paper`, which loads the statistics for its tables, because every site
# needs this.
_JUDGES = {"gpt-4-0613": "gpt-4", "prometheus-13b-v1.0": "prometheus"}


def judge_agreement(model: str) -> str:
    """Describe a judge's published agreement with people in a sentence; empty for other models."""
    rater = _JUDGES.get(model.rpartition("/")[2].lower())
    if rater is None:
        return ""
    printed = {
        frozenset(entry["pair"]): entry["published"]
        for entry in packaged_yaml(__package__, "paper.yaml")["fig2b"]
    }
    gold, silver = (printed[frozenset((rater, f"{kind}-human"))] for kind in ("gold", "silver"))
    return (
        f"Pearson correlation with people {gold} (gold) and {silver} (silver scores), as the ELITR-Bench paper prints it "
        "(Fig. 2b): published, not measured here."
    )
