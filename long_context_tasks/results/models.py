"""Names of models as pages show them, and what a file of the user's says about models: window, licence, other names.

Hosts name one model differently: lm-eval by what was loaded, perhaps a local path, OpenCompass by a short name of the user's own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import yaml
from pydantic import BeforeValidator, Field

from long_context_tasks.results.tidy import Collection
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.validated import Checked, validated

_EXAMPLE = "expected models: [{name: org/model, window: 128k, aliases: [other-name]}]"
_LOCAL = re.compile(r"(?:/|~|\.{1,2}[/\\]|[A-Za-z]:[/\\]|\\\\)")
_SNAPSHOT = re.compile(r"models--([^/\\]+?)--([^/\\]+)[/\\]snapshots[/\\][^/\\]+[/\\]?$")
# Names that many folders have; what lies above tells more.
_COMMON = re.compile(
    r"(?i)(checkpoint|step|epoch|iter|global_step)?[-_]?\d+|checkpoints?|final|best|last|latest|merged|hf|model|models|output|weights|main|ckpt"
)


def shown_name(told: str) -> str:
    """The name that a model is shown by: a local path by its last folder, with the one above where many folders are called so.

    A hub's id (``org/name``) and any other name stay as they are. Two slashes or more make a path as well.

    >>> shown_name("/home/me/models/owl-1b/"), shown_name("org/owl-1b"), shown_name("runs/a/owl/checkpoint-500")
    ('owl-1b', 'org/owl-1b', 'owl/checkpoint-500')
    """
    if match := _SNAPSHOT.search(told):
        return f"{match[1]}/{match[2]}"
    if not _is_path(told):
        return told
    parts = [part for part in re.split(r"[/\\]+", told) if part not in ("", ".", "..", "~")]
    if not parts:
        return told
    return "/".join(parts[-2:]) if _COMMON.fullmatch(parts[-1]) else parts[-1]


def shown_source(source: str) -> str:
    """Where a run lies, for readers elsewhere: the last two folders; of one that lm-eval named after a model's path, the last name.

    >>> shown_source("/home/me/results/weekly/__home__me__models__owl"), shown_source("oc/20260101_100000")
    ('weekly/owl', 'oc/20260101_100000')
    """
    parts = [part for part in re.split(r"[/\\]+", source) if part not in ("", ".", "..", "~")][-2:]
    return "/".join(shown_name(part.replace("__", "/")) if part.startswith("__") else part for part in parts)


def _is_path(name: str) -> bool:
    if "://" in name:
        return False
    return bool(_LOCAL.match(name)) or name.count("/") > 1 or "\\" in name


@dataclass(frozen=True)
class ModelFacts:
    """What the user says about a model.

    Attributes:
        name: that it is shown by.
        aliases: other names of it, as hosts tell them or as they are shown.
        window: context length that its makers claim, in tokens; None where nobody says.
        licence, parameters: as text; empty where nobody says.
    """

    name: str
    aliases: tuple[str, ...] = ()
    window: int | None = None
    licence: str = ""
    parameters: str = ""


def _length(value: Any) -> int | None:
    try:
        return None if value is None else parse_length(value)
    except InputError as error:
        raise ValueError(str(error)) from error


_Text = Annotated[str, BeforeValidator(lambda value: str(value or ""))]
_Name = Annotated[str, Field(min_length=1)]


class _Row(Checked):
    """A model in the user's file."""

    name: _Name
    aliases: tuple[_Name, ...] = ()
    window: Annotated[int | None, BeforeValidator(_length)] = None
    licence: _Text = ""
    parameters: _Text = ""


@dataclass(frozen=True)
class Models:
    """Models by name.

    Attributes:
        facts: name to what is known.
    """

    facts: Mapping[str, ModelFacts] = field(default_factory=dict)

    def name_of(self, *names: str) -> str | None:
        """The name of the model that one of these names, a host's or the one shown, belongs to; None where none does."""
        return next((one for name in names if (one := self._names.get(name)) is not None), None)

    @property
    def _names(self) -> dict[str, str]:
        return {name: one.name for one in self.facts.values() for name in (*one.aliases, one.name)}

    @property
    def windows(self) -> dict[str, int]:
        """Model to its claimed window."""
        return {name: one.window for name, one in self.facts.items() if one.window is not None}


def read_models(path: Path) -> Models:
    """Models from a YAML file.

    ::

        models:
          - name: Qwen/Qwen3-8B
            window: 32k                       # claimed by its makers
            licence: Apache-2.0
            parameters: 8.2B
            aliases: [qwen3-8b-vllm, /data/models/Qwen3-8B]

    Raises:
        InputError: no such file, not of this form, or a name that two models have.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        told = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(f"{path}: cannot be read ({told[:200]}); {_EXAMPLE}") from error
    rows = content.get("models") if isinstance(content, Mapping) and set(content) == {"models"} else None
    if not isinstance(rows, list):
        raise InputError(f"{path}: no list of models; {_EXAMPLE}")
    facts: dict[str, ModelFacts] = {}
    owner: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        checked = validated(_Row, row, f"{path}, model {number}", remedy=_EXAMPLE)
        one = ModelFacts(**checked.model_dump())
        facts[one.name] = one
        for name in dict.fromkeys((one.name, *one.aliases)):
            if name in owner:
                raise InputError(
                    f"{path}, model {number}: {name} is a name of {owner[name]} already; a name belongs to one model"
                )
            owner[name] = one.name
    return Models(facts)


def with_claims(models: Models, claims: Sequence[str]) -> Models:
    """The same with windows given as ``MODEL=128k``, which count before those of the file.

    Raises:
        InputError: not of this form.
    """
    facts = dict(models.facts)
    for claim in claims:
        name, equals, length = claim.rpartition("=")
        if not (equals and name and length):
            raise InputError(f"--claimed {claim}: give MODEL=LENGTH, as org/model=128k")
        known = models.name_of(name) or name
        try:
            window = parse_length(length)
        except InputError as error:
            raise InputError(f"--claimed {name}: window {error}") from error
        facts[known] = replace(facts.get(known, ModelFacts(known)), window=window)
    return Models(facts)


def renamed(collection: Collection, models: Models, told: Mapping[str, str]) -> Collection:
    """The runs under the names that their models are shown by, and a note on each model that hosts name differently.

    Args:
        collection: models by :func:`shown_name` already.
        models: of the user; a name that is in none stays.
        told: run to the model's name as its host has it, where that is known.
    """
    shown: list[str] = []
    names: dict[str, dict[str, None]] = {}
    by_user: set[str] = set()
    for run, name in collection.runs.select("run", "model").iter_rows():
        own = told.get(run, name)
        given = models.name_of(own, name)
        shown.append(given or name)
        if given is not None:
            by_user.add(given)
        names.setdefault(shown[-1], {})[own] = None
    notes = [_note(name, list(own), name in by_user) for name, own in names.items() if len(own) > 1]
    return replace(
        collection,
        runs=collection.runs.with_columns(pl.Series("model", shown, pl.String())),
        notes=(*collection.notes, *notes),
    )


def _note(name: str, told: Sequence[str], by_user: bool) -> str:
    # Whole paths are nobody's business.
    endings = sorted({(".../" if _is_path(one) else "") + shown_name(one) for one in told})
    text = f"{name}: {len(told)} names of hosts ({', '.join(endings)}) are shown as this one model"
    return (
        f"{text}, as the file of models says"
        if by_user
        else f"{text}, as they differ in what stands before the last folder only; if they are different models, give each a name of its own "
        "(--models)"
    )
