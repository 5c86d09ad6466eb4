"""The card of a benchmark, ``card.yaml`` in its folder: description, data sources and tasks.

Task names, the hosts' files and the docs page are generated from it. Nothing is derived from parts of names:
``source`` and ``scoring`` give the origin of the cases and the type of answer.
"""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, model_validator, with_config
from typing_extensions import Self, TypedDict

from long_context_tasks.schema.files import InputError, yaml_value
from long_context_tasks.schema.options import parse_length
from long_context_tasks.schema.validated import Checked, Number, Whole, validated

Source = Literal["published", "seed", "recast", "built"]
"""Origin of cases: published files, a seed, a seed with carriers (``lct_carriers``), or user-built folders."""
Scoring = Literal["generate", "likelihood"]
"""Whether the model answers in words, or candidates are compared by log-likelihood."""


class _CardPart(Checked):
    # YAML parses a length such as 900, or a chance of 0.2, as a number.
    model_config = ConfigDict(coerce_numbers_to_str=True)


def _ascending(lengths: tuple[str, ...]) -> tuple[str, ...]:
    if list(lengths) != sorted(set(lengths), key=parse_length):
        raise ValueError("must ascend, as in [2k, 8k]")
    return lengths


def _share(text: str) -> str:
    number = text.rstrip(" %")
    try:
        value = float(number)
    except ValueError:
        return text
    # Effective lengths and pages subtract it from scores.
    if number != text or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1, or words; write 25 % as 0.25")
    return text


def _part_of_names(text: str) -> str:
    if not re.fullmatch("[a-z0-9_]+", text):
        raise ValueError("must have lower-case letters, digits and _ only, as a part of task names")
    return text


def _sha256(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError("must be the 64 hexadecimal digits that `sha256sum FILE` prints")
    return text


PartOfNames = Annotated[str, AfterValidator(_part_of_names)]
Lengths = Annotated[tuple[str, ...], AfterValidator(_ascending)]


class Variant(_CardPart):
    """A modified version of a task, named at the end of the task's name."""

    name: PartOfNames  # e.g. ``front``, ``cut4k``, ``synthetic``, ``wer40``
    about: str = ""  # one sentence for the docs
    lengths: Lengths = ()  # lengths with their own task; others use ``<task>_any_<variant>``
    # The aspect that it changes, e.g. ``noise``. Variants on different axes combine, in the order in which
    # the axes first appear in the card; a variant without an axis does not combine.
    axis: str = ""
    # The names that lm-eval lists: ``all``, only those for ``any`` length, or ``none``. Other variants are
    # run with the plain task's name and ``lct_variant``.
    names: Literal["all", "any", "none"] = "all"
    splits: tuple[str, ...] = ()  # splits of the task that have this variant; empty means all
    # Values that differ from the task's.
    source: Source | None = None
    scoring: Scoring | None = None
    conversation: bool | None = None
    answer_budget: int | None = Field(default=None, gt=0)


class LabelCard(_CardPart):
    """Presentation of a case label by which pages break down scores."""

    title: str = ""  # displayed name; if empty, the label's own name with spaces
    values: Mapping[
        str, str
    ] = {}  # value to displayed words, in display order; other values follow by size or name
    # The label is a position in the context, which pages plot as a line; variants named like its values move
    # the position.
    position: bool = False


class HumanBaseline(_CardPart):
    score: Number  # on the headline metric: a rate from 0 to 1, or points on its scale
    source: str = Field(min_length=1)  # publication and location in it, and the cases that people answered


class TaskCard(_CardPart):
    source: Source
    headline: str
    chance: Annotated[str, AfterValidator(_share)]  # random-guess score: a number from 0 to 1, or words
    chance_metric: str = ""  # metric with each case's random-guess score, if it differs between cases
    about: str = ""  # one sentence
    scoring: Scoring = "generate"
    official: str = ""  # metric that follows the paper's code, if the paper has one
    human: HumanBaseline | None = None  # human score on the task without a variant
    answer_budget: int = Field(default=256, gt=0)  # tokens that a model may generate by default
    variants: tuple[Variant, ...] = ()
    splits: tuple[
        PartOfNames, ...
    ] = ()  # names of the published splits or domains; empty if the task has only one
    lengths: Lengths = ()  # names of the task's lengths, shortest first; empty if texts keep their length
    bounds: Mapping[str, int] = {}  # length name to the maximum number of cl100k tokens per case in the paper
    build: Mapping[str, Any] = {}  # settings of the case builder, as in the paper
    files: Mapping[str, str] = {}  # length name to published file name
    judged: bool = False  # whether a judge scores the answers
    conversation: bool = False  # whether a case's turns form a dialogue, which needs a chat template
    pooled: bool = False  # whether a group's mean weights cases equally, as in the official code
    # Many questions on each of a few documents, so that a prefix cache prefills a document once; in the group
    # ``lct_nano``.
    nano: bool = False

    @property
    def main_metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (self.headline, self.official))))

    def combined_variants(self) -> list[tuple[Variant, ...]]:
        """The plain task (an empty tuple), then every variant or combination of variants, in card order."""
        # Variants without an axis change the task itself, so they do not combine with others.
        alone = [(variant,) for variant in self.variants if not variant.axis]
        axes: dict[str, list[tuple[Variant, ...]]] = {}
        for variant in self.variants:
            if variant.axis:
                axes.setdefault(variant.axis, [()]).append((variant,))
        combined = [tuple(itertools.chain(*parts)) for parts in itertools.product(*axes.values())]
        return [(), *alone, *(parts for parts in combined if parts)]


@with_config(ConfigDict(extra="forbid"))
class Hub(TypedDict, total=False):
    id: str  # the data set's id on the Hugging Face hub
    revision: str
    configurations: tuple[str, ...]
    split: str


@with_config(ConfigDict(extra="forbid"))
class Data(TypedDict, total=False):
    """Published files, for `lct data fetch`."""

    base_url: str | None  # URL of the folder with the tasks' ``files``
    other_urls: Mapping[str, str]  # file name to its own URL
    sha256: Mapping[
        str, Annotated[str, AfterValidator(_sha256)]
    ]  # file name to the hash of the unpacked file
    hub: Hub
    synthetic: Mapping[str, Any]  # hashes of seeded cases under ``reference``, for `lct check`


class Card(_CardPart):
    """A benchmark's card, with the fields of the YAML file.

    ``name``, ``title``, ``metrics`` and ``tasks`` are required.
    """

    name: str
    title: str
    metrics: Mapping[str, str]  # name to description
    # Metrics in points instead of rates, each with the bounds of its scale; ``null`` for an unbounded scale.
    points: Mapping[str, tuple[float, float] | None] = {}
    rates: Mapping[str, str] = {}
    """Headings for metrics that describe how a model responds, not how well."""
    labels: Mapping[str, LabelCard] = {}
    tasks: Mapping[str, TaskCard] = Field(min_length=1)
    # The card writes both as `version: 1.2`. Results for different versions are not comparable. The second
    # part counts changes to options, names or files that leave every case and score unchanged.
    version: Whole = Field(default=1, ge=1)
    interface: Whole = Field(default=0, ge=0)
    about: str = ""
    paper: Mapping[str, str] = {}
    licence: str = ""
    # Parts of the data that public pages and bundles may show; parts not listed are not shown.
    redistribute: Mapping[Literal["prompts", "gold", "responses"], bool] = {}
    data: Data = Data()
    subsets: Mapping[str, Any] = {}
    settings: tuple[Mapping[str, Any], ...] = ()
    deviations: tuple[str, ...] = ()
    demo: Mapping[Literal["tasks", "metrics"], tuple[str, ...]] = {}  # tasks and metrics in ``lct demo``
    _folder: Path = PrivateAttr(default=Path())

    @model_validator(mode="before")
    @classmethod
    def _two_parts(cls, row: Any) -> Any:
        if isinstance(row, dict) and "interface" in row:
            raise ValueError("interface is the second part of version; write version: 1.2")
        text = str(row.get("version", "")) if isinstance(row, dict) else ""
        first, dot, second = text.partition(".")
        return {**row, "version": first, "interface": second} if dot else row

    @property
    def folder(self) -> Path:
        return self._folder

    @classmethod
    def load(cls, package_file: str | Path) -> "Card":
        """Load the card next to a benchmark's ``__init__.py``; pass ``__file__``."""
        path = Path(package_file).with_name("card.yaml")
        card = cls.parse(path.read_text(encoding="utf-8"), str(path))
        card._folder = path.parent
        return card

    @classmethod
    def parse(cls, text: str, place: str) -> Self:
        """Parse a card from YAML; errors begin with ``place`` and name the key."""
        return cls.checked(
            yaml_value(text, place, remedy="write a card as docs/adding_a_benchmark.md has it"), place
        )

    @classmethod
    def checked(cls, value: Any, place: str) -> Self:
        card = validated(cls, value, place)
        for name, task in card.tasks.items():
            # A headline without a description would be an empty column on every page.
            for metric in task.main_metrics:
                if not card.metrics.get(metric):
                    raise InputError(
                        f"{place}: task {name} names the metric {metric!r}, which metrics does not describe (there are: "
                        f"{', '.join(card.metrics)})"
                    )
            if task.files and set(task.files) != set(task.lengths):
                raise InputError(
                    f"{place}: task {name} has the lengths {', '.join(task.lengths)} and files of {', '.join(task.files)}; give each length "
                    "a file, and list no other"
                )
            scale = card.points.get(task.headline, (0, 1))
            if task.human and scale and not scale[0] <= task.human.score <= scale[1]:
                raise InputError(
                    f"{place}: task {name} has the human score {task.human.score:g}, outside the scale of {task.headline} ({scale[0]:g} to "
                    f"{scale[1]:g}); write a rate as a share, 0.93 for 93 %"
                )
        return card
