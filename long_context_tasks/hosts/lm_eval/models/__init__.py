"""Models of this package for lm-eval, by the name that ``--model`` takes. Each is imported when it is asked for."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

_FOLDER = "long_context_tasks.hosts.lm_eval.models"
MODELS: Mapping[str, str] = {
    "lct_kvpress": f"{_FOLDER}.kvpress:KVPressLM",
}
OWN_ARGUMENTS = ("press", "ratio")
"""Model arguments that say what a model of this package does to the context; those that begin with ``press_`` too."""


def register_models(module: ModuleType) -> None:
    """Add the models to lm-eval's registry, which imports none of them.

    Args:
        module: ``lm_eval.models``, just loaded; unused.
    """
    from lm_eval.api.registry import model_registry

    for name, target in MODELS.items():
        if name not in model_registry:
            model_registry.register(name, target=target)


def method_of(model: Any, arguments: Any) -> str:
    """Return what a run did to the context, for the name of its model; empty for other models and for the whole cache.

    Args:
        model: as given to ``--model``.
        arguments: of ``--model_args``, a mapping or ``key=value`` with commas between.

    >>> method_of("lct_kvpress", "pretrained=owl,press=snapkv,ratio=0.5,press_window_size=32")
    'snapkv 0.5 window_size=32'
    >>> method_of("lct_kvpress", {"pretrained": "owl", "press": None}), method_of("hf", "pretrained=owl,ratio=1")
    ('', '')
    """
    if model not in MODELS:
        return ""
    if not isinstance(arguments, Mapping):
        parts = (part.partition("=") for part in str(arguments or "").split(","))
        arguments = {key.strip(): value.strip() for key, _, value in parts}
    if str(arguments.get("press")).lower() == "none":
        return ""
    more = [f"{key[6:]}={arguments[key]}" for key in sorted(arguments) if key.startswith("press_")]
    return " ".join([*(str(arguments[key]) for key in OWN_ARGUMENTS if key in arguments), *more])
