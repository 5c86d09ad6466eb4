"""The statistics of a small study against numbers worked out by hand; Krippendorff's alpha against published values and laws."""

import math
from importlib.util import find_spec

import pytest

from long_context_tasks.annotation import AnnotationStudy, study_tables
from long_context_tasks.annotation.figures import LEVELS, Level, krippendorff_alpha
from long_context_tasks.annotation.study import Annotation, ExpertReview

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


def test_numbers_worked_out_by_hand(study: AnnotationStudy) -> None:
    study.annotate([Annotation(*row) for row in SAID])
    correction = ExpertReview(question_id="q1", decision="correct", reference="New", rationale="New")
    study.review([correction, ExpertReview(question_id="q3", decision="remove")], "eva")
    filtering, feedback, corrections, models, ratings = study_tables(study)
    # Pairs with two ratings: (1, 5) varies by 8, (4, 4) by 0, (5, 3) by 2.
    assert [row[:7] + row[8:] for row in filtering.rows] == [
        ("before", "3", "5", "8", "5", "13", "1.60", "3", "66.7"),
        ("removed", "2", "3", "4", "3", "7", "1.33", "1", "100.0"),
        ("after", "1", "2", "4", "2", "6", "2.00", "2", "50.0"),
    ]
    # Observed disagreement 2 pairs of (5 - 3)^2 over 4, expected over 12 ordered pairs: 1 - (8/4) / (2 * (1+1+1+1+4)/12) = -0.5.
    assert study_tables(study, "interval")[0].rows[2][7] == "-0.50"
    assert {row[0]: row[2:] for row in feedback.rows} == {
        "Q": ("0", "3", "0.0"),
        "A": ("1", "3", "33.3"),
        "R": ("1", "3", "33.3"),
        "U": ("1", "5", "20.0"),
        "E": ("1", "5", "20.0"),
        "comment": ("2", "5", "40.0"),
        "all codes": ("5", "", ""),
    }
    assert corrections.columns == ("field", "dev", "total")
    assert [row[1:] for row in corrections.rows] == [("0", "0"), *[("1", "1")] * 2, ("0", "0"), ("2", "2")]
    assert models.rows == (
        ("large/x", "1", "2", "4.00", "1.41", "5.0"),
        ("small", "1", "2", "4.00", "0.00", models.rows[1][5]),
    )
    assert [(row[1], row[3]) for row in ratings.rows] == [
        ("2", "0"),
        ("1", "0"),
        ("1", "1"),
        ("2", "2"),
        ("2", "1"),
    ]
    assert [len(row[2]) for row in ratings.rows] == [24, 12, 12, 24, 24]


def test_an_empty_study_has_tables(study: AnnotationStudy) -> None:
    filtering, feedback, *_, ratings = study_tables(study)
    assert filtering.rows[0][6:] == ("-", "-", "0", "-") and feedback.rows[0][4] == "-"
    assert len(ratings.rows) == 5


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
    # The single value of unit 12 has no partner.
    assert krippendorff_alpha(triples(), level) == (pytest.approx(PUBLISHED[level], abs=5e-4), 11)


def test_alpha_is_nan_if_there_is_nothing_to_compare() -> None:
    assert math.isnan(krippendorff_alpha([])[0])
    assert math.isnan(krippendorff_alpha([("a", "1", 3.0), ("b", "2", 4.0)])[0])  # no item has two
    assert math.isnan(krippendorff_alpha([("a", "1", 3.0), ("b", "1", 3.0)])[0])  # nothing varies
