"""Build step: the wheel carries the OpenCompass configs as ``long_context_tasks/configs``."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the configs, except to an editable installation, which reads them where they are edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling; ``version`` is "standard" or "editable"."""
        if version == "standard":
            build_data["force_include"]["configs"] = "long_context_tasks/configs"
