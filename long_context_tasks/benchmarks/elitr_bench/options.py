"""Options for ELITR-Bench's tasks, and settings for its builders."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options, Text, UserPath
from long_context_tasks.tokens.build_settings import BuildSettings


@dataclass(frozen=True)
class ElitrBenchOptions(Options):
    """Common options, plus those for prompts and noise."""

    prompt_style: Text = "chat"
    # Whether questions and answers have markers, as for some of the paper's models.
    question_markers: bool = False
    # Only "exact" reaches the target word error rate and keeps tags; "official" is the paper's simulator.
    # Tasks without noise record None.
    noise_mode: Literal["exact", "official"] | None = "exact"
    noise_rules: UserPath | None = None  # defaults to the packaged rules


@dataclass(frozen=True)
class MeetingSettings(BuildSettings):
    """Settings for synthetic cases.

    A length is the maximum number of tokens in a prompt, not counting the model's earlier answers.
    """

    SHORTEST = 1_000
    INSTRUCTION = "some 100"
