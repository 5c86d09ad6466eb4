"""Means by the labels that cases carry: which labels there are is gathered while cases go by, the scores are those of the cell."""

import polars as pl

from long_context_tasks.report.case_page import ShownCase
from long_context_tasks.report.cells import Cell, mean_of, turn_values
from long_context_tasks.report.schema import Collection
from long_context_tasks.report.site import words
from long_context_tasks.report.site.shown import Breakdown

MOST_VALUES = 12
"""A label with more values, as a date or an id, is none to break scores down by."""


class Labels:
    """The labels of the cases of one cell."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._cases: dict[str, dict[str, set[str]]] = {}

    def add(self, case: ShownCase) -> None:
        """Take one case; its further runs change nothing."""
        for label, value in case.labels.items():
            values = self._cases.setdefault(label, {})
            if len(values) <= MOST_VALUES or value in values:
                values.setdefault(value, set()).add(case.case)

    def breakdowns(self, collection: Collection, cell: Cell) -> list[Breakdown]:
        """A breakdown for each label with 2 to :data:`MOST_VALUES` values, none of them shared by a case, and two cases or
        more a value on average.

        Args:
            collection: with the scores of the cell.
            cell: that the cases belong to.
        """
        labels = {
            label: values
            for label, values in self._cases.items()
            if 2 <= len(values) <= MOST_VALUES
            and 2 * len(values) <= len(set[str]().union(*values.values()))
            # What differs between answers to the same case, as their number, is no label of the case.
            and sum(map(len, values.values())) == len(set[str]().union(*values.values()))
        }
        if not labels:
            return []
        turns = turn_values(collection, cell).with_columns(pl.col("case").cast(pl.String()))
        found = []
        for label, values in labels.items():
            groups = []
            for value in sorted(values, key=_natural):
                own = turns.filter(pl.col("case").is_in(sorted(values[value])))
                if len(own):
                    groups.append((value, mean_of(own, points=cell.points)))
            settings = words.settings(cell.settings)
            found.append(
                Breakdown(
                    cell.model, cell.task, label, groups, cell.points, cell.judge or "", settings=settings
                )
            )
        return found


def _natural(text: str) -> tuple[float, str]:
    """Numbers by size, before words."""
    try:
        return (float(text), text)
    except ValueError:
        return (float("inf"), text)
