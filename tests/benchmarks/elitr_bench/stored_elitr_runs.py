"""Runs as lm-eval 0.4.13 leaves them, written without it: of any task, with the scores that a test wants."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from collected_runs import Turn, run_of, write_lm_eval

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
    number = run or len(list((root / model).glob("results_*"))) + 1
    cases = {}
    for case in task.cases.cases:
        values = [score(case, turn) for turn in range(len(case.turns))]
        cases[case.id] = [
            Turn(
                {"judge_score": value, "official_judge_score": value, "answered": 1.0},
                "not_judged" if value is None else None,
                f"Answer {turn}",
            )
            for turn, value in enumerate(values)
        ]
    more = {"judge": judge, "gen_kwargs": dict(gen_kwargs or {}), "seed": random_seed}
    write_lm_eval(root, run_of(task, cases, model=model, made=TIME.format(number), **more))
    return task
