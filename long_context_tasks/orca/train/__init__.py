"""Training the ORCA judge from files: all cheap checks run before the model is loaded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.orca.checkpoint import (
    choose_device,
    find_checkpoint,
    fingerprint,
    named_failures,
    read_args,
    read_config,
)
from long_context_tasks.orca.data import HEAD_NAMES, OrcaItem, read_items
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.train.plan import Stage, TrainSettings, make_stages, shared_questions
from long_context_tasks.schema import InputError, file_sha256


@dataclass(frozen=True)
class TrainFiles:
    # train, judge_train: human ratings, judges' ratings
    train: Path | None
    judge_train: Path | None
    dev: Path  # development set
    exclude: Sequence[Path]  # files whose questions are excluded from training on judges' ratings

    def described(self) -> dict[str, dict[str, str]]:
        named = {"train": self.train, "judge_train": self.judge_train, "dev": self.dev}
        named |= {f"exclude_{number}": path for number, path in enumerate(self.exclude, start=1)}
        return {
            name: {"file": path.name, "sha256": file_sha256(path)} for name, path in named.items() if path
        }


def run_training(
    files: TrainFiles, settings: TrainSettings, output: Path, device: str, report: Callable[[str], None]
) -> bool:
    """Run the cheap checks first, then train; return False if the result already exists."""
    settings = _with_start(settings)
    human = [] if files.train is None else read_items(files.train, need_ratings=True)
    judge = [] if files.judge_train is None else read_items(files.judge_train, need_ratings=True)
    dev = read_items(files.dev, need_ratings=True)
    # Judges' ratings of these questions would leak into the evaluation.
    held_out = [*dev, *(item for path in files.exclude for item in read_items(path))]
    stages, notes = make_stages(settings.scenario, human, judge, held_out)
    # torch is imported only after all files have been checked.
    with named_failures("training"):
        from long_context_tasks.orca.train.loop import train
    device = choose_device(device)
    for note in (*notes, *_warnings(settings, stages, shared_questions(human, dev))):
        report(note)
    args: dict[str, Any] = {"data": files.described(), "init": None}
    if settings.init is not None:  # not its path: a checkpoint may be moved
        args["init"] = f"{settings.init.name} {fingerprint(settings.init)}"
    return train(stages, dev, settings, output, device=device, args=args, report=report)


def _with_start(settings: TrainSettings) -> TrainSettings:
    """Check the first stage's starting point, and fill in a checkpoint's head."""
    if (settings.model is None) == (settings.init is None):
        raise InputError("give either --model, a language model, or --init, an ORCA checkpoint to start from")
    if settings.init is None:
        if settings.head is None:
            raise InputError(f"--head is missing; give one of {', '.join(HEAD_NAMES)}")
        model = Path(str(settings.model))
        # An adapter stores its base model's name, so a folder needs an absolute path.
        place = str(model.resolve()) if model.is_dir() else settings.model
        return settings.model_copy(update={"model": place})
    init = find_checkpoint(settings.init)
    head = read_config(init)["score_type"]
    if settings.head not in (None, head):
        raise InputError(
            f"--head {settings.head}: the checkpoint {settings.init} has a {head} head; leave --head out"
        )
    return settings.model_copy(update={"init": init, "head": head})


def _warnings(settings: TrainSettings, stages: Sequence[Stage], shared: int) -> Iterator[str]:
    """Yield warnings about misleading data; ``shared`` counts questions in training and development sets."""
    if shared:
        yield f"note: {shared} questions of the development part are in the training part too; it will look better than it is"
    if settings.init is not None and InputFormat.of_args(read_args(settings.init)) != settings.form:
        yield f"note: {settings.init} was trained to read other parts of an answer than this training shows it"
    items: list[OrcaItem] = [item for stage in stages for item in stage.items]
    if settings.form.rationale and not any(item.rationale for item in items):
        yield "note: no answer has a context, and the text will say None for it; --no-rationale leaves it out"
