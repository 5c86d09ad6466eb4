"""Where the context of a prompt ends, in characters and in tokens."""

import re
from bisect import bisect_left
from collections.abc import Sequence

_GAP = re.compile(r"\n\n+")


def context_end(prompt: str, context: str) -> int | None:
    """Return the place in a prompt behind its context; None where the prompt does not hold the context's last paragraph.

    A prompt may have words between the texts of its context, such as the designation of an answer. So the end is that of the
    longest end of the context, of whole paragraphs, that occurs in the prompt, where it occurs last.

    Args:
        prompt: as sent, with the chat template.
        context: as the benchmark takes its case apart; texts with a blank line between.

    >>> context_end("Read. A1: One. A2: Two. Which?", "One.\\n\\nTwo.")
    23
    """
    context = context.strip()
    starts = [0, *(gap.end() for gap in _GAP.finditer(context))]
    # Where an end of the context occurs, shorter ones do too.
    first = bisect_left(starts, True, key=lambda start: context[start:] in prompt)
    if first == len(starts) or not context:
        return None
    end = context[starts[first] :]
    return prompt.rindex(end) + len(end)


def shared_tokens(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two texts share at their beginning.

    >>> shared_tokens([1, 2, 3], [1, 2, 4, 5])
    2
    """
    pairs = zip(first, second, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
