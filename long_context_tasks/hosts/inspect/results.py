"""Read inspect_ai's ``*.eval`` or ``*.json`` logs with its own library (checked against 0.3.285)."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from long_context_tasks.hosts.own_tasks import OwnTaskCard, Sample, own_runs
from long_context_tasks.hosts.stored import INSPECT, Found, StoredCase, StoredRun, number_of, run_with, short
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import lacking
from long_context_tasks.schema.response import ENDPOINT_FAILED, Response, from_stored_form
from long_context_tasks.stats.means import result_keys

# Key of the run metadata in its log, and of a case's answers in the sample's store.
METADATA = "long_context_tasks"
# Other packages' files also end in .json.
_LOG = re.compile(r".*\.eval|\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d.*_.+_[0-9A-Za-z]{22}\.json", re.ASCII)
_PROVIDER = re.compile(r"^(openai-api/)?[^/]+/")
_FACTS = ("window", "rope")
# Generation settings that do not affect answers.
_OPERATION = {
    *("max_retries", "timeout", "attempt_timeout", "max_connections"),
    *("adaptive_connections", "batch", "cache"),
}
_PROMPT = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
# Long parts of a sample that are repeated in its score.
_LONG = {"messages", "events", "events_data", "attachments", "store", "output", "timelines"}


def inspect_runs(folder: Path, files: Sequence[str]) -> list[Found]:
    """Return the runs whose logs are among the given files in a folder.

    An interrupted run is included only if no later log finishes it.
    """
    runs: list[Found] = []
    # Keyed by task id, which eval-retry keeps.
    unfinished: dict[str, Found] = {}
    for path in (folder / name for name in files if _LOG.fullmatch(name)):
        try:
            for run in _headers(path):
                if isinstance(run, StoredRun) and (stopped := run.provenance["stopped"]):
                    remedy = f"finish it with inspect eval-retry {path}"
                    message = f"{path}: not finished ({stopped}); {remedy}"
                    unfinished[run.provenance["task_id"]] = message
                else:
                    runs.append(run)
        except ImportError:
            runs.append(str(lacking("inspect", f"{path}: reading this log", "inspect_ai")))
        except Exception as error:  # readers of a damaged archive raise almost anything
            runs.append(f"{path}: not a log of inspect_ai, or damaged ({short(error)}); run again")
    finished = {run.provenance["task_id"] for run in runs if isinstance(run, StoredRun)}
    return runs + [run for task, run in unfinished.items() if task not in finished]


def _headers(path: Path) -> list[Found]:
    """Return a log's runs, finished or not: one for a task of ours, one per length for a native Inspect task."""
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(path), header_only=True)
    facts = (log.eval.metadata or {}).get(METADATA)
    if facts is not None:
        return [_run(path, log, facts)]
    scores = log.results.scores if log.results else ()
    runs = own_runs(
        log.eval.task,
        {name: metric.value for score in scores for name, metric in score.metrics.items()},
        log.eval.task_args,
        _own_samples,
        result_file=path,
        options={"version": log.eval.task_version},
        **_common(path, log),
    )
    # inspect_evals has a mean, NaN, also of a length of which no case ran (--limit).
    if len(runs) > 1:
        runs = [run for run in runs if isinstance(run, StoredRun) and next(run.cases(), None)]
    return runs


def _run(path: Path, log: Any, facts: Mapping[str, Any]) -> StoredRun:
    numbers = _numbers(log)
    return run_with(
        facts,
        *_FACTS,
        **_common(path, log),
        read=_read,
        result_file=path if numbers else None,
        numbers=numbers,
    )


def _common(path: Path, log: Any) -> dict[str, Any]:
    """Return the fields shared by runs of our tasks and of native Inspect tasks."""
    spec = log.eval
    generation = log.plan.config.merge(spec.model_generate_config)
    return {
        "provenance": {
            "host_version": spec.packages.get("inspect_ai"),
            "commit": spec.revision.commit if spec.revision else None,
            "model": spec.model.partition("/")[0],
            "model_args": {**spec.model_args, "model": spec.model, "base_url": spec.model_base_url},
            "gen_kwargs": generation.model_dump(exclude_none=True, exclude=_OPERATION),
            "task_id": spec.task_id,
            "stopped": None if log.status == "success" else log.status,
            "limit": spec.config.limit,
            "n_cases_available": spec.dataset.samples,
            "started": log.stats.started_at,
            "completed": log.stats.completed_at,
        },
        "host": INSPECT,
        # The name that other hosts use: without the provider; for a local model, its folder.
        "model": spec.model_args.get("model_path") or _PROVIDER.sub("", spec.model),
        "folder": path.parent,
        "label": path.stem,
        "made": spec.created,
        "files": (path,),
    }


def _own_samples(run: StoredRun, _: OwnTaskCard, __: str) -> Iterator[Sample]:
    from inspect_ai.scorer import value_to_float

    for sample in _samples(run, _LONG - {"output"}):
        score = next(iter((sample.scores or {}).values()), None)  # None if the sample failed
        value = score and value_to_float()(score.value)
        yield str(sample.id), sample.epoch - 1, value, sample.output.completion, sample.metadata


def _numbers(log: Any) -> dict[str, float]:
    """Return a log's numbers, including those omitted from it: zero counts and unknown values."""
    if log.results is None or not log.results.scores:
        return {}
    [score] = log.results.scores
    written = {name: number_of(metric.value) for name, metric in score.metrics.items()}
    known = result_keys(*(log.eval.metrics[0].options[name] for name in ("metrics", "intervals")))
    return {
        key: written.get(key, 0.0 if key.startswith("n_") and key != "n_truncated" else math.nan)
        for key in known
    }


def _samples(run: StoredRun, without: set[str]) -> Iterator[Any]:
    from inspect_ai.log import read_eval_log_samples

    [path] = run.files
    return read_eval_log_samples(str(path), all_samples_required=False, exclude_fields=without)


def _read(run: StoredRun) -> Iterator[StoredCase]:
    try:
        yield from map(_case, _samples(run, _LONG))
    except Exception as error:
        place = run.files[0]
        raise InputError(f"{place}: damaged, or no log of our tasks ({short(error)}); run again") from error


def _case(sample: Any) -> StoredCase:
    labels = sample.metadata
    common: dict[str, Any] = {
        "id": str(sample.id),
        "repeat": sample.epoch - 1,
        "cluster": labels["cluster"],
        "labels": labels["labels"],
        "turn_labels": tuple(labels["turn_labels"]),
    }
    if not sample.scores:  # the case failed, and the user let the run continue
        return StoredCase(responses=(Response(None, ENDPOINT_FAILED),) * len(common["turn_labels"]), **common)
    [record] = [score.metadata for score in sample.scores.values()]
    turns = record["turns"]
    # The log has one sum over all turns of a case.
    usage = list(sample.model_usage.values())[:1] if len(turns) == 1 else []
    return StoredCase(
        responses=tuple(from_stored_form(record["response"], record["status"])),
        scores={name: tuple(turn["scores"][name] for turn in turns) for name in turns[0]["scores"]},
        reasons=tuple(turn["reason"] for turn in turns),
        verdicts=record["verdicts"],
        # inspect_ai counts prompt tokens that were read from a cache or written to one separately.
        tokens=next(
            ((sum(getattr(used, name) or 0 for name in _PROMPT), used.output_tokens) for used in usage), None
        ),
        **common,
    )
