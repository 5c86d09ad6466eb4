"""Packing of runs into bundles, as much of each as the benchmark's card allows."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import long_context_tasks
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import StoredCase
from long_context_tasks.results import BUNDLE_SUFFIX
from long_context_tasks.results.bundle.format import (
    JSON,
    BundleRun,
    bundle_bytes,
    publishable,
    stated_of,
)
from long_context_tasks.results.cells import older_version
from long_context_tasks.results.collect import CollectedRuns, as_json, run_key
from long_context_tasks.results.evaluations import unjudged_evaluation
from long_context_tasks.results.settings import settings_of
from long_context_tasks.schema.files import json_value, loads, make_folder, write_whole
from long_context_tasks.schema.response import writable

_REMEDY = "choose another place with --out"
_PLACES = ("lct_data_dir", "lct_carriers", "lct_judge")
"""Options that only name places on this machine; left out."""


@dataclass(frozen=True)
class PackedBundle:
    path: Path
    runs: int
    cases: int  # number of cases with responses
    size: int  # number of bytes
    withheld: tuple[str, ...]  # benchmarks whose cards do not allow responses
    old: tuple[str, ...]  # runs by an older version of their task, in words


def pack(collected: CollectedRuns, out: Path, *, responses: bool = True) -> list[PackedBundle]:
    """Write bundles of all runs: one if ``out`` ends in ``.zip``, and otherwise one per model into the folder ``out``."""
    rows = list(collected.collection.runs.sort("task", "made", "run").iter_rows(named=True))
    scores = collected.collection.scores_by_run()
    if out.suffix == ".zip":
        return [_write(out, collected, rows, scores, with_responses=responses)]
    models: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        models.setdefault(str(publishable(row["model"])), []).append(row)
    names = {model: file_name(model) for model in models}
    # File systems may ignore case.
    counts = Counter(name.lower() for name in names.values())
    for model, name in names.items():
        if counts[name.lower()] > 1:
            names[model] = f"{name}-{hashlib.sha256(model.encode('utf-8', 'replace')).hexdigest()[:8]}"
    make_folder(out, remedy=_REMEDY)
    return [
        _write(out / f"{names[model]}{BUNDLE_SUFFIX}", collected, rows, scores, with_responses=responses)
        for model, rows in sorted(models.items())
    ]


def file_name(model: str) -> str:
    """Return the name of a model's file, without suffix.

    >>> file_name("Qwen/Qwen2.5-7B"), file_name("..")
    ('Qwen__Qwen2.5-7B', 'model')
    """
    return re.sub(r"[^\w.-]+", "__", model.strip("/"), flags=re.ASCII).strip("._-")[:100] or "model"


def _write(
    path: Path,
    collected: CollectedRuns,
    rows: Iterable[Mapping[str, Any]],
    scores: Mapping[str, pl.DataFrame],
    *,
    with_responses: bool,
) -> PackedBundle:
    runs: list[BundleRun] = []
    responses: dict[str, list[dict[str, Any]]] = {}
    withheld: set[str] = set()
    old: list[str] = []
    for row in rows:
        key, evaluation = row["run"], collected.evaluations[row["run"]]
        card = catalogue.card(row["benchmark"])
        if why := older_version(row["version"], card.version):
            old.append(f"{row['task']} of {row['model']}: {why}")
        answers = None
        if not card.redistribute.get("responses"):
            withheld.add(row["benchmark"])
        elif with_responses:
            # Runs that differ only in the judge share their responses.
            name = run_key(unjudged_evaluation(evaluation.run))
            if name not in responses:
                responses[name] = [row for case in evaluation.run.cases() for row in _case_rows(case)]
            # Empty responses only make the bundle larger.
            if any(row["text"] or row["log_likelihoods"] for row in responses[name]):
                answers = name
        # The run's own settings: those of the tables may have digits that depend on which other runs were collected.
        packed = bundle_row({**row, "settings": as_json(settings_of(evaluation.run))})
        by_seed = _finite(evaluation.by_seed)
        runs.append(BundleRun(packed, collected.labels[key], scores[key], answers, by_seed))
    used = {run.answers for run in runs}
    responses = {name: rows for name, rows in responses.items() if name in used}
    content = bundle_bytes([(run, stated_of(run)) for run in runs], responses, long_context_tasks.__version__)
    write_whole(path, content, remedy=_REMEDY)
    n_cases = sum(len({(row["case"], row["repeat"]) for row in rows}) for rows in responses.values())
    return PackedBundle(path, len(runs), n_cases, len(content), tuple(sorted(withheld)), tuple(old))


def bundle_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of ``RUNS`` as it may be published: without ``source``, local paths and keys."""
    public = {name: publishable(value) for name, value in row.items() if name not in ("source", *JSON)}
    for name in JSON:
        value = {key: each for key, each in loads(row[name] or "{}").items() if key not in _PLACES}
        public[name] = json.dumps(publishable(value), sort_keys=True, ensure_ascii=False)
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in public.items()
    }


def _finite(by_seed: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {
        seed: {name: value for name, value in numbers.items() if math.isfinite(value)}
        for seed, numbers in by_seed.items()
    }


def _case_rows(case: StoredCase) -> Iterator[dict[str, Any]]:
    for turn, response in enumerate(case.responses):
        labels = case.turn_labels[turn] if turn < len(case.turn_labels) else {}
        yield {
            "case": writable(case.id),
            "repeat": case.repeat,
            "turn": turn,
            "text": None if response.text is None else writable(response.text),
            "status": response.status,
            "log_likelihoods": None if turn or not case.log_likelihoods else list(case.log_likelihoods),
            "labels": None
            if turn or not case.labels
            else json.dumps(json_value(case.labels), sort_keys=True),
            "turn_labels": json.dumps(json_value(labels), sort_keys=True) if labels else None,
        }
