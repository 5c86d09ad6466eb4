"""The kinds of judges: how the fields of each are checked, its model is found and asked; and which judge a user names.

A kind registers itself by a :class:`Kind` in the table below, which is imported when a judge of that kind is named.
"""

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
"""Kinds that a judge file may name, each with the place of its :class:`Kind`."""
_PREFIX = "LCT_JUDGE_"

Generate = Callable[[Sequence[Sequence[Message]], Draw], list[Reply]]
"""Replies of a model in this process, one per prompt, in order, at the settings of its judge."""


@dataclass(frozen=True)
class Stored:
    """How stored verdicts of a kind are read where they are predictions instead of words; no model is needed.

    Attributes:
        task: a task as these verdicts score it; raises InputError where they cannot.
        stds: metric to the standard deviation of people's ratings that a turn's feedback predicts.
        metrics: that such a judge adds to those of a benchmark.
    """

    task: Callable[[LoadedTask], LoadedTask]
    stds: Callable[[str], Mapping[str, float]]
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """How judges of a kind work.

    Attributes:
        check: what can be known before costly work: for an endpoint one tiny call, else whether model and libraries are there.
        load: loads the model into this process; None where it is asked at an endpoint.
        config: fields and their checks.
        complete: adds what the judge file leaves out; its second argument begins messages.
        prepare: a task as this kind scores it, with metrics of its own; None: as the benchmark says.
        reads_prompts: whether it reads any prompt and replies in words.
        chunk: prompts that are generated, and stored, together; None: ``batch_size``.
        stored: how its stored verdicts are read; None: as the benchmark's rubric reads words.
    """

    check: Callable[[JudgeConfig], None]
    load: Callable[[JudgeConfig], Generate] | None = None
    config: type[JudgeConfig] = JudgeConfig
    complete: Callable[[JudgeConfig, str], JudgeConfig] | None = None
    prepare: Callable[[LoadedTask, JudgeConfig], LoadedTask] | None = None
    reads_prompts: bool = True
    chunk: int | None = None
    stored: Stored | None = None


def kind_of(judge: JudgeConfig | str) -> Kind:
    """Return how a judge, or a kind by its name, works."""
    name = judge if isinstance(judge, str) else judge.kind
    module, _, attribute = KINDS[name].partition(":")
    found: Kind = getattr(import_module(module), attribute)
    return found


def stored_kind(description: Mapping[str, Any]) -> Stored | None:
    """Return how the verdicts of a judge that results describe are read; None: as words, also where they name no known kind."""
    name = str(description.get("kind"))
    # Endpoints reply in words; their client need not be loaded to read a report.
    return kind_of(name).stored if name in KINDS and name != "openai" else None


def check_judge(config: JudgeConfig, *, reads_prompts: bool = False) -> None:
    """Check a judge before costly work: one tiny call to an endpoint, or a look for model and libraries.

    Args:
        config: the judge.
        reads_prompts: whether it has to read any prompt.

    Raises:
        InputError: unreachable, wrong key, unknown model, refused settings, missing libraries; says what to do.
    """
    if reads_prompts:
        check_reads_prompts(config)
    kind_of(config).check(config)


def check_reads_prompts(config: JudgeConfig) -> None:
    """Refuse a judge that does not read prompts.

    Raises:
        InputError: says what to name instead.
    """
    if not kind_of(config).reads_prompts:
        raise InputError(
            f"judge {config.name}: a judge of kind {config.kind} reads no prompt and writes no text; name a language model"
        )


def load_judge(
    path: Path | str | None = None, environ: Mapping[str, str] | None = None
) -> JudgeConfig | None:
    """Return the judge that a user named.

    Args:
        path: the file of ``lct_judge``; without it ``LCT_JUDGE`` in the environment names one.
        environ: the environment; ``LCT_JUDGE_<FIELD>`` gives what the file leaves out, or the whole judge without a file.

    Returns:
        The judge, or None when neither a file nor any ``LCT_JUDGE_*`` variable is given.

    Raises:
        InputError: unknown keys, values that do not fit, a key in the file, a model that its kind cannot find; names file or variable
            and what to do, and repeats no value, since it may be a key that went to the wrong place.
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
