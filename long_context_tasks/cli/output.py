"""Print tables and results for people, or one JSON document with ``--json``.

With ``--json`` standard output holds the document and nothing else, also if the command ends with exit code 1; all other messages go to
standard error. The document is ``{"tables": [{"title", "columns", "rows"}], "result": {}}``: a row maps the names of columns to values,
and ``result`` holds single values. A command whose JSON has another form says so in its help.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import typer

from long_context_tasks.schema.files import json_value, visible

_WIDTH = 200  # of tables in files and pipes, where nothing wraps them
_SHOWN_PROBLEMS = 20  # a folder of damaged files would scroll the result away
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


class _JsonDocument:
    """The document of ``--json`` while a command runs; a process runs one command at a time."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.wanted = False
        self.tables: list[dict[str, Any]] = []
        self.result: dict[str, Any] = {}
        self.own_form: Any = None


_document = _JsonDocument()


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
    if not _document.wanted:
        return
    content = _document.own_form
    if content is None:
        content = {"tables": _document.tables, "result": _document.result}
    _document.clear()
    typer.echo(json.dumps(json_value(content), ensure_ascii=False, indent=1, default=_plain))


def _plain(value: Any) -> Any:
    # For numbers of numpy, sets, paths and dates, which JSON does not have.
    if isinstance(value, set | frozenset):
        return list(value)
    item = getattr(value, "item", None)
    return json_value(item()) if callable(item) else str(value)


def say(message: str = "") -> None:
    """Print a line for people: on standard output, with ``--json`` on standard error."""
    typer.echo(visible(message), err=_document.wanted)


def warn(message: str) -> None:
    """Print a line on standard error, also with ``--json``."""
    typer.echo(visible(message), err=True)


def give(text: str | None = None, **values: Any) -> None:
    """Print a result of the command: ``text`` for people, the named values with ``--json``."""
    if _document.wanted:
        _document.result.update(values)
    elif text is not None:
        typer.echo(visible(text))


def give_document(content: Any) -> None:
    """Replace the common document of ``--json`` by another form; call it if :func:`json_wanted`."""
    _document.own_form = content


def add_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add a table that only ``--json`` shows, because people get the same facts in lines of their own."""
    if _document.wanted:
        found = [dict(row) for row in rows]
        _document.tables.append({"title": title, "columns": list(found[0]) if found else [], "rows": found})


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: Collection[str] = (),
    values: Sequence[Mapping[str, Any]] | None = None,
    whole: Collection[str] = (),
) -> None:
    """Print a table; the first column and those named in ``text`` are aligned left, the others right.

    Args:
        title: title of the table.
        columns: names of the columns.
        rows: cells as shown.
        text: names of columns that hold text.
        values: rows for ``--json``, if it should hold more columns or unrounded numbers. Without them it holds the cells: as numbers
            outside text columns if they are numbers, as null if they are empty.
        whole: names of columns whose cells stay on one line in a narrow terminal.
    """
    if _document.wanted:
        _document.tables.append(_table_document(title, columns, rows, text, values))
        return
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(visible(title)),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=not whole,
        collapse_padding=bool(whole),
    )
    for number, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if number and column not in text else "left"
        # A name that is too long for its column continues on the next line; by default rich would cut it.
        table.add_column(escape(visible(column)), justify=justify, overflow="fold", no_wrap=column in whole)
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)  # files and pipes have room for wide tables
    # In one piece, so that a closed pipe ends the command silently.
    with console.capture() as captured:
        console.print(table)
    typer.echo(captured.get(), nl=False)


def _table_document(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: Collection[str],
    values: Sequence[Mapping[str, Any]] | None,
) -> dict[str, Any]:
    if values is not None:
        found = [dict(row) for row in values]
        return {"title": title, "columns": list(found[0]) if found else list(columns), "rows": found}
    # Tables for people repeat names such as "95 % interval".
    names = _unique(columns)
    numeric = [bool(place) and column not in text for place, column in enumerate(columns)]
    made = [
        {
            name: number_of(cell) if of_numbers else cell
            for name, of_numbers, cell in zip(names, numeric, row, strict=False)
        }
        for row in rows
    ]
    return {"title": title, "columns": names, "rows": made}


def _unique(columns: Sequence[str]) -> list[str]:
    # Repeated names get numbers, because they become keys.
    seen: dict[str, int] = {}
    names = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        names.append(column if seen[column] == 1 else f"{column} {seen[column]}")
    return names


def number_of(cell: str) -> str | int | float | None:
    """Return the number in a cell, None for an empty cell or a dash, and other cells as they are.

    >>> number_of("1,024"), number_of("0.50"), number_of("0.1 to 0.2"), number_of("")
    (1024, 0.5, '0.1 to 0.2', None)
    """
    plain = cell.strip()
    if plain in ("", "-"):
        return None
    if not _NUMBER.fullmatch(plain):
        return cell
    plain = plain.replace(",", "")
    return int(plain) if re.fullmatch(r"[-+]?\d+", plain) else float(plain)


def tell(problems: Sequence[str], notes: Iterable[str] = ()) -> None:
    """Print on standard error the first twenty problems of reading results, and notes on how to read them."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        warn(f"problem: {problem}")
    if len(problems) > _SHOWN_PROBLEMS:
        warn(f"... and {len(problems) - _SHOWN_PROBLEMS} more problems")
    for note in notes:
        warn(f"note: {note}")


def end_with_problems(problems: Sequence[str]) -> None:
    """End a command that left something out, after its result: one line on standard error and exit code 1."""
    if problems:
        several = "s" * (len(problems) > 1)
        warn(f"{len(problems)} problem{several}, named above; exit code 1")
        raise typer.Exit(1)
