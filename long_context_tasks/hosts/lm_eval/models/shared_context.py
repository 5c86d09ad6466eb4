"""A transformers causal model that prefills a context once for all its questions.

Subclasses change the cache. A prompt's context is its beginning, up to the end of the text that the
benchmark's ``split`` returns as the case's context. Everything after it, including chat-template tokens, is
the question. Prompts with the same tokens up to that point share one cache.
"""

import copy
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils import handle_stop_sequences, normalize_gen_kwargs, postprocess_generated_text
from lm_eval.models.utils_hf import stop_sequences_criteria
from tqdm import tqdm
from transformers import DynamicCache, LogitsProcessorList, RepetitionPenaltyLogitsProcessor

from long_context_tasks.hosts.lm_eval.task import CaseInstance
from long_context_tasks.schema import InputError

_GAP = re.compile(r"\n\n+")


@dataclass(frozen=True)
class ReadContext:
    ids: Sequence[int]  # token ids
    cache: Any  # their keys and values, or a part of them
    position: int  # of the next token; exceeds the cache length if keys were evicted


class SharedContextLM(HFLM):  # type: ignore[misc]
    """A model that answers greedily, one prompt at a time, from a context's whole cache."""

    @torch.no_grad()
    def read(self, ids: Sequence[int]) -> ReadContext:
        """Prefill a context of at least one token and keep its keys and values."""
        cache = DynamicCache()
        self.model(input_ids=self._row(ids), past_key_values=cache, use_cache=True, logits_to_keep=1)
        return ReadContext(ids, cache, len(ids))

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Answer requests from our tasks; those with the same context are adjacent."""
        # All ends first, so that a request that cannot be split is rejected before the first prefill.
        ends = [self._context_end(request) for request in requests]
        together: dict[int, list[int]] = {}
        for index, end in enumerate(ends):
            together.setdefault(hash(requests[index].args[0][:end]), []).append(index)
        answers = [""] * len(requests)
        progress = tqdm(total=len(requests), disable=disable_tqdm or self.rank != 0, desc="Questions")
        for group in together.values():
            read: ReadContext | None = None
            for index in group:
                prompt, settings = requests[index].args
                ids = self.tok_encode(prompt)
                # The last token is processed with the question, because its logits give the first answer
                # token.
                n = min(shared_tokens(ids, self.tok_encode(prompt[: ends[index]])), len(ids) - 1)
                if read is None or list(read.ids) != ids[:n]:
                    read = None  # frees its memory first
                    read = self.read(ids[:n]) if n else ReadContext([], DynamicCache(), 0)
                answers[index] = self._answer(read, ids, settings, keep=index != group[-1])
                self.cache_hook.add_partial("generate_until", requests[index].args, answers[index])
                progress.update()
        progress.close()
        return answers

    def _context_end(self, request: Any) -> int:
        """Return the length of a prompt's context in characters; 0 for the filler sent if no prompt fits."""
        if not isinstance(request, CaseInstance):
            raise InputError(
                f"{getattr(request, 'task_name', 'a task')}: this model takes tasks of long_context_tasks only, because it has to find "
                "the end of the context; use --model hf"
            )
        if request.context is None:
            return 0
        end = context_end(request.args[0], request.context())
        if end is None:
            raise InputError(
                f"{request.task_name}, case {request.doc['case']}: its prompt does not contain the end of its context, so that the question "
                "cannot be separated from it; leave this task out"
            )
        return end

    def _row(self, ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor([list(ids)], device=self.device)

    def _answer(self, read: ReadContext, ids: Sequence[int], settings: dict[str, Any], *, keep: bool) -> str:
        """Return the greedy answer to a prompt; ``keep`` preserves the context's cache for more questions."""
        given = normalize_gen_kwargs(settings, self.max_gen_toks)
        stop = handle_stop_sequences(
            given.pop("until", None), eos=self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        )
        budget = given.pop("max_gen_toks")
        penalty = given.pop("repetition_penalty", self.model.generation_config.repetition_penalty)
        if given.pop("do_sample", False) or given.pop("temperature", 0.0) or given:
            raise InputError(f"this model decodes greedily; take {settings} out of --gen_kwargs")
        if len(ids) + budget > self.max_length:
            raise InputError(
                f"a prompt of {len(ids)} tokens and an answer of {budget} do not fit the window of {self.max_length}; lower "
                "lct_answer_budget or the length"
            )
        processors: Any = LogitsProcessorList(
            [RepetitionPenaltyLogitsProcessor(penalty)] if penalty not in (None, 1.0) else []
        )
        stopped = stop_sequences_criteria(self.tokenizer, stop, len(ids), 1)
        ends = self.model.generation_config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends])
        cache = copy.deepcopy(read.cache) if keep else read.cache
        all_ids, new = list(ids), 0
        logits = self._ask(cache, ids[len(read.ids) :], read.position)
        position = read.position + len(ids) - len(read.ids)
        while True:
            all_ids.append(int(processors(self._row(all_ids), logits).argmax()))
            new += 1
            if new == budget or all_ids[-1] in ends or bool(stopped(self._row(all_ids), None).all()):
                break
            logits = self._ask(cache, all_ids[-1:], position)
            position += 1
        answer, mark = all_ids[len(ids) :], self.think_end_token
        if isinstance(mark, int):
            answer = answer[
                max((index + 1 for index, token in enumerate(answer) if token == mark), default=0) :
            ]
        return str(
            postprocess_generated_text(self.tok_decode(answer), stop, mark if isinstance(mark, str) else None)
        )

    @torch.no_grad()
    def _ask(self, cache: Any, ids: Sequence[int], position: int) -> torch.Tensor:
        """Process more tokens; return the last one's logits, float32 of shape (1, vocabulary)."""
        for offset, part in _parts(cache, ids):
            positions = torch.arange(position + offset, position + offset + len(part), device=self.device)
            out = self.model(
                input_ids=self._row(part),
                past_key_values=cache,
                position_ids=positions[None],
                use_cache=True,
                logits_to_keep=1,
            )
        return out.logits[:, -1].float()  # type: ignore[no-any-return]


def _parts(cache: Any, ids: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the token spans that fit in one forward pass, with their positions."""
    # An attention mask has one length for all layers, so with different cache lengths tokens are processed
    # singly.
    lengths = {cache.get_seq_length(layer) for layer in range(len(cache))}
    if len(lengths) < 2:
        yield 0, ids
        return
    for offset in range(len(ids)):
        yield offset, ids[offset : offset + 1]


def context_end(prompt: str, context: str) -> int | None:
    """Return the position after the context in a prompt; None if the context's last paragraph is missing.

    A prompt may insert text between parts of its context, such as an answer's label. This function therefore
    searches for the longest suffix of the context, in whole paragraphs, that occurs in the prompt; the last
    occurrence counts.

    >>> context_end("Read. A1: One. A2: Two. Which?", "One.\\n\\nTwo.")
    23
    """
    context = context.strip()
    starts = [0, *(gap.end() for gap in _GAP.finditer(context))]
    # If a suffix of the context occurs, shorter ones do too.
    first = bisect_left(starts, True, key=lambda start: context[start:] in prompt)
    if first == len(starts) or not context:
        return None
    end = context[starts[first] :]
    return prompt.rindex(end) + len(end)


def shared_tokens(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the common prefix of two token sequences.

    >>> shared_tokens([1, 2, 3], [1, 2, 4, 5])
    2
    """
    pairs = zip(first, second, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
