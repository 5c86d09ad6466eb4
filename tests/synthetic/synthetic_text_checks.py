"""What the tests of synthetic abstracts and opinions measure alike: shortcuts, coverage, shared sentences."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pytest
from kinds import text_of

from long_context_tasks.synthetic.document import Document

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.ethic.synthetic.fit import Forms
    from long_context_tasks.benchmarks.ethic.synthetic.maker import Made
    from long_context_tasks.tokens import Tokenizer

CASES = int(os.environ.get("LCT_SYNTHETIC_CASES", "40"))
"""Number of cases that a figure is measured on."""

Heuristics = Mapping[str, Callable[[str], set[str]]]
"""Ways to answer without reading: a text to the labels that are claimed."""


def f1(found: set[str], right: set[str]) -> float:
    """F1 of two sets, in per cent."""
    both = len(found & right)
    return 200 * both / (len(found) + len(right)) if found or right else 100.0


def labels_of(document: Document) -> set[str]:
    return {label for paragraph in document.paragraphs for label in paragraph.labels}


def shortcut_scores(heuristics: Heuristics, documents: Iterable[Document]) -> dict[str, float]:
    """Mean F1 of each heuristic."""
    scores: dict[str, list[float]] = {name: [] for name in heuristics}
    for document in documents:
        text, gold = text_of(document), labels_of(document)
        for name, heuristic in heuristics.items():
            scores[name].append(f1(heuristic(text), gold))
    return {name: round(sum(values) / len(values), 1) for name, values in scores.items()}


def ranked_by_similarity(question: str, texts: Sequence[str], right: set[int]) -> float:
    """F1 of texts ranked by how alike their words are to a question's, as many taken as are right."""
    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    matrix = text_features.TfidfVectorizer(sublinear_tf=True).fit_transform([question, *texts])
    alike = (matrix[1:] @ matrix[0].T).toarray()[:, 0]
    best = sorted(range(len(texts)), key=lambda place: -alike[place])[: len(right)]
    return f1(set(map(str, best)), set(map(str, right)))


def shared_sentences(texts: Iterable[str]) -> tuple[list[str], int]:
    """Sentences of more than 12 words that stand in two of the texts, and the number of all such sentences."""
    owner: dict[str, int] = {}
    shared, total = [], 0
    for number, text in enumerate(texts):
        for sentence in set(re.split(r"(?<=[.?!])[\"”]?\s+[\"“]?", text)):
            if len(sentence.split()) > 12:
                total += 1
                if owner.setdefault(sentence, number) != number:
                    shared.append(sentence)
    return shared, total


def coverage(made: "Made", task: str, forms: "Forms | None", tokenizer: "Tokenizer") -> float:
    """Return the share of the chunks of a case's context that the answer needs."""
    from long_context_tasks.benchmarks.ethic.prompts import context_of
    from long_context_tasks.benchmarks.ethic.scoring.fact_recall import states
    from long_context_tasks.benchmarks.ethic.synthetic.fit import as_written, whole_word
    from long_context_tasks.coverage.measure import CHUNK_TOKENS, split_context

    context = context_of(made.draft.user) or ""
    facts = [fact for section in made.facts for fact in section.facts]
    paragraphs = [(" ".join(one.text.split()), one) for one in made.paragraphs]

    def needed(chunk: str) -> bool:
        inside = [
            one
            for text, one in paragraphs
            if text in chunk
            or chunk in text
            or chunk.endswith(text[:40])
            or text[:80] in chunk
            or text[-80:] in chunk
        ]
        if task not in ("recall", "attribute"):
            return any(fact in facts and states(chunk, fact) for one in inside for fact in one.facts)
        # In attributing the labels are ids of studies, or the marks of citations.
        return any(
            label in chunk if task == "attribute" else whole_word((forms or as_written)(label), chunk)
            for one in inside
            for label in one.labels
        )

    found = [needed(" ".join(chunk.split())) for chunk in split_context(context, tokenizer, CHUNK_TOKENS)]
    return sum(found) / len(found)
