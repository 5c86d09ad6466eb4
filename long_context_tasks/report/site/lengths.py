"""The first page's table of effective context lengths: models by families of tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.report.lengths import ends_words, length_words
from long_context_tasks.report.site import words
from long_context_tasks.report.site.pages import Names
from long_context_tasks.report.site.shown import ShownLength


@dataclass(frozen=True)
class LengthCell:
    """A length in words, its interval, the number of its definition below the table, and what the column is sorted by."""

    length: str
    interval: str
    mark: int
    definition: str
    sort: str


@dataclass(frozen=True)
class LengthRow:
    """A model, the file of its page, and a cell for each column; None without one."""

    model: str
    file: str
    cells: Sequence[LengthCell | None]


@dataclass(frozen=True)
class LengthTable:
    """Names of the columns, rows, and the definitions in the order of their numbers."""

    columns: Sequence[str]
    rows: Sequence[LengthRow]
    definitions: Sequence[str]


def length_table(lengths: Sequence[ShownLength], names: Names) -> LengthTable | None:
    """The table; None without any length of a model that has a page."""
    shown = [each for each in lengths if each.model in names.models]
    if not shown:
        return None
    columns = {each.name: words.short_name(each.name, each.benchmark) for each in shown}
    marks = {text: number for number, text in enumerate(dict.fromkeys(map(_definition, shown)), start=1)}
    by_place = {(each.model, each.name): each for each in shown}
    rows = []
    for model in sorted({each.model for each in shown}, key=str.lower):
        found = [by_place.get((model, column)) for column in columns]
        rows.append(
            LengthRow(
                model, names.models[model], [None if one is None else _cell(one, marks) for one in found]
            )
        )
    return LengthTable(list(columns.values()), rows, list(marks))


def _definition(one: ShownLength) -> str:
    """Without the lengths that decided nothing, which differ from model to model."""
    return one.definition.partition("; not decided")[0]


def _cell(one: ShownLength, marks: dict[str, int]) -> LengthCell:
    digits = "".join(character for character in one.length if character.isdecimal())
    return LengthCell(
        length_words(one.length),
        "" if one.interval is None else ends_words(*one.interval),
        marks[_definition(one)],
        one.definition,
        digits or ("0" if one.length == "none" else ""),
    )
