"""Configuration search of ELITR-Bench with lm-eval: `configs/search_elitr_bench.sh --out FOLDER [ARGUMENTS OF LM-EVAL]`.

Every decoding (greedy, nucleus) x chat template or none x question-answer markers or none x repetition penalty (1.0, 1.1) for one
model, as in Appendix B.2 of the paper: 16 cells, each a run of lm-eval with results in FOLDER/<cell>. The table:
`lct report elitr-search FOLDER`. Called again it runs what is not done yet.

    LCT_MODEL          folder or hub id of a Hugging Face model with a chat template (out of the box: the demo model)
    LCT_TASKS          single-turn tasks (elitr_bench_qa_dev)
    LCT_N              cases of each task (all)
    LCT_SEARCH_CELLS   some cells only, by parts of their names: `greedy_rp1.0`, or the paper's first step:
                       `chat_rp1.0,raw_markers_rp1.0`
    LCT_SEARCH_STYLES  prompt styles (chat,raw); models of the LLaMA-2 family have theirs: vicuna_v1.1,raw
    LCT_JUDGE          a judge file; without one the answers are stored, and `lct judge run` has them judged

Arguments of lm-eval go to every cell: `--batch_size 8 --device cuda`, or another model than LCT_MODEL: `--model vllm --model_args
pretrained=...`.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.elitr_bench.search import (
    SearchCell,
    lm_eval_arguments,
    search_cells,
    search_tasks,
)
from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import write_whole

DONE = "done.json"
"""Stands in the folder of a cell that was run to its end, and says with what."""
OF_THE_SEARCH = (
    "--tasks",
    "--gen_kwargs",
    "--apply_chat_template",
    "--metadata",
    "--output_path",
    "--log_samples",
)
CHAT_ONLY = ("local-chat-completions", "openai-chat-completions")


def model_arguments(given: Sequence[str]) -> list[str]:
    """Arguments of lm-eval that name the model; empty when the user has named one."""
    if "--model" in given:
        return []
    path = os.environ.get("LCT_MODEL") or str(demo_model_path())
    return ["--model", "hf", "--model_args", f"pretrained={path}"]


def is_done(folder: Path, made_with: Mapping[str, Any]) -> bool:
    """Whether a cell was run to its end with these arguments and options."""
    try:
        return json.loads((folder / DONE).read_text(encoding="utf-8")) == made_with and any(
            folder.rglob("results_*.json")
        )
    except (OSError, ValueError):
        return False


def run_cell(cell: SearchCell, out: Path, given: Sequence[str]) -> bool:
    """Run a cell that is not done; returns whether it has results."""
    folder = out / cell.name
    tasks = search_tasks(os.environ.get("LCT_TASKS", ""))
    arguments = [*model_arguments(given), *given, *lm_eval_arguments(cell, tasks, str(folder))]
    # Not the judge: what it has not seen is judged afterwards, without asking the model again.
    options = {
        key: value for key, value in resolve_options(cell.options).resolved().items() if key != "lct_judge"
    }
    made_with = {"arguments": arguments, "options": options}
    if is_done(folder, made_with):
        typer.echo(f"{cell.name}: done already")
        return True
    typer.echo(f"{cell.name}: lm_eval {shlex.join(arguments)}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DONE).unlink(missing_ok=True)
    status = subprocess.run([sys.executable, "-m", "lm_eval", *arguments], check=False).returncode
    if status:
        typer.echo(f"{cell.name}: FAILED, lm_eval ended with status {status}")
        return False
    write_whole(folder / DONE, json.dumps(made_with, indent=1))
    return True


def main() -> int:
    """Run all cells; 1 when one has failed, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="configs/search_elitr_bench.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="where the results go")
    own, given = parser.parse_known_args()
    try:
        cells = search_cells(os.environ.get("LCT_SEARCH_STYLES", ""), os.environ.get("LCT_SEARCH_CELLS", ""))
        search_tasks(os.environ.get("LCT_TASKS", ""))
        resolve_options()
        if taken := sorted({word.partition("=")[0] for word in given} & set(OF_THE_SEARCH)):
            raise InputError(
                f"{', '.join(taken)}: set by the search for each cell; give options of the tasks as variables (LCT_N=50)"
            )
    except InputError as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    if any(name in given for name in CHAT_ONLY):
        left_out = [cell.name for cell in cells if not cell.templated]
        typer.echo("left out, as this model always has a chat template: " + ", ".join(left_out))
        cells = [cell for cell in cells if cell.templated]
    failed = [cell.name for cell in cells if not run_cell(cell, own.out, given)]
    typer.echo(
        f"{len(cells) - len(failed)} of {len(cells)} cells are done. The table: lct report elitr-search {own.out}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
