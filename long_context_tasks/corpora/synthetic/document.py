"""What a writer hands over: paragraphs with the answers that are known because the writer decided them."""

from dataclasses import dataclass

__all__ = ["Document", "Fact", "Paragraph"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a paragraph says, which a faithful summary of its part of the text would say too.

    Attributes:
        statement: one plain sentence.
        words: groups of words or numbers; a text states the fact when, of each group, it has one member.
        weight: how much it matters: 1 for what a short summary has to say, less for details.
    """

    statement: str
    words: tuple[tuple[str, ...], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph.

    Attributes:
        text: without line breaks.
        labels: what a recall task asks for and this paragraph has, as it stands in the text, in order, each once.
        facts: in order.
    """

    text: str
    labels: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Document:
    """A text of any genre.

    Attributes:
        id: the same for the same seed.
        title: for people.
        paragraphs: in order.
    """

    id: str
    title: str
    paragraphs: tuple[Paragraph, ...]
