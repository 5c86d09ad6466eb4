"""The plug-in point: what a benchmark gives to the rest of the package, on one page.

A benchmark is a folder with a ``card.yaml`` and an ``__init__.py`` that holds one object::

    BENCHMARK = Benchmark(card=Card.load(__file__), load="my_package.my_benchmark.data:load_task")

Everything else is optional. A folder in this package is found by itself; another package names its object in the entry point
group ``long_context_tasks.benchmarks``. Functions are named by dotted path and imported when they are needed, so that listing
tasks loads no library. A benchmark knows no host: both hosts, ``lct`` and the site work from this object alone.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.schema.card import Card
from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.options import Options

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import TaskReport
    from long_context_tasks.tokens.build_settings import BuildSettings, SourceOption

ENTRY_POINTS = "long_context_tasks.benchmarks"
"""Group of entry points in which another package names its :class:`Benchmark`."""


@dataclass(frozen=True)
class Builder:
    """Writes built cases of one task, at any length; its name is an argument of ``lct build`` and names the case folder.

    Attributes:
        task: the task of the card that the cases belong to.
        settings: path of a subclass of :class:`~long_context_tasks.tokens.build_settings.BuildSettings`; its fields are the
            options of ``lct build``.
        write: path of ``(name, source, settings, folder, work) -> list[TaskReport]``; ``work`` is a
            :class:`~long_context_tasks.benchmarks.building.Work`.
        source: path of a :class:`~long_context_tasks.tokens.build_settings.SourceOption` that names the raw data; None when the
            cases are written from a seed.
        lengths: what ``...`` stands for in ``--length 2k,...,16k``; the lengths of the task's card when empty.
        sharded: every case is made from the settings and its number, by ``work.cases``; so shards of them can be made apart.
    """

    task: str
    settings: str
    write: str
    source: str | None = None
    lengths: tuple[str, ...] = ()
    sharded: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as the rest of the package sees it.

    Attributes:
        card: names, tasks, metrics, sources, licence.
        load: path of ``(task_name, options) -> LoadedTask``.
        options: class of its options, :class:`~long_context_tasks.schema.Options` or a subclass with fields of its own.
        builders: by name, see :class:`Builder`.
        check_data: path of ``(task_name, options) -> None``, which raises
            :class:`~long_context_tasks.schema.InputError` where the published files or carriers of a task are not on this machine.
        variables: names of environment variables that it reads beside those of its options.
        labels: path of ``(case_id, labels) -> labels``: labels to add to those that a case carries.
        sections: path of ``(scored_runs) -> list[Section]``: the paper's own tables, for ``lct report`` and the site.
        heat_maps: path of ``(scored_runs) -> list[HeatMap]``: scores by place in the context, for the site.
        paper_tables: path of ``(options, only) -> list[Section]``: the paper's tables, made again from what its authors published.
        judge_agreement: path of ``(model) -> str``: a sentence on how well the paper's judges agree with people, for the site.
        rating: path of ``(scores, verdicts, rubric) -> scores``: those scores of a stored turn that its judge's verdicts in words
            alone make, for checks of stored results.
        ratings: path of a module with the human ratings that the authors published, for training and comparing judges; see
            :mod:`long_context_tasks.orca.study`.
        split: path of ``(case, turn, documents) -> Parts``: context and query of a case, for information coverage; see
            :mod:`long_context_tasks.coverage.items`.
        example_files: path of ``(folder, cases) -> None``: writes tiny files in the published form, for the contract tests.
        example_answers: path of ``(case, turn) -> list[str]``: right, wrong and ugly answers, for the contract tests.
        folder: the benchmark's folder, found from the card.
    """

    card: Card
    load: str
    options: type[Options] = Options
    builders: Mapping[str, Builder] = field(default_factory=dict)
    check_data: str | None = None
    variables: tuple[str, ...] = ()
    labels: str | None = None
    sections: str | None = None
    heat_maps: str | None = None
    paper_tables: str | None = None
    judge_agreement: str | None = None
    rating: str | None = None
    ratings: str | None = None
    split: str | None = None
    example_files: str | None = None
    example_answers: str | None = None

    @property
    def name(self) -> str:
        """The first part of its tasks' names."""
        return self.card.name

    @property
    def folder(self) -> Path:
        """Where its card lies."""
        return self.card.folder

    def settings_of(self, builder: Builder) -> "type[BuildSettings]":
        """Import the class of a builder's settings."""
        kind: type[BuildSettings] = resolve(builder.settings, f"benchmark {self.name}, settings")
        return kind

    def source_of(self, builder: Builder) -> "SourceOption | None":
        """Import the option that names a builder's raw data; None where it needs none."""
        if builder.source is None:
            return None
        source: SourceOption = resolve(builder.source, f"benchmark {self.name}, source")
        return source

    def writer_of(self, builder: Builder) -> "Callable[..., Sequence[TaskReport]]":
        """Import the function that builds."""
        write: Callable[..., Sequence[TaskReport]] = resolve(builder.write, f"benchmark {self.name}, write")
        return write

    def function(self, name: str) -> Any:
        """Import what an attribute such as ``load`` names; None where the benchmark has none.

        Raises:
            InputError: nothing is there under that path.
        """
        path = getattr(self, name)
        return None if path is None else resolve(path, f"benchmark {self.name}, {name}")


def resolve(path: str, what: str) -> Any:
    """Import ``package.module:name``.

    Raises:
        InputError: no such module or name.
    """
    module, _, name = path.partition(":")
    try:
        imported = importlib.import_module(module)
        return getattr(imported, name) if name else imported
    except InputError:
        raise
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "" if ":" in path else "; write it as package.module:name"
        raise InputError(f"{what}: cannot import {path!r} ({error}){remedy}") from error
