"""Unfinished leaderboard cells (model-task pairs): never run, incomplete, or from an outdated version."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.readers import HOST_OF
from long_context_tasks.hosts.stored import CASES_SHA256, StoredRun, cases_digest
from long_context_tasks.results import FoundRuns, is_bundle
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.evaluations import Evaluation, judged_evaluations, unjudged_evaluation
from long_context_tasks.results.settings import changed_options, last_name
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.files import MissingDataError
from long_context_tasks.schema.progress import each_with_progress
from long_context_tasks.schema.report import Table
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED, OF_THE_JUDGE
from long_context_tasks.schema.secrets import without_secrets

COUNTED_BY_SIZE = ("lct_n", "lct_subset")
"""Options that limit the number of cases; cells compare that number instead."""
CASES, _RULES = "lct_cases", "lct_noise_rules"


def _comparable(task: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that change the prompts of a task, without those that only limit the number of cases."""
    return {
        # Only these two options are paths.
        key: _resolved(value) if key in (CASES, _RULES) else value
        for key, value in changed_options(catalogue.parse_task(task), options).items()
        if key not in COUNTED_BY_SIZE
    }


def differences(run: StoredRun, task: "WantedTask") -> Iterator[str]:
    """Describe each option of a run that differs from the wanted task's.

    Built cases are equal if their hashes are, or their paths if the wanted hash is unknown. Bundles keep only the last name of a path, so
    only that is compared.
    """
    ran_with = _comparable(run.task, run.options)
    for key in sorted({*ran_with, *task.settings}):
        value, asked = ran_with.get(key), task.settings.get(key)
        if key == CASES and None not in (value, asked) and task.digest:
            if run.provenance.get(CASES_SHA256) != task.digest:
                yield f"{key}={run.options[key]} contained different cases than {asked}"
        elif value != asked and (key in ran_with or key in task.given):
            if key in (CASES, _RULES) and None not in (value, asked) and is_bundle(run.folder):
                value, asked = last_name(run.options[key]), last_name(asked)
            if value != asked:
                yield f"{key}={value} instead of {asked}"


def _resolved(place: Any) -> Any:
    """Return an absolute path; leave values from foreign files that are not paths unchanged."""
    return str(Path(place).resolve()) if isinstance(place, str) and "\0" not in place else place


def same_model(one: str, other: str) -> bool:
    """Return whether two names may refer to the same model: hosts record a path, a hub id, or its last part.

    >>> same_model("/models/Qwen2.5-7B/", "Qwen2.5-7B"), same_model("a/Qwen", "a__Qwen"), same_model("a/m", "b/m")
    (True, True, False)
    """
    parts = [re.split(r"/|__", name.rstrip("/")) for name in (one, other)]
    if parts[0][-1] != parts[1][-1]:
        return False
    hub = [len(part) == 2 and bool(part[0]) for part in parts]
    return not all(hub) or parts[0] == parts[1]


DONE, UNKNOWN, PARTIAL, OLD = "done", "unknown", "partial", "old version"
FAILED, ABSENT = "failed", "absent"
STATES = (DONE, UNKNOWN, PARTIAL, OLD, FAILED, ABSENT)
"""States of a cell, best first; a cell with several runs has the best of their states."""


@dataclass(frozen=True)
class WantedTask:
    """A task as it should be run."""

    task: str
    version: int  # current version of its scores
    responses: int | None = None  # number of its responses over all turns; None if it could not be loaded
    settings: Mapping[str, Any] = field(default_factory=dict)  # options that change the prompts
    # The options that the user gave; a run must have recorded them. OpenCompass records only given options, so
    # others, which follow from the task or its cases, may be missing in a run.
    given: frozenset[str] = frozenset()
    # Number of cases (lct_n, lct_subset), used if the task could not be loaded; None for all.
    size: int | None = None
    reason: str = ""  # why it could not be loaded; empty if it was
    # Hash of its built cases (see cases_digest); empty without any, or if they could not be read.
    digest: str = ""


@dataclass(frozen=True)
class CellState:
    task: str
    model: str  # as the user gave it, or as a run has it
    state: str  # one of STATES
    why: str = ""  # empty if the cell is done
    run: StoredRun | None = None  # the run that has this state

    @property
    def command(self) -> str:
        """Shell command that lm-eval recorded in the run, without secrets; empty without one."""
        # Commands in bundles are ignored: a stranger may have written them, and users paste them into a shell.
        if self.run is None or is_bundle(self.run.folder):
            return ""
        words = self.run.provenance.get("command")
        return shlex.join(without_secrets(list(map(str, words)))) if isinstance(words, list | tuple) else ""


def wanted(name: str, task: LoadedTask | None, options: Options, reason: str = "") -> WantedTask:
    """Return a task as it should be run.

    Args:
        name: name of the task.
        task: the loaded task; None if its data are missing.
        options: options of the run.
        reason: why the task could not be loaded.

    Raises:
        InputError: the task is unknown.
    """
    spec = catalogue.parse_task(name)
    benchmark = catalogue.benchmark(spec.benchmark)
    # A length in the name of a task takes precedence over the option.
    own_length = {"lct_length": spec.tokens} if spec.tokens else {}
    asked = benchmark.options.of(options).resolved() | own_length
    return WantedTask(
        name,
        benchmark.card.version,
        responses=None if task is None else sum(len(case.turns) for case in task.cases.cases),
        settings=_comparable(name, asked if task is None else task.options.resolved()),
        given=frozenset(f"lct_{option}" for option in options.given) - set(own_length),
        size=_size(asked),
        reason=reason,
        digest="" if task is None else cases_digest(task),
    )


def _size(options: Mapping[str, Any]) -> int | None:
    """Return the maximum number of cases that options allow; None for all."""
    sizes = [_number(options.get(name)) for name in COUNTED_BY_SIZE]
    return min((size for size in sizes if size is not None), default=None)


def _number(value: Any) -> int | None:
    """Return a count, which some hosts write as text; None if it is not a number."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def models_of(folders: Iterable[FoundRuns], asked: Sequence[str] = ()) -> list[str]:
    """Return the models that the user gave, otherwise those of all runs."""
    if asked:
        return list(dict.fromkeys(asked))
    names: list[str] = []
    for name in (run.model for folder in folders for run in folder.runs):
        if not any(same_model(name, known) for known in names):
            names.append(name)
    return names


def find_cells(
    tasks: Sequence[WantedTask], models: Sequence[str], folders: Sequence[FoundRuns]
) -> list[CellState]:
    """Return the state of every cell, model by model."""
    runs = [run for folder in folders for run in folder.runs]
    return [_cell(task, model, runs) for model in models for task in tasks]


def _cell(task: WantedTask, model: str, runs: Sequence[StoredRun]) -> CellState:
    of_cell = [run for run in runs if run.task == task.task and same_model(run.model, model)]
    other_options = [", ".join(differences(run, task)) for run in of_cell]
    cells = [_state(run, task) for run, other in zip(of_cell, other_options, strict=True) if not other]
    if not cells:
        other = f"; {len(of_cell)} with different options ({other_options[-1]})" if of_cell else ""
        return CellState(task.task, model, ABSENT, f"no finished run{other}")
    # The best state; among runs with the same state, the newest.
    newest = sorted(cells, key=lambda cell: moment(cell.run.made)[:14] if cell.run else "", reverse=True)
    best = min(newest, key=lambda cell: STATES.index(cell.state))
    return replace(best, model=model)  # the run may use another name for the model


def _best_scores(run: StoredRun, version: int) -> Evaluation:
    """Return the evaluation with the most scores, preferably of a given version."""
    return max(
        [unjudged_evaluation(run), *judged_evaluations(run)[0]],
        key=lambda scores: (scores.version == version, _whole(scores.numbers.get("n_scored"))),
    )


def _state(run: StoredRun, task: WantedTask) -> CellState:
    scores = _best_scores(run, task.version)
    if not scores.numbers:
        state, why = FAILED, HOST_OF[run.host].no_numbers
    elif scores.version != task.version:
        state, why = OLD, f"version {scores.version}, today it is {task.version}"
    else:
        state, why = _complete(run, task, scores.numbers)
    return CellState(run.task, run.model, state, why, run)


def _complete(run: StoredRun, task: WantedTask, numbers: Mapping[str, float]) -> tuple[str, str]:
    """Return the state of a run with scores of the current version, and the reason, from its response and score counts."""
    n, scored = _whole(numbers.get("n")), _whole(numbers.get("n_scored"))
    if task.responses is not None and n < task.responses:
        return PARTIAL, f"{n} of {task.responses} responses requested"
    if scored < n:
        reasons = (DOES_NOT_FIT, ENDPOINT_FAILED, *OF_THE_JUDGE)
        counts = {reason: _whole(numbers.get(f"n_{reason}")) for reason in reasons}
        listed = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        return PARTIAL, f"{scored} of {n} responses scored" + (f" ({listed})" if listed else "")
    return (DONE, "") if task.responses is not None else _by_recorded_counts(run, task, n)


def _by_recorded_counts(run: StoredRun, task: WantedTask, n: int) -> tuple[str, str]:
    """Return the state of a fully scored run, and the reason, from its recorded counts; used if the task cannot be loaded."""
    available, ran_with = _number(run.provenance.get("n_cases_available")), _size(run.options)
    # Results contain lct_n only if it left cases out, or if the number of cases is unknown.
    cut = ran_with is not None and (available is None or available >= ran_with)
    if cut and ran_with is not None and (task.size is None or ran_with < task.size):
        asked = "all" if task.size is None else task.size
        return PARTIAL, f"run with {ran_with} cases, {asked} requested"
    if available is None:
        why = f": {task.reason}" if task.reason else ""
        return UNKNOWN, f"{n} responses scored, but the number of cases is unknown{why}"
    cases = _number(run.provenance.get("n_samples"))
    ran, expected = n if cases is None else min(n, cases), min(available, task.size or available)
    if ran < expected:
        return PARTIAL, f"{ran} of {expected} cases requested"
    return DONE, ""


def _whole(number: float | None) -> int:
    return 0 if number is None or math.isnan(number) else round(number)


@dataclass(frozen=True)
class Missing:
    cells: tuple[CellState, ...]  # all cells, also those that are done
    problems: tuple[str, ...]  # messages about runs that cannot be used
    not_counted: Mapping[str, str]  # tasks whose cases could not be counted, with the reason
    without_data: tuple[str, ...] = ()  # those of ``not_counted`` whose published files are missing

    @property
    def done(self) -> bool:
        return all(cell.state == DONE for cell in self.cells)

    @property
    def commands(self) -> Mapping[str, Sequence[CellState]]:
        """Recorded commands for unfinished cells, each with the cells it covers."""
        commands: dict[str, list[CellState]] = {}
        for cell in self.cells:
            if cell.state != DONE and cell.command:
                commands.setdefault(cell.command, []).append(cell)
        return commands

    def table(self) -> Table | None:
        """Return a table of the unfinished cells; None if all are done."""
        rows: tuple[tuple[str, ...], ...] = tuple(
            (cell.model, cell.task, cell.state, cell.run.host if cell.run else "", cell.why)
            for cell in self.cells
            if cell.state != DONE
        )
        columns: tuple[str, ...] = ("model", "task", "state", "host", "why")
        title = "Runs that are not done"
        if len({model for model, *_ in rows}) == 1:  # said once, it leaves room for the tasks
            title = f"Runs of {rows[0][0]} that are not done"
            columns, rows = columns[1:], tuple(row[1:] for row in rows)
        return Table("missing", title, columns, rows, frozenset(columns)) if rows else None

    def document(self) -> dict[str, Any]:
        """Return the states for ``--json``."""
        return {
            "cells": [
                {
                    **{name: getattr(cell, name) for name in ("model", "task", "state", "why")},
                    "host": cell.run.host if cell.run else None,
                    "folder": str(cell.run.folder) if cell.run else None,
                    "made": cell.run.made if cell.run else None,
                    "command": cell.command or None,
                }
                for cell in self.cells
            ],
            "problems": list(self.problems),
            "data_missing": [{"task": task, "message": reason} for task, reason in self.not_counted.items()],
        }


def find_missing(
    names: Sequence[str],
    results: Sequence[Path],
    models: Sequence[str],
    options: Options,
    loading: Callable[[], AbstractContextManager[None]],
) -> Missing:
    """Compare stored runs with the tasks that should be run.

    Args:
        names: task names.
        results: folders of runs, and bundles.
        models: model names; if empty, every model found in the runs.
        options: run options.
        loading: context manager under which tasks are loaded, e.g. one that prevents downloads.

    Raises:
        InputError: a folder does not exist, or no model is known.
    """
    folders = [find_runs_and_bundles(path) for path in results]
    tasks: list[WantedTask] = []
    not_counted: dict[str, str] = {}
    without_data: list[str] = []
    for name in each_with_progress(names, "reading"):
        task, reason = None, ""
        try:
            with loading():
                task = load_task(name, options)
        except InputError as error:
            not_counted[name] = reason = str(error)
            if isinstance(error, MissingDataError):
                without_data.append(name)
                reason = "its published files are missing"  # the remedies would fill the table
        # Only the counts stay in memory.
        tasks.append(wanted(name, task, options, reason))
    all_models = models_of(folders, models)
    if not all_models:
        raise InputError(
            "no runs of our tasks found, so that no model is known; name the models with --model"
        )
    problems = [line for folder in folders for line in folder.problems]
    problems += [line for folder in folders for line in folder.begun]
    cells = find_cells(tasks, all_models, folders)
    return Missing(tuple(cells), tuple(problems), not_counted, tuple(without_data))
