"""The card of a benchmark: what it is, where its data come from, which tasks it has.

A card is ``card.yaml`` in the benchmark's folder. Task names, the hosts' files and the docs page are made from it, and nothing is
read from parts of names: ``source`` and ``scoring`` say where cases come from and how a task is answered.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, PrivateAttr

from long_context_tasks.schema.files import InputError, yaml_value
from long_context_tasks.schema.validated import Checked, validated

Source = Literal["published", "seed", "recast", "built"]
"""Where cases come from: published files, a seed, a seed over carriers (``lct_carriers``), or only what a user has built (``lct_cases``)."""
Scoring = Literal["generate", "likelihood"]
"""Whether the model answers in words, or candidates are compared by log-likelihood."""


class _CardPart(Checked):
    model_config = ConfigDict(coerce_numbers_to_str=True)


class Variant(_CardPart):
    """A changed form of a task, named at the end of the task's name.

    Attributes:
        name: e.g. ``front``, ``cut4k``, ``synthetic``, ``wer40``.
        about: one sentence for the docs.
        lengths: lengths that get a task each; any other goes through ``<task>_any_<variant>``.
        axis: what it changes, e.g. ``noise``. Variants of different axes combine, in the order in which the axes first
            appear in the card; a variant without an axis does not combine.
        names: which of its names lm-eval lists: ``all``, those for ``any`` length, or ``none``. The others are the plain task's name
            and ``lct_variant``.
        splits: of the task for which it exists; empty means all.
        source, scoring, conversation: where they are not the task's.
    """

    name: str
    about: str = ""
    lengths: tuple[str, ...] = ()
    axis: str = ""
    names: Literal["all", "any", "none"] = "all"
    splits: tuple[str, ...] = ()
    source: Source | None = None
    scoring: Scoring | None = None
    conversation: bool | None = None


class Label(_CardPart):
    """How pages show a label of cases, by which they break scores down.

    Attributes:
        title: words for its name; empty where its name with spaces will do.
        values: value to words, in the order to show; others follow by size or name.
        position: it says where in the context something is, so that pages draw it; variants named like its values move that.
    """

    title: str = ""
    values: Mapping[str, str] = {}
    position: bool = False


class TaskCard(_CardPart):
    """One task of a benchmark.

    Attributes:
        source, scoring: see :data:`Source` and :data:`Scoring`.
        headline: metric that stands for the task.
        chance: what guessing scores: a number from 0 to 1, or words.
        chance_metric: metric that holds what guessing scores on each case, where that differs.
        about: one sentence.
        official: metric that follows the paper's code, where there is one.
        answer_budget: tokens that a model may generate by default.
        variants: see :class:`Variant`.
        splits: names of the published splits or domains; none where a task has only one.
        lengths: names of the task's lengths, shortest first; none where the texts have the length they have.
        bounds: length name to the most cl100k tokens of a case in the paper.
        build: settings of the case builder, as in the paper.
        files: length name to published file name.
        judged: a judge reads the answers.
        conversation: the turns of a case are asked one after the other, which needs a chat template.
        pooled: the mean of a group of its tasks weighs every case equally, as the official code does, not every task.
        nano: many questions on each of few documents, so that a cache of prefixes computes a document once; in the group ``lct_nano``.
    """

    source: Source
    headline: str
    chance: str
    chance_metric: str = ""
    about: str = ""
    scoring: Scoring = "generate"
    official: str = ""
    answer_budget: int = Field(default=256, gt=0)
    variants: tuple[Variant, ...] = ()
    splits: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    bounds: Mapping[str, int] = {}
    build: Mapping[str, Any] = {}
    files: Mapping[str, str] = {}
    judged: bool = False
    conversation: bool = False
    pooled: bool = False
    nano: bool = False

    @property
    def main_metrics(self) -> tuple[str, ...]:
        """Headline and official metric, each once."""
        return tuple(dict.fromkeys(filter(None, (self.headline, self.official))))

    def combined_variants(self) -> list[tuple[Variant, ...]]:
        """The plain task (an empty tuple), then every variant or combination of variants, in the card's order."""
        alone = [(variant,) for variant in self.variants if not variant.axis]
        axes: dict[str, list[tuple[Variant, ...]]] = {}
        for variant in self.variants:
            if variant.axis:
                axes.setdefault(variant.axis, [()]).append((variant,))
        combined = [tuple(itertools.chain(*parts)) for parts in itertools.product(*axes.values())]
        return [(), *alone, *(parts for parts in combined if parts)]


class Card(_CardPart):
    """A benchmark's card; the fields are those of the YAML file. Required are ``name``, ``title``, ``metrics`` and ``tasks``.

    ``demo`` names tasks and metrics of `lct demo`. ``points`` names the metrics that are points and no rates, each with the ends of its scale, ``null`` where it has none. Public pages and bundles show of the data only what ``redistribute`` allows; what it does not mention is not shown.
    """

    name: str
    title: str
    metrics: Mapping[str, str]
    points: Mapping[str, tuple[float, float] | None] = {}
    rates: Mapping[str, str] = {}
    """Headings of metrics that describe how a model responds, not how well."""
    labels: Mapping[str, Label] = {}
    tasks: Mapping[str, TaskCard] = Field(min_length=1)
    version: int = Field(default=1, ge=1)
    about: str = ""
    paper: Mapping[str, str] = {}
    licence: str = ""
    redistribute: Mapping[Literal["prompts", "gold", "responses"], bool] = {}
    data: Mapping[str, Any] = {}
    subsets: Mapping[str, Any] = {}
    settings: tuple[Mapping[str, Any], ...] = ()
    deviations: tuple[str, ...] = ()
    demo: Mapping[Literal["tasks", "metrics"], tuple[str, ...]] = {}
    _folder: Path = PrivateAttr(default=Path())

    @property
    def folder(self) -> Path:
        """Where the card was read."""
        return self._folder

    @classmethod
    def load(cls, package_file: str | Path) -> "Card":
        """Read the card beside a benchmark's ``__init__.py``; pass ``__file__``.

        Raises:
            InputError: see :meth:`parse`.
        """
        path = Path(package_file).with_name("card.yaml")
        card = cls.parse(path.read_text(encoding="utf-8"), str(path))
        card._folder = path.parent
        return card

    @classmethod
    def parse(cls, text: str, place: str) -> "Card":
        """Read a card from YAML.

        Raises:
            InputError: not YAML, unknown or missing keys, values that do not fit, or a headline or official metric that
                ``metrics`` does not describe; each with ``place`` and the key.
        """
        card = validated(
            cls, yaml_value(text, place, remedy="write a card as docs/adding_a_benchmark.md has it"), place
        )
        for name, task in card.tasks.items():
            for metric in task.main_metrics:
                if metric not in card.metrics:
                    raise InputError(
                        f"{place}: task {name} names the metric {metric!r}, which metrics does not describe (there are: "
                        f"{', '.join(card.metrics)})"
                    )
        return card
