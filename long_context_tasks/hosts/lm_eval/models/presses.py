"""Presses of NVIDIA's kvpress by name (checked against 0.5.5)."""

import re
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require

# Abstract; at work while answers are written; in need of a question.
_NOT_OFFERED = ("BasePress", "ScorerPress", "PrefillDecodingPress", "FinchPress")
# Of these the keys that are left get new positions, or more are added: the question follows what is in the cache.
_NEW_POSITIONS = ("KeyRerotationPress", "RestoreKVPress")


def plain(name: str) -> str:
    """Return a press's name without what users write in different ways.

    >>> plain("StreamingLLMPress"), plain("streaming_llm"), plain("Snap-KV")
    ('streamingllm', 'streamingllm', 'snapkv')
    """
    return re.sub(r"[_\s-]|press$", "", name.lower())


def find_press(name: str, known: Mapping[str, Any]) -> Any:
    """Return the class that a name means.

    Args:
        name: of the class, with or without ``Press``; capitals, ``_`` and ``-`` do not matter.
        known: classes by name.

    Raises:
        InputError: an unknown name, with the known ones.
    """
    by_plain = {plain(key): kind for key, kind in known.items()}
    if plain(name) not in by_plain:
        names = ", ".join(sorted((key.removesuffix("Press") for key in known), key=str.lower))
        raise InputError(f"press={name}: unknown; kvpress has {names}; none keeps the whole cache")
    return by_plain[plain(name)]


def _offered() -> dict[str, Any]:
    # OpenCompass needs numpy 1.
    require("kvpress", "press, in an environment without OpenCompass,", "kvpress")
    import kvpress

    kinds = {name: getattr(kvpress, name) for name in kvpress.__all__ if name not in _NOT_OFFERED}
    return {
        name: kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, kvpress.BasePress) and _required(kind) <= {"press"}
    }


def _required(kind: Any) -> set[str]:
    # Of some presses around others the inner one is None until it is given.
    absent = {"press": (Parameter.empty, None)}
    parameters = signature(kind).parameters.items()
    return {
        name for name, parameter in parameters if parameter.default in absent.get(name, (Parameter.empty,))
    }


def make_press(name: str, ratio: float | None, settings: Mapping[str, Any]) -> Any:
    """Return a press of kvpress.

    Args:
        name: of a press, or of one around another: ``key_rerotation+streaming_llm``.
        ratio: share of the context's cache that is dropped, from 0 below 1; None for presses that take other settings instead.
        settings: of the press, or of the one inside.

    Raises:
        InputError: kvpress is missing, an unknown name or setting, a ratio where there is none, or none where there has to be one.
    """
    if ratio is not None and not 0 <= ratio < 1:
        raise InputError(f"ratio={ratio}: the share of the cache that is dropped is from 0 below 1")
    known = _offered()
    kinds = [find_press(part, known) for part in name.split("+")]
    left = dict(settings)
    press: Any = None
    for kind in reversed(kinds):
        fields = set(signature(kind).parameters)
        own = {key: left.pop(key) for key in list(left) if key in fields}
        if press is not None and "press" not in fields:
            raise InputError(f"press={name}: {kind.__name__} takes no other press; leave one of them out")
        if press is None and "press" in _required(kind):
            raise InputError(f"press={name}: needs a press inside; write {name}+snapkv")
        try:
            press = kind(**own) if press is None else kind(press=press, **own)
        except (AssertionError, TypeError, ValueError) as error:
            raise InputError(f"press={name}: kvpress refuses its settings ({error!r})") from error
    if left:
        raise InputError(
            f"press={name}: has no setting {', '.join(left)}; it has {', '.join(sorted(fields))}"
        )
    try:
        press.compression_ratio = 0.5 if ratio is None else float(ratio)
    except AttributeError as error:
        if ratio is not None:
            raise InputError(
                f"press={name} takes no ratio but settings of its own: press_NAME=VALUE, of {', '.join(sorted(fields))}"
            ) from error
    else:
        if ratio is None:
            raise InputError(f"press={name}: how much is dropped? add ratio=0.5")
    return press


def moves_keys(press: Any) -> bool:
    """Return whether the question follows what is left in the cache, and not the whole context."""
    inner = getattr(press, "press", None)
    return type(press).__name__ in _NEW_POSITIONS or (inner is not None and moves_keys(inner))
