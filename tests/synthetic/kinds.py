"""Every kind of synthetic text without an end: how it is written, what it consists of, and how it is shown."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from long_context_tasks.synthetic.document import LabelledText
from long_context_tasks.synthetic.trials import Abstracts, Review, WrittenReview


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


def _of_review(review: WrittenReview) -> str:
    studies = (f"ID: {one.id}\nTitle: {one.title}\nAbstract: {one.abstract}\n\n" for one in review.studies)
    return f"{review.background}\n\n{''.join(studies)}"


KINDS = {
    "abstracts": Kind(Abstracts, lambda document: document.paragraphs, text_of),
    "review": Kind(
        Review,
        lambda review: [review.title, review.background, *review.studies],
        _of_review,
    ),
}
