"""InfLLM: attention to the first tokens, a local window, and the most relevant blocks of a memory.

Implements Xiao et al. 2024 (https://github.com/thunlp/InfLLM): tokens beyond the local window all get the
window size as relative position. Keys and values stay in the model's own cache; the reference also moves them
between GPU and CPU memory.
"""

from dataclasses import dataclass, field
from typing import Any

from long_context_tasks.attention.rectified import (
    Positions,
    Rotary,
    probabilities,
    rectified_scores,
    weighted_values,
)
from long_context_tasks.schema import InputError


@dataclass(frozen=True)
class InfLLMSettings:
    """Settings, with the reference's names and its values for Llama 3."""

    n_init: int = 128  # first tokens, always attended to
    n_local: int = 4096  # size of the local window in tokens
    block_size: int = 128  # tokens per memory block
    topk: int = 16  # number of blocks attended to
    # Tokens that represent a block: those that received the most attention from their neighbours.
    repr_topk: int = 4
    exc_block_size: int = 512  # tokens processed together, sharing one choice of blocks

    def __post_init__(self) -> None:
        """Check the reference's assertions."""
        if self.exc_block_size > self.n_local:
            raise InputError(
                f"infllm: exc_block_size={self.exc_block_size} is more than n_local={self.n_local}; lower it"
            )
        if self.repr_topk > self.block_size:
            raise InputError(
                f"infllm: repr_topk={self.repr_topk} is more than block_size={self.block_size}; lower it"
            )


@dataclass
class InfLLM:
    """InfLLM in one layer, with the memory of one text."""

    rotary: Rotary = field(repr=False)
    settings: InfLLMSettings = field(default_factory=InfLLMSettings)
    _length: int = field(default=0, init=False)
    # (heads, tokens): attention received by each token from queries within the local window
    _received: Any = field(default=None, init=False, repr=False)
    # per block, (heads, size): the mean of its representative keys
    _representatives: list[Any] = field(default_factory=list, init=False, repr=False)

    def __call__(self, query: Any, key: Any, value: Any, mask: Any, scaling: float) -> Any:
        """Attend causally; arguments and result are those of ``ReRoPE`` in :mod:`.rectified`."""
        import torch

        # The memory belongs to one text, and padding would become part of it.
        if query.shape[0] > 1 or mask is not None:
            raise InputError("infllm reads one text at a time; take batch size 1")
        total = key.shape[2]
        begin = total - query.shape[2]
        if begin == 0:  # a new text
            self._length, self._representatives = 0, []
            self._received = query.new_zeros(query.shape[1], 0, dtype=torch.float32)
        elif begin != self._length:
            raise InputError(
                f"infllm holds a text of {self._length} tokens, and the cache has {begin}; read texts one after the other, with the "
                "cache of transformers' own generation"
            )
        step, parts = self.settings.exc_block_size, []
        for start in range(begin, total, step):
            end = min(start + step, total)
            part = query[:, :, start - begin : end - begin]
            parts.append(self._attend(part, key[:, :, :end], value[:, :, :end], scaling))
        self._length = total
        return torch.cat(parts, dim=2)

    def _attend(self, query: Any, key: Any, value: Any, scaling: float) -> Any:
        import torch

        end, local = key.shape[2], self.settings.n_local
        start = end - query.shape[2]
        places = torch.arange(end, device=key.device)
        self._received = torch.nn.functional.pad(self._received, (0, end - self._received.shape[1]))
        self._remember(key, start)
        kept = places[self._attended(query, places[start:], end)]
        scores, distance = rectified_scores(
            query, key[:, :, kept], (places[start:], kept), self.rotary, Positions(local)
        )
        weights = probabilities(scores * scaling, distance < 0)
        self._received[:, kept] += (weights[0] * (distance < local)).sum(dim=1)
        return weighted_values(weights, value[:, :, kept])

    def _remember(self, key: Any, start: int) -> None:
        """Add the blocks that have left the local window of the query at ``start``."""
        import torch

        sizes = self.settings
        groups = self._received.shape[0] // key.shape[1]
        while (
            first := sizes.n_init + len(self._representatives) * sizes.block_size
        ) + sizes.block_size <= start - sizes.n_local:
            block = slice(first, first + sizes.block_size)
            best = self._received[:, block].topk(sizes.repr_topk, dim=-1).indices
            keys = key[0, :, block].repeat_interleave(groups, dim=0)
            chosen = torch.gather(keys, 1, best[:, :, None].expand(-1, -1, keys.shape[-1]))
            self._representatives.append(chosen.mean(dim=1))

    def _attended(self, query: Any, places: Any, end: int) -> Any:
        """Return the mask of attended tokens, shape (end,), which excludes the blocks not chosen."""
        import torch

        sizes, n_blocks = self.settings, len(self._representatives)
        attended = torch.ones(end, dtype=torch.bool, device=query.device)
        # A smaller memory is attended to in full.
        if n_blocks > sizes.topk:
            turned = self.rotary(query[0], torch.full_like(places, sizes.n_local)).mean(dim=1)
            similarity = (torch.stack(self._representatives) * turned).sum(dim=(1, 2))
            blocks = torch.zeros(n_blocks, dtype=torch.bool, device=query.device)
            blocks[similarity.topk(sizes.topk).indices] = True
            memory = slice(sizes.n_init, sizes.n_init + n_blocks * sizes.block_size)
            attended[memory] = blocks.repeat_interleave(sizes.block_size)
        return attended
