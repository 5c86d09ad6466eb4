"""The missing cells of ``lct plan --missing``, and the exact commands that fill them: of the hosts, and of ``lct judge run``."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.opencompass.results import Setup, find_setups, read_setup
from long_context_tasks.hosts.stored import INSPECT, LM_EVAL, OPENCOMPASS, StoredRun, cases_digest
from long_context_tasks.results.bundle.format import is_bundle
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.plan.cost import NotPlanned, counted, first_names
from long_context_tasks.results.plan.missing import (
    DONE,
    EVALUATE,
    GO_ON,
    JUDGE,
    NOTHING,
    RUN,
    CellState,
    find_cells,
    in_process,
    lacks_template,
    models_of,
    same_model,
    unassigned,
    wanted,
)
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.report import Table
from long_context_tasks.schema.secrets import HIDDEN, without_secrets

BOTH = "both"
_HOSTS = (LM_EVAL, OPENCOMPASS, INSPECT)  # a model without any run goes to the first two
NEW_RUNS = {LM_EVAL: Path("results"), OPENCOMPASS: Path("outputs/all"), INSPECT: Path("logs")}
"""Host to the folder for new runs, where the user names none."""
CONCURRENT = 8
"""Requests side by side to a server; both hosts ask one at a time by default."""
_TIMEOUT = 3600
_CACHE = ("--use_cache", "-c")
# What the plan sets for each command: tasks, options, places, and how much of the tasks is run.
_SET_ANEW = (
    *("--tasks", "-t", "--metadata", "--limit", "-L", "--samples", "-E", "--output_path", "-o"),
    *("--log_samples", "-s", "--predict_only", "-x"),
)
_NOT_SHOWN = re.compile(rf"(?<![\w.-])[\w.-]+=[\"']?{re.escape(HIDDEN)}[\"']?,?", re.ASCII)
_SIMPLE = re.compile(r"[\w./:@+~-]+", re.ASCII)


@dataclass(frozen=True)
class Model:
    """A model that commands are made for.

    Attributes:
        name: a folder, a hub id, or the name that a server has for it.
        base_url: of its server, ending in ``/v1``; empty for a model in the host's own process.
        base: it has no chat template.
    """

    name: str
    base_url: str = ""
    base: bool = False


@dataclass(frozen=True)
class Place:
    """Where runs go.

    Attributes:
        config: ``eval_all.py`` of the package's configs.
        options: the ``lct_`` options that the user gave, as text.
        host: ``lm_eval``, ``opencompass``, ``inspect``, or ``both`` of the first two: for models without any run.
        judge: a judge file that the user named; empty without one.
        out: folder for new runs; None: :data:`NEW_RUNS`.
    """

    config: Path
    options: Mapping[str, str] = field(default_factory=dict)
    host: str = BOTH
    judge: str = ""
    out: Path | None = None

    def new_runs(self, host: str) -> Path:
        """Return the folder for new runs of a host."""
        return self.out or NEW_RUNS[host]


@dataclass(frozen=True)
class Command:
    """A command to type.

    Attributes:
        host: lm_eval, opencompass, inspect, or lct.
        model: whose cells it fills.
        tasks: which ones.
        variables: of the environment.
        words: the command.
    """

    host: str
    model: str
    tasks: tuple[str, ...]
    variables: Mapping[str, str]
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """As it is typed into a shell."""
        given = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*given, shlex.join(self.words)])


def commands(
    cells: Sequence[CellState], models: Sequence[Model], place: Place, runs: Iterable[StoredRun] = ()
) -> list[Command]:
    """The commands that fill the cells which are not done, model by model.

    A model that was run before is run again as it was: on its host, with its arguments, into its folder, with its cache. lm-eval
    keeps sample logs and one cache of responses for each model, so that no answer is asked for twice. OpenCompass (-r) and inspect_ai
    (eval-retry) go on where a run was stopped. Tasks that are judged have the judge file that the user named, else that of the model's own runs.
    """
    known = list(runs)
    made: list[Command] = []
    for name in dict.fromkeys(cell.model for cell in cells):
        own = [cell for cell in cells if cell.model == name]
        model = next((model for model in models if same_model(model.name, name)), Model(name))
        seen = [run for run in known if same_model(run.model, name)]
        seen += [cell.run for cell in own if cell.run and cell.run not in seen]
        if lacks_template(name, seen):
            model = replace(model, base=True)
        made += _of_model(model, own, place, seen)
    return made


def without_judge(cells: Iterable[CellState], made: Iterable[Command]) -> list[str]:
    """The judged tasks among those of commands that name no judge file, each once."""
    judged = {cell.task for cell in cells if cell.judged}
    bare = [task for command in made if "LCT_JUDGE" not in command.variables for task in command.tasks]
    return [task for task in dict.fromkeys(bare) if task in judged]


def _by_judge(
    cells: Iterable[CellState], runs: Sequence[StoredRun], place: Place
) -> list[tuple[dict[str, str], list[str]]]:
    """Tasks that go into one command, each time with the variable of their judge; tasks that none reads go with the first."""
    groups: dict[str, list[str]] = {}
    others: list[str] = []
    for cell in cells:
        if cell.judged or cell.remedy == JUDGE:
            groups.setdefault(place.judge or _judge_before(cell.task, runs), []).append(cell.task)
        else:
            others.append(cell.task)
    if not groups:
        return [({}, others)] if others else []
    made = [({"LCT_JUDGE": judge} if judge else {}, tasks) for judge, tasks in groups.items()]
    made[0][1][:0] = others
    return made


def _judge_before(task: str, runs: Iterable[StoredRun]) -> str:
    """The judge file of the newest run of a task, else of its benchmark; empty without one."""
    benchmark = catalogue.parse_task(task).benchmark
    named = [
        (run.task == task, moment(run.made)[:14], str(run.options["lct_judge"]))
        for run in runs
        if run.options.get("lct_judge") and not is_bundle(run.folder)
        if catalogue.parse_task(run.task).benchmark == benchmark
    ]
    return max(named, default=(False, "", ""))[2]


def _of_model(
    model: Model, cells: Sequence[CellState], place: Place, seen: Sequence[StoredRun]
) -> list[Command]:
    todo = [cell for cell in cells if cell.state != DONE and cell.remedy != NOTHING]
    made: list[Command] = []
    for cell in todo:
        if cell.remedy == GO_ON and cell.host == INSPECT and cell.run is not None:
            [log] = cell.run.files
            retry = ("inspect", "eval-retry", str(log), "--log-dir", str(log.parent))
            made.append(Command(INSPECT, model.name, (cell.task,), {}, retry))
    begun = [cell for cell in todo if cell.remedy in (GO_ON, EVALUATE) and cell.host == OPENCOMPASS]
    made += _continued(model, begun, place, seen)
    for folder in dict.fromkeys(cell.folder for cell in todo if cell.remedy == JUDGE):
        own = [cell for cell in todo if cell.folder == folder and cell.remedy == JUDGE]
        for judge, tasks in _by_judge(own, seen, place):
            words = ("lct", "judge", "run", str(folder), "--tasks", ",".join(tasks))
            made.append(Command("lct", model.name, tuple(tasks), judge, words))
    # A run in a bundle does not tell how its host was called.
    runs = [run for run in seen if not is_bundle(run.folder)]
    chosen = _HOSTS if place.host == BOTH else (place.host,)
    # A cell without any run goes to the hosts that the model was run with.
    hosts: Sequence[str] = [host for host in _HOSTS if any(cell.host == host for cell in cells)]
    hosts = hosts or [host for host in chosen if any(run.host == host for run in runs)] or chosen[:2]
    folders = {cell.folder for cell in cells if cell.host == OPENCOMPASS and cell.folder}
    folders |= {run.folder for run in runs if run.host == OPENCOMPASS}
    for host in _HOSTS:
        new = [cell for cell in todo if cell.remedy == RUN and (cell.host or host) == host and host in hosts]
        for judge, tasks in _by_judge(new, seen, place):
            if host == OPENCOMPASS:
                made += _opencompass(model, tasks, judge, max(folders, default=None), place)
            else:
                anew = _lm_eval if host == LM_EVAL else _inspect
                made += anew(model, tasks, judge, _newest(runs, host), place)
    return made


def _newest(runs: Iterable[StoredRun], host: str) -> StoredRun | None:
    """The last run of a host."""
    return max((run for run in runs if run.host == host), key=lambda run: run.made, default=None)


def _askable(tasks: Sequence[str], *, served: bool) -> tuple[str, ...]:
    """Return the tasks that a model can be asked; a server gives no likelihoods of prompts."""
    return tuple(
        task for task in tasks if not (served and catalogue.parse_task(task).scoring == "likelihood")
    )


def _lm_eval(
    model: Model, tasks: Sequence[str], judge: dict[str, str], before: StoredRun | None, place: Place
) -> list[Command]:
    """A run before is repeated with its own command, for the tasks that are wanted now."""
    typed = _typed_before(before)
    words = [*typed] or ["lm_eval", *_lm_eval_model(model)]
    served = any("completions" in word or "base_url" in word for word in words)
    if not (askable := _askable(tasks, served=served)):
        return []
    results = before.folder.parent if before is not None else place.new_runs(LM_EVAL)
    cache = _value_of(words, _CACHE)
    if not cache:
        cache = str(results / "cache" / re.sub(r"[^\w.-]+", "__", model.name.strip("/"), flags=re.ASCII))
    words = _without(words, (*_SET_ANEW, *_CACHE))
    if not typed and (served or not model.base):
        words.append("--apply_chat_template")
    given = {f"lct_{name}": value for name, value in place.options.items()}
    made = []
    for variant, own in _by_variant(askable).items():
        options = {**given, **({"lct_variant": variant} if variant else {})}
        metadata = ["--metadata", json.dumps(options)] if options else []
        typed_names = ",".join(_typed_in_lm_eval(task) for task in own)
        kept = ["--log_samples", "--output_path", str(results), "--use_cache", cache]
        made.append(
            Command(LM_EVAL, model.name, own, judge, (*words, "--tasks", typed_names, *metadata, *kept))
        )
    return made


def _by_variant(tasks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Tasks by the ``lct_variant`` that a command of lm-eval needs for them: none for those that it lists."""
    found: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        spec = catalogue.parse_task(task)
        variant = "" if spec.listed else spec.variant
        found[variant] = (*found.get(variant, ()), task)
    return found


def _typed_in_lm_eval(task: str) -> str:
    """The name of a task that lm-eval lists."""
    spec = catalogue.parse_task(task)
    return task if spec.listed else spec.plain.name


def _typed_before(run: StoredRun | None) -> list[str]:
    """Return the command that a run was made with, without what must not be shown; empty where the run does not hold it.

    A run that was made from Python holds no command, and its model and arguments make one.
    """
    if run is None:
        return []
    words = run.provenance.get("command")
    if isinstance(words, list | tuple):
        return [_NOT_SHOWN.sub("", str(word)).rstrip(",") for word in words]
    kind, given = run.provenance.get("model"), run.provenance.get("model_args")
    if isinstance(given, str):
        given = dict(item.split("=", 1) for item in given.split(",") if "=" in item)
    if not kind or not isinstance(given, Mapping) or not given:
        return []
    templated = run.provenance.get("chat_template_sha") or not in_process(run)
    template = ["--apply_chat_template"] if templated else []
    return ["lm_eval", "--model", str(kind), "--model_args", arguments_text(_shown(given)), *template]


def _without(words: Sequence[str], unwanted: Sequence[str]) -> list[str]:
    """Return a command without some options and their values; an option may have several values."""
    kept, dropping = [], False
    for word in words:
        if word.startswith("-"):
            dropping = word.partition("=")[0] in unwanted
        if not dropping:
            kept.append(word)
    return kept


def _value_of(words: Sequence[str], names: Sequence[str]) -> str:
    """The value of an option in a command; empty without it."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return ""


def _lm_eval_model(model: Model) -> list[str]:
    """Kind of model and its arguments, as the user's words suggest."""
    if model.base_url:
        url = f"{model.base_url.rstrip('/')}/chat/completions"
        more = {"num_concurrent": CONCURRENT, "max_retries": 5, "timeout": _TIMEOUT}
        kind, arguments = "local-chat-completions", {"model": model.name, "base_url": url, **more}
    else:
        kind, arguments = "hf", {"pretrained": model.name}
    return ["--model", kind, "--model_args", arguments_text(arguments)]


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Arguments as lm-eval takes them: ``key=value`` with commas between, or JSON where a value would not survive that.

    >>> arguments_text({"pretrained": "a/b", "n": 2}), arguments_text({"name": "a, b"})
    ('pretrained=a/b,n=2', '{"name": "a, b"}')
    """
    if all(
        isinstance(value, str | int | float) and _SIMPLE.fullmatch(str(value)) for value in arguments.values()
    ):
        return ",".join(f"{key}={value}" for key, value in arguments.items())
    return json.dumps(dict(arguments))


def _inspect(
    model: Model, tasks: Sequence[str], judge: dict[str, str], before: StoredRun | None, place: Place
) -> list[Command]:
    """A run before is repeated with the model, its arguments and the settings of generation in its log, for the tasks wanted now."""
    if not (askable := _askable(tasks, served=True)):
        return []
    given = _shown(before.provenance.get("model_args")) if before is not None else {}
    kept = _shown(before.provenance.get("gen_kwargs")) if before is not None else {}
    name, url = given.pop("model", ""), given.pop("base_url", "")
    if not name and model.base_url:
        name, url = f"openai-api/openai/{model.name}", model.base_url  # the key is in OPENAI_API_KEY
    elif not name:
        name, given = f"hf/{model.name}", {"do_sample": False}
        given |= {"use_chat_template": False} if model.base else {}
    words = ["inspect", "eval", *(f"long_context_tasks/{task}" for task in askable), "--model", str(name)]
    words += ["--model-base-url", str(url)] if url else []
    words += [word for key, value in given.items() for word in ("-M", f"{key}={_as_yaml(value)}")]
    words += [word for key, value in kept.items() for word in _setting(key, value)]
    words += [word for key, value in place.options.items() for word in ("-T", f"lct_{key}={_as_yaml(value)}")]
    words += ["--log-dir", str(before.folder if before is not None else place.new_runs(INSPECT))]
    return [Command(INSPECT, model.name, askable, judge, tuple(words))]


def _shown(arguments: Any) -> dict[str, Any]:
    """Arguments that a host wrote down, without unknown ones and what may be a key."""
    given = dict(arguments) if isinstance(arguments, Mapping) else {}
    return {
        str(key): value
        for key, value in given.items()
        if value is not None and without_secrets({key: value}) == {key: value}
    }


def _as_yaml(value: Any) -> str:
    """A value as inspect_ai reads it; a comma would make a list of a plain text."""
    return value if isinstance(value, str) and "," not in value else json.dumps(value)


def _setting(name: str, value: Any) -> tuple[str, ...]:
    """A setting of generation as an option of inspect_ai."""
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return (option,) if value else ()
    if name == "stop_seqs":
        return option, ",".join(map(str, value))
    return option, value if isinstance(value, str) else json.dumps(value)


def _opencompass(
    model: Model, tasks: Sequence[str], judge: dict[str, str], before: Path | None, place: Place
) -> list[Command]:
    variables = _model_variables(model, read_setup(before) if before is not None else Setup(Path()))
    if not (askable := _askable(tasks, served="LCT_API_BASE" in variables)):
        return []
    options = {f"LCT_{name.upper()}": value for name, value in place.options.items()}
    variables |= {"LCT_TASKS": ",".join(askable)} | options | judge
    work = before.parent if before is not None else place.new_runs(OPENCOMPASS)
    words = ("opencompass", str(place.config), "-w", str(work))
    return [Command(OPENCOMPASS, model.name, askable, variables, words)]


def _continued(
    model: Model, cells: Sequence[CellState], place: Place, runs: Sequence[StoredRun]
) -> list[Command]:
    """Go on with runs of OpenCompass by the configs that it wrote down, with the models, tasks and options of then."""
    parts: dict[tuple[Path, str, Path], list[CellState]] = {}
    for cell in cells:
        assert cell.folder is not None
        if config := read_setup(cell.folder).configs.get(cell.task):
            parts.setdefault((cell.folder, cell.remedy, config), []).append(cell)
    made = []
    for (folder, remedy, config), own in parts.items():
        mode = ("-m", "eval") if remedy == EVALUATE else ()
        words = ("opencompass", str(config), "-w", str(folder.parent), *mode, "-r", folder.name)
        judged = [cell.task for cell in own if cell.judged]
        judge = place.judge or next(filter(None, (_judge_before(task, runs) for task in judged)), "")
        variables = {"LCT_JUDGE": judge} if judged and judge else {}
        made.append(Command(OPENCOMPASS, model.name, tuple(cell.task for cell in own), variables, words))
    return made


def _model_variables(model: Model, setup: Setup) -> dict[str, str]:
    """Return what tells ``eval_all.py`` the model: from a run's config, else from the user's words."""
    config = next((row for name, row in setup.models.items() if same_model(name, model.name)), {})
    kind, path = str(config.get("type", "")).rsplit(".")[-1], str(config.get("path") or model.name)
    if kind == "DemoModel":
        return {}
    generation = config.get("generation_kwargs") or {}
    heat = generation.get("temperature") or config.get("temperature") if generation or config else None
    sampling = {"LCT_TEMPERATURE": str(heat)} if heat else {}
    if heat and generation.get("top_p") not in (None, 1, 1.0):
        sampling["LCT_TOP_P"] = str(generation["top_p"])
    if kind == "OpenAISDK" or (not kind and model.base_url):
        base = str(config.get("openai_api_base") or model.base_url)
        tokenizer = config.get("tokenizer_path")
        more = {"LCT_TOKENIZER": str(tokenizer)} if tokenizer else {}
        return {"LCT_API_BASE": base, "LCT_API_MODEL": path, **more, **sampling}
    types = {"HuggingFaceBaseModel": "base", "VLLMwithChatTemplate": "vllm"}
    of_type = types.get(kind, "base" if not kind and model.base else "")
    return {"LCT_MODEL": path, **({"LCT_MODEL_TYPE": of_type} if of_type else {}), **sampling}


@dataclass(frozen=True)
class Missing:
    """The cells of some models and tasks, and what fills those that are not done.

    Attributes:
        cells: all of them.
        commands: to type.
        problems: files that cannot be used and do not say which cell they are of.
        notes: what the commands lack.
        without_data: tasks whose cases could not be counted.
    """

    cells: tuple[CellState, ...]
    commands: tuple[Command, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    without_data: tuple[NotPlanned, ...]

    @property
    def done(self) -> bool:
        """Whether all cells are done."""
        return all(cell.state == DONE for cell in self.cells)

    def table(self) -> Table | None:
        """The cells that are not done; None where all are."""
        rows = tuple(
            (cell.model, cell.task, cell.state, cell.host or "", cell.why)
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
                    **{
                        name: getattr(cell, name)
                        for name in ("model", "task", "state", "why", "remedy", "host")
                    },
                    "folder": None if cell.folder is None else str(cell.folder),
                    "made": cell.run.made if cell.run else None,
                }
                for cell in self.cells
            ],
            "commands": [{**asdict(command), "text": command.text} for command in self.commands],
            "problems": list(self.problems),
            "notes": list(self.notes),
            "data_missing": [asdict(cell) for cell in self.without_data],
        }


def find_missing(
    names: Sequence[str],
    results: Sequence[Path],
    models: Sequence[Model],
    options: Options,
    place: Place,
    environ: Mapping[str, str],
    loading: Callable[[], AbstractContextManager[None]],
) -> Missing:
    """Compare what was run with what should be.

    Raises:
        InputError: no such folder, or no model is known.
    """
    found = [find_runs_and_bundles(path) for path in results]
    setups = [setup for path in results for setup in find_setups(path)]
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
        tasks.append(wanted(name, task, options, reason, cases_digest(task) if task else ""))
    all_models = models_of(found, setups, [model.name for model in models])
    if not all_models:
        raise InputError(
            "no runs of our tasks found, so that no model is known; name the models with --model"
        )
    cells = find_cells(tasks, all_models, found, setups, [model.name for model in models if model.base])
    made = commands(cells, models, place, [run for folder in found for run in folder.runs])
    unjudged = [] if environ.get("LCT_JUDGE_MODEL") else without_judge(cells, made)
    notes = (
        f"A judge reads the answers of {len(unjudged)} of these tasks ({first_names(unjudged)}), and none is named: set LCT_JUDGE to a judge "
        "file before the commands, or have stored answers judged later with `lct judge run`.",
    )
    return Missing(
        tuple(cells),
        tuple(made),
        tuple(problem.message for problem in unassigned(found)),
        notes if unjudged else (),
        tuple(without_data),
    )
