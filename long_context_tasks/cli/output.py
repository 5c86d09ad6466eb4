"""What the commands print: tables and results for people, or one JSON document with ``--json``.

With ``--json`` standard output holds that document and nothing else, also when the command ends with exit code 1;
everything said besides goes to standard error. The document is ``{"tables": [{"title", "columns", "rows"}], "result":
{}}``: a row maps the names of columns to values, and ``result`` holds single values. A command whose JSON has a form of
its own says so in its help.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import typer

from long_context_tasks.schema.files import json_value, visible

_WIDTH = 200
_SHOWN_PROBLEMS = 20
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?([eE][-+]?\d+)?", re.ASCII)


class _Output:
    """What ``--json`` collects until the command ends; there is one command in a process."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.json = False
        self.tables: list[dict[str, Any]] = []
        self.result: dict[str, Any] = {}
        self.document: Any = None


_output = _Output()


def start_output() -> None:
    """Forget what an earlier command of this process printed."""
    _output.reset()


def want_json(value: bool = True) -> bool:
    """Collect from now on, and print JSON at the end; what ``--json`` calls."""
    _output.json = value
    return value


def json_wanted() -> bool:
    """Whether ``--json`` was given."""
    return _output.json


def finish_output() -> None:
    """Print the document, when ``--json`` was given; nothing otherwise."""
    if not _output.json:
        return
    document = _output.document
    if document is None:
        document = {"tables": _output.tables, "result": _output.result}
    _output.reset()
    typer.echo(json.dumps(json_value(document), ensure_ascii=False, indent=1, default=_plain))


def _plain(value: Any) -> Any:
    """Numbers of numpy as numbers, sets as lists, paths and dates as text."""
    if isinstance(value, set | frozenset):
        return list(value)
    item = getattr(value, "item", None)
    return json_value(item()) if callable(item) else str(value)


def say(message: str = "", *, nl: bool = True) -> None:
    """A line for people: on standard output, with ``--json`` on standard error."""
    typer.echo(visible(message), nl=nl, err=_output.json)


def give(text: str | None = None, **values: Any) -> None:
    """A result of the command: ``text`` for people, the named values with ``--json``."""
    if _output.json:
        _output.result.update(values)
    elif text is not None:
        typer.echo(visible(text))


def give_document(document: Any) -> None:
    """JSON in a form of the command's own, in place of the common one; call it when :func:`json_wanted`."""
    _output.document = document


def add_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """A table for ``--json`` alone, of a command that says the same to people in lines of its own."""
    if _output.json:
        found = [dict(row) for row in rows]
        _output.tables.append({"title": title, "columns": list(found[0]) if found else [], "rows": found})


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: Collection[str] = (),
    values: Sequence[Mapping[str, Any]] | None = None,
    whole: Collection[str] = (),
) -> None:
    """A table on standard output; the first column and those named in ``text`` are aligned left, the others right.

    Wide enough for any table when it goes to a file or a pipe.

    Args:
        title: of the table.
        columns: names.
        rows: cells as they are shown.
        text: names of columns that hold text.
        values: rows for ``--json`` when it should hold more, or unrounded numbers; otherwise the cells are taken, those
            of columns that are no text as numbers where they are some, empty ones as null.
        whole: names of columns whose cells stay on one line in a narrow terminal; the others give way.
    """
    if _output.json:
        _output.tables.append(_table_document(title, columns, rows, text, values))
        return
    from rich import box
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
        # A name that is too long for its column goes on in the next line; the default cuts it.
        table.add_column(escape(visible(column)), justify=justify, overflow="fold", no_wrap=column in whole)
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    print_rich(table)


def print_rich(*shown: Any, width: int = _WIDTH) -> None:
    """Tables and texts of rich on standard output, in one piece so that a closed pipe ends them silently."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=width)
    with console.capture() as captured:
        console.print(*shown)
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
    """Names of which none comes twice, as keys must be."""
    seen: dict[str, int] = {}
    names = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        names.append(column if seen[column] == 1 else f"{column} {seen[column]}")
    return names


def number_of(cell: str) -> str | int | float | None:
    """A cell as a number where it is one, None where it is empty or a dash.

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
    """Say on standard error what could not be read, the first twenty of it, and what else a reader of the results should know."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        typer.echo(visible(f"problem: {problem}"), err=True)
    if len(problems) > _SHOWN_PROBLEMS:
        typer.echo(f"... and {len(problems) - _SHOWN_PROBLEMS} more problems", err=True)
    for note in notes:
        typer.echo(visible(f"note: {note}"), err=True)


def end_with_problems(problems: Sequence[str]) -> None:
    """End a command that has left something out, after its result: one line on standard error and exit code 1."""
    if problems:
        several = "s" * (len(problems) > 1)
        typer.echo(f"{len(problems)} problem{several}, named above; exit code 1", err=True)
        raise typer.Exit(1)
