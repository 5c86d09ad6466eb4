"""Heads against SciPy's distributions and by hand: losses, moments, intervals, masks."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lazy_modules import Lazy, torch
from orca_checkpoints import tiny_lm
from orca_lazy import heads

from long_context_tasks.orca.data import HEAD_NAMES

scipy_stats = Lazy("scipy.stats")
PARAMS = st.floats(-3, 3, width=32)
RATINGS = st.lists(st.integers(1, 5).map(float), max_size=5)


@given(PARAMS, PARAMS, st.lists(st.floats(1, 5, width=32), min_size=1, max_size=5))
@example(3.0, -3.0, [1.0])
@settings(max_examples=60, deadline=None)
def test_beta_is_scipy_s(log_a: float, log_b: float, ratings: list[float]) -> None:
    head, truth = heads.HEADS["beta"], scipy_stats.beta(math.exp(log_a), math.exp(log_b))
    params = torch.tensor([[log_a, log_b]])
    loss = head.loss(params, head.labels([ratings]))[0]
    labels = np.clip((np.array(ratings) - 1) / 4, heads.EPS, 1 - heads.EPS)
    # Float32: 1 - 0.99 has lost four digits, and a parameter of 20 multiplies the error.
    assert loss.tolist() == pytest.approx(-truth.logpdf(labels), rel=1e-3, abs=1e-3)
    mean, variance = head.moments(params)
    assert (mean.item(), variance.item()) == pytest.approx((truth.mean(), truth.var()), rel=1e-5)
    assert head.interval([[log_a, log_b]])[:, 0] == pytest.approx(truth.interval(0.95), rel=1e-6)


@given(st.lists(PARAMS, min_size=5, max_size=5), RATINGS)
@settings(max_examples=60, deadline=None)
def test_multinomial_is_a_distribution_over_five_ratings(logits: list[float], ratings: list[float]) -> None:
    head = heads.HEADS["multinomial"]
    p = np.exp(logits) / np.exp(logits).sum()
    values = np.arange(5) / 4
    mean, variance = head.moments(torch.tensor([logits]))
    assert mean.item() == pytest.approx(p @ values, rel=1e-5)
    assert variance.item() == pytest.approx(p @ (values - p @ values) ** 2, rel=1e-4, abs=1e-6)
    loss = head.loss(torch.tensor([logits]), head.labels([ratings]))[0, : len(ratings)]
    assert loss.tolist() == pytest.approx([-math.log(p[int(r) - 1]) for r in ratings], rel=1e-4, abs=1e-5)
    low, high = head.interval([logits])[:, 0]
    inside = p[(values >= low) & (values <= high)].sum()
    assert inside >= 0.95 - 1e-6


@pytest.mark.parametrize("name", HEAD_NAMES)
def test_a_fresh_head_begins_near_a_flat_guess(name: str) -> None:
    """Also on hidden states as large as those of real models, where the released initialisation keeps outputs small."""
    torch.manual_seed(0)
    lm = tiny_lm(10)
    model = heads.OrcaModel(lm, heads.HEADS[name])
    hidden = 10 * torch.randn(1000, lm.config.hidden_size)
    params = model.linear(hidden)
    ratings = [[float(1 + place % 5)] for place in range(1000)]
    loss = model.head.loss(params, model.head.labels(ratings)).mean().item()
    assert loss == pytest.approx(model.head.loss_of_guess(), abs=0.15)


def test_zeros_of_a_scale_are_learned_from_and_masks_are_not() -> None:
    params = torch.tensor([[0.5, -0.5]], requires_grad=True)
    beta = heads.HEADS["beta"]
    labels = beta.labels([[1.0]])  # a 0 on a scale of 0 to 1
    assert labels.tolist() == [[0.0]]
    loss = beta.loss(params, labels).sum()
    assert loss.item() > 0
    (grad,) = torch.autograd.grad(loss, params)
    assert grad.abs().min() > 0
    masked = beta.loss(params, torch.tensor([[-100.0, -0.25]]))
    assert masked.tolist() == [[0.0, 0.0]]
    (grad,) = torch.autograd.grad(masked.sum(), params)
    assert grad.tolist() == [[0.0, 0.0]]


def test_a_rating_between_two_keeps_its_mean() -> None:
    params = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0.5]])
    log_p = params.log_softmax(-1)[0]
    between = torch.tensor([[3.25]])
    split = heads.multinomial_loss(params, between).item()
    assert split == pytest.approx(-0.75 * log_p[2].item() - 0.25 * log_p[3].item())
    whole = torch.tensor([[1.0, 5.0, 0.0, 6.0, -100.0]])
    expected = [*(-log_p[[0, 4, 0, 4]]).tolist(), 0]
    assert heads.multinomial_loss(params, whole)[0].tolist() == pytest.approx(expected)


def test_large_parameters_stay_numbers() -> None:
    mean, variance = heads.HEADS["beta"].moments(torch.tensor([[60.0, -60.0], [-60.0, 60.0], [80.0, 80.0]]))
    assert mean.tolist() == pytest.approx([1, 0, 0.5], abs=1e-6)
    assert variance.tolist() == pytest.approx([0, 0, 0], abs=1e-6)


def test_the_loss_of_a_guess() -> None:
    guesses = {name: head.loss_of_guess() for name, head in heads.HEADS.items()}
    assert guesses == pytest.approx(
        {"beta": 0.0, "multinomial": math.log(5), "bernoulli": math.log(2)}, abs=1e-6
    )
