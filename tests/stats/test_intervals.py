"""Intervals: textbook values, coverage in simulation, corners."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema import Score
from long_context_tasks.stats import interval_of_mean, mean_of_scores, wilson


@pytest.mark.parametrize(
    # Newcombe (1998), Statistics in Medicine 17, Table I: method 3 (score, without continuity correction)
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(hits: int, n: int, low: float, high: float) -> None:
    interval = wilson(hits, n)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=60))
def test_interval_holds_the_mean(values: list[float]) -> None:
    mean = mean_of_scores([Score(value) for value in values], range(len(values)))
    assert mean.low - 1e-12 <= mean.value <= mean.high + 1e-12
    assert mean.low >= 0 and mean.high <= 1


def test_intervals_widen_with_clusters_of_like_values() -> None:
    rng = random.Random(1)
    hits = [float(rng.random() < 0.5) for _ in range(40)]
    values = [hit for hit in hits for _ in range(10)]
    clusters = [book for book in range(40) for _ in range(10)]
    clustered = interval_of_mean(values, clusters)
    independent = wilson(round(sum(values)), len(values))
    assert clustered.high - clustered.low > 2 * (independent.high - independent.low)


@pytest.mark.parametrize("values", [[0.1, 0.7], [0.0, 1.0], [3.0, 4.0]])
def test_one_cluster_tells_nothing_of_others(values: list[float]) -> None:
    interval = interval_of_mean(values, ["a", "a"], rates=max(values) <= 1)
    assert math.isnan(interval.low) and math.isnan(interval.high)


def test_failures_of_ours_stay_outside_the_mean_and_are_counted() -> None:
    scores = [Score(1.0), Score(0.0, "unparsed"), Score(None, "does_not_fit"), Score(None, "does_not_fit")]
    mean = mean_of_scores(scores, range(4))
    assert (mean.value, mean.n, mean.total, mean.coverage) == (0.5, 2, 4, 0.5)
    assert mean.reasons == {"unparsed": 1, "does_not_fit": 2}


def test_nothing_scored_is_not_zero() -> None:
    mean = mean_of_scores([Score(None, "does_not_fit")], ["a"])
    assert math.isnan(mean.value) and mean.n == 0


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_hits_or_misses_in_clusters_are_no_certainty(value: float) -> None:
    mean = mean_of_scores([Score(value)] * 40, [place // 2 for place in range(40)])
    assert mean.high - mean.low == pytest.approx(0.1611, abs=1e-4)  # as 0 of 20
    assert mean.low <= value <= mean.high


def test_points_of_a_scale_are_no_hits() -> None:
    """Judged 1 of 10 throughout, the mean is 1: an interval for shares would lie below it, outside the scale."""
    mean = mean_of_scores([Score(1.0)] * 40, [place // 4 for place in range(40)], rates=False)
    assert mean.value == 1 and math.isnan(mean.low) and math.isnan(mean.high)
    mixed = [Score(float(place % 3 == 0)) for place in range(40)]
    points = mean_of_scores(mixed, range(40), rates=False)
    shares = mean_of_scores(mixed, range(40))
    assert (points.low, points.high) != (shares.low, shares.high) and points.low < points.value < points.high


def test_what_the_hosts_call_covers_ratings_of_a_few_meetings() -> None:
    """Ten meetings of different level, graded 1 to 10, as the hosts and reports ask for it: not only the formulas below."""
    rng = random.Random(5)
    covered, trials = 0, 600
    for _ in range(trials):
        values, clusters = [], []
        for meeting in range(10):
            level = rng.gauss(6.0, 0.8)
            for _ in range(rng.randint(8, 16)):
                values.append(min(10.0, max(1.0, rng.gauss(level, 1.5))))
                clusters.append(meeting)
        interval = interval_of_mean(values, clusters, rates=False)
        covered += interval.low <= 6.0 <= interval.high
    assert 0.925 <= covered / trials <= 0.975
