"""The three heads: what the outputs of the model mean, and the loss that trains them.

``beta`` is the paper's (section 4.2): two outputs, the logarithms of alpha and beta. ``multinomial`` is the released models': five
outputs, one per rating. ``bernoulli`` has two outputs, correct and incorrect, and predicts no spread. Parameters have the shape
(items, outputs); labels (items, raters), filled up with -100; everything in float32.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Beta, Categorical, kl_divergence
from torch.nn.functional import log_softmax

from long_context_tasks.orca.data import SCALE, HeadName
from long_context_tasks.schema import InputError

MASK = -100.0
"""Label of a rating that is not there. Every label below 0 is masked."""
EPS = 0.01
"""Nearest that a label comes to 0 and 1 under the beta head, whose density may be infinite there."""
N_RATINGS = 5
Floats = NDArray[np.float64]


def beta_loss(params: Tensor, labels: Tensor, eps: float = EPS) -> Tensor:
    """Return the negative log density of each label of 0 ... 1; 0 where masked. Shape of ``labels``."""
    alpha, beta = params.float().exp().unsqueeze(-1).unbind(-2)
    density = Beta(alpha, beta, validate_args=False)
    at = labels.float().clamp(eps, 1.0 - eps)
    loss: Tensor = -density.log_prob(at)  # type: ignore[no-untyped-call,unused-ignore]
    return torch.where(labels < 0, torch.zeros_like(loss), loss)


def multinomial_loss(params: Tensor, labels: Tensor) -> Tensor:
    """Return the negative log probability of each rating of 1 ... 5 (one beyond counts as the nearest end); 0 where masked. Shape of ``labels``.

    The two neighbours share a rating between them, which other scales bring (7 of 10 is 3.67), so that its mean is kept; the released code
    gives it to the lower one.
    """
    log_p = log_softmax(params.float(), dim=-1)
    place = (labels.float() - SCALE[0]).clamp(0, N_RATINGS - 1)
    lower = place.floor()
    share = place - lower
    upper = (lower + 1).clamp(max=N_RATINGS - 1)
    loss = -(1 - share) * log_p.gather(-1, lower.long()) - share * log_p.gather(-1, upper.long())
    return torch.where(labels < 0, torch.zeros_like(loss), loss)


def bernoulli_loss(params: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy against the mean label of 0 ... 1 of each item (0 for an item without labels, as released). Shape (items,)."""
    there = labels >= 0
    mean = torch.where(there, labels.float(), 0.0).sum(-1) / there.sum(-1).clamp(min=1)
    log_p = log_softmax(params.float(), dim=-1)
    return -mean * log_p[..., 0] - (1 - mean) * log_p[..., 1]


def _beta_moments(params: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance on 0 ... 1, each of the shape (items,)."""
    params = params.float()
    # alpha / (alpha + beta), without overflow for large parameters.
    mean = torch.sigmoid(params[..., 0] - params[..., 1])
    rest = torch.sigmoid(params[..., 1] - params[..., 0])  # 1 - mean loses digits near 1
    return mean, mean * rest / (params.exp().sum(-1) + 1)


def _multinomial_moments(params: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance on 0 ... 1, each of the shape (items,)."""
    p = params.float().softmax(-1)
    values = torch.linspace(0, 1, N_RATINGS, device=params.device)
    mean = (p * values).sum(-1)
    return mean, (p * (values - mean.unsqueeze(-1)) ** 2).sum(-1)


def _bernoulli_moments(params: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean on 0 ... 1 and a variance of 0, each of the shape (items,)."""
    mean = params.float().softmax(-1)[..., 0]
    return mean, torch.zeros_like(mean)


def _beta_quantiles(params: Floats, levels: Sequence[float]) -> Floats:
    from scipy.stats import beta

    a, b = np.exp(params).T
    return np.stack([beta.ppf(level, a, b) for level in levels])


def _multinomial_quantiles(params: Floats, levels: Sequence[float]) -> Floats:
    p = np.exp(params - params.max(axis=-1, keepdims=True))
    below = np.cumsum(p / p.sum(axis=-1, keepdims=True), axis=-1)
    # The lowest rating with at least this much probability at or below it; rounding must not push it past the last.
    places = [np.minimum((below < level - 1e-9).sum(axis=-1), N_RATINGS - 1) for level in levels]
    values: Floats = np.stack(places) / (N_RATINGS - 1)
    return values


@dataclass(frozen=True)
class Head:
    """One head.

    Attributes:
        name: ``beta``, ``multinomial`` or ``bernoulli``.
        outputs: of the linear layer.
        loss: parameters and labels -> loss of each label (bernoulli: of each item); the loss of a batch is the sum.
        moments: parameters -> mean and variance on 0 ... 1.
        unit_labels: whether labels are on 0 ... 1 or, for the multinomial head, on 1 ... 5.
        quantiles: parameters and levels -> values on 0 ... 1, shape (levels, items); None for a head that predicts no spread.
    """

    name: HeadName
    outputs: int
    loss: Callable[[Tensor, Tensor], Tensor]
    moments: Callable[[Tensor], tuple[Tensor, Tensor]]
    unit_labels: bool
    quantiles: Callable[[Floats, Sequence[float]], Floats] | None

    def labels(self, ratings: Sequence[Sequence[float]]) -> Tensor:
        """Turn the ratings of 1 ... 5 of each item into labels, filled up with :data:`MASK`; shape (items, most ratings)."""
        low, high = SCALE if self.unit_labels else (0.0, 1.0)
        rows = torch.full((len(ratings), max([1, *map(len, ratings)])), MASK)
        for row, given in zip(rows, ratings, strict=True):
            row[: len(given)] = (torch.tensor(given) - low) / (high - low)
        return rows

    def loss_of_guess(self) -> float:
        """Return the loss of a rating under outputs that are all 0, where every rating is as likely as any other."""
        labels = self.labels([[sum(SCALE) / 2]])
        return float(self.loss(torch.zeros(1, self.outputs), labels).sum())

    def interval(self, params: Sequence[Sequence[float]], level: float = 0.95) -> Floats | None:
        """Return where a single rating lies with this probability, on 0 ... 1: low and high ends, shape (2, items).

        It is the spread of people's ratings as the model predicts it, not the error of the predicted mean. None for the bernoulli head.
        """
        if self.quantiles is None:
            return None
        values = np.asarray(params, dtype=np.float64).reshape(-1, self.outputs)
        return self.quantiles(values, ((1 - level) / 2, (1 + level) / 2))


HEADS: dict[HeadName, Head] = {
    "beta": Head("beta", 2, beta_loss, _beta_moments, True, _beta_quantiles),
    "multinomial": Head(
        "multinomial", N_RATINGS, multinomial_loss, _multinomial_moments, False, _multinomial_quantiles
    ),
    "bernoulli": Head("bernoulli", 2, bernoulli_loss, _bernoulli_moments, True, None),
}


def get_head(name: str) -> Head:
    """Return the head of this name."""
    if name in HEADS:
        return HEADS[name]
    raise InputError(f"head {name!r} is none of {', '.join(HEADS)}")


def params_kl(head: Head, p: Tensor, q: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence of the distributions with parameters ``p`` from those with ``q``; shape (items,).

    For learning from another model's predictions.
    """
    p, q = p.float(), q.float()
    if head.name == "beta":
        first, second = (Beta(each[..., 0].exp(), each[..., 1].exp(), validate_args=False) for each in (p, q))
        return torch.as_tensor(kl_divergence(first, second))
    return torch.as_tensor(kl_divergence(Categorical(logits=p), Categorical(logits=q)))
