"""Training the ORCA judge from files: everything cheap is checked first, then the model is loaded and trained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.orca.checkpoint import (
    find_checkpoint,
    fingerprint,
    named_failures,
    read_args,
    read_config,
)
from long_context_tasks.orca.data import HEAD_NAMES, read_items
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.train.plan import TrainSettings, make_stages, shared_questions
from long_context_tasks.schema import InputError, file_sha256


@dataclass(frozen=True)
class TrainFiles:
    """The files of a training.

    Attributes:
        train, judge_train: ratings by people, by judges.
        dev: development part.
        exclude: whose questions are not trained on with judges' ratings.
        model, init: language model, or checkpoint to go on from.
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
    files: TrainFiles,
    scenario: str,
    settings: TrainSettings,
    output: Path,
    device: str,
    report: Callable[[str], None],
) -> bool | None:
    """Check everything cheap, then train.

    Args:
        files: see there.
        scenario: see :mod:`~long_context_tasks.orca.train.plan`.
        settings: likewise.
        output: place of the checkpoint.
        device: of torch, or ``auto``.
        report: takes lines for the user, from the first process only.

    Returns:
        Whether anything was trained; False when the result was there already, None in every process but the first.

    Raises:
        InputError: see :func:`long_context_tasks.orca.train.loop.train` and the readers.
    """
    if (files.model is None) == (files.init is None):
        raise InputError("give either --model, a language model, or --init, an ORCA checkpoint to go on from")
    init = None if files.init is None else find_checkpoint(files.init)
    head = files.head
    if init is None and head not in HEAD_NAMES:
        raise InputError(f"--head {head or 'is missing; it'} is one of {', '.join(HEAD_NAMES)}")
    if init is not None:
        found = read_config(init)["score_type"]
        if head not in (None, found):
            raise InputError(
                f"--head {head}: the checkpoint {files.init} has a {found} head; leave --head out"
            )
        head = found
    human = [] if files.train is None else read_items(files.train, need_ratings=True)
    judge = [] if files.judge_train is None else read_items(files.judge_train, need_ratings=True)
    dev = read_items(files.dev, need_ratings=True)
    held_out = [*dev, *(item for path in files.exclude for item in read_items(path))]
    stages, notes = make_stages(scenario, human, judge, held_out)
    with named_failures("training"):
        from long_context_tasks.orca.train.loop import Processes, Start, train

    processes = Processes(device)
    if processes.count > 1:
        notes = [f"{processes.count} processes train together", *notes]
    if shared := shared_questions(human, dev):
        notes.append(
            f"note: {shared} questions of the development part are in the training part too; it will look better than it is"
        )
    if init is not None and InputFormat.of_args(read_args(init)) != settings.form:
        notes.append(
            f"note: {files.init} was trained to read other parts of an answer than this training shows it"
        )
    if settings.form.rationale and not any(item.rationale for stage in stages for item in stage.items):
        notes.append(
            "note: no answer has a context, and the text will say None for it; --no-rationale leaves it out"
        )
    model = files.model
    if model is not None and Path(model).is_dir():
        model = str(Path(model).resolve())  # an adapter names its base, and must find it from anywhere
    named = {"train": files.train, "judge_train": files.judge_train, "dev": files.dev}
    named |= {f"exclude_{number}": path for number, path in enumerate(files.exclude, start=1)}
    args: dict[str, Any] = {
        "model": model,
        # A checkpoint is the same one in any folder.
        "init": None if init is None else f"{init.name} {fingerprint(init)}",
        "scenario": scenario,
        "data": {
            name: {"file": path.name, "sha256": file_sha256(path)} for name, path in named.items() if path
        },
    }
    marks = [item.row.get("control") for item in [*human, *judge, *dev]]
    marks += [] if init is None else [read_args(init).get("control")]
    if control := ", ".join(sorted({str(each) for each in marks if each})):
        notes.append(
            f"CONTROL ({control}): this judge learns from ratings that are not the answers' own; do not use its scores"
        )
        args["control"] = control
    for note in notes if processes.is_first else ():
        report(note)
    done = train(
        stages,
        dev,
        Start(model, init, str(head)),
        settings,
        output,
        processes=processes,
        args=args,
        progress=True,
        report=report,
    )
    return done if processes.is_first else None
