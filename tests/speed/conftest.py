"""The table that `make speed` prints at its end."""

from collections.abc import Callable
from typing import NamedTuple

import pytest


class Row(NamedTuple):
    """Seconds of our code and of the peer that does the same work, or the least of it that anyone has to do."""

    name: str
    ours: float
    peer: str
    theirs: float


_ROWS = pytest.StashKey[list[Row]]()


@pytest.fixture
def compared(pytestconfig: pytest.Config) -> Callable[[str, float, str, float], None]:
    """Function that adds a :class:`Row` to the table."""
    rows = pytestconfig.stash.setdefault(_ROWS, [])
    return lambda *row: rows.append(Row(*row))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash.get(_ROWS, [])
    if not rows:
        return
    table = [("name", "ours", "peer", "peer's", "ratio")]
    table += [
        (row.name, _said(row.ours), row.peer, _said(row.theirs), f"{row.theirs / row.ours:.2f}")
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    terminalreporter.section("speed: the peer's time divided by ours")
    for cells in table:
        name, ours, peer, theirs, ratio = (
            cell.ljust(width) if place in (0, 2) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        terminalreporter.write_line(f"{name}  {ours}  {peer}  {theirs}  {ratio}")


def _said(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"
