"""The tables that lm-eval prints at the end of a run that includes our tasks.

Only the printed text changes; the results file keeps every number. Checked against lm_eval 0.4.13 and 0.5.0.dev1.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.lengths import (
    LengthEntry,
    in_percent,
    is_count,
    notes,
    place_of,
    printed,
    table,
)
from long_context_tasks.hosts.lm_eval.results import FILTER, model_name, plain_numbers
from long_context_tasks.schema import InputError, format_length


def with_main_metrics(results: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return results with only the main numbers in ``column``, the printed part (results or groups)."""
    shown = {}
    for name, numbers in results[column].items():
        main = _main_metrics(name, results)
        shown[name] = _main_numbers(numbers, main) if main else numbers
    return {**results, column: shown}


def _main_metrics(name: str, results: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the headline and official metrics of a task, or of a group's first task.

    Tasks from other packages have none.
    """
    metadata = results["configs"].get(name, {}).get("metadata") or {}
    if "headline" not in metadata:
        members = results.get("group_subtasks", {}).get(name, ())
        return next(filter(None, (_main_metrics(member, results) for member in members)), ())
    try:
        official = catalogue.parse_task(name).card.official
    except InputError:  # the task's package is not installed
        official = ""
    return tuple(dict.fromkeys(filter(None, (metadata["headline"], official))))


def _main_numbers(numbers: Mapping[str, Any], main: tuple[str, ...]) -> dict[str, Any]:
    """Keep a task's main metrics, n, coverage and failure counts; for a group, keep every metric.

    A headline without a value is shown as a dash, which the counts explain. Other metrics without a value are
    omitted.
    """
    is_task = f"n{FILTER}" in numbers
    shown: dict[str, Any] = {}
    for key, value in numbers.items():
        metric = key.removesuffix(FILTER)
        if metric == key:  # metadata such as the alias
            shown[key] = value
        elif metric.endswith("_stderr"):
            continue
        elif isinstance(value, float) and math.isnan(value):
            if metric == main[0]:
                shown[key] = "-"
        elif (
            not is_task
            or metric in (*main, "n", "coverage")
            or (metric.startswith("n_") and metric != "n_scored" and value > 0)
        ):
            # lm-eval prints four decimals of every float.
            shown[key] = int(value) if is_count(metric) else value
            error = numbers.get(f"{metric}_stderr{FILTER}")
            if isinstance(error, float) and not math.isnan(error):
                shown[f"{metric}_stderr{FILTER}"] = error
    return shown


def by_length_table(results: Mapping[str, Any], column: str) -> str:
    """Return a table of our tasks by length, printed below lm-eval's last table; empty below other tables."""
    entries = list(_entries(results))
    if column != ("groups" if "groups" in results else "results") or not entries:
        return ""
    fresh = [entry.result for entry in entries if entry.result is not None]
    shown = {}
    for entry in entries:
        numbers, main = entry.result or {}, _main_metrics(entry.dataset, results)
        # As in the host's table, only a headline is shown without a value.
        shown[entry.task] = {
            name
            for name in (*main, "random_guess")
            if name in numbers and (name == main[0] or not math.isnan(numbers[name]))
        }
    return "\n".join(["", printed(table(entries), shown), *notes(fresh), ""])


def _entries(results: Mapping[str, Any]) -> Iterator[LengthEntry]:
    model = model_name(results)
    for task, config in sorted(results["configs"].items()):
        metadata, numbers = config.get("metadata") or {}, results["results"].get(task, {})
        if f"{metadata.get('headline')}{FILTER}" in numbers:
            given = metadata.get("lct_length")
            name = str(metadata["task"])
            points = metadata.get("points") or ()
            percent = in_percent(plain_numbers(numbers), points)
            result = {"headline": metadata["headline"], "points": points, **percent}
            place = place_of(name, format_length(int(given)) if given else None)
            yield LengthEntry(model, task, place, result, name)
