"""Processor seconds of `lct report --out`: the first site of some runs, and the next one with one new run.

``LCT_REPORT_RUNS=1000 make speed PYTEST_ARGS="-k report"`` takes the size of the table in docs/scale.md, about 700 MB of files.
"""

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("plotly")

from collected_runs import METRICS, TIME, Run, Turn, write_lm_eval, write_opencompass

pytestmark = pytest.mark.speed

RUNS = int(os.environ.get("LCT_REPORT_RUNS", "40"))
CASES = 200
TASKS = [f"ada_leval_{name}_{length}k" for name in ("bestanswer", "tsort") for length in (2, 4, 8, 16)]
RESPONSE = 'I would say that the answer is A2, as it "names" the reason.\n' * 10
PROMPT = "A question with a text.\n" * 80


def write_run(folder: Path, number: int) -> None:
    """Write a run of one of the tasks: four of five by lm-eval, with prompts."""
    rng, (model, task) = random.Random(number), divmod(number, len(TASKS))
    cases = {
        f"c{n}": [Turn(dict.fromkeys(METRICS, float(rng.random() < 0.5)), text=f"{RESPONSE}{n} {number}")]
        for n in range(CASES)
    }
    labels = {case: ({"position": str(n % 5)}, [{}]) for n, case in enumerate(cases)}
    # A file of results is named by its time, and would replace that of the model's other tasks.
    made = f"2026-01-01T10-{task:02}-00.000000"
    run = Run(cases, task=TASKS[task], model=f"model_{model}", made=made, task_labels=labels)
    if model % 5 == 4:
        write_opencompass(folder / "opencompass", Run(cases, task=run.task, model=run.model, made=TIME))
        return
    [samples] = write_lm_eval(folder / "lm_eval", run).glob(f"samples_{run.task}_*")
    text = samples.read_text(encoding="utf-8")
    samples.write_text(
        text.replace('"What? \\", \\"resps\\": [[\\"no\\"]]"', json.dumps(PROMPT)), encoding="utf-8"
    )


def seconds_of(code: str, *arguments: str) -> float:
    """Run Python code in a process; return its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_first_and_next_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: Callable[[str, float, str, float], None]
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    runs = tmp_path / "runs"
    for number in range(RUNS):
        write_run(runs, number)
    pandas = (
        "import sys, pathlib, pandas\n"
        "for path in pathlib.Path(sys.argv[1]).rglob('samples_*'): pandas.read_json(path, lines=True)"
    )
    command = [
        "from long_context_tasks.cli import app; app()",
        "report",
        str(runs),
        "--out",
        str(tmp_path / "site"),
    ]
    first = seconds_of(*command)
    compared(
        f"report of {RUNS} runs of {CASES} cases",
        first,
        "pandas reads lm-eval's",
        seconds_of(pandas, str(runs)),
    )
    write_run(runs, RUNS)
    compared("the next report, one new run", seconds_of(*command), "the first report", first)
