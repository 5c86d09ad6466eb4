"""Kinds of judges (endpoint, local model, ORCA), and loading the judge that a user configured."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.schema import InputError, LoadedTask, Message
from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.validated import unknown_key, validated

KINDS = {
    "openai": "long_context_tasks.judges.client:KIND",
    "local": "long_context_tasks.judges.local:KIND",
    "orca": "long_context_tasks.orca.judge:KIND",
}
"""Maps each kind to the import path of its :class:`Kind`.

Paths are strings because ORCA imports judges, but not the other way round.
"""
_PREFIX = "LCT_JUDGE_"

Generate = Callable[[Sequence[Sequence[Message]], Draw], list[Reply]]
"""Function that returns one reply per prompt from a model in this process, with the judge's settings."""


@dataclass(frozen=True)
class Stored:
    """Functions that read stored verdicts of a rating-predicting kind without loading its model."""

    # Returns a task as these verdicts score it; raises InputError if they cannot.
    task: Callable[[LoadedTask], LoadedTask]
    # Returns the predicted standard deviation of human ratings for each metric, from a turn's feedback.
    stds: Callable[[str], Mapping[str, float]]
    metrics: tuple[str, ...] = ()  # metrics that such a judge adds to a benchmark's own


@dataclass(frozen=True)
class Kind:
    # Checks the judge before expensive work: one tiny call to an endpoint, or a local judge's model and
    # libraries.
    check: Callable[[JudgeConfig], None]
    # Loads the model into this process; None for an endpoint.
    load: Callable[[JudgeConfig], Generate] | None = None
    config: type[JudgeConfig] = JudgeConfig
    # Fills in values that the judge file omits; the second argument is a prefix for messages.
    complete: Callable[[JudgeConfig, str], JudgeConfig] | None = None
    # Returns a task with this kind's metrics; None if the benchmark's own metrics apply.
    prepare: Callable[[LoadedTask, JudgeConfig], LoadedTask] | None = None
    reads_prompts: bool = True  # whether the judge accepts arbitrary prompts and replies in text
    # Number of prompts of similar length generated and stored together; None for batch_size, in order.
    chunk: int | None = None
    # Reads stored verdicts; None if the benchmark's rubric parses them as text.
    stored: Stored | None = None


def kind_of(judge: JudgeConfig | str) -> Kind:
    """Return the kind of a judge, given its configuration or the kind's name."""
    name = judge if isinstance(judge, str) else judge.kind
    module, _, attribute = KINDS[name].partition(":")
    found: Kind = getattr(import_module(module), attribute)
    return found


def stored_kind(description: Mapping[str, Any]) -> Stored | None:
    """Return the reader for stored verdicts of the judge described in results; None to parse them as text."""
    name = str(description.get("kind"))
    # Endpoints reply in text, and reading a report should not import their client.
    return kind_of(name).stored if name in KINDS and name != "openai" else None


def check_judge(config: JudgeConfig, *, reads_prompts: bool = False) -> None:
    """Check a judge before expensive work: call the endpoint, or find a local judge's model and libraries.

    Raises:
        InputError: unreachable endpoint, wrong key, unknown model, rejected settings or missing libraries;
            with ``reads_prompts`` also a judge that does not accept arbitrary prompts. The message names the
            remedy.
    """
    if reads_prompts:
        check_reads_prompts(config)
    kind_of(config).check(config)


def check_reads_prompts(config: JudgeConfig) -> None:
    if not kind_of(config).reads_prompts:
        raise InputError(
            f"judge {config.name}: a judge of kind {config.kind} does not take prompts; name a language model"
        )


def load_judge(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> JudgeConfig | None:
    """Load the user's judge, or return None if none is configured.

    It comes from a file (``lct_judge`` or ``LCT_JUDGE``), from variables ``LCT_JUDGE_<FIELD>``, or both;
    variables set only the fields that the file omits.

    Raises:
        InputError: unknown keys, invalid values, an API key in the file, or a missing model. The message
            names the file or variable and the remedy, but not the value, which may be a misplaced key.
    """
    environ = os.environ if environ is None else environ
    path = path or environ.get("LCT_JUDGE") or None
    given = {name: text for name, text in environ.items() if name.startswith(_PREFIX) and text}
    if not given and not path:
        return None
    place, row = "judge in the environment", {}
    if path:
        place = f"judge file {path}"
        remedy = "correct lct_judge or LCT_JUDGE, or write lines such as `model: NAME`"
        row = read_yaml(Path(path).expanduser(), "judge file", remedy=remedy)
        if not isinstance(row, dict):
            raise InputError(f"{place}: must be YAML keys and values, such as `model: NAME`")
    name = row.get("kind", given.get(f"{_PREFIX}KIND", "openai"))
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"{place}: kind must be one of {', '.join(KINDS)}")
    kind = kind_of(name)
    fields = {f"{_PREFIX}{field.upper()}": field for field in kind.config.model_fields}
    for keys, known, where, variable in (
        (row, fields.values(), place, "api_key_env"),
        (given, fields, "environment", f"{_PREFIX}API_KEY_ENV"),
    ):
        if unknown := [key for key in keys if key not in known]:
            raise InputError(unknown_key(unknown[0], known, where, variable=variable))
    values = {fields[variable]: text for variable, text in given.items()} | row
    if "model" not in values:
        raise InputError(f"{place}: model is missing; give it there or as {_PREFIX}MODEL")
    places = {
        fields[variable]: f"environment variable {variable}"
        for variable in given
        if fields[variable] not in row
    }
    config = validated(kind.config, values, place, places=places)
    return config if kind.complete is None else kind.complete(config, place)
