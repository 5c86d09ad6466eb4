"""Smallest detectable difference: its power in simulation, and against textbook formulas."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from long_context_tasks.stats.comparison import (
    MIN_TEST_CLUSTERS,
    Spread,
    smallest_difference,
    spread_of,
)
from long_context_tasks.stats.intervals import moments, t_ends
from long_context_tasks.stats.raters import icc as intraclass

SAMPLES = 20_000


def _detected(sums: np.ndarray, size: int) -> float:
    low, high = t_ends(moments(sums, np.full(sums.shape, float(size)), skewed=False))
    return float(np.mean((low > 0) | (high < 0)))


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size", "icc"), [(8, 16, 0.1), (50, 5, 0.3), (200, 1, 0.0)])
def test_paired_differences_are_detected_with_the_stated_power(clusters: int, size: int, icc: float):
    found = smallest_difference(clusters * size, clusters, Spread(1.5, icc, size))
    rng = np.random.default_rng(1)
    shape = (SAMPLES, clusters)
    shared = rng.normal(0, 1.5 * math.sqrt(icc), shape)
    own = rng.normal(0, 1.5 * math.sqrt((1 - icc) / size), shape)
    assert 0.78 <= _detected(size * (found.difference + shared + own), size) <= 0.82


@pytest.mark.parametrize("n", [100, 400])
def test_paired_hits_are_detected_with_the_stated_power(n: int):
    discordant = 0.3
    # The spread shrinks as the difference grows, so the second call uses the first one's difference.
    first = smallest_difference(n, n, Spread(math.sqrt(discordant))).difference
    found = smallest_difference(n, n, Spread(math.sqrt(discordant - first**2)))
    rng = np.random.default_rng(2)
    draws = rng.random((SAMPLES // 2, n))
    up = (discordant + found.difference) / 2
    differences = np.where(draws < up, 1.0, np.where(draws < discordant, -1.0, 0.0))
    assert 0.78 <= _detected(differences, 1) <= 0.82


def test_large_numbers_give_the_textbook_formula():
    normal = NormalDist()
    bars = normal.inv_cdf(0.975) + normal.inv_cdf(0.8)
    found = smallest_difference(100_000, 100_000, Spread(1.0))
    assert found.difference == pytest.approx(bars / math.sqrt(100_000), rel=1e-4)
    clustered = smallest_difference(100_000, 10_000, Spread(1.0, 0.1, 10))
    assert clustered.difference == pytest.approx(found.difference * math.sqrt(1.9), rel=1e-3)


def test_spread_agrees_with_the_intraclass_correlation():
    table = np.random.default_rng(0).normal(size=(12, 1)) + np.random.default_rng(1).normal(size=(12, 4))
    spread = spread_of(table.ravel().tolist(), [row for row in range(12) for _ in range(4)])
    of_mean = intraclass(table.tolist())["ICC(1,k)"].value
    assert spread.icc == pytest.approx(of_mean / (4 - 3 * of_mean))
    assert spread.cluster_size == 4 and spread.design_effect == pytest.approx(1 + 3 * spread.icc)


def test_spread_of_simulated_clusters_of_unequal_size():
    rng = np.random.default_rng(5)
    sizes = rng.integers(5, 21, 2_000)
    values = rng.normal(0, 1, 2_000).repeat(sizes) + rng.normal(0, 2, sizes.sum())
    spread = spread_of(values.tolist(), np.arange(2_000).repeat(sizes).tolist())
    assert spread.icc == pytest.approx(0.2, abs=0.02) and spread.sd == pytest.approx(math.sqrt(5), rel=0.02)
    assert spread.cluster_size == pytest.approx((sizes**2).sum() / sizes.sum())


def test_extreme_designs():
    few = smallest_difference(50, MIN_TEST_CLUSTERS - 1, Spread(1.0, 0.1, 10))
    assert math.isnan(few.difference) and "5 clusters" in few.reason
    assert smallest_difference(50, 50, Spread(0.0)).difference == 0
    independent = spread_of([1.0, 0.0, 1.0, 1.0], range(4))
    assert independent.icc == 0 and independent.sd == pytest.approx(0.5)
    assert spread_of([2.0] * 6, "aabbcc") == Spread(0.0, 0.0, 2.0)
    assert spread_of([1.0, 3.0] * 3, "aabbcc").icc == 0
    with pytest.raises(ValueError):
        spread_of([1.0, 2.0], "aa")
    with pytest.raises(ValueError):
        smallest_difference(5, 6, Spread(1.0))
