"""Options of Ada-LEval's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options


@dataclass(frozen=True)
class AdaLevalOptions(Options):
    """Common options, and how a ``_cut*`` variant cuts."""

    cut_keep: Literal["front", "rear"] = "front"  # the end of the answers that is kept
