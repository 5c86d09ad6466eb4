"""Where in a prompt the right answer stands, so that pages can mark it."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from long_context_tasks.schema import Case, Documents, InputError

MOST = 300
"""Places in one prompt; the rest stay unmarked."""
_WORD = re.compile(r"\w+")


def answer_places(
    take_apart: Callable[[Case, Documents], Sequence[Any]],
    case: Case,
    documents: Documents,
    prompt: Sequence[tuple[str, str]],
) -> tuple[tuple[int, int, int], ...]:
    """Return message, start and end of the stretches that hold the right answer, in order and apart; in characters.

    Right options are marked where they are shown, a right value where the context mentions it, and the words of a right list at each
    occurrence. An order has no such place, and neither has an option that the prompt was cut to leave out.

    Args:
        take_apart: a benchmark's ``challenges``, see :class:`long_context_tasks.benchmarks.plugin.Benchmark`.
        case: whose prompt it is.
        documents: of its task.
        prompt: role and content of each message.
    """
    try:
        challenges = take_apart(case, documents)
    except InputError:
        return ()
    found: list[tuple[int, int, int]] = []
    for message, (_, text) in enumerate(prompt):
        end_before = 0
        for start, end in sorted(
            place for challenge in challenges for place in _places(challenge, text) if place[0] < place[1]
        ):
            if start >= end_before:
                found.append((message, start, end))
                end_before = end
    return tuple(found[:MOST])


def _places(challenge: Any, text: str) -> Iterator[tuple[int, int]]:
    if challenge.form == "list" and challenge.gold:
        either = "|".join(re.escape(word) for word in sorted(challenge.gold, key=len, reverse=True))
        yield from (match.span() for match in re.finditer(rf"(?<!\w)(?:{either})(?!\w)", text))
    if challenge.form not in ("choice", "subset"):
        return
    for place in challenge.gold:
        option = challenge.options[place]
        if challenge.mentions:
            base = text.find(challenge.context)
            for at in challenge.mentions[place] if base >= 0 else ():
                same = text[base + at :][: len(option)].lower() == option.lower()
                word = _WORD.match(text, base + at)
                yield base + at, base + at + len(option) if same else word.end() if word else base + at
        elif option and (at := text.find(option)) >= 0:
            yield at, at + len(option)
