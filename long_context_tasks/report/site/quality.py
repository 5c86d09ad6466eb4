"""What became of the responses: how many were scored, cut, empty, unparsable or not judged, and the rates beside the score."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from long_context_tasks.report.cells import Cell
from long_context_tasks.report.site import words
from long_context_tasks.report.site.pages import Names, row_name

RATES: Mapping[str, str] = {
    "instruction_following": "Followed the form",
    "copy_instruction": "Copied the example",
    "answered": "Answered",
    "sections_covered": "Sections covered",
    "judged_share": "Judgements with a rating",
}
"""Metrics that tell how a model responds rather than how well."""


@dataclass(frozen=True)
class QualityTable:
    """Columns, and rows of a name, a link and a text for each column."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[str]]]


def quality_table(cells: Sequence[Cell], about: str, names: Names) -> QualityTable | None:
    """A row for each cell; of reasons and rates those columns that some cell has.

    Args:
        cells: of a page, in its order.
        about: ``model`` or ``task``: what rows are.
        names: of files.
    """
    if not cells:
        return None
    counted: dict[str, int] = {}
    for cell in cells:
        for reason, count in cell.mean.reasons.items():
            counted[reason] = counted.get(reason, 0) + count
    reasons = sorted(
        (reason for reason, count in counted.items() if count), key=lambda one: (-counted[one], one)
    )
    rates = [metric for metric in RATES if any(_value(cell, metric) for cell in cells)]
    columns = (
        "Scored",
        "Coverage",
        "Cut by the host",
        *map(_heading, reasons),
        *(RATES[metric] for metric in rates),
    )
    rows = []
    named = [row_name(cell, about, names) for cell in cells]
    labels = [words.told_of(words.settings(cell.settings), cell.judge or "") for cell in cells]
    apart = words.told_apart([name for name, _ in named], labels)
    for cell, name, (_, link) in zip(cells, apart, named, strict=True):
        truncated = "unknown" if cell.truncated is None else f"{cell.truncated:,}"
        rows.append(
            (
                name,
                link,
                (
                    words.cases(cell.mean),
                    f"{100 * cell.mean.coverage:.1f} %" if cell.mean.total else "–",
                    truncated,
                    *(f"{cell.mean.reasons.get(reason, 0):,}" for reason in reasons),
                    *(_value(cell, metric) or "–" for metric in rates),
                ),
            )
        )
    return QualityTable(columns, rows)


def _heading(reason: str) -> str:
    text = words.reason_words(reason)
    return text[:1].upper() + text[1:]


def _value(cell: Cell, metric: str) -> str:
    mean = cell.official.get(metric)
    if mean is None or not math.isfinite(100 * mean.value):
        return ""
    return f"{100 * mean.value:.1f} %"
