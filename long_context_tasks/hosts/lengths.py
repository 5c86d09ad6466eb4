"""A table of results by length: a row for each task and model, a column for each length. Hosts print it at the end of a run."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.response import UNSCORED

_NAME = re.compile(r"(?=.*\Z)(?P<family>.+?)_(?P<length>\d+[km]?|any)(?:_(?P<variant>.+))?", re.ASCII)
_GUESS = "random guess"
_MISSING = "missing"
_OTHER_OPTIONS = "other options"
# Of tasks that are not ours, as in the host.
_HEADLINES = ("score", "accuracy")

Result = Mapping[str, Any]
"""Numbers and facts by name; see :func:`plain`."""


@dataclass(frozen=True)
class TablePlace:
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


@dataclass(frozen=True)
class Entry:
    """A result that a run should have.

    Attributes:
        model: as the host names it.
        dataset: likewise.
        place: in the table.
        result: None when it is missing.
        task: its name.
        change: how its options or judge differ from those of now, in words; such a result is not shown.
    """

    model: str
    dataset: str
    place: TablePlace
    result: Result | None
    task: str = ""
    change: str = ""


def place_of(task: str, length: str | None = None) -> TablePlace:
    """Row and column of a task by its name, and by the length that it was given as an option.

    >>> place_of("toy_sort_2k_synthetic")
    TablePlace(row='toy_sort (synthetic)', length='2k')
    >>> place_of("toy_recall_synthetic", "8k")
    TablePlace(row='toy_recall_synthetic', length='8k')
    """
    match = _NAME.fullmatch(task)
    if match is None:
        return TablePlace(task, length or "-")
    variant = f" ({match['variant']})" if match["variant"] else ""
    return TablePlace(
        match["family"] + variant, str(length) if match["length"] == "any" and length else match["length"]
    )


def number(result: Result, key: str) -> float:
    """Return a number of a result; nan where there is none."""
    return float(result.get(key, math.nan))


def _headline_of(result: Result) -> str:
    if headline := result.get("headline"):
        return str(headline)
    return next((name for name in _HEADLINES if name in result), next(iter(result)))


def cell(entry: Entry) -> str:
    """A result in short: the headline metric with its interval, and n of N where some cases could not be scored."""
    result = entry.result
    if result is None:
        return _MISSING
    if entry.change:
        return _OTHER_OPTIONS
    headline = _headline_of(result)
    digits = 2 if headline in (result.get("points") or ()) else 1
    text = "-" if math.isnan(value := number(result, headline)) else f"{value:.{digits}f}"
    low, high = number(result, f"{headline}_low"), number(result, f"{headline}_high")
    if not math.isnan(low) and not math.isnan(high):
        text += f" [{low:.{digits}f}, {high:.{digits}f}]"
    scored, total = number(result, "n_scored"), number(result, "n")
    return text if scored == total or math.isnan(total) else f"{text} * {scored:.0f}/{total:.0f}"


def table(entries: Sequence[Entry]) -> list[list[str]]:
    """Rows of the table, the heading first."""
    lengths = sorted({entry.place for entry in entries}, key=lambda place: place.tokens)
    columns = list(dict.fromkeys(place.length for place in lengths))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for entry in entries:
        row, length = entry.place.row, entry.place.length
        cells.setdefault((row, entry.model), {})[length] = cell(entry)
        guess = math.nan if entry.change else number(entry.result or {}, "random_guess")
        if not math.isnan(guess):
            cells.setdefault((row, _GUESS), {})[length] = f"{guess:.1f}"
    tasks = list(dict.fromkeys(row for row, _ in cells))
    order = sorted(cells, key=lambda key: (tasks.index(key[0]), key[1] == _GUESS))
    rows = [
        [task, model, *(cells[task, model].get(length, "") for length in columns)] for task, model in order
    ]
    return [["task", "model", *columns], *rows]


def with_group_means(entries: Sequence[Entry]) -> list[Entry]:
    """Results with lm-eval's group means over the splits of pooled tasks, which weigh by cases; the host has none.

    A mean stands behind the last split where the run has every split once; one missing or stale split makes it so, too.
    """
    groups: dict[str, list[str]] = {}
    for spec in catalogue.task_specs():
        if spec.card.pooled and len(spec.card.splits) > 1 and not spec.length:
            name = "_".join(part for part in (spec.family, spec.variant) if part)
            groups.setdefault(name, []).append(spec.name)
    with_means = []
    for entry in entries:
        with_means.append(entry)
        for group, members in groups.items():
            own = [other for other in entries if other.model == entry.model and other.task in members]
            if own and own[-1] is entry and sorted(other.task for other in own) == sorted(members):
                change = next((other.change for other in own if other.change), "")
                place = TablePlace(group, entry.place.length)
                with_means.append(Entry(entry.model, group, place, _mean_of(own), change=change))
    return with_means


def _mean_of(entries: Sequence[Entry]) -> Result | None:
    """The headline of several results, weighed by their cases; None when one is missing."""
    results = [entry.result for entry in entries if entry.result is not None]
    if len(results) < len(entries):
        return None
    headline = _headline_of(results[0])
    total = math.fsum(number(result, "n") for result in results)
    weighed = math.fsum(number(result, headline) * number(result, "n") for result in results)
    return {
        headline: weighed / total if total else math.nan,
        "n": total,
        "n_scored": math.fsum(number(result, "n_scored") for result in results),
        "headline": headline,
        "points": results[0].get("points"),
    }


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, in columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in (rows[0], rule, *rows[1:])
    ]
    lines[1] = lines[1].replace(" ", "-")
    return f"| {lines[0]} |\n|-{lines[1]}-|\n" + "".join(f"| {line} |\n" for line in lines[2:])


HEADING = "By length, with 95 % intervals (percent; judged scores in points):"


def total(results: Sequence[Result], key: str) -> float:
    """Sum of a count over results; unknown counts are left out."""
    return sum(count for result in results if (count := number(result, key)) > 0)


def notes(results: Sequence[Result]) -> list[str]:
    """Say why cases have no score, and how many prompts the host cut; empty when neither happened."""
    said = []
    if any(number(result, "n_scored") < number(result, "n") for result in results):
        counts = {reason: total(results, f"n_{reason}") for reason in UNSCORED}
        why = ", ".join(f"{count:.0f} {reason}" for reason, count in counts.items() if count)
        said.append(
            f"* scored/all cases; without a score: {why or 'no reason given'}. Compare models on cases that both could take."
        )
    if cut := total(results, "n_truncated"):
        said.append(f"{cut:.0f} prompts were cut by the host before the model saw them (n_truncated).")
    return said
