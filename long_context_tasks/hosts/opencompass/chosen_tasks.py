"""LCT_TASKS: which tasks of a config file of OpenCompass run. No host is imported here.

A dataset file takes its own names out of LCT_TASKS. The others may belong to a file that is read beside it, so they are
looked at once more at the end of the run, where all of its tasks are known. A name of no task at all stops the run at once.
"""

import os
from collections.abc import Iterable, Sequence

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import TaskSpec
from long_context_tasks.hosts.environment import warn_of_misspelt_variables
from long_context_tasks.schema import InputError

VARIABLE = "LCT_TASKS"
OFFICIAL = "official"
"""Stands in LCT_TASKS for all tasks on the published files."""
OTHERS = "other_packages_gen"
"""Name of the dataset file of benchmarks that other packages bring."""


def group_of(spec: TaskSpec) -> str:
    """Name of the dataset file that holds a task: official, synthetic, other variants, by likelihood, any length, built cases only."""
    if spec.benchmark not in catalogue.own_benchmark_names():
        return OTHERS
    if spec.scoring == "likelihood":
        return f"{spec.benchmark}_ppl"
    if spec.source == "built":
        return f"{spec.benchmark}_built_gen"
    if spec.length == catalogue.ANY:
        return f"{spec.benchmark}_any_gen"
    if spec.source == "seed":
        return f"{spec.benchmark}_synthetic_gen"
    return f"{spec.benchmark}_variants_gen" if spec.variant else f"{spec.benchmark}_gen"


def seeded_tasks() -> list[str]:
    """Return the tasks of any length on texts written from a seed."""
    specs = catalogue.task_specs()
    return [spec.name for spec in specs if spec.source == "seed" and spec.length in ("", catalogue.ANY)]


def tasks_of_other_packages() -> list[tuple[str, bool]]:
    """Tasks of benchmarks that other packages bring, and whether each is scored by likelihood; those in LCT_TASKS when it is given."""
    specs = {spec.name: spec for spec in catalogue.task_specs() if group_of(spec) == OTHERS}
    return [(name, specs[name].scoring == "likelihood") for name in chosen_tasks(OTHERS, list(specs))]


def task_groups(benchmark: str) -> dict[str, list[str]]:
    """Name of a dataset file to its tasks, both in the order of the card."""
    groups: dict[str, list[str]] = {}
    for spec in catalogue.task_specs():
        if spec.benchmark == benchmark:
            groups.setdefault(group_of(spec), []).append(spec.name)
    return groups


def wanted_names() -> list[str]:
    """The names in LCT_TASKS; empty when it is not given.

    Raises:
        InputError: a name of no task, with its neighbours.
    """
    warn_of_misspelt_variables()
    names = os.environ.get(VARIABLE, "").replace(",", " ").split()
    for name in names:
        if name != OFFICIAL:
            try:
                catalogue.parse_task(name)
            except InputError as error:
                raise InputError(f"{VARIABLE}: {error}; `lct tasks` lists all names") from error
    return names


def chosen_tasks(group: str, tasks: Sequence[str]) -> list[str]:
    """The tasks of a dataset file that run: all of them when LCT_TASKS is not given, else its own names in it.

    Args:
        group: name of the file.
        tasks: its tasks.

    Raises:
        InputError: LCT_TASKS names a task that does not exist.
    """
    names = wanted_names()
    everything = not names or (OFFICIAL in names and group in official_groups())
    return [task for task in tasks if everything or task in names]


def official_groups() -> list[str]:
    """The dataset files that hold the tasks on the published files."""
    names = (f"{name}_gen" for name in catalogue.benchmark_names())
    return [name for name in names if name in {group_of(spec) for spec in catalogue.task_specs()}]


def not_run(tasks: Iterable[str]) -> list[str]:
    """Sentences on the names in LCT_TASKS that a run holds no task for, with the remedy.

    Args:
        tasks: the tasks of the run.
    """
    held = set(tasks)
    groups = official_groups()
    published = {spec.name for spec in catalogue.task_specs() if group_of(spec) in groups}
    sentences = []
    for name in dict.fromkeys(wanted_names()):
        if name == OFFICIAL:
            if not held & published:
                sentences.append(
                    f"{VARIABLE}={OFFICIAL} means the tasks in {', '.join(groups)}; this run holds none of them"
                )
        elif name not in held:
            group = group_of(catalogue.parse_task(name))
            sentences.append(
                f"{VARIABLE} names {name}, which no dataset file of this run holds; it is in {group}: "
                f"opencompass --datasets {group} ..."
            )
    return sentences
