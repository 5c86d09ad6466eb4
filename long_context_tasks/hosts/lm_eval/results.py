"""Runs of lm-eval: ``results_<time>.json`` and ``samples_<task>_<time>.jsonl``. Checked against lm_eval 0.4.13.

A sample is a line with the whole prompt in it, so that files grow to gigabytes; one line is held at a time.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.hosts.stored import (
    LM_EVAL,
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
from long_context_tasks.schema.response import DOES_NOT_FIT, Response, from_stored_form

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_RESULTS = re.compile(rf"(?!samples_).*?_?(?P<time>{_TIME})\.json", re.ASCII)
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl", re.ASCII)
_FILTER = ",none"
_LIKELIHOOD = "loglikelihood_rolling"
_RECORD_KEYS = {"response", "status", "prompt_sha256", "verdicts"}
# The prompt of a sample stands between these, the numbers of its metrics behind the last; a quote inside a text is escaped.
_PROMPT, _BEHIND_PROMPT = b', "arguments": {', b', "resps": '
_METRICS = b', "target_hash": '
_NAN = re.compile(rb"([:,] |\[)NaN")
REFUSED = "[long_context_tasks: the server refused this prompt for its length]"
"""The reply in the log for a prompt that the server refused; ``refusals`` writes it."""

Found = StoredRun | tuple[Path, str]
"""A run, or a file that cannot be used and why."""


def lm_eval_runs(folder: Path, files: Sequence[str]) -> list[Found]:
    """Return the runs whose files, given by name, lie in a folder."""
    found: list[Found] = []
    samples = {(match["time"], match["task"]): name for name in files if (match := _SAMPLES.fullmatch(name))}
    times = set()
    for name in files:
        match = _RESULTS.fullmatch(name)
        if match is None:
            continue
        times.add(match["time"])
        found += _runs_of(folder / name, match["time"], samples)
    for (time, task), name in samples.items():
        if time not in times and _is_ours(folder / name):
            found.append(
                (
                    folder / name,
                    f"{folder / name}: there is no results file of {time} beside it, so that the options of {task} are not "
                    "known; put the file back, or run again",
                )
            )
    return found


def _runs_of(path: Path, time: str, samples: Mapping[tuple[str, str], str]) -> Iterator[Found]:
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        configs = row["configs"]
        for task, config in configs.items():
            if "benchmark" in (metadata := config.get("metadata") or {}):
                name = samples.get((time, task))
                files = (path.with_name(name),) if name else ()
                yield _run(path, time, row, task, config, metadata, files)
    except OSError as error:
        yield path, f"{path}: cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if "lct_" in _beginning(path) or any(when == time for when, _ in samples):
            yield path, f"{path}: not a results file of lm-eval, or damaged ({_short(error)}); run again"


def _run(
    path: Path,
    time: str,
    row: Mapping[str, Any],
    task: str,
    config: Mapping[str, Any],
    metadata: Mapping[str, Any],
    files: tuple[Path, ...],
) -> StoredRun:
    numbers = {
        key.removesuffix(_FILTER): math.nan if value_of(value) is None else float(value)
        for key, value in row.get("results", {}).get(task, {}).items()
        if key.endswith(_FILTER) and not key.endswith(f"_stderr{_FILTER}") and isinstance(value, int | float)
    }
    # With --predict_only the host writes one number of its own.
    numbers = {} if "bypass" in numbers else numbers
    run = row.get("config") or {}
    return StoredRun(
        host=LM_EVAL,
        model=str(row.get("model_name") or path.parent.name),
        task=task,
        options={key: value for key, value in metadata.items() if key.startswith("lct_")},
        version=metadata.get("version"),
        folder=path.parent,
        label=f"{task}_{time}",
        made=time,
        files=files,
        read=_read_likelihoods if config.get("output_type") == _LIKELIHOOD else _read,
        result_file=path if numbers else None,
        numbers=numbers,
        headline=word_of(metadata.get("headline")),
        points=None if metadata.get("points") is None else tuple(map(str, metadata["points"])),
        judge=dict(metadata.get("judge") or {}),
        provenance={
            "host_version": row.get("lm_eval_version"),
            "commit": row.get("git_hash"),
            "transformers_version": row.get("transformers_version"),
            "package": metadata.get("package"),
            "command": metadata.get("command"),
            "model": run.get("model"),
            "model_args": run.get("model_args"),
            "model_revision": run.get("model_revision"),
            "model_sha": run.get("model_sha"),
            "model_dtype": run.get("model_dtype"),
            "batch_size": run.get("batch_size"),
            "device": run.get("device"),
            "gen_kwargs": run.get("gen_kwargs"),
            "limit": run.get("limit"),
            "random_seed": run.get("random_seed"),
            "system_instruction": row.get("system_instruction"),
            "chat_template_sha": row.get("chat_template_sha"),
            "window": metadata.get("window"),
            "n_cases_available": metadata.get("n_cases_available"),
            "cases_sha256": metadata.get("cases_sha256"),
            "generation_kwargs": config.get("generation_kwargs"),
            "n_samples": ((row.get("n-samples") or {}).get(task) or {}).get("effective"),
        },
    )


def _read(run: StoredRun) -> Iterator[StoredCase]:
    for place, sample in _samples(run):
        try:
            yield _case(sample)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise InputError(f"{place}: not a sample of our tasks ({_short(error)}); run again") from error


def _read_likelihoods(run: StoredRun) -> Iterator[StoredCase]:
    for place, sample in _samples(run):
        try:
            values = tuple(_likelihood(one) for one in sample["resps"] if one)
            scores, reasons = _scores(sample, 1)
            status = None if values else DOES_NOT_FIT
            yield StoredCase(
                id=str(sample["doc"]["case"]),
                responses=(Response(None, status),),
                scores=scores,
                reasons=reasons,
                log_likelihoods=values if status is None else None,
                **_labels(sample["doc"]),
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise InputError(f"{place}: not a sample of our tasks ({_short(error)}); run again") from error


def _samples(run: StoredRun) -> Iterator[tuple[str, dict[str, Any]]]:
    if not run.files:
        raise InputError(
            f"{run.folder}: {run} ran without --log_samples, so that no responses are kept; run again with it"
        )
    [path] = run.files
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield f"{path}, line {number}", _sample(path, number, line)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    expected = run.provenance["n_samples"]
    if expected is not None and number != expected:
        raise InputError(f"{path}: {number} samples instead of {expected}; the file was cut, run again")


def _sample(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        sample = loads(_without_prompt(line))
        if not isinstance(sample, dict):
            raise ValueError("no object")
    except ValueError as error:
        raise InputError(
            f"{path}, line {number}: damaged ({_short(error)}); the file was cut, run again"
        ) from error
    return sample


def _without_prompt(line: bytes) -> bytes:
    """Drop the prompt, which is nearly all of a line, and write ``null`` for NaN; a line of another layout stays."""
    start = line.find(_PROMPT)
    end = line.find(_BEHIND_PROMPT, start)
    if 0 < start < end:
        line = line[:start] + line[end:]
    head, mark, metrics = line.rpartition(_METRICS)
    return head + mark + _NAN.sub(b"\\1null", metrics) if mark else line


def _labels(doc: Mapping[str, Any]) -> dict[str, Any]:
    cluster = doc.get("cluster")
    return {
        "cluster": None if cluster is None else str(cluster),
        "labels": labels_of(json.loads(doc.get("labels") or "{}")),
        "turn_labels": tuple(map(labels_of, json.loads(doc.get("turn_labels") or "[]"))),
    }


def _case(sample: Mapping[str, Any]) -> StoredCase:
    [text] = sample["filtered_resps"]
    record = _record(text)
    if record is not None:
        responses = from_stored_form(record["response"], record["status"])
        verdicts = verdicts_of(record["verdicts"], len(responses))
    else:
        responses, verdicts = [_plain_response(sample, text)], ()
    scores, reasons = _scores(sample, len(responses))
    return StoredCase(
        id=str(sample["doc"]["case"]),
        responses=tuple(responses),
        scores=scores,
        reasons=reasons,
        verdicts=verdicts,
        **_labels(sample["doc"]),
    )


def _record(text: str) -> dict[str, Any] | None:
    """Return what tasks with a judge or several turns write in place of a response; None for a plain response."""
    if not text.startswith("{"):
        return None
    try:
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) and set(record) == _RECORD_KEYS else None


def _plain_response(sample: Mapping[str, Any], text: str) -> Response:
    """The host writes None as a text; a prompt that was not sent has no raw responses."""
    if not sample["resps"] or not sample["resps"][0] or text == REFUSED:
        return Response(None, DOES_NOT_FIT)
    return Response(text)


def _scores(
    sample: Mapping[str, Any], turns: int
) -> tuple[dict[str, tuple[float | None, ...]], tuple[str | None, ...]]:
    """Values and reasons of all turns; of a conversation the log has a list for each key."""
    keys = [key for key in sample.get("metrics", ()) if key in sample]
    if "n" not in keys:
        return {}, ()
    conversation = isinstance(sample["n"], list)

    def values(key: str) -> list[Any]:
        found = sample[key] if conversation else [sample[key]]
        if len(found) != turns:
            raise ValueError(f"{key} has {len(found)} values for {turns} turns")
        return list(found)

    scores = {name: tuple(map(value_of, values(name))) for name in metric_names(keys)}
    counts = {
        key.removeprefix("n_"): values(key)
        for key in keys
        if key.startswith("n_") and key not in ("n_scored", "n_truncated")
    }
    reasons = tuple(
        next((name for name, flags in counts.items() if flags[turn]), None) for turn in range(turns)
    )
    return scores, reasons


def _likelihood(response: Any) -> float:
    """Read a number, which the host writes as text, in a list for each repeat."""
    while isinstance(response, list | tuple):
        response = response[0]
    return float(response)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return "case" in json.loads(file.readline())["doc"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(1 << 20).decode("utf-8", "replace")


def _short(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no {error.args[0]}"
    return str(error)[:200]
