"""Options of ETHIC's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options, Text


@dataclass(frozen=True)
class EthicOptions(Options):
    """Common options, and two of the official code's flags."""

    prompt_style: Text = "chat"
    # Keep only prompts of at most, or above, 32,768 tokens of the model's tokenizer.
    prompt_tokens: Literal["under_32k", "over_32k"] | None = None
