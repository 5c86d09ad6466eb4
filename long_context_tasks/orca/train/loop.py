"""Training: stages one after the other; each ends with the model of the epoch that has the lowest loss on the development part.

A run can be stopped at any moment; the same call goes on from the last step that was saved, and the loss curve is that of a run that was never stopped (bit
for bit on a CPU). Everything random is a function of the seed and the step, also the dropout, so the number of processes changes no more than rounding.

``accelerate launch`` or ``torchrun`` starts several processes. Each holds the whole model and computes its parts of every step; gradients and predictions
are joined, so that all processes decide alike.
"""

import contextlib
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.nn import Parameter

from long_context_tasks.orca.checkpoint import (
    choose_device,
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
from long_context_tasks.orca.model import OrcaModel, collate, get_head, length_batches
from long_context_tasks.orca.progress import Progress
from long_context_tasks.orca.scoring import predict
from long_context_tasks.orca.train.folder import (
    LOG,
    STATE,
    State,
    add_to_log,
    cut_log,
    finish,
    is_finished,
    opened_run,
    read_state,
    tidy_stage,
    work_folder,
    write_state,
)
from long_context_tasks.orca.train.plan import (
    CLIP,
    HEAD_FACTOR,
    LORA_ALPHA,
    LORA_DROPOUT,
    QUICK_SAVE,
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
"""Between the name of an optimizer's tensor and that of its parameter, in the file of a state."""


@dataclass(frozen=True)
class Start:
    """Where the first stage begins.

    Attributes:
        model: folder or hub id of a language model; or None.
        checkpoint: an ORCA checkpoint in its place; or None.
        head: name; that of the checkpoint, if there is one.
    """

    model: str | None
    checkpoint: Path | None
    head: str


class Processes:
    """The processes of this run.

    Attributes:
        rank: number of this process, from 0.
        count: of all.
        device: where this one computes.
    """

    def __init__(self, device: str = "auto") -> None:
        """Join the others.

        Args:
            device: of torch; ``auto`` takes the GPU when there is one. Of several processes each takes its own GPU.
        """
        chosen, _ = choose_device(device, "auto")
        with named_failures("accelerate"):
            from accelerate import PartialState

            self._state = PartialState(cpu=chosen.startswith("cpu"))
        self.rank: int = self._state.process_index
        self.count: int = self._state.num_processes
        self.device: str = chosen if self.count == 1 else str(self._state.device)

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.count > 1:
            self._state.wait_for_everyone()

    def share(self, items: Sequence[Any]) -> list[tuple[int, Any]]:
        """Return the part of this process of a list that all have, each item with its place in the list."""
        return [(place, item) for place, item in enumerate(items) if place % self.count == self.rank]

    def join(self, parts: Sequence[tuple[int, Any]]) -> list[Any]:
        """Join the parts of all processes into one list in the order of the places; the same in every process."""
        found = list(parts)
        if self.count > 1:
            from accelerate.utils import gather_object

            found = gather_object(found)
        return [item for _, item in sorted(found, key=lambda part: part[0])]

    def sum_gradients(self, parameters: Sequence[Parameter]) -> None:
        """Add up the gradients of all processes; a process that had nothing to compute adds nothing."""
        if self.count == 1:
            return
        from accelerate.utils import reduce

        for each in parameters:
            grad = torch.zeros_like(each) if each.grad is None else each.grad
            each.grad = reduce(grad, reduction="sum")


def train(
    stages: Sequence[Stage],
    dev: Sequence[OrcaItem],
    start: Start,
    settings: TrainSettings,
    output: Path,
    *,
    processes: Processes,
    args: Mapping[str, Any] | None = None,
    progress: bool = False,
    report: Report = lambda _: None,
) -> bool:
    """Train, or go on with a training that was stopped; the checkpoint is at ``output`` when it is finished.

    Args:
        stages: at least one.
        dev: development part, with ratings.
        start: model or checkpoint.
        settings: see there.
        output: the checkpoint's place; nothing or an empty folder may be there, or the result of just this run.
        processes: of this run.
        args: further arguments that distinguish runs and belong in ``args.yaml``, such as check sums of the data.
        progress: show a bar.
        report: takes lines for the user.

    Returns:
        False when the result was there already.

    Raises:
        InputError: the model or the place cannot be used, a run with other arguments is there, no item fits the window, or the loss
            is not a number.
    """
    output = output.absolute()
    # A run goes on only where it computes as before.
    kind = {"precision": _precision(processes.device), "score_type": start.head}
    args = {**settings.args(), **(args or {}), **kind}
    report = report if processes.is_first else lambda _: None
    work = work_folder(output)
    finished = is_finished(output, args)
    if not finished:
        opened = opened_run(output, args) if processes.is_first else contextlib.nullcontext()
        folders = [work / f"{number}-{stage.name}" for number, stage in enumerate(stages, start=1)]
        devices = [processes.device] if processes.device.startswith("cuda") else []
        with opened, torch.random.fork_rng(devices=devices):
            if processes.is_first:
                for folder in folders:
                    tidy_stage(folder)
            processes.wait()
            for number, stage in enumerate(stages):
                before = folders[number - 1] / "best" if number else start.checkpoint
                _Run(stage, dev, settings, processes, folders[number], args, report).go(
                    start, before, progress
                )
            if processes.is_first:
                finish(output, work, folders)
                if doubt := doubt_of(output):
                    report(f"warning: {doubt}")
    processes.wait()
    if processes.is_first:
        shutil.rmtree(work, ignore_errors=True)
    return not finished


def _precision(device: str) -> str:
    """Return how a device computes: frozen weights in bfloat16 and autocast on a GPU, as the released code does, else float32."""
    return "fp32" if device.startswith("cpu") else "bf16"


def _trainable(
    start: Start, checkpoint: Path | None, settings: TrainSettings, device: str
) -> tuple[OrcaModel, Any]:
    """Load the model of a checkpoint, or a language model with a fresh head, in training mode; and its tokenizer.

    Under ``lora`` an adapter goes on being trained, and a model without one gets a fresh one; otherwise an adapter is merged. Only what is trained
    takes gradients.
    """
    lora = settings.method == "lora"
    # Trained weights stay in float32, since small steps are lost in bfloat16.
    dtype = "bfloat16" if _precision(device) == "bf16" and lora else "float32"
    if checkpoint is not None:
        found = load_checkpoint(checkpoint, device="cpu", dtype=dtype, trainable=lora)
        model, tokenizer = found.model, found.tokenizer
        if lora and not hasattr(model.lm, "peft_config"):
            model.lm = _adapted(model.lm, settings)
    else:
        tokenizer = load_tokenizer(str(start.model))
        lm = load_lm(str(start.model), dtype)
        lm = _adapted(lm, settings) if lora else lm
        torch.manual_seed(seed_of("head", settings.seed))
        model = OrcaModel(lm, get_head(start.head))
    if not lora:
        # The vocabulary projection is never run, so it must not wait for gradients.
        model.lm.requires_grad_(False)
        model.body().requires_grad_(True)
    return model.to(device).train(), tokenizer


def _adapted(lm: Any, settings: TrainSettings) -> Any:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=LORA_ALPHA,
        lora_dropout=LORA_DROPOUT,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    torch.manual_seed(seed_of("adapter", settings.seed))
    return get_peft_model(lm, config)


def _optimizer(model: OrcaModel, settings: TrainSettings) -> torch.optim.AdamW:
    """Make AdamW; matrices of the language model decay, the head has another rate. The groups keep their rates as ``peak``."""
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
class _Run:
    """One stage."""

    stage: Stage
    dev_items: Sequence[OrcaItem]
    settings: TrainSettings
    processes: Processes
    folder: Path
    args: Mapping[str, Any]
    report: Report
    kept_at: float = 0.0
    keeping: float = 0.0

    def go(self, start: Start, before: Path | None, progress: bool) -> None:
        """Train until the stage is done, from the checkpoint before it."""
        self.state, saved = read_state(self.folder)
        if self.state.done:
            return
        settings = self.settings
        with named_failures(f"model {before or start.model}"):
            self.model, self.tokenizer = _trainable(start, before, settings, self.processes.device)
        self.pad = self.tokenizer.pad_token_id or 0
        self.optimizer = _optimizer(self.model, settings)
        if saved:
            self._restore(saved)
        self.train_set = self._fitting(self.stage.items, f"stage {self.stage.name}")
        self.dev_set = self._fitting(self.dev_items, "development part")
        if self.processes.is_first:
            cut_log(self.folder / LOG, self.state)
        an_epoch = steps_per_epoch(len(self.train_set), settings.batch_size)
        steps = settings.epochs * an_epoch
        self.report(
            f"stage {self.stage.name}: {len(self.train_set)} answers, {steps} steps"
            + (f", going on after step {self.state.step}" if saved else "")
        )
        shown = progress and self.processes.is_first
        with Progress(f"stage {self.stage.name}", "step", steps, self.state.step, shown=shown) as bar:
            while not self.state.done:
                if self.state.evaluated < self.state.step and self.state.step % an_epoch == 0:
                    self.state = self._evaluated(self.state, ended=self.state.step == steps)
                    self._keep(always=True)
                else:
                    loss = self._step(self.state.step, steps, an_epoch)
                    self.state = replace(self.state, step=self.state.step + 1)
                    bar.update(note=f"loss {loss:.3f}")
                    self._keep()
        state = self.state
        best = f"loss {state.best:.4f} on the development part after step {state.best_step}"
        self.report(f"stage {self.stage.name}: {steps} steps; best: {best}")
        guess = self.model.head.loss_of_guess()
        if state.best is not None and state.best > guess:
            self.report(
                f"warning: that is no better than {guess:.4f}, the loss of a guess to which every rating is as likely as any other: this judge has "
                "learned nothing. Train longer, or with a lower --lr"
            )

    def _fitting(self, items: Sequence[OrcaItem], what: str) -> list[tuple[OrcaItem, Encoded]]:
        """Return the items that fit the window, in tokens."""
        window = self.model.window_within(self.settings.window)
        encoded = encode_items(items, self.tokenizer, self.settings.form, window)
        kept = [(item, each) for item, each in zip(items, encoded, strict=True) if each.fits]
        shortened = sum(each.dropped > 0 for each in encoded)
        if shortened:
            self.report(f"{what}: {shortened} contexts shortened to the window of {window} tokens")
        if len(kept) < len(items):
            self.report(
                f"{what}: {len(items) - len(kept)} answers left out, longer than the window of {window} tokens without any context"
            )
        if not kept:
            raise InputError(f"{what}: no answer fits the window of {window} tokens; raise --window")
        return kept

    def _autocast(self) -> torch.autocast:
        kind = torch.device(self.processes.device).type
        enabled = _precision(self.processes.device) == "bf16"
        return torch.autocast(kind, torch.bfloat16, enabled=enabled)

    def _terms(self, ratings: Sequence[Sequence[float]]) -> int:
        """Count the terms of the loss of some items: one for each rating, or under the bernoulli head for each item."""
        return len(ratings) if self.model.head.name == "bernoulli" else sum(map(len, ratings))

    def _step(self, step: int, steps: int, an_epoch: int) -> float:
        """Do a step on all processes and return the loss of a rating."""
        settings, model = self.settings, self.model
        places = step_items(len(self.train_set), settings.batch_size, step, settings.seed, self.folder.name)
        ids = [self.train_set[place][1].ids for place in places]
        ratings = [self.train_set[place][0].ratings for place in places]
        terms = self._terms(ratings)
        losses = []
        batches = length_batches([len(row) for row in ids], settings.batch_tokens, settings.batch_size)
        for number, batch in self.processes.share(batches):
            torch.manual_seed(seed_of("dropout", settings.seed, self.folder.name, step, number))
            labels = model.head.labels([ratings[place] for place in batch]).to(model.device)
            with self._autocast():
                params = model(*collate([ids[place] for place in batch], self.pad, model.device))
            loss = model.head.loss(params, labels).sum() / terms
            loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
            losses.append((number, loss.item()))
        loss_of_all = math.fsum(self.processes.join(losses))
        parameters = [each for each in model.parameters() if each.requires_grad]
        self.processes.sum_gradients(parameters)
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, CLIP))
        self._check_finite("loss", loss_of_all, step + 1)
        self._check_finite("gradient", norm, step + 1)
        share = rate(step, steps)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self._log(
            {
                "stage": self.stage.name,
                "step": step + 1,
                "epoch": (step + 1) / an_epoch,
                "loss": loss_of_all,
                "ratings": sum(map(len, ratings)),
                "lr": settings.peak_lr * share,
                "grad_norm": norm,
            }
        )
        return loss_of_all

    def _check_finite(self, what: str, value: float, step: int) -> None:
        if not math.isfinite(value):
            if self.state.best is None and self.processes.is_first:
                # The same arguments lead here again; those that are put right must find their place free.
                (self.folder / STATE).unlink(missing_ok=True)
            raise InputError(
                f"stage {self.stage.name}, step {step}: the {what} is not a number ({value}); nothing of this step was "
                "kept. Train anew with a lower --lr under another --out"
            )

    def _evaluated(self, state: State, ended: bool) -> State:
        """Evaluate on the development part, the same in every process; keep the model when it is the best so far."""
        settings, head = self.settings, self.model.head
        mine = self.processes.share([each.ids for _, each in self.dev_set])
        with self._autocast():
            found = predict(
                self.model,
                [row for _, row in mine],
                self.pad,
                batch_tokens=settings.batch_tokens,
                batch_size=settings.batch_size,
            )
        joined = self.processes.join([(place, row) for (place, _), row in zip(mine, found, strict=True)])
        params = torch.tensor(joined)
        items = [item for item, _ in self.dev_set]
        ratings = [item.ratings for item in items]
        loss = head.loss(params, head.labels(ratings)).sum().item() / self._terms(ratings)
        self._check_finite("loss", loss, state.step)
        mean, variance = (each.tolist() for each in head.moments(params))
        figures = item_agreement(items, mean, None if head.quantiles is None else variance)
        gains = state.best is None or loss < state.best
        if gains:
            state = replace(state, best_step=state.step, best=loss)
        row = {"loss": loss, **asdict(figures)}
        self._log({"stage": self.stage.name, "step": state.step, "dev": row, "best": gains})
        if gains and self.processes.is_first:
            metrics = {"stage": self.stage.name, "step": state.step, "dev": row}
            learned = [item for item, _ in self.train_set]
            agreement = HeldOutAgreement.measure(learned, items, mean)
            best = self.folder / "best"
            save_checkpoint(best, self.model, self.tokenizer, self.args, metrics=metrics, agreement=agreement)
        self.processes.wait()
        return replace(state, evaluated=state.step, done=ended)

    def _keep(self, always: bool = False) -> None:
        """Save the step, so that a run that is stopped goes on after it, unless saving would take much of the time."""
        began = time.monotonic()
        soon = began - self.kept_at < SAVE_SHARE * self.keeping and self.keeping > QUICK_SAVE
        if not self.processes.is_first or (soon and not always):
            return
        tensors = {}
        for name, each in self.model.named_parameters():
            if each.requires_grad:
                tensors[name] = each.detach().contiguous()
                tensors |= {f"{part}{_OF}{name}": value for part, value in self.optimizer.state[each].items()}
        write_state(self.folder, self.state, tensors)
        self.kept_at = time.monotonic()
        self.keeping = self.kept_at - began

    def _restore(self, saved: Mapping[str, torch.Tensor]) -> None:
        """Put trained weights and the optimizer's state back as they were after the step that was saved."""
        parameters = dict(self.model.named_parameters())
        for key, value in saved.items():
            part, _, name = key.rpartition(_OF)
            parameter = parameters[name]
            if not part:
                parameter.data.copy_(value)
            else:
                # Like torch itself: the count of steps stays on the CPU.
                place = "cpu" if part == "step" else parameter.device
                self.optimizer.state[parameter][part] = value.to(place)

    def _log(self, row: Mapping[str, Any]) -> None:
        if self.processes.is_first:
            add_to_log(self.folder / LOG, row)
