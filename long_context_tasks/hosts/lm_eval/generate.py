"""lm-eval's YAML files, made from the benchmarks' cards: a file per task, a file per group."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import TaskSpec
from long_context_tasks.schema import TaskCard

_BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
_NOTE = "# Made by `lct generate` from the card; edit the card instead.\n"
# All synthetic tasks that are answered, each at the one length that is asked for (lct_length). Those by likelihood are left out:
# they are no chat tasks and run on local models only, and a case costs a text for each candidate (24 in Ada-LEval).
SYNTHETIC_GROUP = "lct_synthetic"
# All tasks on published data, as LCT_TASKS=official in OpenCompass.
OFFICIAL_GROUP = "lct_official"


def _class_name(benchmark: str) -> str:
    name = "".join(part.capitalize() for part in benchmark.split("_"))
    return f"{catalogue.PACKAGE}.{benchmark}.lm_eval.{name}Task"


def task_yaml(spec: TaskSpec) -> str:
    """The file of one task."""
    version = catalogue.card(spec.benchmark).version
    lines = [
        f"task: {spec.name}",
        f"class: !function {_class_name(spec.benchmark)}",
        "metadata:",
        f"  version: {version}",
    ]
    return _NOTE + "\n".join(lines) + "\n"


def group_yaml(
    name: str, members: Sequence[str], metrics: Sequence[str], version: int, *, pooled: bool = False
) -> str:
    """The file of one group: the mean of its members' metrics, every length with the same weight.

    Args:
        name: of the group.
        members: names of its tasks.
        metrics: that are averaged.
        version: of the benchmark.
        pooled: every case has the same weight instead.
    """
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
    return _NOTE + yaml.safe_dump(group, sort_keys=False)


def _groups(benchmark: str) -> dict[str, tuple[list[str], list[str]]]:
    """Group name to members and metrics."""
    card = catalogue.card(benchmark)
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for task, task_card in card.tasks.items():
        family = f"{benchmark}_{task}"
        metrics = _main(task_card)
        for spec in catalogue.task_specs():
            if spec.family != family or spec.length == catalogue.ANY:
                continue
            group = "_".join(part for part in (family, spec.variant) if part)
            kept = [task_card.headline] if spec.variant.startswith("ppl") else metrics
            if group == spec.name:
                continue  # a task with neither splits nor lengths stands for itself
            if spec.headline != task_card.headline:
                kept = [spec.headline, *metrics]
            if group != spec.name:  # a task of one text and one length needs no group
                groups.setdefault(group, ([], kept))[0].append(spec.name)
    # A group that runs on published data as it comes.
    published = {
        task: task_card
        for task, task_card in card.tasks.items()
        if not task_card.built_only and not task.endswith("_synthetic")
    }
    # What all tasks have, so that no group averages over some of its members only.
    common = [
        metric for metric in _main(*published.values()) if all(metric in _main(t) for t in published.values())
    ]
    groups[benchmark] = [f"{benchmark}_{task}" for task in published], common
    return groups


def is_synthetic(spec: TaskSpec) -> bool:
    """Whether a task is answered on texts that are written from a seed."""
    return spec.name.endswith("_synthetic") and not spec.variant.startswith("ppl")


def synthetic_tasks() -> tuple[TaskSpec, ...]:
    """Every synthetic task that takes any length, of all benchmarks, in the order of the cards."""
    return tuple(
        spec for spec in catalogue.task_specs() if is_synthetic(spec) and spec.length in ("", catalogue.ANY)
    )


def _synthetic_members(groups: Mapping[str, object]) -> tuple[str, ...]:
    """What the group of all synthetic tasks holds: a group of splits in place of these."""
    members: dict[str, None] = {}
    for spec in synthetic_tasks():
        group = "_".join(part for part in (spec.family, spec.variant) if part)
        members[group if spec.split and group in groups else spec.name] = None
    return tuple(members)


def lm_eval_groups() -> dict[str, tuple[str, ...]]:
    """Every group of our tasks in lm-eval, with its members: tasks and other groups."""
    groups = {
        name: tuple(members)
        for benchmark in catalogue.benchmark_names()
        for name, (members, _) in _groups(benchmark).items()
    }
    return {
        **groups,
        SYNTHETIC_GROUP: _synthetic_members(groups),
        OFFICIAL_GROUP: catalogue.benchmark_names(),
    }


def _main(*tasks: TaskCard) -> list[str]:
    """Headline and official metrics of tasks, each once."""
    return list(dict.fromkeys(metric for task in tasks for metric in (task.headline, task.official)))


def lm_eval_files() -> dict[Path, str]:
    """Path to text of every YAML file of every benchmark."""
    files: dict[Path, str] = {}
    for benchmark in catalogue.benchmark_names():
        folder = _BENCHMARKS / benchmark / "lm_eval_tasks"
        card = catalogue.card(benchmark)
        for spec in catalogue.task_specs():
            if spec.benchmark == benchmark:
                files[folder / f"{spec.name}.yaml"] = task_yaml(spec)
        for name, (members, metrics) in _groups(benchmark).items():
            pooled = any(
                card.tasks[spec.task].pooled for spec in catalogue.task_specs() if spec.name in members
            )
            files[folder / f"_{name}.yaml"] = group_yaml(name, members, metrics, card.version, pooled=pooled)
    first = _BENCHMARKS / catalogue.benchmark_names()[0] / "lm_eval_tasks"
    groups = lm_eval_groups()
    # Benchmarks have different metrics, so that the groups of all have no mean.
    for name in (SYNTHETIC_GROUP, OFFICIAL_GROUP):
        files[first / f"_{name}.yaml"] = group_yaml(name, groups[name], [], version=1)
    return files
