"""Options of ELITR-Bench's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options, Text, UserPath


@dataclass(frozen=True)
class ElitrBenchOptions(Options):
    """Common options, and those of prompts and noise."""

    prompt_style: Text = "chat"
    # Whether questions and answers are marked, as for some of the paper's models.
    question_markers: bool = False
    # Only exact reaches the target word error rate and keeps tags; official is the paper's simulator.
    # Tasks without noise record None.
    noise_mode: Literal["exact", "official"] | None = "exact"
    noise_rules: UserPath | None = None  # by default, those of the package
