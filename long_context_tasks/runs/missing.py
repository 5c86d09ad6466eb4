"""Which cells of a leaderboard (a model and a task) are still to be run, and what is wrong with those that were."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.runs.bundle import is_bundle
from long_context_tasks.runs.evaluations import Evaluation, judged_evaluations, unjudged_evaluation
from long_context_tasks.runs.find import FoundRuns, Problem
from long_context_tasks.runs.opencompass_files import PREDICTIONS
from long_context_tasks.runs.opencompass_setups import Setup
from long_context_tasks.runs.settings import DEFAULTS, OF_THE_PLACE
from long_context_tasks.runs.stored import LM_EVAL, OPENCOMPASS, StoredRun
from long_context_tasks.schema import InputError, LoadedTask

DONE, PARTIAL, OLD, FAILED, ABSENT = "done", "partial", "old version", "failed", "absent"
STATES = (DONE, PARTIAL, OLD, FAILED, ABSENT)
"""Of a cell, best first; a cell with several runs has the best of theirs."""
RUN, GO_ON, EVALUATE, JUDGE, NOTHING = "run", "go on", "evaluate", "judge", "nothing"
"""What helps: a new run, OpenCompass's ``-r``, its ``-m eval -r``, ``lct judge run``, or nothing but another window."""

_COUNTED_BY_SIZE = ("lct_n", "lct_subset")
_WINDOW = "does_not_fit"
_OF_THE_JUDGE = ("not_judged", "judge_failed", "judge_unparsable")
_SAMPLES = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT.*\.jsonl", re.ASCII)


@dataclass(frozen=True)
class Wanted:
    """A task as it should have been run.

    Attributes:
        task: its name.
        version: of its scores today.
        responses: that it has, over all turns; None when its data are not there.
        settings: the options that change what is asked; None when its data are not there.
        given: those of them that the user gave: a run must tell them. Others follow from the task or its cases, and OpenCompass writes
            down what was given only.
    """

    task: str
    version: int
    responses: int | None = None
    settings: Mapping[str, Any] | None = None
    given: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cell:
    """A model and a task.

    Attributes:
        task, model: names; the model's as the user gave it, or as one of its runs has it.
        state: one of :data:`STATES`.
        why: in words; empty when all is done.
        remedy: what helps: :data:`RUN` and so on; empty when all is done.
        host: of the run that the state is of; None without one.
        folder: where it lies; None without one, and for a run in a bundle.
        run: the run; None when it is absent or cannot be read.
    """

    task: str
    model: str
    state: str
    why: str = ""
    remedy: str = ""
    host: str | None = None
    folder: Path | None = None
    run: StoredRun | None = None


def wanted(name: str, task: LoadedTask | None = None, given: Iterable[str] = ()) -> Wanted:
    """A task as it should be run, from its cases where they are there.

    Args:
        name: of the task.
        task: with its cases.
        given: names of the options that the user gave, without ``lct_``.

    Raises:
        InputError: no such task.
    """
    spec = catalogue.parse_task(name)
    version = catalogue.card(spec.benchmark).version
    if task is None:
        return Wanted(name, version)
    turns = sum(len(case.turns) for case in task.cases.cases)
    needed = {f"lct_{option}" for option in given}
    # The length of a task that has one in its name is its own, whatever was given.
    needed -= {"lct_length"} if spec.tokens else set()
    return Wanted(name, version, turns, _telling(task.options.resolved()), frozenset(needed))


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


def models_of(found: Iterable[FoundRuns], setups: Iterable[Setup], given: Sequence[str] = ()) -> list[str]:
    """The models to look at: those given, else all that runs are of, each once."""
    if given:
        return list(dict.fromkeys(given))
    names: list[str] = []
    seen = [run.model for one in found for run in one.runs]
    for name in [*seen, *(model for setup in setups for model in setup.models)]:
        if not any(same_model(name, known) for known in names):
            names.append(name)
    return names


def find_cells(
    tasks: Sequence[Wanted], models: Sequence[str], found: Sequence[FoundRuns], setups: Sequence[Setup] = ()
) -> list[Cell]:
    """The state of every cell, model by model.

    Args:
        tasks: as they should have been run.
        models: names.
        found: runs and what is wrong with files of runs.
        setups: what OpenCompass was told to run.
    """
    runs = [run for one in found for run in one.runs]
    broken = [*_broken(problem for one in found for problem in one.problems), *_without_answers(setups)]
    return [_cell(task, model, runs, broken) for model in models for task in tasks]


def unassigned(found: Iterable[FoundRuns]) -> list[Problem]:
    """Problems with files that do not tell which task or model they are of."""
    problems = [problem for one in found for problem in one.problems]
    return [problem for problem in problems if not list(_broken([problem]))]


def _cell(task: Wanted, model: str, runs: Sequence[StoredRun], broken: Sequence[Cell]) -> Cell:
    own = [run for run in runs if run.task == task.task and same_model(run.model, model)]
    asked = [run for run in own if _asks_the_same(run, task)]
    cells = [_state(run, task) for run in asked]
    cells += [one for one in broken if one.task == task.task and same_model(one.model, model)]
    if not cells:
        other = f"; {len(own)} runs of it are with other options ({_differing(own[-1], task)})" if own else ""
        return Cell(task.task, model, ABSENT, f"not run{other}", RUN)
    # The newest of the best: folders and files are named by their time.
    newest = sorted(cells, key=lambda cell: _digits(cell.run.made) if cell.run else "", reverse=True)
    best = min(newest, key=lambda cell: STATES.index(cell.state))
    return replace(best, model=model)  # hosts name one model differently


def _digits(made: str) -> str:
    """A time as both hosts write it, to the second."""
    return re.sub(r"\D", "", made)[:14]


def _asks_the_same(run: StoredRun, task: Wanted) -> bool:
    return not _differing(run, task)


def _differing(run: StoredRun, task: Wanted) -> str:
    """Which options of a run are not those asked for; empty when none, or when nobody knows."""
    if task.settings is None:
        return ""
    then, now = _telling(run.options), task.settings
    return ", ".join(
        f"{key}={then.get(key)} instead of {now.get(key)}"
        for key in sorted({*then, *now})
        if then.get(key) != now.get(key) and (key in then or key in task.given)
    )


def _telling(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that change what is asked; how many cases is counted instead."""
    return {
        key: str(Path(value).resolve()) if key in ("lct_cases", "lct_noise_rules") else value
        for key, value in options.items()
        if key not in (*OF_THE_PLACE, *_COUNTED_BY_SIZE) and value != DEFAULTS.get(key)
    }


def _state(run: StoredRun, task: Wanted) -> Cell:
    in_bundle = is_bundle(run.folder)

    def cell(state: str, why: str = "", remedy: str = "") -> Cell:
        if in_bundle and remedy == JUDGE:
            # The prompts and gold that a judge reads are where the run was made.
            why, remedy = f"{why}; judge it where it was made, and pack it again", NOTHING
        folder = None if in_bundle else run.folder
        return Cell(run.task, run.model, state, why, remedy, run.host, folder, run)

    scores = _best_scores(run, task.version)
    numbers = scores.numbers
    if not numbers:
        if run.host == OPENCOMPASS:
            return cell(FAILED, "has answers but no scores", EVALUATE)
        return cell(FAILED, "has no scores (--predict_only, or stopped)", RUN)
    if scores.version != task.version:
        ran = f"version {scores.version}" if scores.version is not None else "no version told"
        return cell(OLD, f"{ran}, today it is {task.version}", RUN)
    n = _whole(numbers.get("n"))
    if task.responses is not None and n < task.responses:
        return cell(PARTIAL, f"{n} of {task.responses} responses asked for", RUN)
    scored = _whole(numbers.get("n_scored"))
    if scored < n:
        return cell(PARTIAL, *_uncovered(numbers, n, scored))
    return cell(DONE)


def _best_scores(run: StoredRun, version: int) -> Evaluation:
    """The host's scores, or those of the later judge that scored most; scored again where they were, of today's version if any are."""
    later, _ = judged_evaluations(run, skip_damaged=True)
    return max(
        [unjudged_evaluation(run), *later],
        key=lambda one: (one.version == version, _whole(one.numbers.get("n_scored"))),
    )


def _uncovered(numbers: Mapping[str, float], n: int, scored: int) -> tuple[str, str]:
    """Why responses have no score, and what helps."""
    counts = {
        reason: _whole(numbers.get(f"n_{reason}")) for reason in (_WINDOW, "endpoint_failed", *_OF_THE_JUDGE)
    }
    told = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
    why = f"{scored} of {n} responses scored" + (f" ({told})" if told else "")
    if counts["endpoint_failed"]:
        return why, RUN
    if any(counts[reason] for reason in _OF_THE_JUDGE):
        return why, JUDGE
    return why, NOTHING if counts[_WINDOW] else RUN


def _whole(number: float | None) -> int:
    return 0 if number is None or math.isnan(number) else round(number)


def _broken(problems: Iterable[Problem]) -> Iterator[Cell]:
    """Cells of files that cannot be read, as far as their names tell the task."""
    for problem in problems:
        path, message = problem.path, problem.message
        why = message.removeprefix(f"{path}: ")
        # First, as a folder of lm-eval's may be called results too.
        if match := _SAMPLES.fullmatch(path.name):
            if task := _task(match["task"]):
                yield Cell(task, path.parent.name, FAILED, why, RUN, LM_EVAL, path.parent)
        elif path.parent.parent.name in (PREDICTIONS, "results"):
            folder, model = path.parents[2], path.parent.name
            begun = path.stem.startswith("tmp_")
            remedy = GO_ON if path.parent.parent.name == PREDICTIONS else EVALUATE
            if task := _task(path.stem.removeprefix("tmp_")):
                yield Cell(task, model, PARTIAL if begun else FAILED, why, remedy, OPENCOMPASS, folder)


def _without_answers(setups: Iterable[Setup]) -> Iterator[Cell]:
    """Cells that OpenCompass was told to run, and that left nothing."""
    for setup in setups:
        for model in setup.models:
            for name, dataset in setup.datasets.items():
                task = _task(str(dataset["lct_task"]))
                if task and not setup.has_answers(model, name):
                    why = f"begun {setup.folder.name}, and left no answers; its logs are in {setup.folder / 'logs'}"
                    yield Cell(task, model, FAILED, why, GO_ON, OPENCOMPASS, setup.folder)


def _task(name: str) -> str | None:
    """The task that a file is named by, perhaps with the number of a part."""
    for candidate in (name, re.sub(r"_\d+$", "", name)):
        try:
            return catalogue.parse_task(candidate).name
        except InputError:
            continue
    return None
