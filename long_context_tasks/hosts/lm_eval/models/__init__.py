"""Models of this package for lm-eval, by the name that ``--model`` takes. Each is imported when it is asked for."""

from collections.abc import Mapping

_FOLDER = "long_context_tasks.hosts.lm_eval.models"
MODELS: Mapping[str, str] = {
    "lct_hf": f"{_FOLDER}.attention:AttentionLM",
    "lct_kvpress": f"{_FOLDER}.kvpress:KVPressLM",
}


def register_models() -> None:
    """Add the models to lm-eval's registry, which imports none of them."""
    import lm_eval.models  # noqa: F401 - the host adds its own only to an empty registry
    from lm_eval.api.registry import model_registry

    for name, target in MODELS.items():
        if name not in model_registry:
            model_registry.register(name, target=target)
