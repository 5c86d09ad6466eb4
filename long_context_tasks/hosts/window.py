"""Does a prompt fit the window of the model? ``template + prompt + answer budget <= window``.

lm-eval and OpenCompass cut a prompt that is too long from the left, without a word in the results. Here such a case is left out
before it is sent, named and counted. An unknown window is said so; it is never guessed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

UNCHECKED = "unchecked"
# A text whose likelihood is wanted needs this much room: lm-eval scores in windows, of which some of its models keep two tokens.
LIKELIHOOD_RESERVE = 2
PER_MESSAGE = 16
"""Tokens that a server may put around a prompt: a first token, the template of a message."""

Counter = Callable[[str], int]

# What servers say when a prompt is longer than their window (vLLM, OpenAI, llama.cpp, TGI, SGLang, Anthropic, ...).
_LENGTH_REFUSAL = re.compile(
    r"context[_ ]length|context window|maximum context|"
    r"prompt is too long|too many (?:input )?tokens|input (?:is )?too long|exceeds? (?:the )?(?:available )?context|"
    r"longer than the (?:model|maximum)|reduce the length|exceed_context_size",
    re.IGNORECASE,
)
# "max_model_len", "maximum input sequence length".
_LONGEST = re.compile(r"max(?:imum)?[_ ](?:model|seq|input|prompt)([_ a-z]*)", re.IGNORECASE)


def is_length_refusal(status: int, body: str) -> bool:
    """Whether an HTTP error is a server's way of saying that the prompt is too long.

    >>> is_length_refusal(400, "This model's maximum context length is 8192 tokens.")
    True
    >>> is_length_refusal(400, "unknown model")
    False
    """
    return status in (400, 413, 422) and (
        _LENGTH_REFUSAL.search(body) is not None
        or any("len" in name.lower() for name in _LONGEST.findall(body))
    )


@dataclass(frozen=True)
class Window:
    """The context window of a run.

    Attributes:
        tokens: its size; None when unknown.
        count: tokens of a rendered prompt, chat template included; None when it cannot be counted.
        source: where the size comes from, for the results: ``lct_window``, ``host``, or ``unchecked``.
    """

    tokens: int | None = None
    count: Callable[[str], int] | None = None
    source: str = UNCHECKED

    @property
    def checked(self) -> bool:
        """Whether prompts are held against the window."""
        return self.tokens is not None and self.count is not None

    def describe(self) -> str:
        """For the results: ``8192 (host)`` or ``unchecked``."""
        return f"{self.tokens} ({self.source})" if self.checked else UNCHECKED

    def fits(self, prompt: str, answer_budget: int) -> bool:
        """True when prompt and answer fit, or when nothing is known."""
        if self.tokens is None or self.count is None:
            return True
        return self.count(prompt) + answer_budget <= self.tokens


def at_most(count: Counter, margin: int, room: int) -> Counter:
    """A count that need not be exact where even one token per byte would fit; encoding long prompts takes time."""

    def bounded(text: str) -> int:
        most = len(text.encode("utf-8", "surrogatepass")) + margin
        return most if most <= room else count(text) + margin

    return bounded
