"""What the synthetic cases of each domain are made from: a document written from a seed, and how to tell of its parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from long_context_tasks.corpora.synthetic.document import Document, Paragraph

__all__ = ["GENRES", "Genre"]


@dataclass(frozen=True)
class Genre:
    """How a domain is written.

    Attributes:
        write: seed and tokens of cl100k to a document that has at least about so many.
        summary_of: paragraphs to a short summary of what they say.
        fillers: short sentences that hold no label and no fact, for what is left of a length.
        forms: a label that is a number to the words that it may have in the text; None where labels are names.
        parts: paragraphs to the number of the abstract or opinion that each belongs to; cases count them as ``num_documents``.
    """

    write: Callable[[int, int], Document]
    summary_of: Callable[[Sequence[Paragraph]], str]
    fillers: tuple[str, ...]
    forms: Callable[[str], tuple[str, ...]] | None = None
    parts: Callable[[Sequence[Paragraph]], list[int]] = lambda paragraphs: [0] * len(paragraphs)


def _story(seed: int, num_tokens: int) -> Document:
    from long_context_tasks.corpora.synthetic.story import write_story

    return write_story(seed, num_tokens)


def _story_summary(paragraphs: Sequence[Paragraph]) -> str:
    from long_context_tasks.corpora.synthetic.story import summary_of

    return summary_of(paragraphs)


def _debate(seed: int, num_tokens: int) -> Document:
    from long_context_tasks.corpora.synthetic.debate import write_debate

    return write_debate(seed, num_tokens)


def _debate_summary(paragraphs: Sequence[Paragraph]) -> str:
    from long_context_tasks.corpora.synthetic.debate import summary_of

    return summary_of(paragraphs)


def _abstracts(seed: int, num_tokens: int) -> Document:
    from long_context_tasks.corpora.synthetic.trials import write_abstracts

    return write_abstracts(seed, num_tokens)


def _abstracts_summary(paragraphs: Sequence[Paragraph]) -> str:
    from long_context_tasks.corpora.synthetic.trials import summary_of

    return summary_of(paragraphs)


def _forms_of_count(label: str) -> tuple[str, ...]:
    from long_context_tasks.corpora.synthetic.trials_numbers import in_words

    number = int(label)
    return (label, f"{number:,}", *((in_words(number),) if number < 1000 else ()))


def _forms_of_citation(label: str) -> tuple[str, ...]:
    """Special characters are left out of labels: "922(g)" is 922g."""
    return (label,)


def _opinions(seed: int, num_tokens: int) -> Document:
    from long_context_tasks.corpora.synthetic.opinions import write_opinions

    return write_opinions(seed, num_tokens)


def _opinions_summary(paragraphs: Sequence[Paragraph]) -> str:
    from long_context_tasks.corpora.synthetic.opinions import summary_of

    return summary_of(paragraphs)


def _parts_by_caption(paragraphs: Sequence[Paragraph]) -> list[int]:
    """The opinion of each paragraph, from 0."""
    from long_context_tasks.corpora.synthetic.opinions import begins_opinion

    parts: list[int] = []
    for paragraph in paragraphs:
        new = begins_opinion(paragraph.text)
        parts.append(parts[-1] + new if parts else 0)
    return parts


GENRES: Mapping[str, Genre] = {
    "books": Genre(
        _story,
        _story_summary,
        (
            "Nothing more was said.",
            "It was already late.",
            "The fire had burned low by then.",
            "Outside, the wind went on as it had before.",
            "For a while nobody spoke, and there was only the sound of the rain.",
        ),
    ),
    "debates": Genre(
        _debate,
        _debate_summary,
        (
            "I shall be brief.",
            "I say no more.",
            "That is all I wish to say on it.",
            "I am grateful to the House for its patience.",
            "The House will forgive me if I do not go into every detail of it now.",
        ),
    ),
    "medicine": Genre(
        _abstracts,
        _abstracts_summary,
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
    "law": Genre(
        _opinions,
        _opinions_summary,
        (
            "We agree.",
            "That settles the point.",
            "Nothing more need be said of it.",
            "The argument was not pressed any further on appeal.",
            "The record does not call for a different view of the matter.",
        ),
        forms=_forms_of_citation,
        parts=_parts_by_caption,
    ),
}
