"""Effective lengths of families of tasks, and groups of tasks with all cases pooled."""

import json
import random
from dataclasses import replace

import pytest

pytest.importorskip("polars")

from made_up_site import collection_of, made_up_cell

from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.results.cells import Cell, cells_of, pooled_cells
from long_context_tasks.results.lengths import family_lengths, length_document, length_words
from long_context_tasks.results.tidy import Collection
from long_context_tasks.stats.means import Mean

NOWHERE = Mean(0.5, 0.4, 0.6, 1, 1, {})


def made(
    shares: dict[int, float], model: str = "a", n: int = 100, **other: object
) -> tuple[list[Cell], list[ShownCase]]:
    """A cell for each length with that share of hits, cases one by one."""
    cells, shown = [], []
    for length, share in shares.items():
        name = f"ada_leval_tsort_{length // 1000}k"
        run = f"{model} {name}"
        hits = [1.0] * round(share * n) + [0.0] * (n - round(share * n))
        random.Random(length).shuffle(hits)
        cells.append(
            made_up_cell(
                model,
                name,
                NOWHERE,
                (run,),
                benchmark="ada_leval",
                family="ada_leval_tsort",
                length=length,
                **other,
            )
        )
        shown += [
            ShownCase(run, f"{length} {place}", None, {}, (ShownTurn(None, None, None, {"accuracy": hit}),))
            for place, hit in enumerate(hits)
        ]
    return cells, shown  # fmt: skip


def test_the_bar_is_a_fraction_of_the_shortest_above_chance_where_it_is_known() -> None:
    cells, shown = made({2000: 0.9, 4000: 0.88, 8000: 0.1})
    collection = collection_of(cells, shown)
    chance = dict.fromkeys((cell.task for cell in cells), 1 / 24)
    [one] = family_lengths(collection, cells, chance)
    assert (one.found.at_least, one.found.below) == (4000, 8000)
    assert "85 % of the score above chance at the shortest length" in one.found.definition
    assert one.found.lengths[1].bar == pytest.approx(1 / 24 + 0.85 * (0.9 - 1 / 24))
    del chance["ada_leval_tsort_8k"]
    [one] = family_lengths(collection, cells, chance)
    assert "85 % of the score at the shortest length" in one.found.definition
    assert (one.model, one.family, one.benchmark) == ("a", "ada_leval_tsort", "ada_leval")


def test_a_threshold_stands_beside_the_relative_bar_but_not_for_points() -> None:
    cells, shown = made({2000: 0.98, 4000: 0.7})
    relative, fixed = family_lengths(collection_of(cells, shown), cells, {}, 0.856)
    assert (relative.threshold, fixed.threshold) == (None, 0.856)
    assert length_words(fixed.found) == "at least 2k, below 4k" and "above 85.6 %" in fixed.found.definition
    cells, shown = made({2000: 0.98, 4000: 0.7}, points=True)
    assert len(family_lengths(collection_of(cells, shown), cells, {}, 0.856)) == 1


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({2000: 0.9, 4000: 0.9}, "at least 4k"),
        ({2000: 0.9, 4000: 0.1}, "at least 2k, below 4k"),
        ({2000: 0.9, 4000: 0.78}, "at least 2k, open beyond"),
        ({2000: 0.9, 4000: 0.78, 8000: 0.1}, "at least 2k, below 8k, open between"),
        ({2000: 0.0, 4000: 0.0}, "open"),
    ],
)
def test_words_of_claims(shares: dict[int, float], words: str) -> None:
    cells, shown = made(shares)
    [one] = family_lengths(collection_of(cells, shown), cells, {})
    assert length_words(one.found) == words
    [_, fixed] = family_lengths(collection_of(cells, shown), cells, {}, 0.98)
    assert length_words(fixed.found).startswith("below 2k") or "open" in length_words(fixed.found)


def test_one_length_has_no_effective_length_and_models_stay_apart() -> None:
    one, first = made({2000: 0.9})
    assert family_lengths(collection_of(one, first), one, {}) == []
    two, second = made({2000: 0.9, 4000: 0.9}, "b")
    three, third = made({2000: 0.9, 4000: 0.9}, "c", judge="j")
    cells = [*one, *two, *three]
    found = family_lengths(collection_of(cells, [*first, *second, *third]), cells, {})
    assert [(each.model, each.judge) for each in found] == [("b", None), ("c", "j")]


def test_a_task_for_any_length_joins_the_lengths_of_its_family() -> None:
    cells, shown = made({2000: 0.9})
    more, others = made({3000: 0.9}, settings=json.dumps({"lct_length": 3000}))
    found = family_lengths(collection_of([*cells, *more], [*shown, *others]), [*cells, *more], {})
    assert [[each.length for each in one.found.lengths] for one in found] == [[2000, 3000]]


def test_the_newest_version_of_a_length_counts() -> None:
    cells, shown = made({2000: 0.9, 4000: 0.9})
    old, others = made({4000: 0.0}, "a", version=0)
    old, others = [replace(old[0], runs=("old",))], [replace(each, run="old") for each in others]
    collection = collection_of([*old, *cells], [*others, *shown])
    chance = dict.fromkeys((cell.task for cell in cells), 0.1)
    [one] = family_lengths(collection, [*old, *cells], chance)
    assert one.found.at_least == 4000


def domains(sizes: dict[str, list[float]], model: str = "a") -> tuple[Collection, list[Cell]]:
    cells, shown = [], []
    for domain, values in sizes.items():
        run = f"{model} {domain}"
        cells.append(made_up_cell(model, f"ethic_recall_{domain}", NOWHERE, (run,), metric="strict_f1"))
        shown += [
            ShownCase(
                run,
                f"{domain} {place}",
                None,
                {},
                (ShownTurn(None, None, None, {"strict_f1": value, "official_f1": value / 2}),),
            )
            for place, value in enumerate(values)
        ]
    collection = collection_of(cells, shown)
    return collection, cells_of(collection)  # fmt: skip


def test_a_group_counts_every_case_the_same_and_needs_all_its_tasks() -> None:
    collection, cells = domains({"books": [1.0], "law": [0.0, 0.0, 0.5]})
    members = {"ethic_recall": ["ethic_recall_books", "ethic_recall_law"]}
    [group] = pooled_cells(collection, cells, members)
    assert (group.task, group.model, group.mean.value, group.mean.n, group.n_cases) == (
        "ethic_recall",
        "a",
        0.375,
        4,
        4,
    )
    assert group.official["official_f1"].value == 0.1875 and group.ranked
    assert (
        pooled_cells(collection, cells, {"ethic_recall": [*members["ethic_recall"], "ethic_recall_debates"]})
        == []
    )


def test_a_group_with_an_unranked_part_is_not_ranked() -> None:
    collection, cells = domains({"books": [1.0], "law": [0.0]})
    cells = [replace(cells[0], ranked=False), cells[1]]
    [group] = pooled_cells(collection, cells, {"g": ["ethic_recall_books", "ethic_recall_law"]})
    assert not group.ranked and group.why_unranked == "not ranked in ethic_recall_books"


def test_a_length_at_which_few_cases_fit_is_open_and_its_row_says_how_many() -> None:
    cells, shown = made({2000: 0.9, 16_000: 0.9}, n=300)
    fits = [one for one in shown if not (one.case.startswith("16000 ") and int(one.case.split()[1]) >= 30)]
    others = [
        replace(one, turns=(replace(one.turns[0], reason="does_not_fit", scores={"accuracy": None}),))
        for one in shown
        if one not in fits
    ]
    [one] = family_lengths(collection_of(cells, [*fits, *others]), cells, {})
    assert length_words(one.found) == "at least 2k, open beyond"
    document = length_document(one)
    assert document["n"] == {"2000": 300, "16000": 30} and document["coverage"]["16000"] == 0.1
