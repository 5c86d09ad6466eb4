"""Scores as files of ``.eval_results/`` in model repositories of the Hugging Face hub (docs/hub/eval-results)."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from long_context_tasks.results.bundle.format import fit_to_travel
from long_context_tasks.results.bundle.pack import file_name
from long_context_tasks.results.cells import Cell, held_settings
from long_context_tasks.results.tables import interval_text, printable
from long_context_tasks.schema.files import make_folder, write_whole
from long_context_tasks.schema.report import settings_text


def write_eval_results(
    folder: Path, cells: Sequence[Cell], datasets: Mapping[str, str], source: str = ""
) -> tuple[list[Path], list[str]]:
    """Write ``<model>/.eval_results/<task>.yaml`` for each ranked score; other settings and judges get files of their own.

    Args:
        folder: holds a folder for each model.
        cells: see :func:`long_context_tasks.results.cells.cells_of`.
        datasets: benchmark to the hub's dataset whose ``eval.yaml`` names its tasks.
        source: address that a score links to; empty without one.

    Returns:
        The files, and a line for each score that is left out.

    Raises:
        InputError: a place that cannot be written.
    """
    written, left_out, remedy = [], [], "choose another place with --eval-results"
    for cell in cells:
        name = f"{printable(cell.task)} of {printable(cell.model)}"
        if cell.benchmark not in datasets:
            left_out.append(
                f"{name}: no dataset of the hub is given for it (--dataset {cell.benchmark}=ORG/NAME)"
            )
        elif not cell.ranked:
            left_out.append(f"{name}: not ranked: {cell.why_unranked}")
        else:
            place = folder / file_name(str(fit_to_travel(cell.model))) / ".eval_results"
            make_folder(place, remedy=remedy)
            plain = cell.judge is None and not held_settings(cell.settings)
            digits = hashlib.sha256(f"{cell.judge} {cell.settings}".encode()).hexdigest()[:8]
            written.append(place / (f"{cell.task}.yaml" if plain else f"{cell.task}_{digits}.yaml"))
            text = yaml.safe_dump(
                [entry(cell, datasets[cell.benchmark], source)], sort_keys=False, width=1_000
            )
            write_whole(written[-1], text, remedy=remedy)
    return written, left_out


def entry(cell: Cell, dataset: str, source: str = "") -> dict[str, Any]:
    """A score as the hub has it: rates in percent, points as they are; the notes say the metric, the interval and what was asked."""
    scale = 1 if cell.points else 100
    interval = interval_text(cell.mean, points=cell.points)
    notes = [
        cell.metric,
        "points" if cell.points else "percent",
        f"95 % interval {interval}",
        f"n={cell.mean.n}",
    ]
    notes += [f"judge {cell.judge}"] if cell.judge else []
    settings = settings_text(fit_to_travel(held_settings(cell.settings)))
    notes += [settings] if settings else []
    notes += [f"task version {cell.version}", f"run with {' and '.join(cell.hosts)} and long_context_tasks"]
    found: dict[str, Any] = {
        "dataset": {"id": dataset, "task_id": cell.task},
        "value": round(scale * cell.mean.value, 4),
    }
    if day := re.match(r"(\d{4})-?(\d\d)-?(\d\d)", cell.made):
        found["date"] = "-".join(day.groups())
    if source:
        found["source"] = {"url": source, "name": "Leaderboard"}
    return {**found, "notes": printable("; ".join(notes))}
