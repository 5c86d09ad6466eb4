"""Effective context lengths of models on families of tasks: how far a model keeps its score."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from long_context_tasks.results.cells import Cell, held_settings, turns_of_cells
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.stats import (
    Bar,
    EffectiveLength,
    LengthScores,
    effective_length,
    fixed_bar,
    fraction_bar,
)

FRACTION = 0.85
"""Of the score at the shortest length, above chance where that is known."""
_LENGTH = "lct_length"
# "1/24 = 4.2 %": the form in which a card gives a number.
_CHANCE = re.compile(r"(\d+)/(\d+) = .*", re.ASCII)
_NUMBER = re.compile(r"[01](?:\.\d+)?")


@dataclass(frozen=True)
class FamilyLength:
    """The effective length of a model on a family of tasks.

    Attributes:
        model, benchmark, family, variant, judge, settings: what the cells share, the length left out of the settings.
        found: claims, outcome of each length and definition.
        threshold: the fixed bar; None for the relative one.
    """

    model: str
    benchmark: str
    family: str
    variant: str
    judge: str | None
    settings: str
    found: EffectiveLength
    threshold: float | None = None


def card_chance(card: TaskCard) -> float | None:
    """Return what guessing scores by the card of a task; None where it depends on the cases."""
    if match := _CHANCE.fullmatch(card.chance):
        return int(match[1]) / int(match[2])
    return float(card.chance) if _NUMBER.fullmatch(card.chance) else None


def family_lengths(
    collection: Collection,
    cells: Sequence[Cell],
    chance: Mapping[str, float],
    threshold: float | None = None,
    fraction: float = FRACTION,
) -> list[FamilyLength]:
    """For each model and family with two lengths or more; by benchmark, family and model.

    The bar is a fraction of the score at the shortest length, both counted above chance where that is known for every length. Of
    several versions of a task the newest counts.

    Args:
        collection: that the cells are of.
        cells: see :func:`long_context_tasks.results.cells.cells_of`.
        chance: task to what guessing scores.
        threshold: a score from 0 to 1 that makes a second entry for each, with it as a fixed bar; points of a scale have none.
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
    lengths_found: list[FamilyLength] = []
    for (benchmark, family, model, variant, judge, settings), lengths in sorted(
        groups.items(), key=lambda item: tuple(map(str, item[0]))
    ):
        scores = {}
        for length, (place, _) in lengths.items():
            scores[length] = _scores(turns[place]) if place in turns else LengthScores([], [])
        heights = {length: chance[cell.task] for length, (_, cell) in lengths.items() if cell.task in chance}
        points = next(iter(lengths.values()))[1].points
        # As elsewhere, rates that are no shares get intervals of points.
        shares = not points and all(
            0 <= value <= 1 for at_length in scores.values() for value in at_length.values
        )
        bars: dict[float | None, Bar] = {
            None: fraction_bar(fraction, heights if len(heights) == len(lengths) else None)
        }
        if threshold is not None and shares:
            bars[threshold] = fixed_bar(dict.fromkeys(lengths, threshold), f"{100 * threshold:g} %")
        lengths_found += [
            FamilyLength(
                model,
                benchmark,
                family,
                variant,
                judge,
                settings,
                effective_length(scores, bar, rates=shares),
                fixed,
            )
            for fixed, bar in bars.items()
        ]
    return lengths_found


def _scores(turns: pl.DataFrame) -> LengthScores:
    # Most have no null; a query for each of thousands of frames would take most of the time.
    if lacking := turns.get_column("value").null_count():
        turns = turns.drop_nulls("value")
    return LengthScores(turns.get_column("value").to_list(), turns.get_column("cluster").to_list(), lacking)


def _precedence(cell: Cell) -> tuple[int, bool, int]:
    """The newest version, then what is ranked, then a task with a name of its own for the length."""
    return cell.version, cell.ranked, -len(held_settings(cell.settings))


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


def length_words(found: EffectiveLength) -> str:
    """An effective length as tables print it.

    >>> from long_context_tasks.stats import LengthScores, effective_length, fraction_bar
    >>> hits = {4000: 95, 8000: 85, 16000: 20, 32000: 0}
    >>> scores = {k: LengthScores([1.0] * n + [0.0] * (100 - n), range(100)) for k, n in hits.items()}
    >>> length_words(effective_length(scores, fraction_bar(0.85)))
    'at least 4k, below 16k, open between'
    """
    if not any(outcome.n for outcome in found.lengths):
        return "no scores"
    parts = [f"at least {tokens_text(found.at_least)}"] if found.at_least else []
    parts += [f"below {tokens_text(found.below)}"] if found.below else []
    if found.open:
        parts.append(["open", "open beyond" if found.at_least else "open before", "open between"][len(parts)])
    return ", ".join(parts)


def length_document(length: FamilyLength) -> dict[str, Any]:
    """An effective length as JSON: claims, and the outcome, cases with a score and coverage of each length."""
    found = length.found
    names = ("model", "benchmark", "family", "variant", "judge", "threshold")
    return {
        **{name: getattr(length, name) for name in names},
        "settings": held_settings(length.settings),
        "at_least": found.at_least,
        "below": found.below,
        "outcomes": {str(outcome.length): outcome.outcome for outcome in found.lengths},
        "n": {str(outcome.length): outcome.n for outcome in found.lengths},
        "coverage": {
            str(outcome.length): outcome.n / outcome.total if outcome.total else None
            for outcome in found.lengths
        },
        "definition": found.definition,
    }


def bar_words(length: FamilyLength) -> str:
    """The fixed bar, which tells it from the relative one of the same family; empty for that."""
    return "" if length.threshold is None else f"above {100 * length.threshold:g} %"


def tokens_text(length: int) -> str:
    """A length in thousands where it is a round one.

    >>> tokens_text(128000), tokens_text(16384), tokens_text(1500)
    ('128k', '16k', '1,500')
    """
    return next((f"{length // k}k" for k in (1000, 1024) if length >= k and length % k == 0), f"{length:,}")
