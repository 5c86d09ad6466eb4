"""Which cells of a leaderboard (a model and a task) are still to be run, and what is wrong with those that were."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.opencompass.results import begun_without_answers
from long_context_tasks.hosts.stored import CASES_SHA256, OPENCOMPASS, StoredRun, cases_digest
from long_context_tasks.results import FoundRuns, is_bundle
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.evaluations import Evaluation, judged_evaluations, unjudged_evaluation
from long_context_tasks.results.plan.cost import NotPlanned, counted
from long_context_tasks.results.settings import DEFAULTS, NOT_SETTINGS, last_name
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.report import Table
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED, OF_THE_JUDGE
from long_context_tasks.schema.secrets import without_secrets

COUNTED_BY_SIZE = ("lct_n", "lct_subset")
"""How many cases is counted, and no difference."""
CASES, _RULES = "lct_cases", "lct_noise_rules"


def _telling(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that change what is asked; how many cases is counted instead."""
    return {
        key: _resolved(value) if key in (CASES, _RULES) else value
        for key, value in options.items()
        if key not in (*NOT_SETTINGS, *COUNTED_BY_SIZE) and value != DEFAULTS.get(key)
    }


def differences(run: StoredRun, task: "WantedTask") -> Iterator[str]:
    """Yield the options of a run that are not those asked for, in words.

    Built cases are the same when the run tells the same hash of them, or the same path where the hash asked for is not known. Bundles keep
    of a path its last name, and that is compared.
    """
    then = _telling(run.options)
    for key in sorted({*then, *task.settings}):
        one, other = then.get(key), task.settings.get(key)
        if key == CASES and None not in (one, other) and task.digest:
            if run.provenance.get(CASES_SHA256) != task.digest:
                yield f"{key}={run.options[key]} held other cases than {other}"
        elif one != other and (key in then or key in task.given):
            if key in (CASES, _RULES) and None not in (one, other) and is_bundle(run.folder):
                one, other = last_name(run.options[key]), last_name(other)
            if one != other:
                yield f"{key}={one} instead of {other}"


def _resolved(place: Any) -> Any:
    """Return a whole path; what is none, in files of others, stays as it is."""
    return str(Path(place).resolve()) if isinstance(place, str) and "\0" not in place else place


def same_model(one: str, other: str) -> bool:
    """Whether two names may mean one model: hosts keep a path, a hub id, or its last part.

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
"""Of a cell, best first; a cell with several runs has the best of theirs."""


@dataclass(frozen=True)
class WantedTask:
    """A task as it should have been run.

    Attributes:
        task: its name.
        version: of its scores today.
        responses: that it has, over all turns; None when it could not be loaded.
        settings: the options that change what is asked.
        given: those of them that the user gave: a run must tell them. Others follow from the task or its cases, and OpenCompass writes
            down what was given only.
        size: cases asked for (``lct_n``, ``lct_subset``); None for all. It counts where the task could not be loaded.
        reason: why it could not be loaded; empty when it was.
        digest: of the built cases that it is asked for on, see :func:`long_context_tasks.hosts.stored.cases_digest`; empty without any, or
            where they could not be read.
    """

    task: str
    version: int
    responses: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    size: int | None = None
    reason: str = ""
    digest: str = ""


@dataclass(frozen=True)
class CellState:
    """A model and a task.

    Attributes:
        task, model: names; the model's as the user gave it, or as one of its runs has it.
        state: one of :data:`STATES`.
        why: in words; empty when all is done.
        run: the run that the state is of; None when it is absent.
    """

    task: str
    model: str
    state: str
    why: str = ""
    run: StoredRun | None = None

    @property
    def command(self) -> str:
        """The command that lm-eval recorded in the run, as it is typed into a shell, without secrets; empty without one.

        What a bundle says is not taken for one: a stranger may have written it.
        """
        if self.run is None or is_bundle(self.run.folder):
            return ""
        words = self.run.provenance.get("command")
        return shlex.join(without_secrets(list(map(str, words)))) if isinstance(words, list | tuple) else ""


def wanted(
    name: str,
    task: LoadedTask | None = None,
    options: Options | None = None,
    reason: str = "",
) -> WantedTask:
    """A task as it should be run, from its cases where they are there, else from the options alone.

    Raises:
        InputError: no such task.
    """
    spec = catalogue.parse_task(name)
    options = options or Options()
    # The length of a task that has one in its name is its own, whatever was given.
    own_length = {"lct_length": spec.tokens} if spec.tokens else {}
    found = WantedTask(
        name,
        catalogue.card(spec.benchmark).version,
        given=frozenset(f"lct_{option}" for option in options.given) - set(own_length),
    )
    if task is None:
        asked = options.resolved() | own_length
        return replace(found, settings=_telling(asked), size=_size(asked), reason=reason)
    return replace(
        found,
        responses=sum(len(case.turns) for case in task.cases.cases),
        settings=_telling(task.options.resolved()),
        digest=cases_digest(task),
    )


def _size(options: Mapping[str, Any]) -> int | None:
    """Return the most cases that options let through; None for all."""
    sizes = [_number(options.get(name)) for name in COUNTED_BY_SIZE]
    return min((size for size in sizes if size is not None), default=None)


def _number(value: Any) -> int | None:
    """Return a count as a host wrote it, perhaps as text."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def models_of(found: Iterable[FoundRuns], given: Sequence[str] = ()) -> list[str]:
    """The models to look at: those given, else all that runs are of, each once."""
    if given:
        return list(dict.fromkeys(given))
    names: list[str] = []
    for name in (run.model for folder in found for run in folder.runs):
        if not any(same_model(name, known) for known in names):
            names.append(name)
    return names


def find_cells(
    tasks: Sequence[WantedTask], models: Sequence[str], found: Sequence[FoundRuns]
) -> list[CellState]:
    """The state of every cell, model by model."""
    runs = [run for folder in found for run in folder.runs]
    return [_cell(task, model, runs) for model in models for task in tasks]


def _cell(task: WantedTask, model: str, runs: Sequence[StoredRun]) -> CellState:
    own = [run for run in runs if run.task == task.task and same_model(run.model, model)]
    other_options = [", ".join(differences(run, task)) for run in own]
    cells = [_state(run, task) for run, other in zip(own, other_options, strict=True) if not other]
    if not cells:
        other = f"; {len(own)} runs of it are with other options ({other_options[-1]})" if own else ""
        return CellState(task.task, model, ABSENT, f"no finished run{other}")
    # The newest of the best.
    newest = sorted(cells, key=lambda cell: moment(cell.run.made)[:14] if cell.run else "", reverse=True)
    best = min(newest, key=lambda cell: STATES.index(cell.state))
    return replace(best, model=model)  # hosts name one model differently


def _best_scores(run: StoredRun, version: int) -> Evaluation:
    """Return the host's scores, or those of the later judge that scored most; of a version if any are."""
    return max(
        [unjudged_evaluation(run), *judged_evaluations(run)[0]],
        key=lambda one: (one.version == version, _whole(one.numbers.get("n_scored"))),
    )


def _state(run: StoredRun, task: WantedTask) -> CellState:
    scores = _best_scores(run, task.version)
    if not scores.numbers:
        state = FAILED
        why = (
            "answers without scores" if run.host == OPENCOMPASS else "no scores (--predict_only, or stopped)"
        )
    elif scores.version != task.version:
        state, why = OLD, f"version {scores.version}, today it is {task.version}"
    else:
        state, why = _complete(run, task, scores.numbers)
    return CellState(run.task, run.model, state, why, run)


def _complete(run: StoredRun, task: WantedTask, numbers: Mapping[str, float]) -> tuple[str, str]:
    """Return state and why of a run with scores of today's version, by how many responses it has and how many are scored."""
    n, scored = _whole(numbers.get("n")), _whole(numbers.get("n_scored"))
    if task.responses is not None and n < task.responses:
        return PARTIAL, f"{n} of {task.responses} responses asked for"
    if scored < n:
        reasons = (DOES_NOT_FIT, ENDPOINT_FAILED, *OF_THE_JUDGE)
        counts = {reason: _whole(numbers.get(f"n_{reason}")) for reason in reasons}
        listed = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        return PARTIAL, f"{scored} of {n} responses scored" + (f" ({listed})" if listed else "")
    return (DONE, "") if task.responses is not None else _by_its_word(run, task, n)


def _by_its_word(run: StoredRun, task: WantedTask, n: int) -> tuple[str, str]:
    """Return the same of a run whose responses are all scored, where the task's cases could not be counted."""
    available, ran_with = _number(run.provenance.get("n_cases_available")), _size(run.options)
    # Results name lct_n only if it left cases out, or if the benchmark does not say how many there are.
    cut = ran_with is not None and (available is None or available >= ran_with)
    if cut and ran_with is not None and (task.size is None or ran_with < task.size):
        asked = "all" if task.size is None else task.size
        return PARTIAL, f"run with {ran_with} cases, {asked} asked for"
    if available is None:
        why = f": {task.reason}" if task.reason else ""
        return UNKNOWN, f"{n} responses scored, and how many there are is unknown{why}"
    cases = _number(run.provenance.get("n_samples"))
    ran, expected = n if cases is None else min(n, cases), min(available, task.size or available)
    if ran < expected:
        return PARTIAL, f"{ran} of {expected} cases asked for"
    return DONE, ""


def _whole(number: float | None) -> int:
    return 0 if number is None or math.isnan(number) else round(number)


@dataclass(frozen=True)
class Missing:
    """The cells of some models and tasks.

    Attributes:
        cells: all of them.
        problems: runs that cannot be used.
        without_data: tasks whose cases could not be counted.
    """

    cells: tuple[CellState, ...]
    problems: tuple[str, ...]
    without_data: tuple[NotPlanned, ...]

    @property
    def done(self) -> bool:
        """Whether all cells are done."""
        return all(cell.state == DONE for cell in self.cells)

    @property
    def commands(self) -> Mapping[str, Sequence[CellState]]:
        """The recorded commands of the cells that are not done, each with its cells."""
        found: dict[str, list[CellState]] = {}
        for cell in self.cells:
            if cell.state != DONE and cell.command:
                found.setdefault(cell.command, []).append(cell)
        return found

    def table(self) -> Table | None:
        """The cells that are not done; None where all are."""
        rows = tuple(
            (cell.model, cell.task, cell.state, cell.run.host if cell.run else "", cell.why)
            for cell in self.cells
            if cell.state != DONE
        )
        columns = ("model", "task", "state", "host", "why")
        return (
            Table("missing", "Cells that are not done", columns, rows, frozenset(columns)) if rows else None
        )

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
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
            "data_missing": [asdict(cell) for cell in self.without_data],
        }


def find_missing(
    names: Sequence[str],
    results: Sequence[Path],
    models: Sequence[str],
    options: Options,
    loading: Callable[[], AbstractContextManager[None]],
) -> Missing:
    """Compare what was run with what should be.

    Raises:
        InputError: no such folder, or no model is known.
    """
    found = [find_runs_and_bundles(path) for path in results]
    tasks, without_data = [], []
    for name in counted(names):
        task: LoadedTask | None = None
        reason = ""
        try:
            with loading():
                task = load_task(name, options)
        except InputError as error:
            reason = str(error)
            without_data.append(NotPlanned(name, reason))
        # Only the counts stay in memory.
        tasks.append(wanted(name, task, options, reason))
    all_models = models_of(found, models)
    if not all_models:
        raise InputError(
            "no runs of our tasks found, so that no model is known; name the models with --model"
        )
    problems = [problem.message for folder in found for problem in folder.problems]
    problems += [line for path in results for line in begun_without_answers(path)]
    return Missing(tuple(find_cells(tasks, all_models, found)), tuple(problems), tuple(without_data))
