"""TSort by a language model of 135M parameters that reads a few words at each possible joint of two segments."""

import itertools
import re

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from long_context_tasks.hosts.demo_model import demo_model_path

BEFORE, AFTER = 80, 32
"""Tokens read before and after a joint."""


class JointReader:
    """Orders segments so that the beginnings of segments are likeliest after the ends of those before them."""

    def __init__(self) -> None:
        folder = demo_model_path()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()

    def answer(self, prompt: str) -> str:
        """Return the likeliest of all orders."""
        _, *texts = re.split(r"\n\n(?:Before|Part \d+|After): ", prompt[prompt.rindex("\n\nBefore: ") :])
        n = len(texts) - 2
        # The text before the segments and they themselves end at a joint, they and the text behind begin at one.
        ends = [self.tokens("\n\n" + text[-800:].rstrip() + "\n\n")[-BEFORE:] for text in texts[:-1]]
        begins = [self.tokens(text[:400].lstrip())[:AFTER] for text in texts[1:]]
        likely = {}
        for left in range(n + 1):
            rights = [right for right in range(n + 1) if right != left - 1 and (left, right) != (0, n)]
            found = self.log_likelihoods(ends[left], [begins[right] for right in rights])
            likely |= {(left, right): value for right, value in zip(rights, found, strict=True)}

        def total(order: tuple[int, ...]) -> float:
            return sum(
                likely[joint] for joint in zip((0, *(one + 1 for one in order)), (*order, n), strict=True)
            )

        return f"Answer: {[one + 1 for one in max(itertools.permutations(range(n)), key=total)]}"

    def tokens(self, text: str) -> list[int]:
        """Return the ids of a text's tokens."""
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)

    @torch.inference_mode()
    def log_likelihoods(self, left: list[int], rights: list[list[int]]) -> list[float]:
        """Return how likely each text is after the left one, which is computed once."""
        first = self.model(torch.tensor([left]), use_cache=True, logits_to_keep=1)
        first.past_key_values.batch_repeat_interleave(len(rights))
        width = max(map(len, rights))
        ids = torch.tensor([right + [0] * (width - len(right)) for right in rights])
        then = self.model(ids, past_key_values=first.past_key_values).logits[:, :-1]
        logits = torch.cat([first.logits.expand(len(rights), -1, -1), then], dim=1).log_softmax(-1)
        each = logits.gather(2, ids[..., None])[..., 0]
        return [float(row[: len(right)].sum()) for row, right in zip(each, rights, strict=True)]
