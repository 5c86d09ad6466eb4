"""Describe a loaded model's RoPE settings.

A lost base or factor changes every long answer, and no host reports it. transformers 4 stores
``rope_scaling`` and ``rope_theta`` in a config, transformers 5 ``rope_parameters``, in some models one set
per layer type. In vLLM (0.32) an override replaces all of ``rope_parameters``, so an override without a base
means 10,000.
"""

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

logger = logging.getLogger(__name__)

_DEFAULT_BASE = 10_000.0  # transformers' default for a config without a base


def describe_rope(model: Any) -> str:
    """Describe the RoPE settings of a host's model: ``yarn, factor 4, original length 32768, base 1e+06``.

    Empty if they are unknown. A base that differs from the checkpoint's own config is logged as a warning. If
    one of our attention methods is used, it is included.
    """
    config, checkpoint = _config(model)
    if config is None:
        return ""
    used = rope_settings(config)
    of_checkpoint = _own_settings(checkpoint) if used and checkpoint else {}
    for kind, settings in used.items():
        base, before = settings["rope_theta"], of_checkpoint.get(kind, settings)["rope_theta"]
        if base != before:
            logger.warning(
                "%s: the engine uses the RoPE base %g, the checkpoint has %g; unless NTK-aware scaling is meant, name the "
                "checkpoint's in rope_theta of the override of rope_parameters",
                checkpoint,
                base,
                before,
            )
    texts = [f"{kind}: {_text(values)}" if kind else _text(values) for kind, values in used.items()]
    return "; ".join([*texts, *filter(None, [getattr(config, "lct_attention", None)])])


def rope_settings(config: Any) -> dict[str, dict[str, Any]]:
    """Return a model config's RoPE settings by layer type, ``""`` if all layers share them.

    >>> from types import SimpleNamespace
    >>> rope_settings(SimpleNamespace(rope_theta=500000.0, rope_scaling=None))
    {'': {'rope_type': 'default', 'rope_theta': 500000.0}}
    """
    parameters = getattr(config, "rope_parameters", None)
    # transformers 4 uses the base from the config even if ``rope_scaling`` specifies another.
    base = None if parameters else getattr(config, "rope_theta", None)
    parameters = parameters or getattr(config, "rope_scaling", None) or {}
    if not isinstance(parameters, Mapping) or not (parameters or base):
        return {}  # a model without rotary position embeddings
    if parameters and all(isinstance(value, Mapping) for value in parameters.values()):
        by_kind = {str(kind): dict(value) for kind, value in parameters.items()}
    else:
        by_kind = {"": dict(parameters)}
    return {
        kind: {
            **values,
            "rope_type": values.get("rope_type") or values.get("type") or "default",
            "rope_theta": float(base or values.get("rope_theta") or _DEFAULT_BASE),
        }
        for kind, values in by_kind.items()
    }


def own_base(checkpoint: str, default: float) -> float:
    """Return a local checkpoint's RoPE base, or ``default`` if it is not local or has several."""
    settings = _own_settings(checkpoint)
    return float(settings[""]["rope_theta"]) if "" in settings else default


def _config(model: Any) -> tuple[Any, str]:
    """Return the language model's config as used by the engine, and the checkpoint's folder or name."""
    inner = getattr(model, "model", None)
    of_vllm: Any = getattr(getattr(inner, "llm_engine", None), "model_config", None)
    config: Any = getattr(of_vllm, "hf_text_config", None)
    if config is not None:
        return config, str(of_vllm.model)
    config = getattr(inner, "config", None)
    text = getattr(config, "get_text_config", None)
    if text is None:
        return None, ""
    return text(), str(getattr(config, "_name_or_path", ""))


@lru_cache(maxsize=4)
def _own_settings(checkpoint: str) -> dict[str, dict[str, Any]]:
    from transformers import AutoConfig

    try:
        # Local files only, because a message about settings does not justify a download.
        config = AutoConfig.from_pretrained(checkpoint, local_files_only=True)
    except (OSError, ValueError, KeyError):
        return {}
    return rope_settings(config.get_text_config())


def _text(settings: Mapping[str, Any]) -> str:
    parts = [str(settings["rope_type"])]
    if settings.get("factor") is not None:
        parts.append(f"factor {settings['factor']:g}")
    if settings.get("original_max_position_embeddings") is not None:
        parts.append(f"original length {settings['original_max_position_embeddings']}")
    return ", ".join([*parts, f"base {settings['rope_theta']:g}"])
