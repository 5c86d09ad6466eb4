"""Long-context benchmarks for lm-evaluation-harness and OpenCompass, and their parts for notebooks.

Importing this package loads neither torch, transformers nor a host, and touches neither disk nor network: the names
below are loaded at first use.
"""

TYPE_CHECKING = False  # as typing's, without the time that importing typing takes
if TYPE_CHECKING:
    from long_context_tasks.api import (
        Task,
        build,
        inject_noise,
        leaderboard,
        load_results,
        load_task,
        task_names,
        word_error_rate,
    )
    from long_context_tasks.schema.files import InputError

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "Task",
    "build",
    "inject_noise",
    "leaderboard",
    "load_results",
    "load_task",
    "task_names",
    "word_error_rate",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    place = "long_context_tasks.schema.files" if name == "InputError" else "long_context_tasks.api"
    return getattr(import_module(place), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
