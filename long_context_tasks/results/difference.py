"""The changes that new results make: scores before and after, places among models, and comparisons with the nearest model."""

from collections.abc import Mapping, Sequence

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.cells import Cell, cells_of
from long_context_tasks.results.collect import CollectedRuns
from long_context_tasks.results.compare import compare_models, text_in
from long_context_tasks.results.tables import cell_text, escape_markdown, markdown_table
from long_context_tasks.schema import InputError

_Key = tuple[object, ...]
_COLUMNS = ("task", "model", "before", "after", "place", "notes")


def _keyed(collected: CollectedRuns, cells: Sequence[Cell]) -> dict[_Key, Cell]:
    """Return cells by keys that are the same in any results; the label of a judge is, while its shown name depends on other judges."""
    labels = collected.labels
    return {
        (cell.task, cell.model, cell.version, labels[cell.runs[0]], cell.settings): cell for cell in cells
    }


def _changed(
    old: Mapping[_Key, Cell], new: Mapping[_Key, Cell]
) -> dict[_Key, tuple[Cell | None, Cell | None]]:
    """Return the cells that differ, before and after; None if a cell is new or gone."""
    pairs = {key: (old.get(key), new.get(key)) for key in dict.fromkeys((*new, *old))}
    return {
        key: (one, other)
        for key, (one, other) in pairs.items()
        # As text, because NaN does not equal itself.
        if one is None or other is None or repr((one.mean, one.runs)) != repr((other.mean, other.runs))
    }


def difference_markdown(before: CollectedRuns, after: CollectedRuns) -> str:
    """Return a table of the scores that differ, and a comparison of each changed model with the nearest one."""
    versions = {name: catalogue.card(name).version for name in catalogue.benchmark_names()}
    cells = cells_of(after.collection, versions)
    found = _changed(_keyed(before, cells_of(before.collection)), _keyed(after, cells))
    if not found:
        return "# What these results change\n\nNo score changes.\n"
    places = _places(cells)
    rows = []
    for one, other in found.values():
        cell = other or one
        assert cell is not None  # one of the two is there
        notes = [] if other is None or other.ranked else [f"not ranked: {other.why_unranked}"]
        notes += [f"judge {cell.judge}"] if cell.judge else []
        notes += [f"settings {cell.settings}"] if cell.settings not in ("", "{}") else []
        texts = (
            cell.task,
            cell.model,
            cell_text(one) if one else "-",
            cell_text(other) if other else "-",
            places.get(id(other), "-"),
            "; ".join(notes),
        )
        # The text may come from a stranger.
        rows.append(list(map(escape_markdown, texts)))
    lines = ["# What these results change", "", *markdown_table(_COLUMNS, rows, 1), ""]
    models = list(dict.fromkeys(other.model for _, other in found.values() if other is not None))
    for model in models:
        rival = _nearest(model, cells)
        # The only model with a score in these columns cannot be compared.
        if rival is None:
            continue
        try:
            compared = compare_models(after.collection, cells, (model, rival))
        except InputError:
            continue  # they share tasks but no case
        # Only our own heading is of the first level.
        lines += [line for line in text_in(".md", compared).splitlines() if not line.startswith("# ")]
    return "\n".join(lines) + "\n"


def _column(cell: Cell) -> _Key:
    return (cell.task, cell.version, cell.judge, cell.settings)


def _places(cells: Sequence[Cell]) -> Mapping[int, str]:
    """Return the place of each ranked cell (by ``id``) among the ranked cells of its column."""
    columns: dict[_Key, list[Cell]] = {}
    for cell in cells:
        if cell.ranked:
            columns.setdefault(_column(cell), []).append(cell)
    return {
        id(cell): f"{1 + sum(other.mean.value > cell.mean.value for other in own)} of {len(own)}"
        for own in columns.values()
        for cell in own
    }


def _nearest(model: str, cells: Sequence[Cell]) -> str | None:
    """Return the model that shares the most columns with another, and of several the nearest in value."""
    own = {_column(cell): cell.mean.value for cell in cells if cell.model == model}
    shared: dict[str, list[float]] = {}
    for cell in cells:
        if cell.model != model and _column(cell) in own:
            shared.setdefault(cell.model, []).append(abs(cell.mean.value - own[_column(cell)]))
    return min(shared, key=lambda name: (-len(shared[name]), sum(shared[name]), name), default=None)
