"""Make organizing cases of recast texts: sentences taken out of the parts of a context are to be put into its order.

An option is chosen so that it shares no more rare words with its own part and the neighbouring ones than with parts far away; only the
events then show where it belongs.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from long_context_tasks.benchmarks.ethic.build.contexts import organize_draft
from long_context_tasks.benchmarks.ethic.synthetic.maker import (
    INSTRUCTION_TOKENS,
    LEAST_CHUNK,
    MadeCase,
    Maker,
    even_sections,
)
from long_context_tasks.synthetic.document import LabelledText, Paragraph
from long_context_tasks.tokens.chunks import Chunk

_FEWEST, _MOST = 3, 200
# Tokens of a part, about; parts are longer once there are ``_MOST`` of them.
_PART = 320
# Number of parts before and after its own in which an option must not be found by its words.
_NEIGHBOURS = 2
_SENTENCE_END = re.compile(
    r"(?<=[a-z0-9)\]’”\"]{2}[.?!])"
    r"(?<![Hh]on\.)(?<!Mrs\.)(?<!Rev\.)(?<!Messrs\.)(?<!Prof\.)(?<!Capt\.)(?<!Col\.)(?<!Gen\.)(?<!Dept\.)(?<!Inc\.)(?<!Corp\.)"
    r"[\"”’)]*\s+(?=[\"“‘(]*[A-Z])"
)
# End of direct speech, after which the sentence may continue: “Where?” Anne asked.
_SPEAKS_ON = re.compile(r"[?!][\"”’]+\s+$")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LEAST_WORDS, _MOST_WORDS = 9, 45
# Phrases of the prompt about summaries, and what they become for sentences.
_REWRITE = {
    "summarize different parts of the given context": "are sentences that were taken out of different parts of the given context",
    "in the same order as the events that appear in the context": "in the order in which they stood in the context",
}


def organize(maker: Maker) -> Sequence[MadeCase] | None:
    document = maker.document()
    part = max(LEAST_CHUNK, min(_PART, maker.length // 8))
    # Parts of long paragraphs may lack a suitable sentence, so the next document is divided into fewer parts.
    most = _MOST * 4 // (4 + maker.attempt)
    number = max(_FEWEST, min(most, (maker.length - INSTRUCTION_TOKENS) // (part + part // 8)))
    return maker.tuned(
        int(maker.length * 0.86) - INSTRUCTION_TOKENS, lambda room: _in_parts(maker, document, number, room)
    )


def _in_parts(maker: Maker, document: LabelledText, number: int, room: int) -> list[MadeCase] | None:
    paragraphs = maker.fitted(document.paragraphs, room)
    if len(paragraphs) < number:
        return None
    sections = even_sections([Chunk((piece,)) for piece in maker.pieces(paragraphs)], number)
    texts = [[chunk.text for chunk in section] for section in sections]
    options = _options(texts, maker.fillers)
    if options is None:
        return None
    kept = [_without(own, option) for own, option in zip(texts, options, strict=True)]
    if not all(kept):
        return None
    left = [[Paragraph(text) for text in own] for own in kept]
    chunks = [Chunk(tuple(maker.pieces(own))) for own in left]
    draft = organize_draft(maker.window(document, chunks), options, maker.run_seed)
    draft = replace(draft, rewrite=_REWRITE)
    return [MadeCase(draft, tuple(one for own in left for one in own))]


def _options(parts: Sequence[Sequence[str]], fillers: Collection[str]) -> list[str] | None:
    """Return a sentence of each part, except fillers, or None if a part has no sentence that can be taken out."""
    words = [Counter(_WORD.findall(" ".join(own).lower())) for own in parts]
    in_parts = Counter(word for own in words for word in own)
    rows = {word: row for row, word in enumerate(in_parts)}
    weights = np.zeros((len(rows), len(parts)))
    for at, own in enumerate(words):
        size = math.sqrt(sum(own.values()))
        for word in own:
            weights[rows[word], at] = math.log(1 + len(parts) / in_parts[word]) / size
    chosen: list[str] = []
    for at, texts in enumerate(parts):
        sentences = [sentence for paragraph in texts for sentence in _sentences(paragraph)]
        scored = [(_found_near(sentence, at, words[at], rows, weights), sentence) for sentence in sentences]
        fitting = [one for one in scored if one[1] not in (*chosen, *fillers)]
        if not fitting:
            return None
        chosen.append(min(fitting)[1])
    return chosen


def _sentences(paragraph: str) -> list[str]:
    """Return the sentences that may be taken out: whole ones of moderate length that do not cut a quotation."""
    ends = [
        match.end()
        for match in _SENTENCE_END.finditer(paragraph)
        if not _SPEAKS_ON.search(paragraph, 0, match.end())
    ]
    # A paragraph of one sentence would be empty without it.
    found = [paragraph[start:end].strip() for start, end in pairwise([0, *ends, len(paragraph)])]
    if len(found) < 2:
        return []
    return [
        sentence
        for sentence in found
        if _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS
        and sentence[0].isupper()
        and sentence[-1] in ".?!"
        and sentence.count("“") == sentence.count("”")
        and sentence.count('"') % 2 == 0
        and paragraph.count(sentence) == 1
    ]


def _found_near(
    sentence: str, at: int, own: Counter[str], rows: Mapping[str, int], weights: NDArray[np.float64]
) -> float:
    """Return how much more the words of a sentence point to its own part and its neighbours than to the best part far away."""
    asked = Counter(_WORD.findall(sentence.lower()))
    found = weights[[rows[word] for word in asked]]
    # A word that occurs in its part only in this sentence does not point to the part.
    found[[own[word] <= times for word, times in asked.items()], at] = 0
    # Summed row by row in the order of the words, so that every machine gives the same floats.
    scores = found.sum(axis=0)
    first, end = max(0, at - _NEIGHBOURS), at + _NEIGHBOURS + 1
    near = scores[first:end]
    far = [*scores[:first], *scores[end:]]
    return float(near.max() - max(far, default=near.min()))


def _without(texts: Sequence[str], option: str) -> list[str]:
    kept = (" ".join(text.replace(option, "", 1).split()) for text in texts)
    return [text for text in kept if text]
