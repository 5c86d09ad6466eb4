"""Every kind of synthetic text without an end: how it is written, what it consists of, and how it is shown."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from long_context_tasks.synthetic.document import LabelledText
from long_context_tasks.synthetic.trials import CHARACTERS_PER_TOKEN, Abstracts, Review, WrittenStudy


class Kind(NamedTuple):
    """A kind of text.

    Attributes:
        begin: a seed to what writes a length in tokens.
        parts: what is written to what does not grow, and the parts, of which a longer text has more.
        shown: what is written to its text.
    """

    begin: Callable[[int], Callable[[int], Any]]
    parts: Callable[[Any], Sequence[Any]]
    shown: Callable[[Any], str]


def text_of(document: LabelledText) -> str:
    """Return the text of a document."""
    return "\n\n".join(paragraph.text for paragraph in document.paragraphs)


def labels_of(document: LabelledText) -> set[str]:
    return {label for paragraph in document.paragraphs for label in paragraph.labels}


def _of_study(study: WrittenStudy) -> str:
    return f"ID: {study.id}\nTitle: {study.title}\nAbstract: {study.abstract}\n\n"


def _review(seed: int) -> Callable[[int], list[Any]]:
    """Return a function that writes title, background and studies of so many tokens."""
    review = Review(seed)

    def written(tokens: int) -> list[Any]:
        studies = review.studies.first(tokens * CHARACTERS_PER_TOKEN, lambda study: len(_of_study(study)))
        return [review.title, review.background, *studies]

    return written


KINDS = {
    "abstracts": Kind(Abstracts, lambda document: document.paragraphs, text_of),
    "review": Kind(
        _review,
        lambda review: review,
        lambda review: "\n\n".join([review[1], "".join(map(_of_study, review[2:]))]),
    ),
}
