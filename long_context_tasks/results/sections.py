"""Benchmarks' own reports on stored runs: scored runs for their ``sections``, and tests that the user asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import MOST_WRITTEN, Places, StoredRun, load_task
from long_context_tasks.results.collect import CollectedRuns
from long_context_tasks.results.evaluations import Evaluation, needs_no_judge, scored_cases
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.report import (
    TEST_COLUMNS,
    ScoredRun,
    ScoredTurn,
    Section,
    Table,
    test_cells,
)
from long_context_tasks.stats.comparison import welch_test

OFFICIAL = "official"
"""Stands for the official metric of each task."""


@dataclass(frozen=True)
class SectionOptions:
    """Options of a benchmark's own report.

    Attributes:
        metric: name of the metric to split, or :data:`OFFICIAL`; empty for the headline of each run.
        data_dir: folder of the published data; None for that of the runs.
        cases: new place of built cases that moved; None for the place in the runs.
        bins: number of parts of a context; None for the benchmark's own.
        tests: pairs ``FIRST,SECOND`` for :func:`tests_table`.
        most: tokens of synthetic cases that may be generated for a task; runs with more are left out unless the cache has their cases.
    """

    metric: str = ""
    data_dir: Path | None = None
    cases: Path | None = None
    bins: int | None = None
    tests: tuple[str, ...] = ()
    most: int = MOST_WRITTEN


def with_sections() -> list[str]:
    """Return the names of the benchmarks that have a report of their own."""
    return [name for name in catalogue.benchmark_names() if catalogue.benchmark(name).has_sections]


def benchmark_sections(benchmark: str, collected: CollectedRuns, wanted: SectionOptions) -> list[Section]:
    """Return a benchmark's own report, followed by the tests that the user asks for.

    Raises:
        InputError: the benchmark is unknown or has no judged run with the metric, a file is damaged, or the data of a task are missing.
    """
    if benchmark not in with_sections():
        raise InputError(
            f"--section {benchmark}: no benchmark with a report of its own; there are: {', '.join(with_sections())}"
        )
    rows = collected.collection.runs.filter(pl.col("benchmark") == benchmark)
    runs, unjudged = scored_runs(collected, wanted, rows)
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
    """Recompute the tables of a benchmark's paper from the published responses and scores.

    Args:
        benchmark: name of the benchmark.
        data_dir: folder of the published files; None for ``LCT_DATA_DIR``, then the cache.
        only: keys of tables, separated by commas; empty for all.
        tokenizer: Hugging Face folder or hub id, for tables that count tokens.

    Raises:
        InputError: the benchmark has no such tables, a key is unknown, or files are missing or damaged.
    """
    known = [name for name in catalogue.benchmark_names() if catalogue.benchmark(name).has_paper_tables]
    if benchmark not in known:
        raise InputError(f"{benchmark}: its paper has no tables to recompute; there are: {', '.join(known)}")
    options = catalogue.resolve_options({"lct_data_dir": data_dir, "lct_tokenizer": tokenizer})
    return catalogue.benchmark(benchmark).paper_tables(options, only)


def scored_runs(
    collected: CollectedRuns, wanted: SectionOptions, runs: pl.DataFrame | None = None
) -> tuple[list[ScoredRun], list[StoredRun]]:
    """Return runs as a benchmark's sections take them, and the runs whose answers no judge has read.

    Args:
        collected: runs that were collected.
        wanted: options of the report.
        runs: rows of ``collected.collection.runs`` to take; None for all.

    Raises:
        InputError: no run has the metric.
    """
    evaluations = collected.evaluations
    runs = collected.collection.runs if runs is None else runs

    # Tasks may be large, so only two stay in memory.
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
"""A run of a setting that a test compares, and the mean over repeats of each turn's score in that setting."""


def tests_table(runs: Sequence[ScoredRun], wanted: Sequence[str]) -> Table:
    """Test whether FIRST scores lower than SECOND (one-tailed Welch tests).

    Args:
        runs: judged runs.
        wanted: pairs ``FIRST,SECOND``; each name is a model, a task, or MODEL:TASK.

    Raises:
        InputError: a pair does not have two names, a name matches no run, or the two have nothing in common to compare.
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
                    sorted({getattr(run, kind) for run, _ in sides}) for kind in ("model", "task")
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
    """Yield pairs that share the judge and differ in the model or in the task; in both only if there is a single pair."""
    single = len(first) == len(second) == 1
    for one in first:
        for other in second:
            a, b = one[0], other[0]
            related = a.task == b.task or (a.host, a.model) == (b.host, b.model)
            if a.key != b.key and a.judge == b.judge and (related or single):
                yield one, other
