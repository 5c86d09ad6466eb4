"""lm-eval's YAML files, made from the benchmarks' cards: a file per task, a file per group."""

from collections.abc import Mapping, Sequence

import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import TaskSpec
from long_context_tasks.schema.card import Source

NOTE = "# Made from the card of the benchmark at first use; edit the card instead.\n"
_CLASS = "long_context_tasks.hosts.lm_eval.task.CaseTask"
SYNTHETIC_GROUP, RECAST_GROUP = "lct_synthetic", "lct_recast"
"""All seeded tasks that are answered, and all recast ones, each at the length that is asked for (``lct_length``).

Tasks by likelihood are left out: they are no chat tasks and run on local models only, and a case costs a text for each candidate.
"""
NANO_GROUP = "lct_nano"
"""The seeded tasks with many questions on each of few documents."""
OFFICIAL_GROUP = "lct_official"
"""All tasks on published data."""


def task_yaml(spec: TaskSpec) -> str:
    """Text of the file of a task."""
    version = catalogue.card(spec.benchmark).version
    return f"{NOTE}task: {spec.name}\nclass: !function {_CLASS}\nmetadata:\n  version: {version}\n"


def group_yaml(
    name: str, members: Sequence[str], metrics: Sequence[str], version: int, *, pooled: bool = False
) -> str:
    """Text of the file of a group: the mean of its members' metrics, every length with the same weight."""
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


def _groups(benchmark: str) -> dict[str, tuple[list[str], list[str]]]:
    """Group name to members and metrics; a task of one text and one length needs no group."""
    card = catalogue.card(benchmark)
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for spec in catalogue.task_specs():
        if spec.benchmark != benchmark or spec.length == catalogue.ANY or spec.group == spec.name:
            continue
        if not spec.listed:
            continue
        metrics = list(spec.card.main_metrics)
        if spec.scoring == "likelihood":
            metrics = [spec.headline]
        groups.setdefault(spec.group, ([], metrics))[0].append(spec.name)
    published = {name: task for name, task in card.tasks.items() if task.source == "published"}
    # Without published tasks, the benchmark's group holds those that are written from a seed.
    plain = published or {name: task for name, task in card.tasks.items() if task.source == "seed"}
    if plain:
        # What all tasks have, so that no group averages over some of its members only.
        common = [
            metric
            for metric in dict.fromkeys(metric for task in plain.values() for metric in task.main_metrics)
            if all(metric in task.main_metrics for task in plain.values())
        ]
        groups[benchmark] = [f"{benchmark}_{task}" for task in plain], common
    return groups


def synthetic_tasks(source: Source = "seed") -> tuple[TaskSpec, ...]:
    """Every task that is answered on texts written (or recast) from a seed and takes any length, in the order of the cards.

    A noisy or otherwise changed form of such a task is left out.
    """
    return tuple(
        spec
        for spec in catalogue.task_specs()
        if spec.source == source
        and spec.scoring == "generate"
        and spec.length in ("", catalogue.ANY)
        and (not spec.variant or spec.card.source != source)
        and not spec.card.nano
    )


def nano_tasks() -> tuple[TaskSpec, ...]:
    """Every task with many questions on each of few documents, in the order of the cards."""
    return tuple(spec for spec in catalogue.task_specs() if spec.card.nano)


def _suite_groups(benchmarks: Sequence[str], groups: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The groups over all benchmarks; a group of splits stands for the tasks of the splits."""

    def members(specs: Sequence[TaskSpec]) -> tuple[str, ...]:
        own = [spec for spec in specs if spec.benchmark in benchmarks]
        named = (spec.group if spec.split and spec.group in groups else spec.name for spec in own)
        return tuple(dict.fromkeys(named))

    official = tuple(
        name
        for name in benchmarks
        if any(task.source == "published" for task in catalogue.card(name).tasks.values())
    )
    suites = {
        SYNTHETIC_GROUP: members(synthetic_tasks("seed")),
        NANO_GROUP: members(nano_tasks()),
        RECAST_GROUP: members(synthetic_tasks("recast")),
        OFFICIAL_GROUP: official,
    }
    # lm-eval runs an empty group without a word.
    return {name: members for name, members in suites.items() if members}


def lm_eval_groups() -> dict[str, tuple[str, ...]]:
    """Every group of our tasks in lm-eval, with its members: tasks and other groups."""
    groups = {
        name: tuple(members)
        for benchmark in catalogue.benchmark_names()
        for name, (members, _) in _groups(benchmark).items()
    }
    return {**groups, **_suite_groups(catalogue.benchmark_names(), groups)}


def task_files() -> dict[str, str]:
    """Name to text of every YAML file: a file per task and group of all benchmarks, and the groups over those of this package."""
    files: dict[str, str] = {}
    for name in catalogue.benchmark_names():
        files |= benchmark_files(name)
    own = catalogue.own_benchmark_names()
    groups = {name for benchmark in own for name in _groups(benchmark)}
    # Benchmarks have different metrics, so that these groups have no mean.
    suites = _suite_groups(own, dict.fromkeys(groups))
    return files | {
        f"_{name}.yaml": group_yaml(name, members, [], version=1) for name, members in suites.items()
    }


def benchmark_files(benchmark: str) -> dict[str, str]:
    """Name to text of every YAML file of a benchmark."""
    card = catalogue.card(benchmark)
    own = {spec.name: spec for spec in catalogue.task_specs() if spec.benchmark == benchmark and spec.listed}
    files = {f"{name}.yaml": task_yaml(spec) for name, spec in own.items()}
    for name, (members, metrics) in _groups(benchmark).items():
        pooled = any(own[member].card.pooled for member in members if member in own)
        files[f"_{name}.yaml"] = group_yaml(name, members, metrics, card.version, pooled=pooled)
    return files
