"""lm-eval's YAML files: a file for each task and group, made from the cards of all benchmarks at first use and kept in the cache.

The folder's name is a hash of everything that the files depend on, so that another card, another version of this package or another
installed benchmark gets a folder of its own. If the cache cannot be written, a temporary folder serves until the process ends.
"""

import atexit
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ENTRY_POINTS, TaskSpec, nano_tasks, synthetic_tasks
from long_context_tasks.schema.files import InputError, make_folder, write_whole
from long_context_tasks.schema.options import cache_dir

logger = logging.getLogger(__name__)

NOTE = "# Made from the card of the benchmark at first use; edit the card instead.\n"
_CLASS = "long_context_tasks.hosts.lm_eval.task.CaseTask"
_PACKAGE = Path(__file__).resolve().parents[2]
_CODE = ("hosts/lm_eval/task_files.py", "benchmarks/catalogue.py", "schema/card.py")
_COMPLETE = "complete"  # name of the file that states how many files a folder has; written last


def task_folder() -> Path:
    """Return the folder with the files of all tasks and groups; make the files if they are missing.

    No benchmark is imported unless they have to be made.
    """
    # A hash and not a version: users edit cards, and other packages bring benchmarks.
    key = hashlib.sha256(b"\0".join(_made_from())).hexdigest()[:16]
    folder = cache_dir() / "lm_eval_tasks" / key
    return folder if _is_complete(folder) else _made(folder)


def _made_from() -> Iterator[bytes]:
    """Yield what the files depend on: code, our cards, and the benchmarks that other packages name in entry points."""
    yield from (_PACKAGE.joinpath(name).read_bytes() for name in _CODE)
    yield from (path.read_bytes() for path in sorted(_PACKAGE.glob("benchmarks/*/card.yaml")))
    for point in sorted(importlib.metadata.entry_points(group=ENTRY_POINTS)):
        yield f"{point.name} {point.value} {point.dist and point.dist.version}".encode()
        try:
            spec = importlib.util.find_spec(point.module)
        except ImportError:  # reported when the benchmark is used
            continue
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found = (Path(place) / name for name in ("card.yaml", "__init__.py"))
            yield from (path.read_bytes() for path in found if path.is_file())


def _is_complete(folder: Path) -> bool:
    # Whoever cleans a cache may have left some of the files.
    try:
        expected = (folder / _COMPLETE).read_text(encoding="utf-8")
    except OSError:
        return False
    return expected == str(len(list(folder.glob("*.yaml"))))


def _made(folder: Path) -> Path:
    files = task_files()
    if catalogue.broken_benchmarks():  # they may work the next time, with the same cards
        return _temporary(folder.name, tuple(files.items()))
    try:
        _write(files, folder)
    except InputError as error:
        logger.info("%s: lm-eval's task files are in a temporary folder instead", error)
        return _temporary(folder.name, tuple(files.items()))
    return folder


def _write(files: Mapping[str, str], folder: Path) -> None:
    """Write each file whole; several processes that do so at once write the same."""
    remedy = "point LCT_CACHE_DIR at another folder"
    make_folder(folder, remedy=remedy)
    # The marker comes last: a killed process leaves a folder that is made again.
    for name, text in {**files, _COMPLETE: str(len(files))}.items():
        write_whole(folder / name, text, remedy=remedy)


@cache
def _temporary(key: str, files: tuple[tuple[str, str], ...]) -> Path:
    """Return a folder that this process removes when it ends."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"lm_eval_tasks_{key}_"))
    except OSError as error:
        raise InputError(
            f"neither {cache_dir()} nor {tempfile.gettempdir()} can be written ({error.strerror or error}), so that lm-eval "
            "gets no task files; point LCT_CACHE_DIR at another folder"
        ) from error
    atexit.register(_remove, folder, os.getpid())
    _write(dict(files), folder)
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked process must not
        shutil.rmtree(folder, ignore_errors=True)


def task_files() -> dict[str, str]:
    """Return name and text of every YAML file: those of each benchmark, and the groups over the benchmarks of this package."""
    own = catalogue.own_benchmark_names()
    suites = _suites(own)
    files: dict[str, str] = {}
    for name in catalogue.benchmark_names():
        files |= benchmark_files(name)
    # The benchmarks have different metrics, so that these groups have no mean.
    return files | {
        f"_{name}.yaml": _group_yaml(name, members, [], version=1) for name, members in suites.items()
    }


def benchmark_files(benchmark: str) -> dict[str, str]:
    version = catalogue.card(benchmark).version
    own = {spec.name: spec for spec in catalogue.task_specs() if spec.benchmark == benchmark and spec.listed}
    files = {f"{name}.yaml": task_yaml(spec) for name, spec in own.items()}
    for name, (members, metrics) in _groups(benchmark).items():
        pooled = any(own[member].card.pooled for member in members if member in own)
        files[f"_{name}.yaml"] = _group_yaml(name, members, metrics, version, pooled=pooled)
    return files


def task_yaml(spec: TaskSpec) -> str:
    version = catalogue.card(spec.benchmark).version
    return f"{NOTE}task: {spec.name}\nclass: !function {_CLASS}\nmetadata:\n  version: {version}\n"


def _group_yaml(
    name: str, members: Sequence[str], metrics: Sequence[str], version: int, *, pooled: bool = False
) -> str:
    """Return the text of a group's file: the mean of its members' metrics, each member with the same weight unless pooled."""
    aggregate: list[dict[str, object]] = [
        {"metric": metric, "aggregation": "mean", "weight_by_size": pooled, "filter_list": "none"}
        for metric in metrics
    ]
    group = {
        "group": name,
        "task": list(members),
        # Without a metric that all members have, the group is a name for its members.
        **({"aggregate_metric_list": aggregate} if aggregate else {}),
        "metadata": {"version": version},
    }
    return NOTE + yaml.safe_dump(group, sort_keys=False)


def lm_eval_groups() -> dict[str, tuple[str, ...]]:
    """Return every group of our tasks in lm-eval with its members, tasks or groups."""
    names = catalogue.benchmark_names()
    groups = {
        name: tuple(members) for benchmark in names for name, (members, _) in _groups(benchmark).items()
    }
    return {**groups, **_suites(names)}


def _groups(benchmark: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return a benchmark's groups with their members and metrics; a task with one text and one length needs no group."""
    card = catalogue.card(benchmark)
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for spec in catalogue.task_specs():
        if spec.benchmark == benchmark and spec.has_group:
            metrics = [spec.headline] if spec.scoring == "likelihood" else list(spec.card.main_metrics)
            groups.setdefault(spec.group, ([], metrics))[0].append(spec.name)
    published = {name: task for name, task in card.tasks.items() if task.source == "published"}
    # Without published tasks, the benchmark's group holds the seeded ones.
    plain = published or {name: task for name, task in card.tasks.items() if task.source == "seed"}
    if plain:
        # The metrics that all tasks have, so that no group averages over some of its members only.
        common = [
            metric
            for metric in dict.fromkeys(metric for task in plain.values() for metric in task.main_metrics)
            if all(metric in task.main_metrics for task in plain.values())
        ]
        groups[benchmark] = [f"{benchmark}_{task}" for task in plain], common
    return groups


def _suites(benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the groups over several benchmarks; a task with splits is a member by its group."""
    suites = {
        # Tasks by likelihood are left out: they run on local models only, and a case costs a text for each candidate.
        "lct_synthetic": synthetic_tasks("seed"),
        "lct_nano": nano_tasks(),
        "lct_recast": synthetic_tasks("recast"),
    }
    groups = {
        name: dict.fromkeys(
            spec.group if spec.split and spec.has_group else spec.name
            for spec in specs
            if spec.benchmark in benchmarks
        )
        for name, specs in suites.items()
    }
    groups["lct_official"] = dict.fromkeys(
        name
        for name in benchmarks
        if any(task.source == "published" for task in catalogue.card(name).tasks.values())
    )
    # lm-eval runs an empty group without a message.
    return {name: tuple(members) for name, members in groups.items() if members}
