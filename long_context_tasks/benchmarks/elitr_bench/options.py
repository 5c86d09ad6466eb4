"""Options of ELITR-Bench's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options, Text, UserPath


@dataclass(frozen=True)
class ElitrBenchOptions(Options):
    """Common options, and those of prompts and noise."""

    prompt_style: Text | None = None  # layout of the prompt
    # Whether questions and answers are marked, as for some of the paper's models.
    question_markers: bool | None = None
    # Exact reaches the target word error rate as measured and does not change tags; official is the paper's
    # simulator, which misses the target and changes tags.
    noise_mode: Literal["exact", "official"] | None = None
    noise_rules: UserPath | None = None  # file of noise rules; by default, the package's rules
