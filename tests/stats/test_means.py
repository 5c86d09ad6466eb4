"""Means: intervals that include everything, groups, seeds, scores that a judge expects but does not know; rounding as tables are printed."""

import math
import statistics
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema import Score
from long_context_tasks.stats.intervals import Interval, cluster_share, cluster_t, exact_interval
from long_context_tasks.stats.means import (
    could_be_one_run,
    group_mean,
    group_means,
    interval_of_mean,
    mean_of_scores,
    round_half_up,
    round_twice,
    widened,
)
from long_context_tasks.stats.raters import means_by_gold_bin


@pytest.mark.parametrize(
    # Newcombe (1998), Statistics in Medicine 17, Table I: method 5 (Clopper-Pearson)
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_hits_have_the_published_exact_intervals(hits: int, n: int, low: float, high: float) -> None:
    interval = exact_interval(hits, n)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_the_interval_is_that_of_the_values() -> None:
    """Shares, points of a scale, and shares that are declared points; the corners are those of each interval."""
    clusters = [place // 4 for place in range(40)]
    shares, points = [place % 3 / 2 for place in range(40)], [1.0 + place % 9 for place in range(40)]
    assert interval_of_mean(shares, clusters) == cluster_share(shares, clusters)
    assert interval_of_mean(points, clusters) == cluster_t(points, clusters)
    assert interval_of_mean(shares, clusters, scale=None) == cluster_t(shares, clusters)
    assert interval_of_mean(points, clusters, scale=(1, 10)) == cluster_share(points, clusters, scale=(1, 10))
    # One point off the scale: the scale is not what it was said to be.
    assert interval_of_mean([*points, 11], [*clusters, 0], scale=(1, 10)) == cluster_t(
        [*points, 11], [*clusters, 0]
    )
    assert interval_of_mean([1.0] * 8 + [0.0] * 192, range(200)) == exact_interval(8, 200)
    # Judged 1 throughout: without a scale the spread is unknown, with one the mean lies at its end, or between.
    mean = mean_of_scores([Score(1.0)] * 40, clusters, scale=None)
    assert mean.value == 1 and math.isnan(mean.low) and math.isnan(mean.high)
    mean = mean_of_scores([Score(1.0)] * 40, clusters, scale=(1, 10))
    assert mean.low == 1 and 3 < mean.high < 4
    mean = mean_of_scores([Score(1.0)] * 40, clusters, scale=(0, 10))
    assert 0 < mean.low < 1 < mean.high < 4


def test_the_standard_error_is_the_textbook_s() -> None:
    """Of independent scores the standard deviation over the root of n; of clusters CR2, here of equal ones: that of their means."""
    values = [0.1, 0.4, 0.45, 0.9, 0.7, 0.2]
    independent = mean_of_scores([Score(value) for value in values], range(6))
    assert independent.se == pytest.approx(statistics.stdev(values) / math.sqrt(6))
    means = [statistics.fmean(values[place : place + 2]) for place in (0, 2, 4)]
    clustered = mean_of_scores([Score(value) for value in values], [0, 0, 1, 1, 2, 2])
    assert clustered.se == pytest.approx(statistics.stdev(means) / math.sqrt(3))
    spread = mean_of_scores([Score(value, std=0.3) for value in values], range(6))
    assert spread.se == pytest.approx(math.hypot(independent.se, 0.3 / math.sqrt(6)))
    for certain in ([Score(1.0)] * 5, [Score(0.2)], [Score(None, "empty")]):
        assert math.isnan(mean_of_scores(certain, range(len(certain))).se)


def test_failures_of_ours_stay_outside_the_mean_and_are_counted() -> None:
    scores = [Score(1.0), Score(0.0, "unparsed"), Score(None, "does_not_fit"), Score(None, "does_not_fit")]
    mean = mean_of_scores(scores, range(4))
    assert (mean.value, mean.n, mean.total, mean.coverage) == (0.5, 2, 4, 0.5)
    assert mean.reasons == {"unparsed": 1, "does_not_fit": 2}


ITEMS = st.lists(
    st.tuples(st.none() | st.integers(1, 10), st.sampled_from("BMES"), st.integers(0, 4)),
    min_size=1,
    max_size=40,
)


def test_a_run_too_far_away_is_not_one_of_three():
    # 2/sqrt(3) of (0.07 + 0.005) plus 0.005 is 0.0916
    assert could_be_one_run(8.38 + 0.0915, 8.38, 0.07, 3)
    assert not could_be_one_run(8.38 + 0.0917, 8.38, 0.07, 3)


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


def test_one_cluster_has_no_interval_and_no_score_no_mean():
    group = group_means([1.0, 9.0, 5.0], "xxx", "abc")["x"]
    assert group.clusters == 3 and group.interval == cluster_t([1.0, 9.0, 5.0], "abc")
    assert math.isnan(group_mean([1, 2], ["a", "a"]).interval.low)
    empty = group_mean([None], ["a"])
    assert (empty.n, empty.total, empty.clusters) == (0, 1, 0) and math.isnan(empty.mean)
    with pytest.raises(ValueError, match="zip"):
        group_mean([1.0], [])


def test_bins_of_the_gold_score_are_sorted_and_halves_go_up():
    bins = means_by_gold_bin([5, 7, 9, None], [9.0, 2.5, 2.4, 9.4], "abcd")
    assert list(bins) == [2, 3, 9]
    assert (bins[3].mean, bins[2].mean, bins[9].mean, bins[9].total) == (7.0, 9.0, 5.0, 2)


def test_certain_scores_keep_their_interval() -> None:
    values = [0.1, 0.4, 0.45, 0.9, 0.7, 0.2]
    plain = mean_of_scores([Score(value) for value in values], "abcdef")
    assert mean_of_scores([Score(value, std=0.0) for value in values], "abcdef") == plain


@given(
    st.floats(0, 1),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.lists(st.floats(0, 0.5), min_size=1, max_size=20),
)
def test_it_never_gets_narrower_and_stays_a_rate(
    mean: float, below: float, above: float, stds: list[float]
) -> None:
    ends = Interval(max(mean - below, 0.0), min(mean + above, 1.0))
    found = widened(ends, mean, stds)
    assert 0 <= found.low <= ends.low + 1e-12 and ends.high - 1e-12 <= found.high <= 1


def test_it_is_as_wide_as_the_interval_of_people() -> None:
    """Had one person rated each case, the mean of the ratings would be that far from the truth: 95 % of the time within this width."""
    rng = np.random.default_rng(0)
    n, trials, held, held_without = 60, 400, 0, 0
    for _ in range(trials):
        expected = rng.beta(2, 2, n)
        people = expected + rng.normal(0, 0.3, n)
        found = mean_of_scores([Score(float(value), std=0.3) for value in expected], range(n))
        plain = mean_of_scores([Score(float(value)) for value in expected], range(n))
        off = people.mean() - 0.5
        held += found.low - found.value <= -off <= found.high - found.value
        held_without += plain.low - plain.value <= -off <= plain.high - plain.value
    assert 0.925 <= held / trials <= 0.975
    assert held_without / trials < 0.85


@pytest.mark.parametrize(
    ("value", "places", "printed"),
    [
        (2.675, 2, "2.68"),  # the nearest double is below; people read 2.675
        (4.625, 2, "4.63"),  # Python's round gives 4.62
        (-4.625, 2, "-4.63"),
        (0.5, 0, "1"),
        (8.5, 2, "8.50"),
        (Fraction(834, 141), 2, "5.91"),
        (Fraction(1, 3), 3, "0.333"),
        (np.float64(0.4656968), 3, "0.466"),
        (7, 1, "7.0"),
        (1e-7, 2, "0.00"),
    ],
)
def test_half_up(value, places, printed):
    assert str(round_half_up(value, places)) == printed


@pytest.mark.parametrize(
    ("value", "once", "twice"),
    [
        (Fraction(1202, 141), "8.52", "8.53"),  # 8.52482
        (Fraction(834, 141), "5.91", "5.92"),  # 5.91489
        (Fraction(869, 130), "6.68", "6.69"),  # 6.68462
        (Fraction(3270, 390), "8.38", "8.39"),  # 8.384615: Table 9 and Table 2 of the paper
        (Fraction(662, 141), "4.70", "4.70"),
        (8.3444, "8.34", "8.34"),
    ],
)
def test_double_rounding_raises_the_last_digit(value, once, twice):
    assert (str(round_half_up(value)), str(round_twice(value))) == (once, twice)


@given(st.decimals(-1000, 1000, places=6), st.integers(0, 5))
def test_floats_round_as_the_decimals_they_show(value: Decimal, places: int):
    expected = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    assert round_half_up(float(value), places) == expected
    assert round_half_up(Fraction(value), places) == expected


def test_what_cannot_be_rounded():
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="cannot round"):
            round_half_up(value)
    with pytest.raises(ValueError, match="decimals"):
        round_half_up(1.0, -1)
