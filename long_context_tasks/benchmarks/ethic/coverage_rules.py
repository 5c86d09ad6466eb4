"""Information coverage of synthetic cases by rule: a chunk is needed when it holds something that the right answer is made of.

The writer of a document knows where that is: labels, facts that stand in a summary, citations, studies. No model is asked. Chunks are
those of :mod:`.coverage`.
"""

import re
from collections.abc import Sequence

from long_context_tasks.benchmarks.ethic.coverage import CHUNK_TOKENS, split_context
from long_context_tasks.benchmarks.ethic.fact_recall import states
from long_context_tasks.benchmarks.ethic.sections import context_of
from long_context_tasks.benchmarks.ethic.synthetic import Made
from long_context_tasks.benchmarks.ethic.synthetic_fit import Forms, as_written, whole_word
from long_context_tasks.corpora.synthetic.document import Fact, Paragraph
from long_context_tasks.tokens import Tokenizer

_BLANKS = re.compile(r"\s+")


def needed_chunks(made: Made, task: str, forms: Forms | None, tokenizer: Tokenizer) -> list[bool]:
    """For each chunk of a case's context, whether the answer needs it.

    Args:
        made: the case.
        task: recall, summarize, organize or attribute.
        forms: of labels that are numbers; None for names.
        tokenizer: in which chunks are counted.
    """
    context = context_of(made.draft.user) or ""
    facts = tuple(fact for one in made.facts for fact in one.facts)
    chunks = [_plain(chunk) for chunk in split_context(context, tokenizer, CHUNK_TOKENS)]
    paragraphs = [(_plain(one.text), one) for one in made.paragraphs]
    return [_needed(chunk, _inside(chunk, paragraphs), task, facts, forms or as_written) for chunk in chunks]


def coverage(made: Made, task: str, forms: Forms | None, tokenizer: Tokenizer) -> float:
    """Share of the chunks that the answer needs."""
    needed = needed_chunks(made, task, forms, tokenizer)
    return sum(needed) / len(needed)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _inside(chunk: str, paragraphs: Sequence[tuple[str, Paragraph]]) -> list[Paragraph]:
    """The paragraphs that a chunk holds, or is a part of."""
    return [one for text, one in paragraphs if text in chunk or chunk in text or _shares(chunk, text)]


def _shares(chunk: str, text: str) -> bool:
    """Whether a chunk ends with the beginning of a text, or begins with its end."""
    return chunk.endswith(text[:40]) or text[:80] in chunk or text[-80:] in chunk


def _needed(
    chunk: str, paragraphs: Sequence[Paragraph], task: str, facts: Sequence[Fact], forms: Forms
) -> bool:
    if task in ("recall", "attribute"):
        # In attributing the labels are ids of studies, or the marks of citations.
        return any(
            label in chunk if task == "attribute" else whole_word(forms(label), chunk)
            for one in paragraphs
            for label in one.labels
        )
    return any(fact in facts and states(chunk, fact) for one in paragraphs for fact in one.facts)
