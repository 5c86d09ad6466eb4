"""Stored runs made up, and the cells that they fill."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.results import FoundRuns, StoredRun
from long_context_tasks.results.plan.missing import CellState, WantedTask, find_cells

TASK, OTHER = "ada_leval_bestanswer_1k", "ada_leval_tsort_2k"
SETTINGS = {"lct_length": 1000}
VERSION = card("ada_leval").version
ASKED = WantedTask(TASK, VERSION, 10, SETTINGS)


def stored(**changes: Any) -> StoredRun:
    run = StoredRun(
        host="lm_eval",
        model="/models/tiny",
        task=TASK,
        options={"lct_length": 1000, "lct_seed": 0, "lct_length_policy": "same_information"},
        version=VERSION,
        folder=Path("results/tiny"),
        label="x",
        made="2026-01-01T00-00-00",
        files=(),
        read=lambda _: iter(()),
        numbers={"strict_accuracy": 0.5, "n": 10, "n_scored": 10, "coverage": 1.0},
    )
    return replace(run, **changes)


def only_cell(*runs: StoredRun, task: WantedTask = ASKED) -> CellState:
    [cell] = find_cells([task], ["tiny"], [FoundRuns(runs, ())])
    return cell
