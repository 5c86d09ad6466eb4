"""Long cases cost OpenCompass' processes next to no memory: rows hold ids, texts are rendered when they are sent.

The bounds that must hold are twice the bytes of all prompts above a run with ten cases in the main and the evaluating
process, four times in the inferring one. Ours are a fraction of that; the test holds them to a half and to one times, so
that it also fails when somebody begins to keep prompts.
"""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("opencompass")

from long_context_tasks.schema import Case, CaseWriter, Turn

pytestmark = [pytest.mark.hosts, pytest.mark.slow]

SCRIPT = Path(__file__).with_name("opencompass_process.py")
REPOSITORY = SCRIPT.parents[2]
FEW = 10
N = int(os.environ.get("LCT_MEMORY_CASES", "200"))
TASK = "ada_leval_bestanswer_128k"
ANSWERS = 8
CHARACTERS = 64_000  # of an answer; eight of them are 512 kB, about 128k tokens


def documents(n: int) -> Iterator[tuple[str, str]]:
    rng = random.Random(0)
    words = "".join(rng.choice("etaoin shrdlu") for _ in range(CHARACTERS + 10 * n * ANSWERS))
    yield "question", "Which one is it?"
    for place in range(n * ANSWERS):
        yield str(place), words[10 * place : 10 * place + CHARACTERS]


def cases(n: int) -> Iterator[Case]:
    for i in range(n):
        keys = [str(i * ANSWERS + j) for j in range(ANSWERS)]
        yield Case(str(i), TASK, {"question": "question", "answers": keys}, (Turn("A1"),), str(i))


def peaks(folder: Path, work: Path) -> dict[tuple[str, int], int]:
    """Process and number of cases to bytes."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    result = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), str(work), str(FEW), str(N)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    found = re.findall(r"^peak (\w+) (\d+) (\d+)$", result.stdout, re.MULTILINE)
    return {(process, int(n)): int(peak) for process, n, peak in found}


def test_memory_does_not_grow_with_the_texts(tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    with CaseWriter(folder, {}) as writer:
        writer.add_documents(documents(N))
        writer.add_cases(TASK, cases(N))
    size = N * ANSWERS * CHARACTERS
    found = peaks(folder, tmp_path / "work")
    for process, bound in (("main", 0.5), ("infer", 1.0), ("eval", 0.5)):
        few, many = found[process, FEW], found[process, N]
        assert many - few < bound * size, process
    (path,) = tmp_path.glob(f"work/{N}/results/first/*.json")
    result = json.loads(path.read_text())
    assert (result["n"], result["n_scored"], result["strict_accuracy"]) == (N, N, 100)
    assert sum(file.stat().st_size for file in (tmp_path / "work" / str(N)).rglob("*.json")) < 0.05 * size
