"""Files of a training run, in ``OUTPUT.training`` until it ends, so ``OUTPUT`` is always complete.

A run may be killed between any two operations; the next run repeats the steps after the last saved state.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from long_context_tasks.orca.checkpoint import MAKE_ROOM, read_yaml_mapping
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import disk_errors, json_value, loads, write_whole

if TYPE_CHECKING:
    from torch import Tensor

STATE = "state.safetensors"


@dataclass
class StageState:
    args: Mapping[str, Any]  # arguments of the run
    step: int = 0  # number of completed steps, including the evaluation at the end of an epoch
    best_step: int = 0  # step at which the best checkpoint was saved; 0 if there is none
    best: float | None = None  # its development loss per rating
    done: bool = False  # whether the stage has ended
    # Rows of log.jsonl; part of the state, so that log and weights always belong to the same step.
    log: list[dict[str, Any]] = field(default_factory=list)


def write_state(folder: Path, state: StageState, tensors: "Mapping[str, Tensor]") -> None:
    """Replace a stage's saved state; the tensors are the trained weights and the optimizer's state."""
    from safetensors.torch import save_file

    # Written to a temporary file first, because a run cannot resume from a truncated one.
    part = folder / f".{STATE}.part"
    with disk_errors(folder / STATE, MAKE_ROOM):
        folder.mkdir(exist_ok=True)
        save_file(dict(tensors), part, {"state": json.dumps(json_value(asdict(state)))})
        part.replace(folder / STATE)


def read_state(path: Path) -> "tuple[StageState, Iterator[tuple[str, Tensor]]]":
    """Read a stage's state and its tensors, on the CPU; the tensors are read from disk one at a time."""
    from safetensors import SafetensorError, safe_open

    try:
        file: Any = safe_open(path, "pt")
        state = StageState(**loads(file.metadata()["state"]))
    except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: cannot be read ({type(error).__name__}); remove {path.parents[1]} to start again"
        ) from error
    names: list[str] = file.keys()
    return state, ((name, file.get_tensor(name)) for name in names)


def work_folder(output: Path) -> Path:
    return output.with_name(f"{output.name}.training")


def is_finished(output: Path, args: Mapping[str, Any]) -> bool:
    if (output / "model" / "config.yaml").is_file():
        _check_same_run(read_yaml_mapping(output / "args.yaml"), args, output)
        return True
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: exists and is not a checkpoint; name another folder with --out")
    return False


def _check_same_run(found: Mapping[str, Any], args: Mapping[str, Any], place: Path) -> None:
    if differing := sorted(
        name for name in {*found, *args} if json_value(found.get(name)) != json_value(args.get(name))
    ):
        raise InputError(
            f"{place} belongs to a run with different arguments ({', '.join(differing)}); name another --out, or remove it"
        )


@contextmanager
def opened_run(output: Path, args: Mapping[str, Any]) -> Iterator[None]:
    """Lock the folder of an unfinished run, creating it if necessary."""
    work = work_folder(output)
    try:
        work.mkdir(parents=True, exist_ok=True)
        lock = FileLock(work / ".lock", timeout=0).acquire()
    except Timeout as error:
        raise InputError(
            f"{work}: another training writes there; wait for it, or name another --out"
        ) from error
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror or error}); choose another place with --out"
        ) from error
    with lock:
        # A run without a saved step, as after a mistyped option, can be replaced without loss.
        for path in work.glob(f"*/{STATE}"):
            _check_same_run(read_state(path)[0].args, args, work)
        yield


def finish(output: Path, best: Path, log: Iterable[Mapping[str, Any]]) -> None:
    """Move the best checkpoint of the last stage to ``output``; the run's folder can be removed afterwards."""
    lines = (json.dumps(json_value(row), ensure_ascii=False) + "\n" for row in log)
    write_whole(best / "log.jsonl", lines, remedy=MAKE_ROOM)
    best.replace(output)
