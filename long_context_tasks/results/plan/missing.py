"""Which cells of a leaderboard (a model and a task) are still to be run, and what is wrong with those that were."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.inspect.results import unfinished_run
from long_context_tasks.hosts.opencompass.results import PREDICTIONS, Setup
from long_context_tasks.hosts.stored import LM_EVAL, OPENCOMPASS, StoredRun
from long_context_tasks.results import FoundRuns, Problem
from long_context_tasks.results.bundle.format import is_bundle
from long_context_tasks.results.evaluations import Evaluation, judged_evaluations, unjudged_evaluation
from long_context_tasks.results.settings import DEFAULTS, OF_THE_PLACE, last_name
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED, OF_THE_JUDGE

COUNTED_BY_SIZE = ("lct_n", "lct_subset")
"""How many cases is counted, and no difference."""
CASES, _RULES = "lct_cases", "lct_noise_rules"
_DIGEST = "cases_sha256"


@dataclass(frozen=True)
class BuiltCases:
    """The built cases that a task is asked for on.

    Attributes:
        digest: of the folder's files, see :func:`long_context_tasks.hosts.stored.cases_digest`; empty when not known.
        ids: of all cases.
    """

    digest: str
    ids: frozenset[str]


def _telling(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that change what is asked; how many cases is counted instead."""
    return {
        key: _resolved(value) if key in (CASES, _RULES) else value
        for key, value in options.items()
        if key not in (*OF_THE_PLACE, *COUNTED_BY_SIZE) and value != DEFAULTS.get(key)
    }


def differences(run: StoredRun, task: "WantedTask") -> Iterator[str]:
    """Yield the options of a run that are not those asked for, in words.

    Built cases are the same when the run tells the same hash of them. A run of before hashes were written is taken to be on the same cases
    when its folder is the one asked for, or one of the same name with the same ids. Bundles keep of a path its last name, and that is
    compared.
    """
    then = _telling(run.options)
    for key in sorted({*then, *task.settings}):
        one, other = then.get(key), task.settings.get(key)
        if key == CASES and None not in (one, other) and task.built is not None:
            if why := _other_cases(run, str(other), task.built):
                yield f"{key}={run.options[key]} {why}"
        elif one != other and (key in then or key in task.given):
            if key in (CASES, _RULES) and None not in (one, other) and is_bundle(run.folder):
                one, other = last_name(run.options[key]), last_name(other)
            if one != other:
                yield f"{key}={one} instead of {other}"


def _other_cases(run: StoredRun, asked: str, built: BuiltCases) -> str:
    """Return why the built cases of a run are not those asked for, in a folder; empty when they are."""
    digest = run.provenance.get(_DIGEST)
    if digest and built.digest:
        return "" if digest == built.digest else f"held other cases than {asked}"
    used = str(run.options[CASES])
    # A bundle has the last name of the path only, which says nothing of a folder here.
    if not is_bundle(run.folder) and _resolved(used) == asked:
        return ""
    if last_name(used) != last_name(asked):
        return f"instead of {asked}"
    try:
        ids = {case.id for case in run.cases()}
    except InputError:
        return f"instead of {asked}, and the run has no cases that can be compared"
    # Of the same cases either may have run fewer (lct_n).
    return "" if ids and (ids <= built.ids or built.ids <= ids) else f"held other cases than {asked}"


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


def lacks_template(model: str, runs: Iterable[StoredRun], setups: Iterable[Setup] = ()) -> bool:
    """Whether a model's runs were all made without a chat template; False when nothing tells.

    lm-eval writes down a hash of the template that it applied, and bundles keep it. OpenCompass has another type of model for base
    models, which stands in the config of a run and not in bundles. What a server does to messages is not known.
    """
    same = [
        not run.provenance.get("chat_template_sha")
        for run in runs
        if run.host == LM_EVAL and same_model(run.model, model) and in_process(run)
    ]
    same += [
        str(row.get("type", "")).endswith("HuggingFaceBaseModel")
        for setup in setups
        for name, row in setup.models.items()
        if same_model(name, model)
    ]
    return bool(same) and all(same)


def in_process(run: StoredRun) -> bool:
    """Whether lm-eval loaded the model itself, and asked no server."""
    kind, arguments = str(run.provenance.get("model") or ""), run.provenance.get("model_args")
    named = arguments if isinstance(arguments, str | Mapping) else ""
    return bool(kind) and "completions" not in kind and "base_url" not in named


DONE, UNKNOWN, PARTIAL, OLD = "done", "unknown", "partial", "old version"
FAILED, ABSENT = "failed", "absent"
STATES = (DONE, UNKNOWN, PARTIAL, OLD, FAILED, ABSENT)
"""Of a cell, best first; a cell with several runs has the best of theirs."""
RUN, GO_ON, EVALUATE, JUDGE, NOTHING = "run", "go on", "evaluate", "judge", "nothing"
"""What helps: a new run, OpenCompass's ``-r`` or inspect_ai's ``eval-retry``, OpenCompass's ``-m eval -r``, ``lct judge run``, or
nothing but another window."""

_SAMPLES = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT.*\.jsonl", re.ASCII)


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
        judged: a judge reads the responses.
        conversation: it needs the roles of a chat template.
        built: the built cases that it is asked for on; None without any, or where they could not be read.
    """

    task: str
    version: int
    responses: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    size: int | None = None
    reason: str = ""
    judged: bool = False
    conversation: bool = False
    built: BuiltCases | None = None


@dataclass(frozen=True)
class CellState:
    """A model and a task.

    Attributes:
        task, model: names; the model's as the user gave it, or as one of its runs has it.
        state: one of :data:`STATES`.
        why: in words; empty when all is done.
        remedy: what helps: :data:`RUN` and so on; empty when all is done.
        host: of the run that the state is of; None without one.
        folder: where it lies; None without one, and for a run in a bundle.
        run: the run; None when it is absent or cannot be read.
        judged: a judge reads the responses of the task.
    """

    task: str
    model: str
    state: str
    why: str = ""
    remedy: str = ""
    host: str | None = None
    folder: Path | None = None
    run: StoredRun | None = None
    judged: bool = False


def wanted(
    name: str,
    task: LoadedTask | None = None,
    options: Options | None = None,
    reason: str = "",
    digest: str = "",
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
        judged=spec.judged,
        conversation=spec.conversation,
    )
    if task is None:
        asked = options.resolved() | own_length
        return replace(found, settings=_telling(asked), size=_size(asked), reason=reason)
    return replace(
        found,
        responses=sum(len(case.turns) for case in task.cases.cases),
        settings=_telling(task.options.resolved()),
        judged=task.judging is not None,
        conversation=task.is_conversation,
        built=None if task.options.cases is None else BuiltCases(digest, frozenset(task.by_id)),
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


def models_of(found: Iterable[FoundRuns], setups: Iterable[Setup], given: Sequence[str] = ()) -> list[str]:
    """The models to look at: those given, else all that runs are of, each once."""
    if given:
        return list(dict.fromkeys(given))
    names: list[str] = []
    seen = [run.model for folder in found for run in folder.runs]
    for name in [*seen, *(model for setup in setups for model in setup.models)]:
        if not any(same_model(name, known) for known in names):
            names.append(name)
    return names


def find_cells(
    tasks: Sequence[WantedTask],
    models: Sequence[str],
    found: Sequence[FoundRuns],
    setups: Sequence[Setup] = (),
    base: Iterable[str] = (),
) -> list[CellState]:
    """The state of every cell, model by model."""
    runs = [run for folder in found for run in folder.runs]
    stopped = {problem.path: unfinished_run(problem.path) for each in found for problem in each.problems}
    runs += [run for run in stopped.values() if run is not None]
    bare = {model for model in models if model in set(base) or lacks_template(model, runs, setups)}
    broken = [*_broken(problem for folder in found for problem in folder.problems), *without_answers(setups)]
    return [_cell(task, model, runs, broken, model in bare) for model in models for task in tasks]


def unassigned(found: Iterable[FoundRuns]) -> list[Problem]:
    """Problems with files that do not tell which task or model they are of."""
    problems = [problem for folder in found for problem in folder.problems]
    return [
        problem
        for problem in problems
        if not list(_broken([problem])) and unfinished_run(problem.path) is None
    ]


def _cell(
    task: WantedTask, model: str, runs: Sequence[StoredRun], broken: Sequence[CellState], is_base: bool
) -> CellState:
    own = [run for run in runs if run.task == task.task and same_model(run.model, model)]
    other_options = [", ".join(differences(run, task)) for run in own]
    cells = [_state(run, task) for run, other in zip(own, other_options, strict=True) if not other]
    cells += [problem for problem in broken if problem.task == task.task and same_model(problem.model, model)]
    untemplated = "a conversation needs a chat template, and the model has none"
    if not cells:
        other = f"; {len(own)} runs of it are with other options ({other_options[-1]})" if own else ""
        if is_base and task.conversation:
            return CellState(task.task, model, ABSENT, untemplated + other, NOTHING)
        return CellState(task.task, model, ABSENT, f"not run{other}", RUN, judged=task.judged)
    # The newest of the best.
    newest = sorted(cells, key=lambda cell: moment(cell.run.made)[:14] if cell.run else "", reverse=True)
    best = min(newest, key=lambda cell: STATES.index(cell.state))
    if is_base and task.conversation and best.remedy in (RUN, GO_ON):
        best = replace(best, why=f"{best.why}; {untemplated}", remedy=NOTHING)
    return replace(best, model=model, judged=task.judged)  # hosts name one model differently


def best_scores(run: StoredRun, version: int) -> Evaluation:
    """Return the host's scores, or those of the later judge that scored most; of a version if any are."""
    return max(
        [unjudged_evaluation(run), *judged_evaluations(run)[0]],
        key=lambda one: (one.version == version, _whole(one.numbers.get("n_scored"))),
    )


def _state(run: StoredRun, task: WantedTask) -> CellState:
    scores = best_scores(run, task.version)
    if not scores.numbers and run.host == OPENCOMPASS:
        state, why, remedy = FAILED, "has answers but no scores", EVALUATE
    elif stopped := run.provenance.get("stopped"):
        state, why, remedy = PARTIAL, f"not finished ({stopped})", GO_ON
    elif not scores.numbers:
        state, why, remedy = FAILED, "has no scores (--predict_only, or stopped)", RUN
    elif scores.version != task.version:
        ran = f"version {scores.version}" if scores.version is not None else "no version recorded"
        state, why, remedy = OLD, f"{ran}, today it is {task.version}", RUN
    else:
        state, why, remedy = _complete(run, task, scores.numbers)
    in_bundle = is_bundle(run.folder)
    if in_bundle and remedy == JUDGE:
        # The prompts and gold that a judge reads are where the run was made.
        why, remedy = f"{why}; judge it where it was made, and pack it again", NOTHING
    return CellState(
        run.task, run.model, state, why, remedy, run.host, None if in_bundle else run.folder, run
    )


def _complete(run: StoredRun, task: WantedTask, numbers: Mapping[str, float]) -> tuple[str, str, str]:
    """Return state, why and remedy of a run with scores of today's version, by how many responses it has and how many are scored."""
    n, scored = _whole(numbers.get("n")), _whole(numbers.get("n_scored"))
    if task.responses is not None and n < task.responses:
        return PARTIAL, f"{n} of {task.responses} responses asked for", RUN
    if scored < n:
        reasons = (DOES_NOT_FIT, ENDPOINT_FAILED, *OF_THE_JUDGE)
        counts = {reason: _whole(numbers.get(f"n_{reason}")) for reason in reasons}
        listed = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        why = f"{scored} of {n} responses scored" + (f" ({listed})" if listed else "")
        remedy = NOTHING if counts[DOES_NOT_FIT] else RUN
        if any(counts[reason] for reason in OF_THE_JUDGE):
            remedy = JUDGE
        return PARTIAL, why, RUN if counts[ENDPOINT_FAILED] else remedy
    return (DONE, "", "") if task.responses is not None else _by_its_word(run, task, n)


def _by_its_word(run: StoredRun, task: WantedTask, n: int) -> tuple[str, str, str]:
    """Return the same of a run whose responses are all scored, where the task's cases could not be counted."""
    available, ran_with = _number(run.provenance.get("n_cases_available")), _size(run.options)
    # The host counted behind lct_n: when fewer were there than it lets through, it has cut nothing.
    cut = ran_with is not None and (available is None or available >= ran_with)
    if cut and ran_with is not None and (task.size is None or ran_with < task.size):
        asked = "all" if task.size is None else task.size
        return PARTIAL, f"run with {ran_with} cases, {asked} asked for", RUN
    if available is None:
        why = f": {task.reason}" if task.reason else ""
        return UNKNOWN, f"{n} responses scored, and how many there are is unknown{why}", NOTHING
    cases = _number(run.provenance.get("n_samples"))
    ran, expected = n if cases is None else min(n, cases), min(available, task.size or available)
    if ran < expected:
        return PARTIAL, f"{ran} of {expected} cases asked for", RUN
    return DONE, "", ""


def _whole(number: float | None) -> int:
    return 0 if number is None or math.isnan(number) else round(number)


def _broken(problems: Iterable[Problem]) -> Iterator[CellState]:
    """Cells of files that cannot be read, as far as their names tell the task."""
    for problem in problems:
        path, message = problem.path, problem.message
        why = message.removeprefix(f"{path}: ")
        # First, as a folder of lm-eval's may be called results too.
        if match := _SAMPLES.fullmatch(path.name):
            if task := _task(match["task"]):
                yield CellState(task, path.parent.name, FAILED, why, RUN, LM_EVAL, path.parent)
        elif path.parent.parent.name in (PREDICTIONS, "results"):
            folder, model = path.parents[2], path.parent.name
            begun = path.stem.startswith("tmp_")
            remedy = GO_ON if path.parent.parent.name == PREDICTIONS else EVALUATE
            if task := _task(path.stem.removeprefix("tmp_")):
                yield CellState(task, model, PARTIAL if begun else FAILED, why, remedy, OPENCOMPASS, folder)


def without_answers(setups: Iterable[Setup]) -> Iterator[CellState]:
    """Cells that OpenCompass was asked to run, and that left nothing."""
    for setup in setups:
        for model in setup.models:
            for name, dataset in setup.datasets.items():
                task = _task(str(dataset["lct_task"]))
                if task and not setup.has_answers(model, name):
                    why = f"begun {setup.folder.name}, and left no answers; its logs are in {setup.folder / 'logs'}"
                    yield CellState(task, model, FAILED, why, GO_ON, OPENCOMPASS, setup.folder)


def _task(name: str) -> str | None:
    """The task that a file is named by, perhaps with the number of a part."""
    for candidate in (name, re.sub(r"_\d+$", "", name)):
        try:
            return catalogue.parse_task(candidate).name
        except InputError:
            continue
    return None
