"""Options of ETHIC's tasks."""

from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema.options import Options, Text


@dataclass(frozen=True)
class EthicOptions(Options):
    """Common options, plus two of the official code's flags."""

    prompt_style: Text = "chat"
    # Keep only prompts of at most, or of more than, 32,768 tokens in the model's tokenizer.
    prompt_tokens: Literal["under_32k", "over_32k"] | None = None
