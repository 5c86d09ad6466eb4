"""lm-eval's YAML files: one per task and group, generated from the cards on first use and cached.

The folder's name is a hash of everything that the files depend on, so that a changed card, another version of
this package or another installed benchmark gets its own folder.
"""

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from filelock import FileLock

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ENTRY_POINTS, TaskSpec, nano_tasks, synthetic_tasks
from long_context_tasks.schema.files import make_folder, whole_folder
from long_context_tasks.schema.options import cache_dir

NOTE = "# Made from the card of the benchmark at first use; edit the card instead.\n"
_CLASS = "long_context_tasks.hosts.lm_eval.task.CaseTask"
_PACKAGE = Path(__file__).resolve().parents[2]
_CODE = ("hosts/lm_eval/task_files.py", "benchmarks/catalogue.py", "schema/card.py")


class Group(NamedTuple):
    members: list[str]  # tasks, or groups
    metrics: Sequence[str] = ()  # shared by all members; if empty, the group has no mean
    version: int = 1
    pooled: bool = False  # whether the mean weighs every case equally, instead of every member


def task_folder() -> Path:
    """Return the folder with the files for all tasks and groups, creating the files if they are missing.

    No benchmark is imported unless they must be created.
    """
    # A hash, not a version: users edit cards, and other packages provide benchmarks.
    key = hashlib.sha256(b"\0".join(_made_from())).hexdigest()[:16]
    folder = cache_dir() / "lm_eval_tasks" / key
    if folder.is_dir():
        return folder
    files = task_files()
    if broken := catalogue.broken_benchmarks():
        # They may work next time, with the same cards.
        folder = folder.with_name("_".join([key, "without", *sorted(broken)]))
    remedy = "point LCT_CACHE_DIR at another folder"
    make_folder(folder.parent, remedy=remedy)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():  # another process may have made it in the meantime
            with whole_folder(folder, remedy=remedy) as part:
                for name, text in files.items():
                    (part / name).write_text(text, encoding="utf-8")
    return folder


def _made_from() -> Iterator[bytes]:
    """Yield everything the files depend on: code, our cards, and other packages' benchmarks."""
    yield from (_PACKAGE.joinpath(name).read_bytes() for name in _CODE)
    yield from (path.read_bytes() for path in sorted(_PACKAGE.glob("benchmarks/*/card.yaml")))
    for point in sorted(importlib.metadata.entry_points(group=ENTRY_POINTS)):
        yield f"{point.name} {point.value} {point.dist and point.dist.version}".encode()
        try:
            spec = importlib.util.find_spec(point.module)
        except ImportError:  # reported when the benchmark is used
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            files = (Path(folder) / name for name in ("card.yaml", "__init__.py"))
            yield from (path.read_bytes() for path in files if path.is_file())


def task_files() -> dict[str, str]:
    """Return each YAML file's name and text: the benchmarks' own, and groups over our benchmarks."""
    groups = {**_benchmark_groups(), **_suites(catalogue.own_benchmark_names())}
    return {
        **{f"{spec.name}.yaml": task_yaml(spec) for spec in catalogue.task_specs() if spec.listed},
        **{f"_{name}.yaml": _group_yaml(name, group) for name, group in groups.items()},
    }


def task_yaml(spec: TaskSpec) -> str:
    version = catalogue.card(spec.benchmark).version
    return f"{NOTE}task: {spec.name}\nclass: !function {_CLASS}\nmetadata:\n  version: {version}\n"


def _group_yaml(name: str, group: Group) -> str:
    aggregate = [
        {"metric": metric, "aggregation": "mean", "weight_by_size": group.pooled, "filter_list": "none"}
        for metric in group.metrics
    ]
    content = {
        "group": name,
        "task": group.members,
        **({"aggregate_metric_list": aggregate} if aggregate else {}),
        "metadata": {"version": group.version},
    }
    return NOTE + yaml.safe_dump(content, sort_keys=False)


def lm_eval_groups() -> dict[str, tuple[str, ...]]:
    """Return every group of our tasks in lm-eval with its members, which are tasks or groups."""
    groups = {**_benchmark_groups(), **_suites(catalogue.benchmark_names())}
    return {name: tuple(group.members) for name, group in groups.items()}


def _benchmark_groups() -> dict[str, Group]:
    """Return every benchmark's groups; a task with one text and one length needs no group."""
    groups: dict[str, Group] = {}
    for benchmark in catalogue.benchmark_names():
        card = catalogue.card(benchmark)
        for spec in catalogue.task_specs():
            if spec.benchmark == benchmark and spec.has_group:
                metrics = (spec.headline,) if spec.scoring == "likelihood" else spec.card.main_metrics
                group = Group([], metrics, card.version, spec.card.pooled)
                groups.setdefault(spec.group, group).members.append(spec.name)
        published = {name: task for name, task in card.tasks.items() if task.source == "published"}
        # Without published tasks, the benchmark's group contains the seeded ones.
        plain = published or {name: task for name, task in card.tasks.items() if task.source == "seed"}
        if plain:
            # The metrics that all tasks have, so that no group averages over only some of its members.
            common = [
                metric
                for metric in dict.fromkeys(metric for task in plain.values() for metric in task.main_metrics)
                if all(metric in task.main_metrics for task in plain.values())
            ]
            groups[benchmark] = Group([f"{benchmark}_{task}" for task in plain], common, card.version)
    return groups


def _suites(benchmarks: Sequence[str]) -> dict[str, Group]:
    """Return the groups that span several benchmarks; their metrics differ, so they have no mean.

    A task with splits is represented by its group.
    """
    suites = {
        # Likelihood tasks are excluded: they run only on local models, and every case costs one text per
        # candidate.
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
    # lm-eval silently runs an empty group.
    return {name: Group(list(members)) for name, members in groups.items() if members}
