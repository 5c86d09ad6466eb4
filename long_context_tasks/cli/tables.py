"""Tables as the commands print them."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from long_context_tasks.stats import Interval


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[str] = ()
) -> None:
    """A table on standard output; the first column and those named in ``text`` are aligned left, the others right.

    Wide enough for any table when it goes to a file or a pipe.
    """
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(escape(column), justify="right" if number and column not in text else "left")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=200)
    console.print(table)


def interval_text(interval: "Interval | None", places: int = 2) -> str:
    """``low to high``; empty when there is none, a dash when too few clusters allow none."""
    import math

    if interval is None:
        return ""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return "-"
    return f"{interval.low:.{places}f} to {interval.high:.{places}f}"
