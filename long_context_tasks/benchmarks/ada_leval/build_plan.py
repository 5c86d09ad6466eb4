"""What both case builders share: the lengths that are asked for, settings, counting, reports."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from long_context_tasks.schema import InputError, TaskCard, format_length, parse_length
from long_context_tasks.schema.options import LENGTH_POLICIES
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

T = TypeVar("T")
SHORTEST = 500
"""A prompt's instruction alone has some 200 tokens; below this length no case is worth the name."""


class Progress:
    """How a builder reports long work; this one stays silent."""

    def over(self, items: Iterable[T], what: str, unit: str, total: int | None = None) -> Iterable[T]:
        """The same items, counted while they are taken."""
        return items


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


@dataclass(frozen=True)
class TaskReport:
    """What came out for one length.

    Attributes:
        task: task name.
        tokens: of every case's prompt, in the tokenizer of the bounds.
        clusters: number of books or questions.
        random_guess: accuracy of guessing, 0 to 1.
        dropped: why places or questions gave no case, with counts.
        notes: sentences for the user.
    """

    task: str
    tokens: Sequence[int]
    clusters: int
    random_guess: float
    dropped: Mapping[str, int] = field(default_factory=Counter)
    notes: Sequence[str] = ()


def parse_lengths(text: str, published: Sequence[str]) -> tuple[int, ...]:
    """Lengths as users write them; ``...`` stands for the published lengths between its neighbours.

    >>> parse_lengths("2k,...,16k,100k", ["1k", "2k", "4k", "8k", "16k", "32k"])
    (2000, 4000, 8000, 16000, 100000)

    Raises:
        InputError: not understood, with an example.
    """
    known = sorted(map(parse_length, published))
    words = [word.strip() for word in text.split(",") if word.strip()]
    lengths: set[int] = set()
    for place, word in enumerate(words):
        if word not in ("...", "…"):
            lengths.add(parse_length(word))
            continue
        if place in (0, len(words) - 1) or "..." in (words[place - 1], words[place + 1]):
            raise InputError(f"--length {text}: '...' must stand between two lengths, as in 2k,...,128k")
        low, high = parse_length(words[place - 1]), parse_length(words[place + 1])
        if low >= high:
            raise InputError(f"--length {text}: {words[place - 1]} is not shorter than {words[place + 1]}")
        lengths.update(length for length in known if low < length < high)
    return tuple(sorted(lengths))


def bound_of(card: TaskCard, length: int) -> int:
    """Most tokens of a prompt of a length: the paper's figure where it has one."""
    return int(card.bounds.get(format_length(length), length))


def stable_seed(*parts: Any) -> str:
    """A seed for ``random.Random`` that depends on the parts only, not on order, process or Python version."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()
