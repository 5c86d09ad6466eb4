"""Stored runs of every host, and bundles of runs, found on disk."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.hosts.stored import JUDGED_FOLDER, RESCORED_FOLDER, OtherTask, StoredCase, StoredRun
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import MOST_BYTES

__all__ = ["FoundRuns", "StoredCase", "StoredRun", "bundles_below", "find_runs", "is_bundle"]

BUNDLE_SUFFIX = ".lct.zip"
_DEEPEST = 40  # folders below the one named


@dataclass(frozen=True)
class FoundRuns:
    """The runs under a folder in the order of their paths, and files that belong to runs but cannot be read."""

    runs: tuple[StoredRun, ...]
    problems: tuple[str, ...]  # begin with the file, and give the reason and a remedy
    begun: tuple[str, ...] = ()  # messages about runs that have begun and left no answers
    others: tuple[OtherTask, ...] = ()  # tasks whose results are skipped, each once


def find_runs(path: Path, *, hosts_own: bool = False) -> FoundRuns:
    """Find every run of our tasks in or below a folder; results of other packages' tasks are skipped.

    ``hosts_own`` adds those of hosts' own tasks that have a card (see :mod:`long_context_tasks.hosts.own_tasks`). Responses are not read here: a damaged file of responses may show only in :meth:`StoredRun.cases`.

    Raises:
        InputError: the folder does not exist.
    """
    # Numbers need numpy, which plans do without.
    from long_context_tasks.hosts.readers import HOSTS, RESULT_FOLDERS

    if not path.is_dir():
        state = "a file" if path.exists() else "does not exist"
        raise InputError(f"{path}: {state}; give the folder that {RESULT_FOLDERS} names")
    runs: list[StoredRun] = []
    problems: list[str] = []
    begun: list[str] = []
    others: dict[OtherTask, None] = {}
    seen: set[Path] = set()  # a link may lead back to a folder above it
    for name, folders, files in os.walk(path, followlinks=True):
        folder = Path(name)
        if folder.resolve() in seen:
            folders.clear()
            continue
        seen.add(folder.resolve())
        ours = (JUDGED_FOLDER, RESCORED_FOLDER)
        # Results of our own commands lie next to those of the host and belong to its run.
        folders[:] = sorted(folder for folder in folders if folder not in ours and not folder.startswith("."))
        if len(folder.relative_to(path).parts) >= _DEEPEST:
            problems += [f"{folder}: {_DEEPEST} folders deep; folders below are left out"] if folders else []
            folders.clear()
        names = sorted(_regular(folder, files, problems))
        results = [run for host in HOSTS for run in host.runs(folder, names)]
        begun += [message for host in HOSTS for message in host.begun(folder)]
        runs += [
            result for result in results if isinstance(result, StoredRun) and result.hosts_own <= hosts_own
        ]
        problems += [result for result in results if isinstance(result, str)]
        others.update(dict.fromkeys(result for result in results if isinstance(result, OtherTask)))
    return FoundRuns(tuple(runs), tuple(problems), tuple(begun), tuple(others))


def _regular(folder: Path, names: Iterable[str], problems: list[str]) -> Iterator[str]:
    """Yield the names of regular files of a size that can be read, and name others: reading a pipe would never end."""
    for name in names:
        path = folder / name
        try:
            status = path.stat()
        except OSError as error:
            problems.append(f"{path}: cannot be read ({error.strerror or error}); left out")
            continue
        if not stat.S_ISREG(status.st_mode):
            problems.append(f"{path}: not a regular file; left out")
        elif path.suffix == ".json" and status.st_size > MOST_BYTES:
            problems.append(f"{path}: larger than {MOST_BYTES >> 30} GiB; left out")
        else:
            yield name


def is_bundle(path: Path) -> bool:
    return path.name.endswith(".zip") and path.is_file()


def bundles_below(path: Path) -> list[Path]:
    """Return the bundles at or below a path, sorted; hidden folders are skipped."""
    if is_bundle(path):
        return [path]
    files = (file for file in path.rglob(f"*{BUNDLE_SUFFIX}") if file.is_file()) if path.is_dir() else ()
    return sorted(
        file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
