"""Scoring answers with an ORCA model: it reads each answer once, in batches of similar length."""

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from long_context_tasks.orca.checkpoint import Checkpoint
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import InputFormat, encode_items
from long_context_tasks.orca.model import OrcaModel, collate, length_batches
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import DOES_NOT_FIT


@dataclass(frozen=True)
class OrcaScore:
    """The prediction for one item, on 0 ... 1; all None if the item does not fit."""

    mean: float | None = None  # expected rating
    variance: float | None = None  # of people's ratings; 0 for the bernoulli head, which predicts none
    # low, high: 95 % interval of a single rating; None for the bernoulli head
    low: float | None = None
    high: float | None = None
    params: tuple[float, ...] | None = None  # outputs of the head
    dropped_tokens: int = 0  # context tokens that were cut to fit the window
    reason: str | None = None  # None or DOES_NOT_FIT
    tokens: int = 0  # number of tokens that the model read

    @property
    def std(self) -> float | None:
        return None if self.variance is None else math.sqrt(self.variance)


@dataclass(frozen=True)
class Scoring:
    scores: list[OrcaScore]
    tokens: int  # read by the model, without padding
    window: int | None  # maximum tokens of an item; None without a limit

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
    """Return a bar on standard error; in a log file it is drawn every 30 seconds instead of ten times a second."""
    seconds = 0.1 if sys.stderr.isatty() else 30.0
    return tqdm(total=total, initial=done, desc=title, unit=unit, mininterval=seconds, disable=not shown)


class KeptPredictions:
    """Outputs of a model by the tokens that it read, in ``OUT.part`` until the result is written.

    The file grows with each batch, so a scoring that is killed loses one batch at most. Its first line states how the outputs were made,
    every other line has a digest of the tokens and the outputs.
    """

    def __init__(self, result: Path, made_by: str) -> None:
        self.path = result.with_name(f"{result.name}.part")
        self._head = json.dumps({"made by": made_by}).encode()
        self._outputs: dict[str, list[float]] = {}
        try:
            lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read ({error.strerror}); choose another --out"
            ) from error
        if lines and lines[0] != self._head:
            raise InputError(
                f"{self.path}: an unfinished scoring with another checkpoint, device or type; give the options of that run, or remove the file"
            )
        for line in lines[1:]:
            with suppress(ValueError, TypeError):  # the line that a killed run was writing
                digest, outputs = loads(line)
                self._outputs.setdefault(digest, outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def get(self, tokens: Sequence[int]) -> list[float] | None:
        return self._outputs.get(_digest(tokens))

    def add(self, rows: Sequence[Sequence[int]], outputs: Sequence[Sequence[float]]) -> None:
        new: dict[str, list[float]] = {}
        for tokens, values in zip(rows, outputs, strict=True):
            digest = _digest(tokens)
            if digest not in self._outputs and all(map(math.isfinite, values)):
                new[digest] = list(values)
        if not new:
            return
        first = not self._outputs
        self._outputs |= new
        try:
            with self.path.open("wb" if first else "ab") as file:
                # A line starts with its line break because the last line of a killed run has none.
                file.write(self._head if first else b"")
                file.write(b"".join(f"\n{json.dumps(each)}".encode() for each in new.items()))
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}); make room and give the same command again"
            ) from error

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _digest(tokens: Sequence[int]) -> str:
    return hashlib.sha256(",".join(map(str, tokens)).encode()).hexdigest()[:32]


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
    """Score every item in one pass of the model's body, without its vocabulary projection.

    Args:
        checkpoint: loaded.
        items: to score; ratings are not needed.
        form: parts of the text; None for those that the checkpoint was trained with.
        window: maximum tokens of an item, to use less than the model's window.
        batch_tokens: maximum tokens of a batch, with padding; results depend on it by rounding only.
        batch_size: maximum items of a batch.
        title: of the progress bar; empty for none.
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
        # Any token will do, because padding is masked.
        tokenizer.pad_token_id or 0,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        title=title,
        kept=kept,
    )
    for place, row in zip(fitting, params, strict=True):
        if not all(map(math.isfinite, row)):
            raise InputError(
                f"item {items[place].id}: the model's output is not a number; take another checkpoint, or dtype float32"
            )
    # Without a fitting item the list is empty and has no second dimension.
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
    title: str = "",
    kept: KeptPredictions | None = None,
) -> list[list[float]]:
    """Predict the parameters of every row of tokens, in order.

    Equal rows are read once and get equal parameters, because rounding in different batches would break ties.
    The keyword arguments are those of :func:`score_items`. The model is evaluated, and its mode is restored afterwards.
    """
    # Lists cannot be keys of a mapping.
    keys = [tuple(row) for row in ids]
    rows = list(dict.fromkeys(keys))
    known = {} if kept is None else {row: kept.get(row) for row in rows}
    params = {row: outputs for row, outputs in known.items() if outputs is not None}
    places = length_batches([len(row) for row in rows], batch_tokens, batch_size)
    batches = [[rows[place] for place in batch] for batch in places]
    # A batch is computed whole or not at all, so that a resumed run rounds like an uninterrupted one.
    batches = [batch for batch in batches if any(row not in params for row in batch)]
    done = len(rows) - sum(map(len, batches))
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad(), progress_bar(title, "answer", len(rows), done, shown=bool(title)) as bar:
            for batch in batches:
                found = model(*collate(batch, pad, model.device)).tolist()
                if kept is not None:
                    kept.add(batch, found)
                for row, outputs in zip(batch, found, strict=True):
                    # Kept outputs stay, although their batch was computed again.
                    params.setdefault(row, outputs)
                bar.update(len(batch))
    finally:
        model.train(was_training)
    return [params[key] for key in keys]
