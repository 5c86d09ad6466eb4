"""The sequential test: right as often as it says, however often one looks, and as fast as the docs say."""

import math
import random

import numpy as np
import pytest
from gate_simulation import KINDS, gates

from long_context_tasks.stats.sequential import log_evidence, look, shares_of


@pytest.mark.parametrize(("accuracy", "correlation"), [(0.95, 0.5), (0.5, 0.8), (0.5, 0.0)])
def test_equal_stacks_are_called_worse_in_at_most_five_of_a_hundred_gates(
    accuracy: float, correlation: float
) -> None:
    assert gates((0.0,), (8000,), accuracy, correlation, 0.02).failed <= 0.05


@pytest.mark.parametrize(("accuracy", "correlation"), [(0.95, 0.8), (0.8, 0.8), (0.5, 0.95)])
def test_a_loss_of_two_points_is_found_and_seldom_passed(accuracy: float, correlation: float) -> None:
    found = gates((0.02,), (8000,), accuracy, correlation, 0.02)
    assert found.passed <= 0.05
    assert found.failed >= 0.95
    # As docs/simulations.md has it.
    assert 0 < found.half <= 1440


@pytest.mark.parametrize("documents", [(200, 200, 100, 50), (200, 200, 100, 25)])
def test_a_loss_at_one_length_never_hides_in_the_mean(documents: tuple[int, ...]) -> None:
    """A loses 27 points at the longest length, which has the fewest documents, and nothing elsewhere."""
    for accuracy, correlation in ((0.95, 0.9), (0.8, 0.8)):
        design = ((0.0, 0.0, 0.0, 0.27), documents, accuracy, correlation, 0.05)
        found = gates(*design, repeats=500)
        assert found.passed <= 0.05 and found.misnamed <= 0.05
        if documents[-1] == 25:
            assert gates(*design, repeats=500, together=True).passed > 0.1


@pytest.mark.parametrize(("accuracy", "correlation"), [(0.95, 0.9), (0.8, 0.8)])
def test_over_lengths_pass_and_fail_keep_their_error(accuracy: float, correlation: float) -> None:
    at_margin = gates((0.0, 0.0, 0.05), (800,) * 3, accuracy, correlation, 0.05, repeats=500)
    assert at_margin.passed <= 0.05 + 0.02 and at_margin.failed >= 0.9 and at_margin.misnamed <= 0.05
    same = gates((0.0,) * 4, (800,) * 4, accuracy, correlation, 0.05, repeats=500)
    assert same.failed <= 0.05 and same.passed >= 0.9


def test_identical_stacks_pass_after_few_documents() -> None:
    passes = [
        next(n for n in range(1, 400) if look([0.0] * n, margin).verdict == "PASS")
        for margin in (0.02, 0.05, 0.1)
    ]
    assert passes == [185, 73, 35]


def test_means_of_strata_that_differ_count_at_the_ends_of_rounds() -> None:
    """Half of the documents lose as much as the other half gains: no loss, in whatever fixed order they take turns."""
    draw = np.random.default_rng(1)
    first, second = (draw.multinomial(1, p, (1000, 300)) for p in ([0.0, 0.6, 0.4], [0.4, 0.6, 0.0]))
    counts = (first + second).cumsum(1).reshape(-1, 3).T
    evidence = log_evidence((1 + KINDS) / 2, counts, 0.5, shares_of(0.05)).reshape(1000, 300)
    assert (evidence.max(1) >= math.log(20)).mean() <= 0.05


def test_bounds_hold_at_every_look_together() -> None:
    """Of 60 gates the bounds miss the true loss in at most a tenth (a twentieth a side), over all looks."""
    draw = random.Random(3)
    missed = 0
    for _ in range(60):
        losses = [draw.betavariate(2, 3) - 0.5 for _ in range(120)]
        bounds = [look(losses[:n], 0.05) for n in range(15, 121, 15)]
        missed += any(not one.low <= -0.1 <= one.high for one in bounds)
    assert missed <= 6


def test_order_does_not_matter_and_one_case_shows_nothing() -> None:
    losses = [1.0, 0.0, -1.0, 0.25] * 20
    assert look(losses, 0.05) == look(losses[::-1], 0.05)
    assert look([1.0], 0.05).verdict == "UNDECIDED"
    assert look([], 0.05).verdict == "UNDECIDED"


@pytest.mark.parametrize(("losses", "margin"), [([2.0], 0.1), ([math.nan], 0.1), ([0.0], 0.0), ([0.0], 1.0)])
def test_what_is_out_of_range_is_refused(losses: list[float], margin: float) -> None:
    with pytest.raises(ValueError, match=r"loss|margin"):
        look(losses, margin)
