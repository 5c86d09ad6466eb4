"""Whether a judge judges correctness: what beats it without reading, and what another question's reference or none does to its scores."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from long_context_tasks.orca.data import MISMATCHED, NO_REFERENCE, OrcaItem
from long_context_tasks.orca.splits import question_numbers
from long_context_tasks.schema import InputError
from long_context_tasks.stats.shortcuts import RankFigures, Traits, cross_predicted, rank_figures


def traits_of(item: OrcaItem) -> Traits:
    """Return what a shortcut knows of an answer; all answers without a named model count as one model's."""
    return Traits(item.model or "", len(item.candidate or ""), len(item.reference or ""))


def with_other_references(items: Sequence[OrcaItem]) -> list[OrcaItem]:
    """Return the answers, each with the reference of the next question that has another one.

    Raises:
        InputError: all references are the same.
    """
    numbers = question_numbers(items)
    references: dict[int, str | None] = {}
    for number, item in zip(numbers, items, strict=True):
        references.setdefault(number, item.reference)
    changed = []
    for number, item in zip(numbers, items, strict=True):
        following = (references[(number + step) % len(references)] for step in range(1, len(references)))
        other = next((text for text in following if text != item.reference), None)
        if other is None:
            raise InputError("all answers have the same reference, so there is none to take in its place")
        changed.append(replace(item, reference=other))
    return changed


def reference_controls(items: Sequence[OrcaItem]) -> list[tuple[str, list[OrcaItem]]]:
    """Return name and answers of each control, to be scored: with another question's reference, where there is one, and with an empty one."""
    controls = [(NO_REFERENCE, [replace(item, reference="") for item in items])]
    if len({item.reference for item in items}) > 1:
        controls.insert(0, (MISMATCHED, with_other_references(items)))
    return controls


def beside_shortcuts(
    items: Sequence[OrcaItem], scores: Mapping[str, Sequence[float | None]]
) -> list[RankFigures]:
    """Measure scores on the rated answers, and what shortcuts predict of these, learned from the other questions.

    Args:
        items: some with ratings.
        scores: rater to its scores in the order of the items.
    """
    rated = [place for place, item in enumerate(items) if item.ratings]
    truth = [float(items[place].rating_mean or 0) for place in rated]
    questions = question_numbers(items)
    clusters = [questions[place] for place in rated]
    traits = [traits_of(items[place]) for place in rated]
    raters: dict[str, Sequence[float | None]] = {
        name: [values[place] for place in rated] for name, values in scores.items()
    }
    if len(set(clusters)) > 1:
        raters |= cross_predicted(traits, truth, clusters)
    return rank_figures(raters, truth, [each.model for each in traits], clusters)
