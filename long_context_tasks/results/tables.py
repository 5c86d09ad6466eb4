"""Results as files for other programs (Parquet, CSV, JSON), and as rows of a table on the terminal.

``results.parquet`` has a row for each score with the columns to filter and group by, which answers most questions; ``runs.parquet`` has
everything else about the runs. Both have the key ``run``.
"""

import csv
import html
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.results.cells import Cell, best_first, held_settings
from long_context_tasks.results.lengths import FamilyLength, length_document
from long_context_tasks.results.models import shown_source
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import format_length
from long_context_tasks.schema.files import json_value, make_folder, write_whole
from long_context_tasks.schema.report import Table, settings_text
from long_context_tasks.schema.response import counted
from long_context_tasks.stats.means import Mean

RESULTS = "results.parquet"
TABLES = ("leaderboard", "lengths", "runs")
FILES = (RESULTS, *(f"{name}.{form}" for name in TABLES for form in ("csv", "json", "parquet")))

# Columns of RUNS that every score in results.parquet has.
JOINED = (
    *("host", "model", "benchmark", "task", "family", "length", "variant", "wer"),
    *("version", "judge", "headline", "settings", "made", "host_version", "package", "commit"),
)

_TEXTS = pl.List(pl.String())
# A row for each cell.
LEADERBOARD: dict[str, pl.DataType] = {
    **dict.fromkeys(("benchmark", "task", "model", "metric"), pl.String()),
    "length": pl.Int64(),
    **dict.fromkeys(("value", "low", "high", "se"), pl.Float64()),
    "points": pl.Boolean(),
    **dict.fromkeys(("n", "n_scored"), pl.Int64()),
    **{"coverage": pl.Float64(), "reasons": pl.String(), "ranked": pl.Boolean(), "why_unranked": pl.String()},
    **dict.fromkeys(("n_cases", "n_available", "n_runs"), pl.Int64()),
    **{"run_sd": pl.Float64(), "truncated": pl.Int64(), "judge": pl.String(), "version": pl.Int64()},
    "settings": pl.String(),
    **dict.fromkeys(("hosts", "host_versions", "packages", "commits"), _TEXTS),
    **{"made": pl.String(), "runs": _TEXTS, "official": _TEXTS},
}
# A row for each effective context length.
LENGTHS: dict[str, pl.DataType] = {
    **dict.fromkeys(("model", "benchmark", "family", "variant", "judge"), pl.String()),
    **{"threshold": pl.Float64(), "settings": pl.String(), "at_least": pl.Int64(), "below": pl.Int64()},
    **dict.fromkeys(("outcomes", "n", "coverage", "definition"), pl.String()),
}

TERMINAL_COLUMNS = (
    *("task", "model", "judge", "metric", "score", "95 % interval", "n", "runs", "host", "notes"),
)
_REMEDY = "choose another folder with --out"
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Missing values, signed numbers and intervals begin like formulas but are not; sums are.
_NUMBERS = re.compile(r"(?!.*[\d)\]] ?[-+/])[-+0-9.,%\[\]()/ ]*( to [-+0-9.,% ]*)?")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~^$])")


def write_tables(
    folder: Path, collection: Collection, cells: Sequence[Cell], lengths: Sequence[FamilyLength] = ()
) -> list[Path]:
    """Write all files into a folder, each atomically, and return their paths."""
    make_folder(folder, remedy=_REMEDY)
    contents: dict[str, bytes | str] = {RESULTS: _parquet(joined(collection))}
    runs = collection.runs.with_columns(pl.col("source").map_elements(shown_source, return_dtype=pl.String()))
    for name, frame in zip(TABLES, (leaderboard(collection, cells), _lengths(lengths), runs), strict=True):
        contents[f"{name}.csv"] = csv_text(frame)
        contents[f"{name}.json"] = table_json(name, frame)
        contents[f"{name}.parquet"] = _parquet(frame)
    for name, content in contents.items():
        write_whole(folder / name, content, remedy=_REMEDY)
    return [folder / name for name in contents]


def joined(collection: Collection) -> pl.DataFrame:
    """Return every score with the columns :data:`JOINED` of its run, in the order of ``SCORES``."""
    # Texts repeat for every score; as categories they take a fraction of the memory.
    numbers = (pl.Int64(), pl.Float64())
    runs = collection.runs.select("run", *JOINED).with_columns(
        pl.col(name).cast(pl.Categorical())
        for name in ("run", *JOINED)
        if collection.runs.schema[name] not in numbers
    )
    return collection.scores.join(runs, on="run", how="left", maintain_order="left")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def leaderboard(collection: Collection, cells: Sequence[Cell]) -> pl.DataFrame:
    """Return a row for each cell with the columns :data:`LEADERBOARD`; rates are from 0 to 1, and missing numbers are null."""
    about = {str(row["run"]): row for row in collection.runs.iter_rows(named=True)}
    lists = [name for name, kind in LEADERBOARD.items() if kind == _TEXTS]
    rows = []
    for cell in cells:
        mean = cell.mean
        # Columns named like fields of a cell are those fields.
        row: dict[str, Any] = {name: getattr(cell, name) for name in LEADERBOARD if hasattr(cell, name)}
        row |= {name: getattr(mean, name) for name in ("value", "low", "high", "se", "coverage")}
        row |= {"n": mean.total, "n_scored": mean.n, "reasons": counted(mean.reasons)}
        for name in ("host_version", "package", "commit"):
            row[f"{name}s"] = sorted({str(about[run][name]) for run in cell.runs if about[run][name]})
        row["official"] = [
            f"{name}={float(score.value) if math.isfinite(score.value) else ''}"
            for name, score in cell.official.items()
        ]
        # Lists as JSON, because polars makes a series of each one.
        rows.append({**row, **{name: json.dumps(row[name]) for name in lists}})
    frame = pl.DataFrame(rows, schema=LEADERBOARD | dict.fromkeys(lists, pl.String()))
    return frame.with_columns(pl.col(pl.Float64()).fill_nan(None), pl.col(lists).str.json_decode(_TEXTS))


def _lengths(lengths: Sequence[FamilyLength]) -> pl.DataFrame:
    rows = [
        {
            name: json.dumps(json_value(value)) if isinstance(value, dict) else value
            for name, value in length_document(length).items()
        }
        for length in lengths
    ]
    return pl.DataFrame(rows, schema=LENGTHS)


def csv_text(frame: pl.DataFrame) -> str:
    return csv_lines([frame.columns, *frame.iter_rows()])


def table_json(name: str, frame: pl.DataFrame) -> str:
    """Return a table as JSON with the keys ``table`` (its name), ``columns`` (name to kind) and ``rows`` (objects, one a line)."""
    columns = {column: _KINDS[str(kind).partition("(")[0]] for column, kind in frame.schema.items()}
    head = json.dumps({"table": name, "columns": columns})[:-1]
    finite = frame.with_columns(pl.when(pl.col(pl.Float64()).is_finite()).then(pl.col(pl.Float64())))
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in finite.iter_rows(named=True))
    return f'{head}, "rows": [\n{rows}\n]}}\n'


_KINDS = {"String": "text", "Int64": "integer", "Float64": "number", "Boolean": "boolean", "List": "list"}


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV: lists separated by spaces, mappings as JSON, yes and no, and empty fields for numbers that are not finite.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> print(csv_lines([("-", "-2.5 to +0.1", "-1 [-2, 3]", "=1", "-cmd", "+1+1")]), end="")
    -,-2.5 to +0.1,"-1 [-2, 3]",'=1,'-cmd,'+1+1
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_field(value) for value in row] for row in rows)
    return text.getvalue()


def _field(value: object) -> object:
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    elif isinstance(value, dict):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False) if value else ""
    elif isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, float) and not math.isfinite(value):
        value = ""
    if isinstance(value, str):
        formula = value.startswith(_FORMULA) and not _NUMBERS.fullmatch(value)
        # The csv module does not quote a carriage return, and readers would end the row there.
        value = ("'" if formula else "") + value.replace("\r\n", "\n").replace("\r", "\n")
    return value


def score_text(value: float, *, points: bool) -> str:
    """Format a score for display: rates in percent, points with two decimals, a dash if it is not finite.

    >>> score_text(0.5, points=False), score_text(7.25, points=True), score_text(float("nan"), points=True)
    ('50.0', '7.25', '-')
    """
    if not math.isfinite(value):
        return "-"
    return f"{value:.2f}" if points else f"{100 * value:.1f}"


def interval_text(mean: Mean, *, points: bool) -> str:
    """Return ``low to high`` in the unit of :func:`score_text`, or a dash if there is no interval."""
    if not (math.isfinite(mean.low) and math.isfinite(mean.high)):
        return "-"
    return f"{score_text(mean.low, points=points)} to {score_text(mean.high, points=points)}"


def cell_text(cell: Cell) -> str:
    """Return the score of a cell with unit and interval, e.g. ``50.0 % (40.1 to 59.9)`` or ``7.25 pt (6.90 to 7.60)``."""
    unit = "pt" if cell.points else "%"
    return f"{score_text(cell.mean.value, points=cell.points)} {unit} ({interval_text(cell.mean, points=cell.points)})"


def task_text(cell: Cell) -> str:
    """Return the task with its length, which names such as ``toy_sort_8k`` contain already."""
    length = "" if cell.length is None else format_length(cell.length)
    return f"{cell.task} {length}" if length and length not in cell.task.split("_") else cell.task


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 0) -> list[str]:
    """Return the lines of a Markdown table; figures are aligned right.

    Args:
        columns: headings, not yet escaped.
        rows: escaped cells.
        texts: number of last columns that hold text; the first column always does.
    """
    figures = len(columns) - 1 - texts
    heading = " | ".join(map(escape_markdown, columns))
    return [
        f"| {heading} |",
        "|---|" + "---:|" * figures + "---|" * texts,
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def escape_markdown(text: str) -> str:
    """Escape text so that a Markdown table shows it as it is, without markup, HTML, links, mentions, new cells or new lines.

    >>> escape_markdown("a|b\\n<b>*c*</b>")
    'a\\\\|b &lt;b&gt;\\\\*c\\\\*&lt;/b&gt;'
    """
    flat = printable(text)
    # Viewers turn bare addresses into links, and names after @ into notifications.
    flat = re.sub(r"(?i)(https?|ftp|mailto|www)([:.])", "\\1\u200b\\2", flat).replace("@", "@\u200b")
    return _SPECIAL.sub(r"\\\1", html.escape(flat, quote=False))


def printable(text: str) -> str:
    """Return text in one line, without characters that move the cursor, change colours or are invisible."""
    # Names come from other people's files and are printed on terminals.
    return "".join(character if character.isprintable() else "\ufffd" for character in " ".join(text.split()))


def terminal_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """Return rows with :data:`TERMINAL_COLUMNS`: for each task the ranked cells, highest score first, then the others."""
    order = {task: place for place, task in enumerate(dict.fromkeys(cell.task for cell in cells))}

    def place(cell: Cell) -> tuple[object, ...]:
        return order[cell.task], cell.length or 0, cell.judge or "", cell.settings, best_first(cell)

    def alike(cell: Cell) -> tuple[object, ...]:
        return cell.task, cell.length, cell.model, cell.judge, cell.metric

    rows, number = [], Counter(map(alike, cells))
    for cell in sorted(cells, key=place):
        mean, score = cell.mean, score_text(cell.mean.value, points=cell.points)
        n = str(mean.n) if mean.n == mean.total else f"{mean.n}/{mean.total}"
        # Rows that show nothing else that differs.
        settings = settings_text(held_settings(cell.settings), without=["lct_length"]) or "default settings"
        notes = [printable(settings)] if number[alike(cell)] > 1 else []
        notes += [] if cell.ranked else [f"not ranked: {cell.why_unranked}"]
        notes += [counted(mean.reasons)] if mean.reasons else []
        rows.append(
            [
                *(task_text(cell), printable(cell.model), cell.judge or "", cell.metric),
                *(
                    score if score == "-" or cell.points else f"{score} %",
                    interval_text(mean, points=cell.points),
                ),
                *(n, str(cell.n_runs), " ".join(cell.hosts), "; ".join(notes)),
            ]
        )
    return rows


def write_csv(tables: Sequence[Table], folder: Path) -> None:
    """Write each table as ``<key>.csv``."""
    remedy = "choose another folder with --csv"
    make_folder(folder, remedy=remedy)
    for table in tables:
        write_whole(folder / f"{table.key}.csv", csv_lines([table.columns, *table.rows]), remedy=remedy)
