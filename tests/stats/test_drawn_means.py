"""Means and lower ends of draws from counts are those of the drawn clusters themselves, and fast."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from long_context_tasks.stats.correlation import RESAMPLES, drawn_clusters
from long_context_tasks.stats.effective_length import (
    LengthScores,
    drawn_counts,
    drawn_lower_ends,
    drawn_moments,
    effective_length,
    fraction_bar,
    quantiles,
    wilson_low,
)
from long_context_tasks.stats.intervals import moments, t_ends, wilson_ends


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
    assert float(quantiles(np.array([df]))[0]) == pytest.approx(student.ppf(0.975, df), rel=3e-6)


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
