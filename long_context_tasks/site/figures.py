"""Data for the plots that figures.js draws; it also shows every plot's numbers as a table."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from long_context_tasks.benchmarks.published import PEOPLE
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import settings_without_length
from long_context_tasks.schema.report import Lines
from long_context_tasks.site import words
from long_context_tasks.site.contents import CellMap, SiteOptions
from long_context_tasks.site.tables import Breakdown
from long_context_tasks.site.words import scale_top, tokens
from long_context_tasks.stats.means import Mean

MOST_LINES = 6
"""Maximum number of curves in a plot, so that readers can distinguish them."""

_WER = re.compile(r"(^|_)wer[0-9]+")


class Figure(NamedTuple):
    title: str  # heading of the plot
    caption: str  # how to read it
    data: Mapping[str, Any]  # data for figures.js


_COUNTS = "n is the number of cases behind a cell; cases of the same document count once."
_BAND = "Bands are 95 % intervals."
_PEOPLE = " The dashed grey line is the score of people, with its source in the table."


def length_figures(
    cells: Sequence[Cell],
    name: Callable[[Cell], str],
    windows: Mapping[str, int],
    options: SiteOptions,
    title: str,
) -> list[Figure]:
    """Return plots of score against length, with a curve per name that has at least two lengths.

    Rates and points are plotted separately. ``cells`` has at most one cell per name and length; ``windows``
    are claimed context lengths to mark: by model, or by an empty name if all curves are of one model.
    """
    caption = f"Score against the length of the context in tokens. {_BAND}"
    human = {each.task: each.score for each in options.published if each.model == PEOPLE}
    figures = []
    for part, data in _parts(cells, name, lambda cell: cell.length, "Length in tokens"):
        people, chance = _by_length(part, human), _by_length(part, options.chance)
        lines = [line for line, _ in data["lines"]]
        # A window has the colour of its model's curve.
        marks = [
            [
                window,
                f"claimed window{' of ' * bool(model)}{model}, {tokens(window)}",
                lines.index(model) if model in lines else None,
            ]
            for model, window in windows.items()
        ]
        more = {"log": 1, "marks": marks, "chance": chance, "human": people}
        if people:
            highest = max(score for _, score in people)
            more["top"] = max(data["top"], scale_top(highest, points=bool(data["points"])))
        figures.append(Figure(title, caption + _PEOPLE * bool(people), {**data, **more}))
    return figures


def wer_figures(
    cells: Sequence[Cell], name: Callable[[Cell], str], options: SiteOptions, title: str
) -> list[Figure]:
    """Return plots of score against word error rate: the measured rate if known, otherwise the target."""
    noisy = {(cell.family, plain_variant(cell)) for cell in cells if cell.wer is not None}

    def place(cell: Cell) -> float | None:
        if (cell.family, plain_variant(cell)) not in noisy:
            return None
        # The task without noise has the transcripts as written by people.
        return options.measured_wer.get(cell.task, float(cell.wer) if cell.wer is not None else 0.0)

    measured = {cell.task in options.measured_wer for cell in cells if cell.wer is not None}
    x_title = f"{'Target' if measured == {False} else 'Measured'} word error rate, percent"
    if measured == {True, False}:
        x_title = "Word error rate, measured or else target, percent"
    caption = f"Score against the word error rate of the transcripts. {_BAND}"
    return [Figure(title, caption, data) for _, data in _parts(cells, name, place, x_title)]


def heat_figure(shown: CellMap, *, named: bool = False) -> Figure:
    heat = shown.map
    data = {
        "kind": "heat",
        "x": list(heat.x),
        "y": list(heat.y),
        "values": [list(row) for row in heat.values],
        "xTitle": heat.x_title,
        "yTitle": heat.y_title,
        "low": heat.low,
        "high": heat.high,
        "counts": [list(row) for row in heat.counts] or None,
    }
    caption = f"{heat.caption} {_COUNTS}" if heat.counts else heat.caption
    return Figure(words.joined(shown.model, heat.title) if named else heat.title, caption, data)


def lines_figure(shown: Lines) -> Figure:
    lines = [
        [line.name, [[x, y, low, high, None, None] for x, y, low, high in line.points]]
        for line in shown.lines
    ]
    data = {
        "kind": "curves",
        "xTitle": shown.x_title,
        "yTitle": shown.y_title,
        "log": 0,
        "points": 1,
        "top": shown.high,
        "lines": lines,
    }
    return Figure(shown.title, _BAND, data)


def position_figures(
    breakdowns: Sequence[Breakdown], name: Callable[[Breakdown], str], options: SiteOptions
) -> list[Figure]:
    groups: dict[tuple[str, bool, tuple[str, ...]], list[_Named]] = {}
    # By length, as 4k comes before 500 in the order of names.
    for each in sorted(breakdowns, key=lambda one: (one.cell.family, one.cell.variant, one.cell.length or 0)):
        labels = options.labels.get(each.cell.benchmark, {})
        if each.label in labels and labels[each.label].position:
            title = words.label_title(each.label, labels)
            key = (title, each.cell.points, tuple(value for value, _ in each.groups))
            groups.setdefault(key, []).append((name(each), each.groups))
    return [
        _place_figure(
            f"Score by {title}",
            lines[start : start + MOST_LINES],
            values,
            points,
        )
        for (title, points, values), lines in groups.items()
        for start in range(0, len(lines), MOST_LINES)
    ]


def moved_figures(cells: Sequence[Cell], name: Callable[[Cell], str], options: SiteOptions) -> list[Figure]:
    """Return plots of score against answer position, as set by a task's variants, one per length."""
    places = {variant: number for number, variant in enumerate(options.position_variants)}
    groups: dict[tuple[int, bool], dict[str, dict[str, Mean]]] = {}
    for cell in cells:
        if cell.variant in places:
            lines = groups.setdefault((cell.length or 0, cell.points), {})
            lines.setdefault(name(cell), {}).setdefault(cell.variant, cell.mean)
    figures = []
    for (length, points), lines in sorted(groups.items()):
        values = sorted({variant for line in lines.values() for variant in line}, key=places.__getitem__)
        if len(values) > 1:
            named = [
                (line, sorted(means.items(), key=lambda item: places[item[0]]))
                for line, means in lines.items()
            ]
            title = f"Score by where the answer was put{f', {tokens(length)}' if length else ''}"
            figures.append(_place_figure(title, named[:MOST_LINES], values, points))
    return figures


_Named = tuple[str, Sequence[tuple[str, Mean]]]


def _place_figure(title: str, lines: Sequence[_Named], values: Sequence[str], points: bool) -> Figure:
    place = {value: number for number, value in enumerate(values)}
    placed = [(name, [(place[value], mean) for value, mean in groups]) for name, groups in lines]
    data = _curves(placed, "Place", points) | {"names": list(values)}
    return Figure(title, "Bars are 95 % intervals; groups may hold different cases.", data)


def plain_variant(cell: Cell) -> str:
    """Return a cell's variant without its noise: ``czech_wer20`` becomes ``czech``."""
    return _WER.sub("", cell.variant or "").strip("_")


def line_name(cell: Cell, *, noise: bool = False) -> str:
    """Return a cell's family, variant, settings and judge for a legend; ``noise`` drops the noise variant."""
    variant = plain_variant(cell) if noise else cell.variant
    settings = words.settings(settings_without_length(cell.settings))
    family = words.short_name(cell.family, cell.benchmark)
    return words.joined(family, variant, words.setting_label(settings, cell.judge))


_Line = tuple[str, list[tuple[float, Cell]]]


def _parts(
    cells: Sequence[Cell],
    name: Callable[[Cell], str],
    place: Callable[[Cell], float | None],
    x_title: str,
) -> Iterator[tuple[Sequence[_Line], dict[str, Any]]]:
    """Yield each plot's curves with the data to draw; a curve has at least two points, in order."""
    # Rates and points need different axes.
    for points in (False, True):
        places: dict[str, dict[float, Cell]] = {}
        for cell in cells:
            x = place(cell) if cell.points == points else None
            if x is not None:
                places.setdefault(name(cell), {}).setdefault(x, cell)
        lines = [
            (line, sorted(by_place.items(), key=lambda item: item[0]))
            for line, by_place in places.items()
            if len(by_place) > 1
        ]
        # More curves than readers can distinguish are split over several plots.
        for start in range(0, len(lines), MOST_LINES):
            part = lines[start : start + MOST_LINES]
            means = [(line, [(x, cell.mean) for x, cell in by_place]) for line, by_place in part]
            yield part, _curves(means, x_title, points)


def _curves(
    lines: Sequence[tuple[str, Sequence[tuple[float, Mean]]]], x_title: str, points: bool
) -> dict[str, Any]:
    """Return curves for figures.js: each one's name, and x, mean, low, high, n and total of its points."""
    highs = [mean.high for _, line in lines for _, mean in line if not math.isnan(mean.high)]
    return {
        "kind": "curves",
        "xTitle": x_title,
        "yTitle": "Score, points" if points else "Score, percent",
        "log": 0,
        "points": int(points),
        "top": scale_top(max(highs, default=0.0), points=points),
        "lines": [
            [name, [[x, mean.value, mean.low, mean.high, mean.n, mean.total] for x, mean in line]]
            for name, line in lines
        ],
    }


def _by_length(lines: Sequence[_Line], values: Mapping[str, float]) -> list[list[float]]:
    """Return the tasks' value, such as chance, at each length; empty if curves disagree."""
    by_length: dict[float, set[float]] = {}
    for _, line in lines:
        for x, cell in line:
            if cell.task in values:
                by_length.setdefault(x, set()).add(values[cell.task])
    if any(len(found) > 1 for found in by_length.values()):
        return []
    return [[x, found.pop()] for x, found in sorted(by_length.items())]
