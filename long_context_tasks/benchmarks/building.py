"""What the case builders of all benchmarks have in common, so that ``lct build`` needs to know none of them by name.

A benchmark's ``build.py`` names what it can build in ``FAMILIES`` and has one function for it::

    FAMILIES = {"ada_leval_tsort": Family("tsort", TSortSettings, source="books"), ...}
    def build(family, source, settings, folder, progress) -> list[TaskReport]
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from long_context_tasks.schema import parse_length
from long_context_tasks.schema.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Family:
    """Cases that one builder makes, at any length; its name is that of the case folder too.

    Attributes:
        task: the task of the card that they belong to.
        settings: of the builder, a subclass of :class:`long_context_tasks.tokens.build_settings.BuildSettings`; the names of its
            fields are options of ``lct build``.
        source: the option of ``lct build`` that names the raw data, without dashes; None when none are needed.
    """

    task: str
    settings: type[Any]
    source: str | None = None


class Progress:
    """How a builder reports long work; this one stays silent."""

    def over(self, items: Iterable[T], what: str, unit: str, total: int | None = None) -> Iterable[T]:
        """The same items, counted while they are taken."""
        return items


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
