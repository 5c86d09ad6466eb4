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
from long_context_tasks.hosts.lm_eval.patches import register_models
from long_context_tasks.hosts.lm_eval.task_files import task_folder

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "gate" / "easy"))  # the task facts_likes

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "": ("lct_kvpress", {"press": "none"}),
    "streaming_llm_0.5": ("lct_kvpress", {"press": "streaming_llm", "ratio": 0.5}),
    "snapkv_0.5": ("lct_kvpress", {"press": "snapkv", "ratio": 0.5}),
    "expected_attention_0.5": ("lct_kvpress", {"press": "expected_attention", "ratio": 0.5}),
}
"""What reports add to the name of the model, to the name of lm-eval's model and its arguments besides ``pretrained``."""
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("facts_likes", {"lct_length": "250", "lct_n": 96}),
    ("facts_likes", {"lct_length": "500", "lct_n": 96}),
    ("ethic_recall_medicine_synthetic", {"lct_length": "1k", "lct_n": 40, "lct_answer_budget": 32}),
]
"""Tasks and options; 2,000 tokens take the small model twice as long and leave it next to nothing right."""


def run(model: str, own: dict[str, Any], task: str, options: dict[str, Any], folder: Path) -> None:
    """Evaluate as ``lm_eval`` does, unless its results are there."""
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    if any(folder.rglob("results_*.json")):
        return
    register_models()
    arguments = {"pretrained": str(demo_model_path()), "dtype": "float32", **own}
    metadata = {**arguments, **options}
    manager = TaskManager(include_defaults=False, include_path=str(task_folder()), metadata=metadata)
    tracker = EvaluationTracker(output_path=str(folder))
    results = lm_eval.simple_evaluate(
        model, model_args=arguments, tasks=[task], task_manager=manager, device="cpu", apply_chat_template=True,
        log_samples=True, bootstrap_iters=0, evaluation_tracker=tracker,
    )  # fmt: skip
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)


def compared(folder: Path, method: str, length: str) -> list[str]:
    """Return rows of the table: a method against the full cache, task by task."""
    out = folder / "comparison.json"
    places = sorted(str(one) for one in folder.glob(f"*_{length}"))
    words = [
        "report",
        "compare",
        *places,
        "-m",
        f"{MODEL_NAME} ({method})",
        "-m",
        MODEL_NAME,
        "--out",
        str(out),
    ]
    done = CliRunner().invoke(app, words)
    if done.exit_code:
        print(done.output, file=sys.stderr)  # no such run, or of another version
        return []
    found = json.loads(out.read_text(encoding="utf-8"))["tasks"]
    out.unlink()
    return [
        f"| {method} | {row['tasks'][0]} | {length} | {row['n_turns']} on {row['clusters']} | {100 * row['mean_second']:.1f} | "
        f"{100 * row['mean_first']:.1f} | {100 * row['difference']:+.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f}) | "
        f"{'<0.001' if row['p'] < 0.001 else format(row['p'], '.3f')} |"
        for row in found
        if row["n_turns"]
    ]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--only", default="", help="methods with these words in their names, and the full cache"
    )
    parser.add_argument("--print", action="store_true", help="run nothing")
    given = parser.parse_args()
    chosen = [name for name in METHODS if not name or given.only in name]
    for task, options in RUNS:
        for name in () if given.print else chosen:
            run(
                *METHODS[name],
                task,
                options,
                given.folder / f"{task}_{options['lct_length']}" / (name or "full"),
            )
    print("| method | task | length | questions on texts | full cache | method | difference (95 %) | p |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for length in dict.fromkeys(options["lct_length"] for _, options in RUNS):
        for name in chosen[1:]:
            print(*compared(given.folder, name, length), sep="\n")


if __name__ == "__main__":
    main()
