"""The site: one folder of pages that open from ``file://`` without a network."""

import importlib.resources
import importlib.util
import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import jinja2

from long_context_tasks.results.case_pages import ShownCase
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import ends_words, length_words
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import write_whole
from long_context_tasks.site import words
from long_context_tasks.site.benchmark_page import benchmark_context
from long_context_tasks.site.cases import ChunkStore, write_cases
from long_context_tasks.site.leaderboard import index_payload, leading_cells
from long_context_tasks.site.model_page import model_context
from long_context_tasks.site.rows import Names, facts_of, label_breakdowns, length_table
from long_context_tasks.site.shown import Breakdown, SiteOptions
from long_context_tasks.site.task_page import task_context
from long_context_tasks.site.words import slug

# A folder that is replaced whole, and only where it is a site of ours.


MARKER = "lct-site.json"
"""Says that a folder is a site of ours, and which of its files are."""


class Replaced:
    """Context manager: gives a folder to write into, and moves it to its place when all went well.

    Where the place holds a site built before, its files go, and others in the folder, as tables written beside the site, stay.
    """

    def __init__(self, place: Path) -> None:
        """Check the place.

        Raises:
            InputError: there is something that is no site of ours.
        """
        self._place = place
        self._part = place.with_name(f".{place.name}.{os.getpid()}.part")
        self._old = place.with_name(f".{place.name}.{os.getpid()}.old")
        if not place.exists() or (place.is_dir() and not any(place.iterdir())):
            return
        if not place.is_dir() or not (place / MARKER).is_file():
            raise InputError(
                f"{place}: there is something that is no site of lct report; choose another folder or remove it"
            )

    def __enter__(self) -> Path:
        """Make the folder to write into.

        Raises:
            InputError: it cannot be made.
        """
        try:
            shutil.rmtree(self._part, ignore_errors=True)
            self._part.mkdir(parents=True)
        except OSError as error:
            raise self._cannot(error) from error
        return self._part

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Move it to its place, or remove it after an error.

        Raises:
            InputError: it cannot be moved; the old site is back in its place then.
        """
        if kind is not None:
            shutil.rmtree(self._part, ignore_errors=True)
            return
        try:
            self._move()
        except OSError as failed:
            shutil.rmtree(self._part, ignore_errors=True)
            raise self._cannot(failed) from failed

    def _move(self) -> None:
        own = sorted(path.name for path in self._part.iterdir())
        (self._part / MARKER).write_text(
            json.dumps({"made_by": "lct report", "files": [*own, MARKER]}, indent=1) + "\n", encoding="utf-8"
        )
        if not self._place.exists():
            self._part.replace(self._place)
            return
        before = _own_files(self._place)
        self._place.replace(self._old)
        try:
            self._part.replace(self._place)
        except OSError:
            self._old.replace(self._place)
            raise
        for path in list(self._old.iterdir()):
            if path.name not in before and not (self._place / path.name).exists():
                path.replace(self._place / path.name)
        shutil.rmtree(self._old, ignore_errors=True)

    def _cannot(self, error: OSError) -> InputError:
        return InputError(
            f"{self._place}: cannot be written ({error.strerror or error}); choose another place"
        )


def _own_files(place: Path) -> set[str]:
    """Names of what the site in the place wrote; nothing of an empty folder is ours."""
    try:
        held = json.loads((place / MARKER).read_text(encoding="utf-8"))
        return {str(name) for name in held["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {MARKER}


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

    Args:
        folder: not there yet, empty, or a site built before: that is replaced, and files that are not of the site stay.
        collection: all that was read.
        cells: of the collection.
        cases: to open one by one; each is read once and let go.
        options: see :class:`SiteOptions`.

    Raises:
        InputError: the folder holds something else, or cannot be written; plotly is not installed.
    """
    options = options or SiteOptions()
    plotly = _plotly()
    with Replaced(folder) as part:
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
    """The drawing library, as the installed plotly package has it."""
    spec = importlib.util.find_spec("plotly")
    path = Path(spec.origin).parent / "package_data" / _PLOTLY if spec and spec.origin else None
    if path is None or not path.is_file():
        raise InputError("the site draws with plotly, which is not installed; pip install plotly")
    return path


def _write(
    folder: Path,
    collection: Collection,
    cells: Sequence[Cell],
    cases: Iterable[ShownCase],
    options: SiteOptions,
    plotly: Path,
) -> int:
    """All files of the site; gives the number of cases."""
    _copy_assets(folder / "assets", plotly)
    store = ChunkStore(folder / "data")
    models = {model: slug(model) for model in sorted({cell.model for cell in cells}, key=str.lower)}
    tasks = {cell.task: slug(cell.task) for cell in cells}
    by_run = {run: cell for cell in cells for run in cell.runs}
    pages = {f"model/{name}": f"model/{file}.html" for name, file in models.items()}
    pages |= {f"task/{name}": f"task/{file}.html" for name, file in tasks.items()}
    facts = facts_of(collection.runs)
    written = write_cases(cases, by_run, facts, pages, store)
    names = Names(models, tasks, written.lists, facts)
    breakdowns = _breakdowns(cells, collection, options)
    benchmarks = {name: slug(name) for name in sorted({cell.benchmark for cell in cells})}
    leading, others = leading_cells(cells)
    environment = _environment(options, plotly)

    payload = index_payload(leading, models, tasks, options)
    index = store.put(payload)
    _page(
        environment,
        folder / "index.html",
        root="",
        page="index",
        data=index,
        n_runs=collection.runs.height,
        n_models=len(models),
        n_tasks=len(tasks),
        n_published=len(payload["published"]),
        problems=collection.problems,
        notes=collection.notes,
        benchmarks=benchmarks,
        lengths=length_table(options.lengths, names),
        plain=_plain_table(cells),
        judges=sorted({cell.judge for cell in cells if cell.judge}),
        settings=words.long_settings(cell.settings for cell in cells),
        names=names,
    )
    _page(environment, folder / "case.html", root="", page="case")
    runs = collection.runs.partition_by("model", as_dict=True)
    by_model, others_by_model = _grouped(leading.values(), "model"), _grouped(others, "model")
    for model, file in models.items():
        context = model_context(
            model,
            by_model[model],
            others_by_model.get(model, []),
            runs.get((model,), collection.runs.clear()),
            breakdowns,
            names,
            options,
        )
        path = folder / "model" / f"{file}.html"
        _page(environment, path, root="../", page="model", **_stored(context, store))
    families = {cell.task: cell.family for cell in cells}
    by_family, others_by_task = _grouped(leading.values(), "family"), _grouped(others, "task")
    for task, file in tasks.items():
        context = task_context(
            task, by_family[families[task]], others_by_task.get(task, []), breakdowns, names, options
        )
        path = folder / "task" / f"{file}.html"
        _page(environment, path, root="../", page="task", **_stored(context, store))
    for benchmark, members in _grouped(leading.values(), "benchmark").items():
        context = benchmark_context(benchmark, members, names, options)
        path = folder / "benchmark" / f"{benchmarks[benchmark]}.html"
        _page(environment, path, root="../", page="benchmark", **context)
    return written.n_cases


def _grouped(cells: Iterable[Cell], name: str) -> dict[str, list[Cell]]:
    """Cells by one of their attributes."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(getattr(cell, name), []).append(cell)
    return groups


def _copy_assets(folder: Path, plotly: Path) -> None:
    folder.mkdir(parents=True)
    for asset in (importlib.resources.files("long_context_tasks.site") / "assets").iterdir():
        write_whole(folder / asset.name, asset.read_bytes())
    shutil.copyfile(plotly, folder / _PLOTLY)


def _environment(options: SiteOptions, plotly: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("long_context_tasks.site", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    styles = _STYLE.findall(plotly.read_text(encoding="utf-8"))
    environment.globals.update(
        options=options,
        words=words,
        styles=" ".join(dict.fromkeys(styles)),
        length_words=length_words,
        ends_words=ends_words,
    )
    return environment


def _page(environment: jinja2.Environment, path: Path, **context: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    text = environment.get_template(f"{context['page']}.html.j2").render(**context)
    # Half of a surrogate pair has no bytes in UTF-8.
    write_whole(path, text.encode("utf-8", "replace"))


def _stored(context: dict[str, Any], store: ChunkStore) -> dict[str, Any]:
    """The context with each figure's data stored: templates get title, caption and the chunk's name."""
    figures = [
        {"title": each.title, "caption": each.caption, "data": store.put(each.data)}
        for each in context["figures"]
    ]
    return context | {"figures": figures}


def _breakdowns(cells: Sequence[Cell], collection: Collection, options: SiteOptions) -> list[Breakdown]:
    """Given ones first; then by the labels of scores, where none is given for the same cell and label."""
    given = {(each.model, each.task, each.judge, each.settings, each.label) for each in options.breakdowns}
    return [
        *options.breakdowns,
        *(
            each
            for each in label_breakdowns(collection, cells, options.label_values)
            if (each.model, each.task, each.judge, each.settings, each.label) not in given
        ),
    ]


def _plain_table(cells: Sequence[Cell]) -> list[tuple[str, str, str, str, str]]:
    """For readers without scripts, where it is short enough to be of use: model, task, mean, interval, cases."""
    if len(cells) > 1_000:
        return []
    return [
        (
            cell.model,
            cell.task,
            words.score(cell.mean.value, points=cell.points),
            words.interval(cell.mean, points=cell.points),
            words.cases(cell.mean),
        )
        for cell in sorted(cells, key=lambda cell: (cell.task, -_high_first(cell.mean.value)))
    ]


def _high_first(value: float) -> float:
    return value if math.isfinite(value) else -math.inf
