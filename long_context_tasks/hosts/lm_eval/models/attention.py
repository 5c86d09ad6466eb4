"""``lm_eval --model lct_hf``: lm-eval's Hugging Face model with a different attention method."""

from typing import Any

from lm_eval.models.huggingface import HFLM

from long_context_tasks.attention.models import setting_names, use_attention


class AttentionLM(HFLM):  # type: ignore[misc]
    def __init__(self, pretrained: Any, attention: str, **options: Any) -> None:
        """Load the model and switch its attention; ``options`` also hold attention settings."""
        settings = {name: options.pop(name) for name in sorted(setting_names() & options.keys())}
        super().__init__(pretrained=pretrained, **options)
        self.method = use_attention(self.model, attention, settings)

    def get_model_info(self) -> dict[str, Any]:
        """Return lm-eval's model metadata plus the method, so that reports treat it as a separate model."""
        return {**super().get_model_info(), "lct_method": self.method}
