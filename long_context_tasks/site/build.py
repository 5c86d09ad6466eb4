"""Build the site: a folder of pages that open from ``file://`` and work offline."""

import importlib.resources
import importlib.util
import json
import logging
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from long_context_tasks import __version__
from long_context_tasks.results.case_pages import ShownCase
from long_context_tasks.results.cells import Cell, best_first
from long_context_tasks.results.lengths import length_words
from long_context_tasks.results.tables import leaderboard, table_json
from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import lacking
from long_context_tasks.schema.files import (
    DISK_FAULTS,
    alone_in,
    disk_errors,
    loads,
    make_folder,
    write_whole,
)
from long_context_tasks.site import words
from long_context_tasks.site.cases import (
    CHUNKS,
    CaseList,
    ChunkStore,
    PageNames,
    facts_of,
    script_json,
    write_cases,
)
from long_context_tasks.site.contents import SiteOptions
from long_context_tasks.site.pages import (
    benchmark_context,
    index_payload,
    model_context,
    submit_columns,
    task_context,
)
from long_context_tasks.site.tables import (
    bar_ends,
    cases_text,
    grouped,
    interval_text,
    label_breakdowns,
    leading_cells,
    length_table,
    score_text,
)

_LOG = logging.getLogger(__name__)
_Page = tuple[str, list[str]]
"""Text of a page, and JSON of the figures that it loads."""
# In the folder of a site while it is replaced: the new files, and those of the earlier site.
_NEW, _OLD = ".lct-site.new", ".lct-site.old"
MARKER = "lct-site.json"
"""The file that marks a folder as a site and lists its files."""
_MOST_PLAIN = 1_000
_PLOTLY = "plotly.min.js"
_STYLE = re.compile(r'getElementById\("([0-9a-f]{64})"\)\)\{var \w+=document\.createElement\("style"\)')
"""Ids of styles that plotly adds unless an element with that id exists; the pages' policy forbids adding any."""


@dataclass(frozen=True)
class BuiltSite:
    index: Path  # path of the first page
    cases: int  # number of cases that can be opened
    size: int  # total size of all files in bytes
    files: int


def build_site(
    folder: Path,
    collection: Collection,
    cells: Sequence[Cell],
    cases: Iterable[ShownCase | CaseList] = (),
    options: SiteOptions | None = None,
) -> BuiltSite:
    """Write a site and move it into place; see :func:`replaced` and :func:`write_site`."""
    with replaced(folder) as part:
        n_cases = write_site(part, collection, cells, cases, options or SiteOptions())
    return built_site(folder, n_cases)


def write_site(
    part: Path,
    collection: Collection,
    cells: Sequence[Cell],
    cases: Iterable[ShownCase | CaseList],
    options: SiteOptions,
) -> int:
    """Write the site into the folder of :func:`replaced`, and return the number of cases.

    ``cases`` are read once and not kept in memory. Those of a run stand together, or are a list whose chunks are in the folder.

    Raises:
        InputError: plotly is not installed.
    """
    return _Writer(part, collection, cells, options, _plotly()).write(cases)


def built_site(folder: Path, n_cases: int) -> BuiltSite:
    files = []
    for path in folder.rglob("*"):
        # Other people's files may be broken links, or be removed meanwhile.
        with suppress(OSError):
            if stat.S_ISREG((state := path.stat()).st_mode):
                files.append(state)
    return BuiltSite(
        index=folder / "index.html",
        cases=n_cases,
        size=sum(state.st_size for state in files),
        files=len(files),
    )


class _Writer:
    def __init__(
        self,
        folder: Path,
        collection: Collection,
        cells: Sequence[Cell],
        options: SiteOptions,
        plotly: Path,
    ) -> None:
        self.folder, self.collection, self.cells, self.options = folder, collection, cells, options
        self.plotly = plotly
        self.store = ChunkStore(folder / CHUNKS)
        models = {model: words.slug(model) for model in sorted({cell.model for cell in cells}, key=str.lower)}
        tasks = {cell.task: words.slug(cell.task) for cell in cells}
        self.names = PageNames(models, tasks, facts_of(collection.runs))
        self.benchmarks = {name: words.slug(name) for name in sorted({cell.benchmark for cell in cells})}
        self.shown: dict[tuple[str, ...], str] = {}  # runs of a cell to a hash of it and its links
        self.leading, self.others = leading_cells(cells)
        self.breakdowns = label_breakdowns(collection, cells, options.labels)

    def write(self, cases: Iterable[ShownCase | CaseList]) -> int:
        self.write_assets()
        by_run = {run: cell for cell in self.cells for run in cell.runs}
        lists, n_cases = write_cases(cases, by_run, self.names, self.store, self.options.labels)
        self.names = replace(self.names, case_lists=lists)
        self.environment = templates()
        styles = " ".join(dict.fromkeys(_STYLE.findall(self.plotly.read_text(encoding="utf-8"))))
        formats = (score_text, interval_text, bar_ends, cases_text, length_words)
        self.environment.globals.update({function.__name__: function for function in formats})
        self.environment.globals.update(words=words, styles=styles, options=self.options, names=self.names)
        # What pages of models and tasks share; the rest of the options is chosen for each page, so that its own inputs decide about it.
        self.shared = replace(self.options, groups=(), sections={}, lengths=(), heat_maps=())
        libraries = [version(name) for name in ("jinja2", "markupsafe")]
        self.shared_key = self.store.name_of(repr((self.shared, list(self.names.tasks), styles, libraries)))
        self.write_first_pages()
        self.write_model_pages()
        self.write_task_pages()
        self.write_benchmark_pages()
        return n_cases

    def write_assets(self) -> None:
        (self.folder / "assets").mkdir(parents=True)
        for asset in (importlib.resources.files("long_context_tasks.site") / "assets").iterdir():
            write_whole(self.folder / "assets" / asset.name, asset.read_bytes())
        # From the installed package, so that pages need no network.
        shutil.copyfile(self.plotly, self.folder / "assets" / _PLOTLY)

    def page(self, path: str, kind: str, **context: Any) -> _Page:
        data = [script_json(each.data) for each in context.get("figures", ())]
        context["figures"] = [
            {"title": each.title, "caption": each.caption, "data": self.store.put_text(text)}
            for each, text in zip(context.get("figures", ()), data, strict=True)
        ]
        template = self.environment.get_template(f"{kind}.html.j2")
        text = template.render(page=kind, root="../" * path.count("/"), **context)
        text = text.encode("utf-8", "replace").decode()  # UTF-8 has no lone surrogates
        self.write_page(path, text)
        return text, data

    def kept_page(
        self,
        path: str,
        kind: str,
        cells: Sequence[Cell],
        inputs: Sequence[Any],
        context: Callable[[], dict[str, Any]],
    ) -> None:
        """Write the page of a model or task, or the one that an earlier report made from the same cells and inputs."""
        # A cell is on the page of its model and on those of all tasks of its family.
        for cell in cells:
            if cell.runs not in self.shown:
                self.shown[cell.runs] = self.store.name_of(f"{cell.state} {self.names.run_links(cell.runs)}")
        shown = [self.shown[cell.runs] for cell in cells]
        reuse = self.collection.reuse
        key = reuse.key("page", self.shared_key, path, kind, shown, *inputs) if reuse.enabled else None
        found: _Page | None = reuse.find(_Page, key)
        if found is None:
            reuse.keep(_Page, key, self.page(path, kind, **context()))
            return
        text, data = found
        for figure in data:
            self.store.put_text(figure)
        self.write_page(path, text)

    def write_page(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(exist_ok=True)
        # The folder is not a site yet, so that its files need not be whole at any time.
        (self.folder / path).write_bytes(text.encode())

    def write_first_pages(self) -> None:
        payload = index_payload(self.leading, self.names, self.options)
        n_runs = self.collection.runs.height
        self.page(
            "index.html",
            "index",
            data=self.store.put(payload),
            n_runs=n_runs,
            n_models=len(self.names.models),
            n_tasks=len(self.names.tasks),
            n_published=len(payload["published"]),
            problems=self.collection.problems,
            notes=self.collection.notes,
            benchmarks=self.benchmarks,
            lengths=length_table(self.options.lengths, self.names),
            # For readers without JavaScript, unless the table is too long to be useful.
            plain=sorted(self.cells, key=lambda cell: (cell.place, best_first(cell)))
            if len(self.cells) <= _MOST_PLAIN
            else (),
            judges=sorted({cell.judge for cell in self.cells if cell.judge}),
            settings=words.long_settings(cell.settings for cell in self.cells),
        )
        self.page("case.html", "case")
        self.page("about.html", "about", benchmarks=self.benchmarks, n_runs=n_runs)
        self.page("submit.html", "submit", columns=submit_columns(self.leading.values(), self.collection))

    def write_model_pages(self) -> None:
        runs = self.collection.runs.partition_by("model", as_dict=True)
        cells = grouped(self.leading.values(), attrgetter("model"))
        others = grouped(self.others, attrgetter("model"))
        breakdowns = grouped(self.breakdowns, lambda each: each.cell.model)
        lengths = grouped(self.options.lengths, attrgetter("model"))
        maps = grouped(self.options.heat_maps, attrgetter("model"))
        for model, file in self.names.models.items():
            rest, own_runs = others.get(model, []), runs.get((model,), self.collection.runs.clear())
            split = breakdowns.get(model, [])
            options = replace(self.shared, lengths=lengths.get(model, []), heat_maps=maps.get(model, []))
            context = partial(model_context, model, cells[model], rest, own_runs, split, self.names, options)
            groups = [(each.cell.runs, each.label, each.groups) for each in split]
            inputs = (len(rest), own_runs.rows(), groups, options.lengths, options.heat_maps)
            self.kept_page(f"model/{file}.html", "model", [*cells[model], *rest], inputs, context)

    def write_task_pages(self) -> None:
        families = {cell.task: cell.family for cell in self.cells}
        by_family = grouped(self.leading.values(), attrgetter("family"))
        others = grouped(self.others, attrgetter("task"))
        breakdowns = grouped(self.breakdowns, lambda each: each.cell.task)
        for task, file in self.names.tasks.items():
            family, rest = by_family[families[task]], others.get(task, [])
            maps = [each for each in self.options.heat_maps if task in each.tasks]
            split, options = breakdowns.get(task, []), replace(self.shared, heat_maps=maps)
            context = partial(task_context, task, family, rest, split, self.names, options)
            groups = [(each.cell.runs, each.label, each.groups) for each in split]
            inputs = (len(rest), groups, options.heat_maps)
            self.kept_page(f"task/{file}.html", "task", [*family, *rest], inputs, context)
        rows = leaderboard(self.collection, self.cells)
        for (task,), part in rows.partition_by("task", as_dict=True, maintain_order=True).items():
            path = self.folder / "task" / f"{self.names.tasks[str(task)]}.json"
            write_whole(path, table_json("leaderboard", pl.DataFrame(part)))

    def write_benchmark_pages(self) -> None:
        for benchmark, members in grouped(self.leading.values(), attrgetter("benchmark")).items():
            context = benchmark_context(benchmark, members, self.names, self.options)
            self.page(f"benchmark/{self.benchmarks[benchmark]}.html", "benchmark", **context)


def templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("long_context_tasks.site", "templates"),
        autoescape=True,
        # A misspelt variable raises an error instead of leaving a gap on a page.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = __version__
    return environment


def _plotly() -> Path:
    spec = importlib.util.find_spec("plotly")
    path = Path(spec.origin).parent / "package_data" / _PLOTLY if spec and spec.origin else None
    if path is None or not path.is_file():
        raise lacking("report", "the site", "plotly")
    return path


@contextmanager
def replaced(place: Path) -> Iterator[Path]:
    """Yield a folder to write a site into, and exchange its contents with those of an earlier site if the block succeeds.

    If the block fails, the earlier site is kept. Other people's files in the folder are never moved. A report that
    is killed leaves its own two folders, which the next one clears.

    Raises:
        InputError: ``place`` is neither new, empty nor an earlier site, or cannot be written.
    """
    remedy = "choose another folder with --out"
    if place.exists() and not place.is_dir():
        raise InputError(f"{place}: not a folder; {remedy}")
    made = not place.exists()
    make_folder(place, remedy=remedy)
    with disk_errors(place, remedy, DISK_FAULTS), alone_in(place):
        names = {path.name for path in place.iterdir()}
        if names - {_NEW, _OLD} and MARKER not in names | _names_in(place / _OLD):
            raise InputError(
                f"{place}: exists and is not a site of lct report; choose another folder, or remove it"
            )
        for folder in (place / _OLD, place / _NEW):
            # A link would lead to files that are not of a site.
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise InputError(f"{folder}: is no folder of an earlier report; remove it")
        _clear(place)
        part = place / _NEW
        with disk_errors(place, remedy):
            part.mkdir()
        try:
            yield part
            _exchange(place, part)
        finally:
            shutil.rmtree(part, ignore_errors=True)
            if made:
                with suppress(OSError):  # it holds the site
                    place.rmdir()


def _exchange(place: Path, part: Path) -> None:
    """Move the earlier site's files and folders aside and the new ones to their place, each in one step."""
    earlier, files = _files_of(place), sorted(_names_in(part))
    if foreign := [name for name in files if name not in earlier and (place / name).exists()]:
        raise InputError(
            f"{place / foreign[0]}: is not of an earlier site and has the name of a page; move it away"
        )
    old = place / _OLD
    old.mkdir()
    for name in sorted(earlier & _names_in(place)):
        (place / name).replace(old / name)
    for name in files:
        (part / name).replace(place / name)
    marker = {"made_by": "lct report", "files": [*files, MARKER]}
    write_whole(place / MARKER, json.dumps(marker, indent=1) + "\n")
    shutil.rmtree(old, ignore_errors=True)


def _clear(place: Path) -> None:
    """Remove what a killed report left; files of the earlier site that it had moved aside return first."""
    old = place / _OLD
    for name in _names_in(old) - _names_in(place):
        (old / name).replace(place / name)
    for folder in (old, place / _NEW):
        if folder.is_dir():
            _LOG.warning("%s: left by a report that was stopped; removed", folder)
            shutil.rmtree(folder, ignore_errors=True)


def _files_of(place: Path) -> set[str]:
    """Return the names of the files and folders of the site in a folder; empty without a site."""
    try:
        names = map(str, loads((place / MARKER).read_bytes())["files"])
        # Pages have no hidden files, and a marker from elsewhere must not give away a repository.
        return {name for name in names if not name.startswith(".")}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
