"""Smallest detectable difference: power in simulation, against statistics by hand, back and forth."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from long_context_tasks.stats.comparison import (
    MIN_TEST_CLUSTERS,
    Spread,
    cases_needed,
    discordant_spread,
    hit_spread,
    power_of,
    smallest_difference,
    spread_of,
)
from long_context_tasks.stats.intervals import Moments, moments, t_ends
from long_context_tasks.stats.raters import icc as intraclass

SAMPLES = 20_000


def _found(sums: np.ndarray, size: int) -> float:
    low, high = t_ends(moments(sums, np.full(sums.shape, float(size)), skewed=False))
    return float(np.mean((low > 0) | (high < 0)))


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size", "icc"), [(8, 16, 0.1), (50, 5, 0.3), (200, 1, 0.0)])
def test_paired_differences_are_found_with_the_power_told(clusters: int, size: int, icc: float):
    spread = Spread(1.5, icc, size)
    told = smallest_difference(clusters * size, clusters, spread)
    rng = np.random.default_rng(1)
    shape = (SAMPLES, clusters)
    shared = rng.normal(0, 1.5 * math.sqrt(icc), shape)
    own = rng.normal(0, 1.5 * math.sqrt((1 - icc) / size), shape)
    assert 0.78 <= _found(size * (told.difference + shared + own), size) <= 0.82


@pytest.mark.parametrize("n", [100, 400])
def test_paired_hits_are_found_with_the_power_told(n: int):
    told = smallest_difference(n, n, discordant_spread(0.3))
    # the spread shrinks with the difference: once more with what was found
    told = smallest_difference(n, n, discordant_spread(0.3, told.difference))
    rng = np.random.default_rng(2)
    up = (0.3 + told.difference) / 2
    draws = rng.random((SAMPLES // 2, n))
    differences = np.where(draws < up, 1.0, np.where(draws < 0.3, -1.0, 0.0))
    assert 0.78 <= _found(differences, 1) <= 0.82


@pytest.mark.parametrize(("clusters", "size", "icc"), [(10, 10, 0.2), (100, 1, 0.0)])
def test_unpaired_means_are_found_with_the_power_told(clusters: int, size: int, icc: float):
    spread = Spread(2.0, icc, size)
    told = smallest_difference(clusters * size, clusters, spread, paired=False)
    rng = np.random.default_rng(3)
    sd = 2 * math.sqrt(icc + (1 - icc) / size)
    first, second = (rng.normal(level, sd, (SAMPLES, clusters)) for level in (told.difference, 0.0))
    sizes = np.ones(first.shape)
    one, other = moments(first, sizes, skewed=False), moments(second, sizes, skewed=False)
    both = Moments(one.mean - other.mean, one.variance + other.variance, one.df + other.df)
    low, high = t_ends(both)
    assert 0.78 <= float(np.mean((low > 0) | (high < 0))) <= 0.82


def test_large_numbers_give_the_textbook_formula():
    normal = NormalDist()
    bars = normal.inv_cdf(0.975) + normal.inv_cdf(0.8)
    told = smallest_difference(100_000, 100_000, Spread(1.0))
    assert told.difference == pytest.approx(bars / math.sqrt(100_000), rel=1e-4)
    half = smallest_difference(100_000, 100_000, hit_spread(0.5), paired=False)
    assert half.difference == pytest.approx(bars * math.sqrt(0.5 / 100_000), rel=1e-4)
    clustered = smallest_difference(100_000, 10_000, Spread(1.0, 0.1, 10))
    assert clustered.difference == pytest.approx(told.difference * math.sqrt(1.9), rel=1e-3)


@given(
    st.floats(0.02, 0.5),
    st.floats(0.1, 3),
    st.floats(0, 0.5),
    st.integers(1, 30),
    st.booleans(),
    st.sampled_from([0.5, 0.8, 0.95]),
)
@settings(max_examples=40, deadline=None)
def test_cases_needed_and_smallest_difference_are_inverse(difference, sd, icc, size, paired, power):
    spread = Spread(sd, icc, size)
    need = cases_needed(difference, spread, paired=paired, power=power)
    assert need.n == need.clusters * size
    told = smallest_difference(need.n, need.clusters, spread, paired=paired, power=power)
    assert told.difference <= difference * (1 + 1e-6)
    if need.clusters > MIN_TEST_CLUSTERS:
        fewer = smallest_difference(need.n - size, need.clusters - 1, spread, paired=paired, power=power)
        assert fewer.difference > difference * (1 - 1e-6)


def test_spread_is_that_of_the_analysis_of_variance():
    pytest.importorskip("pingouin", reason="ICC needs the extra `agreement`")
    table = np.random.default_rng(0).normal(size=(12, 1)) + np.random.default_rng(1).normal(size=(12, 4))
    spread = spread_of(table.ravel().tolist(), [row for row in range(12) for _ in range(4)])
    assert spread.icc == pytest.approx(intraclass(table.tolist())["ICC(1,1)"].value)
    assert spread.cluster_size == 4 and spread.design_effect == pytest.approx(1 + 3 * spread.icc)


def test_spread_of_simulated_clusters_of_unequal_size():
    rng = np.random.default_rng(5)
    sizes = rng.integers(5, 21, 2_000)
    values = rng.normal(0, 1, 2_000).repeat(sizes) + rng.normal(0, 2, sizes.sum())
    spread = spread_of(values.tolist(), np.arange(2_000).repeat(sizes).tolist())
    assert spread.icc == pytest.approx(0.2, abs=0.02) and spread.sd == pytest.approx(math.sqrt(5), rel=0.02)
    assert spread.cluster_size == pytest.approx((sizes**2).sum() / sizes.sum())


def test_corners():
    few = smallest_difference(50, MIN_TEST_CLUSTERS - 1, Spread(1.0, 0.1, 10))
    assert math.isnan(few.difference) and "5 clusters" in few.reason
    assert smallest_difference(50, 50, Spread(0.0)).difference == 0
    assert cases_needed(0.9, Spread(0.001)).clusters == MIN_TEST_CLUSTERS
    assert power_of(1e4, 200, 200, Spread(1.0)) == pytest.approx(1) and power_of(1.0, 5, 1, Spread(1.0)) == 0
    assert power_of(0.0, 200, 200, Spread(1.0)) == pytest.approx(0.05)
    independent = spread_of([1.0, 0.0, 1.0, 1.0], range(4))
    assert independent.icc == 0 and independent.sd == pytest.approx(0.5)
    assert spread_of([2.0] * 6, "aabbcc") == Spread(0.0, 0.0, 2.0)
    assert spread_of([1.0, 3.0] * 3, "aabbcc").icc == 0
    for wrong in (
        lambda: spread_of([1.0, 2.0], "aa"),
        lambda: hit_spread(1.2),
        lambda: discordant_spread(0.1, 0.2),
        lambda: cases_needed(0, Spread(1.0)),
        lambda: cases_needed(1e-6, Spread(1.0)),
        lambda: smallest_difference(5, 6, Spread(1.0)),
    ):
        with pytest.raises(ValueError):
            wrong()
