"""``lm_eval --model lct_hf``: the host's Hugging Face model with another attention."""

from typing import Any

from lm_eval.models.huggingface import HFLM

from long_context_tasks.attention.models import setting_names, use_attention


class AttentionLM(HFLM):  # type: ignore[misc]
    """A model of the host's class ``hf`` that attends as ``attention`` says."""

    def __init__(self, pretrained: Any, attention: str, **options: Any) -> None:
        """Load the model, then change its attention.

        Args:
            pretrained: as of ``hf``.
            attention: ``rerope``, ``leaky_rerope`` or ``infllm``.
            options: settings of the attention; the rest is as of ``hf``.

        Raises:
            InputError: an attention, a setting or a model that does not fit.
        """
        settings = {name: options.pop(name) for name in sorted(setting_names() & options.keys())}
        super().__init__(pretrained=pretrained, **options)
        self.method = use_attention(self.model, attention, settings)

    def get_model_info(self) -> dict[str, Any]:
        """Return the host's facts of the model, with the method, by which reports tell it from the model's own attention."""
        return {**super().get_model_info(), "lct_method": self.method}
