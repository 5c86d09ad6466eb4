"""The statistics of a study as tables to print."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from long_context_tasks.annotation.figures import Figures, Part

_BAR = 24


@dataclass(frozen=True)
class Table:
    """A table; columns in ``left`` are aligned left."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: tuple[str, ...] = ()


def figure_tables(figures: Figures, labels: Mapping[str, str]) -> list[Table]:
    """All tables of a study.

    Args:
        figures: of the study.
        labels: feedback code to what it is called.
    """
    return [
        _filtering(figures),
        _feedback(figures, labels),
        _corrections(figures),
        _models(figures),
        _histogram(figures),
    ]


def _filtering(figures: Figures) -> Table:
    def row(name: str, part: Part) -> tuple[str, ...]:
        counts = (part.questions, part.pairs, part.ratings, part.feedback, part.annotations)
        return (
            name,
            *(f"{count:,}" for count in counts),
            _number(part.ratings_per_pair),
            _number(part.alpha.value),
            f"{part.alpha.items:,}",
            _percent(part.high_variance),
        )

    parts = (("before", figures.before), ("removed", figures.removed), ("after", figures.after))
    counted = ("questions", "rated pairs", "ratings", "feedback", "annotations", "ratings per pair")
    return Table(
        f"Filtering (Krippendorff's alpha, {figures.level})",
        ("", *counted, "alpha", "items of alpha", "variance > 1, %"),
        tuple(row(name, part) for name, part in parts),
    )


def _feedback(figures: Figures, labels: Mapping[str, str]) -> Table:
    rows = [
        (one.code, labels.get(one.code, "free text"), f"{one.count:,}", f"{one.of:,}", _percent(one.share))
        for one in figures.codes
    ]
    return Table(
        "Feedback (Table 4): Q, A, R of annotated questions, the others of annotations with feedback",
        ("code", "meaning", "count", "of", "%"),
        (*rows, ("all codes", "", f"{figures.total_codes:,}", "", "")),
        ("meaning",),
    )


def _corrections(figures: Figures) -> Table:
    sources = sorted({name for counts in figures.corrected.values() for name in counts})
    rows = [
        (field, *(str(counts.get(name, 0)) for name in sources), str(sum(counts.values())))
        for field, counts in figures.corrected.items()
    ]
    totals = [sum(counts.get(name, 0) for counts in figures.corrected.values()) for name in sources]
    return Table(
        "Corrections (Table 1)",
        ("field", *(name or "no source" for name in sources), "total"),
        (*rows, ("total", *map(str, totals), str(sum(totals)))),
    )


def _models(figures: Figures) -> Table:
    rows = (
        (
            one.model,
            f"{one.answers:,}",
            f"{one.ratings:,}",
            _number(one.mean),
            _number(one.sd),
            _number(one.words, 1),
        )
        for one in figures.models
    )
    return Table(
        "Models after filtering (Table 5)",
        ("model", "answers", "ratings", "mean rating", "sd", "words"),
        tuple(rows),
    )


def _histogram(figures: Figures) -> Table:
    before, after = figures.before.histogram, figures.after.histogram
    most = max(1, *before.values())
    rows = (
        (str(value), str(n), _bar(n, most), str(after[value]), _bar(after[value], most))
        for value, n in before.items()
    )
    return Table("Ratings (Fig. 5)", ("rating", "before", "", "after", " "), tuple(rows), ("", " "))


def _bar(count: int, most: int) -> str:
    return "#" * round(_BAR * count / most)


def _number(value: float, places: int = 2) -> str:
    return "-" if math.isnan(value) else f"{value:.{places}f}"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f}"
