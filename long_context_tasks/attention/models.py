"""Switch a loaded transformers model to another attention method by name, for all hosts.

The model keeps its code and its cache. Its rotary module is replaced by one that does not rotate, so that the
cache holds unrotated keys, and its attention function is registered with transformers and calls the layer's
method. NTK-aware RoPE only changes frequencies; it is included because transformers 4 and 5 take a different
base through different arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from long_context_tasks.attention.infllm import InfLLM, InfLLMSettings
from long_context_tasks.attention.rectified import Positions, ReRoPE, Rotary
from long_context_tasks.schema import InputError

REGISTERED = "long_context_tasks"  # name of our attention function in transformers
# Their attention classes use the same rotary module and attention interface.
MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True)
class ReRoPESettings:
    window: int = 512  # distance in tokens beyond which the relative position stays constant
    # Position from which queries are scaled; 0 for the window in the model's config.
    training_length: int = 0


@dataclass(frozen=True)
class LeakyReRoPESettings(ReRoPESettings):
    factor: int = 16  # number of tokens per step of the relative position, beyond the window


@dataclass(frozen=True)
class NTKSettings:
    # Growth of the window; the base grows by factor ** (d / (d - 2)), where d is the head size.
    factor: int = 4


Settings = ReRoPESettings | InfLLMSettings | NTKSettings
METHODS: Mapping[str, type[Settings]] = {
    "rerope": ReRoPESettings,
    "leaky_rerope": LeakyReRoPESettings,
    "infllm": InfLLMSettings,
    "ntk": NTKSettings,
}


def setting_names() -> frozenset[str]:
    return frozenset(field.name for kind in METHODS.values() for field in fields(kind))


def attention_settings(name: str, given: Mapping[str, Any]) -> Settings:
    """Return a method's settings; the defaults are the reference's.

    >>> attention_settings("rerope", {"window": "256"})
    ReRoPESettings(window=256, training_length=0)
    """
    if name not in METHODS:
        raise InputError(f"attention={name}: unknown; take one of {', '.join(METHODS)}")
    kind = METHODS[name]
    known = {field.name: field.default for field in fields(kind)}
    values = {}
    for key, value in given.items():
        if key not in known:
            raise InputError(f"attention={name}: has no setting {key}; its settings are {', '.join(known)}")
        least = 0 if known[key] == 0 or key == "n_init" else 1
        try:
            values[key] = int(str(value))
        except ValueError:
            values[key] = least - 1
        if values[key] < least:
            raise InputError(f"attention={name}: {key}={value}; give a whole number of {least} or more")
    return kind(**values)


def read_attention(text: str) -> tuple[str, dict[str, str]]:
    """Parse a method and its settings.

    >>> read_attention("infllm,n_local=1024")
    ('infllm', {'n_local': '1024'})
    """
    name, *rest = (part.strip() for part in text.split(","))
    return name, {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest)}


def describe(name: str, settings: Settings) -> str:
    """Return a method with its settings, as written in results.

    >>> describe("leaky_rerope", LeakyReRoPESettings())
    'leaky_rerope_window512_factor16'
    """
    shown = {key: value for key, value in asdict(settings).items() if value or key == "n_init"}
    default = asdict(METHODS[name]())
    # InfLLM has six settings; only those that differ from the reference are part of the name.
    if name == "infllm":
        shown = {key: value for key, value in shown.items() if value != default[key]}
    return "_".join([name, *(f"{key}{value}" for key, value in shown.items())])


def use_attention(model: Any, name: str, given: Mapping[str, Any]) -> str:
    """Switch a loaded model to another attention method and return its description.

    The description, method with settings, is also stored as ``lct_attention`` in the model's config.
    """
    settings = attention_settings(name, given)
    config = model.config
    decoder: Any = getattr(model, "model", None)
    layers = getattr(decoder, "layers", None)
    if config.model_type not in MODEL_TYPES or layers is None:
        raise InputError(
            f"attention={name}: a model of type {config.model_type}; Llama-type models only: {', '.join(MODEL_TYPES)}"
        )
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()) or (
        config.model_type == "mistral" and config.sliding_window
    ):
        raise InputError(f"attention={name}: the model has a sliding window of its own, which would stay")
    # Its cached keys and its rotary module no longer match the checkpoint.
    if getattr(config, "lct_attention", None):
        raise InputError(f"attention={name}: the model has {config.lct_attention} already; load it again")
    if isinstance(settings, NTKSettings):
        _grow_base(decoder.rotary_emb, settings.factor)
    else:
        _register()
        methods = _methods(Rotary(decoder.rotary_emb), settings, config.max_position_embeddings, len(layers))
        for layer, method in zip(layers, methods, strict=True):
            layer.self_attn.lct_attention = method
        decoder.rotary_emb = _unrotated(layers[0].self_attn.head_dim)
        model.set_attn_implementation(REGISTERED)
    config.lct_attention = describe(name, settings)
    return str(config.lct_attention)


def _grow_base(embedding: Any, factor: int) -> None:
    import torch

    # Scaled frequencies are no longer powers of a base.
    if embedding.rope_type != "default":
        raise InputError(f"attention=ntk: the model has RoPE of type {embedding.rope_type}; plain RoPE only")
    frequencies = embedding.inv_freq
    # Frequency i of n is base ** (-i / n), and the base grows by factor ** (n / (n - 1)).
    places = torch.arange(len(frequencies), device=frequencies.device) / (len(frequencies) - 1)
    embedding.inv_freq = frequencies / float(factor) ** places


def _methods(
    rotary: Rotary, settings: ReRoPESettings | InfLLMSettings, window: int, n_layers: int
) -> Sequence[InfLLM | ReRoPE]:
    # InfLLM has a memory per layer.
    if isinstance(settings, InfLLMSettings):
        return [InfLLM(rotary, settings) for _ in range(n_layers)]
    slope = 1 / settings.factor if isinstance(settings, LeakyReRoPESettings) else 0.0
    # ReRoPE is stateless, so all layers share one object.
    return [ReRoPE(rotary, Positions(settings.window, slope), settings.training_length or window)] * n_layers


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import flash_attention_mask

    AttentionInterface.register(REGISTERED, _attend)
    # This mask covers only padding, shape (batch, keys): our methods are causal without a full attention
    # matrix.
    AttentionMaskInterface.register(REGISTERED, flash_attention_mask)


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **_: Any
) -> tuple[Any, None]:
    """Call the layer's method, with the signature of transformers' attention functions."""
    result = module.lct_attention(query, key, value, attention_mask, scaling)
    return result.transpose(1, 2).contiguous(), None


def _unrotated(size: int) -> Any:
    from torch import nn

    class Unrotated(nn.Module):
        """Rotary embeddings with angle 0."""

        def forward(self, states: Any, _: Any = None, **__: Any) -> tuple[Any, Any]:
            return states.new_ones(1, 1, size), states.new_zeros(1, 1, size)

    return Unrotated()
