"""Synthetic cases: documents written from a seed, of any length, with answers that are known because the writer decided them.

Every case has a document of its own, which depends on the seed, the domain and the number of the case. A case is written, cut to its
length, and stored before the next one is begun.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from long_context_tasks.benchmarks.ethic.build.contexts import beginnings, even_sections, recall_draft
from long_context_tasks.benchmarks.ethic.build.drafts import Draft, Window
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.settings import FittedSettings
from long_context_tasks.benchmarks.ethic.synthetic.fit import fit
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic import trials
from long_context_tasks.synthetic.document import LabelledText, Paragraph
from long_context_tasks.tokens import CL100K
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece, chunks_of

T = TypeVar("T")


@dataclass(frozen=True)
class Genre:
    """How the documents of a domain are written.

    Attributes:
        begin: seed to a function that returns, for tokens of cl100k, the beginning of a document that has at least about so many.
        fillers: short sentences that hold no label, for what is left of a length.
        parts: paragraphs to the number of the document that each belongs to; cases count them as ``num_documents``.
    """

    begin: Callable[[int], Callable[[int], LabelledText]]
    fillers: tuple[str, ...]
    parts: Callable[[Sequence[Paragraph]], list[int]] = lambda paragraphs: [0] * len(paragraphs)


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
        parts=lambda paragraphs: list(range(len(paragraphs))),
    ),
}


SLACK = 0.012
"""Share of a length that a prompt leaves free, about; 2 % at most."""
MOST_FREE = 0.02
LEAST_CHUNK, MOST_CHUNK = 128, 1024
LEAST_SECTION = 256
_INSTRUCTION = 150
_TRIES = 12
_WRITINGS = 5


@dataclass(frozen=True)
class Made:
    """A case before it is written.

    Attributes:
        draft: of the case.
        paragraphs: of its context, in order.
    """

    draft: Draft
    paragraphs: tuple[Paragraph, ...]


class Section(NamedTuple):
    """A part of a context.

    Attributes:
        begin: its first words, which occur once in the context.
        paragraphs: in order.
    """

    begin: str
    paragraphs: list[Paragraph]

    @property
    def reports(self) -> bool:
        """Whether it reports on a study; an abstract that is cut may end before."""
        return any(paragraph.reported for paragraph in self.paragraphs)


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

    def document(self) -> LabelledText:
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
        return fit(paragraphs, room, self.slack, self.count, self.genre.fillers)

    def window(self, document: LabelledText, chunks: Sequence[Chunk]) -> Window:
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

    def recall(self) -> tuple[Made, ...] | None:
        """Return the recalling case, whose prompt leaves room for one that names the sections of its context; None if there is none."""
        document = self.document()

        def make(room: int) -> tuple[Made, ...] | None:
            paragraphs = self.fitted(document.paragraphs, room)
            if not paragraphs:
                return None
            recall = self._recall(document, paragraphs)
            naming = self._naming(recall)
            return (recall, naming) if naming else None

        found = self.tuned(self.length - _INSTRUCTION, make)
        return found and found[:1]

    def _recall(self, document: LabelledText, paragraphs: Sequence[Paragraph]) -> Made:
        pieces = self.pieces(paragraphs)
        cap = min(MOST_CHUNK, max(LEAST_CHUNK, self.length // 8))
        chunks = list(chunks_of(pieces, max(cap, *(piece.tokens for piece in pieces))))
        left = iter(paragraphs)
        labels = [[label for _ in chunk.pieces for label in next(left).labels] for chunk in chunks]
        return Made(recall_draft(self.window(document, chunks), labels), tuple(paragraphs))

    def _naming(self, recall: Made) -> Made | None:
        """Return a case that shows the same context and names its sections; None if these cannot be named.

        It is not asked. A question on one section is shorter, so it fits the length of a context that leaves room for this one.
        """
        size = max(LEAST_SECTION, self.length // 8)
        most = min(len(recall.paragraphs), max(2, round((self.length - _INSTRUCTION) / size)))
        for number in range(most, 1, -1):
            sections = self.sections(recall.paragraphs, number)
            # With two sections one report is enough.
            enough = any if number == 2 else all
            if sections is not None and enough(section.reports for section in sections):
                listed = "\n".join(
                    f'<Section {place}> "{section.begin}"' for place, section in enumerate(sections, start=1)
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

    def sections(self, paragraphs: Sequence[Paragraph], number: int) -> list[Section] | None:
        """Return paragraphs in so many sections; None where one of these begins with a paragraph that comes again."""
        sections = even_sections([Chunk((piece,)) for piece in self.pieces(paragraphs)], number)
        begin = beginnings(sections)
        if begin is None:
            return None
        left = iter(paragraphs)
        return [
            Section(words, [next(left) for _ in section])
            for words, section in zip(begin, sections, strict=True)
        ]
