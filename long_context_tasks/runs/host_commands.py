"""The exact commands that fill the missing cells: of lm-eval and OpenCompass, and ``lct judge run`` for what only wants a judge."""

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.runs.missing import DONE, EVALUATE, GO_ON, JUDGE, NOTHING, RUN, Cell, same_model
from long_context_tasks.runs.opencompass_setups import Setup, read_setup
from long_context_tasks.runs.rates import results_of
from long_context_tasks.runs.settings import DEFAULTS
from long_context_tasks.runs.stored import LM_EVAL, OPENCOMPASS, StoredRun

BOTH = "both"
CONCURRENT = 8
"""Requests side by side to a server; both hosts ask one at a time when they are told nothing."""
_TIMEOUT = 3600
_SECRET = re.compile(r"(?i)key|auth|bearer|credential|passw|secret|(^|_)token$")
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
        results: folder for new runs of lm-eval.
        work: folder for new runs of OpenCompass.
        config: ``eval_all.py`` of the package's configs.
        options: the ``lct_`` options that the user gave, as text.
        host: ``lm_eval``, ``opencompass`` or ``both``: for models without any run.
    """

    results: Path
    work: Path
    config: Path
    options: Mapping[str, str] = field(default_factory=dict)
    host: str = BOTH


@dataclass(frozen=True)
class Command:
    """A command to type.

    Attributes:
        host: lm_eval, opencompass, or lct.
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


def commands(cells: Sequence[Cell], models: Sequence[Model], place: Place) -> list[Command]:
    """The commands that fill the cells which are not done, model by model.

    A model that was run before is run again as it was: on its host, with its arguments, into its folder, with its cache. lm-eval
    keeps sample logs and one cache of responses for each model, so that no answer is asked for twice. OpenCompass goes on (-r)
    where a run was stopped.

    Args:
        cells: any; those that only another window would help get no command.
        models: as the user gave them; others are known by their runs alone.
        place: where new runs go.
    """
    made: list[Command] = []
    for name in dict.fromkeys(cell.model for cell in cells):
        own = [cell for cell in cells if cell.model == name]
        model = next((one for one in models if same_model(one.name, name)), Model(name))
        made += _of_model(model, own, place)
    return made


def _of_model(model: Model, cells: Sequence[Cell], place: Place) -> list[Command]:
    todo = [cell for cell in cells if cell.state != DONE and cell.remedy != NOTHING]
    made: list[Command] = []
    for folder in dict.fromkeys(cell.folder for cell in todo if cell.remedy in (GO_ON, EVALUATE)):
        assert folder is not None
        for remedy in (GO_ON, EVALUATE):
            tasks = [cell.task for cell in todo if cell.folder == folder and cell.remedy == remedy]
            if tasks:
                made.append(_continued(model, tasks, folder, place, evaluate=remedy == EVALUATE))
    for folder in dict.fromkeys(cell.folder for cell in todo if cell.remedy == JUDGE):
        tasks = [cell.task for cell in todo if cell.folder == folder and cell.remedy == JUDGE]
        words = ("lct", "judge", "run", str(folder), "--tasks", ",".join(tasks))
        made.append(Command("lct", model.name, tuple(tasks), {}, words))
    new = [cell for cell in todo if cell.remedy == RUN]
    # A run in a bundle does not tell how its host was called.
    runs = [cell.run for cell in cells if cell.run and cell.folder]
    chosen = (LM_EVAL, OPENCOMPASS) if place.host == BOTH else (place.host,)
    # A cell without any run goes to the hosts that the model was run with.
    hosts = [host for host in (LM_EVAL, OPENCOMPASS) if any(cell.host == host for cell in cells)] or chosen
    if tasks := [cell.task for cell in new if (cell.host or LM_EVAL) == LM_EVAL and LM_EVAL in hosts]:
        before = [run for run in runs if run.host == LM_EVAL]
        made += _lm_eval(model, tasks, max(before, key=lambda run: run.made, default=None), place)
    if tasks := [
        cell.task for cell in new if (cell.host or OPENCOMPASS) == OPENCOMPASS and OPENCOMPASS in hosts
    ]:
        folders = sorted(cell.folder for cell in cells if cell.host == OPENCOMPASS and cell.folder)
        made += _opencompass(model, tasks, folders[-1] if folders else None, place)
    return made


# --- lm-eval ---------------------------------------------------------------------------------------------------


def _lm_eval(model: Model, tasks: Sequence[str], before: StoredRun | None, place: Place) -> list[Command]:
    row = results_of(before) if before is not None else {}
    config = row.get("config")
    config = config if isinstance(config, Mapping) else {}
    kind, arguments = _lm_eval_model(model, config)
    tasks = [task for task in tasks if not (_served(kind, arguments) and _by_likelihood(task))]
    if not tasks:
        return []
    templated = bool(row.get("chat_template")) or _served(kind, arguments) if before else not model.base
    results = before.folder.parent if before is not None else place.results
    cache = str(config.get("use_cache") or results / "cache" / _file_name(model.name))
    words = ["lm_eval", "--model", kind, "--model_args", arguments_text(arguments)]
    words += ["--apply_chat_template"] if templated else []
    for name in ("batch_size", "device"):
        if config.get(name) not in (None, "", 1, "1") and not _served(kind, arguments):
            words += [f"--{name}", str(config[name])]
    if isinstance(given := config.get("gen_kwargs"), Mapping) and given:
        words += ["--gen_kwargs", arguments_text(given)]
    words += ["--tasks", ",".join(tasks)]
    if options := {f"lct_{name}": value for name, value in place.options.items()}:
        words += ["--metadata", json.dumps(options)]
    words += ["--log_samples", "--output_path", str(results), "--use_cache", cache]
    return [Command(LM_EVAL, model.name, tuple(tasks), {}, tuple(words))]


def _lm_eval_model(model: Model, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Kind of model and its arguments, as a run had them, else as the user's words suggest."""
    given = config.get("model_args")
    if isinstance(given, str):
        given = dict(item.split("=", 1) for item in given.split(",") if "=" in item)
    if config.get("model") and isinstance(given, Mapping) and given:
        return str(config["model"]), {key: value for key, value in given.items() if not _SECRET.search(key)}
    if model.base_url:
        url = f"{model.base_url.rstrip('/')}/chat/completions"
        more = {"num_concurrent": CONCURRENT, "max_retries": 5, "timeout": _TIMEOUT}
        return "local-chat-completions", {"model": model.name, "base_url": url, **more}
    return "hf", {"pretrained": model.name}


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


def _served(kind: str, arguments: Mapping[str, Any]) -> bool:
    return "base_url" in arguments or "completions" in kind


def _by_likelihood(task: str) -> bool:
    return catalogue.parse_task(task).variant.startswith("ppl")


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "__", text.strip("/"), flags=re.ASCII)


# --- OpenCompass -----------------------------------------------------------------------------------------------


def _opencompass(model: Model, tasks: Sequence[str], before: Path | None, place: Place) -> list[Command]:
    setup = read_setup(before) if before is not None else Setup(Path())
    variables = _model_variables(model, _config_of(model, setup))
    served = "LCT_API_BASE" in variables
    tasks = [task for task in tasks if not (served and _by_likelihood(task))]
    if not tasks:
        return []
    work = before.parent if before is not None else place.work
    variables |= {"LCT_TASKS": ",".join(tasks)}
    variables |= {f"LCT_{name.upper()}": value for name, value in place.options.items()}
    words = ("opencompass", str(place.config), "-w", str(work))
    return [Command(OPENCOMPASS, model.name, tuple(tasks), variables, words)]


def _continued(model: Model, tasks: Sequence[str], folder: Path, place: Place, *, evaluate: bool) -> Command:
    """The command that goes on with a run, with the options that it was begun with."""
    setup = read_setup(folder)
    variables = {**_model_variables(model, _config_of(model, setup)), "LCT_TASKS": ",".join(tasks)}
    variables |= _begun_with(folder, tasks, setup)
    if setup.workers > 1:
        variables["LCT_WORKERS"] = str(setup.workers)
    repeats = {int(row.get("n") or 1) for row in setup.datasets.values()} - {1}
    if repeats:
        variables["LCT_RUNS"] = str(max(repeats))
    mode = ("-m", "eval") if evaluate else ()
    words = ("opencompass", str(place.config), "-w", str(folder.parent), *mode, "-r", folder.name)
    return Command(OPENCOMPASS, model.name, tuple(tasks), variables, words)


def _config_of(model: Model, setup: Setup) -> Mapping[str, Any]:
    return next((row for name, row in setup.models.items() if same_model(name, model.name)), {})


def _model_variables(model: Model, config: Mapping[str, Any]) -> dict[str, str]:
    """What tells ``eval_all.py`` the model: from a run's config, else from the user's words."""
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


def _begun_with(folder: Path, tasks: Sequence[str], setup: Setup) -> dict[str, str]:
    """The options in the environment of a run that was begun: the host must be given the same again.

    They stand in the first row of what it has answered, else in its config.
    """
    given: dict[str, Any] = {}
    for path in sorted(folder.glob("predictions/*/*.json*")):
        stem = path.name.removeprefix("tmp_").split(".")[0]
        if any(stem == task or re.fullmatch(rf"{task}_\d+", stem) for task in tasks):
            given = _given_in(path) or given
    if not given:
        rows = [row for row in setup.datasets.values() if row.get("lct_task") in tasks]
        given = {key: value for row in rows for key, value in row.items() if key.startswith("lct_")}
    any_length = any(task.endswith("_any") or "_any_" in task for task in tasks)
    left_out = {"lct_task", "lct_judge", *(() if any_length else ("lct_length",))}
    kept = {
        key: value
        for key, value in given.items()
        if key not in left_out
        and value not in (None, "", DEFAULTS.get(key))
        and (key, value) != ("lct_seed", 0)
    }
    return {
        key.upper(): str(value) for key, value in kept.items() if os.environ.get(key.upper()) != str(value)
    }


def _given_in(path: Path) -> dict[str, Any]:
    """``lct_given`` of the first row of a file of answers; empty when it cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline()) if path.suffix == ".jsonl" else json.load(file)["0"]
        given = row["lct_given"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {key: value for key, value in dict(given).items() if key.startswith("lct_")}


def counts_by_state(cells: Iterable[Cell]) -> dict[str, int]:
    """How many cells are in each state that occurs."""
    found: dict[str, int] = {}
    for cell in cells:
        found[cell.state] = found.get(cell.state, 0) + 1
    return found
