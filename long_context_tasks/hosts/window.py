"""Check that a prompt fits the model's window: ``template + prompt + answer budget <= window``.

lm-eval and OpenCompass silently truncate overlong prompts from the left. Here such a case is dropped before
it is sent, reported and counted; an ``lct_window`` larger than the length to which the host truncates has no
effect. A server is asked for its window (:mod:`.server`). An unknown window is reported as unknown and never
guessed.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

UNCHECKED = "unchecked"
IN_CL100K = "lct_window, counted in cl100k"  # for a model whose tokenizer is unknown
OF_CL100K = "gpt-4"  # name by which OpenCompass selects cl100k
# Placeholder response to a prompt that was not sent or that the server rejected.
REFUSED = "[long_context_tasks: this prompt does not fit the window]"
# Tokens reserved for a text to be scored: lm-eval scores in windows, and some of its models reserve two
# tokens in each.
LIKELIHOOD_RESERVE = 2
PER_MESSAGE = 16  # tokens that a server may add to a prompt: a first token, the message template

Counter = Callable[[str], int | None]

# Parts of server error messages for prompts that exceed the window (vLLM, OpenAI, llama.cpp, TGI, SGLang,
# Anthropic and others), in lower case.
_LENGTH_REFUSALS = (
    *("context length", "context_length", "context window", "maximum context", "exceed_context_size"),
    *("prompt is too long", "input is too long", "input too long"),
    *("too many tokens", "too many input tokens", "reduce the length"),
    *("longer than the model", "longer than the maximum"),
    *("exceed context", "exceeds context", "exceed the context", "exceeds the context"),
    *("exceed available context", "exceeds available context"),
    *("exceed the available context", "exceeds the available context"),
)
# "max_model_len", "maximum input sequence length": a length limit, with at most a few words in between.
_LIMIT = re.compile(r"max(?:imum)?[_ ](?:model|seq|input|prompt)[a-z_ ]*len")


def is_length_refusal(status: int, body: str) -> bool:
    """Return whether an HTTP error is a context-length rejection.

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
    """Return the token that lm-eval prepends to a text: BOS, otherwise EOS, or None if neither exists."""
    ids = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    return next((int(token) for token in ids if token is not None), None)


def encode(tokenizer: Any, text: str) -> list[int]:
    """Encode a text as lm-eval's ``hf`` does: with the tokenizer's special tokens, but never a second BOS."""
    first = prefix_token(tokenizer)
    if first is not None and text.startswith(tokenizer.decode(first)):
        return list(tokenizer.encode(text, add_special_tokens=False))
    return list(tokenizer.encode(text))


@dataclass(frozen=True)
class Window:
    tokens: int | None = None  # size in tokens; None if unknown
    # Returns a text's token count, or None if its server stopped counting; None if tokens cannot be counted.
    count: Counter | None = None
    source: str = UNCHECKED  # lct_window, IN_CL100K, server or host; written into the results
    margin: int = 0  # tokens around a prompt that `count` does not include

    @property
    def checked(self) -> bool:
        return self.tokens is not None and self.count is not None

    def describe(self) -> str:
        """Return the size and its source for the results: ``8192 (host)`` or ``unchecked``."""
        return f"{self.tokens} ({self.source})" if self.checked else UNCHECKED

    def fits(self, prompt: str, answer_budget: int) -> bool:
        """Return whether a rendered prompt and its answer fit; True if the window or the count is unknown."""
        if self.tokens is None or self.count is None:
            return True
        room = self.tokens - answer_budget - self.margin
        # A token has at least one byte, so most prompts need not be encoded, which takes time.
        if len(prompt.encode("utf-8", "surrogatepass")) <= room:
            return True
        tokens = self.count(prompt)
        return tokens is None or tokens <= room

    def fits_candidates(self, counts: Sequence[int]) -> bool:
        """Return whether texts to be scored fit, given their token counts; True if the window is unknown."""
        return self.tokens is None or max(counts) + LIKELIHOOD_RESERVE <= self.tokens
