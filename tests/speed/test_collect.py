"""Runs are read into tables in little memory, beside Python's own reader, which reads every prompt.

``LCT_COLLECT_RUNS=100 LCT_COLLECT_CASES=1000 make speed PYTEST_ARGS="-k collect"`` takes the full size, about 3 GB of files.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

from long_context_tasks.stats.means import result_keys

pytestmark = pytest.mark.speed

SCRIPT = Path(__file__).with_name("collect_process.py")
RUNS = int(os.environ.get("LCT_COLLECT_RUNS", "8"))
CASES = int(os.environ.get("LCT_COLLECT_CASES", "200"))
CHARACTERS = int(os.environ.get("LCT_COLLECT_CHARACTERS", "32000"))  # of a prompt, about 8k tokens
TASK = "ada_leval_bestanswer_8k"
METRICS = ("strict_accuracy", "official_accuracy", "followed_accuracy", "copy_instruction")
KEYS = result_keys(METRICS, METRICS[:2])
GIVEN = {"version": 1, "lct_n": CASES, "lct_seed": 0, "lct_length_policy": "same_information"}
RESPONSE = 'I would say that the answer is A2, as it "names" the reason.\n' * 12


def numbers(value: float) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(KEYS, 0)
    row |= dict.fromkeys(METRICS, value) | {"n": 1, "n_scored": 1, "coverage": 1, "n_truncated": float("nan")}
    for metric in METRICS[:2]:
        row[f"{metric}_low"] = row[f"{metric}_high"] = value
    return row


def prompt() -> str:
    rng = random.Random(0)
    words = "".join(rng.choice('etaoin shrdlu\n"é') for _ in range(10_000))
    return (words * (CHARACTERS // len(words) + 1))[:CHARACTERS]


def scores(seed: int) -> list[float]:
    """A score for each case."""
    rng = random.Random(seed)
    return [float(rng.random() < 0.6) for _ in range(CASES)]


def means(seed: int) -> dict[str, float]:
    """What a results file says of these."""
    mean = sum(scores(seed)) / CASES
    return dict.fromkeys(KEYS, 0.5) | dict.fromkeys(METRICS, mean) | {"n": CASES, "n_scored": CASES}


def samples(seed: int) -> Iterator[str]:
    """Lines as lm-eval 0.4.13 writes them."""
    text = prompt()
    for place, score in enumerate(scores(seed)):
        yield json.dumps(
            {
                "doc_id": place,
                "doc": {
                    "case": f"case_{place}",
                    "cluster": f"question_{place // 2}",
                    "num_tokens": '{"cl100k": 8000}',
                    "labels": '{"length": 8000, "position": 3}',
                    "turn_labels": "[{}]",
                },
                "target": '["A2"]',
                "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": [], "max_gen_toks": 64}}},
                "resps": [[RESPONSE]],
                "filtered_resps": [RESPONSE],
                "filter": "none",
                "metrics": list(KEYS),
                "doc_hash": "0" * 64,
                "prompt_hash": "0" * 64,
                "target_hash": "0" * 64,
                **numbers(score),
            },
            ensure_ascii=False,
        )


def write_lm_eval(root: Path, number: int) -> None:
    folder = root / "lm_eval" / f"model_{number}"
    folder.mkdir(parents=True)
    made = "2026-01-01T10-00-00.000000"
    with (folder / f"samples_{TASK}_{made}.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in samples(number))
    metadata = {**GIVEN, "benchmark": "ada_leval", "task": TASK, "headline": METRICS[0], "points": []}
    metadata["n_cases_available"] = CASES
    content = {
        "model_name": f"model_{number}",
        "results": {TASK: {f"{key},none": value for key, value in means(number).items()}},
        "configs": {TASK: {"output_type": "generate_until", "metadata": metadata}},
        "config": {"random_seed": 0},
        "n-samples": {TASK: {"effective": CASES}},
    }
    (folder / f"results_{made}.json").write_text(json.dumps(content))


def write_opencompass(root: Path, number: int) -> None:
    text, values = prompt()[:800], scores(number)
    rows = {
        str(place): {
            "case": f"case_{place}",
            "origin_prompt": text,
            "prediction": RESPONSE,
            "lct_status": None,
            "n_prompt_tokens": 8000,
            "lct_window": "unchecked",
            "lct_given": GIVEN,
        }
        for place in range(CASES)
    }
    details = [
        {
            "case": [f"case_{place}"],
            "cluster": [f"question_{place // 2}"],
            "pred": [RESPONSE],
            **{metric: [value] for metric in METRICS},
            "reason": [""],
            "labels": [{"length": 8000, "position": 3}],
            "turn_labels": [[{}]],
        }
        for place, value in enumerate(values)
    ]
    percent = {key: 100 * value for key, value in means(number).items() if key not in ("n", "n_scored")}
    result = percent | {"n": CASES, "n_scored": CASES, "lct_task": [TASK], "points": [[]]}
    result |= {"headline": [METRICS[0]], "lct_given": [GIVEN], "details": details}
    for kind, content in (("predictions", rows), ("results", result)):
        folder = root / "opencompass" / "20260101_100000" / kind / f"other_{number}"
        folder.mkdir(parents=True)
        (folder / f"{TASK}.json").write_text(
            json.dumps(content, indent=4, ensure_ascii=False), encoding="utf-8"
        )


def test_seconds_and_memory(tmp_path: Path, compared: Callable[[str, float, str, float], None]) -> None:
    for number in range(RUNS):
        (write_opencompass if number % 2 else write_lm_eval)(tmp_path, number)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["problems"] == [] and told["runs"] == told["cells"] == RUNS
    assert told["scores"] == RUNS * CASES * len(METRICS)
    # A fraction of the runs is enough to compare with.
    [path] = (tmp_path / "lm_eval" / "model_0").glob("samples_*")
    start = time.perf_counter()
    with path.open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)
    plain = (time.perf_counter() - start) * RUNS / 2
    compared(f"read {RUNS} runs of {CASES} cases, {size / 1e6:.0f} MB", told["read_s"], "json.loads", plain)
    assert told["peak_mb"] < (2000 if RUNS * CASES >= 100_000 else 500)
