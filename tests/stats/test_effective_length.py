"""Effective context length: claims, outcomes and corners, and by simulation how often claims are false."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from length_simulation import Design, curves, same_questions, shares

from long_context_tasks.stats.effective_length import (
    Bar,
    Clusters,
    LengthScores,
    claims,
    effective_length,
    fixed_margin,
    fraction_bar,
)
from long_context_tasks.stats.intervals import cluster_share, cluster_t, exact_interval


def _hits(hits: int, n: int = 100, size: int = 1) -> LengthScores:
    """Hits spread over clusters: every cluster has about as many as the others."""
    order = np.argsort(np.arange(n) * 7 % n)  # 7 and n have no common divisor
    return LengthScores(np.where(order < hits, 1.0, 0.0).tolist(), [case // size for case in range(n)])


def _curve(*hits: int, n: int = 100, size: int = 1) -> dict[int, LengthScores]:
    return {1000 * 2**place: _hits(count, n, size) for place, count in enumerate(hits)}


RELATIVE = fraction_bar(0.85)
HALF = Bar("50 %", dict.fromkeys((1000 * 2**place for place in range(12)), 0.5))


def _outcomes(curve, bar, **more) -> tuple[int | None, int | None, str]:
    found = effective_length(curve, bar, **more)
    return found.at_least, found.below, " ".join(one.outcome for one in found.lengths)


def test_a_collapse_is_seen_whatever_the_number_of_clusters():
    for size in (1, 10, 50):  # 500, 50 and 10 clusters
        curve = _curve(340, 355, 375, 44, 22, n=500, size=size)
        assert _outcomes(curve, RELATIVE)[1:] == (8000, "holds holds holds fails fails"), size
    assert effective_length(_curve(340, 355, 375, 44, 22, n=500, size=10), RELATIVE).at_least == 4000


def test_a_flat_curve_never_fails_against_itself():
    for share in (30, 50, 70, 90):
        found = effective_length(_curve(*[share] * 5), RELATIVE)
        assert found.at_least >= 1000 and found.below is None
        assert {one.outcome for one in found.lengths} <= {"holds", "open"}


def test_claims_follow_from_outcomes():
    rows = {
        "hhh": (3, 3), "hoh": (1, 3), "hof": (1, 2), "hff": (1, 1), "fff": (0, 0), "ooo": (0, 3), "off": (0, 1),
        # A single failure before other lengths counts where it is sure.
        "hfo": (1, 3), "hFo": (1, 1), "hFh": (1, 1), "ofh": (0, 3), "hfF": (1, 1), "hoFo": (1, 2),
    }  # fmt: skip
    for row, wanted in rows.items():
        flags = [np.array([sign in signs for sign in row]) for signs in ("h", "fF", "F")]
        assert tuple(map(int, claims(*flags))) == wanted, row


def test_the_margin_of_a_fixed_bar():
    found = effective_length(_curve(90, 61, 58, 20), HALF)
    # Clopper and Pearson: 61 of 100 start at 0.507, 58 at 0.477
    assert [one.outcome for one in found.lengths] == ["holds", "holds", "open", "fails"]
    assert (found.at_least, found.below, found.open) == (2000, 8000, [4000])
    assert found.lengths[1].interval == exact_interval(61, 100) and found.lengths[1].mean == 0.61
    from scipy.stats import binomtest

    exact = binomtest(61, 100).proportion_ci(method="exact")
    assert found.lengths[1].margin.low == pytest.approx(exact.low - 0.5)
    assert found.lengths[1].margin.high == pytest.approx(exact.high - 0.5)
    assert "stays above 50 %" in found.definition
    for hits in (0, 100):
        ends = effective_length(_curve(hits), HALF).lengths[0].margin
        exact = binomtest(hits, 100).proportion_ci(method="exact")
        assert (ends.low, ends.high) == pytest.approx((exact.low - 0.5, exact.high - 0.5))


def test_the_base_of_a_relative_bar_is_tested_against_chance():
    chance = dict.fromkeys((1000, 2000, 4000), 0.25)
    above = effective_length(_curve(90, 80, 30), fraction_bar(0.85, chance))
    assert above.lengths[0].bar == 0.25 and above.lengths[1].bar == pytest.approx(0.25 + 0.85 * 0.65)
    assert "above chance" in above.definition and (above.at_least, above.below) == (1000, 4000)
    guessing = effective_length(_curve(26, 24, 25), fraction_bar(0.85, chance))
    assert (guessing.at_least, guessing.below, guessing.open) == (None, None, [1000, 2000, 4000])
    assert effective_length(_curve(0, 0), RELATIVE).open == [1000, 2000]


def test_nothing_holds_against_a_base_below_chance():
    bar = fraction_bar(0.85, {1000: 0.24, 2000: 0.08, 4000: 0.08})
    found = effective_length({1000: _hits(0), 2000: _hits(0), 4000: _hits(3)}, bar)
    assert [one.outcome for one in found.lengths] == ["fails", "open", "open"]
    assert "above chance" in found.lengths[1].reason
    assert (found.at_least, found.below) == (None, 1000)


def test_paired_clusters_decide_what_separate_ones_cannot():
    rng = np.random.default_rng(0)
    level = rng.beta(1, 1, 40)
    hits = [
        (rng.random((40, 25)) < np.clip(level[:, None] - lost, 0, 1)).ravel().astype(float).tolist()
        for lost in (0, 0.2)
    ]
    alike = [number for number in range(40) for _ in range(25)]
    paired = {1000: LengthScores(hits[0], alike), 2000: LengthScores(hits[1], alike)}
    other = {1000: paired[1000], 2000: LengthScores(hits[1], [number + 40 for number in alike])}
    assert _outcomes(paired, RELATIVE) == (1000, 2000, "holds fails")
    assert _outcomes(other, RELATIVE) == (1000, None, "holds open")
    # Half of the clusters in common lies in between.
    half = {1000: paired[1000], 2000: LengthScores(hits[1], [number + 40 * (number % 2) for number in alike])}
    widths = [effective_length(each, RELATIVE).lengths[1].margin for each in (paired, half, other)]
    assert np.all(np.diff([one.high - one.low for one in widths]) > 0)


@pytest.mark.parametrize(
    ("rate", "clusters", "size", "kind", "alike"),
    [
        (0.5, 15, 1, "hits", 1.0),
        (0.3, 30, 1, "hits", 1.0),
        (0.5, 15, 20, "hits", 1.0),
        (0.3, 60, 20, "hits", 1.0),
        (0.7, 8, 1, "ratings", 0.9),
        (0.3, 15, 20, "ratings", 0.9),
    ],
)
def test_answers_that_hardly_differ_hold_nothing_by_chance(rate, clusters, size, kind, alike):
    """Many samples have none of the few answers that are wrong at the longer length only."""
    assert max(same_questions(rate, clusters, size, alike, 500, kind)) < 0.05


@pytest.mark.parametrize(
    ("center", "spread", "zeros", "n"),
    [(0.5, 0.01, 0.067, 30), (0.6, 0.005, 0.02, 100), (0.7, 0.1, 0.083, 30)],
)
def test_narrow_scores_that_may_lack_zeros_hold_no_fixed_bar(center, spread, zeros, n):
    rng = np.random.default_rng(1)
    scores = rng.uniform(center - spread, center + spread, (1000, n))
    scores = np.where(rng.random(scores.shape) < zeros, 0.0, scores)
    low, high = fixed_margin(Clusters(scores, np.ones(n), False, range(n)), (1 - zeros) * center)
    assert np.mean(low > 0) < 0.04 and np.mean(high < 0) < 0.04


def test_lengths_without_scores_belong_to_no_claim():
    curve = _curve(90, 0, 90, 10)
    curve[2000] = LengthScores([], [])
    found = effective_length(curve, RELATIVE)
    assert (found.at_least, found.below, found.open) == (4000, 8000, [])
    assert (found.lengths[1].outcome, found.lengths[1].reason) == ("open", "no scores")
    nothing = effective_length({1000: LengthScores([], [])}, RELATIVE)
    assert (nothing.at_least, nothing.below, nothing.open) == (None, None, [])
    late = {500: LengthScores([], []), **_curve(90, 80, 10)}
    assert effective_length(late, RELATIVE).lengths[1].bar == 0  # the base is the shortest with scores


def test_a_length_whose_cases_did_not_all_fit_supports_no_claim():
    """30 of 300 cases fit at 16k, all right: no claim, at 16k and beyond; but what is lost before is lost."""
    curve = _curve(90, 85, 90, 10)
    assert effective_length(curve, RELATIVE).at_least == 4000
    few = LengthScores([1.0] * 30, list(range(30)), 270)
    found = effective_length({1000: curve[1000], 16_000: few}, RELATIVE)
    assert (found.at_least, found.below, found.open) == (1000, None, [16_000])
    last = found.lengths[1]
    assert (last.n, last.total, last.outcome) == (30, 300, "open")
    assert last.reason == "30 of 300 cases have a score" and last.interval.low > 0.8
    # In the middle it ends "at least"; "below" passes over it.
    found = effective_length({**curve, 2000: replace(curve[2000], lacking=1)}, RELATIVE)
    assert (found.at_least, found.below, found.open) == (1000, 8000, [2000, 4000])
    # At the shortest length: it is not the base.
    found = effective_length({**curve, 1000: replace(curve[1000], lacking=5)}, RELATIVE)
    assert (found.at_least, found.below) == (None, 8000) and found.lengths[1].bar == 0
    nothing = effective_length({1000: LengthScores([], [], 20)}, RELATIVE)
    assert nothing.lengths[0].reason == "no scores" and nothing.lengths[0].total == 20


def test_an_unknown_spread_decides_nothing():
    for rates, scores in (
        (True, LengthScores([0.3] * 6, "aabbcc")),  # graded and all the same
        (True, LengthScores([1.0, 0.0, 1.0], "aaa")),
        (False, LengthScores([7.0] * 6, "aabbcc")),
        (False, LengthScores([7.0, 8.0], "aa")),
    ):
        curve = {1000: scores, 2000: LengthScores([0.0] * 6, "aabbcc")}
        found = effective_length(curve, RELATIVE, rates=rates)
        assert (found.at_least, found.below) == (None, None)
        assert all("spread between clusters" in one.reason for one in found.lengths)


def test_all_hits_are_no_certainty():
    """Eight clusters of hits alone say little, however many cases they have; sixty say enough."""
    for clusters, outcome in ((8, "open"), (60, "holds")):
        names = [case // 50 for case in range(50 * clusters)]
        curve = {length: LengthScores([1.0] * 50 * clusters, names) for length in (1000, 2000)}
        assert effective_length(curve, RELATIVE).lengths[1].outcome == outcome


def test_ratings_in_clusters():
    rng = np.random.default_rng(0)
    meetings = [case // 8 for case in range(96)]
    curve = {
        length: LengthScores(
            np.clip(np.rint(rng.normal(level, 1, 96) + rng.normal(0, 0.7, 12).repeat(8)), 1, 10).tolist(),
            meetings,
        )
        for length, level in {1000: 8.0, 2000: 7.9, 4000: 4.0}.items()
    }
    found = effective_length(curve, RELATIVE, rates=False)
    assert (found.at_least, found.below) == (2000, 4000) and found.lengths[0].clusters == 12
    assert found.lengths[1].interval == cluster_t(curve[2000].values, meetings)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.booleans())
@example([36, 8, 36], False)  # a recovery after a failure does not count
@example([0, 6], True)
@settings(max_examples=40, deadline=None)
def test_the_rule_holds_for_any_curve(counts, relative):
    curve = {1000 * (place + 1): _hits(count, 40) for place, count in enumerate(counts)}
    bar = fraction_bar(0.8) if relative else Bar("25 %", dict.fromkeys(curve, 0.25))
    found = effective_length(curve, bar)
    for one in found.lengths:
        sign = "holds" if one.margin.low > 0 else "fails" if one.margin.high < 0 else "open"
        # No length holds unless the base of a relative bar does.
        sign = "open" if relative and sign == "holds" != found.lengths[0].outcome else sign
        assert one.outcome == sign and one.margin.low <= one.mean - one.bar <= one.margin.high
    outcomes = {one.length: one.outcome for one in found.lengths}
    assert all(outcomes[length] == "holds" for length in curve if length <= (found.at_least or 0))
    assert found.below is None or (outcomes[found.below] == "fails" and found.below > (found.at_least or 0))
    if list(outcomes.values())[-1] == "fails":
        assert found.below
    turned = {length: LengthScores(one.values[::-1], one.clusters[::-1]) for length, one in curve.items()}
    again = effective_length(turned, bar)
    assert (again.at_least, again.below) == (found.at_least, found.below)


def test_what_cannot_be_asked():
    with pytest.raises(ValueError, match="no lengths"):
        effective_length({}, HALF)
    with pytest.raises(ValueError, match="no bar is given for 3000"):
        effective_length({3000: _hits(3)}, HALF)
    with pytest.raises(ValueError, match="between 0 and 1"):
        fraction_bar(85)
    with pytest.raises(ValueError, match="outside 0 to 1"):
        effective_length({1000: LengthScores([7.0, 8.0], "ab")}, HALF)


def test_the_ends_of_a_mean_are_those_of_its_interval():
    """With a bar in the middle of the scale, a fixed margin is the printed interval of the mean less the bar."""
    rng = np.random.default_rng(1)
    for values in ((rng.random(60) < 0.6).astype(float), rng.random(60)):
        curve = {1000: LengthScores(values.tolist(), [case // 5 for case in range(60)])}
        margin = effective_length(curve, HALF).lengths[0].margin
        ends = cluster_share(curve[1000].values, curve[1000].clusters)
        assert (margin.low + 0.5, margin.high + 0.5) == pytest.approx((ends.low, ends.high))


FEW = [
    Design(0.3, 100, 8, 0.3, False),
    Design(0.9, 1000, 8, 0.3, True, unequal=True),
    Design(0.9, 1000, 8, 0.3, False, effects="beta"),
    Design(0.7, 100, 100, 0.3, True),
    Design(0.9, 300, 30, 0.3, True, kind="graded"),
    Design(0.956, 300, 30, 0.3, False, bar=0.856),
    Design(0.46, 1000, 8, 0.3, False, bar=0.36),
]


@pytest.mark.slow
@pytest.mark.parametrize("design", FEW, ids=str)
def test_false_claims_are_rare(design):
    """A few of the hardest designs of docs/simulations.md. A bar taken as fixed, no half clusters, or every failing length as a claim exceed this."""
    found = shares(design, 1000)
    assert set(found) == set(curves(design.bar))
    assert max(one.false_holds for one in found.values()) < 0.05
    assert max(one.false_fails for one in found.values()) < 0.05
