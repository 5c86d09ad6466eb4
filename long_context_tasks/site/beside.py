"""Files beside the pages, under addresses that stay the same: badges, a task's table as JSON, the front page of a static Space."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import jinja2
import polars as pl
import yaml

from long_context_tasks.results.cells import Cell
from long_context_tasks.results.tables import interval_text, leaderboard, printable, score_text, table_json
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import write_whole

SPACE = "README.md"
_MADE_WITH = "Made with `lct report --space`"
_CHARACTER, _MARGIN = 7, 12  # pixels of 11 px Verdana; ``textLength`` makes any font fit


def badge(cell: Cell, template: jinja2.Template) -> str:
    """The headline of a model on a task with its 95 % interval, as SVG; grey and marked where it is not ranked."""
    unit = "" if cell.points else " %"
    value = f"{score_text(cell.mean.value, points=cell.points)}{unit} ({interval_text(cell.mean, points=cell.points)})"
    name, value = printable(cell.task), value if cell.ranked else f"{value}, not ranked"
    left, right = (_CHARACTER * len(text) + _MARGIN for text in (name, value))
    title = f"{printable(cell.model)}, {name}: {cell.metric} {value}"
    return template.render(left=left, right=right, name=name, value=value, title=title, ranked=cell.ranked)


def write_badges(
    folder: Path,
    cells: Iterable[Cell],
    models: Mapping[str, str],
    tasks: Mapping[str, str],
    template: jinja2.Template,
) -> None:
    """Write ``badge/<model>/<task>.svg``, under the names of their pages.

    Args:
        folder: of the site.
        cells: of each model and task the first without other settings than the defaults counts, else the first.
        models: name to the name of its page.
        tasks: likewise.
        template: ``badge.svg.j2``.
    """
    chosen: dict[tuple[str, str], Cell] = {}
    for cell in sorted(cells, key=lambda one: one.settings not in ("", "{}")):
        chosen.setdefault((cell.model, cell.task), cell)
    for (model, task), cell in chosen.items():
        place = folder / "badge" / models[model]
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / f"{tasks[task]}.svg", badge(cell, template))


def write_task_tables(
    folder: Path, collection: Collection, cells: Iterable[Cell], tasks: Mapping[str, str]
) -> None:
    """Write ``task/<task>.json`` beside the page of each task: its rows of the leaderboard."""
    rows = leaderboard(collection, list(cells))
    for (task,), part in rows.partition_by("task", as_dict=True, maintain_order=True).items():
        write_whole(
            folder / "task" / f"{tasks[str(task)]}.json", table_json("leaderboard", pl.DataFrame(part))
        )


def check_space(folder: Path) -> None:
    """Refuse to replace a README.md of the user's.

    Raises:
        InputError: there is one.
    """
    path = folder / SPACE
    if path.is_file() and _MADE_WITH not in path.read_bytes().decode("utf-8", "replace"):
        raise InputError(
            f"{path}: is there already; put `sdk: static` into its front matter and leave out --space"
        )


def space_page(title: str) -> str:
    """The page that makes a static Space of a site on the Hugging Face hub."""
    front: dict[str, str | bool] = {
        "title": printable(title),
        "emoji": "📏",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "static",
    }
    front |= {"app_file": "index.html", "pinned": False}
    header = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{header}---\n\n{_MADE_WITH}; the scores as files: `leaderboard.csv`, `results.parquet`.\n"
