"""Scoring answers with an ORCA model: each is read once, in batches of similar length, and results keep the order of the input."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from long_context_tasks.orca.checkpoint import Checkpoint
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import InputFormat, encode_items
from long_context_tasks.orca.kept import KeptPredictions
from long_context_tasks.orca.model import OrcaModel, collate, length_batches
from long_context_tasks.orca.progress import Progress
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

    mean: float | None = None
    variance: float | None = None
    low: float | None = None
    high: float | None = None
    params: tuple[float, ...] | None = None
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
    what: str = "",
    kept: KeptPredictions | None = None,
) -> Scoring:
    """Score every item; one pass of the model's body over each, without its vocabulary projection.

    Args:
        checkpoint: loaded.
        items: to score; ratings are not needed.
        form: the parts of the text; None for those that the checkpoint's arguments name, else the released ones.
        window: most tokens of an item, to use less than the model's window.
        batch_tokens: most tokens of a batch, with padding; results do not depend on it beyond rounding.
        batch_size: most items of a batch.
        what: is scored; shows progress under this name, empty for none.
        kept: predictions of an earlier run, to which new ones are added.

    Raises:
        InputError: the model's output is not finite, or predictions cannot be kept.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    form = InputFormat.of_args(checkpoint.args) if form is None else form
    window = model.window_within(window)
    encoded = encode_items(items, tokenizer, form, window)
    fitting = [place for place, each in enumerate(encoded) if each.fits]
    params = predict(
        model,
        [encoded[place].ids for place in fitting],
        tokenizer.pad_token_id or 0,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        what=what,
        kept=kept,
    )
    for place, row in zip(fitting, params, strict=True):
        if not all(map(math.isfinite, row)):
            raise InputError(
                f"item {items[place].id}: the model's output is not a number; take another checkpoint, or dtype float32"
            )
    moments = model.head.moments(torch.tensor(params).reshape(-1, model.head.outputs))
    interval = model.head.interval(params)
    ends = [(None, None)] * len(params) if interval is None else interval.T.tolist()
    scores = [OrcaScore(reason=DOES_NOT_FIT) for _ in items]
    for place, row, mean, variance, (low, high) in zip(
        fitting, params, moments[0].tolist(), moments[1].tolist(), ends, strict=True
    ):
        each = encoded[place]
        scores[place] = OrcaScore(
            mean, variance, low, high, tuple(row), dropped_tokens=each.dropped, tokens=len(each.ids)
        )
    return Scoring(scores, sum(score.tokens for score in scores), window)


def predict(
    model: OrcaModel,
    ids: Sequence[Sequence[int]],
    pad: int,
    *,
    batch_tokens: int = 8192,
    batch_size: int = 64,
    what: str = "",
    kept: KeptPredictions | None = None,
) -> list[list[float]]:
    """Predict the parameters of every row of tokens, in order. Equal rows are read once and get equal parameters, so that ties stay ties.

    Args:
        model: in any mode, which stays.
        ids: tokens, none empty.
        pad: the padding token.
        batch_tokens: most tokens of a batch, with padding.
        batch_size: most rows of a batch.
        what: as for :func:`score_items`.
        kept: likewise.
    """
    keys = [tuple(row) for row in ids]
    rows = list(dict.fromkeys(keys))
    known = {} if kept is None else {row: kept.get(row) for row in rows}
    params = {row: outputs for row, outputs in known.items() if outputs is not None}
    places = length_batches([len(row) for row in rows], batch_tokens, batch_size)
    batches = [[rows[place] for place in batch] for batch in places]
    # A batch is computed whole or not at all, so that a run that was stopped rounds as one that was not.
    batches = [batch for batch in batches if any(row not in params for row in batch)]
    done = len(rows) - sum(map(len, batches))
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), Progress(what, "answer", len(rows), done, shown=bool(what)) as bar:
            for batch in batches:
                found = model(*collate(batch, pad, model.device)).tolist()
                if kept is not None:
                    kept.add(batch, found)
                for row, outputs in zip(batch, found, strict=True):
                    params.setdefault(row, outputs)
                bar.update(len(batch))
    finally:
        model.train(was_training)
    return [params[key] for key in keys]
