"""A turn of a case as attackers see it, whatever the benchmark; each benchmark takes its own cases apart."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Form = Literal["list", "choice", "subset", "order", "pages"]
"""Words of the context; an option; some options; all options in an order; a text for each option."""


@dataclass(frozen=True)
class Challenge:
    """What is asked, and what is right.

    Attributes:
        form: of the answer, see :data:`Form`.
        context: the text to read, where options are no part of it.
        query: what is asked about it.
        options: texts to choose from, to order, or to summarize.
        gold: words of the context for ``list``, else places of right options, in their order; empty for ``pages``.
        rests: for each right item, how much of the text has to be read to know it, from 0 to 1.
        write: an answer, given as ``gold`` is (for ``pages`` as texts), to a response in the form of the task.
        around: the texts before and after options that are stretches of one text.
        mentions: for each option, the characters of the context at which it is mentioned.
        rules: attacks on this task alone, by name: regular expressions of those who read its builder.
        carrier: kind of real text that the context should be like, such as ``novels``.
    """

    form: Form
    context: str
    query: str
    options: tuple[str, ...]
    gold: tuple[Any, ...]
    rests: tuple[float, ...]
    write: Callable[[Sequence[Any]], str] = field(repr=False)
    around: tuple[str, str] | None = None
    mentions: tuple[tuple[int, ...], ...] = ()
    rules: Mapping[str, Callable[["Challenge"], Sequence[Any]]] = field(default_factory=dict)
    carrier: str = ""

    @property
    def text(self) -> str:
        """All that has to be read."""
        before, after = self.around or ("", "")
        return "\n\n".join(filter(None, (before, self.context or "\n\n".join(self.options), after)))


def first_places(text: str, items: Sequence[str]) -> tuple[float, ...]:
    """Return where each item occurs first as a word of its own, from 0 to 1; 1 for an item that does not.

    >>> first_places("Anne saw Kit", ["Kit", "Anne", "Kitty"])
    (0.75, 0.0, 1.0)
    """
    first: dict[str, int] = {}
    tokens: dict[str, int] = {}
    for match in re.finditer(r"\w+(?:[,'’-]\w+)*", text):
        tokens.setdefault(match[0], match.start())
    for token, start in tokens.items():
        for word in (token, token.replace(",", ""), *re.split(r"[,'’-]", token)):
            first.setdefault(word, start)
    return tuple(first.get(item, len(text)) / max(1, len(text)) for item in items)
