"""``lct orca train``: the work behind its options."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from long_context_tasks.cli.output import say
from long_context_tasks.schema.errors import InputError

if TYPE_CHECKING:
    from long_context_tasks.orca.data import OrcaItem
    from long_context_tasks.orca.train.settings import TrainSettings


@dataclass(frozen=True)
class TrainFiles:
    """What a run reads, as the options name it.

    Attributes:
        train, judge_train: ratings by people, by judges.
        dev: development part.
        exclude: whose questions are not trained on with judges' ratings.
        model, init: one of them.
        head: may be left out with ``init``.
    """

    train: Path | None
    judge_train: Path | None
    dev: Path
    exclude: Sequence[Path]
    model: str | None
    init: Path | None
    head: str | None


def run_training(
    files: TrainFiles, scenario: str, settings: "TrainSettings", output: Path, device: str
) -> None:
    """Check everything cheap first, then train.

    Raises:
        InputError: see :func:`long_context_tasks.orca.train.loop.train` and the readers.
    """
    from long_context_tasks.orca.checkpoint import find_checkpoint, named_failures
    from long_context_tasks.orca.data import check_trainable, read_items
    from long_context_tasks.orca.train.stages import make_stages, shared_questions

    head = _head(files)
    init = None if files.init is None else find_checkpoint(files.init)
    human = [] if files.train is None else read_items(files.train, need_ratings=True)
    judge = [] if files.judge_train is None else read_items(files.judge_train, need_ratings=True)
    dev = read_items(files.dev, need_ratings=True)
    held_out = [*dev, *(item for path in files.exclude for item in read_items(path))]
    if settings.select in ("rho", "composite"):
        check_trainable(dev, str(files.dev))
    made = make_stages(scenario, human, judge, held_out)
    with named_failures("training"):
        from long_context_tasks.orca.train.loop import Start, train
        from long_context_tasks.orca.train.processes import Processes

    processes = Processes(device)

    def report(line: str) -> None:
        if processes.is_first:
            typer.echo(line, err=True)

    if processes.count > 1:
        report(f"{processes.count} processes train together")
    for note in made.notes:
        report(note)
    if shared := shared_questions(human, dev):
        report(
            f"note: {shared} questions of the development part are in the training part too; it will look better than it is"
        )
    if settings.form.rationale and not any(item.rationale for stage in made.stages for item in stage.items):
        report(
            "note: no answer has a context, and the text will say None for it; --no-rationale leaves it out"
        )
    model = files.model
    if model is not None and Path(model).is_dir():
        model = str(Path(model).resolve())  # an adapter names its base, and shall find it from anywhere
    args = {"model": model, "init": _init_args(init), "scenario": scenario, "data": _data_args(files)}
    if control := _control([*human, *judge, *dev], init):
        report(
            f"CONTROL ({control}): this judge learns from ratings that are not the answers' own; do not use its scores"
        )
        args["control"] = control
    done = train(
        made.stages,
        dev,
        Start(model, init, head),
        settings,
        output,
        processes=processes,
        args=args,
        progress=True,
        report=report,
    )
    if processes.is_first:
        say(f"{output}: {'trained' if done else 'is finished already; nothing was done'}")


def _control(items: "Sequence[OrcaItem]", init: Path | None) -> str:
    """What rows of a control say of themselves, and the checkpoint that is gone on from; empty for ordinary data."""
    from long_context_tasks.orca.checkpoint import read_args

    said = [item.row.get("control") for item in items]
    said += [] if init is None else [read_args(init).get("control")]
    return ", ".join(sorted({str(each) for each in said if each}))


def _head(files: TrainFiles) -> str:
    """The head's name, which a checkpoint to start from has already."""
    import yaml

    from long_context_tasks.orca.checkpoint import find_checkpoint
    from long_context_tasks.orca.names import HEAD_NAMES

    if (files.model is None) == (files.init is None):
        raise InputError("give either --model, a language model, or --init, an ORCA checkpoint to go on from")
    if files.init is None:
        if files.head not in HEAD_NAMES:
            raise InputError(f"--head {files.head or 'is missing; it'} is one of {', '.join(HEAD_NAMES)}")
        return str(files.head)
    config = find_checkpoint(files.init) / "model" / "config.yaml"
    try:
        found = yaml.safe_load(config.read_text(encoding="utf-8"))["score_type"]
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise InputError(f"{config}: names no score_type; take another checkpoint") from error
    if files.head not in (None, found):
        raise InputError(
            f"--head {files.head}: the checkpoint {files.init} has a {found} head; leave --head out"
        )
    return str(found)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _init_args(init: Path | None) -> str | None:
    """Tells checkpoints apart without telling where they lie."""
    return None if init is None else f"{init.name} {_sha256(init / 'model' / 'model_minus_lm.pt')[:16]}"


def _data_args(files: TrainFiles) -> dict[str, Any]:
    named = {"train": files.train, "judge_train": files.judge_train, "dev": files.dev}
    named |= {f"exclude_{number}": path for number, path in enumerate(files.exclude, start=1)}
    return {
        name: {"file": path.name, "sha256": _sha256(path)} for name, path in named.items() if path is not None
    }
