"""Which benchmarks and tasks there are: found by their cards, imported lazily.

A task's name is ``<benchmark>_<task>[_<split>][_<length>][_<variant>...]``; ``any`` in place of the length takes any length or a
folder of built cases.
"""

import difflib
import importlib
import importlib.resources
import itertools
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

from long_context_tasks.schema import Card, InputError, TaskCard, load_card, parse_length

PACKAGE = "long_context_tasks.benchmarks"
ANY = "any"


@dataclass(frozen=True)
class TaskSpec:
    """What a task name says.

    Attributes:
        benchmark: e.g. ``ada_leval``.
        task: e.g. ``tsort``.
        length: e.g. ``8k``, ``any``, or empty where texts have the length they have.
        variant: e.g. ``front``, ``multiturn_czech_wer40``, or empty.
        split: e.g. ``dev``, or empty.
    """

    benchmark: str
    task: str
    length: str = ""
    variant: str = ""
    split: str = ""

    @property
    def family(self) -> str:
        """Benchmark and task: ``ada_leval_tsort``; builders and case folders are named so."""
        return f"{self.benchmark}_{self.task}"

    @property
    def name(self) -> str:
        """The full task name."""
        return "_".join(part for part in (self.family, self.split, self.length, self.variant) if part)

    @property
    def tokens(self) -> int | None:
        """The length in tokens; None for ``any`` and where there is none."""
        return None if self.length in ("", ANY) else parse_length(self.length)

    @property
    def card(self) -> TaskCard:
        """The task's part of the card."""
        return card(self.benchmark).tasks[self.task]

    @property
    def headline(self) -> str:
        """The metric that stands for the task: its variant's, where that has one of its own."""
        own = (variant.headline for variant in self.card.variants if variant.name == self.variant)
        return next(own, "") or self.card.headline


@lru_cache
def benchmark_names() -> tuple[str, ...]:
    """Names of all benchmarks: the folders that hold a card."""
    root = importlib.resources.files(PACKAGE)
    return tuple(
        sorted(entry.name for entry in root.iterdir() if entry.is_dir() and (entry / "card.yaml").is_file())
    )


def card(benchmark: str) -> Card:
    """The card of a benchmark."""
    return load_card(f"{PACKAGE}.{benchmark}")


def core(benchmark: str, module: str) -> ModuleType:
    """A module of a benchmark's folder: ``data``, ``build``, ``prompts``, ``scoring``."""
    return importlib.import_module(f"{PACKAGE}.{benchmark}.{module}")


@lru_cache
def task_specs() -> tuple[TaskSpec, ...]:
    """Every task that has a file of its own in the hosts, in the order of the cards."""
    specs = []
    for benchmark in benchmark_names():
        for task, task_card in card(benchmark).tasks.items():
            for split, variants in itertools.product(
                task_card.splits or ("",), task_card.combined_variants()
            ):
                name = "_".join(variant.name for variant in variants)
                lengths = variants[0].lengths if len(variants) == 1 else task_card.lengths
                places = (*lengths, ANY) if task_card.lengths else ("",)
                specs += [TaskSpec(benchmark, task, length, name, split) for length in places]
    return tuple(specs)


def parse_task(name: str) -> TaskSpec:
    """What a task name says.

    >>> parse_task("ada_leval_bestanswer_16k_front")
    TaskSpec(benchmark='ada_leval', task='bestanswer', length='16k', variant='front', split='')

    Raises:
        InputError: no such task; the nearest names are given.
    """
    by_name = {spec.name: spec for spec in task_specs()}
    if name not in by_name:
        near = ", ".join(difflib.get_close_matches(name, by_name, n=3))
        hint = f"did you mean: {near}?" if near else "see `lct tasks`."
        raise InputError(f"unknown task {name}; {hint} Other lengths: *_any with lct_length")
    return by_name[name]
