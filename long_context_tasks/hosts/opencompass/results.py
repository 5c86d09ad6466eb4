"""Runs of OpenCompass: ``<work folder>/<time>/predictions/<model>/<name>.json``. Checked against opencompass 0.5.4.

The rows of our tasks hold no prompts, only their ends, so that a file is little more than its responses. The host may split a
task into ``<name>_0.json``, ``<name>_1.json`` ... The task of a name comes from the result beside it, from the config that the
host has written down, or from the name itself.
"""

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ijson

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import (
    OPENCOMPASS,
    StoredCase,
    StoredRun,
    labels_of,
    metric_names,
    value_of,
    verdicts_of,
    word_of,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import from_stored_form


@dataclass(frozen=True)
class Setup:
    """A run as it was meant.

    Attributes:
        folder: the host's folder, named by the time.
        models: name to the model's config: type, path and so on.
        datasets: name of a dataset to its config; only those of our tasks.
        workers: into how many parts a task may be split.
        unsure: models whose arguments of generation are not the same in all configs of the folder.
    """

    folder: Path
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: int = 1
    unsure: frozenset[str] = frozenset()

    def has_answers(self, model: str, dataset: str) -> bool:
        """Whether anything of a task was kept: all answers, a part of them, or the beginning of a file."""
        folder = self.folder / "predictions" / model
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        starts = (f"{dataset}.json", f"tmp_{dataset}.json", f"{dataset}_0", f"tmp_{dataset}_0")
        return any(name.startswith(starts) for name in names)


def find_setups(path: Path) -> Iterator[Setup]:
    """The setups under a folder, in order of their paths; what cannot be read is passed over."""
    folders = sorted({file.parent.parent for file in path.rglob("configs/*.py")})
    for folder in folders:
        setup = read_setup(folder)
        if setup.datasets and setup.models:
            yield setup


def read_setup(folder: Path) -> Setup:
    """The setup of a run's folder; an empty one when it holds no config that can be read.

    A run that was continued has several; the first says how the work was split, and later ones add tasks. Which of them an answer was made
    under is not written down.
    """
    models: dict[str, Mapping[str, Any]] = {}
    datasets: dict[str, Mapping[str, Any]] = {}
    workers: int | None = None
    unsure: set[str] = set()
    for path in sorted((folder / "configs").glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        rows = {
            target.id: _plain(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        datasets.update(_by_name(rows.get("datasets"), "lct_task"))
        read = _by_name(rows.get("models"), "type")
        unsure |= {
            name for name in read.keys() & models if _generation(read[name]) != _generation(models[name])
        }
        models.update(read)
        partitioner = (
            (rows.get("infer") or {}).get("partitioner") if isinstance(rows.get("infer"), dict) else None
        )
        if (
            workers is None
            and isinstance(partitioner, dict)
            and isinstance(partitioner.get("num_worker"), int)
        ):
            workers = partitioner["num_worker"]
    return Setup(folder, models, datasets, workers or 1, frozenset(unsure))


_CALLED_WITH = (
    *(
        "path",
        "peft_path",
        "tokenizer_path",
        "tokenizer_only",
        "model_kwargs",
        "peft_kwargs",
        "tokenizer_kwargs",
    ),
    *("max_seq_len", "mode", "drop_middle", "meta_template", "chat_template_kwargs", "stop_words", "think"),
    *(
        "openai_api_base",
        "url",
        "endpoint",
        "model_name",
        "engine_config",
        "extra_body",
    ),
)
"""What identifies a model in its config or changes answers. Only what is named here is taken, and what looks like a key
or a header in it is not shown."""
_GENERATION = ("generation_kwargs", "gen_config")
_SAMPLING = ("temperature", "top_p", "top_k", "seed")


def model_facts(row: Mapping[str, Any], *, unsure: bool = False) -> dict[str, Any]:
    """Return a model's config under lm-eval's names, for the provenance of a run; empty for an empty config.

    Args:
        row: the config of a model, as :func:`read_setup` has it.
        unsure: other configs of the folder have other arguments of generation, which are then not given.

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
    for name in _GENERATION:
        given |= {str(key): value for key, value in _mapping(row.get(name)).items()}
    return given


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _by_name(rows: Any, needed: str) -> dict[str, Mapping[str, Any]]:
    rows = rows if isinstance(rows, list) else []
    return {
        str(row["abbr"]): row for row in rows if isinstance(row, dict) and "abbr" in row and needed in row
    }


def _plain(node: ast.expr) -> Any:
    """Evaluate a literal, or ``dict(a=1)``; None for anything else."""
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
_GIVEN = "lct_given"
_PROVENANCE = ("host_version", "package", "commit", "n_cases_available", "cases_sha256")
_BESIDE_METRICS = ("reason", "verdicts", "cluster", "labels", "turn_labels")
_PART = re.compile(r"(?P<name>.+)_(?P<number>\d+)", re.ASCII)
_UNFINISHED = re.compile(r"tmp_(?P<name>.+)\.jsonl", re.ASCII)
_AVERAGE = re.compile(r"(?P<key>.+) \(\d+ runs average\)", re.ASCII)

Found = StoredRun | tuple[Path, str]
"""A run, or a file that cannot be used and why."""


def opencompass_runs(predictions: Path) -> list[Found]:
    """The runs of a ``predictions`` folder."""
    folder = predictions.parent
    tasks, setup = _tasks_of_config(folder), read_setup(folder)
    found: list[Found] = []
    for model in sorted(one for one in predictions.iterdir() if one.is_dir()):
        names = sorted(path.name for path in model.iterdir() if path.is_file())
        facts = model_facts(setup.models.get(model.name, {}), unsure=model.name in setup.unsure)
        begun = {match["name"] for name in names if (match := _UNFINISHED.fullmatch(name))}
        for name, files in _grouped([name for name in names if name.endswith(".json")], tasks).items():
            paths = [model / file for file in files]
            if open_parts := [part for part in begun if part == name or _is_part(part, name)]:
                begun -= set(open_parts)
                found.append(_unfinished(model, sorted(open_parts)[0]))
            elif run := _run_or_why(folder, model.name, name, paths, tasks):
                found.append(_with_model(run, facts))
        known = {name for name in begun if _task(name, None, tasks) or _task(_stem(name), None, tasks)}
        found += [_unfinished(model, name) for name in sorted(known)]
    return found


def _with_model(found: Found, facts: Mapping[str, Any]) -> Found:
    """Add the config's facts of the model that the run itself does not hold."""
    if not isinstance(found, StoredRun):
        return found
    own = {key: value for key, value in found.provenance.items() if value is not None}
    return replace(found, provenance={**facts, **own})


def _grouped(files: Sequence[str], tasks: Mapping[str, str]) -> dict[str, list[str]]:
    """Name of a dataset to its files. As the host reads them: parts count only where there is no whole file."""
    stems = [file.removesuffix(".json") for file in files]
    whole = {stem for stem in stems if not _PART.fullmatch(stem) or stem in tasks or _is_task(stem)}
    groups: dict[str, list[tuple[int, str]]] = {stem: [(0, f"{stem}.json")] for stem in sorted(whole)}
    for stem in stems:
        match = _PART.fullmatch(stem)
        if stem not in whole and match is not None and match["name"] not in whole:
            groups.setdefault(match["name"], []).append((int(match["number"]), f"{stem}.json"))
    return {name: [file for _, file in sorted(parts)] for name, parts in groups.items()}


def _is_part(stem: str, name: str) -> bool:
    match = _PART.fullmatch(stem)
    return match is not None and match["name"] == name


def _stem(name: str) -> str:
    match = _PART.fullmatch(name)
    return match["name"] if match else name


def _unfinished(model: Path, name: str) -> tuple[Path, str]:
    path = model / f"tmp_{name}.jsonl"
    return (
        path,
        f"{path}: the run was stopped before it had all responses; finish it with the host's -r, then come back",
    )


def _run_or_why(
    folder: Path, model: str, name: str, files: Sequence[Path], tasks: Mapping[str, str]
) -> Found | None:
    try:
        return _run(folder, model, name, files, tasks)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return (
            files[0],
            f"{_damaged(files[0], error)}; or its result is damaged: then evaluate again with -m eval -r",
        )


def _run(
    folder: Path, model: str, name: str, files: Sequence[Path], tasks: Mapping[str, str]
) -> Found | None:
    """A run, why there is none, or None for a task of another package."""
    try:
        row = _first_row(files[0])
    except (OSError, ValueError) as error:
        return (files[0], _damaged(files[0], error)) if _task(name, None, tasks) else None
    if row is None or _GIVEN not in row:
        return None
    expected = [f"{name}_{number}.json" for number in range(len(files))]
    if files[0].stem != name and [path.name for path in files] != expected:
        missing = next(one for one in expected if one not in {path.name for path in files})
        return (
            files[0],
            f"{files[0].with_name(missing)}: missing, though later parts are there; run again with the host's -r",
        )
    result_file = folder / "results" / model / f"{name}.json"
    result: Mapping[str, Any] = {}
    try:
        if result_file.is_file():
            result = _result(result_file)
    except (OSError, ValueError) as error:
        return (
            result_file,
            f"{result_file}: damaged ({_short(error)}); evaluate again with the host's -m eval -r",
        )
    task = _task(name, word_of(_single(result.get("lct_task"))), tasks)
    if task is None:
        return (
            files[0],
            f"{files[0]}: nothing tells which task {name} is; evaluate the run (-m eval -r), or name the dataset as the task",
        )
    given = dict(row[_GIVEN])
    return StoredRun(
        host=OPENCOMPASS,
        model=model,
        task=task,
        options={key: value for key, value in given.items() if key.startswith("lct_")},
        version=given.get("version"),
        folder=folder,
        label=f"{model}/{name}",
        made=folder.name,
        files=tuple(files),
        read=_read,
        result_file=result_file if result else None,
        numbers=_numbers(result),
        headline=word_of(_single(result.get("headline"))),
        points=None if "points" not in result else tuple(map(str, _single(result["points"]) or ())),
        judge=dict(_single(result.get("judge")) or {}),
        provenance={
            "dataset": name,
            "window": row.get("lct_window"),
            "model_dtype": row.get("lct_dtype"),
            **{key: _single(result.get(key)) for key in _PROVENANCE},
            "options": _single(result.get("options")) or {},
        },
    )


def _task(name: str, stated: str | None, tasks: Mapping[str, str]) -> str | None:
    return stated or tasks.get(name) or (name if _is_task(name) else None)


def _is_task(name: str) -> bool:
    try:
        catalogue.parse_task(name)
    except InputError:
        return False
    return True


def _tasks_of_config(folder: Path) -> dict[str, str]:
    """Name of a dataset to its task, from the config files that the host has written into its folder; nothing is executed."""
    tasks: dict[str, str] = {}
    for path in sorted((folder / "configs").glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue  # the file only helps where a name says nothing
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                values = {
                    word.arg: word.value.value
                    for word in node.keywords
                    if isinstance(word.value, ast.Constant)
                }
                if "abbr" in values and "lct_task" in values:
                    tasks[str(values["abbr"])] = str(values["lct_task"])
    return tasks


def _first_row(path: Path) -> dict[str, Any] | None:
    """Return the first prediction; None when it is no object or there is none."""
    try:
        with path.open("rb") as file:
            rows: Iterator[tuple[str, Any]] = ijson.kvitems(file, "", use_float=True)
            _, row = next(rows, (None, None))
    except ijson.JSONError:
        # Numbers such as NaN, which this parser does not know.
        content = json.loads(path.read_text(encoding="utf-8"))
        row = next(iter(content.values()), None) if isinstance(content, dict) else None
    return row if isinstance(row, dict) else None


def _result(path: Path) -> dict[str, Any]:
    """The host's numbers without the cases."""
    row = loads(path.read_bytes())
    if not isinstance(row, dict):
        raise ValueError("no object")
    row.pop("details", None)
    return row


def _single(value: Any) -> Any:
    """The host makes a list of what is no number, with an item for each of several runs."""
    return value[0] if isinstance(value, list) and value else value


def _numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Rates from 0 to 1; the host's table has percentages."""
    points = _single(result.get("points")) or ()
    numbers = {}
    for key, value in result.items():
        if not isinstance(value, int | float):
            continue
        match = _AVERAGE.fullmatch(key)
        name = match["key"] if match else key
        plain = name.removesuffix("_low").removesuffix("_high") in points
        number = math.nan if value_of(value) is None else float(value)
        numbers[name] = number if plain or name == "n" or name.startswith("n_") else number / 100
    return numbers


def _read(run: StoredRun) -> Iterator[StoredCase]:
    details = _details(run)
    seen: Counter[str] = Counter()
    for path in run.files:
        try:
            content = loads(path.read_bytes())
            rows = [content[str(place)] for place in range(len(content))]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(_damaged(path, error)) from error
        for place, row in enumerate(rows):
            try:
                if row[_GIVEN] != {**run.options, "version": run.version}:
                    raise ValueError("its options are not those of the first row")
                case_id = str(row["case"])
                yield _case(row, case_id, seen[case_id], details.get((case_id, seen[case_id])))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                raise InputError(
                    f"{path}, row {place}: not a prediction of our tasks ({_short(error)}); run again"
                ) from error
            seen[case_id] += 1


def _case(row: Mapping[str, Any], case_id: str, repeat: int, detail: Mapping[str, Any] | None) -> StoredCase:
    likely = "log_likelihoods" in row
    responses = from_stored_form(None if likely else row["prediction"], row["lct_status"])
    values, counts = row.get("log_likelihoods"), row.get("n_candidate_tokens")
    scores: dict[str, tuple[float | None, ...]] = {}
    reasons: tuple[str | None, ...] = ()
    verdicts: tuple[tuple[Mapping[str, Any], ...], ...] = ()
    if detail is not None:
        conversation = isinstance(row["lct_status"], list)
        scores = {
            name: tuple(map(value_of, value if conversation else [value]))
            for name, value in detail.items()
            if name not in _BESIDE_METRICS
        }
        reason = detail["reason"]
        reasons = tuple(word_of(one or None) for one in (reason if conversation else [reason]))
        verdicts = verdicts_of(detail.get("verdicts"), len(responses))
        if any(len(one) != len(responses) for one in (reasons, *scores.values())):
            raise ValueError(f"its result has other turns than its {len(responses)}")
    return StoredCase(
        id=case_id,
        responses=tuple(responses),
        scores=scores,
        reasons=reasons,
        verdicts=verdicts,
        log_likelihoods=None if values is None else tuple(map(float, values)),
        num_candidate_tokens=None if counts is None else tuple(map(int, counts)),
        repeat=repeat,
        cluster=None if (cluster := (detail or {}).get("cluster")) is None else str(cluster),
        labels=labels_of((detail or {}).get("labels")),
        turn_labels=tuple(map(labels_of, (detail or {}).get("turn_labels") or ())),
    )


def _details(run: StoredRun) -> dict[tuple[str, int], dict[str, Any]]:
    """Case and repeat to metrics, reason and verdicts, where the host has kept details."""
    if run.result_file is None:
        return {}
    try:
        content = loads(run.result_file.read_bytes())
        metrics = metric_names(list(run.numbers))
        found = {}
        for detail in content.get("details") or []:
            for repeat, case_id in enumerate(detail["case"]):
                found[str(case_id), repeat] = {
                    key: detail[key][repeat]
                    for key in (*metrics, *_BESIDE_METRICS)
                    if detail.get(key) is not None
                }
        return found
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"{run.result_file}: damaged ({_short(error)}); evaluate again with the host's -m eval -r"
        ) from error


def _damaged(path: Path, error: Exception) -> str:
    return f"{path}: damaged ({_short(error)}); remove it and go on with the host's -r"


def _short(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no {error.args[0]}"
    return str(error)[:200]
