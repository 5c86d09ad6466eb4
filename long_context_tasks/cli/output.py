"""Print tables and results for people, or one JSON document with ``--json``.

With ``--json`` standard output holds the document and nothing else, also if the command ends with exit code 1; all other messages go to
standard error. The document is ``{"tables": [{"title", "columns", "rows"}], "result": {}}``: a row maps the names of columns to values,
and ``result`` holds single values. A command whose JSON has another form says so in its help.
"""

import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import typer

from long_context_tasks.schema.files import InputError, json_value, one_line, visible
from long_context_tasks.schema.grid import Grid
from long_context_tasks.schema.secrets import without_known

Cell = str | int | float | None
_WIDTH = 200  # of tables in files and pipes, where nothing wraps them
_SHOWN_PROBLEMS = 20  # a folder of damaged files would scroll the result away
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


class _Document:
    """The document of ``--json`` while a command runs; a process runs one command at a time."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.wanted = False
        self.tables: list[dict[str, Any]] = []
        self.result: dict[str, Any] = {}
        self.own_form: Any = None


_document = _Document()


def start_output() -> None:
    # Tests run several commands in a process.
    _document.clear()


def want_json(value: bool = True) -> bool:
    """Collect the output from now on; the callback of ``--json``."""
    _document.wanted = value
    return value


def json_wanted() -> bool:
    return _document.wanted


def finish_output() -> None:
    if _document.wanted:
        content = _document.own_form
        if content is None:
            content = {"tables": _document.tables, "result": _document.result}
        text = json.dumps(json_value(content), ensure_ascii=False, indent=1, default=_plain)
        typer.echo(without_known(text))
    start_output()


def _plain(value: Any) -> Any:
    # For numbers of numpy, sets, paths and dates, which JSON does not have.
    if isinstance(value, set | frozenset):
        return list(value)
    item = getattr(value, "item", None)
    return json_value(item()) if callable(item) else str(value)


def say(message: str = "", *, wrap: bool = True) -> None:
    """Print lines for people: on standard output, with ``--json`` on standard error. A command to be copied is not wrapped."""
    _print(message, err=_document.wanted, wrap=wrap)


def warn(message: str) -> None:
    """Print lines on standard error, also with ``--json``."""
    _print(message, err=True)


def _print(message: str, *, err: bool = False, wrap: bool = True) -> None:
    text, stream = visible(without_known(message)), sys.stderr if err else sys.stdout
    if wrap and stream.isatty():  # lines in files stay whole, because programs read them
        width = os.get_terminal_size(stream.fileno()).columns or _WIDTH
        text = "\n".join(part for line in text.split("\n") for part in wrapped(line, width))
    # A progress bar, which may be on the same terminal, makes room for the lines.
    bars = sys.modules.get("tqdm") if stream.isatty() else None
    with bars.tqdm.external_write_mode(stream) if bars else nullcontext():
        typer.echo(text, err=err)


def wrapped(line: str, width: int) -> list[str]:
    """Break a line where it has blanks outside backquotes, because names and commands must stay whole to be copied.

    >>> wrapped("  see `lct tasks` and long_names_of_files", 18)
    ['  see `lct tasks`', '  and', '  long_names_of_files']
    """
    kept = re.sub("`[^`]*`", lambda quoted: quoted[0].replace(" ", "\0"), line)
    indent = re.match(" *", line)[0]  # type: ignore[index]
    parts = textwrap.wrap(
        kept,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return [part.replace("\0", " ") for part in parts] or [""]


def give(text: str | None = None, **values: Any) -> None:
    """Print a result of the command: ``text`` for people, the named values with ``--json``."""
    if _document.wanted:
        _document.result.update(values)
    elif text is not None:
        _print(text)


def give_document(content: Any) -> None:
    """Replace the standard ``--json`` document with a different one; call only if :func:`json_wanted`."""
    _document.own_form = content


def add_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add a table that only ``--json`` shows, because people get the same facts in another form."""
    if _document.wanted:
        columns = list(rows[0]) if rows else []
        _document.tables.append({"title": title, "columns": columns, "rows": [dict(row) for row in rows]})


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    text: Collection[str] = (),
    *,
    places: int = 3,
) -> None:
    """Print a table; the first column and those named in ``text`` are aligned left, the others right.

    Args:
        title: title of the table.
        columns: names of the columns.
        rows: cells. A number is shown with ``places`` decimals if it is a float, and whole with ``--json``. Outside text columns
            ``--json`` has text that is a number as a number, and null for empty text.
        text: names of columns that hold text.
        places: number of decimals.
    """
    if _document.wanted:
        # Tables for people repeat names such as "95 % interval", which become keys here.
        names = [
            f"{name} {n}" if (n := list(columns[: i + 1]).count(name)) > 1 else name
            for i, name in enumerate(columns)
        ]
        numeric = [bool(i) and name not in text for i, name in enumerate(columns)]
        add_table(
            title,
            [
                {
                    name: number_of(cell) if parsed else cell
                    for name, parsed, cell in zip(names, numeric, row, strict=False)
                }
                for row in rows
            ],
        )
        return
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)  # files and pipes have room for wide tables
    cells = [[one_line(_shown(cell, places)) for cell in row] for row in rows]
    left = [not number or name in text for number, name in enumerate(columns)]
    grid = Grid([visible(name) for name in columns], cells, left)
    head, body = grid.laid_out(one_line(title), console.width)
    # In one piece, so that a closed pipe ends the command silently.
    with console.capture() as captured:
        for style, lines in head:
            console.print("\n".join(lines), style=style, markup=False, soft_wrap=bool(body))
    typer.echo(without_known(captured.get() + "\n".join(body)), nl=bool(body))


def _shown(cell: object, places: int) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return "-" if math.isnan(cell) else f"{cell:,.{places}f}"
    return "" if cell is None else str(cell)


def number_of(cell: object) -> object:
    """Return the number in a text, None for an empty text or a dash, and other cells as they are.

    >>> number_of("1,024"), number_of("0.50"), number_of("0.1 to 0.2"), number_of("")
    (1024, 0.5, '0.1 to 0.2', None)
    """
    if not isinstance(cell, str):
        return cell
    plain = cell.strip()
    if plain in ("", "-"):
        return None
    if not _NUMBER.fullmatch(plain):
        return cell
    plain = plain.replace(",", "")
    return int(plain) if re.fullmatch(r"[-+]?\d+", plain) else float(plain)


def check_out(out: Path) -> None:
    """Check before the work begins that a file can be written, because the work can cost hours."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"{out}: cannot be written; give the name of a file in a folder that exists")


def tell(problems: Sequence[str], notes: Iterable[str] = ()) -> None:
    """Print on standard error the first twenty problems of reading results, and notes on how to read them."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        warn(one_line(f"problem: {problem}"))
    if len(problems) > _SHOWN_PROBLEMS:
        warn(f"... and {len(problems) - _SHOWN_PROBLEMS} more problems")
    for note in notes:
        warn(one_line(f"note: {note}"))


def end_with_problems(problems: Sequence[str]) -> None:
    """End a command that left something out, after its result: one line on standard error and exit code 1."""
    if problems:
        several = "s" * (len(problems) > 1)
        warn(f"{len(problems)} problem{several}, named above; exit code 1")
        raise typer.Exit(1)
