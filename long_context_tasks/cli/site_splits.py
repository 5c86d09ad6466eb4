"""Splits of scores that need more than their labels: by place in the context, over measured word error rates."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.ethic.breakdown import ScoredPart
    from long_context_tasks.report.cells import Cell
    from long_context_tasks.report.schema import Collection
    from long_context_tasks.report.site.shown import HeatMap
    from long_context_tasks.runs.evaluations import Evaluation
    from long_context_tasks.schema import LoadedTask

_WER = "measured_wer"
# Task of the card to what a cell of its map is.
_MAPPED = {
    "summarize": "Mean score of the sections (1 to 5) that stand in this part of the context; a section left out has 1.",
    "recall": "Percent of the names or numbers recalled, by the part of the context that first names them.",
}


def measured_wer(collection: "Collection") -> dict[str, float]:
    """Task to the mean word error rate over its meetings, in percent, as the labels of its scores tell."""
    import polars as pl

    told = (
        collection.scores.filter(pl.col("labels").is_not_null())
        .select("run", "cluster", "labels")
        .unique()
        .with_columns(pl.col("run").cast(pl.String()), pl.col("labels").cast(pl.String()))
        .filter(pl.col("labels").str.contains(f'"{_WER}"', literal=True))
        .join(collection.runs.select("run", "task"), on="run")
        .select("task", "cluster", "labels")
        .unique()
    )
    rates: dict[str, dict[tuple[str, float], None]] = {}
    for task, cluster, labels in told.iter_rows():
        value = json.loads(labels).get(_WER)
        if isinstance(value, int | float):
            rates.setdefault(task, {})[cluster, float(value)] = None
    return {task: 100 * math.fsum(rate for _, rate in own) / len(own) for task, own in sorted(rates.items())}


def heat_maps(
    cells: "Sequence[Cell]", evaluations: "Mapping[str, Evaluation]", data_dir: Path | None, bins: int = 5
) -> "tuple[list[HeatMap], list[str]]":
    """ETHIC's scores by place in the context and its length (Fig. 5 of the paper), for each cell; and what has none, with the reason.

    The parts and their means are those of ``lct report ethic``. They need the task's data.

    Args:
        cells: any.
        evaluations: run to what its files hold.
        data_dir: where the data lie.
        bins: parts of a context.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.schema import InputError

    wanted = [
        (cell, spec.task)
        for cell in cells
        if cell.benchmark == "ethic" and (spec := catalogue.parse_task(cell.task)).task in _MAPPED
        and any(run in evaluations for run in cell.runs)
    ]  # fmt: skip
    maps, without = [], []
    loaded: tuple[str, LoadedTask | None] = ("", None)
    for cell, task in sorted(wanted, key=lambda one: one[0].task):
        parts: list[ScoredPart] = []
        for run in cell.runs:
            if (evaluation := evaluations.get(run)) is None:
                continue
            try:
                if loaded[0] != evaluation.run.task_key or loaded[1] is None:
                    loaded = (evaluation.run.task_key, _task(evaluation, data_dir))
                assert loaded[1] is not None
                parts += _parts(evaluation, loaded[1], task, cell.metric)
            except InputError as error:
                without.append(f"{cell.task}, {cell.model}: {error}")
                break
        if parts:
            maps.append(_map(cell, task, parts, bins))
    return maps, _told(without)


def _task(evaluation: "Evaluation", data_dir: Path | None) -> "LoadedTask":
    from long_context_tasks.runs.tasks import load_task

    return load_task(evaluation.run, data_dir)


def _parts(evaluation: "Evaluation", task: "LoadedTask", name: str, metric: str) -> "list[ScoredPart]":
    from long_context_tasks.cli.report_ethic import scores_of
    from long_context_tasks.schema import InputError

    try:
        return scores_of(evaluation, task, name, metric)[1]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{evaluation.run}: its scores cannot be laid beside its cases ({error!r})"
        ) from error


def _map(cell: "Cell", task: str, parts: "Sequence[ScoredPart]", bins: int) -> "HeatMap":
    from long_context_tasks.benchmarks.ethic.breakdown import (
        by_position,
        length_text,
        mean_over_runs,
        position_text,
    )
    from long_context_tasks.report.site import words
    from long_context_tasks.report.site.shown import HeatMap

    table = by_position(mean_over_runs(parts), bins)
    scale, low, high = (1, 1.0, 5.0) if cell.points else (100, 0.0, 100.0)
    told = (words.short_name(cell.task, cell.benchmark), words.settings_label(words.settings(cell.settings)))
    who = [*told, cell.judge and f"judge {cell.judge}"]
    return HeatMap(
        model=cell.model,
        task=cell.task,
        title=" · ".join(one for one in who if one),
        caption=_MAPPED[task],
        x_title="Place in the context",
        y_title="Length of the context",
        x=[position_text(place, bins) for place in range(bins)],
        y=[length_text(span) for span in table],
        values=[
            [_finite(scale * row[place].mean) if place in row else None for place in range(bins)]
            for row in table.values()
        ],
        low=low,
        high=high,
        counts=[
            [row[place].clusters if place in row else 0 for place in range(bins)] for row in table.values()
        ],
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _told(without: Sequence[str]) -> list[str]:
    if not without:
        return []
    shown = "; ".join(list(dict.fromkeys(without))[:2]) + ("; ..." if len(without) > 2 else "")
    return [f"{len(without)} cells of ETHIC have no scores by place in the context: {shown}"]
