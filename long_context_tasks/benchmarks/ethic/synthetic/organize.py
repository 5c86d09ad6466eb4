"""Make Organizing cases from recast texts: options are sentences removed from parts of a context.

A document is real prose with new names: the paragraphs of a carrier from a random one on, then those of the
next carrier. An option is chosen so that it shares no more rare words with its own part and that part's
neighbours than with distant parts; only the events then show where it belongs.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from long_context_tasks.benchmarks.ethic.build.contexts import organize_draft
from long_context_tasks.benchmarks.ethic.synthetic.maker import (
    INSTRUCTION_TOKENS,
    LEAST_CHUNK,
    Genre,
    MadeCase,
    Maker,
    even_sections,
)
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.corpora.plain_files import data_files
from long_context_tasks.recast.carriers import CARRIER_KINDS, carriers_of
from long_context_tasks.recast.renaming import Names, names_of, rename
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import LabelledText, Paragraph
from long_context_tasks.tokens.chunks import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FILLERS = {
    "books": (
        "Nothing more was said.",
        "It was already late.",
        "The fire had burned low by then.",
        "Outside, the wind went on as it had before.",
        "For a while there was only the sound of the rain upon the roof and in the yard.",
    ),
    "debates": (
        "I shall be brief.",
        "I say no more.",
        "That is all I wish to say on it.",
        "I am grateful to the House for its patience.",
        "The House will forgive me if I do not go into every detail of it now.",
    ),
}
# For English prose in cl100k; a document that is too short is generated again, longer.
_CHARACTERS_PER_TOKEN = 4.6
_FEWEST, _MOST = 3, 200
# Approximate tokens per part; parts are longer once there are ``_MOST`` of them.
_PART = 320
# Number of parts on either side of its own in which an option must not be identifiable by its words.
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
# Phrases about summaries in the prompt, and their replacements for sentences.
_REWRITE = {
    "summarize different parts of the given context": "are sentences that were taken out of different parts of the given context",
    "in the same order as the events that appear in the context": "in the order in which they stood in the context",
}


@dataclass(frozen=True)
class CarrierText:
    """A novel or a debate whose names are replaced."""

    id: str
    texts: tuple[str, ...]

    @cached_property
    def names(self) -> Names:
        return names_of(self.texts)


@cache
def _carrier_texts(file: Path, domain: str) -> tuple[CarrierText, ...]:
    if domain == "books":
        return tuple(
            CarrierText(book.id, book.paragraphs) for book in read_books(file) if book.form == "novel"
        )
    return tuple(CarrierText(debate.id, debate.speeches) for debate in read_debates(file))


def taken(folder: Path, domain: str, seed: int, tokens: int) -> Sequence[tuple[CarrierText, Sequence[str]]]:
    """Choose the carriers for a document of about ``tokens`` tokens, each with the paragraphs shown."""
    dice = Random(f"{seed} carriers")
    found: list[tuple[CarrierText, Sequence[str]]] = []
    size = 0.0
    for carrier, paragraphs in _from_random_place(folder, domain, dice):
        own: list[str] = []
        for paragraph in paragraphs:
            if size >= tokens:
                break
            own.append(paragraph)
            size += len(paragraph) / _CHARACTERS_PER_TOKEN
        if own:
            found.append((carrier, own))
        if size >= tokens:
            return found
    raise InputError(
        f"{folder}: all files together have {round(size):,} tokens of use for a document of {tokens:,}; add files, or use a "
        "shorter length"
    )


def _from_random_place(
    folder: Path, domain: str, dice: Random
) -> Iterator[tuple[CarrierText, Sequence[str]]]:
    """Yield all carriers in random order.

    The first starts at a random paragraph, and its skipped beginning comes last.
    """
    skipped: tuple[CarrierText, Sequence[str]] | None = None
    files = data_files(folder, "txt", "jsonl", "xml")
    dice.shuffle(files)
    for file in files:
        carriers = list(_carrier_texts(file, domain))
        dice.shuffle(carriers)
        for carrier in carriers:
            paragraphs = carrier.texts
            if skipped is None:
                # Not in the last fifth, so that the document is not mostly the second carrier.
                place = dice.randrange(max(1, len(paragraphs) * 4 // 5))
                skipped, paragraphs = (carrier, paragraphs[:place]), paragraphs[place:]
            yield carrier, paragraphs
    if skipped:
        yield skipped


def recast_genre(options: Options, domain: str) -> Genre:
    folder = carriers_of(options, CARRIER_KINDS[domain], f"ethic_organize_{domain}_recast")
    return Genre(lambda seed: partial(_document, folder, domain, seed), _FILLERS[domain])


def _document(folder: Path, domain: str, run_seed: int, tokens: int) -> LabelledText:
    seed = int(stable_seed(run_seed, "organize")[:12], 16)
    parts = taken(folder, domain, seed, tokens)
    texts = (text for carrier, own in parts for text in rename(own, carrier.names, seed, carrier.id))
    title = " + ".join(dict.fromkeys(carrier.id for carrier, _ in parts))
    return LabelledText(title, tuple(map(Paragraph, texts)))


def organize(maker: Maker) -> Sequence[MadeCase] | None:
    document = maker.document()
    part = max(LEAST_CHUNK, min(_PART, maker.length // 8))
    # Parts of long paragraphs may lack a suitable sentence, so the next attempt divides its document into
    # fewer parts.
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
    """Choose one sentence, not a filler, from each part; return None if a part has no removable sentence."""
    import numpy as np  # here, because generated cases do without it

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
    """Return the removable sentences: whole, of moderate length, and not cutting a quotation."""
    ends = [
        match.end()
        for match in _SENTENCE_END.finditer(paragraph)
        if not _SPEAKS_ON.search(paragraph, 0, match.end())
    ]
    # Removing a paragraph's only sentence would leave it empty.
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
    sentence: str, at: int, own: Counter[str], rows: Mapping[str, int], weights: "NDArray[np.float64]"
) -> float:
    """Return how much more a sentence's words point to its surroundings than to the best distant part."""
    asked = Counter(_WORD.findall(sentence.lower()))
    found = weights[[rows[word] for word in asked]]
    # A word that occurs in its part only in this sentence does not point to the part.
    found[[own[word] <= times for word, times in asked.items()], at] = 0
    # Summed row by row in word order, so that every machine gives the same floats.
    scores = found.sum(axis=0)
    first, end = max(0, at - _NEIGHBOURS), at + _NEIGHBOURS + 1
    near = scores[first:end]
    far = [*scores[:first], *scores[end:]]
    return float(near.max() - max(far, default=near.min()))


def _without(texts: Sequence[str], option: str) -> list[str]:
    kept = (" ".join(text.replace(option, "", 1).split()) for text in texts)
    return [text for text in kept if text]
