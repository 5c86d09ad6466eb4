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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import typer

from long_context_tasks.schema.files import InputError, json_value, one_line, visible
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
    grid = _Grid([visible(name) for name in columns], cells, left)
    head, body = grid.laid_out(visible(title), console.width)
    # In one piece, so that a closed pipe ends the command silently.
    with console.capture() as captured:
        for style, lines in head:
            console.print("\n".join(lines), style=style, markup=False, soft_wrap=bool(body))
    typer.echo(without_known(captured.get() + "\n".join(body)), nl=bool(body))


@dataclass(frozen=True)
class _Grid:
    """A table of text that fits a terminal without breaking a word, because names must stay whole to be copied."""

    names: Sequence[str]  # of the columns
    rows: Sequence[Sequence[str]]
    left: Sequence[bool]  # whether each column is aligned left

    def laid_out(self, title: str, width: int) -> tuple[list[tuple[str, list[str]]], list[str]]:
        """Return the lines of the head, with their styles, and those of the body.

        The form is the first that fits: as it is, without empty columns, without a common prefix, or a list.
        """
        for grid in (self, used := self._without_empty_columns(), used._without_prefix()):
            widths = grid._widths(width)
            if widths is None:
                continue
            total = sum(widths) + 3 * len(widths) + 1
            head = [("table.title", [_padded(line, total) for line in _wrapped(title, total)])]
            head.append(("table.header", [" " * total, *grid._lines(grid.names, widths, bottom=True)]))
            rows = (line for row in grid.rows for line in grid._lines(row, widths))
            return head, [f" {'─' * (total - 2)} ", *rows, " " * total]
        return [("", [title, *used._list(width), ""])], []

    def _lines(self, row: Sequence[str], widths: Sequence[int], *, bottom: bool = False) -> Iterator[str]:
        """Yield the lines of a row, whose cells may need several; ``bottom`` aligns them at the last line."""
        cells = [_wrapped(cell, wide) for cell, wide in zip(row, widths, strict=False)]
        cells += [[""]] * (len(widths) - len(cells))
        if bottom:
            height = max(map(len, cells))
            cells = [[""] * (height - len(lines)) + lines for lines in cells]
        for parts in zip_longest(*cells, fillvalue=""):
            columns = zip(parts, widths, self.left, strict=True)
            yield f"  {'   '.join(_padded(part, wide, left=left) for part, wide, left in columns)}  "

    def _widths(self, width: int) -> list[int] | None:
        """Return the width of each column if they fit; the widest columns of text give way first.

        Headings and text may continue on the next line at a blank; numbers with their intervals may not.
        """
        from rich.cells import cell_len

        least, wide = [], []
        for name, cells, is_text in zip(self.names, self._columns(), self.left, strict=True):
            parts = [
                *name.split(),
                *(word for cell in cells for word in (cell.split() if is_text else [cell])),
            ]
            least.append(max(map(cell_len, parts), default=0))
            wide.append(max(map(cell_len, [name, *cells])))
        room = width - 3 * len(self.names) - 1  # between the columns and at the edges
        if sum(least) > room:
            return None
        while sum(wide) > room:
            wide[max(range(len(wide)), key=lambda i: (wide[i] > least[i], wide[i]))] -= 1
        return wide

    def _columns(self) -> list[list[str]]:
        return [[row[i] if i < len(row) else "" for row in self.rows] for i in range(len(self.names))]

    def _without_empty_columns(self) -> "_Grid":
        columns = self._columns()
        kept = [i for i, column in enumerate(columns) if not i or set(column) - {"", "-"}]
        rows = [list(row) for row in zip(*(columns[i] for i in kept), strict=True)]
        return _Grid([self.names[i] for i in kept], rows, [self.left[i] for i in kept])

    def _without_prefix(self) -> "_Grid":
        """Move what all names in the first column begin with to its heading; rows such as "total" have no part in it."""
        joined = [row[0] for row in self.rows if "_" in row[0] or "/" in row[0]]
        shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*joined, strict=False))
        common = "".join(letters[0] for letters in shared)
        prefix = common[: max(common.rfind("_"), common.rfind("/")) + 1]
        if len(joined) < 2 or not prefix:
            return self
        rows = [
            ["…" + row[0].removeprefix(prefix) if row[0] in joined else row[0], *row[1:]] for row in self.rows
        ]
        return _Grid([f"{self.names[0]} {prefix}…", *self.names[1:]], rows, self.left)

    def _list(self, width: int) -> Iterator[str]:
        """Yield each row as its first cell and, indented, the others with their names."""
        for first, *others in self.rows:
            yield f"\n{first}"
            line = ""
            for name, cell in zip(self.names[1:], others, strict=True):
                part = f"{name} {cell}" if cell else ""
                if line and len(f"  {line} · {part}") > width:
                    yield f"  {line}"
                    line = ""
                line = " · ".join(filter(None, (line, part)))
            yield f"  {line}"


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, which continues on the next one at a blank."""
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".lstrip()
        lines[-1:] = [joined] if cell_len(joined) <= width or not lines[-1] else [lines[-1], word]
    return lines


def _padded(text: str, width: int, *, left: bool = True) -> str:
    from rich.cells import cell_len

    blanks = " " * (width - cell_len(text))
    return text + blanks if left else blanks + text


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
