"""Krippendorff's alpha against published values and laws."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.annotation import LEVELS, Level, krippendorff_alpha

pytest.importorskip("nltk", reason="nltk (extra annotation) is not installed")

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units, missing values.
PUBLISHED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}


def triples() -> list[tuple[str, str, float]]:
    table = {
        "A": "1 2 3 3 2 1 4 1 2 . . .",
        "B": "1 2 3 3 2 2 4 1 2 5 . 3",
        "C": ". 3 3 3 2 3 4 2 2 5 1 .",
        "D": "1 2 3 3 2 4 4 1 2 5 1 .",
    }
    return [
        (who, str(unit), float(value))
        for who, row in table.items()
        for unit, value in enumerate(row.split())
        if value != "."
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_published_values(level: Level) -> None:
    alpha = krippendorff_alpha(triples(), level)
    assert alpha.value == pytest.approx(PUBLISHED[level], abs=5e-4)
    assert (alpha.items, alpha.ratings, alpha.annotators) == (
        11,
        40,
        4,
    )  # the single value of unit 12 pairs with nothing


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 5)), max_size=30))
@settings(max_examples=60, deadline=None)
def test_laws(rows: list[tuple[int, int, int]]) -> None:
    unique = {(who, item): rating for who, item, rating in rows}
    ratings = [(str(who), str(item), float(rating)) for (who, item), rating in unique.items()]
    for level in LEVELS:
        alpha = krippendorff_alpha(ratings, level)
        turned = krippendorff_alpha(
            [(who, item, 6 - rating) for who, item, rating in reversed(ratings)], level
        )
        if math.isnan(alpha.value):
            assert math.isnan(turned.value)
            continue
        assert alpha.value <= 1 + 1e-12 and turned.value == pytest.approx(alpha.value)
        used = {item for _, item, _ in ratings if sum(other == item for _, other, _ in ratings) > 1}
        agree = all(len({r for _, i, r in ratings if i == item}) == 1 for item in used)
        assert (alpha.value == pytest.approx(1)) == agree


def test_what_cannot_be_said_is_no_number() -> None:
    assert math.isnan(krippendorff_alpha([]).value)
    assert math.isnan(krippendorff_alpha([("a", "1", 3.0), ("b", "2", 4.0)]).value)  # no item has two
    assert math.isnan(krippendorff_alpha([("a", "1", 3.0), ("b", "1", 3.0)]).value)  # nothing varies
    with pytest.raises(ValueError, match="a rated 1 twice"):
        krippendorff_alpha([("a", "1", 3.0), ("a", "1", 4.0)])
