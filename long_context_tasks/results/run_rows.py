"""A run as a row of :data:`long_context_tasks.results.tidy.RUNS`."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.evaluations import Evaluation
from long_context_tasks.results.models import shown_name
from long_context_tasks.results.settings import seed_of, settings_of, without_places
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.files import json_value
from long_context_tasks.schema.secrets import without_secrets

_WER = re.compile(r"(?:^|_)wer(\d+)(?:_|$)", re.ASCII)


def described(one: Evaluation, source: str) -> dict[str, Any]:
    """All columns that do not depend on the cases.

    Args:
        one: the run with its judge.
        source: its folder, as the user named it.

    Raises:
        InputError: a task that this version does not know.
    """
    run = one.run
    try:
        spec = catalogue.parse_task(run.task)
    except InputError as error:
        raise InputError(f"{source}: {run}: {error}") from error
    wer = _WER.search(spec.variant)
    provenance = run.provenance
    return {
        "host": run.host,
        "model": shown_name(run.model),
        "benchmark": spec.benchmark,
        "task": run.task,
        "family": "_".join(part for part in (spec.family, spec.split) if part),
        "length": spec.tokens or _length(run.options.get("lct_length")),
        "variant": spec.variant,
        "wer": int(wer[1]) if wer else None,
        "made": run.made,
        "version": _whole(one.version),
        "options": as_json(run.options),
        "settings": as_json(settings_of(run)),
        "seed": seed_of(run),
        "judge_settings": as_json(one.description),
        "n_cases_available": _whole(provenance.get("n_cases_available")),
        "n_truncated": float(run.numbers.get("n_truncated", math.nan)),
        "window": None if provenance.get("window") is None else str(provenance["window"]),
        "host_version": _text(provenance.get("host_version")),
        "package": _text(one.told.get("package") or provenance.get("package")),
        "commit": _text(provenance.get("commit")),
        "provenance": as_json(
            {**{key: value for key, value in provenance.items() if value is not None}, **_judged(one)}
        ),
        "source": source,
    }


def told_points(one: Evaluation, metrics: Sequence[str]) -> list[str]:
    """The metrics of a run that are points of a scale."""
    points = one.told.get("points", one.run.points) or ()
    return [name for name in metrics if name in points]


def as_json(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys; what may be a password or a key is not in it, of a local path its last name only.

    >>> as_json({"model_args": "base_url=http://me:pw@host/v1,api_key=sk-1,pretrained=/home/me/owl", "n": 1})
    '{"model_args": "base_url=http://host/v1,api_key=(not shown),pretrained=owl", "n": 1}'
    """
    shown = without_places(without_secrets(json_value(value)))
    return json.dumps(shown, sort_keys=True, ensure_ascii=False, default=str)


def _judged(one: Evaluation) -> dict[str, Any]:
    return {key: one.told[key] for key in ("judged", "usage", "notes", "before") if one.told.get(key)}


def _length(given: Any) -> int | None:
    try:
        return None if given in (None, "") else _whole(parse_length(given))
    except InputError:
        return None


def _whole(value: Any) -> int | None:
    """A whole number, which OpenCompass' files have as text; None where a damaged file has something else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
