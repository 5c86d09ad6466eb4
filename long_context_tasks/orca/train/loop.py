"""Training in stages; each ends with the model from the epoch with the lowest development loss.

A run can be stopped at any time. The same call continues after the last saved step, with the loss curve of an
uninterrupted run (bit for bit on a CPU). All randomness, including dropout, is a function of the seed and the
step.
"""

import math
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from long_context_tasks.orca.checkpoint import (
    Dtype,
    load_checkpoint,
    load_lm,
    load_tokenizer,
    named_failures,
    save_checkpoint,
)
from long_context_tasks.orca.controls import HeldOutAgreement, doubt_of
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import Encoded, encode_items
from long_context_tasks.orca.metrics import item_agreement
from long_context_tasks.orca.model import HEADS, OrcaModel, collate, length_batches
from long_context_tasks.orca.scoring import predict, progress_bar
from long_context_tasks.orca.train.folder import (
    STATE,
    StageState,
    finish,
    is_finished,
    opened_run,
    read_state,
    work_folder,
    write_state,
)
from long_context_tasks.orca.train.plan import (
    CLIP,
    HEAD_FACTOR,
    LORA_ALPHA,
    LORA_DROPOUT,
    SAVE_SHARE,
    WEIGHT_DECAY,
    Stage,
    TrainSettings,
    rate,
    seed_of,
    step_items,
    steps_per_epoch,
)
from long_context_tasks.schema import InputError

Report = Callable[[str], None]
_OF = " of "
"""Separates the names of an optimizer tensor and its parameter in the state file."""


def train(
    stages: Sequence[Stage],
    dev: Sequence[OrcaItem],
    settings: TrainSettings,
    output: Path,
    *,
    device: str = "cpu",
    args: Mapping[str, Any] | None = None,
    report: Report = lambda _: None,
) -> bool:
    """Train, or resume an interrupted training; the checkpoint appears at ``output`` when training finishes.

    Returns False if ``output`` already holds the result of the same run.
    """
    output = output.absolute()
    # A run is resumed only on the same kind of device, because others round differently.
    kind = {"precision": _precision(device), "score_type": settings.head}
    args = {**settings.args(), **(args or {}), **kind}
    if not (finished := is_finished(output, args)):
        # Training seeds torch at every step; the caller's generators are restored afterwards.
        devices = [device] if device.startswith("cuda") else []
        with opened_run(output, args), torch.random.fork_rng(devices=devices):
            # Another process may have finished since the first look.
            if not (finished := is_finished(output, args)):
                start, log = settings.init, []
                for number, stage in enumerate(stages, start=1):
                    folder = work_folder(output) / f"{number}-{stage.name}"
                    log += _StageTraining(stage, dev, settings, device, folder, args, report).run(start)
                    start = folder / "best"
                assert start is not None  # there is at least one stage
                finish(output, start, log)
        if not finished and (doubt := doubt_of(output)):
            report(f"warning: {doubt}")
    shutil.rmtree(work_folder(output), ignore_errors=True)
    return not finished


def _precision(device: str) -> str:
    """Return a device's precision: bfloat16 with autocast on a GPU, as released; float32 on a CPU."""
    return "fp32" if device.startswith("cpu") else "bf16"


def _trainable(checkpoint: Path | None, settings: TrainSettings, device: str) -> tuple[OrcaModel, Any]:
    """Load a model, in training mode, and its tokenizer: a checkpoint, or a language model with a new head.

    With ``lora``, an existing adapter is trained further, and a model without one gets a new one. With
    ``full``, an adapter is merged. Only trained weights have gradients.
    """
    lora = settings.method == "lora"
    # Trained weights stay in float32, because bfloat16 rounds away small updates.
    dtype: Dtype = "bfloat16" if _precision(device) == "bf16" and lora else "float32"
    if checkpoint is not None:
        found = load_checkpoint(checkpoint, device="cpu", dtype=dtype, trainable=lora)
        model, tokenizer = found.model, found.tokenizer
        if lora and not hasattr(model.lm, "peft_config"):
            model.lm = _adapted(model.lm, settings)
    else:
        tokenizer = load_tokenizer(str(settings.model))
        lm = load_lm(str(settings.model), dtype)
        lm = _adapted(lm, settings) if lora else lm
        torch.manual_seed(seed_of("head", settings.seed))
        assert settings.head is not None  # run_training checks it
        model = OrcaModel(lm, HEADS[settings.head])
    if not lora:
        # The vocabulary projection is never run, so it would never get the gradients that multi-process
        # training would wait for.
        model.lm.requires_grad_(False)
        model.body().requires_grad_(True)
    return model.to(device).train(), tokenizer


def _adapted(lm: Any, settings: TrainSettings) -> Any:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=LORA_ALPHA,
        lora_dropout=LORA_DROPOUT,
        # As usual for LoRA; the paper does not name the adapted layers.
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    # peft initialises the adapter from torch's generator.
    torch.manual_seed(seed_of("adapter", settings.seed))
    return get_peft_model(lm, config)


def _optimizer(model: OrcaModel, settings: TrainSettings) -> torch.optim.AdamW:
    """Return AdamW with weight decay only on the language model's matrices and a higher rate for the head.

    Each group stores its peak rate as ``peak``.
    """
    own = {id(each) for each in model.lm.parameters()}
    trained = [each for each in model.parameters() if each.requires_grad]
    body = [each for each in trained if id(each) in own]
    groups = [
        ([each for each in body if each.ndim > 1], settings.peak_lr, WEIGHT_DECAY),
        ([each for each in body if each.ndim <= 1], settings.peak_lr, 0.0),
        ([each for each in trained if id(each) not in own], HEAD_FACTOR * settings.peak_lr, 0.0),
    ]
    return torch.optim.AdamW(
        [
            {"params": params, "lr": lr, "peak": lr, "weight_decay": decay}
            for params, lr, decay in groups
            if params
        ]
    )


@dataclass
class _StageTraining:
    """The training of one stage; ``saved_at`` and ``saving`` are the last save's time and duration (s)."""

    stage: Stage
    dev_items: Sequence[OrcaItem]
    settings: TrainSettings
    device: str
    folder: Path
    args: Mapping[str, Any]
    report: Report
    saved_at: float = 0.0
    saving: float = 0.0

    def run(self, start: Path | None) -> list[dict[str, Any]]:
        """Train from a checkpoint or from the settings' language model; return the log rows."""
        saved: Iterable[tuple[str, torch.Tensor]] = ()
        self.state = StageState(self.args)
        if (self.folder / STATE).is_file():
            self.state, saved = read_state(self.folder / STATE)
        if self.state.done:
            return self.state.log
        self._load(start, saved)
        name = f"stage {self.stage.name}"
        an_epoch = steps_per_epoch(len(self.train_set), self.settings.batch_size)
        steps = self.settings.epochs * an_epoch
        resumed = f", going on after step {self.state.step}" if self.state.step else ""
        self.report(f"{name}: {len(self.train_set)} answers, {steps} steps{resumed}")
        with progress_bar(name, "step", steps, self.state.step) as bar:
            for step in range(self.state.step + 1, steps + 1):
                row = self._step(step, steps, an_epoch)
                self.state.log.append(row)
                self.state.step, self.state.done = step, step == steps
                epoch_ended = step % an_epoch == 0
                if epoch_ended:
                    self._evaluate(step)
                self._save(always=epoch_ended)
                bar.set_postfix_str(f"loss {row['loss']:.3f}", refresh=False)
                bar.update()
        best, guess = self.state.best, self.model.head.loss_of_guess()
        self.report(
            f"{name}: {steps} steps; best: loss {best:.4f} on the development part after step {self.state.best_step}"
        )
        if best is not None and best > guess:
            self.report(
                f"warning: that is no better than {guess:.4f}, the loss of a guess that all ratings are equally likely: this judge has learned "
                "nothing. Train longer, or with a lower --lr"
            )
        return self.state.log

    def _load(self, start: Path | None, saved: Iterable[tuple[str, torch.Tensor]]) -> None:
        with named_failures(f"model {start or self.settings.model}"):
            self.model, self.tokenizer = _trainable(start, self.settings, self.device)
        # Any token works, because padding is masked.
        self.pad = self.tokenizer.pad_token_id or 0
        self.optimizer = _optimizer(self.model, self.settings)
        parameters = dict(self.model.named_parameters())
        for key, value in saved:
            part, _, name = key.rpartition(_OF)
            if not part:
                parameters[name].data.copy_(value)
            else:
                # torch keeps the step count on the CPU.
                device = "cpu" if part == "step" else parameters[name].device
                self.optimizer.state[parameters[name]][part] = value.to(device)
        self.train_set = self._fitting(self.stage.items, f"stage {self.stage.name}")
        self.dev_set = self._fitting(self.dev_items, "development part")

    def _fitting(self, items: Sequence[OrcaItem], part: str) -> list[tuple[OrcaItem, Encoded]]:
        window = self.model.window(self.settings.window)
        encoded = encode_items(items, self.tokenizer, self.settings.form, window)
        kept = [(item, each) for item, each in zip(items, encoded, strict=True) if each.fits]
        shortened = sum(each.dropped > 0 for each in encoded)
        if shortened:
            self.report(f"{part}: {shortened} contexts shortened to the window of {window} tokens")
        if len(kept) < len(items):
            self.report(
                f"{part}: {len(items) - len(kept)} answers left out, longer than the window of {window} tokens without any context"
            )
        if not kept:
            raise InputError(f"{part}: no answer fits the window of {window} tokens; raise --window")
        return kept

    def _autocast(self) -> torch.autocast:
        enabled = _precision(self.device) == "bf16"
        return torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=enabled)

    def _terms(self, ratings: Sequence[Sequence[float]]) -> int:
        """Count the terms of the loss: one per rating, or one per item under the bernoulli head."""
        return len(ratings) if self.model.head.name == "bernoulli" else sum(map(len, ratings))

    def _step(self, step: int, steps: int, an_epoch: int) -> dict[str, Any]:
        """Run one step, counted from 1; return its log row."""
        settings, model = self.settings, self.model
        chosen = step_items(
            len(self.train_set), settings.batch_size, step - 1, settings.seed, self.folder.name
        )
        ids = [self.train_set[index][1].ids for index in chosen]
        ratings = [self.train_set[index][0].ratings for index in chosen]
        terms = self._terms(ratings)
        losses = []
        # A step has few items, which fill a GPU only together.
        lengths = [len(row) for row in ids]
        batches = length_batches(lengths, settings.batch_tokens, settings.batch_size, math.inf, math.inf)
        for number, batch in enumerate(batches):
            torch.manual_seed(seed_of("dropout", settings.seed, self.folder.name, step - 1, number))
            labels = model.head.labels([ratings[index] for index in batch]).to(model.device)
            with self._autocast():
                params = model(*collate([ids[index] for index in batch], self.pad, model.device))
            # Divided by the terms of the whole step, so that micro-batches add up to its mean.
            loss = model.head.loss(params, labels).sum() / terms
            loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
            losses.append(loss.item())
        total = math.fsum(losses)
        parameters = [each for each in model.parameters() if each.requires_grad]
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, CLIP))
        self._check_finite("loss", total, step)
        self._check_finite("gradient", norm, step)
        share = rate(step - 1, steps)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        row = {"stage": self.stage.name, "step": step, "epoch": step / an_epoch, "loss": total}
        return row | {
            "ratings": sum(map(len, ratings)),
            "lr": settings.peak_lr * share,
            "grad_norm": norm,
        }

    def _check_finite(self, name: str, value: float, step: int) -> None:
        if not math.isfinite(value):
            if self.state.best is None:
                # Rerunning with the same arguments would fail again; corrected ones must find no saved run.
                (self.folder / STATE).unlink(missing_ok=True)
            raise InputError(
                f"stage {self.stage.name}, step {step}: the {name} is not a number ({value}); nothing of this step was "
                "kept. Train again with a lower --lr under another --out"
            )

    def _evaluate(self, step: int) -> None:
        """Evaluate on the development set; save the model if it is the best so far."""
        settings, head = self.settings, self.model.head
        with self._autocast():
            outputs = predict(
                self.model,
                [encoded.ids for _, encoded in self.dev_set],
                self.pad,
                batch_tokens=settings.batch_tokens,
                batch_size=settings.batch_size,
            )
        params = torch.tensor(outputs)
        items = [item for item, _ in self.dev_set]
        ratings = [item.ratings for item in items]
        loss = head.loss(params, head.labels(ratings)).sum().item() / self._terms(ratings)
        self._check_finite("loss", loss, step)
        mean, variance = (each.tolist() for each in head.moments(params))
        figures = item_agreement(items, mean, None if head.quantiles is None else variance)
        # Strictly lower: on ties the earliest epoch is kept.
        gains = self.state.best is None or loss < self.state.best
        metrics = {"stage": self.stage.name, "step": step, "dev": {"loss": loss, **asdict(figures)}}
        self.state.log.append({**metrics, "best": gains})
        if gains:
            self.state.best_step, self.state.best = step, loss
            learned = [item for item, _ in self.train_set]
            agreement = HeldOutAgreement.measure(learned, items, mean)
            best = self.folder / "best"
            save_checkpoint(best, self.model, self.tokenizer, self.args, metrics=metrics, agreement=agreement)

    def _save(self, always: bool) -> None:
        began = time.monotonic()
        soon = began - self.saved_at < SAVE_SHARE * self.saving
        if soon and not always:
            return
        tensors = {}
        for name, each in self.model.named_parameters():
            if each.requires_grad:
                tensors[name] = each.detach().contiguous()
                tensors |= {f"{part}{_OF}{name}": value for part, value in self.optimizer.state[each].items()}
        write_state(self.folder, self.state, tensors)
        self.saved_at = time.monotonic()
        self.saving = self.saved_at - began
