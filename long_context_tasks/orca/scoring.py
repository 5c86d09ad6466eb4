"""Scoring answers with an ORCA model: each answer is read once, in batches of similar length."""

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tqdm import tqdm

from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.orca.checkpoint import Checkpoint
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import InputFormat, encode_items
from long_context_tasks.orca.model import BATCH_COST, OrcaModel, collate, length_batches
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import DOES_NOT_FIT


@dataclass(frozen=True)
class OrcaScore:
    """The prediction for one item, on [0, 1]; all None if the item does not fit."""

    mean: float | None = None  # expected rating
    variance: float | None = None  # of human ratings; 0 for the bernoulli head, which predicts none
    # low, high: 95 % interval of a single rating; None for the bernoulli head
    low: float | None = None
    high: float | None = None
    params: tuple[float, ...] | None = None  # outputs of the head
    dropped_tokens: int = 0  # context tokens cut to fit the window
    reason: str | None = None  # None or DOES_NOT_FIT
    tokens: int = 0  # number of tokens read by the model

    @property
    def std(self) -> float | None:
        return None if self.variance is None else math.sqrt(self.variance)


@dataclass(frozen=True)
class Scoring:
    scores: list[OrcaScore]
    window: int | None  # maximum tokens per item; None without a limit

    @property
    def means(self) -> list[float | None]:
        return [score.mean for score in self.scores]

    @property
    def shortened(self) -> int:
        return sum(score.dropped_tokens > 0 for score in self.scores)

    @property
    def unfit(self) -> int:
        """Number of items that do not fit even without their context."""
        return sum(score.reason == DOES_NOT_FIT for score in self.scores)

    def __str__(self) -> str:
        parts = [f"{len(self.scores) - self.unfit} of {len(self.scores)} scored"]
        if self.shortened:
            parts.append(f"{self.shortened} with a context shortened to the window of {self.window} tokens")
        if self.unfit:
            parts.append(f"{self.unfit} longer than the window of {self.window} tokens without any context")
        return ", ".join(parts)


def progress_bar(title: str, unit: str, total: int, done: int = 0, *, shown: bool = True) -> Any:
    """Return a progress bar on standard error, updated ten times a second, or every 30 seconds in a log file."""
    seconds = 0.1 if sys.stderr.isatty() else 30.0
    return tqdm(total=total, initial=done, desc=title, unit=unit, mininterval=seconds, disable=not shown)


@dataclass(frozen=True)
class KeptPredictions:
    """Model outputs in a store that grows with each batch, so a killed run loses at most one batch."""

    store: Store
    made_by: str  # checkpoint, device and dtype; outputs under others differ, at least by rounding

    def _key(self, tokens: Sequence[int]) -> str:
        return hashlib.sha256(f"{self.made_by} {','.join(map(str, tokens))}".encode()).hexdigest()

    def get(self, tokens: Sequence[int]) -> list[float] | None:
        reply = self.store.get(self._key(tokens))
        return None if reply is None else loads(reply.text)

    def add(self, rows: Sequence[Sequence[int]], outputs: Sequence[Sequence[float]]) -> None:
        self.store.append(
            (self._key(tokens), Reply(json.dumps(values)))
            for tokens, values in zip(rows, outputs, strict=True)
            if all(map(math.isfinite, values))
        )


def score_items(
    checkpoint: Checkpoint,
    items: Sequence[OrcaItem],
    form: InputFormat | None = None,
    *,
    window: int | None = None,
    batch_tokens: int = 8192,
    batch_size: int = 64,
    title: str = "",
    kept: KeptPredictions | None = None,
) -> Scoring:
    """Score every item in one pass through the model's body, without its vocabulary projection.

    Args:
        form: parts of the text; None for those used in training.
        window: maximum tokens per item, to use less than the model's window.
        batch_tokens: maximum tokens per batch, including padding; it affects results only by rounding.
        batch_size: maximum items per batch.
        title: of the progress bar; empty for none.
        kept: predictions of an earlier run, to which new ones are added.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    form = InputFormat.of_args(checkpoint.args) if form is None else form
    window = model.window(window)
    encoded = encode_items(items, tokenizer, form, window)
    fitting = [index for index, each in enumerate(encoded) if each.fits]
    params = predict(
        model,
        [encoded[index].ids for index in fitting],
        # Any token works, because padding is masked.
        tokenizer.pad_token_id or 0,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        title=title,
        kept=kept,
    )
    for index, row in zip(fitting, params, strict=True):
        if not all(map(math.isfinite, row)):
            raise InputError(
                f"item {items[index].id}: the model's output is not a number; use a different checkpoint, or dtype float32"
            )
    # If no item fits, the list is empty and has no second dimension.
    moments = model.head.moments(torch.tensor(params).reshape(-1, model.head.outputs))
    interval = model.head.interval(params)
    ends = [(None, None)] * len(params) if interval is None else interval.T.tolist()
    scores = [OrcaScore(reason=DOES_NOT_FIT) for _ in items]
    for index, row, mean, variance, (low, high) in zip(
        fitting, params, moments[0].tolist(), moments[1].tolist(), ends, strict=True
    ):
        each = encoded[index]
        scores[index] = OrcaScore(
            mean, variance, low, high, tuple(row), dropped_tokens=each.dropped, tokens=len(each.ids)
        )
    return Scoring(scores, window)


def predict(
    model: OrcaModel,
    ids: Sequence[Sequence[int]],
    pad: int,
    *,
    batch_tokens: int = 8192,
    batch_size: int = 64,
    title: str = "",
    kept: KeptPredictions | None = None,
) -> list[list[float]]:
    """Predict the parameters of every token row, in order; see :func:`score_items` for the keyword arguments."""
    keys = [tuple(row) for row in ids]
    # Equal rows are read once: rounding in different batches would break their ties.
    rows = list(dict.fromkeys(keys))
    known = {} if kept is None else {row: kept.get(row) for row in rows}
    params = {row: outputs for row, outputs in known.items() if outputs is not None}
    cost = BATCH_COST[model.device.type == "cpu"]
    groups = length_batches([len(row) for row in rows], batch_tokens, batch_size, cost)
    batches = [[rows[index] for index in group] for group in groups]
    # A batch is computed in full or not at all, so that a resumed run rounds like an uninterrupted one.
    batches = [batch for batch in batches if any(row not in params for row in batch)]
    done = len(rows) - sum(map(len, batches))
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), progress_bar(title, "answer", len(rows), done, shown=bool(title)) as bar:
            for batch in batches:
                outputs = model(*collate(batch, pad, model.device)).tolist()
                if kept is not None:
                    kept.add(batch, outputs)
                for row, values in zip(batch, outputs, strict=True):
                    # Stored outputs are kept even if their batch was recomputed.
                    params.setdefault(row, values)
                bar.update(len(batch))
    finally:
        model.train(was_training)
    return [params[key] for key in keys]
