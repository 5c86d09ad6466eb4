"""Likelihood tasks in OpenCompass: every candidate text is scored whole, as lm-eval defines it.

A candidate's log-likelihood covers all its tokens after one prefix token (BOS if the tokenizer has one,
otherwise EOS). For a text that fits the window, this equals lm-eval's ``loglikelihood_rolling``. OpenCompass'
own PPLInferencer divides by the length, omits the first token, cannot resume and writes each prompt 49 times.

Candidates share long prefixes (orders of the same segments), so they are scored in token order, and the KV
cache is truncated to the prefix shared with the previous candidate: the 24 orders of four segments cost 64
segments instead of 96.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import torch
from datasets import Dataset
from opencompass.models import HuggingFacewithChatTemplate
from opencompass.openicl.icl_inferencer.icl_base_inferencer import BaseInferencer
from opencompass.registry import ICL_EVALUATORS, ICL_INFERENCERS
from tqdm import tqdm

from long_context_tasks.hosts.opencompass.rows import CASE
from long_context_tasks.hosts.opencompass.send import find_window, model_facts
from long_context_tasks.hosts.opencompass.task import (
    CheckedEvaluator,
    begin_task,
    host_result,
    task_of,
)
from long_context_tasks.hosts.window import Window, encode, prefix_token
from long_context_tasks.schema import InputError
from long_context_tasks.schema.progress import refreshed
from long_context_tasks.schema.response import DOES_NOT_FIT

# Tokens per forward pass: bounds the logits, which take four bytes per token and vocabulary entry.
_STEP = 512


@dataclass
class _Path:
    """The inputs processed so far (prefix token first), their KV cache, and token log-probabilities."""

    inputs: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    cache: Any = None

    def cut(self, length: int) -> None:
        """Drop all inputs from ``length`` on, or all inputs if the cache cannot be truncated."""
        if length < len(self.inputs):
            try:
                self.cache.crop(length)
            except (AttributeError, ValueError, NotImplementedError):
                # Layers with a sliding window or a recurrent state keep no earlier state.
                length = 0
        self.inputs, self.log_probs = self.inputs[:length], self.log_probs[:length]
        if length == 0:
            self.cache = None


class Scorer:
    """Computes log-likelihoods of texts with a Hugging Face causal model."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        prefix = prefix_token(tokenizer)
        if prefix is None:
            raise InputError(
                "the tokenizer has neither a BOS nor an EOS token, so the first token of a text cannot be scored"
            )
        self.prefix = prefix
        self.n_read = 0  # number of tokens processed; tests check how many are shared
        self._keeps_cache = True

    def log_likelihoods(self, texts: Sequence[Sequence[int]]) -> list[float]:
        """Return, for each text, the sum of the log-probabilities (nats) of all its tokens."""
        results = [0.0] * len(texts)
        path = _Path()
        for index in sorted(range(len(texts)), key=lambda i: list(texts[i])):
            tokens = list(texts[index])
            # The model predicts tokens[i] from inputs[:i + 1]; a shared input with a different next token is
            # processed again.
            shared = takewhile(lambda pair: pair[0] == pair[1], zip(path.inputs[1:], tokens, strict=False))
            path.cut(sum(1 for _ in shared))
            self._read(path, tokens)
            results[index] = math.fsum(path.log_probs)
        return results

    @torch.inference_mode()
    def _read(self, path: _Path, tokens: list[int]) -> None:
        # The last token is only predicted, never an input.
        inputs = [self.prefix, *tokens[:-1]]
        while (start := len(path.inputs)) < len(inputs):
            part = inputs[start : start + _STEP] if self._keeps_cache else inputs
            ids = torch.tensor([part], device=self.model.device)
            cached = {"past_key_values": path.cache, "use_cache": True} if self._keeps_cache else {}
            output = self.model(input_ids=ids, **cached)
            self.n_read += len(part)
            path.cache = getattr(output, "past_key_values", None)
            if self._keeps_cache and not hasattr(path.cache, "crop"):
                # The cache cannot be truncated, so every text is processed in full.
                self._keeps_cache = False
                continue
            log_probs = torch.log_softmax(output.logits[0].float(), dim=-1)
            targets = torch.tensor(tokens[start : start + len(part)], device=log_probs.device)
            path.log_probs += log_probs.gather(1, targets[:, None])[:, 0].tolist()
            path.inputs += part


@ICL_INFERENCERS.register_module()
class CasePPLInferencer(BaseInferencer):  # type: ignore[misc]
    """Scores all candidates of each case; one row per case, resumed case by case."""

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[str]:
        task = task_of(retriever.test_ds)
        if task.candidates is None:
            raise InputError(f"{task.name}: a task that is answered, not scored; use CaseGenInferencer")
        if not isinstance(self.model, HuggingFacewithChatTemplate):
            raise InputError(
                f"{task.name}: {type(self.model).__name__} gives no log-likelihoods of a prompt; use a local model "
                "(HuggingFaceBaseModel or HuggingFacewithChatTemplate), or a task that is answered"
            )
        scorer = Scorer(self.model.model, self.model.tokenizer)
        window = find_window(self.model, task.options, self.max_seq_len)
        cases, store = begin_task(self, task, retriever.test_ds, output_json_filepath, output_json_filename)
        facts = model_facts(self.model)
        bar = tqdm(cases, desc=task.name, disable=not self.is_main_process)
        with refreshed(bar):
            for case in bar:
                texts = task.candidates(task.by_id[case], task.cases.documents)
                tokens = [encode(self.model.tokenizer, text) for text in texts]
                store.add([{CASE: case, **self._score(scorer, tokens, window), **facts}])
        store.finish()
        return [row["prediction"] for row in store.rows]

    @staticmethod
    def _score(scorer: Scorer, tokens: Sequence[Sequence[int]], window: Window) -> dict[str, Any]:
        counts = [len(text) for text in tokens]
        fits = window.fits_candidates(counts)
        values = scorer.log_likelihoods(tokens) if fits else None
        return {
            "prediction": "" if values is None else str(values.index(max(values))),
            "log_likelihoods": values,
            "n_candidate_tokens": counts,
            "lct_status": None if fits else DOES_NOT_FIT,
            "n_prompt_tokens": max(counts),
            "lct_window": window.describe(),
        }


@ICL_EVALUATORS.register_module()
class CasePPLEvaluator(CheckedEvaluator):
    """Scores log-likelihoods with the benchmark's ``score_candidates``."""

    def score(
        self,
        predictions: Sequence[str],
        test_set: Dataset,
        *,
        case: Sequence[str],
        log_likelihoods: Sequence[Sequence[float] | None],
        n_candidate_tokens: Sequence[Sequence[int]],
        lct_status: Sequence[str | None],
        lct_window: Sequence[str],
        lct_given: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        task = task_of(test_set)
        if task.score_candidates is None:
            raise InputError(f"{task.name}: not scored by likelihood; use CaseEvaluator")
        scores = [
            task.score_candidates(task.by_id[case_id], values, counts, status)
            for case_id, values, counts, status in zip(
                case, log_likelihoods, n_candidate_tokens, lct_status, strict=True
            )
        ]
        more = [
            {"n_prompt_tokens": max(counts), "log_likelihoods": values or []}
            for counts, values in zip(n_candidate_tokens, log_likelihoods, strict=True)
        ]
        return host_result(
            task, test_set, case, predictions, [[score] for score in scores], more, lct_window[0], judge={}
        )
