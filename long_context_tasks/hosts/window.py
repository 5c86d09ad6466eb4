"""Checks that a prompt fits the model's window: ``template + prompt + answer budget <= window``.

lm-eval and OpenCompass cut a prompt that is too long from the left and do not record it. Here such a case is left out before it is sent,
named and counted; an ``lct_window`` larger than the length at which the host cuts has no effect. An unknown window is reported as unknown and
never guessed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

UNCHECKED = "unchecked"
IN_CL100K = "lct_window, counted in cl100k"  # for a model whose tokenizer is unknown
# Stands for the response to a prompt that the server refused.
REFUSED = "[long_context_tasks: the server refused this prompt for its length]"
# Tokens that a text to be scored leaves free: lm-eval scores in windows, of which some of its models keep two
# tokens.
LIKELIHOOD_RESERVE = 2
PER_MESSAGE = 16  # tokens that a server may put around a prompt: a first token, the template of a message

Counter = Callable[[str], int]

# Parts of what servers answer to a prompt that is longer than their window (vLLM, OpenAI, llama.cpp, TGI, SGLang, Anthropic and others),
# in lower case.
_LENGTH_REFUSALS = (
    *("context length", "context_length", "context window", "maximum context", "exceed_context_size"),
    *("prompt is too long", "input is too long", "input too long"),
    *("too many tokens", "too many input tokens", "reduce the length"),
    *("longer than the model", "longer than the maximum"),
    *("exceed context", "exceeds context", "exceed the context", "exceeds the context"),
    *("exceed available context", "exceeds available context"),
    *("exceed the available context", "exceeds the available context"),
)
# "max_model_len", "maximum input sequence length": a limit of a length, with at most a few words between.
_LIMIT = re.compile(r"max(?:imum)?[_ ](?:model|seq|input|prompt)[a-z_ ]*len")


def is_length_refusal(status: int, body: str) -> bool:
    """Return whether an HTTP error means that the prompt is too long.

    >>> is_length_refusal(400, "This model's maximum context length is 8192 tokens.")
    True
    >>> is_length_refusal(400, "the prompt is longer than max_model_len 8192")
    True
    >>> is_length_refusal(400, "unknown model")
    False
    """
    if status not in (400, 413, 422):
        return False
    text = body.lower()
    return any(phrase in text for phrase in _LENGTH_REFUSALS) or _LIMIT.search(text) is not None


def prefix_token(tokenizer: Any) -> int | None:
    """Return the token that lm-eval puts before a text: BOS, or else EOS; None if the tokenizer has neither."""
    ids = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    return next((int(token) for token in ids if token is not None), None)


def encode(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text as lm-eval's ``hf`` encodes it: with the tokenizer's own special tokens, but never a second BOS."""
    first = prefix_token(tokenizer)
    if first is not None and text.startswith(tokenizer.decode(first)):
        return list(tokenizer.encode(text, add_special_tokens=False))
    return list(tokenizer.encode(text))


@dataclass(frozen=True)
class Window:
    """The context window of a run."""

    tokens: int | None = None  # its size; None if unknown
    count: Counter | None = None  # returns the tokens of a text; None if they cannot be counted
    source: str = UNCHECKED  # lct_window, IN_CL100K or host; written into the results
    margin: int = 0  # tokens around a prompt that `count` does not include

    @property
    def checked(self) -> bool:
        return self.tokens is not None and self.count is not None

    def describe(self) -> str:
        """Return the size and its source for the results: ``8192 (host)`` or ``unchecked``."""
        return f"{self.tokens} ({self.source})" if self.checked else UNCHECKED

    def fits(self, prompt: str, answer_budget: int) -> bool:
        """Return whether a rendered prompt, chat template included, and its answer fit; True if nothing is known."""
        if self.tokens is None or self.count is None:
            return True
        room = self.tokens - answer_budget - self.margin
        # A token has at least one byte: most prompts need not be encoded, which takes time.
        return len(prompt.encode("utf-8", "surrogatepass")) <= room or self.count(prompt) <= room

    def fits_candidates(self, counts: Sequence[int]) -> bool:
        """Return whether texts to be scored fit, by their tokens; True if nothing is known."""
        return self.tokens is None or max(counts) + LIKELIHOOD_RESERVE <= self.tokens
