"""Organizing synthetic documents: how much of a text, with a summary of each of its parts, makes a prompt of a given length."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from long_context_tasks.benchmarks.ethic.build.contexts import organize_draft
from long_context_tasks.benchmarks.ethic.build.drafts import Draft
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import SectionFacts, states
from long_context_tasks.benchmarks.ethic.synthetic.maker import LEAST_CHUNK, Made, Maker
from long_context_tasks.synthetic.document import Document, Paragraph
from long_context_tasks.tokens.chunks import JOINT, Chunk

_FEWEST = 3
"""Options; there are more where a length has room for them."""
_FEWER, _ATTEMPTS = 4, 4
_MOST_PART = 512
"""Tokens of a part, about. Summaries are short, so that longer parts would leave much of the text without need."""
_INSTRUCTION = 120
"""Tokens of the prompt that are neither context nor options, about."""
_OPTION_MARK = 5


class _Parts:
    """Paragraphs of a document in parts that become the chunks of a case, each with its summary."""

    def __init__(self, maker: Maker, document: Document) -> None:
        self.maker, self.document = maker, document
        self.parts: list[list[Paragraph]] = []

    def size(self, paragraphs: Sequence[Paragraph]) -> int:
        """Return the tokens that a part takes in the context and among the options."""
        count = self.maker.count
        summary = self.maker.genre.summary_of(paragraphs)
        return sum(count(one.text + JOINT) for one in paragraphs) + count(summary) + _OPTION_MARK

    def divide(self, number: int, room: int) -> Sequence[Paragraph]:
        """All parts but the last one, as even as whole paragraphs allow; returns the paragraphs that are left."""
        left = list(self.document.paragraphs)
        used = 0
        self.parts = []
        for place in range(number - 1):
            part: list[Paragraph] = []
            goal = room * (place + 1) / number - used
            size = 0
            while left:
                grown = self.size([*part, left[0]])
                # A paragraph goes where most of it belongs.
                if part and (size + grown) / 2 > goal and self.summary(part):
                    break
                part.append(left.pop(0))
                size = grown
            self.parts.append(part)
            used += size
        return left

    def summary(self, paragraphs: Sequence[Paragraph]) -> str:
        return self.maker.genre.summary_of(paragraphs)

    def draft(self, last: Sequence[Paragraph]) -> Draft | None:
        """Return the case with this last part; None where a summary is empty."""
        parts = [*self.parts, list(last)]
        summaries = [self.summary(part) for part in parts]
        if not all(summaries):
            return None
        maker = self.maker
        pieces = iter(maker.pieces([one for part in parts for one in part]))
        chunks = [Chunk(tuple(next(pieces) for _ in part)) for part in parts]
        return organize_draft(maker.window(self.document, chunks), summaries, len(parts), maker.settings)


def organize(maker: Maker) -> Made | None:
    """Make the case of a number; None where its document makes none."""
    document = _told_once(maker.document())
    chunk = min(_MOST_PART, max(LEAST_CHUNK, maker.length // 8))
    room = maker.length - _INSTRUCTION
    option = _summary_tokens(maker, document, chunk)
    most = max(_FEWEST, room // (chunk + option))
    # Long paragraphs may leave too little for the last part; then fewer parts are tried, and other documents before two.
    fewest = _FEWEST if maker.attempt < _ATTEMPTS else 2
    for number in range(most, max(fewest, most - _FEWER) - 1, -1):
        made = _in_parts(maker, document, number, room, room // number - option)
        if made is not None:
            return made
    return None


def _in_parts(maker: Maker, document: Document, number: int, room: int, last_room: int) -> Made | None:
    """Return the case of so many parts; ``last_room`` is that of the last one to begin with."""
    parts = _Parts(maker, document)
    left = parts.divide(number, room)

    def make(room: int) -> Made | None:
        last = maker.fitted(left, room)
        draft = parts.draft(last) if last else None
        if draft is None:
            return None
        chosen = [*parts.parts, last]
        facts = [_stated(part, parts.summary(part)) for part in chosen]
        return Made(draft, tuple(one for part in chosen for one in part), tuple(facts))

    return maker.tuned(last_room, make)


def _summary_tokens(maker: Maker, document: Document, chunk: int) -> int:
    part: list[Paragraph] = []
    size = 0
    for paragraph in document.paragraphs:
        part.append(paragraph)
        size += maker.count(paragraph.text + JOINT)
        if size >= chunk:
            break
    return maker.count(maker.genre.summary_of(part)) + _OPTION_MARK


def _told_once(document: Document) -> Document:
    """Return the document without facts that are stated of several of its paragraphs: summaries of two parts might share them."""
    told = Counter(fact.statement for one in document.paragraphs for fact in one.facts)
    return replace(
        document,
        paragraphs=tuple(
            replace(one, facts=tuple(fact for fact in one.facts if told[fact.statement] == 1))
            for one in document.paragraphs
        ),
    )


def _stated(part: Sequence[Paragraph], summary: str) -> SectionFacts:
    return SectionFacts(tuple(fact for one in part for fact in one.facts if states(summary, fact)), 0)
