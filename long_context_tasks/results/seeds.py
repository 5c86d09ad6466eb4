"""Pool the seeds that cases are made from: runs that differ in nothing else count as more cases, and not as repeats."""

import json
import re
from dataclasses import replace
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema.files import loads

SEED, CASES, POOLED = "lct_seed", "lct_cases", "pooled"


def is_pooled(settings: str) -> bool:
    """Return whether settings, as JSON, are those of runs of several seeds."""
    return bool(loads(settings).get(SEED) == POOLED)


def pooled_seeds(collection: Collection) -> Collection:
    """Return a collection in which runs on cases of several seeds have the same settings, ``lct_seed`` being ``pooled``, and other cases.

    A case gets its seed in front of its id. So does its cluster where its text is written from the seed. Cases made from real texts, built
    or recast, keep their clusters: a book that two seeds draw from is one cluster. Their folders may differ by name in the seed alone
    (``built_1``, ``built_2``). The task has as many cases as all its seeds together, so that a run of fewer seeds is not ranked.

    Runs on published cases, where a seed makes no cases, stay repeats; a task with a single seed stays as it is.
    """
    rows = list(collection.runs.iter_rows(named=True))
    groups: dict[tuple[str, int | None, str], list[tuple[dict[str, Any], str]]] = {}
    for row in rows:
        settings, seed = loads(row["settings"]), str(loads(row["options"]).get(SEED) or 0)
        if CASES in settings:
            settings[CASES] = re.sub(rf"(?<!\d){re.escape(seed)}(?![\dA-Za-z])", "*", settings[CASES])
        shared = json.dumps({**settings, SEED: POOLED}, sort_keys=True, ensure_ascii=False)
        # Seed 0 is the default: settings do not name it, and neither do those of published cases.
        own = seed if SEED in settings or CASES in settings else "0"
        groups.setdefault((row["task"], row["version"], shared), []).append((row, own))
    counted = collection.scores.group_by("run").agg(pl.col("case").n_unique()).iter_rows()
    n_cases = {str(run): int(n) for run, n in counted}
    seeds: dict[str, str] = {}
    changes: dict[str, tuple[str, int]] = {}
    for (_, _, shared), members in groups.items():
        available: dict[str, int] = {}
        for row, seed in members:
            most = max(row["n_cases_available"] or 0, n_cases.get(row["run"], 0))
            available[seed] = max(available.get(seed, 0), most)
        if len(available) > 1:
            changes |= {row["run"]: (shared, sum(available.values())) for row, _ in members}
            seeds |= {row["run"]: seed for row, seed in members}
    if not seeds:
        return collection
    changed = [
        row
        if row["run"] not in changes
        else row | dict(zip(("settings", "n_cases_available"), changes[row["run"]], strict=True))
        for row in rows
    ]
    written = {
        row["run"]
        for row in rows
        if row["run"] in changes
        and CASES not in loads(row["settings"])
        and catalogue.parse_task(row["task"]).source == "seed"
    }
    run, text = pl.col("run").cast(pl.String()), "seed {}: {}"
    seed_of_run = run.replace_strict(seeds, default=None, return_dtype=pl.String())

    def with_seed(name: str, seed: pl.Expr) -> pl.Expr:
        old = pl.col(name).cast(pl.String())
        return (
            pl.when(seed.is_null())
            .then(old)
            .otherwise(pl.format(text, seed, old))
            .cast(pl.Categorical())
            .alias(name)
        )

    scores = collection.scores.with_columns(
        with_seed("case", seed_of_run),
        with_seed("cluster", pl.when(run.is_in(list(written))).then(seed_of_run)),
    )
    return replace(collection, runs=pl.DataFrame(changed, schema=collection.runs.schema), scores=scores)
