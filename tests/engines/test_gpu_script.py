"""`gpu.sh` at small sizes on the processor: every part runs."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from needs import needs

pytestmark = [pytest.mark.slow, needs("lm_eval", "peft")]


def test_every_part_runs_on_the_processor() -> None:
    script = Path(__file__).with_name("gpu.sh")
    environment = {**os.environ, "SMALL": "1", "PYTHON": sys.executable}
    done = subprocess.run(
        [script], env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in done.stdout.splitlines() if line.startswith("|")}) == 1
    assert Counter(part for part, *_ in rows[2:]) == {
        "tasks in lm-eval": 4,
        **{f"beyond 512: {name}": 1 for name in ("rerope", "leaky_rerope", "ntk", "yarn", "infllm")},
        "ORCA, scoring": 2,
        "ORCA, scoring one by one": 2,
        "ORCA, training (LoRA)": 1,
    }
    assert all("scored" in row[-1] or "loss" in row[-1] for row in rows[2:])
