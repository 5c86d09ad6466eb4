"""Read OpenCompass runs: ``<work folder>/<time>/predictions/<model>/<name>.json``.

Checked against opencompass 0.5.4. The rows of our tasks contain only prompt excerpts, so that a file is
little larger than its responses. OpenCompass may split a task into ``<name>_0.json``, ``<name>_1.json`` and
so on. The task behind a name is found from its result, from the config stored by OpenCompass, or from the
name itself.
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ijson

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.lengths import is_count, metric_of
from long_context_tasks.hosts.opencompass.rows import GIVEN, RESOLVED
from long_context_tasks.hosts.own_tasks import OwnTaskCard, Sample, own_runs
from long_context_tasks.hosts.stored import (
    CASES_SHA256,
    DAMAGE,
    OPENCOMPASS,
    Found,
    StoredCase,
    StoredRun,
    metric_names,
    number_of,
    short,
    single,
    word_of,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import text_key
from long_context_tasks.schema.files import content_of, loads, shallow
from long_context_tasks.schema.response import from_stored_form

_MOST_CONFIG = 16 << 20  # bytes of a config file


@dataclass(frozen=True)
class Setup:
    """A run's configs."""

    folder: Path  # OpenCompass' folder, named after the start time
    # Name to the model's config: type, path and so on.
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Dataset name to its config, for our tasks.
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Models whose generation arguments differ between the folder's configs.
    unsure: frozenset[str] = frozenset()

    def has_answers(self, model: str, dataset: str) -> bool:
        """Return whether a task has left all of its answers, some of them, or a partial file."""
        folder = self.folder / "predictions" / model
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        starts = (f"{dataset}.json", f"tmp_{dataset}.json", f"{dataset}_0", f"tmp_{dataset}_0")
        return any(name.startswith(starts) for name in names)


def begun_without_answers(folder: Path) -> list[str]:
    """Return a message for each model whose tasks were started but left no answers.

    The folder need not be an OpenCompass run; other folders give no messages.
    """
    setup = read_setup(folder)
    tasks: dict[str, list[str]] = {}
    for model in setup.models:
        for name, dataset in setup.datasets.items():
            try:
                task = catalogue.parse_task(str(dataset["lct_task"])).name
            except InputError:
                continue
            if not setup.has_answers(model, name):
                tasks.setdefault(model, []).append(task)
    return [
        f"{folder}: {', '.join(dict.fromkeys(names))} ({model}) begun, and left no answers; the run failed, was stopped or is still running: "
        f"see {folder.name}/logs, and finish the run with the host's -r {folder.name}, or delete the folder if a later run replaces it"
        for model, names in tasks.items()
    ]


def read_setup(folder: Path) -> Setup:
    """Read a run's setup from the config files stored in its folder; empty if none can be read.

    A resumed run has several config files, and later ones may add tasks; OpenCompass does not record to which
    of them an answer belongs. The files are parsed, not executed.
    """
    models: dict[str, Mapping[str, Any]] = {}
    datasets: dict[str, Mapping[str, Any]] = {}
    unsure: set[str] = set()
    for path in sorted((folder / "configs").glob("*.py")):
        try:
            tree = ast.parse(content_of(path, _MOST_CONFIG))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the files may be untrusted; the results themselves are checked later
        variables = {
            target.id: _plain(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        calls = [_plain(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        datasets.update(_by_name(calls, "lct_task"))
        read = _by_name(variables.get("models"), "type")
        unsure |= {
            name for name in read.keys() & models if _generation(read[name]) != _generation(models[name])
        }
        models.update(read)
    return Setup(folder, models, datasets, frozenset(unsure))


# Arguments that identify a model or change its answers. Others are omitted, because they may include keys and
# headers.
_CALLED_WITH = (
    *("path", "peft_path", "tokenizer_path", "tokenizer_only", "model_kwargs", "peft_kwargs"),
    *("tokenizer_kwargs", "max_seq_len", "mode", "drop_middle", "meta_template", "chat_template_kwargs"),
    *("stop_words", "think", "openai_api_base", "url", "endpoint", "model_name", "engine_config"),
    "extra_body",
)
_GENERATION = ("generation_kwargs", "gen_config")
_SAMPLING = ("temperature", "top_p", "top_k", "seed")


def model_facts(row: Mapping[str, Any], *, unsure: bool = False) -> dict[str, Any]:
    """Return a model's config under lm-eval's names, for a run's provenance; empty for an empty config.

    >>> model_facts({"type": "opencompass.models.OpenAISDK", "path": "m", "key": "sk-1", "temperature": 0.6, "batch_size": 8})
    {'model': 'OpenAISDK', 'model_args': {'path': 'm'}, 'batch_size': 8, 'gen_kwargs': {'temperature': 0.6}}
    """
    if not row:
        return {}
    kwargs = _mapping(row.get("model_kwargs"))
    dtype = kwargs.get("torch_dtype") or kwargs.get("dtype")
    return {
        "model": str(row.get("type") or "").rpartition(".")[2] or None,
        "model_args": {name: row[name] for name in _CALLED_WITH if row.get(name) not in (None, {}, [])},
        "batch_size": row.get("batch_size"),
        "gen_kwargs": {"generation": "not the same in all configs"} if unsure else _generation(row),
        **({"model_dtype": str(dtype)} if dtype else {}),
    }


def _generation(row: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: row[name] for name in _SAMPLING if row.get(name) is not None}
    # Among the other arguments sent, only the seed is kept, because headers may contain keys.
    if isinstance(seed := _mapping(row.get("openai_extra_kwargs")).get("seed"), int):
        given["seed"] = seed
    for name in _GENERATION:
        given |= {str(key): value for key, value in _mapping(row.get(name)).items()}
    return given


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _by_name(rows: Any, needed: str) -> dict[str, Mapping[str, Any]]:
    rows = rows if isinstance(rows, list) else []
    return {str(row["abbr"]): row for row in map(_mapping, rows) if "abbr" in row and needed in row}


def _plain(node: ast.expr) -> Any:
    """Evaluate a literal or ``dict(a=1)``; return None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {word.arg: _plain(word.value) for word in node.keywords if word.arg is not None}
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            key.value: _plain(value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


PREDICTIONS = "predictions"
_PROVENANCE = ("host_version", "package", "commit", "n_cases_available", CASES_SHA256)
_BESIDE_METRICS = ("reason", "verdicts", "cluster", "labels", "turn_labels")
_PART = re.compile(r"(?P<name>.+)_(?P<number>\d+)", re.ASCII)
_UNFINISHED = re.compile(r"tmp_(?P<name>.+)\.jsonl", re.ASCII)
_AVERAGE = re.compile(r"(?P<key>.+) \(\d+ runs average\)", re.ASCII)


def opencompass_runs(predictions: Path, _: Sequence[str] = ()) -> list[Found]:
    """Return the runs in a ``predictions`` folder, which has a subfolder per model; otherwise none."""
    if predictions.name != PREDICTIONS:
        return []
    setup = read_setup(predictions.parent)
    runs: list[Found] = []
    for model in sorted(folder for folder in predictions.iterdir() if folder.is_dir()):
        names = sorted(path.name for path in model.iterdir() if path.is_file())
        begun = {match["name"] for name in names if (match := _UNFINISHED.fullmatch(name))}
        others: dict[str, list[Path]] = {}
        for name, files in _grouped([name for name in names if name.endswith(".json")], setup).items():
            if open_parts := [part for part in begun if name in (part, _stem(part))]:
                begun -= set(open_parts)
                runs.append(_unfinished(model, min(open_parts)))
                continue
            try:
                run = _run(setup, model.name, name, [model / file for file in files])
            except DAMAGE as error:
                run = f"{_damaged(model / files[0], error)}; or its result is damaged: then evaluate again with -m eval -r"
            if run:
                runs.append(run)
            else:
                others[name] = [model / file for file in files]
        runs += _own_runs(setup, model.name, others)
        runs += [
            _unfinished(model, name)
            for name in sorted(begun)
            if _task(name, setup) or _task(_stem(name), setup)
        ]
    return runs


def _grouped(files: Sequence[str], setup: Setup) -> dict[str, list[str]]:
    """Return each dataset's files; like OpenCompass, use parts only without a complete file."""
    stems = [file.removesuffix(".json") for file in files]
    whole = {stem for stem in stems if _stem(stem) == stem or _task(stem, setup)}
    groups = {stem: [f"{stem}.json"] for stem in sorted(whole)}
    parts = [stem for stem in stems if stem not in whole and _stem(stem) not in whole]
    for stem in sorted(parts, key=lambda stem: int(stem.rpartition("_")[2])):
        groups.setdefault(_stem(stem), []).append(f"{stem}.json")
    return groups


def _stem(name: str) -> str:
    """Return the dataset's name for a file that contains one of its parts."""
    match = _PART.fullmatch(name)
    return match["name"] if match else name


def _unfinished(model: Path, name: str) -> str:
    path = model / f"tmp_{name}.jsonl"
    # Without its time, -r goes on with the last run.
    remedy = (
        f"finish it with the host's -r {model.parents[1].name}, or delete the file if a later run replaces it"
    )
    return f"{path}: the run was stopped before it had all responses; {remedy}"


def _run(setup: Setup, model: str, name: str, files: Sequence[Path]) -> Found | None:
    """Return a run, the problem because of which it is not one, or None for another package's task."""
    try:
        row = _first_row(files[0])
    except (OSError, ValueError) as error:
        return _damaged(files[0], error) if _task(name, setup) else None
    if row is None or not {GIVEN, RESOLVED} <= row.keys():
        return None
    expected = [f"{name}_{number}.json" for number in range(len(files))]
    if files[0].stem != name and [path.name for path in files] != expected:
        missing = next(file for file in expected if file not in {path.name for path in files})
        return f"{files[0].with_name(missing)}: missing, although later parts exist; run again with the host's -r"
    result_file = setup.folder / "results" / model / f"{name}.json"
    result: Mapping[str, Any] = {}
    try:
        if result_file.is_file():
            result = _result(result_file)
    except (OSError, ValueError) as error:
        return f"{result_file}: damaged ({short(error)}); evaluate again with the host's -m eval -r"
    task = word_of(single(result.get("lct_task"))) or _task(name, setup)
    if task is None:
        return f"{files[0]}: the task of {name} is unknown; evaluate the run (-m eval -r), or name the dataset as the task"
    facts = {
        "dataset": name,
        "window": row.get("lct_window"),
        "model_dtype": row.get("lct_dtype"),
        "rope": row.get("lct_rope"),
        CASES_SHA256: row.get(CASES_SHA256),
        **{key: single(result[key]) for key in _PROVENANCE if key in result},
        "options": single(result.get("options")) or {},
    }
    # Metadata from the run itself take precedence over those from the config.
    known = {key: value for key, value in facts.items() if value is not None}
    of_model = model_facts(setup.models.get(model, {}), unsure=model in setup.unsure)
    return StoredRun(
        host=OPENCOMPASS,
        model=model,
        task=task,
        options={key: value for key, value in row[RESOLVED].items() if key.startswith("lct_")},
        version=row[GIVEN]["version"],
        folder=setup.folder,
        label=f"{model}/{name}",
        made=setup.folder.name,
        files=tuple(files),
        read=_read,
        result_file=result_file if result else None,
        numbers=_numbers(result),
        headline=single(result.get("headline")),
        points=None if "points" not in result else tuple(single(result["points"]) or ()),
        judge=single(result.get("judge")),
        provenance={**of_model, **known},
    )


def _own_runs(setup: Setup, model: str, datasets: Mapping[str, Sequence[Path]]) -> Iterator[Found]:
    """Yield the runs of tasks that OpenCompass brings. Datasets that differ only in a label of the card are one run."""
    common: dict[str, Any] = {"host": OPENCOMPASS, "model": model, "options": {}, "label": ""}
    of_model = model_facts(setup.models.get(model, {}), unsure=model in setup.unsure)
    common |= {"folder": setup.folder, "made": setup.folder.name, "provenance": of_model}
    parts: dict[str, list[StoredRun]] = {}
    for name, files in datasets.items():
        paths = {"files": tuple(files), "result_file": setup.folder / "results" / model / f"{name}.json"}
        for run in own_runs(name, {}, {}, _own_samples, **common, **paths):
            if isinstance(run, StoredRun):
                parts.setdefault(run.task, []).append(run)
            else:
                yield run
    for task, runs in parts.items():
        files = tuple(file for run in runs for file in run.files)
        read = partial(_of_parts, runs=runs)
        yield replace(runs[0], label=f"{model}/{task}", files=files, read=read, numbers={})


def _of_parts(_: StoredRun, runs: Sequence[StoredRun]) -> Iterator[StoredCase]:
    return (case for run in runs for case in run.cases())


def _own_samples(run: StoredRun, card: OwnTaskCard, _: str) -> Iterator[Sample]:
    file = run.result_file or Path()
    result = loads(content_of(file))
    details = result.get("details") or {}
    values = []
    for number, row in enumerate(row for path in run.files for row in _rows(path)):
        detail = details[number] if isinstance(details, list) else details.get(str(number), {})
        values.append(_own_value(card, row, detail))
        # Without the gold answer, two versions of a data set would share their cases.
        case = f"{file.stem}-{number}-{text_key(str(row.get('gold')))[:8]}"
        yield case, 0, values[-1], str(single(row["prediction"])), row
    stated = next((value for key, value in result.items() if card.mean.fullmatch(key)), math.nan)
    stated, mean = (number / card.scale for number in (stated, sum(values) / max(len(values), 1)))
    # Each part is checked against its own mean. Some evaluators round percentages to two digits.
    if not abs(mean - stated) <= 6e-5:
        raise InputError(
            f"{file}: the mean is {stated:.6g}, but the cases give {mean:.6g}; evaluate again with the host's -m eval -r"
        )


def _own_value(card: OwnTaskCard, row: Mapping[str, Any], detail: Mapping[str, Any]) -> float:
    """Return a score on the host's scale: a field of its details, or, if its evaluator gives only the mean, by the card's rule."""
    if (rule := card.value) == "equal":
        return card.scale if detail["predictions"] == detail["references"] else 0.0
    if rule in ("contains_all", "contains_any"):
        found = [gold.lower() in single(row["prediction"]).lower() for gold in row["gold"]]
        return card.scale * (any(found) if rule == "contains_any" else sum(found) / max(len(found), 1))
    return number_of(single(detail[rule]))


def _task(name: str, setup: Setup) -> str | None:
    """Return a dataset's task from its config or its name; None if both leave it open."""
    if name in setup.datasets:
        return str(setup.datasets[name]["lct_task"])
    try:
        catalogue.parse_task(name)
    except InputError:
        return None
    return name


def _first_row(path: Path) -> dict[str, Any] | None:
    """Return the first prediction; None if it is missing or not an object."""
    try:
        with path.open("rb") as file:
            # A small buffer, because all of it is parsed before the first row.
            events = ijson.parse(shallow(ijson.basic_parse(file, buf_size=1 << 12, use_float=True)))
            rows: Iterator[tuple[str, Any]] = ijson.kvitems(events, "")
            _, row = next(rows, (None, None))
    except ijson.JSONError:
        # This parser does not accept NaN.
        content = loads(content_of(path))
        row = next(iter(content.values()), None) if isinstance(content, dict) else None
    return row if isinstance(row, dict) else None


def _rows(path: Path) -> list[Any]:
    content = loads(content_of(path))
    return [content[str(number)] for number in range(len(content))]


def _result(path: Path) -> dict[str, Any]:
    # The details are nearly the whole file. Line breaks inside texts are escaped, so that these lines are no part of a text.
    head, mark, rest = content_of(path).partition(b'\n    "details": [\n')
    row = loads(head + mark + rest[rest.find(b"\n    ]") :] if mark else head)
    if not isinstance(row, dict):
        raise ValueError("not an object")
    row.pop("details", None)
    return row


def _numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Return a result's numbers, with rates from 0 to 1; OpenCompass stores percentages."""
    points = single(result.get("points")) or ()
    numbers = {}
    for key, value in result.items():
        if isinstance(value, int | float):
            name = match["key"] if (match := _AVERAGE.fullmatch(key)) else key
            whole = is_count(name) or metric_of(name) in points
            numbers[name] = number_of(value) if whole else number_of(value) / 100
    return numbers


def _read(run: StoredRun) -> Iterator[StoredCase]:
    details = _details(run)
    seen: Counter[str] = Counter()
    given = None
    for path in run.files:
        try:
            rows = _rows(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(_damaged(path, error)) from error
        for number, row in enumerate(rows):
            try:
                given = given or row[GIVEN]
                if row[GIVEN] != given:
                    raise ValueError("its options are not those of the first row")
                case_id = str(row["case"])
                yield _case(row, case_id, seen[case_id], details.get((case_id, seen[case_id]), {}))
            except DAMAGE as error:
                raise InputError(
                    f"{path}, row {number}: not a prediction of our tasks ({short(error)}); run again"
                ) from error
            seen[case_id] += 1


def _case(row: Mapping[str, Any], case_id: str, repeat: int, detail: Mapping[str, Any]) -> StoredCase:
    text = None if "log_likelihoods" in row else row["prediction"]
    responses = tuple(from_stored_form(text, row["lct_status"]))

    def turns(value: Any) -> tuple[Any, ...]:
        values = tuple(value) if isinstance(row["lct_status"], list) else (value,)
        if len(values) != len(responses):
            raise ValueError(f"scores of {len(values)} turns, and {len(responses)} responses")
        return values

    return StoredCase(
        id=case_id,
        responses=responses,
        scores={name: turns(value) for name, value in detail.items() if name not in _BESIDE_METRICS},
        reasons=turns(detail["reason"]) if detail else (),
        verdicts=detail.get("verdicts") or (),
        log_likelihoods=row.get("log_likelihoods"),
        num_candidate_tokens=row.get("n_candidate_tokens"),
        repeat=repeat,
        cluster=detail.get("cluster"),
        labels=detail.get("labels") or {},
        turn_labels=detail.get("turn_labels") or (),
    )


def _details(run: StoredRun) -> dict[tuple[str, int], dict[str, Any]]:
    """Return metrics, reason and verdicts by case and repeat; empty if OpenCompass kept no details."""
    if run.result_file is None:
        return {}
    try:
        content = loads(content_of(run.result_file))
        keys = (*metric_names(list(run.numbers)), *_BESIDE_METRICS)
        return {
            (str(case_id), repeat): {key: detail[key][repeat] for key in keys if detail.get(key) is not None}
            for detail in content.get("details") or []
            for repeat, case_id in enumerate(detail["case"])
        }
    except (OSError, *DAMAGE) as error:
        raise InputError(
            f"{run.result_file}: damaged ({short(error)}); evaluate again with the host's -m eval -r"
        ) from error


def _damaged(path: Path, error: Exception) -> str:
    return f"{path}: damaged ({short(error)}); remove it and go on with the host's -r"
