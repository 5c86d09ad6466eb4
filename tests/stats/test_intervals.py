"""95 % intervals hold the truth 93 % of the time and more: exactly for independent hits, in simulation for all others."""

import math

import numpy as np
import pytest
from coverage_simulation import (
    CENTRAL,
    MIDDLE,
    NARROW,
    NEAR_AN_END,
    NUMBERS,
    RATES,
    Scores,
    Setting,
    bootstrap_coverage,
    clustered,
    coverage,
    difference_coverage,
    draw,
    exact_coverage,
    independent,
    settings,
)
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from long_context_tasks.stats.intervals import (
    cluster_share,
    cluster_t,
    exact_interval,
    moments,
    t_ends,
    wilson_ends,
)

# The standard error of 93 % in as many samples is 0.4 %.
SAMPLES = 4_000
LOW, HIGH = 0.93, 0.97


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("rate", RATES)
def test_independent_hits_and_misses_exactly(rate: float, n: int):
    assert exact_coverage(rate, n) >= 0.95


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("scores", [*NEAR_AN_END, *CENTRAL, *NARROW, MIDDLE], ids=lambda scores: scores.name)
def test_independent_graded_scores(scores: Scores, n: int):
    found = independent(scores, n, 1_500)
    # The standard error of 93 % is 0.7 %.
    assert found.held >= 0.93 - 0.01
    if scores in CENTRAL:
        # Of 30 scores with a standard deviation of 0.12, any interval that allows for rare zeros has at least 1.26.
        assert found.ratio <= 1.32


def test_narrow_scores_near_an_end_are_why_intervals_have_a_minimum():
    """Most samples lack the one case in a hundred that scores 0, and look like scores that never do."""
    scores = next(one for one in NEAR_AN_END if one.name == "nearly 1, 1% exactly 0")
    found = independent(scores, 30, 1_500)
    assert found.plain < 0.4 and found.held > 0.97
    interval = cluster_share([0.0] * 27 + [0.02, 0.03, 0.01], range(30))
    # About as far as the exact interval of 30 misses.
    assert exact_interval(0, 30).high <= interval.high < 0.12 and interval.low < 0.001


@pytest.mark.parametrize("kind", ["hits", "graded", "f1", "topped"])
@pytest.mark.parametrize("clusters", [12, 30])
def test_clustered_scores_near_an_end(kind: str, clusters: int):
    for one in settings((0.95, 0.98), (clusters,), kind):
        found = clustered(one, 1_000)
        assert found.held >= 0.93 - 0.015, one
        if found.plain >= 0.93:
            # Ratings of 10 with few others are the widest, as clusters hardly differ.
            assert found.ratio <= (1.7 if kind == "topped" else 1.5), one


@pytest.mark.parametrize(
    ("kind", "rates", "clusters"),
    [
        pytest.param("hits", RATES, (60, 120), marks=pytest.mark.slow),
        ("hits", (0.2, 0.5, 0.8), (10, 20)),
        pytest.param("graded", (0.05,), (12, 60), marks=pytest.mark.slow),
        pytest.param("graded", (0.5,), (10,), marks=pytest.mark.slow),
        ("ratings", (5.5, 8.0), (10, 60)),
        # A known scale needs fewer clusters.
        ("scaled", (5.5, 9.5), (8,)),
    ],
)
def test_clustered_scores(kind: str, rates: tuple[float, ...], clusters: tuple[int, ...]):
    held = {one: coverage(one, SAMPLES) for one in settings(rates, clusters, kind)}
    assert min(held.values()) >= LOW, held


@pytest.mark.parametrize("rates", [(0.5, 0.6), (0.9, 0.95)])
def test_differences_of_two_models(rates: tuple[float, float]):
    assert LOW <= difference_coverage(rates, 30, 20, 0.3, SAMPLES) <= HIGH


def test_why_the_minimum_stands_and_the_bootstrap_does_not():
    rare = Setting(0.03, 30, 20, effects="rare", kind="graded")
    assert coverage(rare, 1_000) < 0.9
    assert bootstrap_coverage(Setting(0.05, 20, 20, 0.3, "logit_normal"), 1_000) < 0.85
    assert bootstrap_coverage(Setting(0.5, 10, 20, 0.3), 1_000) < 0.92


VALUES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.999, 1.0]), st.integers(0, 6)), min_size=2, max_size=40
)


@given(VALUES)
@example([(0.999, cluster % 4) for cluster in range(40)])
@example([(0.999, cluster) for cluster in range(6)])
@hypothesis_settings(max_examples=60, deadline=None)
def test_intervals_hold_the_mean_and_stay_in_range(pairs):
    values, clusters = zip(*pairs, strict=True)
    mean = math.fsum(values) / len(values)
    for interval in (cluster_share(values, clusters), cluster_t(values, clusters)):
        assert math.isnan(interval.low) == math.isnan(interval.high)
        assert math.isnan(interval.low) or interval.low - 1e-9 <= mean <= interval.high + 1e-9
    share = cluster_share(values, clusters)
    assert math.isnan(share.low) or 0 <= share.low <= share.high <= 1
    mirrored = cluster_share([1 - value for value in values], clusters)
    assert (1 - share.high, 1 - share.low) == pytest.approx((mirrored.low, mirrored.high), nan_ok=True)


@given(VALUES)
@hypothesis_settings(max_examples=40, deadline=None)
def test_order_and_names_of_clusters_do_not_matter(pairs):
    values, clusters = zip(*pairs, strict=True)
    other = cluster_share(values[::-1], [f"m{cluster}" for cluster in clusters[::-1]])
    own = cluster_share(values, clusters)
    assert (own.low, own.high) == pytest.approx((other.low, other.high), nan_ok=True)


def test_by_hand():
    # Four clusters of two, means 0, 0.5, 0.5, 1: the t interval of four equal clusters, standard error sqrt((1/6) / 4)
    values, clusters = [0, 0, 1, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]
    error = math.sqrt((1 / 6) / 4)
    found = moments(np.array([0.0, 1.0, 1.0, 2.0]), np.full(4, 2.0))
    assert (found.mean, found.variance, found.df) == pytest.approx((0.5, error**2, 3))
    interval = cluster_t(values, clusters)
    assert (interval.low, interval.high) == pytest.approx((0.5 - 3.182446 * error, 0.5 + 3.182446 * error))
    n, q = 0.25 / error**2, 3.182446
    half = q * math.sqrt(0.25 * n + q * q / 4) / (n + q * q)
    shares = cluster_share(values, clusters)
    # The second interval is not the wider one here.
    assert (shares.low, shares.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_the_second_interval_by_hand():
    """30 cases, 29 of them 1 and one 0.9: the second one has half a case of 0 and half a case of 1 more."""
    values = [1.0] * 29 + [0.9]
    sums, sizes = np.array([*values, 0.0, 0.5]), np.array([*[1.0] * 30, 0.5, 0.5])
    low = float(wilson_ends(moments(sums, sizes))[0])
    reach = (29.9 / 30) * 0.025 ** (1 / 30)
    found = cluster_share(values, range(30))
    assert found.low == pytest.approx(max(low, reach)) and low < reach
    # Scores in the middle of the scale reach as far as the share of cases that one sample in 20 misses.
    middle = cluster_share([0.49, 0.51] * 15, range(30))
    assert middle.low == pytest.approx(0.5 * 0.05 ** (1 / 30)) and middle.high == pytest.approx(
        1 - middle.low
    )
    # Three clusters of ten that hardly differ: draws are between 3 and 30.
    alike = cluster_share([0.5] * 29 + [0.6], [place // 10 for place in range(30)])
    assert 0.5 * 0.025 ** (1 / 3) < alike.low < 0.5 * 0.025 ** (1 / 30)


def test_clusters_of_unequal_size_leave_fewer_degrees_of_freedom():
    sizes = np.array([40.0, 5, 5, 5, 5, 5])
    found = moments(sizes * np.array([0.3, 0.6, 0.4, 0.5, 0.7, 0.5]), sizes, skewed=False)
    assert 1 < found.df < 2.5
    rare = np.zeros(50)
    rare[:2] = 10
    assert moments(rare, np.full(50, 10.0)).df < 5 < moments(rare, np.full(50, 10.0), skewed=False).df


def test_many_sets_at_once_are_those_one_by_one():
    sums, sizes = draw(Setting(0.3, 12), 20)
    at_once = np.array([wilson_ends(moments(sums, sizes)), t_ends(moments(sums, sizes))])
    for row in range(20):
        one = moments(sums[row], sizes[row])
        assert np.allclose(at_once[:, :, row], [wilson_ends(one), t_ends(one)])


def test_corners():
    same = cluster_share([0.3, 0.3], "ab")
    assert 0 < same.low < 0.15 and same.high > 0.7
    assert math.isnan(cluster_share([0.3, 0.5], "aa").low) and math.isnan(cluster_t([3, 5], "aa").low)
    assert math.isnan(cluster_t([3, 5, 3, 5], "aabb").low)
    assert cluster_share([1.0] * 6, "aabbcc") == exact_interval(3, 3)
    assert math.isnan(cluster_share([1.0, 0.0], "aa").low) and cluster_share(
        [1.0, 1.0], "aa"
    ) == exact_interval(1, 1)
    assert cluster_share([1.0, 0.0, 0.0], "abc") == exact_interval(1, 3)
    one_mean = cluster_share([1.0, 0.0, 0.0, 1.0], "aabb")
    assert 0 < one_mean.low < 0.2 and one_mean.high > 0.8
    with pytest.raises(ValueError, match="outside 0 to 1"):
        cluster_share([2.0, 0.0], "ab")
    ratings = cluster_share([9, 10, 10, 8, 10, 9], "aabbcc", scale=(1, 10))
    shares = cluster_share([8 / 9, 1, 1, 7 / 9, 1, 8 / 9], "aabbcc")
    assert (ratings.low, ratings.high) == pytest.approx((1 + 9 * shares.low, 1 + 9 * shares.high))
    top = cluster_share([10.0] * 6, "aabbcc", scale=(1, 10))
    assert ratings.high < 10 and (top.low, top.high) == (1 + 9 * exact_interval(3, 3).low, 10)
    with pytest.raises(ValueError, match="2 values and 1 clusters"):
        cluster_t([2.0, 0.0], "a")
