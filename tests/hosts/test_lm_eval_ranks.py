"""lm-eval on two ranks, as `accelerate launch` starts it: the same responses and numbers as on one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from preloaded import host_ended
from tiny_model import make_tiny_model

from long_context_tasks.hosts.lm_eval.task_files import task_folder

pytestmark = [needs("lm_eval", "accelerate"), pytest.mark.slow, pytest.mark.hosts]

TASKS = "ada_leval_bestanswer_1k_synthetic,elitr_bench_conv_synthetic"
TWO = [
    *("accelerate.commands.launch", "--cpu", "--num_processes=2", "--num_machines=1", "--mixed_precision=no"),
    "--dynamo_backend=no",
]
SECONDS = 900


# The host's 14,700 own tasks take ten seconds to read in each process: a folder without any stands for theirs.
SCRIPT = """
import lm_eval.tasks.manager as manager
from lm_eval.__main__ import cli_evaluate
manager.__file__ = __file__
cli_evaluate()
"""


def words(model: Path, folder: Path) -> list[str]:
    options = {"lct_length": "1k", "lct_n": 3, "lct_answer_budget": 6}
    return [
        *("--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu"),
        *("--apply_chat_template", "--include_path", str(task_folder()), "--tasks", TASKS),
        *("--metadata", json.dumps(options), "--log_samples", "--output_path", str(folder)),
    ]


def results(folder: Path) -> tuple[Any, dict[Any, Any]]:
    [numbers] = folder.rglob("results_*.json")
    samples: dict[Any, Any] = {}
    for path in folder.rglob("samples_*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            key = path.name.rpartition("_")[0], row["doc_id"]
            assert key not in samples
            samples[key] = row["resps"]
    return json.loads(numbers.read_text(encoding="utf-8"))["results"], samples


def test_two_ranks_score_like_one(tmp_path: Path) -> None:
    """Three cases a task, so that one rank has a case less and lm-eval fills it up."""
    model = make_tiny_model(tmp_path / "model", initializer_range=0.5)
    code, output = host_ended(["lm_eval", *words(model, tmp_path / "one")], tmp_path, {})
    assert code == 0, output[-3000:]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    launch = [sys.executable, "-m", *TWO, str(script), *words(model, tmp_path / "two")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    subprocess.run(launch, check=True, timeout=SECONDS, env=environment)
    one, samples = results(tmp_path / "one")
    two, samples_of_two = results(tmp_path / "two")
    assert json.dumps(two, sort_keys=True) == json.dumps(one, sort_keys=True)  # nan is nan here
    assert samples_of_two == samples and len(samples) == 6
    assert len({json.dumps(responses) for responses in samples.values()}) > 1
