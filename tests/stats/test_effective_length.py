"""Effective context length: the rule case by case, its interval, corners."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.stats import wilson
from long_context_tasks.stats.effective_length import (
    LengthScores,
    effective_length,
    fixed_bar,
    fraction_bar,
)


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


def test_a_recovery_after_a_failure_does_not_count():
    found = effective_length(_curve(90, 20, 90), CHANCE)
    assert (found.length, found.next_length) == (1000, 2000)
    assert (found.interval.low, found.interval.high) == (1000, 1000)


def test_nothing_above_the_bar():
    found = effective_length(_curve(20, 60), CHANCE)
    assert (found.length, found.next_length, str(found)) == (0, 1000, "none")
    assert found.interval.low == 0


def test_everything_above_the_bar():
    found = effective_length(_curve(90, 80, 70), CHANCE)
    assert (found.length, found.next_length, str(found)) == (4000, None, ">= 4000")
    assert (found.interval.low, found.interval.high) == (4000, 4000)


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
    allowed = effective_length(curve, fixed_bar(dict.fromkeys(curve, 0.25)), fewest=6)
    assert (allowed.length, allowed.next_length, list(allowed.skipped)) == (1000, 3000, [2000])


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
@settings(max_examples=40, deadline=None)
def test_the_rule_holds_for_any_curve(counts, seed, relative):
    curve = {1000 * (place + 1): _hits(count, 40) for place, count in enumerate(counts)}
    bar = fraction_bar(0.8) if relative else fixed_bar(dict.fromkeys(curve, 0.25))
    found = effective_length(curve, bar, seed=seed)
    assert found == effective_length(curve, bar, seed=seed)
    outcomes = {one.length: one.interval.low > one.bar for one in found.lengths}
    held = [length for length in curve if all(outcomes[other] for other in curve if other <= length)]
    assert found.length == max(held, default=0)
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
