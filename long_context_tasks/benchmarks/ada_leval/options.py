"""Options for Ada-LEval's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options


@dataclass(frozen=True)
class AdaLevalOptions(Options):
    """Common options, plus the truncation used by ``_cut*`` variants."""

    cut_keep: Literal["front", "rear"] = "front"  # which end of the answers is kept
