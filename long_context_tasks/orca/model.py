"""The ORCA model: the body of a language model, one hidden state, one linear layer."""

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
        lm: causal language model of transformers, or such a one with a LoRA adapter of peft. Its vocabulary projection is never run.
        head: see :mod:`~long_context_tasks.orca.heads`.
        linear: hidden state -> parameters; float32.
        cls_token: the learned vector, or None.
        init_type: how ``linear`` was begun; stands in the checkpoint.
    """

    def __init__(
        self, lm: Any, head: Head, use_cls_token: bool = False, init_type: str = "xavier_normal"
    ) -> None:
        """Put a fresh head on ``lm``; drawn from torch's global generator."""
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
        """Most tokens of an item; None when the model names no limit."""
        limit = getattr(text_config(self.lm), "max_position_embeddings", None)
        return None if limit is None else int(limit) - (self.cls_token is not None)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.linear.weight.device

    def body(self) -> Any:
        """The language model without its vocabulary projection; adapters included."""
        lm = self.lm.get_base_model() if hasattr(self.lm, "get_base_model") else self.lm
        body = lm.get_decoder()
        # Older families (GPT-2, GPT-NeoX) name no decoder and give themselves; their base model is it.
        return lm.base_model if body is lm else body

    def forward(self, input_ids: Tensor, lengths: Tensor) -> Tensor:
        """Parameters of each item.

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
    """Configuration of the text part: of the model itself, except in models that also take pictures."""
    return getattr(lm.config, "text_config", None) or lm.config
