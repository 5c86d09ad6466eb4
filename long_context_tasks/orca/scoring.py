"""Scoring answers with an ORCA model: each is read once, in batches of similar length, and results keep the order of the input."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from tqdm import tqdm

from long_context_tasks.orca.checkpoint import Checkpoint
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.heads import Head
from long_context_tasks.orca.inputs import InputFormat, encode_items
from long_context_tasks.orca.model import OrcaModel, collate, length_batches
from long_context_tasks.schema import InputError
from long_context_tasks.schema.response import DOES_NOT_FIT


@dataclass(frozen=True)
class OrcaScore:
    """The prediction for one item; all None when the item does not fit.

    Attributes:
        mean: expected rating, 0 ... 1.
        variance: of people's ratings, on 0 ... 1; 0 for the bernoulli head, which predicts none.
        low, high: 95 % interval of a single rating, 0 ... 1; None for the bernoulli head.
        params: outputs of the head.
        dropped_tokens: of the context, to fit the window.
        reason: None or :data:`DOES_NOT_FIT`.
        tokens: that the model read.
    """

    mean: float | None
    variance: float | None
    low: float | None
    high: float | None
    params: tuple[float, ...] | None
    dropped_tokens: int = 0
    reason: str | None = None
    tokens: int = 0

    @property
    def std(self) -> float | None:
        """Standard deviation of people's ratings, on 0 ... 1."""
        return None if self.variance is None else math.sqrt(self.variance)


@dataclass(frozen=True)
class Scoring:
    """Scores in the order of the items.

    Attributes:
        scores: one for each item.
        tokens: read by the model, without padding.
        window: most tokens of an item; None for no limit.
    """

    scores: list[OrcaScore]
    tokens: int
    window: int | None

    @property
    def shortened(self) -> int:
        """Items whose context was shortened."""
        return sum(score.dropped_tokens > 0 for score in self.scores)

    @property
    def unfit(self) -> int:
        """Items that do not fit and have no score."""
        return sum(score.reason == DOES_NOT_FIT for score in self.scores)

    def __str__(self) -> str:
        """Sum up in one line for a log."""
        parts = [f"{len(self.scores) - self.unfit} of {len(self.scores)} scored"]
        if self.shortened:
            parts.append(f"{self.shortened} with a context shortened to the window of {self.window} tokens")
        if self.unfit:
            parts.append(f"{self.unfit} longer than the window of {self.window} tokens without any context")
        return ", ".join(parts)


def score_items(
    checkpoint: Checkpoint,
    items: Sequence[OrcaItem],
    form: InputFormat | None = None,
    *,
    window: int | None = None,
    batch_tokens: int = 8192,
    batch_size: int = 64,
    level: float = 0.95,
    progress: bool = False,
) -> Scoring:
    """Score every item; one pass of the model's body over each, without its vocabulary projection.

    Args:
        checkpoint: loaded.
        items: to score; ratings are not needed.
        form: the parts of the text; None for those that the checkpoint's arguments name, else the released ones.
        window: most tokens of an item, to use less than the model's window.
        batch_tokens: most tokens of a batch, with padding; results do not depend on it beyond rounding.
        batch_size: most items of a batch.
        level: of the interval.
        progress: show a bar.

    Raises:
        InputError: the model's output is not finite.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    form = InputFormat.of_args(checkpoint.args) if form is None else form
    limits = [limit for limit in (window, model.window) if limit is not None]
    window = min(limits) if limits else None
    encoded = encode_items(items, tokenizer, form, window)
    fitting = [index for index, each in enumerate(encoded) if each.fits]
    found = predict(
        model,
        [encoded[index].ids for index in fitting],
        tokenizer.pad_token_id or 0,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        progress=progress,
    )
    params: list[list[float] | None] = [None] * len(items)
    for index, row in zip(fitting, found, strict=True):
        if not all(map(math.isfinite, row)):
            raise InputError(
                f"item {items[index].id}: the model's output is not a number; take another checkpoint, or dtype float32"
            )
        params[index] = row
    scores = [
        replace(score, dropped_tokens=each.dropped, tokens=len(each.ids))
        for score, each in zip(_scores(checkpoint.model.head, params, level), encoded, strict=True)
    ]
    return Scoring(scores, sum(score.tokens for score in scores), window)


def predict(
    model: OrcaModel,
    ids: Sequence[Sequence[int]],
    pad: int,
    *,
    batch_tokens: int = 8192,
    batch_size: int = 64,
    progress: bool = False,
) -> list[list[float]]:
    """Predict the parameters of every row of tokens, in order. Equal rows are read once and get equal parameters, so that ties stay ties.

    Args:
        model: in any mode, which stays.
        ids: tokens, none empty.
        pad: the padding token.
        batch_tokens: most tokens of a batch, with padding.
        batch_size: most rows of a batch.
        progress: show a bar.
    """
    keys = [tuple(row) for row in ids]
    rows = list(dict.fromkeys(keys))
    params: dict[tuple[int, ...], list[float]] = {}
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), tqdm(total=len(rows), unit="item", disable=not progress) as bar:
            for places in length_batches([len(row) for row in rows], batch_tokens, batch_size):
                taken = [rows[place] for place in places]
                batch = collate(taken, pad, device=model.device)
                params |= dict(zip(taken, model(batch.input_ids, batch.lengths).tolist(), strict=True))
                bar.update(len(taken))
    finally:
        model.train(was_training)
    return [params[key] for key in keys]


def _scores(head: Head, params: Sequence[list[float] | None], level: float) -> list[OrcaScore]:
    there = [row for row in params if row is not None]
    mean, variance = (each.tolist() for each in head.moments(torch.tensor(there).reshape(-1, head.outputs)))
    interval = head.interval(there, level)
    ends = [(None, None)] * len(there) if interval is None else [(float(a), float(b)) for a, b in interval.T]
    found = iter(zip(there, mean, variance, ends, strict=True))
    scores = []
    for row in params:
        if row is None:
            scores.append(OrcaScore(None, None, None, None, None, reason=DOES_NOT_FIT))
        else:
            own, each_mean, each_variance, (low, high) = next(found)
            scores.append(OrcaScore(each_mean, each_variance, low, high, tuple(own)))
    return scores
