"""How lm-eval learns of our task files and models, and which table it prints for our tasks.

lm-eval 0.4.13 searches its own folder and ``--include_path``; the start-up hook (``startup/long_context_tasks_hook.py``)
calls ``extend_task_manager`` to make it search ours as well.

Nothing here imports a host or anything heavy: it runs whenever lm-eval is imported, also when it runs no task of ours.
"""

import functools
import inspect
import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any


def extend_task_manager(module: ModuleType) -> None:
    """Register our models, and make the host's ``TaskManager`` search our folder too, between its own tasks and the user's ``include_path``.

    A task in the user's ``include_path`` so still wins over one of ours with the same name. With
    ``include_defaults=False`` the user asked for nothing but their own folders and gets that.

    Raises:
        TypeError: the host's ``TaskManager`` no longer takes ``include_path``.
    """
    host_utils = sys.modules.get("lm_eval.utils")
    if host_utils is not None:
        extend_table(host_utils)
    manager = module.TaskManager
    original = manager.__init__
    if getattr(original, "_lct_extended", False):
        return
    signature = inspect.signature(original)
    if "include_path" not in signature.parameters:
        raise TypeError("TaskManager has no argument include_path")
    # A host without our models still gets our tasks.
    with suppress(ImportError):
        from long_context_tasks.hosts.lm_eval.models import register_models

        register_models()

    @functools.wraps(original)
    def extended(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        given = bound.arguments.get("include_path") or []
        theirs = list(given) if isinstance(given, (list, tuple)) else [given]
        wanted = bound.arguments.get("include_defaults", True) is not False
        # Not the folder that the user names anyway.
        ours = [folder for folder in _our_folder() if not _names(theirs, folder)] if wanted else []
        if ours:
            bound.arguments["include_path"] = [*ours, *theirs]
        original(*bound.args, **bound.kwargs)

    extended._lct_extended = True  # type: ignore[attr-defined]
    manager.__init__ = extended


def extend_table(utils: Any) -> None:
    """Make the host's ``make_table`` print runs with tasks of ours as :mod:`.table` has them; others stay as they are."""
    original = utils.make_table
    if hasattr(original, "__wrapped__"):
        return

    @functools.wraps(original)
    def make_table(result_dict: Any, column: str = "results", *args: Any, **kwargs: Any) -> str:
        ours = _our_metadata(result_dict.get("configs") or {})
        if ours:
            from long_context_tasks.hosts.lm_eval.table import printed

            try:
                return printed(functools.partial(original, **kwargs), result_dict, ours, column, *args)
            except Exception:  # the host's own table is better than none
                logging.getLogger(__name__).exception(
                    "the host's own table follows, all its rows in order of name"
                )
        return str(original(result_dict, column, *args, **kwargs))

    utils.make_table = make_table


def _our_metadata(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Metadata of each task of ours, from the configs of all tasks of a run."""
    found = {task: config.get("metadata") or {} for task, config in configs.items()}
    return {task: metadata for task, metadata in found.items() if {"benchmark", "headline"} <= set(metadata)}


def _our_folder() -> list[Path]:
    """The folder with our files; none, and one line on stderr, where there is no place for it: the host has tasks of its own."""
    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    try:
        return [task_folder()]
    except Exception as error:
        sys.stderr.write(
            f"long_context_tasks: lm-eval does not see our tasks ({type(error).__name__}: {error})\n"
        )
        return []


def _names(folders: list[Any], ours: Path) -> bool:
    return not {Path(folder).resolve() for folder in folders}.isdisjoint(
        (ours.resolve(), *ours.resolve().parents)
    )
