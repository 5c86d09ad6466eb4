"""Make synthetic cases from documents generated from a seed; the generator decides the answers.

Every case has its own document, determined by the seed, the domain and the case number. The document is cut
so that the prompt fills its length.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain

from long_context_tasks.benchmarks.ethic.build.contexts import recall_draft
from long_context_tasks.benchmarks.ethic.build.drafts import CaseDraft, ContextWindow
from long_context_tasks.benchmarks.ethic.build.sources import EthicSource
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import LabelledText, Paragraph, filled
from long_context_tasks.synthetic.numbers import in_words
from long_context_tasks.synthetic.trials import Abstracts, Review
from long_context_tasks.tokens import CL100K, Tokenizer
from long_context_tasks.tokens.chunks import JOINT, Chunk, Piece, chunks_of

# Generates a seed's document of at least a number of cl100k tokens; a later call continues the same text.
DocumentWriter = Callable[[int], LabelledText]


@dataclass(frozen=True)
class Genre:
    """How a domain's documents are generated."""

    begin: Callable[[int], DocumentWriter]  # takes a seed
    fillers: tuple[str, ...]  # short sentences without labels, which fill the remaining length
    collected: bool = False  # whether each paragraph is a separate document, such as an abstract


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

SLACK = 0.012  # share of a length that a prompt may leave unused; up to MOST_FREE if no better fit is found
MOST_FREE = 0.02
LEAST_CHUNK, MOST_CHUNK = 128, 1024
LEAST_SECTION = 256
FEWEST_WORDS = 4  # minimum number of words in a section's name
INSTRUCTION_TOKENS = 150
_TRIES = 12
_WRITINGS = 5
_SENTENCE_END = re.compile(r"[.?!][\"”’)]*(?=\s+[\"“‘(]*[A-Z])")
# "Capt.", "the hon. Member": the text is not cut after such a word, which may not end a sentence.
_ABBREVIATION = re.compile(r"\b(?:[A-Z]\w{0,4}|hon|vol|no|pp?|ss?|cl|art|ch|v|cf|etc)\.$")
_LONGEST = 6  # characters of an abbreviation
_NUMBER_STARTS = re.compile(r"(?<!\w)(?<!\d[.,])")
_NUMBER_ENDS = re.compile(r"(?!\w|[.,]\d)")
_PAIRS = (("“", "”"), ("(", ")"), ("[", "]"))


@dataclass(frozen=True)
class MadeCase:
    """A case before it is written, with the paragraphs of its context in order."""

    draft: CaseDraft
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True)
class NamedSection:
    """A part of a context, named by its first words, which are unique in the context."""

    name: str
    paragraphs: Sequence[Paragraph]

    @property
    def reports(self) -> bool:
        """Whether the section reports on a study; a truncated abstract may end before its report."""
        return any(paragraph.reported for paragraph in self.paragraphs)


class Writings:
    """The texts for one case number; a longer length continues a shorter one's text."""

    def __init__(self, genre: Genre) -> None:
        self.genre = genre
        # Generators of a seed's document, abstracts and review.
        self.document, self.abstracts, self.review = cache(genre.begin), cache(Abstracts), cache(Review)


@dataclass(frozen=True)
class Maker:
    """Makes the cases of one domain and length from a document."""

    domain: str
    length: int  # maximum number of tokens in a prompt
    run_seed: int
    tokenizers: tuple[Tokenizer, ...]  # the one that measures lengths first, then cl100k if it differs
    number: int  # of the case, from 0
    attempt: int  # from 0; a document that yields no case is replaced by the next one
    writings: Writings  # shared by all lengths
    _sizes: dict[str, int] = field(default_factory=dict, compare=False)

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

    def size(self, text: str) -> int:
        """Return the number of tokens in a text and the blank line after it."""
        # Every try counts the same paragraphs; these strings have their hashes, which the tokenizer would compute.
        if text not in self._sizes:
            self._sizes[text] = self.count(text + JOINT)
        return self._sizes[text]

    def tokens(self, draft: CaseDraft) -> int:
        return draft.tokens_in(self.tokenizers[0])

    def scale(self) -> float:
        """Return cl100k tokens (used by generators) per token of the length's tokenizer, plus 5 %."""
        if self.tokenizers[0].name == CL100K:
            return 1.0
        sample = JOINT.join(each.text for each in self.writings.document(self.seed)(3000).paragraphs)
        return 1.05 * self.tokenizers[1].count(sample) / self.count(sample)

    def document(self) -> LabelledText:
        # More than the context can show, because its last paragraph is cut.
        wanted = int((int(self.length * 1.03) + 500) * self.scale())
        for _ in range(_WRITINGS):
            document = self.writings.document(self.seed)(wanted)
            if sum(self.size(paragraph.text) for paragraph in document.paragraphs) >= self.length:
                return document
            # Generators estimate tokens from characters; other tokenizers may need more text.
            wanted = int(wanted * 1.4)
        raise InputError(
            f"no document of {self.domain} of {self.length} tokens could be written; give another lct_seed"
        )

    def fitted(self, paragraphs: Sequence[Paragraph], room: int) -> list[Paragraph]:
        return fit(paragraphs, room, self.slack, self.size, self.fillers)

    def window(self, document: LabelledText, chunks: Sequence[Chunk]) -> ContextWindow:
        source = EthicSource(self.id, document.title, self.domain, ())
        return ContextWindow(source, self.length, tuple(chunks))

    def pieces(self, paragraphs: Sequence[Paragraph]) -> list[Piece]:
        return [
            Piece(paragraph.text, self.size(paragraph.text), place if self.writings.genre.collected else 0)
            for place, paragraph in enumerate(paragraphs)
        ]

    def tuned(self, room: int, make: Callable[[int], Sequence[MadeCase] | None]) -> Sequence[MadeCase] | None:
        """Search for the room that brings the longest prompt closest to the length from below.

        ``make`` takes the room and returns the cases that share a context, or None if no context fits it.
        """
        best: tuple[int, Sequence[MadeCase]] | None = None
        for _ in range(_TRIES):
            made = make(room)
            # The last paragraph cannot be cut to this room; slightly less room may end at another sentence.
            if made is None:
                room -= self.slack
                continue
            size = max(self.tokens(case.draft) for case in made)
            if size <= self.length and (best is None or size > best[0]):
                best = size, made
            if self.length - self.slack <= size <= self.length:
                break
            # Aim at the middle of the allowed range. Every try changes the room slightly, so none is
            # repeated.
            room += self.length - self.slack // 2 - size
        if best is None or best[0] < (1 - MOST_FREE) * self.length:
            return None
        return best[1]

    def recall(self) -> list[MadeCase] | None:
        """Build the recall case; return None if the document yields none.

        The questions on single sections show the byte-identical context, so that each document is prefilled
        once for all of them. The context therefore leaves room for their longer instruction, sized by the
        case that names all sections.
        """
        document = self.writings.abstracts(self.seed)(self.length, lambda each: self.size(each.text))

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
        # About eight chunks, so that scores can be shown by position at any length.
        cap = min(MOST_CHUNK, max(LEAST_CHUNK, self.length // 8))
        chunks = list(chunks_of(pieces, max(cap, *(piece.tokens for piece in pieces))))
        # Chunks consist of whole paragraphs, in the same order.
        left = iter(paragraphs)
        labels = [[label for _ in chunk.pieces for label in next(left).labels] for chunk in chunks]
        return MadeCase(recall_draft(self.window(document, chunks), labels), tuple(paragraphs))

    def _naming_sections(self, recall: MadeCase) -> MadeCase | None:
        """Return a case that names as many sections as possible, only to measure the room it needs."""
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
        """Divide paragraphs into sections; return None if one begins with a paragraph that occurs twice."""
        sections = even_sections([Chunk((piece,)) for piece in self.pieces(paragraphs)], number)
        context = "".join(f"{paragraph.text}{JOINT}" for paragraph in paragraphs)
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


def has_number(label: str, text: str) -> bool:
    """Return whether a text contains a number as a separate word, in digits or, below 1,000, spelled out."""
    number = int(label)
    forms = [label, f"{number:,}"]
    if number < 1000:
        word = in_words(number)
        forms += [word, word.capitalize()]  # a number word may begin a sentence
    # Most forms do not occur, which a plain search finds many times as fast as a pattern.
    for form in forms:
        at = text.find(form)
        while at >= 0:
            if _NUMBER_STARTS.match(text, at) and _NUMBER_ENDS.match(text, at + len(form)):
                return True
            at = text.find(form, at + 1)
    return False


@lru_cache(maxsize=16)  # every try shortens the same paragraph
def shortened(paragraph: Paragraph, end: int) -> Paragraph | None:
    """Return a paragraph cut at an offset, with its remaining labels, or None if it cannot be cut there."""
    # Never after an abbreviation or inside a quotation or parenthesis.
    kept, rest = paragraph.text[:end].rstrip(), paragraph.text[end:]
    if (
        _ABBREVIATION.search(kept, max(0, len(kept) - _LONGEST))
        or any(kept.count(first) != kept.count(last) for first, last in _PAIRS)
        or kept.count('"') % 2
    ):
        return None
    labels = []
    for label in paragraph.labels:
        # If a label occurs in both parts, its count may refer to only one of them.
        there = has_number(label, kept)
        if there == has_number(label, rest):
            return None
        if there:
            labels.append(label)
    return Paragraph(kept, tuple(labels), paragraph.reported if paragraph.reported <= len(kept) else 0)


def shorter_forms(paragraph: Paragraph) -> Iterator[Paragraph]:
    """Yield the paragraph without its last sentence, without its last two, and so on."""
    for match in reversed(list(_SENTENCE_END.finditer(paragraph.text))):
        if (shorter := shortened(paragraph, match.end())) is not None:
            yield shorter


def fit(
    paragraphs: Iterable[Paragraph],
    room: int,
    slack: int,
    size_of: Callable[[str], int],
    fillers: Sequence[str],
) -> list[Paragraph]:
    """Return the first paragraphs that fit into ``room`` tokens; the last is shortened to whole sentences."""
    taken: list[Paragraph] = []
    left = room
    for paragraph in paragraphs:
        # Evaluated lazily, because nearly every paragraph fits as it is.
        candidates = chain((paragraph,), () if left < slack else shorter_forms(paragraph))
        sized = ((each, size_of(each.text)) for each in candidates)
        shorter, size = next((pair for pair in sized if pair[1] <= left), (None, 0))
        if shorter is not None:
            taken.append(shorter)
            left -= size
        if shorter is not paragraph:
            break
    return with_fillers(taken, left, slack, size_of, fillers) if taken else []


def with_fillers(
    paragraphs: Sequence[Paragraph],
    left: int,
    slack: int,
    size_of: Callable[[str], int],
    fillers: Sequence[str],
) -> list[Paragraph]:
    """Append short sentences to the last paragraph until at most ``slack`` of ``left`` tokens remain."""
    *before, last = paragraphs
    size = size_of(last.text)
    text, _ = filled(
        sorted(fillers, key=len, reverse=True),
        lambda added: " ".join((last.text, *added)),
        size_of,
        size + left - slack,
        size + left,
    )
    return [*before, replace(last, text=text)]


def even_sections(chunks: Sequence[Chunk], n: int) -> list[list[Chunk]]:
    """Split at least ``n`` chunks into ``n`` non-empty sections, as evenly as whole chunks allow."""
    total = sum(chunk.tokens for chunk in chunks)
    sections: list[list[Chunk]] = [[]]
    done = 0
    for place, chunk in enumerate(chunks):
        missing = n - len(sections)
        # A chunk belongs to the section that contains most of it; the last chunks fill sections that are
        # still empty.
        over = (done + chunk.tokens / 2) * n > total * len(sections)
        if sections[-1] and missing and (over or len(chunks) - place == missing):
            sections.append([])
        sections[-1].append(chunk)
        done += chunk.tokens
    return sections
