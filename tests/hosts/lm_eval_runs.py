"""lm-eval's own evaluator on our tasks, and what came of it."""

from typing import Any

from preloaded import describe_machine_once

from long_context_tasks.hosts.lm_eval.task_files import task_folder

TASK = "ada_leval_bestanswer_1k"


def evaluate(
    task: str | list[str] = TASK, metadata: dict[str, Any] | None = None, **arguments: Any
) -> dict[str, Any]:
    import lm_eval
    from lm_eval.tasks import TaskManager

    describe_machine_once()
    # The command line puts the model arguments into the metadata.
    given = arguments.get("model_args", "")
    if isinstance(given, str):
        given = dict(item.split("=", 1) for item in given.split(",") if item)
    metadata = {**given, **(metadata or {})}
    manager = TaskManager(include_defaults=False, include_path=str(task_folder()), metadata=metadata)
    result: dict[str, Any] = lm_eval.simple_evaluate(
        tasks=[task] if isinstance(task, str) else task,
        task_manager=manager,
        log_samples=True,
        bootstrap_iters=0,
        **arguments,
    )
    return result


def served_by(url: str) -> str:
    return f"model=stub,base_url={url}/chat/completions,num_concurrent=1,tokenizer_backend=None,max_retries=1"


def evaluate_served(task: str, url: str, **more: Any) -> dict[str, Any]:
    chat = {"model": "local-chat-completions", "model_args": served_by(url), "apply_chat_template": True}
    return evaluate(task, **chat, **more)


def name_in(result: dict[str, Any], task: str) -> str:
    """The result's key for a task; lm-eval 0.5 puts the group before it."""
    [name] = [name for name in result["configs"] if name.rpartition("::")[2] == task]
    return str(name)


def metrics_of(result: dict[str, Any], task: str = TASK) -> dict[str, float]:
    return {
        key.removesuffix(",none"): value
        for key, value in result["results"][name_in(result, task)].items()
        if key.endswith(",none")
    }
