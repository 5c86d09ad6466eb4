"""Read lm-eval's ``results_<time>.json`` and ``samples_<task>_<time>.jsonl``.

Checked against lm_eval 0.4.13 and 0.5.0.dev1, which names a task in a group ``group::task``.

Each sample line contains a whole prompt, so a file may be gigabytes long; only one line is in memory at a
time.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.dialogue import Dialogue
from long_context_tasks.hosts.own_tasks import OwnTaskCard, Sample, own_runs
from long_context_tasks.hosts.stored import (
    DAMAGE,
    LM_EVAL,
    Found,
    StoredCase,
    StoredRun,
    metric_names,
    number_of,
    run_with,
    short,
)
from long_context_tasks.hosts.window import REFUSED
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import content_of, lines, loads
from long_context_tasks.schema.response import DOES_NOT_FIT, Response, from_stored_form, stored_form

FILTER = ",none"  # suffix of lm-eval's metric keys: the filter's name; our tasks have no filter
_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_RESULTS = re.compile(rf"(?!samples_).*?_?(?P<time>{_TIME})\.json", re.ASCII)
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl", re.ASCII)
_LIKELIHOOD = "loglikelihood_rolling"
_RECORD_KEYS = {"response", "status", "prompt_sha256", "verdicts"}
# A sample's prompt is between the first two, its metrics follow the last; quotation marks inside a text are
# escaped. Only likelihoods need the raw responses, which stand between the second and the third.
_PROMPT, _AFTER_PROMPT, _AFTER_RAW = b', "arguments": {', b', "resps": ', b', "filtered_resps": '
_METRICS = b', "target_hash": '
_NAN = ((b": NaN", b": null"), (b", NaN", b", null"), (b"[NaN", b"[null"))
_READ_AT_ONCE = 1 << 18  # bytes; the default is shorter than most lines
# lm-eval names a model after the first of these arguments, or with random characters if none is given.
_NAMING = ("peft", "delta", "pretrained", "model", "path", "engine")
_RANDOM_NAME = re.compile(r"[a-z0-9]{8}")


def model_name(row: Mapping[str, Any]) -> str:
    """Return a run's model name, the same for the terminal and for reports.

    >>> model_name({"config": {"model": "hf", "model_args": {"pretrained": "some/model", "dtype": "auto"}}})
    'some/model'
    >>> model_name({"config": {"model": "dummy", "model_args": ""}, "model_name": "qdpv68r5"})
    'dummy'
    >>> model_name({"config": {"model": "lct_hf", "model_args": "pretrained=owl", "lct_method": "ntk_factor4"}})
    'owl (ntk_factor4)'
    """
    settings = row.get("config") or {}
    arguments = settings.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    given = next((str(arguments[key]) for key in _NAMING if arguments.get(key)), "")
    name = str(row.get("model_name") or given)
    if not given and (not name or _RANDOM_NAME.fullmatch(name)):
        name = str(settings.get("model") or name)
    # A model with a different cache or attention method is a separate model.
    return f"{name} ({settings['lct_method']})" if settings.get("lct_method") else name


def lm_eval_runs(folder: Path, files: Sequence[str]) -> list[Found]:
    runs: list[Found] = []
    samples = {(match["time"], match["task"]): name for name in files if (match := _SAMPLES.fullmatch(name))}
    times = set()
    for name in files:
        if match := _RESULTS.fullmatch(name):
            times.add(match["time"])
            runs += _runs_of(folder / name, match["time"], samples)
    for (time, task), name in samples.items():
        path = folder / name
        if time not in times and _is_ours(path):
            runs.append(
                f"{path}: its results file, of {time}, is missing, so that the options of {task} are unknown; put the file back, or run again"
            )
    return runs


def _runs_of(path: Path, time: str, samples: Mapping[tuple[str, str], str]) -> Iterator[Found]:
    try:
        row = loads(content_of(path))
        versions = row.get("versions") or {}
        for task, config in row["configs"].items():
            name = samples.get((time, task))
            files = (path.with_name(name),) if name else ()
            if {"benchmark", "task"} <= (config.get("metadata") or {}).keys():
                yield _run(path, time, row, task, files)
            elif _has_our_name(task.rpartition("::")[2]):
                yield f"{path}: {task} has lost its metadata, the file was changed or damaged; run again"
            else:
                yield from own_runs(
                    task.rpartition("::")[2],
                    row.get("results", {}).get(task, {}),
                    config.get("metadata") or {},
                    _own_samples,
                    label="_".join([*task.split("::"), time]),
                    files=files,
                    result_file=path,
                    options={"num_fewshot": config.get("num_fewshot"), "version": versions.get(task)},
                    **_common(path, time, row, task),
                )
    except OSError as error:
        yield f"{path}: cannot be read ({error.strerror})"
    except DAMAGE as error:
        # Other programs' files may have the same name; only ours are reported.
        if "lct_" in _beginning(path) or any(when == time for when, _ in samples):
            yield f"{path}: not a results file of lm-eval, or damaged ({short(error)}); run again"


def _has_our_name(task: str) -> bool:
    try:
        catalogue.parse_task(task)
    except InputError:
        return False
    return True


# Provenance fields: those of the whole command, of the run's settings, and of the task.
_OF_COMMAND = (
    *("transformers_version", "system_instruction", "chat_template_sha"),
    "total_evaluation_time_seconds",
)
_OF_SETTINGS = (
    *("model", "model_args", "model_revision", "model_sha", "model_dtype", "batch_size", "device"),
    *("gen_kwargs", "limit", "random_seed", "lct_method", "use_cache"),
)
_OF_TASK = ("command", "window", "rope", "plain_prompts")


def _run(path: Path, time: str, row: Mapping[str, Any], task: str, files: tuple[Path, ...]) -> StoredRun:
    config = row["configs"][task]
    metadata = config["metadata"]
    name = str(metadata["task"])
    # It becomes part of file names, and a run may be untrusted.
    if len(name) > 200:
        raise ValueError(f"a task's name of {len(name)} characters")
    written = plain_numbers(row.get("results", {}).get(task, {}))
    numbers = {name: number_of(value) for name, value in written.items()}
    # With --predict_only, lm-eval writes one number of its own.
    numbers = {} if "bypass" in numbers else numbers
    return run_with(
        metadata,
        *_OF_TASK,
        **_common(path, time, row, task),
        # A task in two groups has two runs with lm-eval 0.5.
        label="_".join([*task.split("::")[:-1], name, time]),
        files=files,
        read=partial(_read, likely=config.get("output_type") == _LIKELIHOOD),
        result_file=path if numbers else None,
        numbers=numbers,
    )


def plain_numbers(numbers: Mapping[str, Any]) -> dict[str, float]:
    """Return a task's numbers by plain name, without standard errors and metadata."""
    return {
        key.removesuffix(FILTER): value
        for key, value in numbers.items()
        if key.endswith(FILTER) and not key.endswith(f"_stderr{FILTER}") and isinstance(value, int | float)
    }


def _common(path: Path, time: str, row: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Return the fields shared by runs of our tasks and of native lm-eval tasks."""
    settings, counts = row.get("config") or {}, (row.get("n-samples") or {}).get(task) or {}
    return {
        "provenance": {
            "host_version": row.get("lm_eval_version"),
            "commit": row.get("git_hash"),
            **{name: row.get(name) for name in _OF_COMMAND},
            **{name: settings.get(name) for name in _OF_SETTINGS},
            "generation_kwargs": row["configs"][task].get("generation_kwargs"),
            "n_samples": counts.get("effective"),
            "n_cases_available": counts.get("original"),
        },
        "host": LM_EVAL,
        "model": model_name({**row, "model_name": row.get("model_name") or path.parent.name}),
        "folder": path.parent,
        "made": time,
    }


def _own_samples(run: StoredRun, card: OwnTaskCard, key: str) -> Iterator[Sample]:
    metric, _, name = key.partition(",")
    for _, sample in _samples(run):
        if name == sample.get("filter", "none"):
            # The hash keeps cases apart that were made with different tokenizers.
            case, text = f"{sample['doc_id']}-{str(sample['doc_hash'])[:8]}", sample["filtered_resps"][0]
            # Samples of other lengths lack the metric. A multiple-choice task has numbers instead of a text.
            yield case, 0, sample.get(metric), text if isinstance(text, str) else None, sample["doc"]


def _read(run: StoredRun, likely: bool) -> Iterator[StoredCase]:
    for place, sample in _samples(run, _AFTER_PROMPT if likely else _AFTER_RAW):
        try:
            yield _case(sample, likely)
        except DAMAGE as error:
            raise InputError(f"{place}: not a sample of our tasks ({short(error)}); run again") from error


def _samples(run: StoredRun, after: bytes = _AFTER_RAW) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each sample's location in its file, and the sample without its prompt and what follows up to ``after``."""
    if not run.files:
        raise InputError(
            f"{run.folder}: {run} ran without --log_samples, so that no responses are kept; run again with it"
        )
    [path] = run.files
    number = 0
    try:
        with path.open("rb", _READ_AT_ONCE) as file:
            for number, line in enumerate(lines(file), start=1):
                place = f"{path}, line {number}"
                try:
                    sample = loads(_without_prompt(line, after))
                    if not isinstance(sample, dict):
                        raise ValueError("no object")
                except ValueError as error:
                    raise InputError(
                        f"{place}: damaged ({short(error)}); the file was cut, run again"
                    ) from error
                yield place, sample
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason})") from error
    expected = run.provenance["n_samples"]
    if expected is not None and number != expected:
        raise InputError(f"{path}: {number} samples instead of {expected}; the file was cut, run again")


def _without_prompt(line: bytes, after: bytes) -> bytes:
    """Drop the prompt, which is nearly the whole line, up to ``after``, and replace NaN with ``null``; keep other layouts."""
    start = line.find(_PROMPT)
    end = line.find(after, start)
    if 0 < start < end:
        line = line[:start] + line[end:]
    head, mark, metrics = line.rpartition(_METRICS)
    if not mark or b"NaN" not in metrics:
        return line
    for nan, null in _NAN:
        metrics = metrics.replace(nan, null)
    return head + mark + metrics


def _case(sample: Mapping[str, Any], likely: bool) -> StoredCase:
    doc = sample["doc"]
    likelihoods: list[float] = []
    verdicts: Any = ()
    if likely:
        likelihoods = [_likelihood(of) for of in sample["resps"] if of != [REFUSED]]
        responses = [Response(None, None if likelihoods else DOES_NOT_FIT)]
    else:
        [text] = sample["filtered_resps"]
        if record := _record_in(text):
            responses = from_stored_form(record["response"], record["status"])
            verdicts = record["verdicts"]
        else:
            responses = [Response(None, DOES_NOT_FIT) if text == REFUSED else Response(text)]
    scores, reasons = _scores(sample, len(responses))
    return StoredCase(
        id=str(doc["case"]),
        responses=tuple(responses),
        scores=scores,
        reasons=reasons,
        verdicts=verdicts,
        log_likelihoods=tuple(likelihoods) or None,
        cluster=doc["cluster"],
        labels=_labels(doc["labels"]),
        turn_labels=tuple(_labels(doc["turn_labels"])),
    )


def _labels(text: str) -> Any:
    return _short_labels(text) if len(text) < 200 else loads(text)


# Runs of a task repeat the labels of its cases; StoredCase copies them.
@lru_cache(maxsize=16_384)
def _short_labels(text: str) -> Any:
    return loads(text)


def sample_record(dialogue: Dialogue, verdicts: Sequence[Sequence[Any]]) -> str:
    """Return the text logged instead of a response if a task has a judge or several turns.

    It is JSON, because lm-eval writes other objects in Python notation.
    """
    text, status = stored_form(dialogue.responses, conversation=dialogue.task.is_conversation)
    record = {
        "response": text,
        "status": status,
        "prompt_sha256": dialogue.prompt_sha256,
        "verdicts": [[verdict.row() for verdict in turn] for turn in verdicts],
    }
    return json.dumps(record, ensure_ascii=False)


def _record_in(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        record = loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) and set(record) == _RECORD_KEYS else None


def _scores(
    sample: Mapping[str, Any], turns: int
) -> tuple[dict[str, tuple[float | None, ...]], tuple[str | None, ...]]:
    """Return the scores of all turns by metric, and each turn's reason; dialogues have a list per key."""
    keys = tuple(filter(sample.__contains__, sample.get("metrics", ())))
    if "n" not in keys:
        return {}, ()
    metrics, counts = _metrics_and_counts(keys)
    values = [*map(sample.get, (*metrics, *counts))]
    rows = [*zip(*values, strict=True)] if isinstance(sample["n"], list) else [values]
    if len(rows) != turns:
        raise ValueError(f"metrics of {len(rows)} turns, and {turns} responses")
    reasons = [next(compress(counts.values(), row[len(metrics) :]), None) for row in rows]
    return dict(zip(metrics, zip(*rows, strict=True), strict=False)), tuple(reasons)


# All samples of a run have the same keys.
@lru_cache(maxsize=64)
def _metrics_and_counts(keys: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Return the metrics, and the counts of reasons with the reason of each."""
    counts = [key for key in keys if key.startswith("n_") and key not in ("n_scored", "n_truncated")]
    return metric_names(list(keys)), {key: key.removeprefix("n_") for key in counts}


def _likelihood(response: Any) -> float:
    """Parse a number, which lm-eval writes as a string inside a list per repeat."""
    while isinstance(response, list | tuple):
        response = response[0]
    return float(response)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return "case" in loads(next(lines(file)))["doc"]
    except (OSError, StopIteration, ValueError, KeyError, TypeError):
        return False


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(1 << 20).decode("utf-8", "replace")
