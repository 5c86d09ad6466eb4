"""Register an inspect_ai task for every generative task in the catalogue, including other packages' tasks.

Loaded by inspect_ai's entry point.
"""

from collections.abc import Callable
from typing import Any

from inspect_ai import Task, task

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.inspect.task import case_task
from long_context_tasks.tokens import provide_table


def _maker(name: str) -> Callable[..., Task]:
    # inspect_ai takes a task name's prefix from the module that defines its function.
    def make(**options: Any) -> Task:
        return case_task(name, **options)

    return make


for _spec in catalogue.task_specs():
    if _spec.scoring == "generate":
        task(name=_spec.name)(_maker(_spec.name))
provide_table("o200k_base")
