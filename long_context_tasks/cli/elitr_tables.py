"""The tables of ``lct report elitr``, from measured runs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from long_context_tasks.benchmarks.elitr_bench.breakdown import (
    SETTINGS,
    ScoredTurn,
    by_label,
    figures,
    lower_test,
    measured_wer,
    middle_test,
    paired_difference,
    setting_of,
)
from long_context_tasks.benchmarks.elitr_bench.names import parse_name
from long_context_tasks.cli.elitr_runs import Measured
from long_context_tasks.cli.tables import interval_text
from long_context_tasks.schema import InputError
from long_context_tasks.stats import Interval, WelchTest, seed_spread

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
