"""Benchmarks' own reports on stored runs: scored runs for their ``sections``, and tests that the user names."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import MOST_WRITTEN, Places, StoredRun, load_task
from long_context_tasks.results.evaluations import Evaluation, needs_no_judge, scored_cases
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.files import json_rows, loads
from long_context_tasks.schema.report import (
    TEST_COLUMNS,
    ScoredRun,
    ScoredTurn,
    Section,
    Table,
    figure_text,
    interval_text,
    test_cells,
)
from long_context_tasks.schema.validated import Checked, Number, Whole, validated
from long_context_tasks.stats import CorrectedMean, corrected_mean, welch_test

MOST_FOR_PAGES = 1_000_000
"""Tokens of synthetic cases that are written for each task of a site, which shows scores without them: some five seconds' work."""
OFFICIAL = "official"
"""In place of a metric: the official one of each task."""


@dataclass(frozen=True)
class SectionOptions:
    """What of the runs is split, and where their data lie.

    Attributes:
        metric: name, :data:`OFFICIAL`, or empty: each run's headline.
        data_dir: see :func:`long_context_tasks.hosts.stored.load_task`.
        cases: where built cases lie now; None: where the runs say.
        bins: parts of a context; None: as the benchmark has them.
        tests: pairs ``FIRST,SECOND`` for :func:`tests_table`.
        most: tokens of synthetic cases that may be written for a task; runs of longer ones that are not in the cache are left out.
    """

    metric: str = ""
    data_dir: Path | None = None
    cases: Path | None = None
    bins: int | None = None
    tests: tuple[str, ...] = ()
    most: int = MOST_WRITTEN


def with_sections() -> list[str]:
    """Names of the benchmarks that have a report of their own."""
    return [name for name in catalogue.benchmark_names() if catalogue.benchmark(name).has_sections]


def benchmark_sections(
    benchmark: str, collection: Collection, evaluations: Mapping[str, Evaluation], wanted: SectionOptions
) -> list[Section]:
    """A benchmark's own report, and the tests that the user names.

    Raises:
        InputError: an unknown benchmark, no run that can be split, a damaged file, or data of a task that are not here.
    """
    if benchmark not in with_sections():
        raise InputError(
            f"--section {benchmark}: no benchmark with a report of its own; there are: {', '.join(with_sections())}"
        )
    runs, unjudged = scored_runs(
        collection.runs.filter(pl.col("benchmark") == benchmark), evaluations, wanted
    )
    problems = tuple(
        f"left out: {run}: not judged yet; lct judge run {run.folder} --judge judge.yaml" for run in unjudged
    )
    if not runs and problems:
        raise InputError("no run has been judged yet; `lct judge run RESULTS --judge judge.yaml` does it")
    if not runs:
        raise InputError(f"--section {benchmark}: no runs of {benchmark} among the results")
    own = catalogue.benchmark(benchmark)
    if wanted.bins is not None and not own.splits_context:
        raise InputError(f"--bins: the report of {benchmark} has no scores by part of a context")
    found = list(own.sections(runs, wanted.bins))
    if wanted.tests:
        found.append(Section("tests", "Tests", (tests_table(runs, wanted.tests),)))
    found[0] = replace(found[0], problems=(*problems, *found[0].problems))
    return found


def paper_sections(
    benchmark: str, data_dir: Path | None, only: str = "", tokenizer: str | None = None
) -> list[Section]:
    """The tables of a benchmark's paper, made again from what its authors published.

    Args:
        benchmark: name.
        data_dir: folder of the published files; None: ``LCT_DATA_DIR``, else the cache.
        only: keys of tables with commas between; empty: all.
        tokenizer: a Hugging Face folder or hub id, for tables that count tokens.

    Raises:
        InputError: a benchmark without such tables, an unknown key, or files that are missing or damaged.
    """
    there = [name for name in catalogue.benchmark_names() if catalogue.benchmark(name).has_paper_tables]
    if benchmark not in there:
        raise InputError(
            f"{benchmark}: no tables of a paper can be made again; there are: {', '.join(there)}"
        )
    options = catalogue.resolve_options({"lct_data_dir": data_dir, "lct_tokenizer": tokenizer})
    return catalogue.benchmark(benchmark).paper_tables(options, only)


def scored_runs(
    runs: pl.DataFrame, evaluations: Mapping[str, Evaluation], wanted: SectionOptions
) -> tuple[list[ScoredRun], list[StoredRun]]:
    """Runs for a benchmark's sections, and those whose answers no judge has read.

    Raises:
        InputError: no run has the metric.
    """

    # Tasks may be large: few are held at a time.
    @lru_cache(maxsize=2)
    def loaded(key: str, run: str) -> LoadedTask:
        stored = evaluations[run].run
        if wanted.cases is not None and "lct_cases" in stored.options:
            stored = replace(stored, options={**stored.options, "lct_cases": str(wanted.cases)})
        return load_task(stored, Places(wanted.data_dir), wanted.most)

    first: dict[str, str] = {}
    found, unjudged, metrics = [], [], set()
    for row in runs.iter_rows(named=True):
        key = str(row["run"])
        evaluation = evaluations.get(key)
        if evaluation is None:
            continue
        if row["judge"] is None and not needs_no_judge(evaluation.run):
            unjudged.append(evaluation.run)
            continue
        metrics |= set(row["metrics"])
        metric = str(row["headline"])
        if wanted.metric:
            official = catalogue.parse_task(row["task"]).card.official
            metric = official if wanted.metric == OFFICIAL else wanted.metric
        if metric not in row["metrics"]:
            continue
        task = first.setdefault(evaluation.run.task_key, key)
        found.append(
            ScoredRun(
                host=str(row["host"]),
                model=str(row["model"]),
                task=str(row["task"]),
                judge=row["judge"] or "",
                version=row["version"],
                settings=loads(row["settings"]),
                metric=metric,
                points=metric in row["points"],
                seed=row["seed"] or "",
                made=str(row["made"]),
                read=partial(_turns, evaluation, metric),
                load=partial(loaded, evaluation.run.task_key, task),
                by_judge_seed={
                    seed: numbers[metric] for seed, numbers in evaluation.by_seed.items() if metric in numbers
                },
            )
        )
    if metrics and not found:
        raise InputError(
            f"--metric {wanted.metric}: no judged run has it; there are {', '.join(sorted(metrics))}"
        )
    return found, unjudged


def _turns(evaluation: Evaluation, metric: str) -> Iterator[ScoredTurn]:
    for stored, turns in scored_cases(evaluation):
        for scores in turns:
            if not scores.scores and evaluation.rows is not None:
                raise InputError(
                    f"{evaluation.rows}: lacks case {stored.id}; make it again with `lct judge run`"
                )
            own = stored.turn_labels[scores.turn] if scores.turn < len(stored.turn_labels) else {}
            cluster = scores.cluster if scores.cluster is not None else stored.cluster
            yield ScoredTurn(
                case=stored.id,
                turn=scores.turn,
                repeat=stored.repeat,
                cluster=stored.id if cluster is None else cluster,
                value=scores.scores.get(metric),
                response=stored.responses[scores.turn],
                labels={**stored.labels, **own},
                verdicts=scores.verdicts,
            )


_Side = tuple[ScoredRun, list[float]]
"""A run of a setting that a test compares, and the setting's mean score of each turn over repeats."""


def tests_table(runs: Sequence[ScoredRun], wanted: Sequence[str]) -> Table:
    """One-tailed Welch tests of whether FIRST scores lower than SECOND; each is a model, a task, or MODEL:TASK.

    Raises:
        InputError: not two names, a name of no run, or nothing that can be compared.
    """
    settings: dict[Any, tuple[ScoredRun, dict[tuple[str, int], list[float]]]] = {}
    for run in runs:
        _, values = settings.setdefault(run.key, (run, {}))
        for turn in run.turns():
            if turn.value is not None:
                values.setdefault((turn.case, turn.turn), []).append(turn.value)
    sides = [(run, [fmean(own) for own in values.values()]) for run, values in settings.values()]
    rows: list[tuple[str, ...]] = []
    for pair in wanted:
        names = [name.strip() for name in pair.split(",")]
        if len(names) != 2 or not all(names):
            raise InputError(f"--test {pair}: give two names with a comma between, such as MODEL_A,MODEL_B")
        chosen = [[side for side in sides if _is_named(side[0], name)] for name in names]
        for name, own in zip(names, chosen, strict=True):
            if not own:
                models, tasks = (
                    sorted({getattr(run, what) for run, _ in sides}) for what in ("model", "task")
                )
                raise InputError(
                    f"--test {name}: no judged run; models: {', '.join(models)}; tasks: {', '.join(tasks)}"
                )
        before = len(rows)
        for (first, x), (second, y) in _partners(*chosen):
            if min(len(x), len(y)) > 1:
                test = welch_test(x, y, "less")
                one, other = (":".join((run.model, run.task, run.judge)) for run in (first, second))
                rows.append((f"{one} < {other}", *test_cells(test)))
        if len(rows) == before:
            raise InputError(
                f"--test {pair}: the two have no task (or model) and judge in common with two scores each"
            )
    metric = ", ".join(dict.fromkeys(run.metric for run in runs))
    return Table("tests", f"one-tailed Welch tests, {metric}", ("first is lower", *TEST_COLUMNS), tuple(rows))


def _is_named(run: ScoredRun, name: str) -> bool:
    return name in (run.model, Path(run.model).name, run.task, f"{run.model}:{run.task}")


def _partners(first: Sequence[_Side], second: Sequence[_Side]) -> Iterator[tuple[_Side, _Side]]:
    """Pairs that differ in the model or in the task, but not in both unless there is nothing to choose."""
    alone = len(first) == len(second) == 1
    for one in first:
        for other in second:
            a, b = one[0], other[0]
            related = a.task == b.task or (a.host, a.model) == (b.host, b.model)
            if a.key != b.key and a.judge == b.judge and (related or alone):
                yield one, other


RATING = '{"model": "org/model", "task": "TASK", "case": "meeting_3", "turn": 1, "rating": 7}'
_COLUMNS = (
    *("host", "model", "task", "judge", "settings", "metric", "n", "rated", "raw", "corrected"),
    *("95 % interval", "rated only", "95 % of these", "bias", "95 % of bias", "why not"),
)


class _Row(Checked):
    model: str
    task: str
    case: str
    turn: Whole = Field(1, ge=1)
    rating: Number


class _Answer(NamedTuple):
    model: str
    task: str
    case: str
    turn: int


Ratings = Mapping[_Answer, float]
"""Mean of people's ratings of an answer; turns are counted from 0."""


def read_people(files: Sequence[Path]) -> Ratings:
    """Read people's ratings from JSON lines; several ratings of an answer count as their mean.

    Raises:
        InputError: a file that cannot be read or holds no ratings, or a row of another form.
    """
    found: dict[_Answer, list[float]] = defaultdict(list)
    for path in files:
        for place, row in json_rows(path, f"JSON Lines, {RATING}"):
            each = validated(_Row, row, place, remedy=f"expected {RATING}")
            found[_Answer(each.model, each.task, each.case, each.turn - 1)].append(each.rating)
    if not found:
        raise InputError(f"{', '.join(map(str, files))}: no ratings; expected {RATING}")
    return {answer: math.fsum(ratings) / len(ratings) for answer, ratings in found.items()}


def corrected_table(runs: Sequence[ScoredRun], ratings: Ratings) -> Table:
    """Return a row for each judged run: the judge's mean, and the mean corrected by ratings, or why there is none."""
    rows = [_row(run, ratings) for run in runs if run.judge]
    return Table(
        "corrected",
        "judge means corrected by people's ratings",
        _COLUMNS,
        tuple(rows),
        frozenset({"why not"}),
    )


def _row(run: ScoredRun, ratings: Ratings) -> tuple[str, ...]:
    turns = [turn for turn in run.turns() if turn.value is not None and turn.repeat == 0]
    judged = [float(turn.value or 0) for turn in turns]
    rated = [ratings.get(_Answer(run.model, run.task, turn.case, turn.turn)) for turn in turns]
    raw = math.fsum(judged) / len(judged) if judged else math.nan
    first = (run.host, run.model, run.task, run.judge, run.how, run.metric, str(len(judged)))
    number = sum(value is not None for value in rated)
    if not number:
        why = "none of its answers is rated; ratings of other models say nothing of the bias on its answers"
        return (*first, "0", figure_text(raw), *[""] * 6, why)
    try:
        found = corrected_mean(judged, rated, [turn.cluster for turn in turns])
    except ValueError as error:
        return (*first, str(number), figure_text(raw), *[""] * 6, str(error))
    return (*first, str(number), *_cells(found), "")


def _cells(found: CorrectedMean) -> tuple[str, ...]:
    return (
        figure_text(found.raw),
        figure_text(found.corrected),
        interval_text(found.interval, 2),
        figure_text(found.rated_only),
        interval_text(found.rated_interval, 2),
        f"{found.bias:+.2f}",
        interval_text(found.bias_interval, 2),
    )
