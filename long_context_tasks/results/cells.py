"""Cells of a leaderboard: the score of a model on a task, over all runs that are repeats of one another.

Runs of one model, task, version, judge and settings are repeats: a case counts once, with the mean of its values over them.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.tidy import ORDER, Collection
from long_context_tasks.schema.files import json_value, loads
from long_context_tasks.stats.means import RATES, Mean, Scale, mean_of_values

_KEYS = ("model", "task", "version", "judge", "settings")
_SHARED = ("model", "benchmark", "task", "family", "length", "variant", "wer", "judge", "version")
"""Columns of ``RUNS`` that all runs of a cell have in common."""
_OF_CELL = (*_SHARED, "settings", "host", "made", "headline", "metrics", "points", "n_truncated")
"""Columns of ``RUNS`` from which a cell is made, besides the scores."""
_TURN = ("case", "turn")
_TURN_COLUMNS = (*_TURN, "cluster", "value", "std", "reason", "labels")
_LIMITED = "lct_n"
# 2026-01-31T10-00-00.5 and 20260131_100000, in one order.
_WHEN = pl.col("made").str.replace_all(r"\D", "").str.slice(0, 20)


@dataclass(frozen=True)
class Cell:
    """The result of a model on a task; columns of ``RUNS`` are as described there."""

    model: str
    benchmark: str
    task: str
    family: str
    length: int | None
    variant: str
    wer: int | None
    judge: str | None
    version: int
    metric: str  # the headline metric
    points: bool  # whether the headline is points of a scale and not a rate
    mean: Mean  # mean of the headline over the turns of all cases, with an interval over clusters
    official: Mapping[str, Mean]  # means of the other metrics, the official one among them
    n_runs: int  # number of repeats, including repeats inside a run
    # Standard deviation of the means of repeats within a host; None if no host has two repeats, or if the runs
    # share no case.
    run_sd: float | None
    truncated: int | None  # number of prompts that a host cut, over all runs; None if unknown
    n_cases: int  # number of different cases
    # Number of cases that the task has with these settings; if hosts do not record it, the most that a run had.
    n_available: int
    hosts: tuple[str, ...]  # sorted
    made: str  # time of the newest run
    runs: tuple[str, ...]  # keys of RUNS, oldest first
    # Whether the cell may be compared with other ranked cells of the same task, judge and settings.
    ranked: bool = True
    why_unranked: str = ""
    settings: str = "{}"  # settings that differ from the defaults, as JSON
    points_metrics: frozenset[str] = frozenset()  # those of metric and official that are points of a scale

    @cached_property
    def state(self) -> str:
        """Everything about the cell, for the keys of what is made from it."""
        # The order of a set changes from process to process.
        return f"{replace(self, points_metrics=frozenset())} {sorted(self.points_metrics)}"

    @property
    def place(self) -> tuple[Any, ...]:
        """The place of the task in tables: its :data:`ORDER`, so that 4k comes before 16k."""
        return tuple(-1 if (value := getattr(self, name)) is None else value for name in ORDER)


def best_first(cell: Cell) -> tuple[bool, float]:
    """Sort ranked cells before others, each from the highest score to the lowest; missing scores come last."""
    value = cell.mean.value
    # An unranked score may be higher only because hard cases are missing.
    return not cell.ranked, -value if math.isfinite(value) else math.inf


def cells_of(collection: Collection) -> list[Cell]:
    """Return all cells, sorted by task (see :attr:`Cell.place`) and model; those of older versions of a benchmark are not ranked."""
    if not len(collection.runs):
        return []
    # Nulls are filled because rank() would leave runs without a judge out.
    key = pl.struct(pl.col(name).cast(pl.String()).fill_null("") for name in _KEYS)
    numbered = collection.runs.with_columns(key.rank("dense").cast(pl.Int64()).alias("cell"))
    graded = _graded(collection)
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in numbered.sort(_WHEN, maintain_order=True).iter_rows(named=True):
        rows.setdefault(row["cell"], []).append(row)
    keys = {number: _cell_key(collection, of_cell, graded) for number, of_cell in rows.items()}
    found = {number: collection.reuse.find(Cell, key) for number, key in keys.items()}
    missing = numbered.filter(
        pl.col("cell").is_in([number for number, cell in found.items() if cell is None])
    )
    # Task by task, because the scores of all cells with the columns of their runs need much memory.
    for of_task in missing.partition_by("task", maintain_order=True):
        joined = _with_cells(collection.scores, of_task, "host")
        repeats = _repeats(joined.filter(pl.col("metric").cast(pl.String()) == pl.col("headline")))
        by_cell: dict[int, dict[str, pl.DataFrame]] = {}
        averaged = _averaged(joined).partition_by("cell", "metric", as_dict=True, maintain_order=True)
        for (cell, metric), part in averaged.items():
            by_cell.setdefault(int(cell), {})[str(metric)] = part
        for number, metrics in by_cell.items():
            made = _cell(rows[number], metrics, repeats.get(number, (0, None)), graded)
            collection.reuse.keep(Cell, keys[number], made)
            found[number] = made
    available = _available(numbered, collection.scores)
    cells = [replace(cell, n_available=available[number]) for number, cell in found.items() if cell]
    newest: dict[str, int] = {}
    for cell in cells:
        newest[cell.task] = max(
            newest.get(cell.task, 0), cell.version, catalogue.card(cell.benchmark).version
        )
    return sorted(
        (_ranked(cell, newest[cell.task]) for cell in cells),
        key=lambda cell: (*cell.place, cell.model, cell.judge or "", cell.settings, -cell.version),
    )


def _cell_key(
    collection: Collection, runs: Sequence[Mapping[str, Any]], graded: Set[tuple[str, str]]
) -> bytes | None:
    """Return the key of everything that decides about a cell; see :meth:`Collection.key`."""
    between = sorted(metric for family, metric in graded if family == runs[-1]["family"])
    return collection.key(
        Cell, [run["run"] for run in runs], [[run[name] for name in _OF_CELL] for run in runs], between
    )


def _with_cells(scores: pl.DataFrame, numbered: pl.DataFrame, *others: str) -> pl.DataFrame:
    runs = numbered.select(pl.col("run").cast(pl.Categorical()), "cell", "headline", *others)
    return scores.join(runs, on="run", how="inner", maintain_order="left")


def _graded(collection: Collection) -> Set[tuple[str, str]]:
    """Return the (family, metric) pairs with any value between 0 and 1, i.e. whose metric is not binary."""
    # By family and not by cell: a cell may have only 0 and 1 by chance.
    between = collection.scores.filter((pl.col("value") != 0) & (pl.col("value") != 1))
    metrics = between.select(pl.col("run", "metric").cast(pl.String())).unique()
    with_family = metrics.join(collection.runs.select("run", "family"), on="run")
    return set(with_family.select("family", "metric").iter_rows())


def _repeats(headlines: pl.DataFrame) -> dict[int, tuple[int, float | None]]:
    """Return, for each cell, the number of repeats and the standard deviation of their means around the mean of their host.

    Deviations are pooled over hosts, because hosts differ by more than chance; None if no host has two repeats.
    """
    # A repeat inside a run counts like a run.
    means = headlines.group_by("cell", "host", "run", "repeat", maintain_order=True).agg(
        pl.col("value").mean()
    )
    hosts = means.group_by("cell", "host", maintain_order=True).agg(
        pl.len().cast(pl.Int64()).alias("n"),
        (pl.col("value").count().cast(pl.Int64()) - 1).clip(0).alias("free"),
        pl.col("value").var().alias("variance"),
    )
    pooled = (pl.col("variance") * pl.col("free")).sum() / pl.col("free").sum()
    # Without two repeats, this divides 0 by 0.
    sd = pooled.sqrt().fill_nan(None).alias("sd")
    cells = hosts.group_by("cell", maintain_order=True).agg(pl.col("n").sum(), sd)
    return {cell: (n, sd) for cell, n, sd in cells.iter_rows()}


def _averaged(joined: pl.DataFrame) -> pl.DataFrame:
    """Average each cell, metric, case and turn over repeats; keep the most frequent reason for a missing value.

    Repeats without a value are left out of the mean. A standard deviation is that of the mean of
    independent repeats.
    """
    keys = ["cell", "metric", *_TURN]
    n = pl.col("value").count()
    known = pl.col("std").filter(pl.col("value").is_not_null())
    averaged = joined.group_by(keys, maintain_order=True).agg(
        pl.col("cluster").first(),
        pl.col("value").mean(),
        ((known**2).sum().sqrt() / n).fill_nan(0.0).fill_null(0.0).alias("std"),
        pl.col("reason").first(),
        pl.col("labels").first(),
        pl.len().alias("repeats"),
    )
    if averaged["repeats"].max() == 1:
        return averaged
    reasons = (
        joined.group_by([*keys, "reason"], maintain_order=True)
        .len()
        # A reason wins a tie against none, so that no failure disappears.
        .sort(pl.col("len"), pl.col("reason").is_not_null(), descending=True, maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("reason").first())
    )
    return averaged.drop("reason").join(reasons, on=keys, how="left", maintain_order="left")


def _available(numbered: pl.DataFrame, scores: pl.DataFrame) -> dict[int, int]:
    """Return, for each cell, how many cases its task has with its settings; see ``Cell.n_available``."""
    counted = scores.group_by("run").agg(pl.col("case").n_unique().cast(pl.Int64()).alias("n_cases"))
    same = ["task", "version", "settings"]
    most = (
        numbered.with_columns(pl.col("run").cast(pl.Categorical()))
        .join(counted, on="run", how="left")
        .with_columns(pl.max_horizontal("n_cases", "n_cases_available").fill_null(0).alias("most"))
        # Any run with the same settings shows how many cases there are.
        .with_columns(pl.col("most").max().over(same))
    )
    return {cell: int(n) for cell, n in most.select("cell", "most").iter_rows()}


def _cell(
    runs: Sequence[Mapping[str, Any]],
    metrics: Mapping[str, pl.DataFrame],
    repeats: tuple[int, float | None],
    graded: Set[tuple[str, str]],
) -> Cell:
    """Build a cell from its runs, oldest first, and the averaged turns of each metric."""
    newest = runs[-1]
    metric = str(newest["headline"])
    points = frozenset(str(name) for run in runs for name in run["points"] or ())
    # The newest run decides the order of metrics.
    order = [str(name) for run in reversed(runs) for name in run["metrics"] or ()]
    names = [name for name in dict.fromkeys((metric, *order, *metrics)) if name in metrics]
    family = str(newest["family"])
    means = {
        name: mean_of(
            columns_of(metrics[name]),
            scale_of(str(newest["benchmark"]), name, points=name in points),
            graded=(family, name) in graded,
        )
        for name in names
    }
    truncated = [run["n_truncated"] for run in runs]
    known = all(share is not None and not math.isnan(share) for share in truncated)
    return Cell(
        **{key: newest[key] for key in _SHARED},
        metric=names[0],
        points=names[0] in points,
        mean=means.pop(names[0]),
        official=means,
        n_runs=max(repeats[0], len(runs)),
        # The means of runs of different parts of a task differ because their cases do.
        run_sd=None if metrics[names[0]]["repeats"].max() == 1 else repeats[1],
        truncated=int(sum(truncated)) if known else None,
        n_cases=metrics[names[0]]["case"].n_unique(),
        n_available=0,  # depends on other cells
        hosts=tuple(sorted({str(run["host"]) for run in runs})),
        made=str(newest["made"]),
        runs=tuple(str(run["run"]) for run in runs),
        settings=str(newest["settings"]),
        points_metrics=points & set(names),
    )


def scale_of(benchmark: str, metric: str, *, points: bool) -> Scale | None:
    """Return the lowest and highest value of a metric; None for points of a scale without ends."""
    return catalogue.card(benchmark).points.get(metric) if points else RATES


_Columns = Mapping[str, Sequence[Any]]
"""Columns ``value``, ``reason``, ``std`` and ``cluster`` of some turns."""


def columns_of(turns: pl.DataFrame) -> _Columns:
    return {name: turns[name].to_list() for name in ("value", "reason", "std", "cluster")}


def mean_of(turns: _Columns, scale: Scale | None, *, graded: bool = False) -> Mean:
    """Return the mean of some turns with its interval.

    Args:
        turns: see :func:`columns_of`.
        scale: of the metric, see :func:`scale_of`.
        graded: whether the metric has values between 0 and 1. A single cluster then gets no interval even if its score is 0 or 1.
    """
    values, clusters = turns["value"], turns["cluster"]
    stds = [std or 0.0 for std in turns["std"]]
    mean = mean_of_values(values, turns["reason"], stds, clusters, scale=scale)
    if graded:
        scored = {cluster for value, cluster in zip(values, clusters, strict=True) if value is not None}
        if len(scored) == 1:
            return replace(mean, low=math.nan, high=math.nan, se=math.nan)
    return mean


def _ranked(cell: Cell, newest: int) -> Cell:
    why = []
    if cell.mean.n < cell.mean.total:
        why.append(f"{cell.mean.total - cell.mean.n} of {cell.mean.total} without a score")
    if cell.n_cases < cell.n_available:
        why.append(f"{cell.n_cases} of {cell.n_available} cases")
    elif cell.n_cases == cell.n_available:
        # If a benchmark does not record how many cases there are, only those within the limit were counted.
        limit = held_settings(cell.settings).get(_LIMITED)
        above = re.fullmatch(r"\d+", str(limit), re.ASCII) and cell.n_cases < int(str(limit))
        if limit is not None and not above:
            why.append(f"only the first cases ({_LIMITED})")
    why += filter(None, [older_version(cell.version, newest)])
    return replace(cell, ranked=not why, why_unranked="; ".join(why))


def older_version(version: int, newest: int) -> str:
    """Describe a version of a task that is not the newest; empty for the newest.

    >>> older_version(1, 2), older_version(2, 2)
    ('version 1 of the task, the newest is 2', '')
    """
    return "" if version >= newest else f"version {version} of the task, the newest is {newest}"


def held_settings(text: str | None) -> dict[str, Any]:
    """Read the settings of a cell or run; empty if the text, which may come from a foreign file, is not a JSON object.

    >>> held_settings('{"lct_n": 5}'), held_settings("[1]"), held_settings(None)
    ({'lct_n': 5}, {}, {})
    """
    try:
        settings = json_value(loads(text or "{}"))
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def turn_values(collection: Collection, cell: Cell) -> pl.DataFrame:
    """Return a row for each turn of each case of a cell, averaged over repeats; see :func:`turns_of_cells`."""
    return turns_of_cells(collection, [cell]).get(0, collection.scores.clear().select(_TURN_COLUMNS))


def turns_of_cells(
    collection: Collection, cells: Sequence[Cell], metric: str | None = None
) -> dict[int, pl.DataFrame]:
    """Return the turns of each cell, averaged over repeats, keyed by the cell's index in ``cells``.

    Args:
        collection: runs and scores of the cells.
        cells: cells; those without scores are missing in the result.
        metric: name of the metric; None for the headline of each cell.

    Returns:
        Frames with the columns ``case``, ``turn``, ``cluster``, ``value`` (null if not scored), ``std``, ``reason``, ``labels``.
    """
    numbered = pl.DataFrame(
        [(run, place, metric or cell.metric) for place, cell in enumerate(cells) for run in cell.runs],
        schema={"run": pl.String(), "cell": pl.Int64(), "headline": pl.String()},
        orient="row",
    )
    joined = _with_cells(collection.scores, numbered).filter(
        pl.col("metric") == pl.col("headline").cast(pl.Categorical())
    )
    if not len(joined):
        return {}
    turns = _averaged(joined).select("cell", *_TURN_COLUMNS)
    parts = turns.partition_by("cell", as_dict=True, maintain_order=True, include_key=False)
    return {int(key[0]): part for key, part in parts.items()}


def pooled_cells(
    collection: Collection, cells: Sequence[Cell], members: Mapping[str, Sequence[str]]
) -> list[Cell]:
    """Pool the tasks of each group into one cell, in which every case has equal weight.

    Args:
        collection: runs and scores of the cells.
        cells: cells of single tasks; if there are several versions, the newest is used.
        members: tasks of each group.

    Returns:
        A cell for each group, model, judge and settings with all tasks of the group; ``task`` is the group, ranked if all tasks are.
    """
    pools: list[tuple[str, list[Cell]]] = []
    for group, tasks in members.items():
        by_setting: dict[tuple[str, str, str], dict[str, Cell]] = {}
        for cell in sorted(cells, key=lambda cell: cell.version):
            if cell.task in tasks:
                by_setting.setdefault((cell.model, cell.judge or "", cell.settings), {})[cell.task] = cell
        # A mean over some of the tasks would not be comparable with the others.
        complete = (parts for parts in by_setting.values() if len(parts) == len(tasks))
        pools += [(group, [parts[task] for task in tasks]) for parts in complete]
    flat = [cell for _, parts in pools for cell in parts]
    metrics = dict.fromkeys(metric for cell in flat for metric in (cell.metric, *cell.official))
    turns = {metric: turns_of_cells(collection, flat, metric) for metric in metrics}
    pooled, start = [], 0
    for name, parts in pools:
        places = range(start, start + len(parts))
        start += len(parts)
        points = frozenset[str]().union(*(cell.points_metrics for cell in parts))
        means = {
            metric: mean_of(
                columns_of(pl.concat([frames[place] for place in places])),
                scale_of(parts[0].benchmark, metric, points=metric in points),
            )
            for metric, frames in turns.items()
            if all(place in frames for place in places)
        }
        pooled.append(_pooled(name, parts, means, points))
    return pooled


def _pooled(name: str, parts: Sequence[Cell], means: dict[str, Mean], points: frozenset[str]) -> Cell:
    first = parts[0]
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
        truncated=None if None in truncated else sum(share for share in truncated if share is not None),
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
