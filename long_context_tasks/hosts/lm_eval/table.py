"""The tables that lm-eval prints at the end of a run with tasks of ours: what matters first, lengths in order, then ours by length.

Only what is printed changes: the results file keeps every number. Checked against lm_eval 0.4.13, whose table sorts rows by name; the
names handed to it here sort by rank instead.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.lengths import (
    HEADING,
    Entry,
    Result,
    markdown,
    notes,
    place_of,
    table,
    with_group_means,
)
from long_context_tasks.schema import InputError, format_length

_FILTER = ",none"
_COUNTS = ("n", "coverage")


class _Ranked(str):
    """A name that sorts by its rank and is equal to the plain name."""

    rank: tuple[Any, ...]

    def __new__(cls, name: str, *rank: Any) -> "_Ranked":
        made = super().__new__(cls, name)
        made.rank = rank
        return made

    def __lt__(self, other: str) -> bool:
        return self.rank < other.rank if isinstance(other, _Ranked) else str(self) < other


def printed(
    make_table: Callable[..., str],
    results: Mapping[str, Any],
    ours: Mapping[str, Mapping[str, Any]],
    column: str,
    *more: Any,
) -> str:
    """Return lm-eval's table of a run with tasks of ours, and below its last table ours by length."""
    members = results.get("group_subtasks", {})
    of_tasks = {task: _main_metrics(task, metadata) for task, metadata in ours.items()}

    def main_of(name: str) -> tuple[str, ...]:
        return of_tasks.get(name) or next(filter(None, map(main_of, members.get(name, ()))), ())

    shown = {
        **results,
        column: {
            _by_length(name): _shown(numbers, main) if (main := main_of(name)) else numbers
            for name, numbers in results[column].items()
        },
        "group_subtasks": {
            _by_length(group): list(map(_by_length, tasks)) for group, tasks in members.items()
        },
    }
    text = make_table(shown, column, *more)
    last = "groups" if "groups" in results else "results"
    return f"{text}\n{lengths(results, ours)}" if column == last else text


def _by_length(task: str) -> _Ranked:
    place = place_of(task)
    return _Ranked(task, place.row, place.tokens, task)


def _main_metrics(task: str, metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Headline and official metric, each once."""
    try:
        official = catalogue.parse_task(task).card.official
    except InputError:  # of a package that is not installed here
        official = ""
    return tuple(dict.fromkeys(filter(None, (metadata["headline"], official))))


def _shown(numbers: Mapping[str, Any], main: tuple[str, ...]) -> dict[str, Any]:
    """The rows of a task: main metrics, n, coverage, and counts of what went wrong; of a group all, main metrics first.

    Of the metrics without a value only the headline has a row, with a dash; a task's counts say what is missing.
    """
    first, is_task = (*main, *_COUNTS), f"n{_FILTER}" in numbers
    rows: dict[str, Any] = {}
    for key, value in numbers.items():
        metric, _, of_filter = key.partition(",")
        if not of_filter:
            rows[_Ranked(key, 0)] = value
        elif isinstance(value, float) and math.isnan(value):
            if metric == main[0]:
                rows[_Ranked(key, 0, metric)] = "-"
        elif not metric.endswith("_stderr") and (
            not is_task or metric in first or _is_failure(metric, value)
        ):
            rank = first.index(metric) if metric in first else len(first)
            # Beside a dash the host prints every float with four digits.
            rows[_Ranked(key, rank, metric)] = int(value) if _is_count(metric) else value
            error = numbers.get(f"{metric}_stderr,{of_filter}")
            if isinstance(error, float) and not math.isnan(error):
                rows[_Ranked(f"{metric}_stderr,{of_filter}", rank, metric, "error")] = error
    return rows


def _is_count(metric: str) -> bool:
    return metric == "n" or metric.startswith("n_")


def _is_failure(metric: str, value: Any) -> bool:
    return metric.startswith("n_") and metric != "n_scored" and value > 0


def lengths(results: Mapping[str, Any], ours: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table by length of the tasks that have numbers; empty when none has."""
    entries = list(_entries(results, ours))
    if not entries:
        return ""
    fresh = [entry.result for entry in entries if entry.result is not None]
    return "\n".join([HEADING, "", markdown(table(with_group_means(entries))), *notes(fresh), ""])


def _entries(results: Mapping[str, Any], ours: Mapping[str, Mapping[str, Any]]) -> Iterator[Entry]:
    model = model_name(results.get("config") or {})
    for task in sorted(ours, key=_by_length):
        numbers, metadata = results["results"].get(task, {}), ours[task]
        if f"{metadata['headline']}{_FILTER}" in numbers:
            given = metadata.get("lct_length")
            length = format_length(int(given)) if given else None
            name = str(metadata["task"])
            yield Entry(model, task, place_of(name, length), _percent(numbers, metadata), name)


def _percent(numbers: Mapping[str, Any], metadata: Mapping[str, Any]) -> Result:
    """Numbers by plain name, rates in percent."""
    points = metadata.get("points") or ()
    result: dict[str, Any] = {"headline": metadata["headline"], "points": points}
    for key, value in numbers.items():
        name = key.removesuffix(_FILTER)
        if name == key or name.endswith("_stderr") or not isinstance(value, int | float):
            continue
        metric = name.removesuffix("_low").removesuffix("_high")
        result[name] = value if _is_count(name) or metric in points else 100 * value
    return result


def model_name(config: Mapping[str, Any]) -> str:
    """The model of a run, by its arguments, with its method if it has one; the host's kind of model where they name none.

    >>> model_name({"model": "hf", "model_args": {"pretrained": "some/model", "dtype": "auto"}})
    'some/model'
    >>> model_name({"model": "local-chat-completions", "model_args": "model=stub,base_url=x"})
    'stub'
    >>> model_name({"model": "dummy", "model_args": ""})
    'dummy'
    >>> model_name({"model": "lct_hf", "model_args": {"pretrained": "owl"}, "lct_method": "rerope_window512"})
    'owl (rerope_window512)'
    """
    arguments = config.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    name = str(arguments.get("pretrained") or arguments.get("model") or config.get("model") or "model")
    return f"{name} ({config['lct_method']})" if config.get("lct_method") else name
