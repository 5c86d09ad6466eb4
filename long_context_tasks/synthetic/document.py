"""What a writer hands over: paragraphs with the answers that are known because the writer decided them."""

from collections.abc import Iterable
from dataclasses import dataclass

from long_context_tasks.schema import InputError

__all__ = ["Document", "Fact", "Paragraph", "paragraphs_of"]


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


def paragraphs_of(
    written: Iterable[Paragraph], num_tokens: int, characters_per_token: float
) -> tuple[Paragraph, ...]:
    """The first paragraphs of a stream: at least ``num_tokens`` tokens of them, and at most one paragraph more.

    Args:
        written: any number.
        num_tokens: the length wanted.
        characters_per_token: how many characters are taken for a token.

    Raises:
        InputError: ``num_tokens`` is below 1.
    """
    if num_tokens < 1:
        raise InputError(f"a text of {num_tokens} tokens cannot be written: ask for at least 1 token")
    taken: list[Paragraph] = []
    length = 0.0
    for paragraph in written:
        taken.append(paragraph)
        length += len(paragraph.text) + 2  # paragraphs are joined by an empty line
        if length >= num_tokens * characters_per_token:
            break
    return tuple(taken)
