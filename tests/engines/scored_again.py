"""Small runs, and what judging and rescoring write beside them."""

import json
import shutil
from pathlib import Path
from typing import Any

from run_commands import lct

from long_context_tasks.api import load_task

TASKS = ("elitr_bench_qa_synthetic", "elitr_bench_conv_synthetic", "ethic_recall_medicine_synthetic")
_OF_THE_MOMENT = ("judged", "rescored", "usage")


def write_runs(folder: Path) -> Path:
    """Write a run of each task: gold answers, some with a word more, and no words at all, which makes a judge necessary."""
    for name in TASKS:
        task = load_task(name, length="2k", n=4)
        responses = {
            case.id: ["" if place == 2 else f"{turn.gold}{' perhaps' * (place % 2)}" for turn in case.turns]
            for place, case in enumerate(task.cases)
        }
        task.save(responses, "model", folder)
    return folder


def written(results: Path, kind: str) -> dict[str, Any]:
    """What lies beside the runs, but for times and what the judge cost."""
    found: dict[str, Any] = {}
    for path in sorted(results.rglob(f"{kind}/**/*.json*")):
        if path.suffix == ".jsonl":
            found[path.relative_to(results).as_posix()] = path.read_bytes()
        else:
            facts = json.loads(path.read_text())
            found[path.relative_to(results).as_posix()] = {
                name: value for name, value in facts.items() if name not in _OF_THE_MOMENT
            }
    return found


def scored(runs: Path, place: Path, *engine: str, judge: Path | None) -> dict[str, Any]:
    """Judge a copy of runs, or score it again without a judge; what came out."""
    results = Path(shutil.copytree(runs, place))
    words = ("judge", "run", results, "--judge", judge) if judge else ("runs", "rescore", results)
    done = lct(*words, *engine)
    # One reply of the judge holds no score.
    assert done.code == bool(judge), done.err
    found = written(results, "judged" if judge else "rescored")
    assert found
    return {"files": found, "shown": done.out.replace(str(results), "")} if not judge else found
