"""``lm_eval --model lct_kvpress``: NVIDIA's kvpress methods, which evict part of the context's KV cache.

Checked against kvpress 0.5.5. A press is applied during prefill of the context, before any question is known;
question and answer keep all their keys and values.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any

import torch

from long_context_tasks.hosts.lm_eval.models.shared_context import ReadContext, SharedContextLM
from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require

# Abstract classes, one that works during decoding, and one that needs the question.
_NOT_OFFERED = ("BasePress", "ScorerPress", "PrefillDecodingPress", "FinchPress")
# These renumber the retained keys or add keys: the question's positions continue from the cache, not from the
# full context.
_NEW_POSITIONS = ("KeyRerotationPress", "RestoreKVPress")


class KVPressLM(SharedContextLM):
    """A transformers causal model whose context cache is compressed before the questions."""

    def __init__(
        self, pretrained: Any, press: str | None = None, ratio: float | None = None, **arguments: Any
    ) -> None:
        """Load the model; see :func:`make_press`. Arguments that begin with ``press_`` are press settings."""
        settings = {key[6:]: arguments.pop(key) for key in list(arguments) if key.startswith("press_")}
        self._press, self.method = None, ""
        # The whole cache is the baseline for presses, run with the same code.
        if str(press).lower() != "none":
            self._press = make_press(str(press), ratio, settings)
            share = [] if ratio is None else [f"{ratio:g}"]
            given = [f"{key}{settings[key]}" for key in sorted(settings)]
            self.method = "_".join([str(press), *share, *given])
        super().__init__(pretrained, **arguments)

    def get_model_info(self) -> dict[str, Any]:
        """Return lm-eval's model metadata plus the method, so that reports treat it as a separate model."""
        return {**super().get_model_info(), **({"lct_method": self.method} if self.method else {})}

    @torch.no_grad()
    def read(self, ids: Sequence[int]) -> ReadContext:
        """Prefill a context and keep the keys and values that the press leaves."""
        if self._press is None:
            return super().read(ids)
        with self._press(self.model):
            read = super().read(ids)
        return replace(read, position=read.cache.get_seq_length()) if moves_keys(self._press) else read

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        if self._press is not None:
            raise InputError(
                "tasks by likelihood have no question apart from the context: use press=none or leave them out"
            )
        return super().loglikelihood_rolling(requests, disable_tqdm)  # type: ignore[no-any-return]


def make_press(name: str, ratio: float | None, settings: Mapping[str, Any]) -> Any:
    """Create a kvpress press.

    Args:
        name: name of a press, or of one that wraps another: ``key_rerotation+streaming_llm``.
        ratio: share of the context's cache to evict, at least 0 and below 1; None for presses with other
            settings.
        settings: settings for the press, or for the inner one.
    """
    if ratio is not None and not 0 <= ratio < 1:
        raise InputError(f"ratio={ratio}: the share of the cache that is dropped is from 0 below 1")
    known = _offered()
    kinds = [find_press(part, known) for part in name.split("+")]
    left = dict(settings)
    press: Any = None
    # From the inside out, because a wrapping press takes the inner one as an argument.
    for kind in reversed(kinds):
        fields = set(signature(kind).parameters)
        of_kind = {key: left.pop(key) for key in list(left) if key in fields}
        if press is not None and "press" not in fields:
            raise InputError(f"press={name}: {kind.__name__} takes no other press; leave one of them out")
        if press is None and "press" in _required(kind):
            raise InputError(f"press={name}: needs a press inside; write {name}+snapkv")
        try:
            press = kind(**of_kind) if press is None else kind(press=press, **of_kind)
        except (AssertionError, TypeError, ValueError) as error:
            raise InputError(f"press={name}: kvpress refuses its settings ({error!r})") from error
    if left:
        raise InputError(
            f"press={name}: has no setting {', '.join(left)}; it has {', '.join(sorted(fields))}"
        )
    # Some presses reject a ratio, which shows only when it is set.
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


def _offered() -> dict[str, Any]:
    # OpenCompass needs numpy 1, kvpress numpy 2.
    require("kvpress", "press, in an environment without OpenCompass,", "kvpress")
    import kvpress

    kinds = {name: getattr(kvpress, name) for name in kvpress.__all__ if name not in _NOT_OFFERED}
    return {
        name: kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, kvpress.BasePress) and _required(kind) <= {"press"}
    }


def _required(kind: Any) -> set[str]:
    # Some wrapping presses default the inner press to None but still require it.
    absent = {"press": (Parameter.empty, None)}
    parameters = signature(kind).parameters.items()
    return {
        name for name, parameter in parameters if parameter.default in absent.get(name, (Parameter.empty,))
    }


def find_press(name: str, known: Mapping[str, Any]) -> Any:
    """Return a press class by name, with or without ``Press``, ignoring case, ``_`` and ``-``."""
    by_plain = {plain(key): kind for key, kind in known.items()}
    if plain(name) not in by_plain:
        names = ", ".join(sorted((key.removesuffix("Press") for key in known), key=str.lower))
        raise InputError(f"press={name}: unknown; kvpress has {names}; none keeps the whole cache")
    return by_plain[plain(name)]


def plain(name: str) -> str:
    """Normalize a press's name, whichever way it is spelled.

    >>> plain("StreamingLLMPress"), plain("streaming_llm"), plain("Snap-KV")
    ('streamingllm', 'streamingllm', 'snapkv')
    """
    return re.sub(r"[_\s-]|press$", "", name.lower())


def moves_keys(press: Any) -> bool:
    """Return whether the question's positions continue from the retained keys, not from the full context."""
    inner = getattr(press, "press", None)
    return type(press).__name__ in _NEW_POSITIONS or (inner is not None and moves_keys(inner))
