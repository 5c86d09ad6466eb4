"""Ratings of people whose spread is known: what a trained judge says of mean and variance is what they were drawn from."""

import random
from pathlib import Path

import numpy as np
import pytest
from lazy_modules import Lazy
from orca_lazy import scorer
from orca_training import trained

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.checkpoint import load_checkpoint
from long_context_tasks.orca.metrics import agreement

pytestmark = pytest.mark.slow

scipy_stats = Lazy("scipy.stats")
MEANS = {"wrong": 0.2, "half right": 0.5, "right": 0.8}
CERTAINTIES = {"surely": 30.0, "maybe": 4.0, "who knows": 1.2}
"""Alpha + beta of the distribution that ratings are drawn from: the lower, the further people differ."""


def shares(mean: float, certainty: float) -> np.ndarray:
    """Probabilities of the ratings 1 ... 5."""
    return np.diff(scipy_stats.beta.cdf(np.linspace(0, 1, 6), mean * certainty, (1 - mean) * certainty))


def known(candidate: str) -> tuple[float, float]:
    """Mean and variance, on 0 ... 1, of the ratings that a candidate gets."""
    p, values = shares(*drawn_from(candidate)), np.linspace(0, 1, 5)
    mean = float(p @ values)
    return mean, float(p @ (values - mean) ** 2)


def drawn_from(candidate: str) -> tuple[float, float]:
    certainty, _, quality = candidate.partition(", ")
    return MEANS[quality], CERTAINTIES[certainty]


def items(n: int, seed: int) -> list[OrcaItem]:
    rng, draws = random.Random(seed), np.random.default_rng(seed)
    made = []
    for number in range(n):
        candidate = f"{rng.choice(list(CERTAINTIES))}, {rng.choice(list(MEANS))}"
        ratings = 1.0 + draws.choice(5, size=3, p=shares(*drawn_from(candidate)))
        made.append(
            OrcaItem(f"{seed}-{number}", f"{rng.randrange(99)}?", "yes", candidate, ratings=tuple(ratings))
        )
    return made


@pytest.mark.parametrize("head", ["beta", "multinomial"])
def test_known_means_and_variances_are_found(head: str, tiny_lm_folder: Path, tmp_path: Path) -> None:
    trained(
        items(1000, 0),
        items(100, 1),
        tmp_path / "judge",
        tiny_lm_folder,
        head=head,
        method="full",
        epochs=3,
        batch_size=16,
        batch_tokens=8192,
        lr=3e-3,
        no_rationale=True,
    )
    unseen = items(150, 2)
    scores = scorer.score_items(load_checkpoint(tmp_path / "judge"), unseen).scores
    truth = [known(str(item.candidate)) for item in unseen]
    found = agreement(
        [mean for mean, _ in truth],
        [float(score.mean or 0) for score in scores],
        [variance for _, variance in truth],
        [float(score.variance or 0) for score in scores],
    )
    assert found.rho > 0.9 and found.mae < 0.05
    assert found.variance_rho > 0.8 and found.variance_mae < 0.025
