"""Build steps: the wheel carries the OpenCompass configs as ``long_context_tasks/configs``, and a README for package indexes."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the configs, except to an editable installation, which reads them where they are edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling; ``version`` is "standard" or "editable"."""
        if version == "standard":
            build_data["force_include"]["configs"] = "long_context_tasks/configs"


class CustomMetadataHook(MetadataHookInterface):
    """Takes out of the README what would be broken on a package index, which has no other file of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling. Pictures go with the line in italics below them, and links to files leave their words."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = re.sub(r"!\[[^]]*\]\((?!https:)[^)]*\)\s*(\*[^*\n]+\*\n+)?", "", text)
        text = re.sub(r"\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
