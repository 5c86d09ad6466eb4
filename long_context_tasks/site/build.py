"""The site: one folder of pages that open from ``file://`` without a network."""

import importlib.resources
import importlib.util
import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from long_context_tasks import __version__
from long_context_tasks.results.case_pages import ShownCase
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import length_words
from long_context_tasks.results.tables import leaderboard, table_json
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import lacking
from long_context_tasks.schema.files import loads, write_whole
from long_context_tasks.site import words
from long_context_tasks.site.cases import ChunkStore, Names, facts_of, write_cases
from long_context_tasks.site.leaderboard import index_payload, leading_cells
from long_context_tasks.site.pages import (
    benchmark_context,
    grouped,
    length_table,
    model_context,
    submit_columns,
    task_context,
)
from long_context_tasks.site.shown import SiteOptions, label_breakdowns
from long_context_tasks.site.words import slug

MARKER = "lct-site.json"
"""Marks a folder as a site, and lists its files."""


@contextmanager
def _replaced(place: Path) -> Iterator[Path]:
    """Give a folder to write into, and move it to its place when all went well.

    Where the place holds a site built before, its files go; other files in the folder, such as tables written beside the site, stay.

    Raises:
        InputError: the place holds something else, or cannot be written; an old site is back in its place then.
    """
    empty = place.is_dir() and not any(place.iterdir())
    if place.exists() and not empty and not (place / MARKER).is_file():
        raise InputError(
            f"{place}: there is something that is no site of lct report; choose another folder or remove it"
        )
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with _named(place):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
        yield part
        with _named(place):
            _move(part, place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _named(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{place}: cannot be written ({error.strerror or error}); choose another place"
        ) from error


def _move(part: Path, place: Path) -> None:
    """Move a folder to its place, and into it what the site before has not written."""
    own = sorted(path.name for path in part.iterdir())
    marker = {"made_by": "lct report", "files": [*own, MARKER]}
    (part / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="utf-8")
    if not place.exists():
        part.replace(place)
        return
    try:
        before = set(loads((place / MARKER).read_bytes())["files"])
    except (OSError, ValueError, KeyError, TypeError):
        before = {MARKER}
    old = part.with_suffix(".old")
    place.replace(old)
    try:
        part.replace(place)
    except OSError:
        old.replace(place)
        raise
    for path in list(old.iterdir()):
        if path.name not in before and not (place / path.name).exists():
            path.replace(place / path.name)
    shutil.rmtree(old, ignore_errors=True)


_MOST_PLAIN = 1_000
_PLOTLY = "plotly.min.js"
_STYLE = re.compile(r'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"\)')
"""Where plotly adds a style to the page unless an element has its name; the pages' policy lets none be added."""


@dataclass(frozen=True)
class BuiltSite:
    """What was built.

    Attributes:
        index: the first page.
        models, tasks: pages.
        cases: cases that can be opened.
        size: of all files, in bytes.
        files: how many.
    """

    index: Path
    models: int
    tasks: int
    cases: int
    size: int
    files: int


def build_site(
    folder: Path,
    collection: Collection,
    cells: Sequence[Cell],
    cases: Iterable[ShownCase] = (),
    options: SiteOptions | None = None,
) -> BuiltSite:
    """Write the site beside its place, then move it there whole.

    The folder is new, empty, or a site built before, which is replaced; files that are not of the site stay. A case is read once and
    not kept.

    Raises:
        InputError: the folder holds something else or cannot be written, or plotly is not installed.
    """
    options = options or SiteOptions()
    plotly = _plotly()
    with _replaced(folder) as part:
        n_cases = _write(part, collection, cells, cases, options, plotly)
    files = [path for path in folder.rglob("*") if path.is_file()]
    return BuiltSite(
        index=folder / "index.html",
        models=len({cell.model for cell in cells}),
        tasks=len({cell.task for cell in cells}),
        cases=n_cases,
        size=sum(path.stat().st_size for path in files),
        files=len(files),
    )


def _plotly() -> Path:
    """The drawing library in the installed plotly package."""
    spec = importlib.util.find_spec("plotly")
    path = Path(spec.origin).parent / "package_data" / _PLOTLY if spec and spec.origin else None
    if path is None or not path.is_file():
        raise lacking("report", "the site", "plotly")
    return path


def _write(
    folder: Path,
    collection: Collection,
    cells: Sequence[Cell],
    cases: Iterable[ShownCase],
    options: SiteOptions,
    plotly: Path,
) -> int:
    """Write all files of the site; return the number of cases."""
    (folder / "assets").mkdir(parents=True)
    for asset in (importlib.resources.files("long_context_tasks.site") / "assets").iterdir():
        write_whole(folder / "assets" / asset.name, asset.read_bytes())
    shutil.copyfile(plotly, folder / "assets" / _PLOTLY)
    store = ChunkStore(folder / "data")
    models = {model: slug(model) for model in sorted({cell.model for cell in cells}, key=str.lower)}
    tasks = {cell.task: slug(cell.task) for cell in cells}
    benchmarks = {name: slug(name) for name in sorted({cell.benchmark for cell in cells})}
    names = Names(models, tasks, facts_of(collection.runs))
    by_run = {run: cell for cell in cells for run in cell.runs}
    case_lists, n_cases = write_cases(cases, by_run, names, store, options.label_titles)
    names = replace(names, case_lists=case_lists)
    breakdowns = label_breakdowns(collection, cells, options.label_values)
    leading, others = leading_cells(cells)
    payload = index_payload(leading, models, tasks, options)
    environment = _environment(plotly, options=options, names=names)

    def page(path: str, kind: str, **context: Any) -> None:
        figures = [
            {"title": each.title, "caption": each.caption, "data": store.put(each.data)}
            for each in context.pop("figures", ())
        ]
        template = environment.get_template(f"{kind}.html.j2")
        text = template.render(page=kind, root="../" * path.count("/"), figures=figures, **context)
        (folder / path).parent.mkdir(exist_ok=True)
        # Half of a surrogate pair has no bytes in UTF-8.
        write_whole(folder / path, text.encode("utf-8", "replace"))

    def place(cell: Cell) -> tuple[str, float]:
        value = cell.mean.value
        return cell.task, -value if math.isfinite(value) else math.inf

    page(
        "index.html",
        "index",
        data=store.put(payload),
        n_runs=collection.runs.height,
        n_models=len(models),
        n_tasks=len(tasks),
        n_published=len(payload["published"]),
        problems=collection.problems,
        notes=collection.notes,
        benchmarks=benchmarks,
        lengths=length_table(options.lengths, names),
        # For readers without scripts, where the table is short enough to be of use.
        plain=sorted(cells, key=place) if len(cells) <= _MOST_PLAIN else (),
        judges=sorted({cell.judge for cell in cells if cell.judge}),
        settings=words.long_settings(cell.settings for cell in cells),
    )
    page("case.html", "case")
    page("about.html", "about", benchmarks=benchmarks, n_runs=collection.runs.height)
    page("submit.html", "submit", columns=submit_columns(leading.values()))
    runs = collection.runs.partition_by("model", as_dict=True)
    by_model = grouped(leading.values(), attrgetter("model"))
    others_by_model = grouped(others, attrgetter("model"))
    for model, file in models.items():
        own_runs = runs.get((model,), collection.runs.clear())
        rest = others_by_model.get(model, [])
        context = model_context(model, by_model[model], rest, own_runs, breakdowns, names, options)
        page(f"model/{file}.html", "model", **context)
    families = {cell.task: cell.family for cell in cells}
    by_family = grouped(leading.values(), attrgetter("family"))
    others_by_task = grouped(others, attrgetter("task"))
    for task, file in tasks.items():
        rest = others_by_task.get(task, [])
        context = task_context(task, by_family[families[task]], rest, breakdowns, names, options)
        page(f"task/{file}.html", "task", **context)
    for benchmark, members in grouped(leading.values(), attrgetter("benchmark")).items():
        context = benchmark_context(benchmark, members, names, options)
        page(f"benchmark/{benchmarks[benchmark]}.html", "benchmark", **context)
    write_task_tables(folder, collection, cells, tasks)
    return n_cases


def templates() -> jinja2.Environment:
    """Return the site's templates; what they show is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("long_context_tasks.site", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = __version__
    return environment


def _environment(plotly: Path, **known: Any) -> jinja2.Environment:
    environment = templates()
    styles = " ".join(dict.fromkeys(_STYLE.findall(plotly.read_text(encoding="utf-8"))))
    environment.globals.update(words=words, length_words=length_words, styles=styles, **known)
    return environment


def write_task_tables(
    folder: Path, collection: Collection, cells: Iterable[Cell], tasks: Mapping[str, str]
) -> None:
    """Write ``task/<task>.json`` beside the page of each task: its rows of the leaderboard."""
    rows = leaderboard(collection, list(cells))
    for (task,), part in rows.partition_by("task", as_dict=True, maintain_order=True).items():
        write_whole(
            folder / "task" / f"{tasks[str(task)]}.json", table_json("leaderboard", pl.DataFrame(part))
        )
