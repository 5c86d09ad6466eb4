"""Options of ELITR-Bench's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options, Text, UserPath


@dataclass(frozen=True)
class ElitrBenchOptions(Options):
    """Common options, and those of prompts and noise."""

    prompt_style: Text | None = None
    # Whether questions and answers are marked, as for some of the paper's models.
    question_markers: bool | None = None
    # Only exact reaches the target word error rate and keeps tags; official is the paper's simulator.
    noise_mode: Literal["exact", "official"] | None = None
    noise_rules: UserPath | None = None  # by default, those of the package
