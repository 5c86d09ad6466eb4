"""Items to tensors, for scoring and for training: which go together, and how they are padded."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from long_context_tasks.orca.heads import Head


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
    """Pad some items.

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
    """Indices of the items of each batch: the longest first, so that what needs most memory is tried first and little is padding.

    Args:
        lengths: tokens of each item.
        most_tokens: of a batch, padding included; an item longer than that is a batch of its own.
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
