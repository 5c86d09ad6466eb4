"""What every case builder is told: the lengths to build, and the tokenizer in which they are meant."""

from dataclasses import dataclass
from typing import ClassVar

from long_context_tasks.schema import InputError
from long_context_tasks.schema.options import LENGTH_POLICIES
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer


@dataclass(frozen=True)
class BuildSettings:
    """Settings that every builder has; its own stand in a subclass.

    Attributes:
        lengths: tokens, ascending.
        seed: of shuffles and choices.
        n: most cases of each length; None for all.
        tokenizer: cl100k, or another one in which prompts are counted as well.
        length_policy: ``same_information``: caps and bounds are cl100k tokens; ``same_tokens``: tokens of ``tokenizer``.
    """

    SHORTEST: ClassVar[int] = 500
    """Below this length no case is worth the name."""
    INSTRUCTION: ClassVar[str] = "some 200"
    """Tokens of a prompt that are no context, for messages."""

    lengths: tuple[int, ...]
    seed: int = 0
    n: int | None = None
    tokenizer: str | None = None
    length_policy: str = "same_information"

    def __post_init__(self) -> None:
        """Refuse what cannot be built, before any costly work."""
        if not self.lengths:
            raise InputError("no length is given: add --length, e.g. --length 2k or --length 2k,...,128k")
        if too_short := [length for length in self.lengths if length < self.SHORTEST]:
            raise InputError(
                f"length {too_short[0]} is too short: the instruction alone takes {self.INSTRUCTION} tokens; use "
                f"{self.SHORTEST} or more"
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
