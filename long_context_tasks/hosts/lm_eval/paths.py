"""How lm-eval learns of our task files and models, which runs end before they begin, and which table it prints for our tasks.

lm-eval 0.4.13 searches its own folder and ``--include_path``; the start-up hook (``startup/long_context_tasks_hook.py``)
calls ``extend_task_manager`` to make it search ours as well.

Nothing here imports a host or anything heavy: it runs whenever lm-eval is imported, also when it runs no task of ours.
"""

import argparse
import fnmatch
import functools
import inspect
import logging
import sys
from collections.abc import Mapping, Sequence
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
            if is_command(sys.argv) and sys.argv[1:2] == ["run"]:
                problem = template_problem(sys.argv[2:], bound.arguments.get("metadata") or {})
                if problem:
                    raise SystemExit(f"long_context_tasks: {problem}")
        original(*bound.args, **bound.kwargs)

    extended._lct_extended = True  # type: ignore[attr-defined]
    manager.__init__ = extended
    if hasattr(manager, "match_tasks"):
        manager.match_tasks = _checking_data(manager.match_tasks)


def _checking_data(match: Any) -> Any:
    """End a run whose data are missing as its tasks are matched: the host makes them only after it has loaded the model."""

    @functools.wraps(match)
    def match_tasks(self: Any, task_list: list[str]) -> list[str]:
        matched: list[str] = match(self, task_list)
        if is_command(sys.argv) and sys.argv[1:2] == ["run"]:
            check_data(matched, self.task_index, self.metadata or {})
        return matched

    return match_tasks


def check_data(names: Sequence[str], index: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """End the command with the error of the first task of ours whose data are neither here nor to be fetched.

    Args:
        names: of tasks, groups and tags.
        index: name to entry, of all that the host knows.
        arguments: the host's metadata, which holds our options.

    Raises:
        SystemExit: names the data and the remedies.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.benchmarks.loading import load_task
    from long_context_tasks.schema import InputError

    folders = _our_folder()
    for name in names:
        if (entry := index.get(name)) is None:
            continue
        if entry.cfg is None:  # a tag
            check_data(sorted(entry.tags), index, arguments)
        elif "group" in entry.cfg:
            members = entry.cfg.get("task") or []
            check_data([each for each in members if isinstance(each, str)], index, arguments)
        elif entry.yaml_path and entry.yaml_path.parent in folders:
            try:
                full, options = catalogue.with_variant(name, catalogue.resolve_options(arguments))
                if catalogue.has_data(catalogue.parse_task(full), options) is False:
                    load_task(name, arguments)  # from a hub, where its benchmark can
            except InputError as error:
                raise SystemExit(f"long_context_tasks: {error}") from None


def is_command(words: Sequence[str]) -> bool:
    """Return whether the words of a command start lm-eval."""
    path = Path(words[0]) if words else Path()
    return path.stem in ("lm_eval", "lm-eval") or path.parts[-2:] == ("lm_eval", "__main__.py")


def template_problem(words: Sequence[str], model_arguments: Mapping[str, Any]) -> str:
    """Return why tasks of ours cannot run with or without the chat template that a command asks for; empty when they can or when unknown.

    The host makes all its tasks before the first of them sees the model, which takes minutes. A file given with ``--config`` is not read.

    Args:
        words: after ``lm_eval run``.
        model_arguments: the host's metadata, which holds them.
    """
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--tasks", "-t", nargs="+", default=[])
    parser.add_argument("--model", default="hf")
    parser.add_argument("--config", "-C")
    parser.add_argument("--apply_chat_template", nargs="?", const=True)
    try:
        given, _ = parser.parse_known_args(list(words))
    except (argparse.ArgumentError, SystemExit):
        return ""
    if given.config:
        return ""
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.hosts.lm_eval.generate import lm_eval_groups

    groups = lm_eval_groups()
    specs = {spec.name: spec for spec in catalogue.task_specs()}

    def without_talks(name: str) -> list[str]:
        """The name, or what is left of it when conversations are taken out."""
        members = catalogue.members_of(name, groups)
        if not any(member in specs and specs[member].conversation for member in members):
            return [name]
        return [left for member in groups.get(name, ()) for left in without_talks(member)]

    words = [word for listed in given.tasks for word in listed.split(",") if word]
    asked = [name for word in words for name in (fnmatch.filter([*groups, *specs], word) or [word])]
    members = [member for name in asked for member in catalogue.members_of(name, groups) if member in specs]
    talks = ", ".join(dict.fromkeys(member for member in members if specs[member].conversation))
    kept = ",".join(dict.fromkeys(left for name in asked for left in without_talks(name)))
    if talks and not given.apply_chat_template:
        others = f", or, for a model without one, leave conversations out: --tasks {kept}" if kept else ""
        return f"{talks}: a conversation needs a chat template; add --apply_chat_template{others}"
    # A server has its own template, and vLLM has some for models that bring none.
    if not (members and given.apply_chat_template) or "base_url" in model_arguments or given.model == "vllm":
        return ""
    # Not before: it loads the host.
    from long_context_tasks.hosts.lm_eval.window import has_chat_template

    if has_chat_template(model_arguments) is not False:
        return ""
    name = model_arguments.get("tokenizer") or model_arguments.get("pretrained")
    others = f" and conversations, which need one: --tasks {kept}" if talks else ""
    remedy = f"leave out --apply_chat_template{others}" if kept else f"{talks} needs one"
    return f"{name}: no chat template; {remedy}"


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
