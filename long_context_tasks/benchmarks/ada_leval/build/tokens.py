"""How many tokens a BestAnswer prompt has, from the counts of its texts, so that no text is encoded twice.

Exact for cl100k (see ``prompts.bestanswer_parts`` for why the parts add up), an estimate for other tokenizers.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.counts import Ints, count_pieces
from long_context_tasks.tokens import Tokenizer


class PromptCounter:
    """Tokens of a prompt = ``questions`` + sum of ``answers`` + ``designations`` + ``after_last`` of the last answer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Use a tokenizer; its counts of short pieces are remembered."""
        self._tokenizer = tokenizer
        self._short = lru_cache(maxsize=4096)(tokenizer.count)
        self._around_question = lru_cache(maxsize=4096)(self._count_around_question)
        self._after_ending = lru_cache(maxsize=4096)(self._count_ending)
        self._designations = np.zeros(1, dtype=np.int64)

    def questions(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): everything before the first answer, for each question."""
        split = [prompts.split_lead(text) for text in texts]
        around = [self._around_question(lead, bool(body)) for lead, body in split]
        return np.array(around, dtype=np.int64) + self._bodies([body for _, body in split])

    def _count_around_question(self, lead: str, followed: bool) -> int:
        if not followed:
            *blank, _ = prompts.bestanswer_parts(lead, [])
            return sum(map(self._tokenizer.count, blank))
        instruction, head, *_, answers, _ = prompts.bestanswer_parts(lead + "x", [])
        return sum(map(self._tokenizer.count, (instruction, head, answers)))

    def _bodies(self, bodies: Sequence[str]) -> Ints:
        """int64 (n,): each body with the gap behind it; 0 for an empty one, whose gap belongs to what stands before it."""
        counts = np.zeros(len(bodies), dtype=np.int64)
        filled = [place for place, body in enumerate(bodies) if body]
        if filled:
            pieces = [bodies[place] + prompts.GAP for place in filled]
            counts[filled] = count_pieces(pieces, self._tokenizer)
        return counts

    def answers(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): each answer with the blank lines around it, without its designation."""
        split = [prompts.split_lead(text) for text in texts]
        # Blank lines that a text begins with melt into the colon and the newlines before them; so does the gap after a blank text.
        leads = [self._lead(lead if body else lead + prompts.GAP) for lead, body in split]
        return np.array(leads, dtype=np.int64) + self._bodies([body for _, body in split])

    def _lead(self, lead: str) -> int:
        return self._short(prompts.answer_head(1, lead)) - self._short(
            prompts.answer_head(1, "").rstrip(":\n")
        )

    def designations(self, number: int) -> npt.NDArray[np.int64]:
        """int64 (number + 1,): tokens of the first k designations ("A1", "A2", ...), for every k."""
        if len(self._designations) <= number:
            start = len(self._designations)
            new = [self._short(f"A{place}") for place in range(start, 2 * number + 1)]
            self._designations = np.concatenate([self._designations, self._designations[-1] + np.cumsum(new)])
        return self._designations[: number + 1]

    def after_last(self, text: str) -> int:
        """The closing line, and what the last answer has more because its gap runs into it."""
        if not prompts.split_lead(text)[1]:
            return self._count_blank_ending(text)
        # Only what stands behind the last letter or digit can melt into the gap.
        start = len(text)
        while start and not (text[start - 1].isascii() and text[start - 1].isalnum()):
            start -= 1
        return self._after_ending(text[start:])

    def _count_blank_ending(self, text: str) -> int:
        *_, last, footer = prompts.bestanswer_parts(None, [text])
        return self._short(last) - self._short(last.removesuffix("\n")) + self._short(footer)

    def _count_ending(self, ending: str) -> int:
        *_, last, footer = prompts.bestanswer_parts(None, ["x" + ending])
        gap = last.removesuffix("\n")
        return self._tokenizer.count(last) - self._tokenizer.count(gap) + self._tokenizer.count(footer)
