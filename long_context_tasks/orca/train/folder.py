"""Files of a training run: they are in ``OUTPUT.training`` until its end, so a checkpoint at ``OUTPUT`` is always finished.

A run may be killed between any two operations. The next one repairs half-written files and repeats unfinished steps.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from long_context_tasks.orca.checkpoint import read_yaml_mapping
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import bring_back, json_value, loads, read_json, write_whole

if TYPE_CHECKING:
    from torch import Tensor

LOG = "log.jsonl"
STATE = "state.safetensors"


@dataclass(frozen=True)
class StageState:
    step: int = 0  # number of finished steps
    evaluated: int = 0  # step after which the model was last evaluated; 0 before the first evaluation
    best_step: int = 0  # step after which the best checkpoint was made; 0 without one
    best: float | None = None  # its loss per rating on the development part
    done: bool = False  # whether the stage has ended


def write_state(folder: Path, state: StageState, tensors: "Mapping[str, Tensor]") -> None:
    """Replace the state of a stage; the tensors are the trained weights and the optimizer's state."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    # Written next to its place, because a cut file could not be continued from.
    part = folder / f".{STATE}.part"
    try:
        save_file(dict(tensors), part, {"state": json.dumps(asdict(state))})
        part.replace(folder / STATE)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{folder / STATE}: cannot be written ({error}); make room and give the same command again"
        ) from error


def read_state(folder: Path) -> "tuple[StageState, dict[str, Tensor]]":
    """Read the state of a stage and its tensors, on the CPU; a new stage has no tensors."""
    from safetensors import SafetensorError, safe_open

    if not (folder / STATE).is_file():
        return StageState(), {}
    try:
        with safe_open(folder / STATE, "pt") as file:
            state = StageState(**loads(file.metadata()["state"]))
            return state, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{folder / STATE}: cannot be read ({type(error).__name__}); remove {folder.parent} to start again"
        ) from error


def work_folder(output: Path) -> Path:
    return output.with_name(f"{output.name}.training")


def is_finished(output: Path, args: Mapping[str, Any]) -> bool:
    if (output / "model" / "config.yaml").is_file():
        try:
            found = read_yaml_mapping(output / "args.yaml")
        except InputError:
            found = {}
        _check_same_run(found, args, output)
        return True
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: exists and is not a checkpoint; name another folder with --out")
    return False


def _check_same_run(found: Mapping[str, Any], args: Mapping[str, Any], place: Path) -> None:
    if differing := sorted(
        name for name in {*found, *args} if json_value(found.get(name)) != json_value(args.get(name))
    ):
        raise InputError(
            f"{place} belongs to a run with other arguments ({', '.join(differing)}); name another --out, or remove it"
        )


@contextmanager
def opened_run(output: Path, args: Mapping[str, Any]) -> Iterator[Path]:
    """Lock the folder of an unfinished run, new or existing."""
    work = work_folder(output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror or error}); choose another place with --out"
        ) from error
    try:
        lock = FileLock(work / ".lock", timeout=0).acquire()
    except Timeout as error:
        raise InputError(
            f"{work}: another training writes there; wait for it, or name another --out"
        ) from error
    with lock:
        run = work / "run.json"
        if run.is_file():
            found = read_json(run, f"the arguments of a run; remove {work} to start again")
            if not isinstance(found, dict):
                raise InputError(f"{run}: holds no arguments; remove {work} to start again")
            try:
                _check_same_run(found, args, work)
            # The lock is held, so no other process uses these folders.
            except InputError:
                if any(work.glob(f"*/{STATE}")):
                    raise
                # No step was done yet, as after a mistyped option, so nothing is lost.
                for stage in filter(Path.is_dir, work.iterdir()):
                    shutil.rmtree(stage)
                run.unlink()
        if not run.is_file():
            write_whole(run, json.dumps(json_value(args), indent=1, sort_keys=True) + "\n")
        yield work


def tidy_stage(folder: Path) -> None:
    """Make a stage's folder, or repair it after a run that was killed while it wrote."""
    folder.mkdir(exist_ok=True)
    bring_back(folder / "best")
    # Files and folders that a killed run was writing.
    for part in folder.glob(".*.part"):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink()


def cut_log(path: Path, state: StageState) -> None:
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []:
        try:
            row = loads(line)
            # An evaluation comes after its step, so it has its own mark in the state.
            kept = row["step"] <= (state.evaluated if "dev" in row else state.step)
        except (ValueError, TypeError, KeyError):
            continue  # the line that a killed run was writing
        if kept:
            rows.append(line if line.endswith("\n") else f"{line}\n")
    write_whole(path, rows)


def add_to_log(path: Path, row: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(json_value(row), ensure_ascii=False) + "\n")


def finish(output: Path, work: Path, stages: list[Path]) -> None:
    """Move the result to its place; the folder of the run can be removed afterwards."""
    part = work / "result"
    try:
        # A run that was killed while it copied.
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(stages[-1] / "best", part)
        with (part / LOG).open("w", encoding="utf-8") as file:
            for stage in stages:
                file.write((stage / LOG).read_text(encoding="utf-8"))
            file.flush()
            # The result must be on the disk before the folder of the run is removed.
            os.fsync(file.fileno())
        part.replace(output)
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror or error}); make room and give the same command again"
        ) from error
