"""How many tokens a BestAnswer prompt has, from the counts of its texts, so that no text is encoded twice.

Exact for cl100k (see ``prompts.bestanswer_parts`` for why the parts add up), an estimate for other tokenizers.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.piece_counts import Ints, count_pieces
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
        bodies = count_pieces([prompts.split_lead(text)[1] + prompts.GAP for text in texts], self._tokenizer)
        return bodies + np.array(
            [self._around_question(prompts.split_lead(text)[0]) for text in texts], dtype=np.int64
        )

    def _count_around_question(self, lead: str) -> int:
        instruction, head, *_, answers, _ = prompts.bestanswer_parts(lead + "x", [])
        return sum(map(self._tokenizer.count, (instruction, head, answers)))

    def answers(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): each answer with the blank lines around it, without its designation."""
        split = [prompts.split_lead(text) for text in texts]
        # Blank lines that a text begins with melt into the colon and the newlines before them.
        leads = np.array([self._lead(lead) for lead, _ in split], dtype=np.int64)
        return leads + count_pieces([body + prompts.GAP for _, body in split], self._tokenizer)

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
        # Only what stands behind the last letter or digit can melt into the gap.
        start = len(text)
        while start and not (text[start - 1].isascii() and text[start - 1].isalnum()):
            start -= 1
        return self._after_ending(text[start:])

    def _count_ending(self, ending: str) -> int:
        *_, last, footer = prompts.bestanswer_parts(None, ["x" + ending])
        gap = last.removesuffix("\n")
        return self._tokenizer.count(last) - self._tokenizer.count(gap) + self._tokenizer.count(footer)
