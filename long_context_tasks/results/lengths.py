"""Effective context lengths of models on families of tasks: up to which length a model keeps its score."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.cells import Cell, held_settings, turns_of_cells
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.stats.effective_length import (
    Bar,
    EffectiveLength,
    LengthScores,
    effective_length,
    fraction_bar,
)

FRACTION = 0.85
"""Share of the score at the shortest length that a model must keep, counted above chance if that is known."""
_LENGTH = "lct_length"
# "1/24 = 4.2 %": the form in which a card states chance as a fraction.
_CHANCE = re.compile(r"(\d+)/(\d+) = .*", re.ASCII)
_NUMBER = re.compile(r"[01](?:\.\d+)?")


@dataclass(frozen=True)
class FamilyLength:
    model: str
    benchmark: str
    family: str
    variant: str
    judge: str | None
    settings: str  # without the length
    found: EffectiveLength  # claims, outcome of each length, and definition
    threshold: float | None = None  # the fixed bar; None for the relative bar


def chances(cells: Sequence[Cell]) -> dict[str, float]:
    """Return the score of guessing for each task: from its card, or else the mean of the card's chance metric over a cell's cases."""
    by_task: dict[str, float] = {}
    for cell in cells:
        card = catalogue.parse_task(cell.task).card
        guess = cell.official.get(card.chance_metric)
        if (number := card_chance(card)) is not None:
            by_task[cell.task] = number
        elif guess is not None and guess.n:
            by_task.setdefault(cell.task, guess.value)
    return by_task


def card_chance(card: TaskCard) -> float | None:
    """Return the score of guessing that the card of a task states; None if it depends on the cases."""
    if match := _CHANCE.fullmatch(card.chance):
        return int(match[1]) / int(match[2])
    return float(card.chance) if _NUMBER.fullmatch(card.chance) else None


def family_lengths(
    collection: Collection,
    cells: Sequence[Cell],
    chance: Mapping[str, float],
    threshold: float | None = None,
) -> list[FamilyLength]:
    """Return the effective length of each model on each family with two lengths or more, by benchmark, family and model.

    The bar is a fraction of the score at the shortest length, both counted above chance if that is known for every length. Of several
    versions of a task the newest counts. A ``threshold`` (0 to 1) adds a second entry with a fixed bar; metrics in points get none.
    """
    groups: dict[tuple[Any, ...], dict[int, Cell]] = {}
    for cell in sorted(cells, key=_precedence, reverse=True):
        if cell.length is not None:
            settings = settings_without_length(cell.settings)
            key = (cell.benchmark, cell.family, cell.model, cell.variant, cell.judge, settings)
            groups.setdefault(key, {}).setdefault(cell.length, cell)
    # With a single length there is nothing to compare its score with.
    groups = {key: lengths for key, lengths in groups.items() if len(lengths) > 1}
    keys = {
        key: collection.key(
            _Outcomes,
            [run for cell in lengths.values() for run in cell.runs],
            [cell.state for cell in lengths.values()],
            [chance.get(cell.task) for cell in lengths.values()],
            threshold,
        )
        for key, lengths in groups.items()
    }
    outcomes: dict[Any, _Outcomes] = {key: collection.reuse.find(_Outcomes, keys[key]) for key in groups}
    compared = [cell for key, lengths in groups.items() if outcomes[key] is None for cell in lengths.values()]
    turns = turns_of_cells(collection, compared)
    place = {id(cell): number for number, cell in enumerate(compared)}
    found = []
    for key, lengths in sorted(groups.items(), key=lambda item: tuple(map(str, item[0]))):
        if outcomes[key] is None:
            scores = {length: _scores(turns.get(place[id(cell)])) for length, cell in lengths.items()}
            outcomes[key] = _outcomes(lengths, scores, chance, threshold)
            collection.reuse.keep(_Outcomes, keys[key], outcomes[key])
        benchmark, family, model, variant, judge, settings = key
        found += [
            FamilyLength(model, benchmark, family, variant, judge, settings, outcome, fixed)
            for fixed, outcome in outcomes[key]
        ]
    return found


_Outcomes = list[tuple[float | None, EffectiveLength]]
"""The fixed bar, None for the relative one, and the outcome with it."""


def _outcomes(
    lengths: Mapping[int, Cell],
    scores: Mapping[int, LengthScores],
    chance: Mapping[str, float],
    threshold: float | None,
) -> _Outcomes:
    heights = {length: chance[cell.task] for length, cell in lengths.items() if cell.task in chance}
    points = next(iter(lengths.values())).points
    # Rates outside 0 to 1 get the intervals of points, as everywhere else.
    shares = not points and all(
        0 <= value <= 1 for at_length in scores.values() for value in at_length.values
    )
    bars: dict[float | None, Bar] = {
        # A bar above chance at some lengths only would be higher there than at others.
        None: fraction_bar(FRACTION, heights if len(heights) == len(lengths) else None)
    }
    if threshold is not None and shares:
        bars[threshold] = Bar(f"{100 * threshold:g} %", dict.fromkeys(lengths, threshold))
    return [(fixed, effective_length(scores, bar, rates=shares)) for fixed, bar in bars.items()]


def _scores(turns: pl.DataFrame | None) -> LengthScores:
    if turns is None:
        return LengthScores([], [])
    # Most frames have no null, and dropping nulls from thousands of frames would take most of the time.
    if lacking := turns.get_column("value").null_count():
        turns = turns.drop_nulls("value")
    return LengthScores(turns.get_column("value").to_list(), turns.get_column("cluster").to_list(), lacking)


def _precedence(cell: Cell) -> tuple[int, bool, int]:
    """Order cells of one length: newest version, then ranked, then the task that has the length in its name."""
    return cell.version, cell.ranked, -len(held_settings(cell.settings))


def settings_without_length(settings: str) -> str:
    others = {name: value for name, value in held_settings(settings).items() if name != _LENGTH}
    return json.dumps(others, sort_keys=True, ensure_ascii=False)


def length_words(found: EffectiveLength) -> str:
    if not any(outcome.n for outcome in found.lengths):
        return "no scores"
    parts = [f"at least {tokens_text(found.at_least)}"] if found.at_least else []
    parts += [f"below {tokens_text(found.below)}"] if found.below else []
    if found.open:
        parts.append(["open", "open beyond" if found.at_least else "open before", "open between"][len(parts)])
    return ", ".join(parts)


def length_document(length: FamilyLength) -> dict[str, Any]:
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
    return "" if length.threshold is None else f"above {100 * length.threshold:g} %"


def tokens_text(length: int) -> str:
    """Return a length in thousands if it is a round number of them: 128k for 128000, 16k for 16384, 1,500."""
    return next((f"{length // k}k" for k in (1000, 1024) if length >= k and length % k == 0), f"{length:,}")
