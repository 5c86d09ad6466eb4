"""The plug-in point: everything that a benchmark can offer to hosts, ``lct`` and the site, on one page.

A benchmark is a folder with a ``card.yaml`` and an ``__init__.py`` that defines one object::

    class Riddles(Benchmark):
        card = Card.load(__file__)

        def load_task(self, name: str, options: Options) -> LoadedTask:
            from my_package.riddles.data import load_task

            return load_task(name, options)


    BENCHMARK = Riddles()

The catalogue finds the folders in this package; another package names its object in the entry point group
``long_context_tasks.benchmarks``. Methods import what they need when they are called, so that listing tasks loads no library.
"""

import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from long_context_tasks.schema.card import Card
from long_context_tasks.schema.options import Options

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder
    from long_context_tasks.coverage.items import Parts
    from long_context_tasks.schema import Case, Documents, LoadedTask
    from long_context_tasks.schema.report import HeatMap, ScoredRun, Section

TaskOptions = TypeVar("TaskOptions", bound=Options, default=Options)


class Benchmark(ABC, Generic[TaskOptions]):
    """Base class of a benchmark; only ``card`` and :meth:`load_task` are required.

    The default of every other method means that the benchmark does not offer it. Any method may raise
    :class:`~long_context_tasks.schema.InputError`.
    """

    card: Card  # names, tasks, metrics, sources, licence
    # The base class stands for the default of the type variable, which mypy does not infer for an attribute.
    # Class of its options, Options or a subclass with additional fields.
    options: type[TaskOptions] = Options  # type: ignore[assignment]
    splits_context: bool = False  # whether sections takes a number of bins

    @property
    def name(self) -> str:
        """The prefix of its task names."""
        return self.card.name

    @property
    def folder(self) -> Path:
        return self.card.folder

    def line_of(self, error: Exception) -> tuple[Path, int] | None:
        """Return the file and line of the benchmark's own code that an error passed last, if it did."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(self.folder)]
        return (Path(own[-1].filename), own[-1].lineno or 0) if own else None

    # The only method without a default: a benchmark without tasks is a mistake.
    @abstractmethod
    def load_task(self, name: str, options: TaskOptions) -> "LoadedTask":
        """Load the cases of a task, with everything that a host needs to run and score them."""

    def has_data(self, name: str, options: TaskOptions) -> bool | None:
        """Return whether the published files or carriers of a task are on this machine; None if that is unknown.

        An :class:`~long_context_tasks.schema.InputError` counts as False.
        """
        return None

    def builders(self) -> "Sequence[Builder]":
        """Return the builders of cases, whose names begin with the benchmark's and their task's."""
        return ()

    def labels(self, case: str, labels: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return labels to add to those stored with a case, given its id."""
        return {}

    def split(self, case: "Case", turn: int, documents: "Documents") -> "Parts | None":
        """Split a case into context and query, for information coverage and retrieval; None if that is not offered."""
        return None

    @property
    def has_sections(self) -> bool:
        # Asked before any run is read, which may take minutes.
        return type(self).sections is not Benchmark.sections

    def sections(self, runs: "Sequence[ScoredRun]", bins: int | None = None) -> "list[Section]":
        """Return the paper's own analyses of scored runs of any model, task and setting, for ``lct report`` and the site.

        ``bins`` is the number of parts into which contexts are split; None for the benchmark's choice.
        """
        return []

    @property
    def has_heat_maps(self) -> bool:
        return type(self).heat_maps is not Benchmark.heat_maps

    def heat_maps(self, runs: "Sequence[ScoredRun]") -> "list[HeatMap]":
        """Return scores by place in the context, for the site."""
        return []

    @property
    def has_paper_tables(self) -> bool:
        return type(self).paper_tables is not Benchmark.paper_tables

    def paper_tables(self, options: Options, only: str) -> "list[Section]":
        """Recompute the paper's tables from its published files; ``only`` has keys of tables, separated by commas, or is empty for all."""
        return []

    def judge_template(self, task: str, rubric: str) -> str:
        """Return the judge's prompt by a rubric (empty for the default) with names in the places of the texts; empty if not offered."""
        return ""

    def judge_agreement(self, model: str) -> str:
        """Return a sentence on how well a judge agrees with people according to the paper; empty for other models."""
        return ""

    def rating(
        self, scores: Mapping[str, float | None], verdicts: Sequence[float | None], rubric: str | None
    ) -> Mapping[str, float | None]:
        """Recompute the scores of a stored turn that depend only on its judge's verdicts, to check stored results."""
        return {}

    @property
    def has_ratings(self) -> bool:
        return type(self).rated_answers is not Benchmark.rated_answers

    def rated_answers(self, options: Options, raters: Sequence[str] = ()) -> Iterable[dict[str, Any]]:
        """Return the published responses with people's ratings, as rows that ``lct orca data`` reads.

        The scores of ``raters`` are the ratings; of all raters if it is empty.
        """
        return ()

    def machine_scores(
        self, options: Options
    ) -> Sequence[tuple[str, tuple[float | None, ...], tuple[float, float]]]:
        """Return the published scores of each judge model: its name, scores in the order of :meth:`rated_answers`, and scale."""
        return ()

    def write_example_files(self, folder: Path, cases: int) -> None:
        """Write tiny files in the published format, for ``lct check``. A benchmark that offers none does not create the folder."""

    def example_answers(self, case: "Case", turn: int) -> Sequence[str]:
        """Return a right answer, then wrong and malformed ones, for ``lct check``."""
        return ()
