"""The ORCA model (language model body, one hidden state, one linear layer) and its heads.

The paper's head (section 4.2) is ``beta``, with two outputs: the logarithms of alpha and beta. The released
models use ``multinomial``, with five outputs, one per rating. ``bernoulli`` has two outputs, correct and
incorrect, and predicts no spread. Parameters have shape (items, outputs); labels have shape (items, raters),
padded with -100. Everything is float32.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Beta, Categorical, kl_divergence
from torch.nn.functional import log_softmax

from long_context_tasks.orca.data import SCALE, HeadName

MASK = -100.0
"""Label of a missing rating. All negative labels are masked."""
EPS = 0.01
"""Minimum distance of a label from 0 and 1 under the beta head, whose density may be infinite there."""
N_RATINGS = 5
MAX_PADDING = 1.1
"""Maximum number of tokens in a batch with its padding, relative to those without."""
BATCH_COST = {True: 24, False: 1_000}
"""What a batch costs beside its tokens, in tokens, by whether it runs on a CPU. GPUs wait for small batches."""
Floats = NDArray[np.float64]


def beta_loss(params: Tensor, labels: Tensor, eps: float = EPS) -> Tensor:
    """Return the negative log density of each label on [0, 1], or 0 if it is masked. Shape of ``labels``."""
    alpha, beta = params.float().exp().unsqueeze(-1).unbind(-2)
    density = Beta(alpha, beta, validate_args=False)
    # The density of a beta distribution may be infinite at 0 and 1.
    at = labels.float().clamp(eps, 1.0 - eps)
    loss: Tensor = -density.log_prob(at)  # type: ignore[no-untyped-call,unused-ignore]
    return torch.where(labels < 0, torch.zeros_like(loss), loss)


def multinomial_loss(params: Tensor, labels: Tensor) -> Tensor:
    """Return the negative log probability of each rating on [1, 5], or 0 if masked. Shape of ``labels``.

    Ratings outside the range count as the nearest endpoint. Other scales yield fractional ratings (7 out of
    10 is 3.67), which are shared between their two neighbours to keep the mean; the released code assigns
    them to the lower one.
    """
    log_p = log_softmax(params.float(), dim=-1)
    position = (labels.float() - SCALE[0]).clamp(0, N_RATINGS - 1)
    lower = position.floor()
    share = position - lower
    upper = (lower + 1).clamp(max=N_RATINGS - 1)
    loss = -(1 - share) * log_p.gather(-1, lower.long()) - share * log_p.gather(-1, upper.long())
    return torch.where(labels < 0, torch.zeros_like(loss), loss)


def bernoulli_loss(params: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy against each item's mean label, scaled to [0, 1]. Shape (items,).

    The loss of an item without labels is 0, as released.
    """
    rated = labels >= 0
    mean = torch.where(rated, labels.float(), 0.0).sum(-1) / rated.sum(-1).clamp(min=1)
    log_p = log_softmax(params.float(), dim=-1)
    return -mean * log_p[..., 0] - (1 - mean) * log_p[..., 1]


def _beta_moments(params: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and variance on [0, 1], each of shape (items,)."""
    params = params.float()
    # alpha / (alpha + beta), without overflow for large parameters.
    mean = torch.sigmoid(params[..., 0] - params[..., 1])
    rest = torch.sigmoid(params[..., 1] - params[..., 0])  # 1 - mean loses precision near 1
    return mean, mean * rest / (params.exp().sum(-1) + 1)


def _multinomial_moments(params: Tensor) -> tuple[Tensor, Tensor]:
    p = params.float().softmax(-1)
    values = torch.linspace(0, 1, N_RATINGS, device=params.device)
    mean = (p * values).sum(-1)
    return mean, (p * (values - mean.unsqueeze(-1)) ** 2).sum(-1)


def _bernoulli_moments(params: Tensor) -> tuple[Tensor, Tensor]:
    mean = params.float().softmax(-1)[..., 0]
    return mean, torch.zeros_like(mean)


def _beta_quantiles(params: Floats, levels: Sequence[float]) -> Floats:
    from scipy.stats import beta

    a, b = np.exp(params).T
    return np.stack([beta.ppf(level, a, b) for level in levels])


def _multinomial_quantiles(params: Floats, levels: Sequence[float]) -> Floats:
    p = np.exp(params - params.max(axis=-1, keepdims=True))
    below = np.cumsum(p / p.sum(axis=-1, keepdims=True), axis=-1)
    # The lowest rating whose cumulative probability reaches the level; rounding must not push it past the
    # last.
    indices = [np.minimum((below < level - 1e-9).sum(axis=-1), N_RATINGS - 1) for level in levels]
    values: Floats = np.stack(indices) / (N_RATINGS - 1)
    return values


@dataclass(frozen=True)
class Head:
    name: HeadName
    outputs: int  # number of outputs of the linear layer
    # (parameters, labels) -> loss of each label (bernoulli: of each item); a batch's loss is the sum.
    loss: Callable[[Tensor, Tensor], Tensor]
    moments: Callable[[Tensor], tuple[Tensor, Tensor]]  # parameters -> mean and variance on [0, 1]
    unit_labels: bool  # whether labels are on [0, 1] instead of [1, 5], as for the multinomial head
    # (parameters, levels) -> values on [0, 1], shape (levels, items); None for a head that predicts no
    # spread.
    quantiles: Callable[[Floats, Sequence[float]], Floats] | None

    def labels(self, ratings: Sequence[Sequence[float]]) -> Tensor:
        """Turn ratings on [1, 5] into labels padded with :data:`MASK`; shape (items, maximum ratings)."""
        low, high = SCALE if self.unit_labels else (0.0, 1.0)
        rows = torch.full((len(ratings), max([1, *map(len, ratings)])), MASK)
        for row, given in zip(rows, ratings, strict=True):
            row[: len(given)] = (torch.tensor(given) - low) / (high - low)
        return rows

    def loss_of_guess(self) -> float:
        """Return the loss per rating if all outputs are 0, so that every rating is equally likely."""
        labels = self.labels([[sum(SCALE) / 2]])
        return float(self.loss(torch.zeros(1, self.outputs), labels).sum())

    def interval(self, params: Sequence[Sequence[float]], level: float = 0.95) -> Floats | None:
        """Return the interval that contains a single rating with this probability.

        On [0, 1], shape (2, items); None for bernoulli.
        """
        # This is the predicted spread of human ratings, not the error of the predicted mean.
        if self.quantiles is None:
            return None
        # An empty list has no second dimension.
        values = np.asarray(params, dtype=np.float64).reshape(-1, self.outputs)
        return self.quantiles(values, ((1 - level) / 2, (1 + level) / 2))


HEADS: dict[HeadName, Head] = {
    "beta": Head("beta", 2, beta_loss, _beta_moments, True, _beta_quantiles),
    "multinomial": Head(
        "multinomial", N_RATINGS, multinomial_loss, _multinomial_moments, False, _multinomial_quantiles
    ),
    "bernoulli": Head("bernoulli", 2, bernoulli_loss, _bernoulli_moments, True, None),
}


def params_kl(head: Head, p: Tensor, q: Tensor) -> Tensor:
    """Return the KL divergence of ``p`` from ``q``, both head parameters; shape (items,).

    Part of the released code, for distillation from another model's predictions; no command uses it.
    """
    p, q = p.float(), q.float()
    if head.name == "beta":
        first, second = (Beta(each[..., 0].exp(), each[..., 1].exp(), validate_args=False) for each in (p, q))
        return torch.as_tensor(kl_divergence(first, second))
    return torch.as_tensor(kl_divergence(Categorical(logits=p), Categorical(logits=q)))


class OrcaModel(nn.Module):
    """A language model with a head that reads the last token's hidden state after the final norm.

    With ``use_cls_token``, a learned vector is appended after each item's last token and read instead. (The
    released code appends it after the padding and then reads at the original length, which is a padding token
    for shorter items in a batch; here no item depends on its batch.) ``lm`` is a transformers causal language
    model, plain or with a peft LoRA adapter; its vocabulary projection is never run.
    """

    def __init__(
        self, lm: Any, head: Head, use_cls_token: bool = False, init_type: str = "xavier_normal"
    ) -> None:
        """Add a new head to ``lm``, initialised from torch's global generator."""
        super().__init__()
        self.lm = lm
        self.head = head
        self.init_type = init_type  # initialisation of linear; stored in the checkpoint
        # A multimodal model's configuration contains that of its text part.
        self._config = getattr(lm.config, "text_config", None) or lm.config
        hidden = self._config.hidden_size
        self.linear = nn.Linear(hidden, head.outputs, dtype=torch.float32)
        # As released. The gain is small because the beta head's outputs are logarithms: large ones start far
        # from a uniform guess.
        nn.init.xavier_normal_(self.linear.weight, gain=0.01)
        nn.init.zeros_(self.linear.bias)
        self.cls_token = nn.Parameter(torch.randn(hidden) * 0.02) if use_cls_token else None

    def window(self, most: int | None = None) -> int | None:
        """Return the maximum tokens per item: the model's window, at most ``most``; None without a limit."""
        limit = getattr(self._config, "max_position_embeddings", None)
        own = None if limit is None else int(limit) - (self.cls_token is not None)
        return min((each for each in (most, own) if each is not None), default=None)

    @property
    def device(self) -> torch.device:
        return self.linear.weight.device

    def body(self) -> Any:
        """Return the language model with its adapters, but without its vocabulary projection."""
        lm = self.lm.get_base_model() if hasattr(self.lm, "get_base_model") else self.lm
        body = lm.get_decoder()
        # Older families (GPT-2, GPT-NeoX) return themselves as the decoder.
        return lm.base_model if body is lm else body

    def forward(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        """Compute float32 parameters of shape (items, outputs).

        ``input_ids`` are right-padded tokens of shape (items, longest); ``lengths`` has shape (items,).
        """
        rows = torch.arange(len(lengths), device=input_ids.device)
        last = lengths - 1
        inputs: dict[str, Tensor] = {"input_ids": input_ids}
        size = input_ids.shape[1]
        if self.cls_token is not None:
            # One extra position; its token is replaced or masked.
            tokens = torch.cat([input_ids, input_ids[:, -1:]], dim=1)
            embedded = self.body().get_input_embeddings()(tokens)
            here = torch.arange(size + 1, device=input_ids.device) == lengths[:, None]
            embedded = torch.where(here[..., None], self.cls_token.to(embedded.dtype), embedded)
            inputs, last, size = {"inputs_embeds": embedded}, lengths, size + 1
        mask = torch.arange(size, device=input_ids.device) <= last[:, None]
        # Nothing is generated, so no KV cache is kept.
        hidden = self.body()(**inputs, attention_mask=mask.long(), use_cache=False).last_hidden_state
        # The head stays in float32 even under the caller's autocast.
        with torch.autocast(hidden.device.type, enabled=False):
            params: Tensor = self.linear(hidden[rows, last].float())
        return params


def collate(
    ids: Sequence[Sequence[int]], pad: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Return tokens, right-padded to shape (items, longest), and the number of tokens of each item."""
    lengths = [len(row) for row in ids]
    longest = max(lengths)
    padded = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in ids])
    return padded.to(device), torch.tensor(lengths, device=device)


def length_batches(
    lengths: Sequence[int],
    most_tokens: int,
    most_items: int,
    batch_cost: float,
    max_padding: float = MAX_PADDING,
) -> list[list[int]]:
    """Group item indices into the cheapest batches of neighbours in length, longest items first.

    In this order, running out of memory shows early. A batch costs its tokens with their padding and
    ``batch_cost``, which is infinite for as few batches as possible. ``most_tokens`` includes the padding; an
    item that exceeds it gets its own batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    # Of the first items, as many as the index: the least cost, and the start of their last batch.
    best: list[tuple[float, int]] = [(0, 0)]
    for end in range(1, len(order) + 1):
        real = 0  # tokens without padding
        options: list[tuple[float, int]] = []
        for start in range(end - 1, max(-1, end - 1 - most_items), -1):
            real += lengths[order[start]]
            padded = (end - start) * lengths[order[start]]
            if options and padded > most_tokens:
                break
            if padded <= max_padding * real:
                options.append((best[start][0] + padded + batch_cost, start))
        best.append(min(options))  # at equal cost, the one with more items
    batches = []
    end = len(order)
    while end:
        start = best[end][1]
        batches.append(order[start:end])
        end = start
    return batches[::-1]
