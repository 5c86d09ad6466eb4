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
    task_text,
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
# What must be equal, with what makes it so.
_COMMON = {
    "version": "score the older runs again with `lct runs rescore`",
    "judge": "judge both with one judge (`lct judge run`)",
    "settings": "run one model again with the settings of the other",
    "metric": "",
    "points": "",
}


@dataclass(frozen=True)
class Compared:
    """Comparison of two models on one task, or over several tasks of a benchmark with equal weights."""

    # The first model's; the second's has the same benchmark, version, judge, settings, metric and points.
    cell: Cell
    tasks: tuple[str, ...]  # the task, or the tasks that the mean is over
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


def verdict_of(test: PairedComparison) -> str:
    """Return the conclusion about two models from an adjusted test.

    >>> from long_context_tasks.stats.comparison import adjust, compare_paired
    >>> [test] = adjust([compare_paired(("owl", [1.0] * 9), ("crow", [0.0] * 9), range(9))])
    >>> verdict_of(test)
    'owl better'
    """
    if not test.n:
        return "cannot tell: no shared scores"
    if test.method is None:
        few = "1 cluster" if test.clusters == 1 else f"{test.clusters} clusters"
        return f"cannot tell: {few}, a test needs {MIN_TEST_CLUSTERS}"
    shown = [f"{test.better} better"] if test.better else []
    shown += ["the same within the margin"] if test.same else []
    if shown:
        return ", but ".join(shown)
    if test.p_holm < ALPHA:
        return "no difference shown (the interval includes 0)"
    return "no difference shown" + (f" (among {test.family} tests)" if test.p < ALPHA else "")


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
    for name in asked:
        if name not in existing:
            raise InputError(unknown_model(name, existing))
    if len(set(asked)) < len(asked):
        raise InputError(f"--model {asked[0]}: given twice; name another model to compare it with")
    if len(asked) == 1:
        others = _listed([model for model in existing if model != asked[0]]) or "no others"
        raise InputError(f"--model {asked[0]}: name a second --model. There are: {others}")
    if not asked and len(existing) != 2:
        models = f"{len(existing)} models" if len(existing) != 1 else f"one model, {existing[0]!r}"
        named = f"two or more with --model: {_listed(existing)}"
        named = named if existing[1:] else "folders with runs of two"
        raise InputError(f"there are runs of {models}; name {named}")
    return tuple(asked or existing)


def unknown_model(name: str, existing: Sequence[str]) -> str:
    """Return the message about an unknown model, with a suggestion: a name that contains it or is spelled like it.

    >>> unknown_model("qwen2.5-7b", ["org/Qwen2.5-7B", "owl"])
    "no runs of a model 'qwen2.5-7b'; did you mean 'org/Qwen2.5-7B'? There are: org/Qwen2.5-7B, owl"
    """
    lower = {model.lower(): model for model in reversed(existing)}
    near = sorted((low for low in lower if name.strip() and name.strip().lower() in low), key=len)
    near = near or difflib.get_close_matches(name.lower(), lower, n=1, cutoff=_NEAR)
    hint = f"; did you mean {lower[near[0]]!r}?" if near else "."
    return f"no runs of a model {name!r}{hint} There are: {_listed(existing)}"


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
    by_model = {name: {_key(cell): cell for cell in cells if cell.model == name} for name in models}
    pairs_of_cells = [
        (by_model[first][key], by_model[second][key])
        for first, second in combinations(models, 2)
        for key in by_model[first]
        if key in by_model[second]
    ]
    left_out = list(_not_compared(by_model))
    not_compared = tuple(line for line, _ in left_out)
    if not pairs_of_cells:
        differing = {name for _, names in left_out for name in names}
        remedies = [remedy for name, remedy in _COMMON.items() if name in differing and remedy]
        raise InputError(
            f"{', '.join(models)} share no task with the same version, judge and settings: {'; '.join(not_compared[:5])}. "
            f"Remedy: {', and '.join(remedies) or 'run one task with both models'}"
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
            models_and_benchmark = row.comparison.first, row.comparison.second, row.cell.benchmark
            setting = row.cell.judge, row.cell.settings, row.cell.version, row.cell.points
            groups.setdefault((*models_and_benchmark, *setting), []).append((row, both))
    benchmarks = [_over_tasks(group) for group in groups.values() if len(group) > 1]
    tasks = _adjusted([row for row, _ in shared])
    return Comparisons(tuple(models), tasks, _adjusted(benchmarks), not_compared)


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
        cell=first,
        tasks=(first.task,),
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
    left, right = (
        frame.with_columns(text).with_columns(pl.col("reason").fill_null("no_score"))
        for frame in (first, second)
    )
    # A full join: turns that only one model has are counted and not dropped.
    joined = left.join(
        right, on=["case", "turn"], how="full", coalesce=True, suffix="_other", maintain_order="left_right"
    )
    return joined.select(
        "case",
        "turn",
        pl.coalesce("cluster", "cluster_other", "case").alias("cluster"),
        "value",
        pl.col("value_other").alias("other"),
        pl.col("reason").fill_null(_MISSING).alias("value_reason"),
        pl.col("reason_other").fill_null(_MISSING).alias("other_reason"),
    )


def _reasons(turns: pl.DataFrame, scored: str, missing: str) -> dict[str, int]:
    rows = turns.filter(pl.col(scored).is_not_null() & pl.col(missing).is_null())
    return _summed([Counter(rows[f"{missing}_reason"])])


def _detectable(differences: Sequence[float], clusters: Sequence[str]) -> Detectable | None:
    # A spread between clusters needs two of them.
    if len(set(clusters)) < 2:
        return None
    spread = spread_of(differences, clusters)
    # Equal scores throughout say nothing about how large differences can be.
    if spread.sd == 0:
        return None
    detectable = smallest_difference(len(differences), len(set(clusters)), spread)
    return detectable if math.isfinite(detectable.difference) else None


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
    test = compare_paired((first.comparison.first, x), (first.comparison.second, y), clusters, margin=margin)
    left_out = {
        name: sum(getattr(row.comparison, name) for row in rows)
        for name in ("only_first", "only_second", "neither")
    }
    sums = {name: sum(getattr(row, name) for row in rows) for name in ("n_cases", "wins", "ties", "losses")}
    same_metric = len({row.cell.metric for row in rows}) == 1
    return replace(
        first,
        cell=first.cell if same_metric else replace(first.cell, metric="each task's own"),
        tasks=tuple(row.tasks[0] for row in rows),
        comparison=replace(test, **left_out),
        detectable=_detectable([value - other for value, other in zip(x, y, strict=True)], clusters),
        why_only_first=_summed(row.why_only_first for row in rows),
        why_only_second=_summed(row.why_only_second for row in rows),
        **sums,
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = sum((Counter(count) for count in counts), Counter[str]())
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _adjusted(rows: Sequence[Compared]) -> tuple[Compared, ...]:
    tests = adjust([row.comparison for row in rows])
    return tuple(replace(row, comparison=test) for row, test in zip(rows, tests, strict=True))


def _not_compared(
    by_model: Mapping[str, Mapping[tuple[object, ...], Cell]],
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield a line for each cell that no other model has with the same version, judge and settings, and in what the nearest differs."""
    for name, cells in by_model.items():
        others = [by_model[model] for model in by_model if model != name]
        for key, cell in cells.items():
            if any(key in other for other in others):
                continue
            line = f"{cell.task}, version {cell.version}{f', judge {cell.judge}' if cell.judge else ''}: only {name} has it"
            differing = [
                (candidate, [n for n in _COMMON if getattr(cell, n) != getattr(candidate, n)])
                for other in others
                for candidate in other.values()
                if candidate.task == cell.task
            ]
            names: list[str] = []
            if differing:
                nearest, names = min(differing, key=lambda pair: len(pair[1]))
                differences = (
                    f"{n} {_value(getattr(nearest, n))} and not {_value(getattr(cell, n))}" for n in names
                )
                line += f" ({nearest.model} has {', '.join(differences)})"
            yield line, names


def _value(value: object) -> str:
    return "none" if value in (None, "", "{}") else str(value)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > _SHOWN else shown


TEXT_COLUMNS = ("verdict", "left out")
_WIDTH = 16
FORMATS = (".csv", ".json", ".md")
# Columns of the CSV and keys of the JSON rows.
COLUMNS = (
    *("level", "benchmark", "tasks", "first", "second", "version", "judge", "settings", "metric", "points"),
    *("n_turns", "n_cases", "clusters", "mean_first", "mean_second", "difference", "low", "high"),
    *("p", "method", "p_holm", "p_fdr", "margin", "p_same", "p_same_holm", "tests_in_family"),
    *("wins", "ties", "losses", "detectable"),
    *("only_first", "only_second", "neither", "why_only_first", "why_only_second", "verdict"),
)


def shown_table(first: str, second: str, rows: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of text; a column that is empty everywhere is left out."""
    columns = [
        *("task", "turns", "clusters", first, second, "difference (95 %)", "p", "Holm", "FDR"),
        *("same (Holm)", "won/tied/lost", "detects", "verdict", "left out"),
    ]
    shown = []
    for row in rows:
        test, points = row.comparison, row.cell.points
        name = (
            task_text(row.cell)
            if len(row.tasks) == 1
            else f"{row.cell.benchmark}, mean of {len(row.tasks)} tasks"
        )
        low, difference, high = (
            _signed(value, points=points)
            for value in (test.interval.low, test.difference, test.interval.high)
        )
        shown.append(
            [
                f"{name} (judge {printable(row.cell.judge)})" if row.cell.judge else name,
                *(str(test.n), str(test.clusters)),
                *(score_text(mean, points=points) for mean in (test.mean_first, test.mean_second)),
                difference if "-" in (low, high) else f"{difference} ({low} to {high})",
                *(_p(p) for p in (test.p, test.p_holm, test.p_fdr)),
                "" if test.margin is None else _p(test.p_same_holm),
                f"{row.wins}/{row.ties}/{row.losses}",
                "-" if row.detectable is None else score_text(row.detectable.difference, points=points),
                *(printable(row.verdict), _left_out(row)),
            ]
        )
    filled = [number for number in range(len(columns)) if any(row[number] not in ("", "-") for row in shown)]
    return [columns[number] for number in filled], [[row[number] for number in filled] for row in shown]


def heading(name: str) -> str:
    """Break a name into lines about as wide as a column of figures; without the line ends it is whole.

    >>> heading("org/Llama-3.1-8B-Instruct-v2")
    'org/Llama-3.1-\\n8B-Instruct-v2'
    """
    lines = [""]
    for part in re.findall(r".+?(?:[/_\s-]+|$)", printable(name)):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _left_out(row: Compared) -> str:
    test = row.comparison
    sides = (
        (test.first, test.only_first, row.why_only_first),
        (test.second, test.only_second, row.why_only_second),
    )
    parts = [
        f"{n} only {printable(name)} ({', '.join(f'{count} {printable(reason)}' for reason, count in why.items())})"
        for name, n, why in sides
        if n
    ]
    return "; ".join([*parts, *([f"{test.neither} neither"] if test.neither else [])])


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
    test = row.comparison
    holders = (row.cell, row, test)
    values = {name: getattr(holder, name) for holder in holders for name in COLUMNS if hasattr(holder, name)}
    values |= {
        "level": "task" if len(row.tasks) == 1 else "benchmark",
        "settings": held_settings(row.cell.settings),
        "n_turns": test.n,
        "low": test.interval.low,
        "high": test.interval.high,
        "tests_in_family": test.family,
        "detectable": None if row.detectable is None else row.detectable.difference,
    }
    return dict(json_value({name: values[name] for name in COLUMNS}))


def text_in(suffix: str, comparisons: Comparisons) -> str:
    """Return all comparisons as text in one of :data:`FORMATS`."""
    if suffix == ".json":
        document = as_document(comparisons)
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if suffix == ".csv":
        rows = (*comparisons.tasks, *comparisons.benchmarks)
        return csv_lines([COLUMNS, *(list(as_row(row).values()) for row in rows)])
    return _markdown(comparisons)


def as_document(comparisons: Comparisons) -> dict[str, object]:
    return {
        "models": list(comparisons.models),
        "tasks": [as_row(row) for row in comparisons.tasks],
        "benchmarks": [as_row(row) for row in comparisons.benchmarks],
        "not_compared": list(comparisons.not_compared),
    }


def by_pair(comparisons: Comparisons) -> dict[tuple[str, str], list[Compared]]:
    pairs: dict[tuple[str, str], list[Compared]] = {}
    for row in (*comparisons.tasks, *comparisons.benchmarks):
        pairs.setdefault((row.comparison.first, row.comparison.second), []).append(row)
    return pairs


def notes(comparisons: Comparisons) -> list[str]:
    rows = (*comparisons.tasks, *comparisons.benchmarks)
    lines = [
        "Differences are the first model minus the second, over turns with a score of both; rates in percent, points on their own scale."
    ]
    if any(math.isfinite(row.comparison.p) for row in rows):
        family = max((row.comparison.family for row in comparisons.tasks), default=0)
        lines += [
            "p comes from swapping the models in whole clusters: it tests whether they are exchangeable. A model is called better only if the "
            "interval excludes 0, too. With few clusters, neither accounts for rare clusters that were not drawn.",
            f"Holm and FDR adjust p for all tests over tasks, {family} here; verdicts use Holm at 0.05.",
        ]
    if any(row.detectable for row in rows):
        lines.append(
            "The column detects is the smallest true difference that one unadjusted test on these turns finds with power 0.8."
        )
    margins = {
        row.cell.points: row.comparison.margin
        for row in comparisons.tasks
        if row.comparison.margin is not None
    }
    if margins:
        shown = (
            f"{value:g} points" if points else f"{100 * value:g} %"
            for points, value in sorted(margins.items())
        )
        lines.append(
            f"The margin is {', '.join(shown)}: the column same (Holm) is p of a difference that large or larger, adjusted for all tasks with a "
            "margin."
        )
    if comparisons.benchmarks:
        lines.append(
            "A mean over tasks gives each task the same weight and holds for these tasks only; its rows are adjusted separately."
        )
    return lines


def _markdown(comparisons: Comparisons) -> str:
    lines = ["# Paired comparison", ""]
    for pair, compared in by_pair(comparisons).items():
        columns, shown = shown_table(*pair, compared)
        rows = [list(map(escape_markdown, row)) for row in shown]
        lines += [f"## {escape_markdown(pair[0])} and {escape_markdown(pair[1])}", ""]
        lines += [*markdown_table(columns, rows, sum(name in TEXT_COLUMNS for name in columns)), ""]
    lines += [f"{escape_markdown(line)}\n" for line in notes(comparisons)]
    if comparisons.not_compared:
        lines += [
            "Not compared:",
            "",
            *(f"- {escape_markdown(line)}" for line in comparisons.not_compared),
            "",
        ]
    return "\n".join(lines)
