"""Measure information coverage: the share of a context needed to answer its query.

After Lee et al. (NAACL 2025), section 2.3. The context is split into chunks of at most 512 tokens, and an
evaluator model judges whether each one is needed. A case's coverage is the share of its chunks that are
needed; a set's coverage is the mean over its cases. ``evaluator.txt`` is the prompt of appendix A, unchanged,
including its double braces.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from long_context_tasks.coverage.items import Item, ItemSource
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Rubric, Verdict
from long_context_tasks.schema import InputError, Message, Score
from long_context_tasks.schema.case_folder import stable_seed, text_key
from long_context_tasks.schema.files import packaged_text
from long_context_tasks.schema.response import UNPARSABLE
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.stats.means import Mean, mean_of_scores
from long_context_tasks.tokens import Tokenizer
from long_context_tasks.tokens.chunks import Text, chunks_of, pieces_of

CHUNK_TOKENS = 512
SAMPLE = 50
"""Sample size per task, domain and length (section 3.2, Table 2)."""
# Maximum total size of the prompts in memory.
_MOST_CHARACTERS = 50_000_000
_SLOT = re.compile("<context>|<query>")
_PARAGRAPH = re.compile(r"\n\s*\n")
CUT = "cut"
"""Reason for a missing judgement: the reply was truncated at ``max_tokens``.

The other reasons are ``unparsable`` and ``endpoint_failed``.
"""
LEAST_TOKENS = 32
"""Minimum tokens for an evaluator's reply: its understanding of the query, its assessment, then the score."""
_SCORE = re.compile(
    r"Final Score[ \t*_]*(?:\([^()\n]{0,20}\)[ \t*_]*)?[:=\n][\s*_{(\[$]*(?:\\boxed\{)?([01])(?:\.0+)?(?![\d.]*\d)",
    re.IGNORECASE | re.ASCII,
)
# A scale or a choice instead of a score: "0 or 1", "0/1", "1 - 0", "0, 1", "1 out of 10".
_GOES_ON = re.compile(
    r"[\s*_})\]$]*(?:or\b|out\b|(?:[-–—/|,]|to|and)[\s*_{(\[$]*\d)", re.IGNORECASE | re.ASCII
)


def read_score(reply: str) -> float | None:
    """Return the last final score in an evaluator's reply, ignoring its thinking; None if it has none.

    >>> read_score("Assessment : needed\\n\\n**Final Score :** 1"), read_score("Final Score : 10"), read_score("1")
    (1.0, None, None)
    >>> read_score("Final Score (0 or 1): 1"), read_score("Final Score: 0/1"), read_score("<think>Final Score : 0")
    (1.0, None, None)
    """
    text = without_thinking(reply).text
    found = [match[1] for match in _SCORE.finditer(text) if not _GOES_ON.match(text, match.end())]
    return float(found[-1]) if found else None


RUBRIC = Rubric("coverage", 0.0, 1.0, read_score)


def check_evaluator(config: JudgeConfig) -> None:
    if config.max_tokens is not None and config.max_tokens < LEAST_TOKENS:
        raise InputError(
            f"judge {config.name}: max_tokens: {config.max_tokens} ends replies before their score, which follows an "
            f"assessment; give at least {LEAST_TOKENS}, better 1024"
        )


def evaluator_prompt(passage: str, query: str) -> str:
    """Return the prompt from Appendix A, verbatim."""
    # One pass, because a passage or query may contain a slot's name.
    values = {"<context>": passage, "<query>": query}
    return _SLOT.sub(lambda match: values[match[0]], packaged_text(__package__, "evaluator.txt"))


def split_context(context: str, tokenizer: Tokenizer, cap: int = CHUNK_TOKENS) -> list[str]:
    """Split a context into chunks of at most ``cap`` tokens: whole paragraphs, otherwise sentences or words."""
    texts = [Text(paragraph) for paragraph in _PARAGRAPH.split(context) if paragraph.strip()]
    return [chunk.text for chunk in chunks_of(pieces_of(texts, cap, tokenizer), cap)]


@dataclass(frozen=True)
class CaseCoverage:
    item: Item
    # Per chunk: 1 (needed), 0 (not needed), or None (the evaluator failed).
    chunks: tuple[int | None, ...]
    # The reason for each missing judgement: endpoint_failed, unparsable or cut.
    failures: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """Share of judged chunks that are needed; None if no chunk was judged."""
        judged = [chunk for chunk in self.chunks if chunk is not None]
        return fsum(judged) / len(judged) if judged else None

    def row(self) -> dict[str, Any]:
        """Return the results as plain values; ``chunks`` has a character per chunk: 1, 0, or - if not judged."""
        chunks = "".join("-" if chunk is None else str(chunk) for chunk in self.chunks)
        return {"id": self.item.id, "cluster": self.item.cluster, "coverage": self.value, "chunks": chunks}


@dataclass(frozen=True)
class GroupCoverage:
    task: str
    domain: str
    available: int
    cases: tuple[CaseCoverage, ...]
    length: str = ""

    @property
    def mean(self) -> Mean:
        """Mean over cases, with an interval clustered by document."""
        scores = [Score(case.value, next(iter(case.failures), None)) for case in self.cases]
        return mean_of_scores(scores, [case.item.cluster for case in self.cases])

    @property
    def n_chunks(self) -> int:
        return sum(len(case.chunks) for case in self.cases)

    @property
    def n_judged(self) -> int:
        return sum(chunk is not None for case in self.cases for chunk in case.chunks)

    @property
    def failures(self) -> Counter[str]:
        return Counter(reason for case in self.cases for reason in case.failures)

    def row(self) -> dict[str, Any]:
        mean = self.mean
        return {
            "task": self.task,
            "domain": self.domain,
            "length": self.length,
            "cases": mean.n,
            "sampled": len(self.cases),
            "available": self.available,
            "chunks": self.n_chunks,
            "chunks_judged": self.n_judged,
            "chunks_failed": dict(self.failures),
            "coverage": mean.value,
            "low": mean.low,
            "high": mean.high,
            "reasons": dict(mean.reasons),
        }


def sample(source: ItemSource, n: int | None, seed: int) -> list[int]:
    """Return the sampled indices, ascending; the choice depends only on seed, task and domain."""
    size = len(source)
    if n is None or n >= size:
        return list(range(size))
    # Independent of the other tasks, so that measuring one task gives the same sample.
    chosen = random.Random(stable_seed(seed, "coverage", source.task, source.domain)).sample(range(size), n)
    return sorted(chosen)


def measure(
    source: ItemSource,
    config: JudgeConfig,
    store: Store,
    tokenizer: Tokenizer,
    *,
    n: int | None = SAMPLE,
    seed: int = 0,
    cap: int = CHUNK_TOKENS,
    progress: bool = True,
) -> GroupCoverage:
    """Measure ``n`` sampled cases (None: all) of one task, domain and length, with the judge's first seed."""
    # The paper judges each chunk once.
    single = config.changed(seeds=config.seeds[:1])
    cases: list[CaseCoverage] = []
    batch: list[tuple[Item, list[str]]] = []

    def judge_batch() -> None:
        requests = [
            JudgeRequest(f"{item.id} chunk {number}", (Message("user", evaluator_prompt(chunk, item.query)),))
            for item, chunks in batch
            for number, chunk in enumerate(chunks)
        ]
        verdicts = [row[0] for row in judge_all(requests, single, RUBRIC, store, progress=progress)]
        start = 0
        for item, chunks in batch:
            own = verdicts[start : start + len(chunks)]
            start += len(chunks)
            needed = tuple(None if verdict.score is None else int(verdict.score) for verdict in own)
            failures = tuple(_failure(verdict, store) for verdict in own if verdict.reason is not None)
            # A group's texts may take many megabytes.
            cases.append(CaseCoverage(replace(item, context="", query=""), needed, failures))
        batch.clear()

    size = 0
    for place in sample(source, n, seed):
        item = source.read(place)
        chunks = split_context(item.context, tokenizer, cap)
        # The query is sent with every chunk and may be long, such as the options of an ordering task.
        characters = len(item.context) + len(chunks) * len(item.query)
        if batch and size + characters > _MOST_CHARACTERS:
            judge_batch()
            size = 0
        batch.append((item, chunks))
        size += characters
    if batch:
        judge_batch()
    return GroupCoverage(source.task, source.domain, len(source), tuple(cases), source.length)


def _failure(verdict: Verdict, store: Store) -> str:
    reply = store.get(verdict.key)
    # Only a larger max_tokens helps then; another seed does not.
    cut = verdict.reason == UNPARSABLE and reply is not None and reply.finish_reason == "length"
    return CUT if cut else str(verdict.reason)


def draw_chunks(
    sources: Sequence[ItemSource], n: int, seed: int, tokenizer: Tokenizer, cap: int
) -> list[dict[str, Any]]:
    """Return up to ``n`` distinct chunks per task and domain as questions of an annotation study.

    The question is the case's own query and the reference is the chunk; the only candidate is empty, because
    there is nothing to rate.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for source in sources:
        own = found.setdefault((source.task, source.domain), {})
        for place in range(len(source)):
            item = source.read(place)
            for chunk in split_context(item.context, tokenizer, cap):
                own.setdefault(chunk, item.query)
    rows = []
    for (task, domain), chunks in found.items():
        rng = random.Random(stable_seed(seed, "label", task, domain))
        for chunk in rng.sample(list(chunks), min(n, len(chunks))):
            row = {"id": f"{task}_{domain}_{text_key(chunk)}", "question": chunks[chunk], "reference": chunk}
            rows.append(
                row | {"domain": domain, "source": task, "candidates": [{"model": "none", "text": ""}]}
            )
    return rows
