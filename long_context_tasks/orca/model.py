"""The ORCA model: the body of a language model, one hidden state, one linear layer; and the batches that it reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from long_context_tasks.orca.heads import Head


class OrcaModel(nn.Module):
    """A language model with a head.

    The hidden state is that of the last token, after the final norm. With ``use_cls_token`` a learned vector is appended behind the last token of each item
    and read instead. (The released code appends it behind the padding and then reads at the old length, where shorter items of a batch have a padding
    token; here no item depends on its batch.)

    Attributes:
        lm: causal language model of transformers, plain or with a LoRA adapter of peft. Its vocabulary projection is never run.
        head: see :mod:`~long_context_tasks.orca.heads`.
        linear: hidden state -> parameters; float32.
        cls_token: the learned vector, or None.
        init_type: how ``linear`` was initialised; stored in the checkpoint.
    """

    def __init__(
        self, lm: Any, head: Head, use_cls_token: bool = False, init_type: str = "xavier_normal"
    ) -> None:
        """Put a fresh head on ``lm``, drawn from torch's global generator."""
        super().__init__()
        self.lm = lm
        self.head = head
        self.init_type = init_type
        hidden = text_config(lm).hidden_size
        self.linear = nn.Linear(hidden, head.outputs, dtype=torch.float32)
        nn.init.xavier_normal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.cls_token = nn.Parameter(torch.randn(hidden) * 0.02) if use_cls_token else None

    @property
    def window(self) -> int | None:
        """Most tokens of an item; None where the model names no limit."""
        limit = getattr(text_config(self.lm), "max_position_embeddings", None)
        return None if limit is None else int(limit) - (self.cls_token is not None)

    @property
    def device(self) -> torch.device:
        """Device of the model."""
        return self.linear.weight.device

    def body(self) -> Any:
        """Return the language model without its vocabulary projection; adapters included."""
        lm = self.lm.get_base_model() if hasattr(self.lm, "get_base_model") else self.lm
        body = lm.get_decoder()
        # Older families (GPT-2, GPT-NeoX) return themselves as decoder; it is their base model.
        return lm.base_model if body is lm else body

    def forward(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        """Compute the parameters of each item.

        Args:
            input_ids: tokens, padded on the right; shape (items, longest).
            lengths: tokens of each item; shape (items,).

        Returns:
            Float32, shape (items, outputs).
        """
        rows = torch.arange(len(lengths), device=input_ids.device)
        last = lengths - 1
        inputs: dict[str, Tensor] = {"input_ids": input_ids}
        size = input_ids.shape[1]
        if self.cls_token is not None:
            tokens = torch.cat([input_ids, input_ids[:, -1:]], dim=1)
            embedded = self.body().get_input_embeddings()(tokens)
            here = torch.arange(size + 1, device=input_ids.device) == lengths[:, None]
            embedded = torch.where(here[..., None], self.cls_token.to(embedded.dtype), embedded)
            inputs, last, size = {"inputs_embeds": embedded}, lengths, size + 1
        mask = torch.arange(size, device=input_ids.device) <= last[:, None]
        hidden = self.body()(**inputs, attention_mask=mask.long(), use_cache=False).last_hidden_state
        with torch.autocast(hidden.device.type, enabled=False):
            params: Tensor = self.linear(hidden[rows, last].float())
        return params


def text_config(lm: Any) -> Any:
    """Return the configuration of the text part, which models that also take pictures hold inside their own."""
    return getattr(lm.config, "text_config", None) or lm.config


@dataclass(frozen=True)
class Batch:
    """Some items in tensors.

    Attributes:
        input_ids: padded on the right; shape (items, longest).
        lengths: tokens of each item; shape (items,).
        labels: see :meth:`~long_context_tasks.orca.heads.Head.labels`; None when the batch is only scored.
    """

    input_ids: Tensor
    lengths: Tensor
    labels: Tensor | None = None


def collate(
    ids: Sequence[Sequence[int]],
    pad: int,
    *,
    device: torch.device | str = "cpu",
    ratings: Sequence[Sequence[float]] | None = None,
    head: Head | None = None,
) -> Batch:
    """Pad some items to a batch.

    Args:
        ids: tokens of each item.
        pad: the padding token.
        device: where the tensors go.
        ratings: on 1 ... 5, of each item; with them ``head`` is needed, whose labels they become.
        head: see there.

    Raises:
        ValueError: ratings without a head.
    """
    lengths = [len(row) for row in ids]
    longest = max(lengths)
    padded = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in ids])
    labels = None
    if ratings is not None:
        if head is None:
            raise ValueError("ratings need a head to become labels")
        labels = head.labels(ratings).to(device)
    return Batch(padded.to(device), torch.tensor(lengths, device=device), labels)


def length_batches(lengths: Sequence[int], most_tokens: int, most_items: int) -> list[list[int]]:
    """Put items into batches by their indices: the longest first, so that what needs most memory is tried first and little is padding.

    Args:
        lengths: tokens of each item.
        most_tokens: of a batch, padding included; a longer item is a batch alone.
        most_items: of a batch.

    >>> length_batches([3, 9, 4, 8], most_tokens=18, most_items=8)
    [[1, 3], [2, 0]]
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        last = batches[-1] if batches else []
        if last and len(last) < most_items and (len(last) + 1) * lengths[last[0]] <= most_tokens:
            last.append(index)
        else:
            batches.append([index])
    return batches
