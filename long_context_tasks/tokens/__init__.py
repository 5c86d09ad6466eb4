"""Count tokens with cl100k, which works offline, or with any Hugging Face tokenizer."""

from long_context_tasks.schema.case import CL100K
from long_context_tasks.tokens.hub import check_hub_model
from long_context_tasks.tokens.tokenizers import (
    Countable,
    Tokenizer,
    cached_counts,
    cl100k_encoding,
    count_cases,
    get_tokenizer,
    provide_table,
    same_tokenizer,
    tokenizer_identity,
)

__all__ = [
    "CL100K",
    "Countable",
    "Tokenizer",
    "cached_counts",
    "check_hub_model",
    "cl100k_encoding",
    "count_cases",
    "get_tokenizer",
    "provide_table",
    "same_tokenizer",
    "tokenizer_identity",
]
