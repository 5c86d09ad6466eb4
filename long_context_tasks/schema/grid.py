"""Tables on terminals, of commands and at the end of hosts' runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest


@dataclass(frozen=True)
class Grid:
    """A table of text that fits a terminal without breaking a word, because names must stay whole to be copied."""

    names: Sequence[str]  # of the columns; a line end is a place to break a name in a heading
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
            wide.append(max(map(cell_len, [*name.split("\n"), *cells])))
        room = width - 3 * len(self.names) - 1  # between the columns and at the edges
        if sum(least) > room:
            return None
        while sum(wide) > room:
            wide[max(range(len(wide)), key=lambda i: (wide[i] > least[i], wide[i]))] -= 1
        return wide

    def _columns(self) -> list[list[str]]:
        return [[row[i] if i < len(row) else "" for row in self.rows] for i in range(len(self.names))]

    def _without_empty_columns(self) -> "Grid":
        columns = self._columns()
        kept = [i for i, column in enumerate(columns) if not i or set(column) - {"", "-"}]
        rows = [list(row) for row in zip(*(columns[i] for i in kept), strict=True)]
        return Grid([self.names[i] for i in kept], rows, [self.left[i] for i in kept])

    def _without_prefix(self) -> "Grid":
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
        return Grid([f"{self.names[0]} {prefix}…", *self.names[1:]], rows, self.left)

    def _list(self, width: int) -> Iterator[str]:
        """Yield each row as its first cell and, indented, the others with their names."""
        names = [name.replace("\n", "") for name in self.names[1:]]
        for first, *others in self.rows:
            yield f"\n{first}"
            line = ""
            for name, cell in zip(names, others, strict=True):
                part = f"{name} {cell}" if cell else ""
                if line and len(f"  {line} · {part}") > width:
                    yield f"  {line}"
                    line = ""
                line = " · ".join(filter(None, (line, part)))
            yield f"  {line}"


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, which continues on the next one at a blank or a line end."""
    from rich.cells import cell_len

    if "\n" in text:
        return [line for part in text.split("\n") for line in _wrapped(part.rstrip(), width)]
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
