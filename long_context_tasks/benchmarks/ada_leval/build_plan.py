"""What both case builders share: settings, counting, bounds, seeds."""

import hashlib
from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks.building import Progress, TaskReport, parse_lengths
from long_context_tasks.schema import InputError, TaskCard, format_length
from long_context_tasks.schema.options import LENGTH_POLICIES
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

__all__ = ["BuildSettings", "Progress", "TaskReport", "bound_of", "parse_lengths", "stable_seed"]
SHORTEST = 500
"""A prompt's instruction alone has some 200 tokens; below this length no case is worth the name."""


@dataclass(frozen=True)
class BuildSettings:
    """Settings of both builders.

    Attributes:
        lengths: tokens, ascending.
        seed: of shuffles and choices.
        n: most cases of each length; None for all.
        tokenizer: cl100k, or another one in which prompts are counted as well.
        length_policy: ``same_information``: caps and bounds are cl100k tokens; ``same_tokens``: tokens of ``tokenizer``.
    """

    lengths: tuple[int, ...]
    seed: int = 0
    n: int | None = None
    tokenizer: str | None = None
    length_policy: str = "same_information"

    def __post_init__(self) -> None:
        """Refuse what cannot be built, before any costly work."""
        if not self.lengths:
            raise InputError("no length is given: add --length, e.g. --length 2k or --length 2k,...,128k")
        if too_short := [length for length in self.lengths if length < SHORTEST]:
            raise InputError(
                f"length {too_short[0]} is too short: the instruction alone takes some 200 tokens; use {SHORTEST} or more"
            )
        if self.length_policy not in LENGTH_POLICIES:
            raise InputError(
                f"--length-policy must be one of {', '.join(LENGTH_POLICIES)}, not {self.length_policy!r}"
            )
        if self.length_policy == "same_tokens" and self.tokenizer is None:
            raise InputError(
                "same_tokens counts in the model's tokenizer: give --tokenizer (lct_tokenizer) as well"
            )
        if self.n is not None and self.n < 1:
            raise InputError(f"--n must be above 0, not {self.n}")

    @property
    def measure(self) -> Tokenizer:
        """The tokenizer in which caps and bounds are meant."""
        return get_tokenizer(str(self.tokenizer) if self.length_policy == "same_tokens" else CL100K)

    @property
    def other_tokenizer(self) -> Tokenizer | None:
        """The tokenizer beside cl100k, when there is one."""
        return None if self.tokenizer in (None, CL100K) else get_tokenizer(str(self.tokenizer))


def bound_of(card: TaskCard, length: int) -> int:
    """Most tokens of a prompt of a length: the paper's figure where it has one."""
    return int(card.bounds.get(format_length(length), length))


def stable_seed(*parts: Any) -> str:
    """A seed for ``random.Random`` that depends on the parts only, not on order, process or Python version."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()
