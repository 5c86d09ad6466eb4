"""What figures draw, as data for figures.js; every figure comes with its numbers as a table."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import settings_without_length
from long_context_tasks.site.shown import Breakdown, HeatMap, SiteOptions
from long_context_tasks.site.words import scale_top, settings, settings_label, short_name, tokens
from long_context_tasks.stats import Mean

MOST_LINES = 6
"""Curves in one figure: more cannot be told apart."""

_WER = re.compile(r"(^|_)wer[0-9]+")


@dataclass(frozen=True)
class Figure:
    """A figure on a page.

    Attributes:
        title: heading.
        caption: how to read it.
        data: for figures.js.
    """

    title: str
    caption: str
    data: Mapping[str, Any]


_COUNTS = "n counts the cases that a cell rests on, those of one document once."
_BAND = "Bands are 95 % intervals."


def length_figures(
    cells: Sequence[Cell],
    name: Callable[[Cell], str],
    windows: Mapping[str, int],
    options: SiteOptions,
    title: str,
) -> list[Figure]:
    """Score against length: a line for each name with two lengths or more, points of a scale apart from shares.

    Args:
        cells: at most one for each name and length.
        name: of the line that a cell belongs to.
        windows: label to a claimed context length to mark.
        options: of the site.
        title: of the figure.
    """
    marks = [[window, f"claimed window{label}, {tokens(window)}"] for label, window in windows.items()]
    caption = f"Score against the length of the context in tokens. {_BAND}"
    found = []
    for points in (False, True):
        lines = _lines((cell for cell in cells if cell.points == points), name, lambda cell: cell.length)
        for part in _parts(lines):
            data = _curves(part, "Length in tokens", points, log=True) | {
                "marks": marks,
                "chance": _chance(part, options),
            }
            found.append(Figure(title, caption, data))
    return found


def wer_figures(
    cells: Sequence[Cell], name: Callable[[Cell], str], options: SiteOptions, title: str
) -> list[Figure]:
    """Score against the word error rate of the transcripts, measured where that is known, else aimed at."""
    noisy = {(cell.family, plain_variant(cell)) for cell in cells if cell.wer is not None}

    def place(cell: Cell) -> float | None:
        if (cell.family, plain_variant(cell)) not in noisy:
            return None
        # Beside noisy tasks, the one without noise has the transcripts as people wrote them.
        return options.measured_wer.get(cell.task, float(cell.wer) if cell.wer is not None else 0.0)

    measured = all(cell.wer is None or cell.task in options.measured_wer for cell in cells)
    x_title = f"{'Measured' if measured else 'Target'} word error rate, percent"
    if not measured and any(cell.task in options.measured_wer for cell in cells if cell.wer is not None):
        x_title = "Word error rate, measured or else target, percent"
    found = []
    for points in (False, True):
        lines = _lines((cell for cell in cells if cell.points == points), name, place)
        found += [
            Figure(
                title,
                f"Score against the word error rate of the transcripts. {_BAND}",
                _curves(part, x_title, points, log=False),
            )
            for part in _parts(lines)
        ]
    return found


def heat_figure(given: HeatMap, *, named: bool = False) -> Figure:
    """A heat map; ``named`` puts the model in front of its title."""
    return Figure(
        f"{given.model} · {given.title}" if named and given.model else given.title,
        given.caption if given.counts is None else f"{given.caption} {_COUNTS}",
        {
            "kind": "heat",
            "x": list(given.x),
            "y": list(given.y),
            "values": [list(row) for row in given.values],
            "xTitle": given.x_title,
            "yTitle": given.y_title,
            "low": given.low,
            "high": given.high,
            "counts": None if given.counts is None else [list(row) for row in given.counts],
        },
    )


def position_figures(
    breakdowns: Sequence[Breakdown], name: Callable[[Breakdown], str], options: SiteOptions
) -> list[Figure]:
    """Score by where in the context something stands: a figure for each label of ``options.positions``.

    Args:
        breakdowns: of one model or one task.
        name: of the line that one belongs to.
        options: of the site.
    """
    groups: dict[tuple[str, bool, tuple[str, ...]], list[_Named]] = {}
    for each in breakdowns:
        if each.label in options.positions:
            key = (each.label, each.points, tuple(value for value, _ in each.groups))
            groups.setdefault(key, []).append((name(each), list(each.groups)))
    return [
        _named(f"Score by {label.replace('_', ' ')}", part, values, points)
        for (label, points, values), lines in groups.items()
        for part in (lines[start : start + MOST_LINES] for start in range(0, len(lines), MOST_LINES))
    ]


def moved_figures(cells: Sequence[Cell], name: Callable[[Cell], str], options: SiteOptions) -> list[Figure]:
    """Score by where the variants of a task put the answer; a figure for each length.

    Args:
        cells: of one family, at most one for each name, length and variant.
        name: of the line that a cell belongs to.
        options: of the site.
    """
    places = {variant: number for number, variant in enumerate(options.position_variants)}
    groups: dict[tuple[int, bool], dict[str, dict[str, Mean]]] = {}
    for cell in cells:
        if cell.variant in places:
            lines = groups.setdefault((cell.length or 0, cell.points), {})
            lines.setdefault(name(cell), {}).setdefault(cell.variant, cell.mean)
    found = []
    for (length, points), lines in sorted(groups.items()):
        values = sorted({variant for line in lines.values() for variant in line}, key=places.__getitem__)
        if len(values) > 1:
            named = [
                (line, sorted(means.items(), key=lambda item: places[item[0]]))
                for line, means in lines.items()
            ]
            title = f"Score by where the answer was put{f', {tokens(length)}' if length else ''}"
            found.append(_named(title, named[:MOST_LINES], values, points))
    return found


_Named = tuple[str, list[tuple[str, Mean]]]


def _named(title: str, lines: Sequence[_Named], values: Sequence[str], points: bool) -> Figure:
    """Dots with intervals, a row for each value."""
    place = {value: number for number, value in enumerate(values)}
    highs = [mean.high for _, groups in lines for _, mean in groups if mean.high == mean.high]
    data = {
        "kind": "curves",
        "xTitle": "Place",
        "yTitle": "Score, points" if points else "Score, percent",
        "log": 0,
        "points": int(points),
        "top": scale_top(max(highs, default=0.0), points=points),
        "names": list(values),
        "lines": [
            [
                line,
                [
                    [place[value], mean.value, mean.low, mean.high, mean.n, mean.total]
                    for value, mean in groups
                ],
            ]
            for line, groups in lines
        ],
    }
    return Figure(title, "Bars are 95 % intervals; groups may hold different cases.", data)


def plain_variant(cell: Cell) -> str:
    """The variant of a cell without its noise: cells that differ in noise alone have the same.

    ``czech_wer20`` becomes ``czech``.
    """
    return _WER.sub("", cell.variant or "").strip("_")


def line_name(cell: Cell, *, noise: bool = False) -> str:
    """Family, variant and judge of a cell, for a legend; ``noise`` leaves the noise out."""
    variant = plain_variant(cell) if noise else cell.variant
    name = short_name(cell.family, cell.benchmark)
    told = settings(settings_without_length(cell.settings))
    parts = (name, variant, settings_label(told), cell.judge and f"judge {cell.judge}")
    return " · ".join(part for part in parts if part)


_Line = tuple[str, list[tuple[float, Cell]]]


def _lines(
    cells: Iterable[Cell], name: Callable[[Cell], str], place: Callable[[Cell], float | None]
) -> list[_Line]:
    """Lines with two places or more, each in order."""
    lines: dict[str, dict[float, Cell]] = {}
    for cell in cells:
        x = place(cell)
        if x is not None:
            lines.setdefault(name(cell), {}).setdefault(x, cell)
    return [
        (each, sorted(points.items(), key=lambda item: item[0]))
        for each, points in lines.items()
        if len(points) > 1
    ]


def _parts(lines: Sequence[_Line]) -> list[Sequence[_Line]]:
    return [lines[start : start + MOST_LINES] for start in range(0, len(lines), MOST_LINES)]


def _curves(lines: Sequence[_Line], x_title: str, points: bool, *, log: bool) -> dict[str, Any]:
    cells = [cell for _, line in lines for _, cell in line]
    top = max([cell.mean.high for cell in cells if cell.mean.high == cell.mean.high], default=0.0)
    return {
        "kind": "curves",
        "xTitle": x_title,
        "yTitle": "Score, points" if points else "Score, percent",
        "log": int(log),
        "points": int(points),
        "top": scale_top(top, points=points),
        "lines": [
            [
                name,
                [
                    [x, cell.mean.value, cell.mean.low, cell.mean.high, cell.mean.n, cell.mean.total]
                    for x, cell in line
                ],
            ]
            for name, line in lines
        ],
    }


def _chance(lines: Sequence[_Line], options: SiteOptions) -> list[list[float]]:
    """Chance by length, where all lines that have it agree."""
    found: dict[float, set[float]] = {}
    for _, line in lines:
        for x, cell in line:
            if cell.task in options.chance:
                found.setdefault(x, set()).add(options.chance[cell.task])
    if not found or any(len(values) > 1 for values in found.values()):
        return []
    return [[x, values.pop()] for x, values in sorted(found.items())]
