"""Synthetic cases: documents written from a seed, of any length, with answers that are known because the writer decided them.

Every case has a document of its own, which depends on the seed, the domain and the number of the case. Recalling and summarizing ask about
the same documents, as in the paper, and show the same context to the byte: what is asked, and where sections begin, stands behind it. So a
cache of prefixes computes it once. A case is written, cut to its length, and stored before the next one is begun.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from long_context_tasks.benchmarks.ethic.build.contexts import (
    beginnings,
    even_sections,
    named_sections_draft,
    recall_draft,
)
from long_context_tasks.benchmarks.ethic.build.drafts import Draft, Window
from long_context_tasks.benchmarks.ethic.build.settings import FittedSettings
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.prompts import BEGINNINGS
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import INPUT, SectionFacts
from long_context_tasks.benchmarks.ethic.synthetic.fit import fit
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic import trials
from long_context_tasks.synthetic.document import Document, Fact, Paragraph
from long_context_tasks.synthetic.numbers import in_words
from long_context_tasks.tokens import CL100K
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece, chunks_of

T = TypeVar("T")


@dataclass(frozen=True)
class Genre:
    """How the documents of a domain are written.

    Attributes:
        begin: seed to a function that returns, for tokens of cl100k, the beginning of a document that has at least about so many.
        fillers: short sentences that hold no label and no fact, for what is left of a length.
        forms: a label that is a number to the words that it may have in the text; None where labels are names.
        parts: paragraphs to the number of the document that each belongs to; cases count them as ``num_documents``.
        together: tasks that show the same context; the longest prompt of them is fitted to the length.
    """

    begin: Callable[[int], Callable[[int], Document]]
    fillers: tuple[str, ...]
    forms: Callable[[str], tuple[str, ...]] | None = None
    parts: Callable[[Sequence[Paragraph]], list[int]] = lambda paragraphs: [0] * len(paragraphs)
    together: tuple[str, ...] = ("recall", "summarize")


def _forms_of_count(label: str) -> tuple[str, ...]:
    number = int(label)
    return (label, f"{number:,}", *((in_words(number),) if number < 1000 else ()))


GENRES: Mapping[str, Genre] = {
    "medicine": Genre(
        trials.begin_abstracts,
        (
            "Limits are discussed.",
            "Further research is needed.",
            "Details of the methods are given in the report.",
            "The findings were much the same in the sensitivity analysis.",
            "The funder had no part in design, conduct, analysis or reporting of the study.",
        ),
        forms=_forms_of_count,
        parts=lambda paragraphs: list(range(len(paragraphs))),
    ),
}


SLACK = 0.012
"""Share of a length that a prompt leaves free, about; 2 % at most."""
MOST_FREE = 0.02
LEAST_CHUNK, MOST_CHUNK = 128, 1024
LEAST_SECTION = 256
FACT_TOKENS = 512
"""Tokens of a section for which one more fact is a key fact."""
LEAST_FACTS = 6
"""Key facts of a section, where it has so many."""
_DETAIL = 0.5
"""Facts that weigh less are details."""
_INSTRUCTION = 150
_TRIES = 12
_WRITINGS = 5


@dataclass(frozen=True)
class Made:
    """A case before it is written.

    Attributes:
        draft: of the case.
        paragraphs: of its context, in order.
        facts: of each section, in summarizing.
        inputs: of the case, beside its texts.
    """

    draft: Draft
    paragraphs: tuple[Paragraph, ...]
    facts: tuple[SectionFacts, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sections:
    """A context in sections.

    Attributes:
        sections: a chunk for each paragraph.
        paragraphs: of each section.
        begin: the first words of each.
        facts: of each.
    """

    sections: list[list[Chunk]]
    paragraphs: list[list[Paragraph]]
    begin: list[str]
    facts: tuple[SectionFacts, ...]


@dataclass(frozen=True)
class Maker:
    """Makes the cases of one domain and length from a document.

    Attributes:
        domain: of the documents.
        length: most tokens of a prompt.
        settings: with tokenizers that are remembered for one case only.
        number: of the case, from 0.
        attempt: of the document, from 0; a document that makes no case is replaced.
        genres: domain to how its documents are written.
        begun: texts of the number, for all lengths (see :meth:`written`).
    """

    domain: str
    length: int
    settings: FittedSettings
    number: int
    attempt: int = 0
    genres: Mapping[str, Genre] = field(default_factory=lambda: GENRES)
    begun: dict[tuple[Any, int], Any] = field(default_factory=dict, repr=False)

    @property
    def genre(self) -> Genre:
        """How documents of the domain are written."""
        return self.genres[self.domain]

    @property
    def slack(self) -> int:
        """Tokens that may stay free."""
        return max(4, int(SLACK * self.length))

    @property
    def seed(self) -> int:
        """Of the document."""
        parts = self.settings.seed, "synthetic", self.domain, self.number, self.attempt
        return int(stable_seed(*parts)[:12], 16)

    @property
    def id(self) -> str:
        """Of the case, but for its length."""
        return f"s{self.settings.seed}_{self.number:04}"

    def count(self, text: str) -> int:
        """Return the tokens in the tokenizer of the lengths."""
        return self.settings.measure.count(text)

    def sizes(self, paragraphs: Iterable[Paragraph]) -> list[int]:
        """Return the tokens of each paragraph with a blank line behind it."""
        return self.settings.measure.count_many([paragraph.text + JOINT for paragraph in paragraphs])

    def tokens(self, draft: Draft) -> int:
        """Return the tokens of a prompt."""
        return draft.tokens_in(self.settings.measure)

    def scale(self) -> float:
        """Return the tokens of cl100k, in which writers count, for a token of the lengths; some more for another tokenizer."""
        if self.settings.measure.name == CL100K:
            return 1.0
        sample = JOINT.join(paragraph.text for paragraph in self.written(self.genre.begin, 3000).paragraphs)
        # The settings count in cl100k last.
        return 1.05 * self.settings.counted_in[-1].count(sample) / self.count(sample)

    def written(self, begin: Callable[[int], Callable[[int], T]], tokens: int) -> T:
        """Return a text of the case's seed; what is there of it, for a shorter length too, is not written again."""
        key = begin, self.seed
        if key not in self.begun:
            self.begun[key] = begin(self.seed)
        found: T = self.begun[key](tokens)
        return found

    def document(self) -> Document:
        """Return the document, longer than the context can be."""
        wanted = int((int(self.length * 1.03) + 500) * self.scale())
        for _ in range(_WRITINGS):
            document = self.written(self.genre.begin, wanted)
            if sum(self.sizes(document.paragraphs)) >= self.length:
                return document
            wanted = int(wanted * 1.4)
        raise InputError(
            f"no document of {self.domain} of {self.length} tokens could be written; give another lct_seed"
        )

    def fitted(self, paragraphs: Sequence[Paragraph], room: int) -> list[Paragraph]:
        """Return the first paragraphs that fit a room."""
        genre = self.genre
        return fit(paragraphs, room, self.slack, self.count, forms=genre.forms, fillers=genre.fillers)

    def window(self, document: Document, chunks: Sequence[Chunk]) -> Window:
        """Return chunks as the builders of cases want them."""
        source = Source(self.id, document.title, self.domain, ())
        return Window(source, self.length, tuple(chunks))

    def pieces(self, paragraphs: Sequence[Paragraph]) -> list[Piece]:
        """Return paragraphs with their tokens."""
        parts = self.genre.parts(paragraphs)
        return [
            Piece(paragraph.text, size, part)
            for paragraph, size, part in zip(paragraphs, self.sizes(paragraphs), parts, strict=True)
        ]

    def tuned(self, room: int, make: Callable[[int], tuple[Made, ...] | None]) -> tuple[Made, ...] | None:
        """Return what is made with the room that brings the longest of its prompts closest to the length, and not above it."""
        best: tuple[int, tuple[Made, ...]] | None = None
        for _ in range(_TRIES):
            made = make(room)
            if made is None:
                room -= self.slack
                continue
            size = max(self.tokens(case.draft) for case in made)
            if size <= self.length and (best is None or size > best[0]):
                best = size, made
            if self.length - self.slack <= size <= self.length:
                break
            # Towards the middle of what is allowed; every try a little off the one before, so that none is repeated.
            room += self.length - self.slack // 2 - size
        if best is None or best[0] < (1 - MOST_FREE) * self.length:
            return None
        return best[1]

    def together(self) -> tuple[Made, ...] | None:
        """Return the cases of all tasks that show one context, in the order of the genre's ``together``; None if one cannot be made."""
        document = self.document()
        ways = {"recall": self._recall, "summarize": self._summarize}

        def make(room: int) -> tuple[Made, ...] | None:
            paragraphs = self.fitted(document.paragraphs, room)
            if not paragraphs:
                return None
            made = [ways[task](document, paragraphs) for task in self.genre.together]
            found = tuple(case for case in made if case is not None)
            return found if len(found) == len(made) else None

        return self.tuned(self.length - _INSTRUCTION, make)

    def _recall(self, document: Document, paragraphs: Sequence[Paragraph]) -> Made:
        pieces = self.pieces(paragraphs)
        cap = min(MOST_CHUNK, max(LEAST_CHUNK, self.length // 8))
        chunks = list(chunks_of(pieces, max(cap, *(piece.tokens for piece in pieces))))
        left = iter(paragraphs)
        labels = [[label for _ in chunk.pieces for label in next(left).labels] for chunk in chunks]
        return Made(recall_draft(self.window(document, chunks), labels), tuple(paragraphs))

    def _summarize(self, document: Document, paragraphs: Sequence[Paragraph]) -> Made | None:
        size = max(LEAST_SECTION, self.length // 8)
        for number in range(min(len(paragraphs), max(2, round((self.length - _INSTRUCTION) / size))), 1, -1):
            made = self._in_sections(document, paragraphs, number)
            # Every section should have a fact; where even halves have none on one side, the other one counts.
            if made is not None and (number == 2 or all(section.facts for section in made.facts)):
                return made
        return None

    def _in_sections(self, document: Document, paragraphs: Sequence[Paragraph], number: int) -> Made | None:
        """Return a case of so many sections; None where there is no fact at all."""
        found = self.in_sections(paragraphs, number)
        if found is None or not any(section.facts for section in found.facts):
            return None
        window = self.window(document, [one for own in found.sections for one in own])
        inputs = {INPUT: [section.row() for section in found.facts], BEGINNINGS: found.begin}
        draft = named_sections_draft(window, found.sections, found.begin)
        return Made(draft, tuple(paragraphs), found.facts, inputs)

    def in_sections(self, paragraphs: Sequence[Paragraph], number: int) -> "Sections | None":
        """Return paragraphs in so many sections; None where one of these begins with a paragraph that comes again."""
        sections = even_sections([Chunk((piece,)) for piece in self.pieces(paragraphs)], number)
        left = iter(paragraphs)
        owners = [[next(left) for _ in section] for section in sections]
        begin = beginnings(sections)
        if begin is None:
            return None
        facts = [
            SectionFacts.of(
                key_facts(own, [chunk.tokens for chunk in section]), JOINT.join(one.text for one in own)
            )
            for own, section in zip(owners, sections, strict=True)
        ]
        return Sections(sections, owners, begin, tuple(facts))


def key_facts(paragraphs: Sequence[Paragraph], tokens: Sequence[int]) -> list[Fact]:
    """Return the facts of a section that its summary should state: the weightiest of every stretch of equal length, in order.

    Details are left out where enough others remain: a long section says of a statute what others say of it too.
    """
    total = sum(tokens)
    stretches = max(LEAST_FACTS, round(total / FACT_TOKENS))
    best: dict[int, Fact] = {}
    done = 0
    for paragraph, size in zip(paragraphs, tokens, strict=True):
        for place, fact in enumerate(paragraph.facts):
            at = done + size * (place + 0.5) / len(paragraph.facts)
            stretch = min(stretches - 1, int(at * stretches / total))
            if stretch not in best or fact.weight > best[stretch].weight:
                best[stretch] = fact
        done += size
    found = [best[stretch] for stretch in sorted(best)]
    weighty = [fact for fact in found if fact.weight >= _DETAIL]
    return weighty if len(weighty) >= LEAST_FACTS else found
