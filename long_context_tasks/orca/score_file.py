"""Scoring a file of answers: cheap checks precede loading the model, and an interrupted run is resumed."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from long_context_tasks.judges.store import Store
from long_context_tasks.orca.checkpoint import (
    Checkpoint,
    Dtype,
    find_checkpoint,
    fingerprint,
    load_checkpoint,
    named_failures,
)
from long_context_tasks.orca.data import OrcaItem, read_items
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.metrics import Agreement, clamp, find_threshold, item_agreement
from long_context_tasks.orca.results import CLAMPED, CONTROL_FIELDS, result_rows
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value, write_whole
from long_context_tasks.schema.validated import Checked, Number, Whole

if TYPE_CHECKING:
    from long_context_tasks.orca.scoring import KeptPredictions, Scoring


class ScoreSettings(Checked):
    """Scoring settings; the field descriptions double as help for the command's options."""

    base_model: str | None = Field(
        None, description="Base of a LoRA adapter: folder or hub id. Default: the one that the adapter names."
    )
    tokenizer: Path | None = Field(None, description="Folder of the tokenizer, if elsewhere.")
    dtype: Dtype = Field("auto", description="float32, bfloat16; auto: by the device.")
    batch_tokens: Whole = Field(8192, ge=1, description="Maximum tokens computed at once.")
    batch_size: Whole = Field(64, ge=1, description="Maximum answers at once.")
    no_question: bool = Field(False, description="Do not show the question to the model.")
    no_rationale: bool = Field(False, description="Do not show the context.")
    transcript: bool = Field(
        False, description="Show the transcript, too. Default of all three: as in training."
    )
    threshold: Number | None = Field(
        None, ge=0, lt=1, description="Clamp by this variance, instead of --dev."
    )
    controls: bool = Field(
        False,
        description="With --out and ratings: score again with another question's reference, and with none; three times the work.",
    )


@dataclass(frozen=True)
class Clamping:
    threshold: float  # maximum variance at which means near an endpoint were clamped
    # Whether clamping helped on the development set; None if undecidable because all predicted means there
    # are equal.
    useful: bool | None
    changed: int  # number of means that changed
    # before, after: agreement of the predicted and the clamped means
    before: Agreement
    after: Agreement


@dataclass(frozen=True)
class ScoredFile:
    items: Sequence[OrcaItem]
    rows: list[dict[str, Any]]
    means: Sequence[float | None]
    variances: Sequence[float | None]
    # Control name -> its means, in item order.
    controls: Mapping[str, Sequence[float | None]]
    clamping: Clamping | None


def score_file(
    data: Path,
    checkpoint: Path,
    settings: ScoreSettings,
    *,
    out: Path | None,
    dev: Path | None,
    device: str,
    window: int | None,
    report: Callable[[str], None],
) -> ScoredFile:
    """Score a file of answers; if ``out`` is given, the run is resumable, otherwise nothing is written."""
    items = read_items(data)
    dev_items = [] if dev is None else read_items(dev, need_ratings=True)
    _check_options(settings, items, data, out, dev)
    # Checked before importing torch, which takes seconds.
    find_checkpoint(checkpoint)
    with named_failures("scoring"):
        from long_context_tasks.orca.controls import doubt_of, reference_controls
        from long_context_tasks.orca.scoring import score_items
    loaded = load_checkpoint(
        checkpoint,
        device=device,
        dtype=settings.dtype,
        base_model=settings.base_model,
        tokenizer=settings.tokenizer,
    )
    parts = {name: getattr(settings, name) for name in ("no_question", "no_rationale", "transcript")}
    form = InputFormat.of_args(loaded.args).ablated(**parts)
    for warning in filter(None, (doubt_of(loaded.folder), form.lacking(items))):
        report(f"WARNING: {warning}")
    kept = None if out is None else _kept_predictions(out, checkpoint, settings, loaded)
    if kept is not None and len(kept.store):
        report(f"going on with {len(kept.store)} predictions in {kept.store.path}")

    def score(answers: Sequence[OrcaItem], title: str) -> "Scoring":
        return score_items(
            loaded,
            answers,
            form,
            window=window,
            batch_tokens=settings.batch_tokens,
            batch_size=settings.batch_size,
            title=title,
            kept=kept,
        )

    scoring = score(items, "scoring")
    report(str(scoring))
    if scoring.unfit == len(items):
        if kept is not None:
            kept.store.path.unlink()
        raise InputError(
            f"no answer fits the window of {scoring.window} tokens, so nothing was written; raise --window"
        )
    fields: dict[str, Sequence[float | None]] = {}
    clamping = None
    if dev is not None or settings.threshold is not None:
        searched = score(dev_items, "development part") if dev is not None else None
        clamping, fields[CLAMPED] = _clamped(items, scoring, dev_items, searched, settings.threshold)
    controls = reference_controls(items) if settings.controls else []
    means = {name: score(changed, name).means for name, changed in controls}
    fields |= {CONTROL_FIELDS[name]: each for name, each in means.items()}
    rows = result_rows(items, scoring.scores, fields)
    if out is not None and kept is not None:
        write_whole(out, (json.dumps(json_value(row), ensure_ascii=False) + "\n" for row in rows))
        kept.store.path.unlink()
    # The bernoulli head predicts a variance of 0, which is not an estimate.
    spread = loaded.model.head.quantiles is not None
    variances = [each.variance if spread else None for each in scoring.scores]
    return ScoredFile(items, rows, scoring.means, variances, means, clamping)


def _kept_predictions(
    out: Path, checkpoint: Path, settings: ScoreSettings, loaded: Checkpoint
) -> "KeptPredictions":
    from long_context_tasks.orca.scoring import KeptPredictions

    # Predictions made on another device or in another dtype differ by rounding, so they are not mixed.
    computing = f"{loaded.model.device.type} {next(loaded.model.lm.parameters()).dtype}"
    store = Store(out.with_name(f"{out.name}.part"))
    return KeptPredictions(store, f"{fingerprint(checkpoint, settings.base_model)} {computing}")


def _check_options(
    settings: ScoreSettings, items: Sequence[OrcaItem], data: Path, out: Path | None, dev: Path | None
) -> None:
    if out is not None and out.resolve() in {data.resolve(), *([dev.resolve()] if dev else [])}:
        raise InputError(f"{out}: is the file that is scored; choose another --out")
    if out is not None and not out.absolute().parent.is_dir():
        raise InputError(f"{out}: its folder does not exist; make it, or choose another place")
    if settings.controls and (out is None or not any(item.ratings for item in items)):
        raise InputError("--controls needs ratings, and --out for the scores; leave it out, or give both")
    if dev is not None and settings.threshold is not None:
        raise InputError("give --dev, rated answers that the threshold is found on, or --threshold, not both")


def _clamped(
    items: Sequence[OrcaItem],
    scoring: "Scoring",
    dev_items: Sequence[OrcaItem],
    searched: "Scoring | None",
    threshold: float | None,
) -> tuple[Clamping, list[float | None]]:
    """Clamp a file's means at a given threshold, or at one tuned on the development set."""
    useful: bool | None = True
    if searched is not None:
        scored = [
            (float(item.rating_mean or 0), score.mean, score.variance)
            for item, score in zip(dev_items, searched.scores, strict=True)
            if score.mean is not None and score.variance is not None
        ]
        truth, means, variances = zip(*scored, strict=True) if scored else ((), (), ())
        search = find_threshold(truth, means, variances)
        threshold = search.threshold
        useful = None if math.isnan(search.composite_clamped) else threshold > 0
    assert threshold is not None  # the caller gives either a threshold or a development set
    clamped = [
        None if score.mean is None or score.variance is None else clamp(score.mean, score.variance, threshold)
        for score in scoring.scores
    ]
    changed = sum(before != after for before, after in zip(scoring.means, clamped, strict=True))
    figures = item_agreement(items, scoring.means), item_agreement(items, clamped)
    return Clamping(threshold, useful, changed, *figures), clamped
