"""ICC against the published table and by its mean squares; the study of raters as a whole."""

import math

import pytest

from long_context_tasks.stats.raters import icc, study_panel, study_raters

# Shrout and Fleiss (1979), Table 2: six targets, four judges; Table 4 has the coefficients.
RATINGS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_the_published_coefficients():
    found = {form: round(one.value, 2) for form, one in icc(RATINGS).items()}
    assert found == {"ICC(1,k)": 0.44, "ICC(2,k)": 0.62}


def test_the_published_intervals():
    # R's psych::ICC gives .019 to .761 for one of these raters, from which Spearman-Brown gives .072 to .927.
    found = icc(RATINGS)
    two = found["ICC(2,k)"]
    assert (round(two.interval.low, 2), round(two.interval.high, 3)) == (0.07, 0.927)
    assert (two.targets, two.raters) == (6, 4)


def test_raters_that_agree_far_less_than_by_chance_have_no_interval():
    table = [[-1.9, 0.5], [0.5, -2.5], [0.2, -0.4], [-1.3, -0.4], [0.2, -3.0], [0.0, -0.5]]
    found = icc(table)["ICC(2,k)"]
    # The formula has a pole there, so its ends change places.
    assert found.value < -6 and math.isnan(found.interval.low) and math.isnan(found.interval.high)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (RATINGS[:4], "at least 5 targets"),
        ([[1]] * 6, "two or more raters"),
        ([*RATINGS, [1, 2]], "same two or more raters"),
        ([*RATINGS, [1, 2, 3, float("nan")]], "complete table"),
    ],
)
def test_tables_that_have_no_icc(table, message):
    with pytest.raises(ValueError, match=message):
        icc(table)


def test_a_panel_uses_complete_items_and_splits_by_cluster():
    ratings = {f"r{judge}": [row[judge] for row in RATINGS] * 2 + [5] for judge in range(4)}
    ratings["r0"] = [*ratings["r0"][:-1], None]
    panel = study_panel(ratings, ["m1"] * 6 + ["m2"] * 6 + ["m3"])
    assert (panel.items, panel.left_out) == (12, 1)
    assert list(panel.by_cluster) == ["m1", "m2"]
    assert panel.by_cluster["m1"].value == pytest.approx(icc(RATINGS)["ICC(2,k)"].value)
    assert panel.overall["ICC(1,k)"].value == pytest.approx(icc(RATINGS * 2)["ICC(1,k)"].value)


def test_a_study_holds_means_pairs_bins_and_labels():
    ratings = {"judge": [9, 8, 2, None, 5, 7], "gold": [10, 9, 1, 1, None, 9]}
    study = study_raters(ratings, list("aabbcc"), gold="gold", labels=list("xyxyxy"), methods=["pearson"])
    assert (study.items, study.clusters) == (6, 3)
    assert study.means["judge"].n == 5 and study.means["judge"].total == 6
    assert study.means["gold"].mean == 6.0
    assert {bin_: group.mean for bin_, group in study.bins["judge"].items()} == {1: 2.0, 9: 7.5, 10: 9.0}
    assert study.bins["judge"][1].total == 2
    assert study.by_label["x"]["judge"].mean == pytest.approx(16 / 3)
    assert [(c.first, c.second, c.n) for c in study.correlations] == [("judge", "gold", 4)]
