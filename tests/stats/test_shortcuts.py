"""What shortcuts predict, and the correlation within groups, by hand."""

import math
import random
from statistics import fmean

import pytest

from long_context_tasks.stats.raters import correlate, rho_within, rhos_within
from long_context_tasks.stats.shortcuts import LEFT_OUT, Traits, cross_predicted, predict_by, rank_figures

TRAIN = [Traits("owl", 10, 5)] * 3 + [Traits("fox", 200, 5)] * 3
RATINGS = [1.0, 0.8, 0.6, 0.4, 0.2, 0.0]


def test_identity_is_the_mean_of_the_model_and_of_all_for_an_unknown_one() -> None:
    test = [Traits("fox", 10, 5), Traits("owl", 200, 5), Traits("elk", 1, 1)]
    assert predict_by("identity only", TRAIN, RATINGS, test) == pytest.approx([0.2, 0.8, 0.5])


def test_lengths_tell_nothing_of_the_model() -> None:
    short, long, other = predict_by(
        "lengths only", TRAIN, RATINGS, [Traits("fox", 10, 5), Traits("owl", 200, 5), Traits("elk", 10, 5)]
    )
    # Three equal answers with the penalty 1 take three quarters of the way from the mean; the others are too far to count much.
    assert short == other and (short, long) == pytest.approx((0.5 + 0.3 * 0.75, 0.5 - 0.3 * 0.75), abs=0.02)
    both = predict_by("identity + lengths", TRAIN, RATINGS, [Traits("owl", 10, 5), Traits("fox", 200, 5)])
    assert both == pytest.approx([0.8, 0.2])


def test_what_is_predicted_across_questions_is_learned_from_others() -> None:
    """Where lengths say nothing of ratings, nothing is predicted; no rating tells of itself."""
    rng = random.Random(1)
    traits = [Traits(["owl", "fox"][n % 2], rng.randint(1, 300), rng.randint(1, 300)) for n in range(400)]
    ratings = [rng.random() + n % 2 for n in range(400)]
    found = cross_predicted(traits, ratings, [n // 2 for n in range(400)])
    assert abs(correlate(found["lengths only"], ratings, "spearman")) < 0.15
    assert correlate(found["identity only"], ratings, "spearman") > 0.8
    figures = {
        each.name: each
        for each in rank_figures(
            found, ratings, [each.model for each in traits], [n // 2 for n in range(400)]
        )
    }
    assert math.isnan(figures["identity only"].within) and figures["identity only"].by_model.keys() == {
        "owl",
        "fox",
    }
    assert abs(figures["identity + lengths"].within) < 0.15 and math.isnan(figures[LEFT_OUT].rho)
    interval = figures["identity + lengths"].within_interval
    assert interval.low < 0 < interval.high


def test_many_answers_are_thinned() -> None:
    traits = [Traits("owl", n % 50, 5) for n in range(5_000)]
    ratings = [n % 50 / 50 for n in range(5_000)]
    [low, high] = predict_by("lengths only", traits, ratings, [Traits("owl", 2, 5), Traits("owl", 45, 5)])
    assert low < 0.2 and high > 0.8


def test_rho_within_groups_by_hand() -> None:
    x = [1, 2, 3, 4, 5, 15, 14, 13, 12, 11, 7, 7, 7, 7, 7, 1]
    y = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 1, 2, 3, 4, 5, 9]
    groups = ["up"] * 5 + ["down"] * 5 + ["level"] * 5 + ["few"]
    found = rhos_within(x, y, groups)
    assert found.pop("level") is not None and found == pytest.approx({"up": 1, "down": -1})
    assert rho_within(x, y, groups, list(range(16)))[0] == pytest.approx(0)
    assert correlate(x, y, "spearman") > 0.4


@pytest.mark.parametrize("size", [12, 300])
def test_the_interval_is_that_of_drawn_questions(size: int) -> None:
    """All draws at once give what one draw after the other gives."""
    rng = random.Random(size)
    clusters = [n // 2 for n in range(size)]
    groups = [n % 2 for n in range(size)]
    y = [rng.random() for _ in range(size)]
    x = [value + rng.random() for value in y]
    value, interval = rho_within(x, y, groups, clusters)
    own = [correlate(x[g::2], y[g::2], "spearman") for g in (0, 1)]
    assert value == pytest.approx(fmean(own)) and interval.low < value < interval.high
