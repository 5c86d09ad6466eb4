"""Servers of vLLM, and what lm-eval wrote of a model in its own process, whose prompts are texts and no messages."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge_server import free_port
from tiny_model import demo_model

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.results.plan.prefixes import Prompts, Shared
from long_context_tasks.results.plan.prices import PrefixCache
from long_context_tasks.schema import Options

VLLM = Path(os.environ.get("LCT_VLLM", "")) / "bin"
ENVIRONMENT = {
    **os.environ,
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "HF_HUB_OFFLINE": "1",
    "OPENAI_API_KEY": "EMPTY",
    "TOKENIZERS_PARALLELISM": "false",
}
# Of the environment with vLLM everything but the tests' own code is its own.
ENVIRONMENT.pop("PYTHONPATH", None)
_SECONDS = 1200
"""For a server to start: with twenty other processes on two cores it took twelve minutes."""


@contextmanager
def vllm_server(log: Path, *options: str) -> Iterator[str]:
    """Serve the demo model as ``small`` until the block ends; the address is without ``/v1``."""
    port = free_port()
    with log.open("w") as file:
        process = subprocess.Popen(
            [
                *(str(VLLM / "vllm"), "serve", str(demo_model()), "--served-model-name", "small"),
                *("--port", str(port), "--dtype", "float32", "--enforce-eager", *options),
            ],
            env=ENVIRONMENT, stdout=file, stderr=file,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(_SECONDS):
                try:
                    urllib.request.urlopen(f"{url}/health", timeout=2).close()
                    break
                except OSError:
                    assert process.poll() is None, log.read_text()[-4000:]
                    time.sleep(1)
            else:
                raise AssertionError(f"no server after {_SECONDS} seconds:\n{log.read_text()[-4000:]}")
            yield url
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:  # it does not listen while it starts
                process.kill()


def shared_with_template(names: Sequence[str], options: Options, cache: PrefixCache) -> Shared:
    """What a cache holds of the tasks' prompts in the demo model's chat template, which `lct plan` leaves out; single questions only."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(demo_model())
    prompts = Prompts()
    for name in names:
        task = load_task(name, options)
        assert not task.is_conversation and task.candidates is None
        for case in task.cases.cases:
            messages = [message.chat() for message in task.messages(case)]
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            prompts.add(name, [tokenizer.encode(text, add_special_tokens=False)])
    return sum(prompts.shared(cache).values(), Shared())


def samples(folder: Path, task: str) -> dict[str, dict[str, Any]]:
    """Rows of a task by case."""
    [path] = folder.rglob(f"samples_{task}_2*.jsonl")
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["doc"]["case"]: row for row in rows}


def scores_of(row: dict[str, Any]) -> str:
    """Every metric of a case, as text: a missing value is equal to itself."""
    return json.dumps({name: row[name] for name in row["metrics"]}, sort_keys=True)
