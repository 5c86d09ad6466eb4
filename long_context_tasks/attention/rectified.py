"""ReRoPE and Leaky ReRoPE: beyond a window, relative positions stay constant or grow more slowly.

The reference is https://github.com/bojone/rerope. Keys are passed unrotated, because a key's angle depends on
the query.
"""

from dataclasses import dataclass, field
from typing import Any

CHUNK = 512  # number of queries whose scores are in memory at a time


@dataclass(frozen=True)
class Positions:
    window: int  # distance in tokens beyond which positions change
    slope: float = 0.0  # growth per token beyond it; 0 for ReRoPE, 1/k for Leaky ReRoPE

    def of_far(self, queries: Any, keys: Any) -> tuple[Any, Any]:
        """Return query and key positions whose difference is ``window + slope * (i - j - window)``."""
        return self.window * (1 - self.slope) + self.slope * queries, self.slope * keys


class Rotary:
    def __init__(self, embedding: Any) -> None:
        """Wrap the model's own rotary embedding, with its base and scaling."""
        self._embedding = embedding

    def __call__(self, states: Any, positions: Any) -> Any:
        """Return states of shape (..., tokens, head size) rotated to positions of shape (tokens,).

        Positions may be fractions.
        """
        import torch

        cos, sin = self._embedding(states, positions.float()[None])
        first, second = states.chunk(2, dim=-1)
        return states * cos[0] + torch.cat((-second, first), dim=-1) * sin[0]


def rectified_scores(
    query: Any, key: Any, at: tuple[Any, Any], rotary: Rotary, positions: Positions
) -> tuple[Any, Any]:
    """Return unscaled scores and distances of queries and keys.

    Args:
        query: (batch, heads, queries, size), not rotated.
        key: (batch, key heads, keys, size), not rotated.
        at: ascending positions of queries and keys in the text.

    Returns:
        (batch, heads, queries, keys) and (queries, keys).
    """
    import torch

    q_at, k_at = at
    distance = q_at[:, None] - k_at[None, :]
    groups, n_queries = query.shape[1] // key.shape[1], query.shape[2]
    # Keys up to n_far are far from the last query; keys from n_all_far on are near the first.
    n_far, n_all_far = (int((k_at <= q - positions.window).sum()) for q in (q_at[-1], q_at[0]))

    def dot(queries: Any, keys: Any) -> Any:
        by_group = queries.reshape(keys.shape[0], keys.shape[1], groups * n_queries, -1)
        return (by_group @ keys.transpose(2, 3)).reshape(*query.shape[:3], -1)

    # Far keys have plain positions, so near and far scores are separate products.
    near_keys = rotary(key[:, :, n_all_far:], k_at[n_all_far:])
    near = dot(rotary(query, q_at), near_keys)
    if not n_far:
        return near, distance
    far_q, far_k = positions.of_far(q_at, k_at[:n_far])
    far_keys = rotary(key[:, :, :n_far], far_k) if positions.slope else key[:, :, :n_far]
    far = dot(rotary(query, far_q), far_keys)
    # Only between these are some pairs near and others far.
    mixed = n_far - n_all_far
    is_near = distance[:, n_all_far:n_far] < positions.window
    between = torch.where(is_near, near[..., :mixed], far[..., n_all_far:])
    return torch.cat((far[..., :n_all_far], between, near[..., mixed:]), dim=-1), distance


def probabilities(scores: Any, forbidden: Any) -> Any:
    """Return softmax over keys in float32, uniform if all keys are forbidden."""
    import torch

    return torch.softmax(scores.float().masked_fill(forbidden, torch.finfo(torch.float32).min), dim=-1)


def weighted_values(weights: Any, value: Any) -> Any:
    """Apply weights (batch, heads, queries, keys) to values (batch, key heads, keys, size).

    Returns (batch, heads, queries, size).
    """
    batch, heads, queries, keys = weights.shape
    by_group = weights.to(value.dtype).reshape(batch, value.shape[1], -1, keys)
    return (by_group @ value).reshape(batch, heads, queries, -1)


@dataclass(frozen=True)
class ReRoPE:
    rotary: Rotary = field(repr=False)
    positions: Positions
    # Position from which queries are scaled by log(position) / log(training_length), as in the
    # reference.
    training_length: int

    def __call__(self, query: Any, key: Any, value: Any, mask: Any, scaling: float) -> Any:
        """Attend causally; the queries are the last tokens of the text.

        Args:
            query: (batch, heads, queries, size), not rotated.
            key: (batch, key heads, keys, size), not rotated, starting with the cached ones.
            mask: (batch, keys), False for padding; None without padding.

        Returns:
            (batch, heads, queries, size).
        """
        import torch

        total, n_queries = key.shape[2], query.shape[2]
        k_at = torch.arange(total, device=key.device)
        # During generation, padding is on the left.
        begins = 0 if mask is None else mask.int().argmax(dim=-1)[:, None]
        parts = []
        for start in range(total - n_queries, total, CHUNK):
            q_at = k_at[start : min(start + CHUNK, total)]
            part = query[:, :, start - total + n_queries :][:, :, : len(q_at)]
            # The scale depends on the position in the text, excluding padding.
            length = (q_at[None] - begins + 1).clamp(min=1)
            grown = (length.log() / torch.tensor(float(self.training_length)).log()).clamp(min=1)
            part = part * grown[:, None, :, None].to(part.dtype)
            end = int(q_at[-1]) + 1
            scores, distance = rectified_scores(
                part, key[:, :, :end], (q_at, k_at[:end]), self.rotary, self.positions
            )
            forbidden = distance < 0
            if mask is not None:
                forbidden = forbidden[None, None] | ~mask[:, None, None, :end].bool()
            parts.append(weighted_values(probabilities(scores * scaling, forbidden), value[:, :, :end]))
        return torch.cat(parts, dim=2)
