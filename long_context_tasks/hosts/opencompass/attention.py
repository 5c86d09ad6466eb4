"""The host's classes for local models, with another attention; for config files."""

from collections.abc import Mapping
from typing import Any

from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate

from long_context_tasks.attention.models import use_attention


class _WithAttention:
    """Changes the attention of a model of the host once it is loaded."""

    def __init__(self, attention: Mapping[str, Any], **options: Any) -> None:
        """Load the model.

        Args:
            attention: ``name`` of the method, and its settings.
            options: as of the host's class.

        Raises:
            InputError: an attention, a setting or a model that does not fit.
        """
        super().__init__(**options)
        settings = dict(attention)
        if model := getattr(self, "model", None):  # none where the host wants the tokenizer alone
            use_attention(model, settings.pop("name"), settings)


class AttentionModel(_WithAttention, HuggingFacewithChatTemplate):  # type: ignore[misc]
    """``HuggingFacewithChatTemplate`` with another attention."""


class AttentionBaseModel(_WithAttention, HuggingFaceBaseModel):  # type: ignore[misc]
    """``HuggingFaceBaseModel`` with another attention."""
