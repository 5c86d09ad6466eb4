"""The changes that new results make: scores before and after, places among models, and comparisons with the nearest model."""

from collections.abc import Mapping, Sequence

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


def _figures(cell: Cell | None) -> str:
    # As text, because NaN does not equal itself.
    return repr(cell and (cell.mean, cell.runs))


def difference_markdown(before: CollectedRuns, after: CollectedRuns) -> str:
    """Return a table of the scores that differ, and a comparison of each changed model with the nearest one."""
    cells = cells_of(after.collection)
    old, new = _keyed(before, cells_of(before.collection)), _keyed(after, cells)
    # None if a cell is new or gone.
    pairs = [(old.get(key), new.get(key)) for key in dict.fromkeys((*new, *old))]
    changes = [(then, now) for then, now in pairs if _figures(then) != _figures(now)]
    if not changes:
        return "# What these results change\n\nNo score changes.\n"
    places = _places(cells)
    rows = []
    for then, now in changes:
        cell = now or then
        assert cell is not None  # one of the two is there
        notes = [] if now is None or now.ranked else [f"not ranked: {now.why_unranked}"]
        notes += [f"judge {cell.judge}"] if cell.judge else []
        notes += [f"settings {cell.settings}"] if cell.settings not in ("", "{}") else []
        scores = (cell_text(then) if then else "-", cell_text(now) if now else "-")
        texts = (cell.task, cell.model, *scores, places.get(id(now), "-"), "; ".join(notes))
        # The text may come from a stranger.
        rows.append(list(map(escape_markdown, texts)))
    lines = ["# What these results change", "", *markdown_table(_COLUMNS, rows, 1), ""]
    for model in dict.fromkeys(now.model for _, now in changes if now is not None):
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
        id(cell): f"{1 + sum(other.mean.value > cell.mean.value for other in ranked)} of {len(ranked)}"
        for ranked in columns.values()
        for cell in ranked
    }


def _nearest(model: str, cells: Sequence[Cell]) -> str | None:
    """Return the model that shares the most columns with another, and of several the nearest in value."""
    values = {_column(cell): cell.mean.value for cell in cells if cell.model == model}
    shared: dict[str, list[float]] = {}
    for cell in cells:
        if cell.model != model and _column(cell) in values:
            shared.setdefault(cell.model, []).append(abs(cell.mean.value - values[_column(cell)]))
    return min(shared, key=lambda name: (-len(shared[name]), sum(shared[name]), name), default=None)
