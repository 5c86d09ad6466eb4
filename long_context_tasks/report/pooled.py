"""Groups of tasks whose mean counts every case the same, as the papers print them (ETHIC: a task over all its domains)."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from long_context_tasks.report.cells import Cell, mean_of, turns_of_cells
from long_context_tasks.report.held_settings import held_settings
from long_context_tasks.report.repeats import HostsApart
from long_context_tasks.report.schema import Collection


def pooled_cells(
    collection: Collection, cells: Sequence[Cell], members: Mapping[str, Sequence[str]]
) -> list[Cell]:
    """A cell for each group, model, judge and settings that has a cell of every member, newest versions only.

    Args:
        collection: that the cells are of.
        cells: see :func:`long_context_tasks.report.cells.cells_of`.
        members: name of a group to the names of all its tasks.

    Returns:
        Cells whose task is the group: the headline and the other metrics over the turns of all cases; ranked where all parts are.
    """
    found: list[list[Cell]] = []
    names: list[str] = []
    for group, tasks in members.items():
        keyed: dict[tuple[str, str, str], dict[str, Cell]] = {}
        for cell in cells:
            if cell.task in tasks:
                parts = keyed.setdefault((cell.model, cell.judge or "", cell.settings), {})
                held = parts.get(cell.task)
                if held is None or (cell.version or 0) > (held.version or 0):
                    parts[cell.task] = cell
        for held_parts in keyed.values():
            if len(held_parts) == len(tasks):
                found.append([held_parts[task] for task in tasks])
                names.append(group)
    flat = [cell for parts in found for cell in parts]
    metrics = list(dict.fromkeys(metric for cell in flat for metric in (cell.metric, *cell.official)))
    turns = {metric: turns_of_cells(collection, flat, metric) for metric in metrics}
    pooled, start = [], 0
    for name, members_found in zip(names, found, strict=True):
        places = range(start, start + len(members_found))
        start += len(members_found)
        pooled.append(
            _pooled(
                name,
                members_found,
                {metric: [turns[metric].get(one) for one in places] for metric in metrics},
            )
        )
    return pooled


def _apart(parts: Sequence[Cell]) -> HostsApart | None:
    """How hosts differ over all parts, where each part has the same ones; the spread of their means is not known."""
    found = [cell.apart for cell in parts if cell.apart is not None]
    if len(found) < len(parts) or len({cell.hosts for cell in parts}) > 1:
        return None
    differing = sum(one.differing for one in found)
    return HostsApart(sum(one.turns for one in found), differing, math.nan)


def _pooled(name: str, parts: Sequence[Cell], turns: Mapping[str, Sequence[pl.DataFrame | None]]) -> Cell:
    first = parts[0]
    points = frozenset[str]().union(*(cell.points_metrics for cell in parts))
    means = {
        metric: mean_of(pl.concat([one for one in own if one is not None]), points=metric in points)
        for metric, own in turns.items()
        if all(one is not None for one in own)
    }
    truncated = [cell.truncated for cell in parts]
    why = [cell.task for cell in parts if not cell.ranked]
    return replace(
        first,
        task=name,
        family=name,
        mean=means.pop(first.metric),
        official=means,
        n_runs=max(cell.n_runs for cell in parts),
        run_sd=None,
        apart=_apart(parts),
        truncated=None if None in truncated else sum(one for one in truncated if one is not None),
        n_cases=sum(cell.n_cases for cell in parts),
        n_available=sum(cell.n_available for cell in parts),
        hosts=tuple(sorted({host for cell in parts for host in cell.hosts})),
        made=max(cell.made for cell in parts),
        runs=tuple(run for cell in parts for run in cell.runs),
        ranked=not why,
        why_unranked=f"not ranked in {', '.join(why)}" if why else "",
        settings=json.dumps(held_settings(first.settings), sort_keys=True, ensure_ascii=False),
        points_metrics=points & {first.metric, *means},
    )
