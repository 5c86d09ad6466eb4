"""Make synthetic cases from documents that are written from a seed, so that the answers are known because the writer decided them.

Every case has its own document, which depends on the seed, the domain and the number of the case. The document is cut so that the
prompt fills its length.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from long_context_tasks.benchmarks.ethic.build.contexts import recall_draft
from long_context_tasks.benchmarks.ethic.build.drafts import CaseDraft, ContextWindow
from long_context_tasks.benchmarks.ethic.build.sources import EthicSource
from long_context_tasks.benchmarks.ethic.synthetic.fit import fit
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import LabelledText, Paragraph
from long_context_tasks.synthetic.trials import Abstracts, Review, WrittenReview
from long_context_tasks.tokens import CL100K, Tokenizer
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece, chunks_of


class DocumentWriter(Protocol):
    """Writes the document of a seed; a later call continues the same text."""

    def __call__(self, tokens: int, /) -> LabelledText:
        """Return a document of at least about so many tokens of cl100k."""


@dataclass(frozen=True)
class Genre:
    """How the documents of a domain are written."""

    begin: Callable[[int], DocumentWriter]  # takes a seed
    fillers: tuple[str, ...]  # short sentences without a label, which fill the rest of a length
    collected: bool = False  # whether each paragraph is a document of its own, such as an abstract


GENRES: Mapping[str, Genre] = {
    "medicine": Genre(
        Abstracts,
        (
            "Limits are discussed.",
            "Further research is needed.",
            "Details of the methods are given in the report.",
            "The findings were much the same in the sensitivity analysis.",
            "The funder had no part in design, conduct, analysis or reporting of the study.",
        ),
        collected=True,
    )
}

SLACK = 0.012  # share of a length that a prompt may leave free; up to MOST_FREE if no better fit is found
MOST_FREE = 0.02
LEAST_CHUNK, MOST_CHUNK = 128, 1024
LEAST_SECTION = 256
FEWEST_WORDS = 4  # minimum number of words by which a section is named
INSTRUCTION_TOKENS = 150
_TRIES = 12
_WRITINGS = 5


@dataclass(frozen=True)
class MadeCase:
    """A case before it is written, with the paragraphs of its context in order."""

    draft: CaseDraft
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True)
class NamedSection:
    """A part of a context, named by its first words, which occur only once in the context."""

    name: str
    paragraphs: Sequence[Paragraph]

    @property
    def reports(self) -> bool:
        """Whether a study is reported on; an abstract that is cut may end before its report."""
        return any(paragraph.reported for paragraph in self.paragraphs)


@dataclass
class Writings:
    """The texts of one case number; a longer length continues what a shorter one began, so that nothing is written twice."""

    genre: Genre
    _documents: dict[int, DocumentWriter] = field(default_factory=dict)
    _reviews: dict[int, Review] = field(default_factory=dict)

    def document(self, seed: int, tokens: int) -> LabelledText:
        if seed not in self._documents:
            self._documents[seed] = self.genre.begin(seed)
        return self._documents[seed](tokens)

    def review(self, seed: int, tokens: int) -> WrittenReview:
        if seed not in self._reviews:
            self._reviews[seed] = Review(seed)
        return self._reviews[seed](tokens)


@dataclass(frozen=True)
class Maker:
    """Makes the cases of one domain and length from a document."""

    domain: str
    length: int  # maximum number of tokens of a prompt
    run_seed: int
    tokenizers: tuple[Tokenizer, ...]  # that of the lengths first, then cl100k if it is another one
    number: int  # of the case, from 0
    attempt: int  # from 0; a document that gives no case is replaced by the next one
    writings: Writings  # shared by all lengths

    @property
    def slack(self) -> int:
        return max(4, int(SLACK * self.length))

    @property
    def seed(self) -> int:
        parts = self.run_seed, "synthetic", self.domain, self.number, self.attempt
        return int(stable_seed(*parts)[:12], 16)

    @property
    def id(self) -> str:
        return f"s{self.run_seed}_{self.number:04}"

    @property
    def fillers(self) -> tuple[str, ...]:
        return self.writings.genre.fillers

    def count(self, text: str) -> int:
        return self.tokenizers[0].count(text)

    def tokens(self, draft: CaseDraft) -> int:
        return draft.tokens_in(self.tokenizers[0])

    def scale(self) -> float:
        """Return the number of cl100k tokens, in which writers count, per token of the lengths, with a margin of 5 %."""
        if self.tokenizers[0].name == CL100K:
            return 1.0
        sample = JOINT.join(each.text for each in self.writings.document(self.seed, 3000).paragraphs)
        return 1.05 * self.tokenizers[1].count(sample) / self.count(sample)

    def document(self) -> LabelledText:
        # More than the context can show, because its last paragraph is cut.
        wanted = int((int(self.length * 1.03) + 500) * self.scale())
        for _ in range(_WRITINGS):
            document = self.writings.document(self.seed, wanted)
            if sum(self._sizes(document.paragraphs)) >= self.length:
                return document
            # Writers estimate tokens from characters; other tokenizers may need more text.
            wanted = int(wanted * 1.4)
        raise InputError(
            f"no document of {self.domain} of {self.length} tokens could be written; give another lct_seed"
        )

    def _sizes(self, paragraphs: Iterable[Paragraph]) -> list[int]:
        return self.tokenizers[0].count_many([paragraph.text + JOINT for paragraph in paragraphs])

    def fitted(self, paragraphs: Sequence[Paragraph], room: int) -> list[Paragraph]:
        return fit(paragraphs, room, self.slack, self.count, self.fillers)

    def window(self, document: LabelledText, chunks: Sequence[Chunk]) -> ContextWindow:
        source = EthicSource(self.id, document.title, self.domain, ())
        return ContextWindow(source, self.length, tuple(chunks))

    def pieces(self, paragraphs: Sequence[Paragraph]) -> list[Piece]:
        return [
            Piece(paragraph.text, size, place if self.writings.genre.collected else 0)
            for place, (paragraph, size) in enumerate(zip(paragraphs, self._sizes(paragraphs), strict=True))
        ]

    def tuned(self, room: int, make: Callable[[int], Sequence[MadeCase] | None]) -> Sequence[MadeCase] | None:
        """Search the room for the context that brings the longest prompt closest to the length without exceeding it.

        ``make`` takes the room and returns the cases that share a context, or None if the room gives none.
        """
        best: tuple[int, Sequence[MadeCase]] | None = None
        for _ in range(_TRIES):
            made = make(room)
            # The last paragraph cannot be cut to this room; a little less may end at another sentence.
            if made is None:
                room -= self.slack
                continue
            size = max(self.tokens(case.draft) for case in made)
            if size <= self.length and (best is None or size > best[0]):
                best = size, made
            if self.length - self.slack <= size <= self.length:
                break
            # Aim at the middle of the allowed range. Each try differs a little from the one before, so none is repeated.
            room += self.length - self.slack // 2 - size
        if best is None or best[0] < (1 - MOST_FREE) * self.length:
            return None
        return best[1]

    def recall(self) -> list[MadeCase] | None:
        """Make the recalling case, or None if the document gives none.

        The questions on single sections show the same context to the byte, so that a document is computed once for all of them. The
        context therefore leaves room for their longer instruction, which the case that names all sections stands for.
        """
        document = self.document()

        def make(room: int) -> tuple[MadeCase, MadeCase] | None:
            paragraphs = self.fitted(document.paragraphs, room)
            if not paragraphs:
                return None
            recall = self._recall(document, paragraphs)
            longest = self._naming_sections(recall)
            return (recall, longest) if longest else None

        found = self.tuned(self.length - INSTRUCTION_TOKENS, make)
        return [found[0]] if found else None

    def _recall(self, document: LabelledText, paragraphs: Sequence[Paragraph]) -> MadeCase:
        pieces = self.pieces(paragraphs)
        # About eight chunks, so that scores by position can be shown at any length.
        cap = min(MOST_CHUNK, max(LEAST_CHUNK, self.length // 8))
        chunks = list(chunks_of(pieces, max(cap, *(piece.tokens for piece in pieces))))
        # Chunks consist of whole paragraphs, in the same order.
        left = iter(paragraphs)
        labels = [[label for _ in chunk.pieces for label in next(left).labels] for chunk in chunks]
        return MadeCase(recall_draft(self.window(document, chunks), labels), tuple(paragraphs))

    def _naming_sections(self, recall: MadeCase) -> MadeCase | None:
        """Return a case that shows the same context and names as many of its sections as possible; it only measures room."""
        size = max(LEAST_SECTION, self.length // 8)
        most = min(len(recall.paragraphs), max(2, round((self.length - INSTRUCTION_TOKENS) / size)))
        for number in range(most, 1, -1):
            sections = self.sections(recall.paragraphs, number)
            # Of two sections, one with a report is enough.
            enough = any if number == 2 else all
            if sections is not None and enough(section.reports for section in sections):
                listed = "\n".join(
                    f'<Section {place}> "{section.name}"' for place, section in enumerate(sections, start=1)
                )
                draft = replace(
                    recall.draft,
                    prompt="build_summarize",
                    slots={"num_sections": str(number), "beginnings": listed},
                    rewrite={
                        "section(s). For": "section(s), which begin with these words:\n<beginnings>\nFor"
                    },
                )
                return replace(recall, draft=draft)
        return None

    def sections(self, paragraphs: Sequence[Paragraph], number: int) -> list[NamedSection] | None:
        """Divide paragraphs into sections, or return None if one begins with a paragraph that occurs twice."""
        sections = even_sections([Chunk((piece,)) for piece in self.pieces(paragraphs)], number)
        context = "".join(
            f"{piece.text}{JOINT}" for section in sections for chunk in section for piece in chunk.pieces
        )
        found = []
        left = iter(paragraphs)
        for section in sections:
            own = [next(left) for _ in section]
            words = own[0].text.split(" ")
            names = (" ".join(words[:end]) for end in range(min(FEWEST_WORDS, len(words)), len(words) + 1))
            name = next((text for text in names if context.count(text) == 1), None)
            if name is None:
                return None
            found.append(NamedSection(name, own))
        return found


def even_sections(chunks: Sequence[Chunk], n: int) -> list[list[Chunk]]:
    """Split at least ``n`` chunks into ``n`` sections, as even as whole chunks allow and none of them empty."""
    total = sum(chunk.tokens for chunk in chunks)
    sections: list[list[Chunk]] = [[]]
    done = 0
    for place, chunk in enumerate(chunks):
        missing = n - len(sections)
        # A chunk goes into the section that most of it belongs to; the last chunks fill the sections that are still empty.
        over = (done + chunk.tokens / 2) * n > total * len(sections)
        if sections[-1] and missing and (over or len(chunks) - place == missing):
            sections.append([])
        sections[-1].append(chunk)
        done += chunk.tokens
    return sections
