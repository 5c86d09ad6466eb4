"""The table of docs/kv_cache.md: methods on the small model against its full cache, in an environment with kvpress.

``python docs/figures/kv_cache_table.py FOLDER`` runs what the folder does not hold yet (on two cores about ten minutes a method) and
prints the table; ``--only streaming_llm`` runs the methods with these words in their arguments. A method is a line of :data:`METHODS`.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.hosts.demo_model import MODEL_NAME, demo_model_path
from long_context_tasks.hosts.lm_eval.models import method_of, register_models
from long_context_tasks.hosts.lm_eval.paths import task_folders

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "gate" / "easy"))  # the task facts_likes

FULL = ("lct_kvpress", {"press": "none"})
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("lct_kvpress", {"press": "streaming_llm", "ratio": 0.5}),
    ("lct_kvpress", {"press": "snapkv", "ratio": 0.5}),
    ("lct_kvpress", {"press": "expected_attention", "ratio": 0.5}),
]
"""Names of lm-eval's models and the model arguments besides ``pretrained``."""
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("facts_likes", {"lct_length": "250", "lct_n": 40}),
    ("ethic_recall_medicine_synthetic", {"lct_length": "1k", "lct_n": 12, "lct_answer_budget": 32}),
    ("facts_likes", {"lct_length": "1k", "lct_n": 24}),
]
"""Tasks and options; 2,000 tokens take the small model twice as long and leave it next to nothing right."""


def run(model: str, own: dict[str, Any], task: str, options: dict[str, Any], folder: Path) -> None:
    """Evaluate as ``lm_eval`` does, unless its results are there."""
    import lm_eval
    import lm_eval.models as host_models
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    if any(folder.rglob("results_*.json")):
        return
    register_models(host_models)
    arguments = {"pretrained": str(demo_model_path()), "dtype": "float32", **own}
    folders = [str(one) for one in task_folders()]
    manager = TaskManager(include_defaults=False, include_path=folders, metadata={**arguments, **options})
    tracker = EvaluationTracker(output_path=str(folder))
    results = lm_eval.simple_evaluate(
        model, model_args=arguments, tasks=[task], task_manager=manager, device="cpu", apply_chat_template=True,
        log_samples=True, bootstrap_iters=0, evaluation_tracker=tracker,
    )  # fmt: skip
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)


def compared(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the paired comparison of a method with the full cache, a row for each task and length."""
    out = folder / "comparison.json"
    done = CliRunner().invoke(
        app, ["report", "compare", str(folder), "-m", name, "-m", MODEL_NAME, "--out", str(out)]
    )
    if done.exit_code:
        sys.exit(done.output)
    found = json.loads(out.read_text())["tasks"]
    out.unlink()
    return sorted(found, key=lambda row: (row["tasks"], str(row["settings"])))


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    # All methods at the shorter length first.
    for task, options in RUNS:
        for model, own in (FULL, *METHODS):
            name = method_of(model, own) or "full"
            if given.only in name or name == "full":
                run(
                    model,
                    own,
                    task,
                    options,
                    given.folder / f"{task}_{options['lct_length']}" / name.replace(" ", "_"),
                )
    print("| method | task | length | questions | full cache | method | difference (95 %) | verdict |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for model, own in METHODS:
        name = method_of(model, own)
        if given.only not in name:
            continue
        for row in compared(given.folder, f"{MODEL_NAME} ({name})"):
            print(json.dumps(row))


if __name__ == "__main__":
    main()
