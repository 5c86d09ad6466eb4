"""The options of ETHIC beside the common ones."""

from dataclasses import dataclass

from long_context_tasks.schema.options import Options, one_of, option, text


@dataclass(frozen=True)
class EthicOptions(Options):
    """See :class:`~long_context_tasks.schema.Options`.

    Attributes:
        prompt_style: how the prompt is laid out.
        prompt_tokens: under_32k or over_32k: only prompts of at most, or above, 32,768 tokens of the model's tokenizer.
    """

    prompt_style: str | None = option(text)
    prompt_tokens: str | None = option(one_of("under_32k", "over_32k"))
