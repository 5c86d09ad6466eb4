"""Benchmarks' own reports: their ``sections`` on stored runs, and the tables of their papers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import MOST_WRITTEN, Places, StoredRun, load_task
from long_context_tasks.results.collect import CollectedRuns
from long_context_tasks.results.evaluations import Evaluation, needs_no_judge, scored_cases
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.report import (
    ScoredRun,
    ScoredTurn,
    Section,
    only,
)

OFFICIAL = "official"
"""Stands for the official metric of each task."""


@dataclass(frozen=True)
class SectionOptions:
    metric: str = ""  # name of the metric to split, or OFFICIAL; empty for the headline of each run
    data_dir: Path | None = None  # folder of the published data; None for that of the runs
    cases: Path | None = None  # new place of built cases that moved; None for the place in the runs
    bins: int | None = None  # number of parts of a context; None for the benchmark's own
    # Tokens of synthetic cases that may be generated for a task; runs with more are left out unless the cache
    # has their cases.
    most: int = MOST_WRITTEN


def with_sections() -> list[str]:
    return [name for name in catalogue.benchmark_names() if catalogue.benchmark(name).has_sections]


def benchmark_sections(benchmark: str, collected: CollectedRuns, wanted: SectionOptions) -> list[Section]:
    if benchmark not in with_sections():
        raise InputError(
            f"--section {benchmark}: no benchmark with a report of its own; there are: {', '.join(with_sections())}"
        )
    rows = collected.collection.runs.filter(pl.col("benchmark") == benchmark)
    runs, unjudged = scored_runs(collected, Tasks(wanted), rows.iter_rows(named=True))
    problems = tuple(
        f"left out: {run}: not judged yet; lct judge run {run.folder} --judge judge.yaml" for run in unjudged
    )
    if not runs and problems:
        raise InputError("no run has been judged yet; `lct judge run RESULTS --judge judge.yaml` does it")
    if not runs:
        raise InputError(f"--section {benchmark}: no runs of {benchmark} among the results")
    plugin = catalogue.benchmark(benchmark)
    if wanted.bins is not None and not plugin.splits_context:
        raise InputError(f"--bins: the report of {benchmark} has no scores by part of a context")
    first, *others = only(plugin.sections(runs, wanted.bins), "sections", Section) or [
        Section(benchmark, plugin.card.title)
    ]
    return [replace(first, problems=(*problems, *first.problems)), *others]


def paper_sections(benchmark: str, data_dir: Path | None, only: str = "") -> list[Section]:
    """Recompute a paper's tables from the published responses; ``only`` has keys of tables, separated by commas."""
    known = [name for name in catalogue.benchmark_names() if catalogue.benchmark(name).has_paper_tables]
    if benchmark not in known:
        raise InputError(f"{benchmark}: its paper has no tables to recompute; there are: {', '.join(known)}")
    options = catalogue.resolve_options({"lct_data_dir": data_dir})
    return catalogue.benchmark(benchmark).paper_tables(options, only)


class Tasks:
    """Loads the tasks of runs. They may be large, so only two stay in memory; a task that cannot be loaded is not tried again."""

    def __init__(self, wanted: SectionOptions) -> None:
        self.wanted = wanted
        self._known: dict[str, LoadedTask | InputError] = {}

    def load(self, run: StoredRun) -> LoadedTask:
        key, wanted = run.task_key, self.wanted
        if key not in self._known:
            for before in list(self._known)[:-1]:
                del self._known[before]
            if wanted.cases is not None and "lct_cases" in run.options:
                run = replace(run, options={**run.options, "lct_cases": str(wanted.cases)})
            try:
                self._known[key] = load_task(run, Places(wanted.data_dir), wanted.most)
            except InputError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, InputError):
            raise found
        return found


def scored_runs(
    collected: CollectedRuns, tasks: Tasks, runs: Iterable[Mapping[str, Any]]
) -> tuple[list[ScoredRun], list[StoredRun]]:
    """Return runs (rows of ``RUNS``) as a benchmark's sections take them, and those whose answers no judge has read."""
    wanted = tasks.wanted
    found, unjudged, metrics = [], [], set()
    for row in runs:
        evaluation = collected.evaluations.get(str(row["run"]))
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
                load=partial(tasks.load, evaluation.run),
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
            turn_labels = stored.turn_labels[scores.turn] if scores.turn < len(stored.turn_labels) else {}
            cluster = scores.cluster if scores.cluster is not None else stored.cluster
            yield ScoredTurn(
                case=stored.id,
                turn=scores.turn,
                repeat=stored.repeat,
                cluster=stored.id if cluster is None else cluster,
                value=scores.scores.get(metric),
                response=stored.responses[scores.turn],
                labels={**stored.labels, **turn_labels},
                verdicts=scores.verdicts,
            )
