"""Files of a training run: until its end they are in ``OUTPUT.training``, so what is at ``OUTPUT`` is always finished.

A run may be killed between any two operations; what it had written is put right, and what it had not finished is done again.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from long_context_tasks.orca.checkpoint import read_yaml_mapping
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import bring_back, json_value, loads, read_json, write_whole

LOG = "log.jsonl"
STATE = "state.json"
OPTIMIZER = "optimizer.pt"


@dataclass(frozen=True)
class State:
    """Progress of a stage.

    Attributes:
        step: steps done.
        best_step: after which the best checkpoint was made; 0 for none.
        best: its loss of a rating on the development part; None before the first.
        done: whether the stage has ended.
    """

    step: int = 0
    best_step: int = 0
    best: float | None = None
    done: bool = False


def write_state(folder: Path, state: State) -> None:
    """Write the state into a checkpoint that is being made."""
    (folder / STATE).write_text(json.dumps(asdict(state)) + "\n", encoding="utf-8")


def read_state(folder: Path) -> State:
    """Read the state of a checkpoint.

    Raises:
        InputError: it was changed or is not there.
    """
    try:
        return State(**loads((folder / STATE).read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{folder / STATE}: cannot be read ({type(error).__name__}); remove {folder.parent.parent} to begin anew"
        ) from error


def work_folder(output: Path) -> Path:
    """Return the folder of an unfinished run."""
    return output.with_name(f"{output.name}.training")


def is_finished(output: Path, args: Mapping[str, Any]) -> bool:
    """Return whether the result of just this run is there.

    Raises:
        InputError: something else is there.
    """
    if (output / "model" / "config.yaml").is_file():
        try:
            found = read_yaml_mapping(output / "args.yaml")
        except InputError:
            found = {}
        _check_same_run(found, args, output)
        return True
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(
            f"{output}: there is something else than a checkpoint; name another folder with --out"
        )
    return False


def _check_same_run(found: Mapping[str, Any], args: Mapping[str, Any], place: Path) -> None:
    if differing := sorted(
        name for name in {*found, *args} if json_value(found.get(name)) != json_value(args.get(name))
    ):
        raise InputError(
            f"{place} is of a run with other arguments ({', '.join(differing)}); name another --out, or remove it"
        )


@contextmanager
def opened_run(output: Path, args: Mapping[str, Any]) -> Iterator[Path]:
    """Make or find the folder of an unfinished run, for one process alone.

    Raises:
        InputError: another process writes there, it is of a run with other arguments, or it cannot be written.
    """
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
            found = read_json(run, f"the arguments of a run; remove {work} to begin anew")
            if not isinstance(found, dict):
                raise InputError(f"{run}: holds no arguments; remove {work} to begin anew")
            try:
                _check_same_run(found, args, work)
            except InputError:
                if any(path.is_dir() for name in ("last", ".last.old") for path in work.glob(f"*/{name}")):
                    raise
                # Nothing is lost: as after a mistyped option, no checkpoint was written yet.
                for stage in filter(Path.is_dir, work.iterdir()):
                    shutil.rmtree(stage)
                run.unlink()
        if not run.is_file():
            write_whole(run, json.dumps(json_value(args), indent=1, sort_keys=True) + "\n")
        yield work


def tidy_stage(folder: Path) -> None:
    """Make a stage's folder, or put it right after a run that was killed while it wrote."""
    folder.mkdir(exist_ok=True)
    for name in ("last", "best"):
        bring_back(folder / name)
    for part in folder.glob(".*.part"):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink()


def cut_log(path: Path, step: int) -> None:
    """Keep the rows up to a step; what a run did after its last checkpoint is done again."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []:
        try:
            written = loads(line)["step"]
        except (ValueError, TypeError, KeyError):
            continue  # the line that was being written
        if written <= step:
            rows.append(line if line.endswith("\n") else f"{line}\n")
    write_whole(path, rows)


def add_to_log(path: Path, row: Mapping[str, Any]) -> None:
    """Append a row."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(json_value(row), ensure_ascii=False) + "\n")


def finish(output: Path, work: Path, stages: list[Path]) -> None:
    """Put the result in its place at one stroke; the unfinished run's folder can be removed then.

    Raises:
        InputError: it cannot be written.
    """
    part = work / "result"
    try:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(stages[-1] / "best", part)
        with (part / LOG).open("w", encoding="utf-8") as file:
            for stage in stages:
                file.write((stage / LOG).read_text(encoding="utf-8"))
            file.flush()
            os.fsync(file.fileno())
        part.replace(output)
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written ({error.strerror or error}); make room and give the same command again"
        ) from error
