"""Effective context length: the rule case by case, its interval, corners; draws from counts are those of the drawn clusters."""

import math
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from long_context_tasks.stats import wilson
from long_context_tasks.stats.effective_length import (
    LengthScores,
    drawn_counts,
    drawn_lower_ends,
    drawn_moments,
    effective_length,
    fixed_bar,
    fraction_bar,
    quantiles,
    wilson_low,
)
from long_context_tasks.stats.intervals import moments, t_ends, wilson_ends
from long_context_tasks.stats.raters import RESAMPLES, drawn_clusters


def _hits(hits: int, n: int = 100) -> LengthScores:
    return LengthScores([1.0] * hits + [0.0] * (n - hits), range(n))


def _curve(*hits: int) -> dict[int, LengthScores]:
    return {1000 * 2**place: _hits(count) for place, count in enumerate(hits)}


CHANCE = fixed_bar(dict.fromkeys((1000 * 2**place for place in range(12)), 0.25))


def test_the_longest_length_whose_interval_lies_above_the_bar():
    # Wilson for 34 of 100 starts at 0.2547, for 33 at 0.2458
    found = effective_length(_curve(90, 34, 33, 20), CHANCE)
    assert (found.length, found.next_length, found.at_least, str(found)) == (2000, 4000, False, "2000")
    assert [one.outcome for one in found.lengths] == ["holds", "holds", "fails", "fails"]
    assert found.lengths[1].interval == wilson(34, 100) and found.lengths[1].mean == 0.34
    assert found.interval.low in (1000, 2000) and found.interval.high in (2000, 4000)
    assert "95 % interval of the score lies above chance" in found.definition


def test_gaps_are_passed_over_and_named():
    curve = _curve(90, 0, 80, 10)
    curve[2000] = LengthScores([], [])
    few = LengthScores([1.0] * 30 + [0.0] * 30, [case // 10 for case in range(60)])
    curve[3000] = few
    found = effective_length(curve, fixed_bar(dict.fromkeys(curve, 0.25)))
    assert (found.length, found.next_length, list(found.skipped)) == (4000, 8000, [2000, 3000])
    assert "passed over: 2000, 3000" in found.definition
    reasons = {one.length: one.reason for one in found.lengths}
    assert reasons[2000] == "no scores" and reasons[3000] == "6 clusters, fewer than 10"


def test_no_length_can_be_decided():
    found = effective_length({1000: LengthScores([], []), 2000: LengthScores([1.0, 0.5], "aa")}, CHANCE)
    assert found.length is None and str(found) == "unknown" and math.isnan(found.interval.low)
    assert found.skipped == [1000, 2000]
    relative = effective_length({1000: LengthScores([], [])}, fraction_bar(0.85))
    assert relative.length is None and math.isnan(relative.lengths[0].bar)


def test_a_fraction_of_the_score_at_the_shortest_length():
    curve = _curve(90, 88, 80, 50)
    found = effective_length(curve, fraction_bar(0.85))
    # 0.85 * 0.9 is 0.765; Wilson for 88 of 100 starts at 0.802, for 80 at 0.711
    assert found.lengths[0].bar == pytest.approx(0.765) and found.length == 2000
    assert "85 % of the score at the shortest length" in found.definition
    assert found.interval.low <= 2000 <= found.interval.high


def test_ratings_in_clusters():
    rng = np.random.default_rng(0)
    meetings = [case // 8 for case in range(96)]
    levels = {1000: 8.0, 2000: 7.5, 4000: 4.0}
    curve = {
        length: LengthScores(
            np.clip(np.rint(rng.normal(level, 1, 96) + rng.normal(0, 0.7, 12).repeat(8)), 1, 10).tolist(),
            meetings,
        )
        for length, level in levels.items()
    }
    found = effective_length(curve, fixed_bar(dict.fromkeys(curve, 6.0), "a rating of 6"), rates=False)
    assert found.length == 2000 and found.lengths[0].clusters == 12
    assert (found.interval.low, found.interval.high) == (2000, 2000)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 5), st.booleans())
@example([36, 8, 36], 0, False)  # a recovery after a failure does not count
@example([8, 24], 0, False)
@settings(max_examples=40, deadline=None)
def test_the_rule_holds_for_any_curve(counts, seed, relative):
    curve = {1000 * (place + 1): _hits(count, 40) for place, count in enumerate(counts)}
    bar = fraction_bar(0.8) if relative else fixed_bar(dict.fromkeys(curve, 0.25))
    found = effective_length(curve, bar, seed=seed)
    assert found == effective_length(curve, bar, seed=seed)
    outcomes = {one.length: one.interval.low > one.bar for one in found.lengths}
    held = [length for length in curve if all(outcomes[other] for other in curve if other <= length)]
    assert found.length == max(held, default=0)
    assert str(found) == f"{'>= ' * found.at_least}{found.length or 'none'}"
    assert found.at_least == (found.length == max(curve)) == (found.next_length is None)
    assert found.interval.low <= found.length <= found.interval.high
    assert {found.interval.low, found.interval.high} <= {0.0, *map(float, curve)}


def test_the_order_of_the_cases_does_not_matter():
    curve = _curve(60, 40, 35)
    turned = {length: LengthScores(one.values[::-1], one.clusters[::-1]) for length, one in curve.items()}
    assert effective_length(curve, CHANCE).interval == effective_length(turned, CHANCE).interval


def test_the_interval_covers_what_many_samples_give():
    """Lengths found in new samples of the same model lie in the interval of one sample about 95 % of the time."""
    rates = {1000: 0.8, 2000: 0.6, 4000: 0.4, 8000: 0.33, 16000: 0.25}
    bar = fixed_bar(dict.fromkeys(rates, 0.25))
    rng = np.random.default_rng(3)
    inside = 0
    samples = [
        {length: _hits(int(rng.binomial(200, p)), 200) for length, p in rates.items()} for _ in range(40)
    ]
    found = [effective_length(sample, bar) for sample in samples]
    typical = np.median([one.length for one in found])
    inside = sum(one.interval.low <= typical <= one.interval.high for one in found)
    assert inside >= 35


def test_what_cannot_be_asked():
    with pytest.raises(ValueError, match="no lengths"):
        effective_length({}, CHANCE)
    with pytest.raises(ValueError, match="no bar is given for 3000"):
        effective_length({3000: _hits(3)}, CHANCE)
    with pytest.raises(ValueError, match="between 0 and 1"):
        fraction_bar(85)
    with pytest.raises(ValueError, match="outside 0 to 1"):
        effective_length({1000: LengthScores([7.0, 8.0], "ab")}, CHANCE)


def _cases(seed: int, k: int, kind: str, alike: bool) -> tuple[list[float], list[str]]:
    rng = np.random.default_rng(seed)
    sizes = np.full(k, 4) if alike else rng.integers(1, 15, k)
    clusters = np.repeat(np.arange(k), sizes)
    level = rng.random(k)[clusters]
    values = {
        "hits": rng.random(len(clusters)) < level,
        "graded": 0.5 * level + 0.5 * rng.random(len(clusters)),
        "ratings": 1 + np.rint(4 * level + 5 * rng.random(len(clusters))),
    }[kind].astype(float)
    return values.tolist(), [f"book {number}" for number in clusters]


def _one_by_one(values: list[float], clusters: list[str], rates: bool, seed: int):
    """The same from the drawn clusters, a row for each draw."""
    names = sorted(set(clusters), key=repr)
    own = [[value for value, name in zip(values, clusters, strict=True) if name == one] for one in names]
    rows = drawn_clusters(len(names), seed)
    sums, sizes = (np.array([function(one) for one in own], dtype=float)[rows] for function in (sum, len))
    found = moments(sums, sizes)
    if not rates:
        return found.mean, t_ends(found)[0]
    means = sums / sizes
    low = np.where(np.ptp(means, axis=1) > 1e-12, wilson_ends(found)[0], wilson_low(found.mean, len(names)))
    return found.mean, low


@given(st.integers(0, 99), st.integers(2, 40), st.sampled_from(["hits", "graded", "ratings"]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_draws_from_counts_are_those_of_the_clusters_themselves(seed, k, kind, alike):
    values, clusters = _cases(seed, k, kind, alike)
    rates = kind != "ratings"
    mean, low = drawn_lower_ends(values, clusters, rates=rates, independent=False, seed=seed)
    wanted_mean, wanted_low = _one_by_one(values, clusters, rates, seed)
    assert mean.shape == low.shape == (RESAMPLES,)
    assert np.allclose(mean, wanted_mean, atol=1e-12)
    # A tie of all squares stands at the edge of a rule about degrees of freedom: either side of it, in few draws.
    near = np.isclose(low, wanted_low, atol=1e-5)
    assert near.mean() > (0.99 if k > 5 else 0.5)


@pytest.mark.parametrize("alike", [True, False])
def test_moments_to_the_last_digits(alike):
    rng = np.random.default_rng(1)
    sizes = np.full(60, 8.0) if alike else rng.integers(1, 21, 60).astype(float)
    sums = 1000 * sizes + sizes * rng.random(60)  # far from zero, where differences of squares would cancel
    rows = drawn_clusters(60, 3)
    wanted, found = moments(sums[rows], sizes[rows]), drawn_moments(drawn_counts(60, 3), sums, sizes)
    for name in ("mean", "variance", "df"):
        assert np.allclose(getattr(found, name), getattr(wanted, name), rtol=1e-6), name


def test_a_cluster_as_large_as_a_whole_draw_without_it():
    sizes, sums = np.array([2.0, 3.0, 8.0, 1.0]), np.array([9.0, 20.0, 30.0, 4.0])
    counts = np.array([[1, 2, 0, 0], [4, 0, 0, 0], [0, 2, 0, 2], [1, 1, 1, 1]])
    found = drawn_moments(counts, sums, sizes)
    for place, row in enumerate(counts):
        rows = np.repeat(np.arange(4), row)
        wanted = moments(sums[rows], sizes[rows])
        for name in ("mean", "variance", "df"):
            own = getattr(wanted, name)
            if not (place == 1 and name == "df"):  # without spread there is no number of degrees of freedom
                assert getattr(found, name)[place] == pytest.approx(own, abs=1e-9), (place, name)


def test_draws_without_spread_have_no_variance():
    # Graded 0.3 in every cluster but one: the draws without that one have one mean only.
    values, clusters = [0.3] * 36 + [0.9] * 4, [place // 4 for place in range(40)]
    mean, low = drawn_lower_ends(values, clusters, rates=True, independent=False, seed=0)
    without = np.isclose(mean, 0.3)
    assert 0.2 < without.mean() < 0.5
    assert np.allclose(low[without], wilson_low(np.array([0.3]), 10))


def test_independent_hits_are_counted():
    hits = [1.0, 0.0, 1.0, 1.0, 0.0]
    mean, low = drawn_lower_ends(hits, "abcde", rates=True, independent=True, seed=4)
    drawn = np.array(hits)[drawn_clusters(5, 4)].mean(axis=1)
    assert np.array_equal(mean, drawn) and np.array_equal(low, wilson_low(drawn, 5))
    turned, _ = drawn_lower_ends(hits[::-1], "edcba", rates=True, independent=True, seed=4)
    assert np.array_equal(mean, turned)


def test_a_single_cluster_is_drawn_always():
    mean, low = drawn_lower_ends([0.0, 1.0, 1.0, 0.0], "aaaa", rates=True, independent=False, seed=0)
    assert set(mean) == {0.5} and np.allclose(low, wilson_low(np.array([0.5]), 4))
    mean, low = drawn_lower_ends([4, 6], "aa", rates=False, independent=False, seed=0)
    assert set(mean) == set(low) == {5.0}


@given(st.floats(1, 1e6))
@settings(max_examples=50, deadline=None)
def test_the_table_of_quantiles(df):
    from scipy.special import stdtrit

    assert float(quantiles(np.array([df]))[0]) == pytest.approx(stdtrit(df, 0.975), rel=3e-6)


def test_counts_are_the_draws_and_cannot_be_changed():
    counts = drawn_counts(7, 5)
    wanted = [np.bincount(row, minlength=7) for row in drawn_clusters(7, 5)]
    assert np.array_equal(counts, wanted) and counts is drawn_counts(7, 5)
    with pytest.raises(ValueError, match="read-only"):
        counts[0, 0] = 1
    assert int(drawn_counts(1, 0).max()) == 1


def test_many_models_take_milliseconds_each():
    rng = np.random.default_rng(0)
    clusters = [place // 8 for place in range(480)]
    curve = {
        1000 * 2**step: LengthScores(rng.beta(4, 1 + step / 8, 480).tolist(), clusters) for step in range(6)
    }
    effective_length(curve, fraction_bar(0.85))  # draws are kept from here on
    start = time.process_time()
    for seed in [0] * 10:
        effective_length(curve, fraction_bar(0.85), seed=seed)
    spent = (time.process_time() - start) / 10
    assert spent < 0.1  # about 0.006 s
