"""Names that the shell completes: tasks, groups of tasks and benchmarks, read from the cards when they are asked for."""

from collections.abc import Iterable


def complete_task(incomplete: str) -> list[str]:
    """Names of tasks that begin like what was typed."""
    return _beginning(_task_names(), incomplete)


def complete_tasks(incomplete: str) -> list[str]:
    """The same for a list with commas: what stands before the last comma is kept."""
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    return [f"{before}{comma}{name}" for name in _beginning(_task_names(), last) if name not in taken]


def complete_benchmark(incomplete: str) -> list[str]:
    """Names of benchmarks that begin like what was typed."""
    from long_context_tasks.benchmarks.catalogue import benchmark_names

    return _beginning(benchmark_names(), incomplete)


def complete_family(incomplete: str) -> list[str]:
    """What `lct build` can build."""
    from long_context_tasks.benchmarks.catalogue import benchmark_names, core

    families = (family for name in benchmark_names() for family in core(name, "build").FAMILIES)
    return _beginning(families, incomplete)


def _task_names() -> list[str]:
    from long_context_tasks.benchmarks.catalogue import task_specs

    return [spec.name for spec in task_specs()]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
