"""A table of results with a row per task and model and a column per length, printed at the end of a run."""

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.grid import Grid
from long_context_tasks.schema.response import UNSCORED

_UNITS = "with 95 % intervals (percent; judged scores in points):"
_NO_LENGTH = "-"  # column of tasks whose name and options have no length
_NAME = re.compile(r"(?=.*\Z)(?P<family>.+?)_(?P<length>\d+[km]?|any)(?:_(?P<variant>.+))?", re.ASCII)
_GUESS = "random guess"
_SCORE = "score"
_MISSING = "missing"
_OTHER_OPTIONS = "other options"
# For other packages' tasks, in OpenCompass' order of preference.
_HEADLINES = ("score", "accuracy")

Result = Mapping[str, Any]  # a task's numbers and metadata by name, with rates in percent


@dataclass(frozen=True)
class TablePlace:
    row: str
    length: str

    @property
    def tokens(self) -> float:
        """Length in tokens, for sorting; infinite if the name has none."""
        try:
            return parse_length(self.length)
        except InputError:
            return math.inf


@dataclass(frozen=True)
class LengthEntry:
    """A result that a run should have."""

    model: str
    dataset: str
    place: TablePlace
    result: Result | None  # None if it is missing
    task: str = ""
    # Difference between its options or judge and the current ones, in words; such a result is not shown.
    change: str = ""


def place_of(task: str, length: str | None = None) -> TablePlace:
    """Return a task's row and column from its name and its length option.

    >>> place_of("toy_sort_2k_synthetic")
    TablePlace(row='toy_sort (synthetic)', length='2k')
    >>> place_of("toy_recall_synthetic", "8k")
    TablePlace(row='toy_recall_synthetic', length='8k')
    """
    match = _NAME.fullmatch(task)
    if match is None:
        return TablePlace(task, length or _NO_LENGTH)
    variant = f" ({match['variant']})" if match["variant"] else ""
    named = match["length"]
    return TablePlace(match["family"] + variant, length if named == "any" and length else named)


def number(result: Result, key: str) -> float:
    """Return a result's number, or NaN if it is missing."""
    return float(result.get(key, math.nan))


def total(results: Sequence[Result], key: str) -> float:
    """Return the sum of a count over results, ignoring unknown counts."""
    return sum(count for result in results if (count := number(result, key)) > 0)


def in_percent(numbers: Mapping[str, Any], points: Collection[str]) -> dict[str, Any]:
    """Return a task's numbers with rates in percent; counts and metrics in points are unchanged."""
    return {
        key: value if is_count(key) or metric_of(key) in points else 100 * value
        for key, value in numbers.items()
    }


def is_count(key: str) -> bool:
    return key == "n" or key.startswith("n_")


def metric_of(key: str) -> str:
    """Return the metric a number belongs to; the number may be a confidence bound."""
    return key.removesuffix("_low").removesuffix("_high")


def heading(rows: Sequence[Sequence[str]]) -> str:
    """Return the line above the table."""
    return f"Scores {_UNITS}" if rows[0][2:] == [_SCORE] else f"By length, {_UNITS}"


def table(entries: Sequence[LengthEntry]) -> list[list[str]]:
    """Return the rows of the table, with the names of the columns first."""
    columns = list(
        dict.fromkeys(place.length for place in sorted({e.place for e in entries}, key=lambda p: p.tokens))
    )
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for entry in entries:
        row, length = entry.place.row, entry.place.length
        cells.setdefault((row, entry.model), {})[length] = _cell(entry)
        guess = math.nan if entry.change else number(entry.result or {}, "random_guess")
        if not math.isnan(guess):
            cells.setdefault((row, _GUESS), {})[length] = f"{guess:.1f}"
    tasks = list(dict.fromkeys(row for row, _ in cells))
    order = sorted(cells, key=lambda key: (tasks.index(key[0]), key[1] == _GUESS))
    rows = [
        [task, _short(model), *(cells[task, model].get(length, "") for length in columns)]
        for task, model in order
    ]
    return [["task", "model", *([_SCORE] if columns == [_NO_LENGTH] else columns)], *rows]


def _short(model: str) -> str:
    """Return the name of a model's folder without the folders above it; other names are unchanged."""
    return Path(model).name if model.startswith(("/", ".", "~")) else model


def _cell(entry: LengthEntry) -> str:
    """Return the headline metric with its interval, and n/N if some cases have no score."""
    result = entry.result
    if result is None:
        return _MISSING
    if entry.change:
        return _OTHER_OPTIONS
    headline = _headline_of(result)
    # Points on a scale such as 1 to 10 need one more digit than percentages.
    digits = 2 if headline in (result.get("points") or ()) else 1
    text = "-" if math.isnan(value := number(result, headline)) else f"{value:.{digits}f}"
    low, high = number(result, f"{headline}_low"), number(result, f"{headline}_high")
    if not math.isnan(low) and not math.isnan(high):
        text += f" [{low:.{digits}f}, {high:.{digits}f}]"
    scored, cases = number(result, "n_scored"), number(result, "n")
    return text if scored == cases or math.isnan(cases) else f"{text} * {scored:.0f}/{cases:.0f}"


def _headline_of(result: Result) -> str:
    if headline := result.get("headline"):
        return str(headline)
    return next((name for name in _HEADLINES if name in result), next(iter(result)))


def printed(rows: Sequence[Sequence[str]], shown: Mapping[str, Collection[str]]) -> str:
    """Return the table with the line above it, in the form of ``lct`` tables where a terminal is too narrow for it.

    Below it is a line for each metric that the host's tables show; ``shown`` has the names of their numbers by task.
    """
    title, text = heading(rows), markdown(rows)
    width = shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0
    meanings = _meanings(shown, width or sys.maxsize)
    if not width or text.index("\n") <= width:
        return "\n".join([title, "", text, *meanings])
    names, *body = rows
    head, lines = Grid(names, body, [i < 2 for i in range(len(names))]).laid_out(title, width)
    return "\n".join([*(line for _, part in head for line in part), *lines, "", *meanings])


def _meanings(shown: Mapping[str, Collection[str]], width: int) -> list[str]:
    """Return the descriptions of metrics in the benchmarks' cards."""
    lines: dict[str, None] = {}
    for task, numbers in shown.items():
        with suppress(InputError):  # another package's task
            metrics = catalogue.card(catalogue.parse_task(task).benchmark).metrics
            lines |= {f"{name}: {metrics[name]}": None for name in metrics if name in numbers}
    return [textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    heading, *body = ([text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in rows)
    lines = [heading, ["-" * width for width in widths], *body]
    texts = [f"| {' | '.join(line)} |" for line in lines]
    texts[1] = texts[1].replace(" ", "-")
    return "".join(f"{text}\n" for text in texts)


def notes(results: Sequence[Result]) -> list[str]:
    """Return the reasons why cases have no score; empty if all have one."""
    if not any(number(result, "n_scored") < number(result, "n") for result in results):
        return []
    counts = {reason: total(results, f"n_{reason}") for reason in UNSCORED}
    why = ", ".join(f"{count:.0f} {reason}" for reason, count in counts.items() if count)
    return [
        f"* scored/all cases; without a score: {why or 'no reason given'}. Compare models on cases that both could take."
    ]
