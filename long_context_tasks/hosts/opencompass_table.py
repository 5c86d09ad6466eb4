"""Results of a run of OpenCompass as a table: a row for each task family and model, a column for each length.

Cells that do not rest on all cases are marked; families whose official mean counts every case the same have that mean too.
"""

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, parse_length

_NAME = re.compile(r"(?P<family>.+?)_(?P<length>\d+[km]?|any)(?:_(?P<variant>.+))?", re.ASCII)
_GUESS = "random guess"
_MISSING = "missing"
_OTHER_OPTIONS = "other options"
# Of tasks that are not ours, as in the host.
_HEADLINES = ("score", "accuracy")


@dataclass(frozen=True)
class Place:
    """Where a task stands in the table."""

    row: str
    length: str

    @property
    def tokens(self) -> float:
        """Length in tokens, for sorting; endless when the name has none."""
        try:
            return parse_length(self.length)
        except InputError:
            return math.inf


def place_of(task: str, length: str | None = None) -> Place:
    """Row and column of a task by its name, and by the length that it was given as an option.

    >>> place_of("ada_leval_tsort_2k_synthetic")
    Place(row='ada_leval_tsort (synthetic)', length='2k')
    >>> place_of("ethic_recall_synthetic", "8k")
    Place(row='ethic_recall_synthetic', length='8k')
    """
    match = _NAME.fullmatch(task)
    if match is None:
        return Place(task, length or "-")
    variant = f" ({match['variant']})" if match["variant"] else ""
    return Place(
        match["family"] + variant, str(length) if match["length"] == "any" and length else match["length"]
    )


def number(result: Mapping[str, Any], key: str) -> float:
    """A number of a result, also under the name that the host gives it after several runs; nan when it is not there."""
    for name, value in result.items():
        if name == key or re.fullmatch(rf"{re.escape(key)} \(\d+ runs average\)", name):
            return float(value)
    return math.nan


def single(result: Mapping[str, Any], key: str) -> Any:
    """What a result says beside its numbers; the host makes a list of it, with an item for each run. None when not there."""
    value = result.get(key)
    return value[0] if isinstance(value, list) and value else value


def headline_of(result: Mapping[str, Any]) -> str:
    """Name of the metric that stands for a result."""
    told = single(result, "headline")
    return str(told) if told else next((name for name in _HEADLINES if name in result), next(iter(result)))


def cell(result: Mapping[str, Any] | None, stale: bool = False) -> str:
    """A result in short: the headline metric with its interval, and n of N where some cases could not be scored.

    Args:
        result: None when it is missing.
        stale: it was made with other options than those of this run; its numbers are not shown.
    """
    if result is None:
        return _MISSING
    if stale:
        return _OTHER_OPTIONS
    headline = headline_of(result)
    digits = 2 if headline in (single(result, "points") or ()) else 1
    text = "-" if math.isnan(value := number(result, headline)) else f"{value:.{digits}f}"
    low, high = number(result, f"{headline}_low"), number(result, f"{headline}_high")
    if not math.isnan(low) and not math.isnan(high):
        text += f" [{low:.{digits}f}, {high:.{digits}f}]"
    scored, total = number(result, "n_scored"), number(result, "n")
    return text if scored == total or math.isnan(total) else f"{text} * {scored:.0f}/{total:.0f}"


def table(
    results: Mapping[tuple[str, str], tuple[Place, Mapping[str, Any] | None]],
    stale: Container[tuple[str, str]] = (),
) -> list[list[str]]:
    """Rows of the table, the heading first.

    Args:
        results: (model, dataset) to its place and its result (None when it is missing).
        stale: those whose result was made with other options.
    """
    lengths = sorted({place for place, _ in results.values()}, key=lambda place: place.tokens)
    columns = list(dict.fromkeys(place.length for place in lengths))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for (model, dataset), (place, result) in results.items():
        old = (model, dataset) in stale
        cells.setdefault((place.row, model), {})[place.length] = cell(result, old)
        guess = math.nan if result is None or old else number(result, "random_guess")
        if not math.isnan(guess):
            cells.setdefault((place.row, _GUESS), {})[place.length] = f"{guess:.1f}"
    tasks = list(dict.fromkeys(row for row, _ in cells))
    order = sorted(cells, key=lambda key: (tasks.index(key[0]), key[1] == _GUESS))
    rows = [
        [task, model, *(cells[task, model].get(length, "") for length in columns)] for task, model in order
    ]
    return [["task", "model", *columns], *rows]


def with_group_means(
    results: Mapping[tuple[str, str], tuple[Place, Mapping[str, Any] | None]],
    tasks: Mapping[str, str],
    stale: Container[tuple[str, str]] = (),
) -> tuple[dict[tuple[str, str], tuple[Place, Mapping[str, Any] | None]], set[tuple[str, str]]]:
    """Results with lm-eval's group means over the splits of pooled tasks, which weigh by cases; the host has none.

    A mean stands behind the last split where the run has every split once; one missing or stale split makes it so, too.

    Args:
        results: see :func:`table`.
        tasks: dataset to task name.
        stale: see :func:`table`.

    Returns:
        The results with the means, and those means that are stale.
    """
    splits: dict[str, list[str]] = {}
    for spec in catalogue.task_specs():
        if spec.card.pooled and len(spec.card.splits) > 1 and not spec.length:
            name = "_".join(part for part in (spec.family, spec.variant) if part)
            splits.setdefault(name, []).append(spec.name)
    told, old = {}, set()
    for key, found in results.items():
        model, told[key] = key[0], found
        for group, members in splits.items():
            own = [one for one in results if one[0] == model and tasks.get(one[1]) in members]
            if own[-1:] != [key] or sorted(tasks[one[1]] for one in own) != sorted(members):
                continue
            told[model, group] = (Place(group, found[0].length), _mean_of([results[one][1] for one in own]))
            if any(one in stale for one in own):
                old.add((model, group))
    return told, old


def _mean_of(results: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The headline of several results, weighed by their cases; None when one is missing."""
    there = [result for result in results if result is not None]
    if len(there) < len(results):
        return None
    headline = headline_of(there[0])
    sizes = [number(result, "n") for result in there]
    total = math.fsum(sizes)
    weighed = math.fsum(number(result, headline) * n for result, n in zip(there, sizes, strict=True))
    return {
        headline: weighed / total if total else math.nan,
        "n": total,
        "n_scored": math.fsum(number(result, "n_scored") for result in there),
        "headline": [headline],
        "points": [list(single(there[0], "points") or ())],
    }


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, in columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return (
        "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]) + "\n"
    )
