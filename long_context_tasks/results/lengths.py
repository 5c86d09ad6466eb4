"""Effective context lengths of models on families of tasks: how far a model does better than a stated bar."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from long_context_tasks.results.cells import Cell, held_settings, turns_of_cells
from long_context_tasks.results.tidy import Collection
from long_context_tasks.stats import EffectiveLength, LengthScores, effective_length, fixed_bar, fraction_bar

FRACTION = 0.85
"""Of the score at the shortest length, where guessing has no known score."""
_LENGTH = "lct_length"


@dataclass(frozen=True)
class FamilyLength:
    """The effective length of a model on a family of tasks.

    Attributes:
        model, benchmark, family, variant, judge, settings: what the cells share, the length left out of the settings.
        found: length, interval and definition.
    """

    model: str
    benchmark: str
    family: str
    variant: str
    judge: str | None
    settings: str
    found: EffectiveLength


def family_lengths(
    collection: Collection, cells: Sequence[Cell], chance: Mapping[str, float], fraction: float = FRACTION
) -> list[FamilyLength]:
    """For each model and family with two lengths or more; by benchmark, family and model.

    The bar is chance where it is known for every length, else a fraction of the score at the shortest length. Of several versions
    of a task the newest counts.

    Args:
        collection: that the cells are of.
        cells: see :func:`long_context_tasks.results.cells.cells_of`.
        chance: task to what guessing scores.
        fraction: see :data:`FRACTION`.
    """
    groups: dict[tuple[str, str, str, str, str | None, str], dict[int, tuple[int, Cell]]] = {}
    for place, cell in enumerate(cells):
        if cell.length is None:
            continue
        key = (
            cell.benchmark,
            cell.family,
            cell.model,
            cell.variant,
            cell.judge,
            settings_without_length(cell.settings),
        )
        held = groups.setdefault(key, {}).get(cell.length)
        if held is None or _precedence(cell) > _precedence(held[1]):
            groups[key][cell.length] = place, cell
    groups = {key: lengths for key, lengths in groups.items() if len(lengths) > 1}
    wanted = sorted({place for lengths in groups.values() for place, _ in lengths.values()})
    found = turns_of_cells(collection, [cells[place] for place in wanted])
    turns = {place: found[number] for number, place in enumerate(wanted) if number in found}
    lengths_found = []
    for (benchmark, family, model, variant, judge, settings), lengths in sorted(
        groups.items(), key=lambda item: tuple(map(str, item[0]))
    ):
        scores = {}
        for length, (place, _) in lengths.items():
            scores[length] = _scores(turns[place]) if place in turns else LengthScores([], [])
        heights = {length: chance[cell.task] for length, (_, cell) in lengths.items() if cell.task in chance}
        bar = fixed_bar(heights) if len(heights) == len(lengths) else fraction_bar(fraction)
        points = next(iter(lengths.values()))[1].points
        # As elsewhere, rates that are no shares get intervals of points.
        shares = not points and all(0 <= value <= 1 for one in scores.values() for value in one.values)
        effective = effective_length(scores, bar, rates=shares)
        lengths_found.append(FamilyLength(model, benchmark, family, variant, judge, settings, effective))
    return lengths_found


def _scores(turns: pl.DataFrame) -> LengthScores:
    # Most have no null; a query for each of thousands of frames would take most of the time.
    if turns.get_column("value").null_count():
        turns = turns.drop_nulls("value")
    return LengthScores(turns.get_column("value").to_list(), turns.get_column("cluster").to_list())


def _precedence(cell: Cell) -> tuple[int, bool, int]:
    """The newest version, then what is ranked, then a task with a name of its own for the length."""
    return cell.version or 0, cell.ranked, -len(held_settings(cell.settings))


def settings_without_length(settings: str) -> str:
    """Settings as JSON without the length, which a task for any length has among them.

    >>> settings_without_length('{"lct_length": 4096, "lct_n": 5}')
    '{"lct_n": 5}'
    """
    held = held_settings(settings)
    if settings and not held and settings.strip() != "{}":
        return settings  # no JSON object
    return json.dumps(
        {name: value for name, value in held.items() if name != _LENGTH}, sort_keys=True, ensure_ascii=False
    )


def length_words(text: str) -> str:
    """An effective length with its number as in tasks' names.

    >>> length_words(">= 65536"), length_words("16000"), length_words("none")
    ('≥ 64k', '16k', 'none')
    """
    sign, number = ("≥ ", text[2:].strip()) if text.startswith(">=") else ("", text)
    return sign + tokens_text(int(number)) if number.isdecimal() else text


def tokens_text(length: float) -> str:
    """A length in thousands where it is a round one; ``none`` for 0.

    >>> tokens_text(128000), tokens_text(16384), tokens_text(1500), tokens_text(0)
    ('128k', '16k', '1,500', 'none')
    """
    whole = round(length)
    if not whole:
        return "none"
    return next((f"{whole // k}k" for k in (1000, 1024) if whole >= k and whole % k == 0), f"{whole:,}")


def ends_words(low: float, high: float) -> str:
    """The interval of an effective length; empty where there is none.

    >>> ends_words(4000.0, 16000.0), ends_words(8000.0, 8000.0)
    ('4k to 16k', '8k')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return tokens_text(low) if low == high else f"{tokens_text(low)} to {tokens_text(high)}"
