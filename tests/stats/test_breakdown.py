"""Means by label, over seeds and per gold bin, against values worked by hand."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.stats import (
    cluster_t,
    could_be_one_run,
    group_mean,
    group_means,
    means_by_gold_bin,
    seed_spread,
)

ITEMS = st.lists(
    st.tuples(st.none() | st.integers(1, 10), st.sampled_from("BMES"), st.integers(0, 4)),
    min_size=1,
    max_size=40,
)


def test_spread_over_seeds_has_the_sample_divisor():
    spread = seed_spread([7.0, 8.0, 9.5])
    # mean 24.5/3; squares of the deviations sum to 19/6, over 2 gives 19/12
    assert spread.mean == pytest.approx(24.5 / 3) and spread.sd == pytest.approx(math.sqrt(19 / 12))
    assert spread.n == 3
    assert math.isnan(seed_spread([7.0]).sd)
    with pytest.raises(ValueError, match="no runs"):
        seed_spread([])


@given(st.lists(st.floats(1, 10), min_size=3, max_size=3))
def test_every_run_could_be_one_of_its_own_three(runs: list[float]):
    spread = seed_spread(runs)
    for run in runs:
        assert could_be_one_run(run, round(spread.mean, 2), round(spread.sd, 2), 3)


def test_a_run_too_far_away_is_not_one_of_three():
    # 2/sqrt(3) of (0.07 + 0.005) plus 0.005 is 0.0916
    assert could_be_one_run(8.38 + 0.0915, 8.38, 0.07, 3)
    assert not could_be_one_run(8.38 + 0.0917, 8.38, 0.07, 3)
    with pytest.raises(ValueError, match="one run"):
        could_be_one_run(8.0, 8.0, 0.1, 1)


@given(ITEMS)
def test_groups_together_hold_every_score_once(items):
    values, labels, clusters = (list(part) for part in zip(*items, strict=True))
    groups = group_means(values, labels, clusters)
    assert list(groups) == list(dict.fromkeys(labels))
    assert sum(group.total for group in groups.values()) == len(items)
    for label, group in groups.items():
        own = [value for value, other, _ in items if other == label and value is not None]
        assert group.n == len(own)
        if own:
            assert group.mean == pytest.approx(statistics.fmean(own))
            if not math.isnan(group.interval.low):
                assert group.interval.low <= group.mean <= group.interval.high
        else:
            assert math.isnan(group.mean)


def test_intervals_are_over_clusters():
    values, labels = [1.0, 1.0, 9.0, 9.0, 5.0, 5.0], ["x"] * 6
    by_meeting = group_means(values, labels, ["a", "a", "b", "b", "c", "c"])["x"]
    assert by_meeting.clusters == 3
    assert by_meeting.interval == cluster_t(values, ["a", "a", "b", "b", "c", "c"])
    by_question = group_means(values, labels, range(6))["x"]
    assert (
        by_meeting.interval.high - by_meeting.interval.low
        > by_question.interval.high - by_question.interval.low
    )


def test_one_cluster_has_no_interval_and_no_score_no_mean():
    assert math.isnan(group_mean([1, 2], ["a", "a"]).interval.low)
    empty = group_mean([None], ["a"])
    assert (empty.n, empty.total, empty.clusters) == (0, 1, 0) and math.isnan(empty.mean)
    with pytest.raises(ValueError, match="zip"):
        group_mean([1.0], [])


def test_bins_of_the_gold_score_are_sorted_and_halves_go_up():
    bins = means_by_gold_bin([5, 7, 9, None], [9.0, 2.5, 2.4, 9.4], "abcd")
    assert list(bins) == [2, 3, 9]
    assert (bins[3].mean, bins[2].mean, bins[9].mean, bins[9].total) == (7.0, 9.0, 5.0, 2)
