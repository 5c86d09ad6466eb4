"""The card of a benchmark: what it is, where its data come from, which tasks it has.

A card is a YAML file in the benchmark's folder. Task lists, host files and the docs page are made from it.
"""

import importlib.resources
import itertools
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from typing import Any

import yaml

from long_context_tasks.schema.errors import InputError


@dataclass(frozen=True)
class Variant:
    """A changed form of a task, named at the end of the task's name.

    Attributes:
        name: e.g. ``front``, ``cut4k``, ``synthetic``, ``ppl_synthetic``, ``wer40``.
        about: one sentence for the docs.
        lengths: the lengths that get a task of their own; any other goes through ``<task>_any_<variant>``.
        axis: what it changes, e.g. ``noise``. Variants of different axes combine, in the order in which the axes first
            appear in the card; one without an axis stands alone.
        headline: metric name, where it is not the task's own.
    """

    name: str
    about: str
    lengths: tuple[str, ...] = ()
    axis: str = ""
    headline: str = ""


@dataclass(frozen=True)
class TaskCard:
    """One task of a benchmark.

    Attributes:
        about: one sentence.
        chance: what guessing scores, in words.
        headline, official: metric names.
        answer_budget: tokens a model may generate by default.
        variants: see :class:`Variant`.
        splits: names of the published splits; none where a task has only one.
        lengths: names of the published lengths, shortest first; none where the texts have the length they have.
        bounds: length name to the most cl100k tokens of a case in the paper.
        build: settings of the case builder, as in the paper.
        files: length name to published file name.
        pooled: the mean of a group of its tasks counts every case the same, as officially; without it every task the same.
        built_only: there are no published data, only cases of the user's own (``lct_cases``): no group of the benchmark has it.
    """

    about: str
    chance: str
    headline: str
    official: str
    answer_budget: int
    variants: tuple[Variant, ...]
    splits: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(default_factory=dict)
    build: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    pooled: bool = False
    built_only: bool = False

    def combined_variants(self) -> list[tuple[Variant, ...]]:
        """The plain task (an empty tuple), then every variant or combination of variants, in the card's order."""
        alone = [(variant,) for variant in self.variants if not variant.axis]
        axes: dict[str, list[tuple[Variant, ...]]] = {}
        for variant in self.variants:
            if variant.axis:
                axes.setdefault(variant.axis, [()]).append((variant,))
        combined = [tuple(itertools.chain(*parts)) for parts in itertools.product(*axes.values())]
        return [(), *alone, *(one for one in combined if one)]


@dataclass(frozen=True)
class Card:
    """A benchmark's card; the fields are those of the YAML file."""

    name: str
    title: str
    version: int
    paper: Mapping[str, str]
    licence: str
    redistribute: Mapping[str, bool]
    about: str
    data: Mapping[str, Any]
    subsets: Mapping[str, Any]
    metrics: Mapping[str, str]
    settings: tuple[Mapping[str, Any], ...]
    deviations: tuple[str, ...]
    tasks: Mapping[str, TaskCard] = field(default_factory=dict)
    points: tuple[str, ...] = ()  # metrics that are points of a scale and no rates


def _checked(kind: type[Any], row: Mapping[str, Any], place: str) -> dict[str, Any]:
    names = {item.name for item in fields(kind)}
    needed = {
        item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING
    }
    if unknown := set(row) - names:
        raise InputError(f"{place}: unknown keys {sorted(unknown)}")
    if missing := needed - set(row):
        raise InputError(f"{place}: missing keys {sorted(missing)}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def parse_card(text: str, place: str) -> Card:
    """A card from YAML text.

    Raises:
        InputError: unknown or missing keys, with ``place`` named.
    """
    row = yaml.safe_load(text)
    tasks = {}
    for name, task in row.pop("tasks").items():
        variants = [
            Variant(**_checked(Variant, variant, f"{place}, variant of {name}"))
            for variant in task.pop("variants")
        ]
        tasks[name] = TaskCard(**_checked(TaskCard, {**task, "variants": variants}, f"{place}, task {name}"))
    return Card(**_checked(Card, row, place), tasks=tasks)


@lru_cache
def load_card(package: str) -> Card:
    """The card in a benchmark's package, e.g. ``long_context_tasks.benchmarks.ada_leval``."""
    file = importlib.resources.files(package) / "card.yaml"
    return parse_card(file.read_text(encoding="utf-8"), f"{package}/card.yaml")
