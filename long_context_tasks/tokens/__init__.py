"""Counting tokens: cl100k without a network, or any Hugging Face tokenizer."""

from long_context_tasks.tokens.tokenizers import CL100K, Tokenizer, get_tokenizer

__all__ = ["CL100K", "Tokenizer", "get_tokenizer"]
