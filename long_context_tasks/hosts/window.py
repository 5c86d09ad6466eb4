"""Checks that a prompt fits the model's window: ``template + prompt + answer budget <= window``.

lm-eval and OpenCompass cut a prompt that is too long from the left and do not record it. Here such a case is left out before it is sent,
named and counted. An unknown window is reported as unknown and never guessed.
"""

from collections.abc import Callable
from dataclasses import dataclass

UNCHECKED = "unchecked"
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
# "max_model_len", "maximum input sequence length": what is limited, and that it is a length, with at most a few words between.
_LIMITS = tuple(
    f"{limit}{gap}{limited}"
    for limit in ("max", "maximum")
    for gap in ("_", " ")
    for limited in ("model", "seq", "input", "prompt")
)


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
    return any(phrase in text for phrase in _LENGTH_REFUSALS) or any(
        "len" in _words_after(limit, text) for limit in _LIMITS
    )


def _words_after(start: str, text: str) -> str:
    """Return the letters, blanks and underscores that follow any occurrence of a text."""
    found = []
    for rest in text.split(start)[1:]:
        end = next((i for i, letter in enumerate(rest) if not (letter in " _" or "a" <= letter <= "z")), None)
        found.append(rest[:end])
    return " ".join(found)


@dataclass(frozen=True)
class Window:
    """The context window of a run."""

    tokens: int | None = None  # its size; None if unknown
    # Returns the tokens of a rendered prompt, chat template included; None if they cannot be counted.
    count: Counter | None = None
    source: str = UNCHECKED  # lct_window, host or unchecked; written into the results

    @property
    def checked(self) -> bool:
        return self.tokens is not None and self.count is not None

    def describe(self) -> str:
        """Return the size and its source for the results: ``8192 (host)`` or ``unchecked``."""
        return f"{self.tokens} ({self.source})" if self.checked else UNCHECKED

    def fits(self, prompt: str, answer_budget: int) -> bool:
        """Return whether prompt and answer fit; True if nothing is known."""
        if self.tokens is None or self.count is None:
            return True
        return self.count(prompt) + answer_budget <= self.tokens


def at_most(count: Counter, margin: int, room: int) -> Counter:
    """Return a counter that encodes a prompt only if it could exceed the room; encoding long prompts takes time.

    Otherwise it returns an upper bound: a token has at least one byte.
    """

    def bounded(text: str) -> int:
        most = len(text.encode("utf-8", "surrogatepass")) + margin
        return most if most <= room else count(text) + margin

    return bounded
