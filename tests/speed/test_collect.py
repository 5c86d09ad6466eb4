"""Runs are read into tables in little memory, compared with pandas, which reads every prompt of the same files.

``LCT_COLLECT_RUNS=100 LCT_COLLECT_CASES=1000 make speed PYTEST_ARGS="-k collect"`` takes the full size, about 3 GB of files.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("polars")

from collected_runs import METRICS, TASK, TIME, Run, Turn, write_lm_eval, write_opencompass

pytestmark = pytest.mark.speed

SCRIPT = Path(__file__).with_name("collect_process.py")
RUNS = int(os.environ.get("LCT_COLLECT_RUNS", "8"))
CASES = int(os.environ.get("LCT_COLLECT_CASES", "200"))
TURNS = 3
CHARACTERS = int(os.environ.get("LCT_COLLECT_CHARACTERS", "32000"))  # of a prompt, about 8k tokens
RESPONSE = 'I would say that the answer is A2, as it "names" the reason.\n' * 12


def prompt() -> str:
    rng = random.Random(0)
    words = "".join(rng.choice('etaoin shrdlu\n"é') for _ in range(10_000))
    return (words * (CHARACTERS // len(words) + 1))[:CHARACTERS]


def add_prompts(samples: Path) -> None:
    """Give every sample of lm-eval a long prompt."""
    rows, text = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()], prompt()
    with samples.open("w", encoding="utf-8") as file:
        for row in rows:
            row["arguments"]["gen_args_0"]["arg_0"] = text
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def test_seconds_and_memory(tmp_path: Path, compared: Callable[[str, float, str, float], None]) -> None:
    for number in range(RUNS):
        rng = random.Random(number)
        scores = [dict.fromkeys(METRICS, float(rng.random() < 0.6)) for _ in range(CASES)]
        cases = {f"case_{place}": [Turn(own, text=RESPONSE)] for place, own in enumerate(scores)}
        run = Run(cases, model=f"model_{number}")
        if number % 2:
            write_opencompass(tmp_path / "opencompass", Run(cases, model=run.model, made=TIME))
        else:
            add_prompts(next(write_lm_eval(tmp_path / "lm_eval", run).glob(f"samples_{TASK}_*")))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    read_s, pandas_s = [], []
    for _ in range(TURNS):
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout)
        assert told["problems"] == [] and told["runs"] == told["cells"] == RUNS
        assert told["scores"] == RUNS * CASES * len(METRICS)
        read_s.append(told["read_s"])
        start = time.perf_counter()
        assert means_in_pandas(tmp_path) == RUNS
        pandas_s.append(time.perf_counter() - start)
    compared(f"read {RUNS} runs of {CASES} cases, {size / 1e6:.0f} MB", min(read_s), "pandas", min(pandas_s))
    assert told["peak_mb"] < (2000 if RUNS * CASES >= 100_000 else 500)


def means_in_pandas(folder: Path) -> int:
    """Read the samples of both hosts as an analyst would, and return the number of runs with a mean of each metric."""
    import pandas

    frames = [pandas.read_json(path, lines=True) for path in (folder / "lm_eval").rglob("samples_*.jsonl")]
    for path in (folder / "opencompass").rglob("results/*/*.json"):
        details = json.loads(path.read_text(encoding="utf-8"))["details"]
        frames.append(pandas.DataFrame(details).explode(list(METRICS)))
    return sum(len(frame[list(METRICS)].astype(float).mean()) == len(METRICS) for frame in frames)
