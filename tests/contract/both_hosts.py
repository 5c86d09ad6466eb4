"""Runs both hosts' own commands and reads what they wrote, in one form."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preloaded import host_ended

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.inspect.results import inspect_runs
from long_context_tasks.hosts.lm_eval.task_files import task_yaml
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.results import find_runs
from long_context_tasks.schema.response import REASONS

REPOSITORY = Path(__file__).resolve().parents[2]
COUNTS = {"n", "n_scored", "n_truncated", *(f"n_{reason}" for reason in REASONS)}


@dataclass
class TaskRun:
    """What a host has written of one task.

    Attributes:
        scores: case to metric to value (None where there is none); to a list of them in a conversation.
        prompts: case to the hash of the messages that were sent (to a list of them in a conversation); empty for tasks by
            likelihood.
        likelihoods: case to the log-likelihoods (nats) of its candidates, in order; empty for other tasks.
        aggregates: key to number; rates from 0 to 1.
        options: every option of the task, as the stored run holds it for tables and reports.
    """

    scores: dict[str, dict[str, Any]]
    prompts: dict[str, Any]
    likelihoods: dict[str, list[float]]
    aggregates: dict[str, float]
    options: dict[str, Any]


def write_published_files(benchmark: str, folder: Path, cases: int, *, built: bool = False) -> None:
    """Let the benchmark's own ``contract_data.py`` write its files, in the form in which they were published.

    Args:
        benchmark: its name.
        folder: gets a folder of that name.
        cases: of each task.
        built: write built cases of the tasks without published data instead.
    """
    path = REPOSITORY / "tests" / "benchmarks" / benchmark / "contract_data.py"
    spec = importlib.util.spec_from_file_location(f"contract_data_of_{benchmark}", path)
    assert spec is not None and spec.loader is not None, f"{path}: write it, see that of ada_leval"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (folder / benchmark).mkdir(parents=True)
    write = module.write_built_cases if built else module.write_published_files
    write(folder / benchmark, cases)


def write_unlisted_tasks(folder: Path, tasks: Iterable[str]) -> Path:
    """Write lm-eval's files for those of some tasks that it does not list; returns the folder."""
    folder.mkdir()
    for task in tasks:
        spec = catalogue.parse_task(task)
        if not spec.listed:
            (folder / f"{task}.yaml").write_text(task_yaml(spec), encoding="utf-8")
    return folder


def run_command(command: Sequence[str], folder: Path, options: dict[str, str]) -> str:
    """Run a command of this Python environment in ``folder``; it has to succeed.

    Returns:
        Its output.
    """
    program = Path(sys.executable).with_name(command[0])
    environment = {
        **os.environ,
        **options,
        "HF_HUB_OFFLINE": "1",
        "OPENAI_API_KEY": "EMPTY",
        "TOKENIZERS_PARALLELISM": "false",
    }
    result = subprocess.run(
        [str(program), *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-4000:]
    return output


def run_host(command: Sequence[str], folder: Path, options: dict[str, str]) -> str:
    """As :func:`run_command`, for a program of a host: forked from a process that has its imports."""
    code, output = host_ended(command, folder, {**options, "OPENAI_API_KEY": "EMPTY"})
    assert code == 0, output[-4000:]
    return output


def configs_for_the_server(folder: Path, benchmark: str) -> Path:
    """The benchmark's config file in a copy of the configs; it asks the server, and evaluates all tasks in one process."""
    configs = folder / "configs"
    shutil.copytree(REPOSITORY / "configs", configs)
    path = configs / f"eval_{benchmark}.py"
    text = path.read_text(encoding="utf-8")
    # Each process takes ten seconds to start.
    assert text.count(".models.lct_model") == 1
    changed = text.replace(".models.lct_model", ".models.lct_endpoint")
    path.write_text(f"{changed}eval['partitioner']['n'] = 1000\n", encoding="utf-8")
    return path


def read_lm_eval(folder: Path, task: str) -> TaskRun:
    """What lm-eval has written under ``--output_path``."""
    [path] = folder.rglob(f"samples_{task}_2*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    [path] = folder.rglob("results_*.json")
    numbers = json.loads(path.read_text(encoding="utf-8"))["results"][task]
    likely = _by_likelihood(task)
    return TaskRun(
        scores={row["doc"]["case"]: _scores(task, row) for row in rows},
        prompts={} if likely else {row["doc"]["case"]: _hash_of_sent(row) for row in rows},
        likelihoods={row["doc"]["case"]: _likelihoods(row) for row in rows} if likely else {},
        aggregates={
            key.removesuffix(",none"): float(value)
            for key, value in numbers.items()
            if key.endswith(",none") and "_stderr" not in key
        },
        options=_stored_options(folder, task),
    )


def read_opencompass(folder: Path, task: str) -> TaskRun:
    """What OpenCompass has written under its work folder."""
    [path] = folder.rglob(f"results/*/{task}.json")
    result = json.loads(path.read_text(encoding="utf-8"))
    [path] = folder.rglob(f"predictions/*/{task}.json")
    rows = json.loads(path.read_text(encoding="utf-8")).values()
    likely = _by_likelihood(task)
    return TaskRun(
        scores={
            # The host makes a list of everything in the details, with an item for each run.
            row["case"][0]: _scores(task, {key: value[0] for key, value in row.items() if value})
            for row in result["details"]
        },
        prompts={} if likely else {row["case"]: row["prompt_sha256"] for row in rows},
        likelihoods={row["case"]: row["log_likelihoods"] for row in rows} if likely else {},
        aggregates={
            key: float(value) if key in COUNTS or _is_point(result, key) else value / 100
            for key, value in result.items()
            if isinstance(value, int | float)
        },
        options=_stored_options(folder, task),
    )


def _stored_options(folder: Path, task: str) -> dict[str, Any]:
    [run] = [run for run in find_runs(folder).runs if run.task == task]
    return dict(run.options)


def read_inspect(folder: Path, task: str) -> TaskRun:
    """What inspect_ai has written under ``--log-dir``."""
    from inspect_ai.log import read_eval_log

    [path] = folder.glob(f"*_{task.replace('_', '-')}_*.eval")
    records = {
        str(sample.id): score.metadata
        for sample in read_eval_log(str(path)).samples
        for score in sample.scores.values()
    }

    def of_case(turns: list[Any], record: dict[str, Any]) -> Any:
        return turns if isinstance(record["status"], list) else turns[0]

    [run] = inspect_runs(path.parent, [path.name])
    assert isinstance(run, StoredRun), run
    return TaskRun(
        scores={
            case: {
                name: of_case([_value(turn["scores"][name]) for turn in record["turns"]], record)
                for name in record["turns"][0]["scores"]
            }
            for case, record in records.items()
        },
        prompts={case: of_case(record["prompt_sha256"], record) for case, record in records.items()},
        likelihoods={},
        # The host's table leaves out what is unknown and counts of 0; reading adds them.
        aggregates=dict(run.numbers),
        options=dict(run.options),
    )


def _by_likelihood(task: str) -> bool:
    return catalogue.parse_task(task).variant.startswith("ppl")


def _scores(task: str, row: dict[str, Any]) -> dict[str, float | None]:
    """The metrics of the card that a row has; both hosts write a missing value in their own way."""
    metrics = catalogue.card(catalogue.parse_task(task).benchmark).metrics
    values = {metric: row[metric] for metric in metrics if metric in row}
    return {
        metric: [_value(one) for one in value] if isinstance(value, list) else _value(value)
        for metric, value in values.items()
    }


def _value(value: Any) -> float | None:
    return None if value is None or value == "" or value != value else float(value)


def _is_point(result: dict[str, Any], key: str) -> bool:
    """Whether a number of a result of OpenCompass is no percentage."""
    [points] = result["points"] or [[]]
    return key.removesuffix("_low").removesuffix("_high") in points


def _hash_of_sent(row: dict[str, Any]) -> Any:
    if row["filtered_resps"][0].startswith("{") and "prompt_sha256" in row["filtered_resps"][0]:
        hashes = json.loads(row["filtered_resps"][0])["prompt_sha256"]
        if hashes:
            return hashes
    sent = json.loads(row["arguments"]["gen_args_0"]["arg_0"][0])
    messages = [[message["role"], message["content"]] for message in sent]
    return hashlib.sha256(json.dumps(messages).encode("ascii")).hexdigest()


def _likelihoods(row: dict[str, Any]) -> list[float]:
    """Of each candidate; the host writes numbers as texts, in lists, with an item for each run."""
    values = []
    for response in row["resps"]:
        while isinstance(response, list):
            response = response[0]
        values.append(float(response))
    return values
