"""Figures of the paper beside what the archives give: one cell each, in the paper's rounding and in plain rounding."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from long_context_tasks.stats import Interval, round_half_up, round_twice

Match = Literal["yes", "no", "published only", "not printed"]


@dataclass(frozen=True)
class Cell:
    """One figure of the paper.

    Attributes:
        published: as printed, ``low to high`` where the text only gives a range; ``None`` when the paper prints no figure.
        value: from the archives, unrounded; ``None`` when they do not have what it takes.
        n: scores in it.
        interval: 95 %, over meetings.
        places: decimals of the printed figure.
        twice: printed after two roundings.
        reason: why ``value`` is not what the paper printed, although both may be there.
        note: more about the value.
    """

    row: str
    column: str
    published: str | None
    value: Fraction | float | None = None
    n: int | None = None
    interval: Interval | None = None
    places: int = 2
    twice: bool = False
    reason: str = ""
    note: str = ""

    @property
    def plain(self) -> str | None:
        """The value rounded half up, once."""
        return None if self.value is None else str(round_half_up(self.value, self.places))

    @property
    def recomputed(self) -> str | None:
        """The value in the paper's own rounding."""
        if self.value is None or not self.twice:
            return self.plain
        return str(round_twice(self.value, self.places))

    @property
    def match(self) -> Match:
        """Whether the paper's figure came out, digit by digit."""
        if self.reason:
            return "published only"
        if self.published is None or self.value is None:
            return "not printed"
        if " to " in self.published:
            low, high = (float(end) for end in self.published.split(" to "))
            return "yes" if low <= self.value <= high else "no"
        return "yes" if self.recomputed == self.published else "no"


@dataclass(frozen=True)
class Table:
    """A table or figure of the paper: ``key`` as in the data file, what it shows, its cells."""

    key: str
    title: str
    cells: tuple[Cell, ...]

    def cell(self, row: str, column: str) -> Cell:
        """One cell by its row and column.

        Raises:
            KeyError: no such cell.
        """
        for cell in self.cells:
            if (cell.row, cell.column) == (row, column):
                return cell
        raise KeyError(f"{self.key}: {row}, {column}")
