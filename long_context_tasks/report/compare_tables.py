"""A comparison of models as rows for the terminal, CSV, JSON and Markdown."""

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence

from long_context_tasks.report.compare import Compared, Comparisons
from long_context_tasks.report.held_settings import held_settings
from long_context_tasks.report.tables import escape_markdown, printable, safe_field, score_text

TEXT_COLUMNS = ("verdict", "left out")
_WIDTH = 16
FORMATS = (".csv", ".json", ".md")
COLUMNS = (
    *("level", "benchmark", "tasks", "first", "second", "version", "judge", "settings", "metric", "points"),
    *("n_turns", "n_cases", "clusters", "mean_first", "mean_second", "difference", "low", "high"),
    *("p", "method", "p_holm", "p_fdr", "tests_in_family", "wins", "ties", "losses", "detectable"),
    *("only_first", "only_second", "neither", "why_only_first", "why_only_second", "verdict"),
)
"""Of the CSV, and keys of the JSON's rows."""


def terminal_columns(first: str, second: str) -> list[str]:
    """Headings of :func:`terminal_rows`."""
    return _columns(_heading(first), _heading(second))


def _columns(first: str, second: str) -> list[str]:
    return [
        *(
            "task",
            "turns",
            "clusters",
            first,
            second,
            "difference (95 %)",
            "p",
            "Holm",
            "FDR",
        ),
        *("won/tied/lost", "detects", "verdict", "left out"),
    ]


def terminal_rows(rows: Sequence[Compared]) -> list[list[str]]:
    """A row of text for each; see :func:`terminal_columns`."""
    return [_terminal_row(row) for row in rows]


def name_of(row: Compared) -> str:
    """Task with its judge; or the benchmark with the number of its tasks."""
    name = row.tasks[0] if len(row.tasks) == 1 else f"{row.benchmark}, mean of {len(row.tasks)} tasks"
    return f"{name}\n(judge {printable(row.judge)})" if row.judge else name


def _terminal_row(row: Compared) -> list[str]:
    found = row.comparison
    difference = _signed(found.difference, points=row.points)
    ends = [_signed(end, points=row.points) for end in (found.interval.low, found.interval.high)]
    return [
        *(name_of(row), str(found.n), str(found.clusters)),
        *(score_text(mean, points=row.points) for mean in (found.mean_first, found.mean_second)),
        difference if "-" in ends else f"{difference} ({ends[0]} to {ends[1]})",
        *(_p(one) for one in (found.p, found.p_holm, found.p_fdr)),
        f"{row.wins}/{row.ties}/{row.losses}",
        "-" if row.detectable is None else score_text(row.detectable.difference, points=row.points),
        printable(row.verdict),
        left_out_text(row),
    ]


def _heading(name: str) -> str:
    """The whole name, in lines that are no wider than a column of figures where its parts allow it.

    >>> _heading("org/Llama-3.1-8B-Instruct-v2")
    'org/Llama-3.1-\\n8B-Instruct-v2'
    """
    lines = [""]
    for part in re.findall(r".+?(?:[/_\s-]+|$)", printable(name)):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def left_out_text(row: Compared) -> str:
    """How many turns only one of the models could take, and why the other could not; empty where both took all."""
    found = row.comparison
    sides = (
        (found.first, found.only_first, row.why_only_first),
        (found.second, found.only_second, row.why_only_second),
    )
    parts = [f"{n} only {printable(name)} ({_reasons(why)})" for name, n, why in sides if n]
    return "; ".join([*parts, *([f"{found.neither} neither"] if found.neither else [])])


def _reasons(why: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {printable(reason)}" for reason, count in why.items())


def _signed(value: float, *, points: bool) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:+.2f}" if points else f"{100 * value:+.1f}"


def _p(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def as_row(row: Compared) -> dict[str, object]:
    """All figures under :data:`COLUMNS`; None where there is no number."""
    found = row.comparison
    numbers = {
        "mean_first": found.mean_first,
        "mean_second": found.mean_second,
        "difference": found.difference,
        "low": found.interval.low,
        "high": found.interval.high,
        "p": found.p,
        "p_holm": found.p_holm,
        "p_fdr": found.p_fdr,
        "detectable": math.nan if row.detectable is None else row.detectable.difference,
    }
    told: dict[str, object] = {
        "level": "task" if len(row.tasks) == 1 else "benchmark",
        "benchmark": row.benchmark,
        "tasks": list(row.tasks),
        "first": found.first,
        "second": found.second,
        "version": row.version,
        "judge": row.judge,
        "settings": held_settings(row.settings),
        "metric": row.metric,
        "points": row.points,
        "n_turns": found.n,
        "n_cases": row.n_cases,
        "clusters": found.clusters,
        "method": found.method,
        "tests_in_family": found.family,
        "wins": row.wins,
        "ties": row.ties,
        "losses": row.losses,
        "only_first": found.only_first,
        "only_second": found.only_second,
        "neither": found.neither,
        "why_only_first": dict(row.why_only_first),
        "why_only_second": dict(row.why_only_second),
        "verdict": row.verdict,
    }
    told |= {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return {name: told[name] for name in COLUMNS}


def text_in(suffix: str, found: Comparisons) -> str:
    """The whole comparison in a format.

    Args:
        suffix: one of :data:`FORMATS`.
        found: the comparison.
    """
    if suffix == ".json":
        return json.dumps(as_document(found), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return _csv(found) if suffix == ".csv" else _markdown(found)


def as_document(found: Comparisons) -> dict[str, object]:
    """The whole comparison as JSON has it: ``models``, ``tasks`` and ``benchmarks`` (rows under :data:`COLUMNS`), ``not_compared``."""
    return {
        "models": list(found.models),
        "tasks": [as_row(row) for row in found.tasks],
        "benchmarks": [as_row(row) for row in found.benchmarks],
        "not_compared": list(found.not_compared),
    }


def _csv(found: Comparisons) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in (*found.tasks, *found.benchmarks):
        writer.writerow([_field(value) for value in as_row(row).values()])
    return text.getvalue()


def _field(value: object) -> object:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True, ensure_ascii=False) if value else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return safe_field(value) if isinstance(value, str) else value


def pairs(found: Comparisons) -> list[tuple[str, str]]:
    """The pairs of models that share a task, in order."""
    rows = (*found.tasks, *found.benchmarks)
    return list(dict.fromkeys((row.comparison.first, row.comparison.second) for row in rows))


def rows_of(pair: tuple[str, str], rows: Sequence[Compared]) -> list[Compared]:
    """Those of a pair of models."""
    return [row for row in rows if (row.comparison.first, row.comparison.second) == pair]


def notes(found: Comparisons) -> list[str]:
    """What must be known to read the figures."""
    family = max((row.comparison.family for row in found.tasks), default=0)
    lines = [
        "Differences are the first model minus the second, over turns that both could take; rates in percent, points on their own scale. "
        "p swaps the models in whole clusters.",
        f"Holm and FDR adjust p for all tests over tasks, {family} here; a verdict goes by Holm at 0.05. What is detected is the smallest true "
        "difference that one unadjusted test on these turns finds with power 0.8.",
    ]
    if found.benchmarks:
        lines.append(
            "A mean over tasks gives each task the same weight and speaks of these tasks alone; its lines are a family of their own."
        )
    return lines


def _markdown(found: Comparisons) -> str:
    lines = ["# Comparison", ""]
    for pair in pairs(found):
        columns = _columns(*pair)
        lines += [f"## {escape_markdown(pair[0])} and {escape_markdown(pair[1])}", ""]
        lines += ["| " + " | ".join(map(escape_markdown, columns)) + " |"]
        lines += ["|---|" + "---:|" * (len(columns) - 3) + "---|---|"]
        for row in terminal_rows(rows_of(pair, [*found.tasks, *found.benchmarks])):
            lines.append("| " + " | ".join(map(escape_markdown, row)) + " |")
        lines.append("")
    lines += [f"{escape_markdown(line)}\n" for line in notes(found)]
    if found.not_compared:
        lines += ["Not compared:", "", *(f"- {escape_markdown(line)}" for line in found.not_compared), ""]
    return "\n".join(lines)
