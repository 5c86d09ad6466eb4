"""The statistics of a small study against numbers worked out by hand; Krippendorff's alpha against published values and laws."""

import json
import math
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.annotation import Study, annotate, review, study_figures
from long_context_tasks.annotation.figures import LEVELS, Level, Part, figure_tables, krippendorff_alpha
from long_context_tasks.annotation.records import Annotation, Review

pytestmark = pytest.mark.skipif(find_spec("nltk") is None, reason="nltk (extra annotation) is not installed")

SAID = [
    ("q1/small", "ana", 1, "R", ""),
    ("q1/small", "ben", 5, "", ""),
    ("q1/small", "cleo", None, "UE", ""),
    ("q1/large/x", "ana", 2, "R", "the date is wrong"),
    ("q2/small", "ana", 4, "", ""),
    ("q2/small", "ben", 4, "A", ""),
    ("q2/large/x", "ana", 5, "", ""),
    ("q2/large/x", "ben", 3, "", "long"),
    ("q3/small", "ana", 1, "", ""),
]


def test_numbers_worked_out_by_hand(study: Study) -> None:
    annotate(study, [Annotation(*row) for row in SAID])
    review(
        study,
        [Review("q1", "correct", {"reference": "New", "rationale": "New"}), Review("q3", "remove", {})],
        "eva",
    )
    figures = study_figures(study)
    before, removed, after = figures.before, figures.removed, figures.after
    assert [
        (part.questions, part.pairs, part.ratings, part.feedback) for part in (before, removed, after)
    ] == [(3, 5, 8, 5), (2, 3, 4, 3), (1, 2, 4, 2)]
    assert before.annotations == 13 and before.ratings_per_pair == pytest.approx(1.6)
    assert before.histogram == {1: 2, 2: 1, 3: 1, 4: 2, 5: 2} and after.histogram == {
        1: 0,
        2: 0,
        3: 1,
        4: 2,
        5: 1,
    }
    # Pairs with two ratings: (1, 5) varies by 8, (4, 4) by 0, (5, 3) by 2.
    assert before.high_variance == pytest.approx(2 / 3) and after.high_variance == pytest.approx(1 / 2)
    kept = [("ana", "a", 4.0), ("ben", "a", 4.0), ("ana", "b", 5.0), ("ben", "b", 3.0)]
    assert after.alpha == krippendorff_alpha(kept) and after.alpha.items == 2
    # Observed disagreement 2 pairs of (5 - 3)^2 over 4, expected over 12 ordered pairs: 1 - (8/4) / (2 * (1+1+1+1+4)/12) = -0.5.
    assert krippendorff_alpha(kept, "interval").value == pytest.approx(-0.5)
    assert {one.code: (one.count, one.of) for one in figures.codes} == {
        "Q": (0, 3),
        "A": (1, 3),
        "R": (1, 3),
        "U": (1, 5),
        "E": (1, 5),
        "comment": (2, 5),
    }
    assert figures.total_codes == 5
    assert figures.corrected == {
        "question": {},
        "reference": {"dev": 1},
        "rationale": {"dev": 1},
        "transcription": {},
    }
    large, small = figures.models
    assert (large.model, large.answers, large.ratings, large.mean, large.words) == ("large/x", 1, 2, 4.0, 5.0)
    assert large.sd == pytest.approx(math.sqrt(2)) and (small.model, small.mean, small.sd) == (
        "small",
        4.0,
        0.0,
    )
    tables = figure_tables(figures, {"Q": "x"})
    assert [len(table.rows) for table in tables] == [3, 7, 5, 2, 5]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


def test_the_papers_shares_come_from_its_counts() -> None:
    """Table 4 and Section 5.2: how we count annotations, shares and ratings per pair gives the printed numbers."""
    from long_context_tasks.annotation.figures import Alpha, CodeCount

    table = {"Q": (275, 14.7), "A": (571, 30.5), "R": (309, 16.5)}
    assert all(round(100 * CodeCount(code, n, 1872).share, 1) == share for code, (n, share) in table.items())
    table = {"U": (158, 7.9), "E": (515, 25.8), "comment": (184, 9.2)}
    assert all(round(100 * CodeCount(code, n, 1993).share, 1) == share for code, (n, share) in table.items())
    part = Part(1872, 3580, 11721 - 1993, 1993, Alpha(0.76, 0, 0, 0), 0.177, {})
    assert part.annotations == 11721 and round(part.ratings_per_pair, 1) == 2.7


def test_an_empty_study_has_figures(study: Study) -> None:
    figures = study_figures(study)
    assert math.isnan(figures.before.alpha.value) and figures.models == ()
    assert json.dumps([table.rows for table in figure_tables(figures, {})])


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
