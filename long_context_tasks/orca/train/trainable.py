"""A model to be trained: new, from an earlier checkpoint, or as it was when a run was stopped; and the processes that train it together.

``accelerate launch`` or ``torchrun`` starts several processes. Each holds the whole model and computes its parts of every step; gradients and predictions
are joined, so that all processes decide alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from long_context_tasks.orca.checkpoint import (
    choose_device,
    load_checkpoint,
    load_lm,
    load_tokenizer,
    named_failures,
)
from long_context_tasks.orca.heads import get_head
from long_context_tasks.orca.model import OrcaModel
from long_context_tasks.orca.train.plan import TrainSettings, seed_of


@dataclass(frozen=True)
class Trainable:
    """A model in training mode, of which only the trained parameters take gradients.

    Attributes:
        model: on its device.
        tokenizer: of transformers.
    """

    model: OrcaModel
    tokenizer: Any

    @property
    def pad(self) -> int:
        """The padding token."""
        return self.tokenizer.pad_token_id or 0

    def parameters(self) -> list[Parameter]:
        """Return all trained parameters, in a fixed order."""
        return [each for each in self.model.parameters() if each.requires_grad]

    def optimizer(self, settings: TrainSettings) -> torch.optim.AdamW:
        """Make AdamW; matrices of the language model decay, the head has another rate. The groups keep their rates as ``peak``."""
        own = {id(each) for each in self.model.lm.parameters()}
        body = [each for each in self.parameters() if id(each) in own]
        head = [each for each in self.parameters() if id(each) not in own]
        groups = [
            ([each for each in body if each.ndim > 1], settings.lr, settings.weight_decay),
            ([each for each in body if each.ndim <= 1], settings.lr, 0.0),
            (head, settings.head_lr, 0.0),
        ]
        return torch.optim.AdamW(
            [
                {"params": params, "lr": lr, "peak": lr, "weight_decay": decay}
                for params, lr, decay in groups
                if params
            ]
        )


def new_model(name: str, head: str, settings: TrainSettings, device: str) -> Trainable:
    """Make a language model with a fresh head, and a fresh adapter under ``lora``.

    Args:
        name: folder or hub id.
        head: its name.
        settings: resolved.
        device: of torch.

    Raises:
        InputError: the model cannot be loaded.
    """
    with named_failures(f"model {name}"):
        tokenizer = load_tokenizer(name)
        lm = load_lm(name, _dtype(settings))
    with torch.random.fork_rng(devices=[]), named_failures(f"model {name}"):
        if settings.method == "lora":
            lm = _adapted(lm, settings)
        torch.manual_seed(seed_of("head", settings.seed))
        model = OrcaModel(lm, get_head(head))
    return _ready(model, tokenizer, settings, device)


def from_checkpoint(folder: Path, settings: TrainSettings, device: str) -> Trainable:
    """Load a model from a checkpoint, to go on with its training.

    Under ``lora`` an adapter goes on being trained, and a checkpoint without one gets a fresh one; under ``full`` an adapter is merged.
    """
    lora = settings.method == "lora"
    dtype = "bfloat16" if _dtype(settings) == torch.bfloat16 else "float32"
    found = load_checkpoint(folder, device="cpu", dtype=dtype, trainable=lora)
    if lora and not hasattr(found.model.lm, "peft_config"):
        with torch.random.fork_rng(devices=[]), named_failures(f"{folder}"):
            found.model.lm = _adapted(found.model.lm, settings)
    return _ready(found.model, found.tokenizer, settings, device)


def _dtype(settings: TrainSettings) -> torch.dtype:
    """Return the type of the frozen weights; trained ones stay in float32, since small steps are lost in bfloat16."""
    return torch.bfloat16 if settings.precision == "bf16" and settings.method == "lora" else torch.float32


def _adapted(lm: Any, settings: TrainSettings) -> Any:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=settings.lora_dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    torch.manual_seed(seed_of("adapter", settings.seed))
    return get_peft_model(lm, config)


def _ready(model: OrcaModel, tokenizer: Any, settings: TrainSettings, device: str) -> Trainable:
    if settings.method == "full":
        # The vocabulary projection is never run, so it must not wait for gradients.
        model.lm.requires_grad_(False)
        model.body().requires_grad_(True)
    if settings.gradient_checkpointing:
        model.lm.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return Trainable(model.to(device).train(), tokenizer)


def gradient_norm(parameters: Sequence[Parameter], clip: float) -> float:
    """Return the norm of all gradients, which are shortened where it is above ``clip``."""
    norm: Tensor = torch.nn.utils.clip_grad_norm_(parameters, clip)
    return float(norm)


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
