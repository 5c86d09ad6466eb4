"""Stored runs of ELITR-Bench with the scores that judges gave them, for ``lct report elitr`` and ``elitr-search``."""

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.archives import NAME, POSITIONS, TYPES
from long_context_tasks.benchmarks.elitr_bench.names import SYNTHETIC, TaskName, parse_name
from long_context_tasks.benchmarks.elitr_bench.search import SearchCell, cell_of, decoding_of
from long_context_tasks.cli.output import interval_text
from long_context_tasks.hosts.stored_task import load_task
from long_context_tasks.results import StoredRun, find_runs
from long_context_tasks.results.evaluations import (
    NO_JUDGE,
    Evaluation,
    evaluations,
    turn_scores,
    unjudged_evaluation,
)
from long_context_tasks.results.settings import DEFAULTS, generation_arguments, telling_options
from long_context_tasks.schema import Case, InputError, LoadedTask
from long_context_tasks.stats import (
    GroupMean,
    Interval,
    WelchTest,
    cluster_t,
    group_mean,
    seed_spread,
    welch_test,
)

__all__ = ["NO_JUDGE", "Evaluation", "evaluations", "unjudged_evaluation"]

# Scores of stored runs, split as the paper splits them: by question type, answer position, wording,
# noise and seed.


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


def figures(turns: Sequence[ScoredTurn]) -> GroupMean:
    """Mean, interval and counts of some turns."""
    return group_mean([turn.value for turn in turns], [turn.meeting for turn in turns])


def by_label(turns: Sequence[ScoredTurn]) -> dict[str, GroupMean]:
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


@dataclass(frozen=True)
class Setting:
    """What runs must share to count as seeds of one another.

    Attributes:
        host, model, task, judge: as in the run.
        how: options and arguments of generation that are not the default ones, in words; empty when there are none.
    """

    host: str
    model: str
    task: str
    judge: str
    how: str

    def row(self) -> list[str]:
        """Cells of a table."""
        return [self.host, self.model, self.task, self.judge, self.how]


def elitr_runs(paths: Sequence[Path]) -> tuple[list[StoredRun], list[str]]:
    """The runs of ELITR-Bench under some folders, and what is wrong with others.

    Raises:
        InputError: no such folder, or no run in any of them.
    """
    runs: dict[tuple[Path, str], StoredRun] = {}
    problems = []
    for path in paths:
        found = find_runs(path)
        runs |= {(run.folder, run.label): run for run in found.runs if run.task.startswith(f"{NAME}_")}
        problems += [problem.message for problem in found.problems]
    if not runs:
        shown = ", ".join(map(str, paths))
        raise InputError(
            f"{shown}: no runs of {NAME}{': ' + problems[0] if problems else ''}; give the folder that lm-eval's --output_path "
            "(with --log_samples) or OpenCompass's -w names"
        )
    return list(runs.values()), problems


def setting_of_run(evaluation: Evaluation) -> Setting:
    """What the run shares with others of the same setting."""
    run = evaluation.run
    options, settings = telling_options(run), generation_arguments(run)
    words = [f"{key.removeprefix('lct_')}={value}" for key, value in sorted(options.items())]
    words += [f"{key}={value}" for key, value in sorted(settings.items())]
    return Setting(run.host, run.model, run.task, evaluation.judge, " ".join(words))


def turns_of(evaluation: Evaluation, task: LoadedTask, metric: str) -> list[list[ScoredTurn]]:
    """The scores of an evaluation with their labels, one list for each repeat of the cases.

    Raises:
        InputError: damaged files, or scores of cases that the task does not have.
    """
    repeats: dict[int, list[tuple[str, int, float | None]]] = {}
    for repeat, case, turn, value in _values(evaluation, metric):
        repeats.setdefault(repeat, []).append((case, turn, value))
    try:
        return [scored_turns(task.by_id, values) for _, values in sorted(repeats.items())]
    except (KeyError, IndexError) as error:
        raise InputError(
            f"{evaluation.run}: has scores of cases or turns that the task does not have ({error}); it was made with other data, "
            "give their folder (--data-dir)"
        ) from error


def _values(evaluation: Evaluation, metric: str) -> Iterator[tuple[int, str, int, float | None]]:
    for turn in turn_scores(evaluation):
        yield turn.repeat, turn.case, turn.turn, turn.scores.get(metric)


@dataclass(frozen=True)
class Measured:
    """All runs of a setting.

    Attributes:
        setting: which.
        runs: the scores of each run.
        made: when each was made.
        seeds: which seeds the host was given, where it tells.
        by_judge_seed: mean with each seed of the judge; of a single run that was judged with several.
    """

    setting: Setting
    runs: tuple[tuple[ScoredTurn, ...], ...]
    made: tuple[str, ...]
    seeds: tuple[str, ...]
    by_judge_seed: Mapping[str, float] = field(default_factory=dict)

    @property
    def turns(self) -> list[ScoredTurn]:
        """One score for each question, the mean over the runs."""
        return mean_over_runs(self.runs)


def measure(
    runs: Iterable[StoredRun], data_dir: Path | None, metric: str
) -> tuple[list[Measured], list[StoredRun]]:
    """Scores of all judged runs that have the metric, those of one setting together, and the runs that nobody has judged.

    Raises:
        InputError: damaged files, or data that are not there.
    """
    tasks: dict[str, LoadedTask] = {}
    found: dict[Setting, list[tuple[str, str, list[ScoredTurn]]]] = {}
    by_seed: dict[Setting, Mapping[str, float]] = {}
    unjudged = []
    runs = list(runs)
    for run, judged in zip(runs, evaluations(runs), strict=True):
        if not judged:
            unjudged.append(run)
            continue
        key = run.task_key
        task = tasks.setdefault(key, tasks.get(key) or load_task(run, data_dir))
        seed = run.provenance.get("random_seed")
        for one in judged:
            if not any(name.split(" (")[0] == metric for name in one.numbers):
                continue  # of another kind of judge
            by_seed[setting_of_run(one)] = {
                name: row[metric] for name, row in one.by_seed.items() if metric in row
            }
            for turns in turns_of(one, task, metric):
                found.setdefault(setting_of_run(one), []).append(
                    (run.made, "" if seed is None else str(seed), turns)
                )
    measured = [
        Measured(
            setting,
            tuple(tuple(turns) for *_, turns in parts),
            tuple(made for made, *_ in parts),
            tuple(seed for _, seed, _ in parts),
            by_seed[setting] if len(parts) == 1 else {},
        )
        for setting, parts in found.items()
    ]
    return sorted(measured, key=_place), unjudged


def _place(one: Measured) -> tuple[str, str, list[tuple[int, str]]]:
    """Where a setting stands: by host and model, then by the task, with _wer20 in front of _wer100."""
    words = re.findall(r"\d+|\D+", one.setting.task)
    return one.setting.host, one.setting.model, [(int(word) if word.isdigit() else 0, word) for word in words]


@dataclass(frozen=True)
class Tried:
    """A cell of the configuration search with its result.

    Attributes:
        evaluation: the run and its scores.
        model: without the cell in its name.
        decoding, style, markers, penalty: of the cell.
    """

    evaluation: Evaluation
    model: str
    decoding: str
    style: str
    markers: bool
    penalty: float


def tried(evaluation: Evaluation) -> Tried | None:
    """The cell that a run belongs to; None when nothing tells its decoding.

    lm-eval writes the arguments of generation down; of OpenCompass the search names the model so.
    """
    run = evaluation.run
    style = str(run.options.get("lct_prompt_style") or DEFAULTS["lct_prompt_style"])
    markers = str(run.options.get("lct_question_markers")).lower() == "true"
    cell: SearchCell | None = cell_of(run.model)
    if cell is not None:
        model = run.model.removesuffix(f"_{cell.name}")
        return Tried(evaluation, model, cell.decoding, style, markers, cell.penalty)
    if "gen_kwargs" not in run.provenance:
        return None
    decoding, penalty = decoding_of(generation_arguments(run))
    return Tried(evaluation, run.model, decoding, style, markers, penalty)


def newest(cells: Iterable[Tried]) -> list[Tried]:
    """Of several runs of one cell with one judge, the last one made."""
    found: dict[tuple[Any, ...], Tried] = {}
    for cell in cells:
        run = cell.evaluation.run
        who = (run.host, cell.model, run.task, cell.evaluation.judge)
        key = (*who, cell.decoding, cell.style, cell.markers, cell.penalty)
        if key not in found or found[key].evaluation.run.made <= run.made:
            found[key] = cell
    return list(found.values())


# The tables of ``lct report elitr``, from measured runs.


_WHO = ("host", "model", "task", "judge", "settings")


@dataclass(frozen=True)
class Table:
    """A table to print and to write.

    Attributes:
        key: name of its file.
        title, columns, rows: as printed.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def without_empty_columns(self) -> "Table":
        """The same without the columns that say nothing in any row."""
        kept = [place for place in range(len(self.columns)) if any(row[place] for row in self.rows)]
        return replace(
            self,
            columns=tuple(self.columns[place] for place in kept),
            rows=tuple(tuple(row[place] for place in kept) for row in self.rows),
        )


def figure_text(value: float, places: int = 2) -> str:
    """A number; a dash for none."""
    return "-" if math.isnan(value) else f"{value:.{places}f}"


def count_text(n: int, total: int) -> str:
    """How many were scored, of how many where it is not all."""
    return str(n) if n == total else f"{n} of {total}"


def labels_table(measured: Sequence[Measured], metric: str) -> Table:
    """By question type, answer position and wording."""
    rows = [
        (
            *one.setting.row(),
            label,
            str(len(one.runs)),
            count_text(group.n, group.total),
            figure_text(group.mean),
            interval_text(group.interval),
        )
        for one in measured
        for label, group in by_label(one.turns).items()
    ]
    columns = (*_WHO, "label", "runs", "n", metric, "95 % interval")
    return Table("labels", "by question type and answer position", columns, tuple(rows))


def middle_table(measured: Sequence[Measured], metric: str) -> Table:
    """Answers in the middle of the meeting against all others."""
    rows = [
        (*one.setting.row(), *_test_cells(test))
        for one in measured
        if (test := middle_test(one.turns)) is not None
    ]
    title = "are answers in the middle of the meeting lower than the others? One-tailed Welch test (Table 10)"
    return Table("middle", f"{title}, {metric}", (*_WHO, *_TEST_COLUMNS), tuple(rows))


_TEST_COLUMNS = ("n first", "mean first", "n second", "mean second", "t", "df", "p")


def _p_text(p: float) -> str:
    return f"{p:.1e}" if p < 0.0001 else figure_text(p, 4)


def _test_cells(test: WelchTest) -> tuple[str, ...]:
    return (
        *(str(test.n_first), figure_text(test.mean_first), str(test.n_second), figure_text(test.mean_second)),
        *(figure_text(test.t, 3), figure_text(test.df, 1), _p_text(test.p)),
    )


def differing_table(measured: Sequence[Measured], metric: str) -> Table:
    """Questions that QA and Conv word differently, in the three settings, dev and test pooled; Conv against QA in multi-turn."""
    found: dict[tuple[str, ...], dict[str, list[ScoredTurn]]] = {}
    splits: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for one in measured:
        task, who = parse_name(one.setting.task), one.setting
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
                group = figures(turns)
                which = "+".join(sorted(splits[whose][setting]))
                rows.append(
                    (
                        *whose,
                        f"{name} ({which})",
                        count_text(group.n, group.total),
                        figure_text(group.mean),
                        interval_text(group.interval),
                    )
                )
        loss = paired_difference(settings.get("mt_conv", []), settings.get("mt_qa", []))
        if loss is not None:
            rows.append(
                (
                    *whose,
                    "Conv - QA, multi-turn",
                    str(loss.n),
                    figure_text(loss.mean),
                    interval_text(Interval(loss.low, loss.high)),
                )
            )
    columns = ("host", "model", "judge", "settings", "setting", "n", metric, "95 % interval")
    return Table("differing", "questions that QA and Conv word differently (Fig. 3)", columns, tuple(rows))


@dataclass(frozen=True)
class NoisePoint:
    """A point of Fig. 1.

    Attributes:
        line: which line it lies on: host, model, judge, settings, and task without its noise.
        target, measured: word error rates, 0 to 1.
        mean, low, high: score.
        n, total: turns.
    """

    line: tuple[str, ...]
    target: float
    measured: float
    mean: float
    low: float
    high: float
    n: int
    total: int


def noise_points(measured: Sequence[Measured]) -> list[NoisePoint]:
    """Points of the lines that have noise on them, in order of line and measured rate."""
    points = []
    for one in measured:
        task, who, turns = parse_name(one.setting.task), one.setting, one.turns
        group = figures(turns)
        line = (who.host, who.model, who.judge, who.how, replace(task, wer=None).name)
        points.append(
            NoisePoint(
                line,
                (task.wer or 0) / 100,
                measured_wer(turns),
                group.mean,
                group.interval.low,
                group.interval.high,
                group.n,
                group.total,
            )
        )
    noisy = {point.line for point in points if point.target}
    return sorted(
        (point for point in points if point.line in noisy), key=lambda point: (point.line, point.measured)
    )


def noise_table(measured: Sequence[Measured], metric: str) -> Table:
    """Scores over the measured word error rate."""
    rows = [
        (
            *point.line,
            *(f"{100 * point.target:.0f}", f"{100 * point.measured:.2f}", count_text(point.n, point.total)),
            *(figure_text(point.mean), interval_text(Interval(point.low, point.high))),
        )
        for point in noise_points(measured)
    ]
    columns = ("host", "model", "judge", "settings", "task", "target WER, %", "measured WER, %", "n", metric)
    return Table(
        "noise",
        "scores over the measured word error rate (Fig. 1)",
        (*columns, "95 % interval"),
        tuple(rows),
    )


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
            rows.append(
                (
                    *one.setting.row(),
                    str(spread.n),
                    ", ".join(seeds),
                    each,
                    figure_text(spread.mean),
                    figure_text(spread.sd),
                )
            )
    columns = (*_WHO, "runs", "seeds", f"{metric} of each", "mean", "standard deviation")
    return Table("seeds", "mean and sample standard deviation over runs (Table 9)", columns, tuple(rows))


def tests_table(measured: Sequence[Measured], wanted: Sequence[str], metric: str) -> Table:
    """One-tailed Welch tests of what ``--test`` names.

    Raises:
        InputError: not two names, or a name of no run, or nothing that can be compared.
    """
    rows: list[tuple[str, ...]] = []
    for pair in wanted:
        names = [name.strip() for name in pair.split(",")]
        if len(names) != 2 or not all(names):
            raise InputError(f"--test {pair}: give two names with a comma between, such as MODEL_A,MODEL_B")
        sides = [[one for one in measured if _is_named(one, name)] for name in names]
        for name, side in zip(names, sides, strict=True):
            if not side:
                models = sorted({one.setting.model for one in measured})
                tasks = sorted({one.setting.task for one in measured})
                raise InputError(
                    f"--test {name}: no judged run; models: {', '.join(models)}; tasks: {', '.join(tasks)}"
                )
        before = len(rows)
        for first, second in _partners(sides[0], sides[1]):
            if (test := lower_test(first.turns, second.turns)) is not None:
                one, other = (
                    ":".join((each.setting.model, each.setting.task, each.setting.judge))
                    for each in (first, second)
                )
                rows.append((f"{one} < {other}", *_test_cells(test)))
        if len(rows) == before:
            raise InputError(
                f"--test {pair}: the two have no task (or model) and judge in common with two scores each"
            )
    return Table(
        "tests", f"one-tailed Welch tests, {metric}", ("first is lower", *_TEST_COLUMNS), tuple(rows)
    )


def _is_named(one: Measured, name: str) -> bool:
    who = one.setting
    return name in (who.model, Path(who.model).name, who.task, f"{who.model}:{who.task}")


def _partners(first: Sequence[Measured], second: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    """Pairs that differ in the model or in the task, but not in both unless there is nothing to choose."""
    alone = len(first) == len(second) == 1
    for one in first:
        for other in second:
            a, b = one.setting, other.setting
            related = a.task == b.task or (a.host, a.model) == (b.host, b.model)
            if a != b and a.judge == b.judge and (related or alone):
                yield one, other
