"""Settings of a training run."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.schema import InputError

Method = Literal["lora", "full"]
Precision = Literal["auto", "fp32", "bf16"]
Measure = Literal["loss", "mae", "rho", "composite"]
"""What is best on the development part: the loss of a rating, the mean absolute error of the mean, Spearman's rho, or rho + tau - MAE."""

_CHOICES = {
    "method": ("lora", "full"),
    "precision": ("auto", "fp32", "bf16"),
    "select": ("loss", "mae", "rho", "composite"),
}
_LR = {"lora": 2e-4, "full": 2e-5}
_POSITIVE = (
    "epochs",
    "steps",
    "batch_size",
    "batch_tokens",
    "lora_rank",
    "eval_steps",
    "save_steps",
    "patience",
)
_HEAD_FACTOR = 5


@dataclass(frozen=True)
class TrainSettings:
    """How a model is trained. All but ``save_steps`` decide the loss curve.

    Attributes:
        method: ``lora`` trains an adapter and the head, ``full`` the whole body and the head.
        precision: ``bf16``: frozen weights in bfloat16, trained weights in float32, computed under autocast. ``auto``: bf16 on a GPU, else fp32.
        epochs: of each stage, unless ``steps`` is given.
        steps: of each stage; None for ``epochs``.
        batch_size: items of a step, over all processes.
        batch_tokens: most tokens that are computed at once, padding included; a step with more is computed in parts.
        lr: highest learning rate; None for 2e-4 (lora) or 2e-5 (full).
        head_lr: of the head; None for five times ``lr``.
        warmup: share of the steps in which the rate rises.
        weight_decay: of the matrices, without the head.
        clip: greatest norm of the gradient.
        lora_rank, lora_alpha, lora_dropout: of the adapter.
        seed: of the order, the first weights of head and adapter, and the dropout.
        eval_steps: steps between evaluations on the development part; None for an epoch.
        save_steps: steps between checkpoints beside those at evaluations.
        patience: evaluations without a gain after which a stage ends.
        select: what a gain is.
        window: most tokens of an item, when it shall be less than the model's.
        gradient_checkpointing: compute twice to save memory.
        form: the parts of the text.
    """

    method: Method = "lora"
    precision: Precision = "auto"
    epochs: int = 3
    steps: int | None = None
    batch_size: int = 16
    batch_tokens: int = 8192
    lr: float | None = None
    head_lr: float | None = None
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    seed: int = 0
    eval_steps: int | None = None
    save_steps: int = 200
    patience: int = 3
    select: Measure = "loss"
    window: int | None = None
    gradient_checkpointing: bool = False
    form: InputFormat = field(default_factory=InputFormat)

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            InputError: the option, its value and what it may be.
        """
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} {getattr(self, name)!r} is none of {', '.join(known)}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}; give 1 or more")
        for name in ("lr", "head_lr", "clip", "lora_alpha"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} is {value}; give a number above 0")
        for name in ("warmup", "lora_dropout", "weight_decay"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give 0 or more, below 1")

    def resolved(self, device: str) -> "TrainSettings":
        """With a value for everything that depends on other settings or the device."""
        lr = self.lr or _LR[self.method]
        precision = self.precision
        if precision == "auto":
            precision = "fp32" if device.startswith("cpu") else "bf16"
        return replace(self, precision=precision, lr=lr, head_lr=self.head_lr or _HEAD_FACTOR * lr)

    def args(self) -> dict[str, Any]:
        """What decides the loss curve, as plain values for ``args.yaml``."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        del plain["save_steps"], plain["form"]
        return {**plain, **self.form.args()}
