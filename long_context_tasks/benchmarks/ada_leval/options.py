"""The options of Ada-LEval beside the common ones."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options


@dataclass(frozen=True)
class AdaLevalOptions(Options):
    """See :class:`~long_context_tasks.schema.Options`.

    Attributes:
        cut_keep: front or rear: what a ``_cut*`` variant keeps.
    """

    cut_keep: Literal["front", "rear"] = "front"
