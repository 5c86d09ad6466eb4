"""Both hosts' own commands against one local server: the same messages, and the same score for every case."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from stub_server import messages_hash, stub_server

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.demo_model import demo_model_path

pytestmark = pytest.mark.hosts

REPOSITORY = Path(__file__).resolve().parents[2]
CASES = 2
TASKS = [spec.name for spec in catalogue.task_specs() if not spec.variant.startswith("ppl")]


def _published_files(folder: Path) -> None:
    """Small files in the published form for every length of every task."""
    for name in catalogue.benchmark_names():
        (folder / name).mkdir(parents=True)
    for length, file_name in catalogue.card("ada_leval").tasks["bestanswer"].files.items():
        rows = [
            {
                "question_id": f"{length}{i}",
                "question": f"\nHow long is {length} {{really}}? ünï – 😀\n",
                "all_answers": [f"\nAnswer {j} of question {i} at {length}.\n" * 40 for j in range(1, 6)],
                "answer": f"A{i % 5 + 1}",
                "tags": ["length"],
            }
            for i in range(CASES)
        ]
        (folder / "ada_leval" / file_name).write_text(json.dumps(rows), encoding="utf-8")
    for length, file_name in catalogue.card("ada_leval").tasks["tsort"].files.items():
        rows = [
            {
                "book_id": f"book {i}",
                "para_offset": [i, 9],
                "answer": [2, 1, 4, 3],
                "prompt": f"\nSort {length}, {i}.\n\n",
            }
            for i in range(CASES)
        ]
        (folder / "ada_leval" / file_name).write_text(json.dumps(rows), encoding="utf-8")


def _run(command: list[str], folder: Path, options: dict[str, str]) -> None:
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
    assert result.returncode == 0, (result.stdout + result.stderr)[-4000:]


def _lm_eval_scores(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task in TASKS:
        [path] = folder.rglob(f"samples_{task}_2*.jsonl")
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        metrics = catalogue.card("ada_leval").metrics
        found[task] = {
            row["doc"]["case"]: {metric: _number(row[metric]) for metric in metrics} for row in rows
        }
    return found


def _opencompass_scores(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task in TASKS:
        [path] = folder.rglob(f"results/*/{task}.json")
        rows = json.loads(path.read_text(encoding="utf-8"))["details"]
        metrics = catalogue.card("ada_leval").metrics
        found[task] = {
            row["case"][0]: {metric: _number(row[metric][0]) for metric in metrics} for row in rows
        }
    return found


def _lm_eval_prompts(folder: Path) -> dict[str, dict[str, str]]:
    """Task and case to the hash of the messages that were sent."""
    found: dict[str, dict[str, str]] = {}
    for task in TASKS:
        [path] = folder.rglob(f"samples_{task}_2*.jsonl")
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            messages = [
                [m["role"], m["content"]] for m in json.loads(row["arguments"]["gen_args_0"]["arg_0"][0])
            ]
            digest = hashlib.sha256(json.dumps(messages).encode("ascii")).hexdigest()
            found.setdefault(task, {})[row["doc"]["case"]] = digest
    return found


def _opencompass_prompts(folder: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for task in TASKS:
        [path] = folder.rglob(f"predictions/*/{task}.json")
        rows = json.loads(path.read_text(encoding="utf-8")).values()
        found[task] = {row["case"]: row["prompt_sha256"] for row in rows}
    return found


def _configs_for_the_server(folder: Path) -> Path:
    """A copy of the configs that asks the server, and evaluates all tasks in one process (each takes ten seconds to start)."""
    configs = folder / "configs"
    shutil.copytree(REPOSITORY / "configs", configs)
    path = configs / "eval_ada_leval.py"
    text = path.read_text(encoding="utf-8")
    changed = text.replace(".models.lct_model", ".models.lct_endpoint").replace("n=10)", "n=1000)")
    assert changed.count("lct_endpoint") == 1 and changed.count("n=1000)") == 1
    path.write_text(changed, encoding="utf-8")
    return configs


def _number(value: Any) -> float | None:
    """A score of a case; both hosts write a missing one in their own way."""
    return None if value is None or value == "" or value != value else float(value)


def test_both_hosts_send_and_score_the_same(tmp_path: Path) -> None:
    data = tmp_path / "data"
    _published_files(data)
    options = {
        "LCT_DATA_DIR": str(data),
        "LCT_N": str(CASES),
        "LCT_LENGTH": "1k",  # for the tasks that take any length
        "LCT_TOKENIZER": str(demo_model_path()),
    }
    with stub_server() as server:
        lm_eval = [
            *("lm_eval", "--model", "local-chat-completions", "--apply_chat_template", "--log_samples"),
            *(
                "--model_args",
                f"model=stub,base_url={server.url}/chat/completions,num_concurrent=8,tokenizer_backend=None",
            ),
            *("--tasks", ",".join(TASKS), "--output_path", str(tmp_path / "lm_eval")),
        ]
        _run(lm_eval, tmp_path, options)
        sent_by_lm_eval = Counter(map(messages_hash, server.requests))
        server.requests.clear()
        configs = _configs_for_the_server(tmp_path)
        opencompass = ["opencompass", str(configs / "eval_ada_leval.py"), "-w", str(tmp_path / "oc")]
        more = {"LCT_TASKS": ",".join(TASKS), "LCT_API_BASE": server.url, "LCT_API_MODEL": "stub"}
        _run(opencompass, tmp_path, {**options, **more})
        sent_by_opencompass = Counter(map(messages_hash, server.requests))
    assert sum(sent_by_lm_eval.values()) == CASES * len(TASKS)
    assert sent_by_lm_eval == sent_by_opencompass
    assert _lm_eval_prompts(tmp_path / "lm_eval") == _opencompass_prompts(tmp_path / "oc")
    ours, theirs = _lm_eval_scores(tmp_path / "lm_eval"), _opencompass_scores(tmp_path / "oc")
    assert {task: set(cases) for task, cases in ours.items()} == {
        task: set(cases) for task, cases in theirs.items()
    }
    assert ours == theirs
    # The server gives answers of many shapes: were all scores equal, this test would show nothing.
    assert (
        len({json.dumps(scores, sort_keys=True) for cases in ours.values() for scores in cases.values()}) > 10
    )
