"""Names of models as tables and pages show them, and the user's file of models: names, claimed windows, licences.

Hosts name one model differently: lm-eval by the loaded name or local path, OpenCompass by a short name from the user's config.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.schema.validated import Checked, validated

_EXAMPLE = "expected models: [{name: org/model, window: 128k, aliases: [other-name]}]"
_LOCAL = re.compile(r"(?:/|~|\.{1,2}[/\\]|[A-Za-z]:[/\\]|\\\\)")
_SNAPSHOT = re.compile(
    r"(?<![^/\\])(?=[^/\\]+[/\\]snapshots[/\\][^/\\]+[/\\]?$)[^/\\]*?models--([^/\\]+?)--([^/\\]+)[/\\]"
)
"""A model in the cache of the Hugging Face hub: ``models--ORG--NAME/snapshots/REVISION``."""
# Names that many folders have: the folder above is shown as well.
_COMMON = re.compile(
    r"(?i)(checkpoint|step|epoch|iter|global_step)?[-_]?\d+|checkpoints?|final|best|last|latest|merged|hf|model|models|output|weights|main|ckpt"
)


def shown_name(name: str) -> str:
    """Return the name that a model is shown by: a local path becomes its last folder, or the last two if that name is common.

    An id of the hub (``org/name``) and any other name stay as they are, without keys and logins. Two slashes or more make a path.

    >>> shown_name("/home/me/models/owl-1b/"), shown_name("org/owl-1b"), shown_name("runs/a/owl/checkpoint-500")
    ('owl-1b', 'org/owl-1b', 'owl/checkpoint-500')
    >>> shown_name("owl@http://me:pw@host/v1?key=1")
    'owl@http://host/v1'
    """
    # A name may be an address with a login.
    name = without_secrets(name)
    if match := _SNAPSHOT.search(name):
        return f"{match[1]}/{match[2]}"
    if not is_path(name):
        return name
    parts = [part for part in re.split(r"[/\\]+", name) if part not in ("", ".", "..", "~")]
    if not parts:
        return name
    return "/".join(parts[-2:]) if _COMMON.fullmatch(parts[-1]) else parts[-1]


def shown_source(source: str) -> str:
    """Return the place of a run for readers elsewhere: its last two folders; one that lm-eval named after a path becomes its last name.

    >>> shown_source("/home/me/results/weekly/__home__me__models__owl"), shown_source("oc/sk-0123456789abcdef")
    ('weekly/owl', 'oc/(not shown)')
    """
    parts = [part for part in re.split(r"[/\\]+", source) if part not in ("", ".", "..", "~")][-2:]
    return "/".join(shown_name(part.replace("__", "/") if part.startswith("__") else part) for part in parts)


def is_path(name: str) -> bool:
    if "://" in name:
        return False
    # Ids of the hub have one slash.
    return bool(_LOCAL.match(name)) or name.count("/") > 1 or "\\" in name


def _length(value: Any) -> int | None:
    try:
        return None if value is None else parse_length(value)
    except InputError as error:
        raise ValueError(str(error)) from error


_Text = Annotated[str, BeforeValidator(lambda value: str(value or ""))]
_Name = Annotated[str, Field(min_length=1)]


class ModelFacts(Checked):
    """An entry of the user's file of models."""

    name: _Name  # name that the model is shown by
    aliases: tuple[_Name, ...] = ()  # its other names, as hosts write them or as they are shown
    # Context length that its makers claim, in tokens; None if unknown.
    window: Annotated[int | None, BeforeValidator(_length)] = None
    # licence, parameters: text; empty if unknown
    licence: _Text = ""
    weights: Literal["open", "closed", ""] = ""  # whether anybody can download them; empty if unknown
    parameters: _Text = ""


class _ModelsFile(Checked):
    models: list[ModelFacts]


@dataclass(frozen=True)
class Models:
    facts: Mapping[str, ModelFacts] = field(default_factory=dict)

    def name_of(self, *names: str) -> str | None:
        return next((self._names[name] for name in names if name in self._names), None)

    @cached_property
    def _names(self) -> dict[str, str]:
        return {name: facts.name for facts in self.facts.values() for name in (*facts.aliases, facts.name)}

    @property
    def windows(self) -> dict[str, int]:
        return {name: facts.window for name, facts in self.facts.items() if facts.window is not None}


NO_MODELS = Models()


def read_models(path: Path) -> Models:
    """Read the user's file of models.

    ::

        models:
          - name: Qwen/Qwen3-8B
            window: 32k                       # claimed by its makers
            licence: Apache-2.0
            parameters: 8.2B
            weights: open                     # or closed
            aliases: [qwen3-8b-vllm, /data/models/Qwen3-8B]
    """
    content = read_yaml(path, "file of models", remedy=_EXAMPLE)
    models = validated(_ModelsFile, content, str(path), remedy=_EXAMPLE).models
    owner: dict[str, str] = {}
    for number, model in enumerate(models, start=1):
        for name in dict.fromkeys((model.name, *model.aliases)):
            if name in owner:
                raise InputError(
                    f"{path}: models, item {number}: {name} is a name of {owner[name]} already; a name belongs to one model"
                )
            owner[name] = model.name
    return Models({model.name: model for model in models})
