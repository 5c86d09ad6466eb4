"""Folders as both hosts leave them, made by the hosts themselves against local servers."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from both_hosts import configs_for_the_server, run_host
from judge_server import Answer
from preloaded import describe_machine_once

from long_context_tasks.results import StoredRun, find_runs

TASKS = ("elitr_bench_qa_dev", "elitr_bench_conv_dev", "elitr_bench_qa_test")
"""Single questions and a conversation, of the invented meetings."""


def judge_by_seed(body: dict[str, Any], number: int) -> Answer:
    """A judge whose score hangs on what it is asked and on the seed; some replies have none, others two."""
    text = json.dumps([body["messages"], body.get("seed")])
    digest = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    score = digest // 100 % 10 + 1
    replies = (
        f"Good enough. \\boxed{{{score}}}",
        f"It says \\boxed{{10}}. Score: \\boxed{{{score}}}",
        f"Fine.\n\nScore: \\boxed{{{score}}}",
        "I would rather not say." if digest % 8 == 3 else f"\\boxed{{{score}}}",
    )
    return Answer(replies[digest % 4])


def judge_file(path: Path, url: str, name: str = "stub-judge", **more: Any) -> Path:
    """A judge file for a server."""
    rows = {"model": "stub", "name": name, "base_url": url, "asks": 1, "retries": 0, **more}
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in rows.items()), encoding="utf-8")
    return path


def run_lm_eval(
    output: Path,
    tasks: Sequence[str],
    model_args: str,
    metadata: dict[str, Any] | None = None,
    model: str = "local-chat-completions",
    log_samples: bool = True,
    **arguments: Any,
) -> Path:
    """Evaluate and save as lm-eval's command does, without its ten seconds of start-up.

    Returns:
        The folder in which the files lie.
    """
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    describe_machine_once()
    os.environ.setdefault("OPENAI_API_KEY", "EMPTY")
    given = dict(item.split("=", 1) for item in model_args.split(",") if item)
    manager = TaskManager(
        include_defaults=False,
        include_path=str(task_folder()),
        metadata={**given, **(metadata or {})},
    )
    tracker = EvaluationTracker(output_path=str(output))
    results = lm_eval.simple_evaluate(
        model=model,
        model_args=model_args,
        tasks=list(tasks),
        task_manager=manager,
        evaluation_tracker=tracker,
        log_samples=True,
        bootstrap_iters=0,
        **{"apply_chat_template": model != "hf", **arguments},
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples if log_samples else None)
    for task in results["configs"] if log_samples else ():
        tracker.save_results_samples(task_name=task, samples=samples[task])
    [folder] = {path.parent for path in output.rglob("results_*.json")}
    return folder


def run_opencompass(
    folder: Path, tasks: Sequence[str], url: str, options: dict[str, str], *arguments: str
) -> tuple[Path, str]:
    """Run OpenCompass's own command on tasks of ELITR-Bench.

    Args:
        folder: where it runs; its results go to ``oc`` in it.
        tasks: names.
        url: of the server.
        options: variables of the environment.
        arguments: more of the command.

    Returns:
        The work folder and the command's output.
    """
    config = folder / "configs" / "eval_elitr_bench.py"
    if not config.is_file():
        config = configs_for_the_server(folder, "elitr_bench")
    work = folder / "oc"
    more = {"LCT_TASKS": ",".join(tasks), "LCT_API_BASE": url, "LCT_API_MODEL": "stub"}
    command = ["opencompass", str(config), "-w", str(work), "--debug", *arguments]
    return work, run_host(command, folder, {**options, **more})


def only(folder: Path, task: str) -> StoredRun:
    """The one stored run of a task in a folder."""
    [run] = [run for run in find_runs(folder).runs if run.task == task]
    return run
