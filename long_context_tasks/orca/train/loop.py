"""Training: stages one after the other, each until its steps are done or the development part no longer gains.

A run can be stopped at any moment; the same call goes on from its last checkpoint, and the loss curve is that of a run that was never stopped (bit for bit
on a CPU). Everything random is a function of the seed and the step, also the dropout, so the number of processes changes no more than rounding.
"""

import contextlib
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from long_context_tasks.orca.checkpoint import save_checkpoint
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.heads import Head
from long_context_tasks.orca.inputs import encode_items
from long_context_tasks.orca.metrics import COMPOSITES, Agreement, composite_of, item_agreement
from long_context_tasks.orca.model import collate, length_batches
from long_context_tasks.orca.scoring import predict
from long_context_tasks.orca.train.folder import (
    LOG,
    OPTIMIZER,
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
    Measure,
    Stage,
    TrainSettings,
    rate,
    seed_of,
    step_items,
    steps_per_epoch,
)
from long_context_tasks.orca.train.trainable import (
    Processes,
    Trainable,
    from_checkpoint,
    gradient_norm,
    new_model,
)
from long_context_tasks.schema import InputError

Report = Callable[[str], None]


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


@dataclass(frozen=True)
class _Examples:
    """Items that fit the window, in tokens; the ratings are on 1 ... 5."""

    items: list[OrcaItem]
    ids: list[Sequence[int]]

    def __len__(self) -> int:
        return len(self.items)


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
    settings = settings.resolved(processes.device)
    output = output.absolute()
    args = {**settings.args(), **(args or {}), "score_type": start.head}
    report = report if processes.is_first else lambda _: None
    work = work_folder(output)
    if is_finished(output, args):
        processes.wait()
        if processes.is_first:
            shutil.rmtree(work, ignore_errors=True)
        return False
    opened = opened_run(output, args) if processes.is_first else contextlib.nullcontext()
    folders = [work / f"{number}-{stage.name}" for number, stage in enumerate(stages, start=1)]
    devices = [processes.device] if processes.device.startswith("cuda") else []
    with opened, torch.random.fork_rng(devices=devices):
        if processes.is_first:
            for folder in folders:
                tidy_stage(folder)
        processes.wait()
        for number, stage in enumerate(stages):
            before = folders[number - 1] / "best" if number else None
            _Run(stage, dev, settings, processes, folders[number], args, report).go(start, before, progress)
        if processes.is_first:
            finish(output, work, folders)
    processes.wait()
    if processes.is_first:
        shutil.rmtree(work, ignore_errors=True)
    return True


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

    def go(self, start: Start, before: Path | None, progress: bool) -> None:
        """Train until the stage is done."""
        last = self.folder / "last"
        resumed = last.is_dir()
        state = read_state(last) if resumed else State()
        if state.done:
            return
        self.made = self._load(start, last if resumed else before)
        self.optimizer = self.made.optimizer(self.settings)
        if resumed:
            self.optimizer.load_state_dict(
                torch.load(last / OPTIMIZER, map_location="cpu", weights_only=True)["optimizer"]
            )
        self.train_set = self._examples(self.stage.items, f"stage {self.stage.name}")
        self.dev_set = self._examples(self.dev_items, "development part")
        if self.processes.is_first:
            cut_log(self.folder / LOG, state.step)
        an_epoch = steps_per_epoch(len(self.train_set), self.settings.batch_size)
        steps = self.settings.steps or self.settings.epochs * an_epoch
        every = self.settings.eval_steps or an_epoch
        self.report(
            f"stage {self.stage.name}: {len(self.train_set)} answers, {steps} steps"
            + (f", going on after step {state.step}" if resumed else "")
        )
        hidden = None if progress and self.processes.is_first else True
        with tqdm(total=steps, initial=state.step, desc=self.stage.name, unit="step", disable=hidden) as bar:
            while not state.done:
                loss = self._step(state.step, steps, an_epoch)
                state = replace(state, step=state.step + 1)
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                ended = state.step >= steps
                evaluated = ended or state.step % every == 0
                if evaluated:
                    state = self._evaluated(state, ended)
                if evaluated or state.step % self.settings.save_steps == 0:
                    self._save("last", state)
        name, _ = MEASURES[self.settings.select]
        best = f"{name} {state.best:.4f} on the development part after step {state.best_step}"
        self.report(f"stage {self.stage.name}: {state.step} of {steps} steps; best: {best}")
        guess = self.made.model.head.loss_of_guess()
        if self.settings.select == "loss" and state.best is not None and state.best > guess:
            self.report(
                f"warning: that is no better than {guess:.4f}, the loss of a guess to which every rating is as likely as any other: this judge has "
                "learned nothing. Train longer, or with a lower --lr"
            )

    def _load(self, start: Start, checkpoint: Path | None) -> Trainable:
        checkpoint = checkpoint or start.checkpoint
        if checkpoint is not None:
            return from_checkpoint(checkpoint, self.settings, self.processes.device)
        return new_model(str(start.model), start.head, self.settings, self.processes.device)

    def _examples(self, items: Sequence[OrcaItem], what: str) -> _Examples:
        model, settings = self.made.model, self.settings
        limits = [limit for limit in (settings.window, model.window) if limit is not None]
        window = min(limits) if limits else None
        encoded = encode_items(items, self.made.tokenizer, settings.form, window)
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
        return _Examples([item for item, _ in kept], [each.ids for _, each in kept])

    def _step(self, step: int, steps: int, an_epoch: int) -> float:
        """Do a step on all processes and return the loss of a rating."""
        settings, model = self.settings, self.made.model
        places = step_items(len(self.train_set), settings.batch_size, step, settings.seed, self.folder.name)
        ids = [self.train_set.ids[place] for place in places]
        ratings = [self.train_set.items[place].ratings for place in places]
        terms = _terms(model.head, ratings)
        losses = []
        batches = length_batches([len(row) for row in ids], settings.batch_tokens, settings.batch_size)
        for number, batch_places in self.processes.share(batches):
            torch.manual_seed(seed_of("dropout", settings.seed, self.folder.name, step, number))
            batch = collate(
                [ids[place] for place in batch_places],
                self.made.pad,
                device=model.device,
                ratings=[ratings[place] for place in batch_places],
                head=model.head,
            )
            assert batch.labels is not None
            with autocast(settings, self.processes.device):
                params = model(batch.input_ids, batch.lengths)
            loss = model.head.loss(params, batch.labels).sum() / terms
            loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
            losses.append((number, loss.item()))
        loss_of_all = math.fsum(self.processes.join(losses))
        parameters = self.made.parameters()
        self.processes.sum_gradients(parameters)
        norm = gradient_norm(parameters, settings.clip)
        self._check_finite(loss_of_all, norm, step + 1)
        share = rate(step, steps, settings.warmup)
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
                "lr": (settings.lr or 0) * share,
                "grad_norm": norm,
            }
        )
        return loss_of_all

    def _check_finite(self, loss: float, norm: float, step: int) -> None:
        if math.isfinite(loss) and math.isfinite(norm):
            return
        what = "the loss is not a number" if not math.isfinite(loss) else "the gradient is not a number"
        raise InputError(
            f"stage {self.stage.name}, step {step}: {what} ({loss if not math.isfinite(loss) else norm}); nothing of this step was "
            "kept. Train anew with a lower --lr, or with --precision fp32 where it was bf16, under another --out"
        )

    def _evaluated(self, state: State, ended: bool) -> State:
        """Evaluate on the development part; keep the model when it is the best so far."""
        loss, figures = evaluate(
            self.made, self.dev_set.items, self.dev_set.ids, self.settings, self.processes
        )
        if not math.isfinite(loss):
            self._check_finite(loss, 0.0, state.step)
        _, value_of = MEASURES[self.settings.select]
        value = value_of(loss, figures)
        gains = not math.isnan(value) and (state.best is None or value < state.best)
        if state.best is None and math.isnan(value):
            # Nothing to compare yet, as when all predictions are equal; but a stage needs a best checkpoint.
            gains, value = True, math.inf
        without = 0 if gains else state.without_gain + 1
        state = State(
            step=state.step,
            best_step=state.step if gains else state.best_step,
            best=value if gains else state.best,
            without_gain=without,
            done=ended or without >= self.settings.patience,
        )
        row = {"loss": loss, **asdict(figures)}
        self._log({"stage": self.stage.name, "step": state.step, "dev": row, "best": gains})
        if gains:
            self._save("best", metrics={"stage": self.stage.name, "step": state.step, "dev": row})
        return state

    def _save(self, name: str, state: State | None = None, metrics: Mapping[str, Any] | None = None) -> None:
        """Save the model; with a state also what a resumed run needs."""
        if self.processes.is_first:

            def also(part: Path) -> None:
                if state is not None:
                    torch.save({"optimizer": self.optimizer.state_dict()}, part / OPTIMIZER)
                    write_state(part, state)

            made = self.made
            save_checkpoint(
                self.folder / name, made.model, made.tokenizer, self.args, metrics=metrics, also=also
            )
        self.processes.wait()

    def _log(self, row: Mapping[str, Any]) -> None:
        if self.processes.is_first:
            add_to_log(self.folder / LOG, row)


@contextlib.contextmanager
def autocast(settings: TrainSettings, device: str) -> Iterator[None]:
    """Compute in bfloat16 under ``bf16``."""
    with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=settings.precision == "bf16"):
        yield


def _terms(head: Head, ratings: Sequence[Sequence[float]]) -> int:
    """Count the terms of the loss of some items: one for each rating, or under the bernoulli head for each item."""
    return len(ratings) if head.name == "bernoulli" else sum(map(len, ratings))


def evaluate(
    made: Trainable,
    items: Sequence[OrcaItem],
    ids: Sequence[Sequence[int]],
    settings: TrainSettings,
    processes: Processes,
) -> tuple[float, Agreement]:
    """Compute the loss of a rating and the agreement, the same in every process."""
    model = made.model
    mine = processes.share(ids)
    with autocast(settings, processes.device):
        found = predict(
            model,
            [row for _, row in mine],
            made.pad,
            batch_tokens=settings.batch_tokens,
            batch_size=settings.batch_size,
        )
    params = torch.tensor(processes.join([(place, row) for (place, _), row in zip(mine, found, strict=True)]))
    ratings = [item.ratings for item in items]
    loss = model.head.loss(params, model.head.labels(ratings)).sum().item() / _terms(model.head, ratings)
    mean, variance = (each.tolist() for each in model.head.moments(params))
    return loss, item_agreement(items, mean, None if model.head.quantiles is None else variance)


_Figures = Callable[[float, Agreement], float]
MEASURES: dict[Measure, tuple[str, _Figures]] = {
    "loss": ("loss", lambda loss, _: loss),
    "mae": ("MAE", lambda _, figures: figures.mae),
    "rho": ("-rho", lambda _, figures: -figures.rho),
    "composite": ("-(rho + tau - MAE)", lambda _, figures: -composite_of(figures, COMPOSITES["paper"])),
}
"""Name of each measure of a gain in words, and the value to make small, from the loss of a rating and the agreement."""
