"""Paired comparison of models on the cases they share, task by task and over the tasks of a benchmark.

Only runs of the same task, version, judge and settings are compared; :mod:`long_context_tasks.stats.comparison` has the statistics.
"""

import difflib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

import polars as pl

from long_context_tasks.results.cells import Cell, held_settings, turn_values
from long_context_tasks.results.tables import (
    csv_lines,
    escape_markdown,
    markdown_table,
    printable,
    score_text,
)
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_value
from long_context_tasks.stats.comparison import (
    ALPHA,
    MIN_TEST_CLUSTERS,
    Detectable,
    PairedComparison,
    adjust,
    compare_paired,
    smallest_difference,
    spread_of,
)

_SAME = 1e-12
_MISSING = "not_there"
_SHOWN = 30
# Similarity cutoff for suggestions; at 0.6, names that share only "-7b" would match.
_NEAR = 0.75
_COMMON = ("version", "judge", "settings", "metric", "points")


@dataclass(frozen=True)
class Compared:
    """Comparison of two models on one task, or over several tasks of a benchmark with equal weights."""

    benchmark: str
    tasks: tuple[str, ...]  # the task, or the tasks that the mean is over
    # version, judge, settings, metric, points: common to both models; see Cell
    version: int
    judge: str | None
    settings: str
    metric: str
    points: bool
    # Means on the shared turns, difference (first minus second), interval and p; adjusted for all tasks of
    # the report, and rows over benchmarks separately.
    comparison: PairedComparison
    n_cases: int  # number of shared cases; comparison.n counts shared turns
    # wins, ties, losses: number of turns in which the first model has the higher, the same and the lower
    # value
    wins: int
    ties: int
    losses: int
    # Smallest true difference that a test on these turns finds with power 0.8; None if the spread is unknown.
    detectable: Detectable | None
    # Reasons why the second model has no value for turns that the first has one for, with counts; not_there
    # marks turns that its runs do not contain.
    why_only_first: Mapping[str, int]
    why_only_second: Mapping[str, int]  # the same with the models swapped

    @property
    def verdict(self) -> str:
        return verdict_of(self.comparison)


@dataclass(frozen=True)
class Comparisons:
    models: tuple[str, ...]  # in the order that the user gave
    tasks: tuple[Compared, ...]  # a row for each pair of models and each task that they share
    # A row for each pair and benchmark with two or more of these tasks (same judge, settings and kind of
    # metric).
    benchmarks: tuple[Compared, ...]
    not_compared: tuple[str, ...]  # scores that only one of the models has, in words


_Shared = tuple[Compared, pl.DataFrame]
"""A task that two models share, not yet adjusted, and the turns in which both have a value."""


def verdict_of(found: PairedComparison) -> str:
    """Return the conclusion about two models from an adjusted test.

    >>> from long_context_tasks.stats.comparison import adjust, compare_paired
    >>> [one] = adjust([compare_paired(("owl", [1.0] * 9), ("crow", [0.0] * 9), range(9))])
    >>> verdict_of(one)
    'owl better'
    """
    if not found.n:
        return "cannot tell: no shared scores"
    if found.method is None:
        few = "1 cluster" if found.clusters == 1 else f"{found.clusters} clusters"
        return f"cannot tell: {few}, a test needs {MIN_TEST_CLUSTERS}"
    shown = [f"{found.better} better"] if found.better else []
    shown += ["the same within the margin"] if found.same else []
    if shown:
        return ", but ".join(shown)
    if found.p_holm < ALPHA:
        return "no difference shown (the interval holds 0)"
    return "no difference shown" + (f" (among {found.family} tests)" if found.p < ALPHA else "")


def read_margins(texts: Sequence[str]) -> dict[bool, float]:
    """Read ``--same-within``: the margins for rates (key False) and for points of a scale (key True).

    >>> read_margins(["2%", "0.3"])
    {False: 0.02, True: 0.3}
    """
    margins: dict[bool, float] = {}
    for text in texts:
        number, percent, rest = text.strip().partition("%")
        try:
            value = float(number) / (100 if percent else 1)
        except ValueError:
            value = math.nan
        if rest or not (0 < value < (1 if percent else math.inf)):
            raise InputError(
                f"--same-within {text}: give a margin above 0, such as 2% for rates or 0.3 for points of a scale"
            )
        # One margin for rates and one for points, because their units differ.
        if (not percent) in margins:
            raise InputError(f"--same-within {text}: there is already a margin of this kind")
        margins[not percent] = value
    return margins


def choose_models(known: Iterable[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the models to compare: those that the user named, or the only two."""
    existing = sorted(set(known))
    names = list(dict.fromkeys(asked))
    for name in names:
        if name not in existing:
            raise InputError(unknown_model(name, existing))
    if len(names) < len(asked):
        raise InputError(f"--model {names[0]}: given twice; name another model to compare it with")
    if len(names) == 1:
        rest = [model for model in existing if model != names[0]]
        raise InputError(
            f"--model {names[0]}: name a second --model. There are: {_listed(rest) or 'no others'}"
        )
    if not names and len(existing) != 2:
        models = f"{len(existing)} models" if len(existing) != 1 else f"one model, {existing[0]!r}"
        raise InputError(f"there are runs of {models}; name two or more with --model: {_listed(existing)}")
    return tuple(names or existing)


def unknown_model(name: str, known: Iterable[str]) -> str:
    """Return the message about an unknown model, with a suggestion: a name that contains it or is spelled like it.

    >>> unknown_model("qwen2.5-7b", ["org/Qwen2.5-7B", "owl"])
    "no runs of a model 'qwen2.5-7b'; did you mean 'org/Qwen2.5-7B'? There are: org/Qwen2.5-7B, owl"
    """
    existing = sorted(set(known))
    small = {model.lower(): model for model in reversed(existing)}
    part = [model for low, model in small.items() if name.strip() and name.strip().lower() in low]
    spelled = [small[low] for low in difflib.get_close_matches(name.lower(), small, n=1, cutoff=_NEAR)]
    near = sorted(part, key=len)[:1] or spelled
    meant = f"; did you mean {near[0]!r}?" if near else "."
    return f"no runs of a model {name!r}{meant} There are: {_listed(existing)}"


def compare_models(
    collection: Collection,
    cells: Sequence[Cell],
    models: Sequence[str],
    margins: Mapping[bool, float] = MappingProxyType({}),
) -> Comparisons:
    """Compare every pair of some models on every task that they share.

    Args:
        collection: runs and scores of the cells.
        cells: all cells.
        models: names of the models.
        margins: margins for tests of equivalence, see :func:`read_margins`.

    Raises:
        InputError: no pair shares a task or a case, or no shared task has metrics of the kind that the margins are for.
    """
    own = {name: {_key(cell): cell for cell in cells if cell.model == name} for name in models}
    pairs_of_cells = [
        (own[first][key], own[second][key])
        for first, second in combinations(models, 2)
        for key in own[first]
        if key in own[second]
    ]
    not_compared = tuple(_not_compared(own))
    if not pairs_of_cells:
        raise InputError(
            f"{', '.join(models)} share no task with the same version, judge and settings: {'; '.join(not_compared[:5])}"
        )
    if margins and not any(first.points in margins for first, _ in pairs_of_cells):
        kind, example = ("rates", "2%") if margins.get(True) else ("points of a scale", "0.3")
        raise InputError(
            f"--same-within: the tasks that the models share are scored in {kind}; give a margin such as {example}"
        )
    shared = [
        _shared(collection, first, second, margins.get(first.points)) for first, second in pairs_of_cells
    ]
    if not any(row.comparison.n for row, _ in shared):
        names = ", ".join(sorted({row.tasks[0] for row, _ in shared})[:5])
        raise InputError(
            f"{', '.join(models)} share {names}, but no turn for which two of them have a score: were they run on different cases (lct_n, "
            "lct_seed, other data), or are they not judged yet?"
        )
    # Tasks weigh the same whatever their number of turns; a cluster with one name in several tasks is one cluster.
    groups: dict[tuple[object, ...], list[_Shared]] = {}
    for row, both in shared:
        if row.comparison.n:
            key = (row.comparison.first, row.comparison.second, row.benchmark, row.judge, row.settings)
            groups.setdefault((*key, row.version, row.points), []).append((row, both))
    benchmarks = [_over_tasks(group) for group in groups.values() if len(group) > 1]
    return Comparisons(
        tuple(models), _adjusted([row for row, _ in shared]), _adjusted(benchmarks), not_compared
    )


def _key(cell: Cell) -> tuple[object, ...]:
    # All that must be equal for a fair comparison.
    return (cell.benchmark, cell.task, cell.version, cell.judge, cell.settings, cell.metric, cell.points)


def _shared(collection: Collection, first: Cell, second: Cell, margin: float | None) -> _Shared:
    turns = _joined(turn_values(collection, first), turn_values(collection, second))
    x, y = turns["value"].to_list(), turns["other"].to_list()
    both = turns.drop_nulls(["value", "other"])
    differences = both["value"] - both["other"]
    wins, losses = int((differences > _SAME).sum()), int((differences < -_SAME).sum())
    row = Compared(
        benchmark=first.benchmark,
        tasks=(first.task,),
        version=first.version,
        judge=first.judge,
        settings=first.settings,
        metric=first.metric,
        points=first.points,
        comparison=compare_paired(
            (first.model, x), (second.model, y), turns["cluster"].to_list(), margin=margin
        ),
        n_cases=both["case"].n_unique(),
        wins=wins,
        ties=len(both) - wins - losses,
        losses=losses,
        detectable=_detectable(differences.to_list(), both["cluster"].to_list()),
        why_only_first=_reasons(turns, "value", "other"),
        why_only_second=_reasons(turns, "other", "value"),
    )
    return row, both


def _joined(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each turn of either model: ``value`` and ``other``, their reasons, and the cluster, the first model's if known."""
    text = pl.col("case", "cluster", "reason").cast(pl.String())
    exists = pl.lit(True).alias("exists")
    left, right = (frame.with_columns(text, exists) for frame in (first, second))
    # A full join: turns that only one model has are counted and not dropped.
    joined = left.join(
        right, on=["case", "turn"], how="full", coalesce=True, suffix="_other", maintain_order="left_right"
    )
    reasons = (
        pl.when(pl.col(f"exists{side}").is_null()).then(pl.lit(_MISSING)).otherwise(f"reason{side}")
        for side in ("", "_other")
    )
    return joined.select(
        "case",
        "turn",
        pl.coalesce("cluster", "cluster_other", "case").alias("cluster"),
        "value",
        pl.col("value_other").alias("other"),
        *(reason.alias(name) for reason, name in zip(reasons, ("value_reason", "other_reason"), strict=True)),
    )


def _reasons(turns: pl.DataFrame, scored: str, missing: str) -> dict[str, int]:
    rows = turns.filter(pl.col(scored).is_not_null() & pl.col(missing).is_null())
    return _summed([Counter(reason or "no_score" for reason in rows[f"{missing}_reason"])])


def _detectable(differences: Sequence[float], clusters: Sequence[str]) -> Detectable | None:
    # A spread between clusters needs two of them.
    if len(set(clusters)) < 2:
        return None
    spread = spread_of(differences, clusters)
    # Equal scores throughout say nothing about how large differences can be.
    if spread.sd == 0:
        return None
    found = smallest_difference(len(differences), len(set(clusters)), spread)
    return found if math.isfinite(found.difference) else None


def _over_tasks(group: Sequence[_Shared]) -> Compared:
    """Compare two models over several tasks with equal weights."""
    rows = [row for row, _ in group]
    total = sum(row.comparison.n for row in rows)
    x: list[float] = []
    y: list[float] = []
    clusters: list[str] = []
    for _, both in group:
        # The turns of each task together get the same weight.
        weight = total / (len(group) * len(both))
        x += [value * weight for value in both["value"]]
        y += [value * weight for value in both["other"]]
        clusters += both["cluster"].to_list()
    first = rows[0]
    margin = first.comparison.margin
    # Whole clusters are swapped over all tasks at once, so that a book in several tasks counts once.
    found = compare_paired((first.comparison.first, x), (first.comparison.second, y), clusters, margin=margin)
    left_out = {
        name: sum(getattr(row.comparison, name) for row in rows)
        for name in ("only_first", "only_second", "neither")
    }
    sums = {name: sum(getattr(row, name) for row in rows) for name in ("n_cases", "wins", "ties", "losses")}
    metrics = {row.metric for row in rows}
    return replace(
        first,
        tasks=tuple(row.tasks[0] for row in rows),
        metric=first.metric if len(metrics) == 1 else "each task's own",
        comparison=replace(found, **left_out),
        detectable=_detectable([one - other for one, other in zip(x, y, strict=True)], clusters),
        why_only_first=_summed(row.why_only_first for row in rows),
        why_only_second=_summed(row.why_only_second for row in rows),
        **sums,
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = sum((Counter(count) for count in counts), Counter[str]())
    return dict(sorted(total.items(), key=lambda one: (-one[1], one[0])))


def _adjusted(rows: Sequence[Compared]) -> tuple[Compared, ...]:
    found = adjust([row.comparison for row in rows])
    return tuple(replace(row, comparison=comparison) for row, comparison in zip(rows, found, strict=True))


def _not_compared(own: Mapping[str, Mapping[tuple[object, ...], Cell]]) -> Iterator[str]:
    """Yield the cells that no other model has with the same version, judge and settings, and how the nearest cell differs."""
    for name, cells in own.items():
        for key, cell in cells.items():
            others = [own[model] for model in own if model != name]
            if any(key in held for held in others):
                continue
            line = f"{cell.task}, version {cell.version}{f', judge {cell.judge}' if cell.judge else ''}: only {name} has it"
            near = [
                candidate for held in others for candidate in held.values() if candidate.task == cell.task
            ]
            differing = [
                [n for n in _COMMON if getattr(cell, n) != getattr(candidate, n)] for candidate in near
            ]
            if near:
                nearest, names = min(zip(near, differing, strict=True), key=lambda pair: len(pair[1]))
                differences = (
                    f"{n} {_value(getattr(nearest, n))} and not {_value(getattr(cell, n))}" for n in names
                )
                line += f" ({nearest.model} has {', '.join(differences)})"
            yield line


def _value(value: object) -> str:
    return "none" if value in (None, "", "{}") else str(value)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > _SHOWN else shown


TEXT_COLUMNS = ("verdict", "left out")
_WIDTH = 16
FORMATS = (".csv", ".json", ".md")
COLUMNS = (
    *("level", "benchmark", "tasks", "first", "second", "version", "judge", "settings", "metric", "points"),
    *("n_turns", "n_cases", "clusters", "mean_first", "mean_second", "difference", "low", "high"),
    *("p", "method", "p_holm", "p_fdr", "margin", "p_same", "p_same_holm", "tests_in_family"),
    *("wins", "ties", "losses", "detectable"),
    *("only_first", "only_second", "neither", "why_only_first", "why_only_second", "verdict"),
)
"""Columns of the CSV and keys of the JSON rows."""


def shown_table(first: str, second: str, rows: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text; a column that is empty everywhere is left out."""
    columns = [
        *("task", "turns", "clusters", first, second, "difference (95 %)", "p", "Holm", "FDR"),
        *("same (Holm)", "won/tied/lost", "detects", "verdict", "left out"),
    ]
    shown = []
    for row in rows:
        found = row.comparison
        name = row.tasks[0] if len(row.tasks) == 1 else f"{row.benchmark}, mean of {len(row.tasks)} tasks"
        low, difference, high = (
            _signed(value, points=row.points)
            for value in (found.interval.low, found.difference, found.interval.high)
        )
        shown.append(
            [
                f"{name}\n(judge {printable(row.judge)})" if row.judge else name,
                *(str(found.n), str(found.clusters)),
                *(score_text(mean, points=row.points) for mean in (found.mean_first, found.mean_second)),
                difference if "-" in (low, high) else f"{difference} ({low} to {high})",
                *(_p(p) for p in (found.p, found.p_holm, found.p_fdr)),
                "" if found.margin is None else _p(found.p_same_holm),
                f"{row.wins}/{row.ties}/{row.losses}",
                "-" if row.detectable is None else score_text(row.detectable.difference, points=row.points),
                *(printable(row.verdict), _left_out(row)),
            ]
        )
    kept = [number for number in range(len(columns)) if any(row[number] for row in shown)]
    return [columns[number] for number in kept], [[row[number] for number in kept] for row in shown]


def heading(name: str) -> str:
    """Break a name into lines about as wide as a column of figures.

    >>> heading("org/Llama-3.1-8B-Instruct-v2")
    'org/Llama-3.1-\\n8B-Instruct-v2'
    """
    lines = [""]
    for part in re.findall(r".+?(?:[/_\s-]+|$)", printable(name)):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _left_out(row: Compared) -> str:
    found = row.comparison
    sides = (
        (found.first, found.only_first, row.why_only_first),
        (found.second, found.only_second, row.why_only_second),
    )
    parts = [
        f"{n} only {printable(name)} ({', '.join(f'{count} {printable(reason)}' for reason, count in why.items())})"
        for name, n, why in sides
        if n
    ]
    return "; ".join([*parts, *([f"{found.neither} neither"] if found.neither else [])])


def _signed(value: float, *, points: bool) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:+.2f}" if points else f"{100 * value:+.1f}"


def _p(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def as_row(row: Compared) -> dict[str, Any]:
    """Return the figures of a comparison with the keys :data:`COLUMNS`; missing numbers are None."""
    found = row.comparison
    values: dict[str, object] = {name: getattr(row, name) for name in COLUMNS if hasattr(row, name)}
    values |= {name: getattr(found, name) for name in COLUMNS if hasattr(found, name)}
    values |= {
        "level": "task" if len(row.tasks) == 1 else "benchmark",
        "tasks": row.tasks,
        "settings": held_settings(row.settings),
        "n_turns": found.n,
        "low": found.interval.low,
        "high": found.interval.high,
        "tests_in_family": found.family,
        "detectable": None if row.detectable is None else row.detectable.difference,
    }
    return dict(json_value({name: values[name] for name in COLUMNS}))


def text_in(suffix: str, found: Comparisons) -> str:
    """Return all comparisons as text in one of :data:`FORMATS`."""
    if suffix == ".json":
        return json.dumps(as_document(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if suffix == ".csv":
        return csv_lines(
            [COLUMNS, *(list(as_row(row).values()) for row in (*found.tasks, *found.benchmarks))]
        )
    return _markdown(found)


def as_document(found: Comparisons) -> dict[str, object]:
    return {
        "models": list(found.models),
        "tasks": [as_row(row) for row in found.tasks],
        "benchmarks": [as_row(row) for row in found.benchmarks],
        "not_compared": list(found.not_compared),
    }


def pairs(found: Comparisons) -> list[tuple[str, str]]:
    rows = (*found.tasks, *found.benchmarks)
    return list(dict.fromkeys((row.comparison.first, row.comparison.second) for row in rows))


def rows_of(pair: tuple[str, str], found: Comparisons) -> list[Compared]:
    rows = (*found.tasks, *found.benchmarks)
    return [row for row in rows if (row.comparison.first, row.comparison.second) == pair]


def notes(found: Comparisons) -> list[str]:
    family = max((row.comparison.family for row in found.tasks), default=0)
    lines = [
        "Differences are the first model minus the second, over turns with a score of both; rates in percent, points on their own scale. "
        "p comes from swapping the models in whole clusters: it tests whether they are exchangeable. A model is called better only if the "
        "interval excludes 0, too. With few clusters, neither accounts for rare clusters that were not drawn.",
        f"Holm and FDR adjust p for all tests over tasks, {family} here; verdicts use Holm at 0.05. The column detects is the smallest true "
        "difference that one unadjusted test on these turns finds with power 0.8.",
    ]
    margins = {row.points: row.comparison.margin for row in found.tasks if row.comparison.margin is not None}
    if margins:
        shown = (
            f"{value:g} points" if points else f"{100 * value:g} %"
            for points, value in sorted(margins.items())
        )
        lines.append(
            f"The margin is {', '.join(shown)}: the column same (Holm) is p of a difference that large or larger, adjusted for all tasks with a "
            "margin."
        )
    if found.benchmarks:
        lines.append(
            "A mean over tasks gives each task the same weight and holds for these tasks only; its rows are adjusted separately."
        )
    return lines


def _markdown(found: Comparisons) -> str:
    lines = ["# Paired comparison", ""]
    for pair in pairs(found):
        columns, shown = shown_table(*pair, rows_of(pair, found))
        rows = [list(map(escape_markdown, row)) for row in shown]
        lines += [f"## {escape_markdown(pair[0])} and {escape_markdown(pair[1])}", ""]
        lines += [*markdown_table(columns, rows, sum(name in TEXT_COLUMNS for name in columns)), ""]
    lines += [f"{escape_markdown(line)}\n" for line in notes(found)]
    if found.not_compared:
        lines += ["Not compared:", "", *(f"- {escape_markdown(line)}" for line in found.not_compared), ""]
    return "\n".join(lines)
