"""Runs as lm-eval 0.4.13 leaves them, written without it: of any task, with the scores that a test wants."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import Case, LoadedTask, Options

Score = Callable[[Case, int], float | None]
TIME = "2026-01-0{}T10-00-00.000000"


def write_run(
    root: Path,
    options: Options,
    name: str,
    score: Score,
    *,
    model: str = "owl",
    run: int | None = None,
    judge: Mapping[str, Any] | None = None,
    gen_kwargs: Mapping[str, Any] | None = None,
    random_seed: int = 0,
) -> LoadedTask:
    """Write results and samples of a run into ``root/<model>``.

    Args:
        root: what ``--output_path`` names.
        options: of the run.
        name: of the task.
        score: case and turn to its score; None: not judged.
        model: its name.
        run: which day of the month it was made; without it the next free one.
        judge: its description; an empty one: nobody judged.
        gen_kwargs: as given to the host.
        random_seed: of the host.
    """
    task = load_task(name, options)
    judge = {"name": "stub", "model": "stub", "seeds": [0]} if judge is None else judge
    folder = root / model
    folder.mkdir(parents=True, exist_ok=True)
    time = TIME.format(run or len(list(folder.glob("results_*"))) + 1)
    values: list[float | None] = []
    with (folder / f"samples_{name}_{time}.jsonl").open("w", encoding="utf-8") as file:
        for case in task.cases.cases:
            own = [score(case, turn) for turn in range(len(case.turns))]
            values += own
            file.write(json.dumps(_sample(task, case, own)) + "\n")
    scored = [value for value in values if value is not None]
    mean = math.fsum(scored) / len(scored) if scored else math.nan
    numbers = {"judge_score": mean, "judge_score_low": mean, "judge_score_high": mean, "answered": 1.0}
    numbers |= {"n": len(values), "n_scored": len(scored), "n_not_judged": len(values) - len(scored)}
    metadata = {**task.description(), "benchmark": "elitr_bench", "headline": "judge_score"}
    metadata["points"] = sorted(task.points)
    if judge:
        metadata["judge"] = dict(judge)
    row = {
        "model_name": model,
        "lm_eval_version": "0.4.13",
        "results": {name: {f"{key},none": value for key, value in numbers.items()}},
        "configs": {name: {"output_type": "generate_until", "metadata": metadata}},
        "config": {"model": "hf", "gen_kwargs": dict(gen_kwargs or {}), "random_seed": random_seed},
        "n-samples": {name: {"original": len(task.cases), "effective": len(task.cases)}},
    }
    (folder / f"results_{time}.json").write_text(json.dumps(row), encoding="utf-8")
    return task


def _sample(task: LoadedTask, case: Case, values: list[float | None]) -> dict[str, Any]:
    texts = [f"Answer {turn}" for turn in range(len(values))]
    talk = task.is_conversation
    record = {
        "response": json.dumps(texts) if talk else texts[0],
        "status": [None] * len(texts) if talk else None,
        "prompt_sha256": [],
        "verdicts": [],
    }
    metrics: dict[str, list[Any]] = {
        "judge_score": [math.nan if value is None else value for value in values],
        "official_judge_score": [math.nan if value is None else value for value in values],
        "answered": [1.0] * len(values),
        "n": [1] * len(values),
        "n_not_judged": [int(value is None) for value in values],
    }
    return {
        "doc": {
            "case": case.id,
            "cluster": case.cluster,
            "labels": json.dumps(dict(case.labels)),
            "turn_labels": json.dumps([dict(turn.labels) for turn in case.turns]),
        },
        "resps": [[texts[0]]],
        "filtered_resps": [json.dumps(record)],
        "metrics": list(metrics),
        **{key: value if talk else value[0] for key, value in metrics.items()},
    }
