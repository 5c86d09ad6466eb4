"""Every kind of synthetic text that has a length: how it is written, what it consists of, and how it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.synthetic import meeting, opinions, trials


@dataclass(frozen=True)
class Kind:
    """A kind of text.

    Attributes:
        write: a seed and a length in tokens to what is written.
        parts: what is written to the parts, of which a longer text has more.
        shown: what is written to its text.
    """

    write: Callable[[int, int], Any]
    parts: Callable[[Any], Sequence[Any]]
    shown: Callable[[Any], str]


def text_of(document: Any) -> str:
    """Return the text of a document."""
    return "\n\n".join(paragraph.text for paragraph in document.paragraphs)


def _of_review(review: Any) -> str:
    return "".join(
        f"ID: {one.id}\nTitle: {one.title}\nAbstract: {one.abstract}\n\n" for one in review.studies
    )


def text_of_group(group: opinions.OpinionGroup) -> str:
    """Return the pages of a group of opinions."""
    segments = enumerate(group.segments, start=1)
    return "".join(f"<Segment {number}>\n{segment.text}\n\n" for number, segment in segments)


def _document(write: Callable[[int, int], Any]) -> Kind:
    return Kind(write, lambda document: document.paragraphs, text_of)


KINDS = {
    "abstracts": _document(trials.write_abstracts),
    "review": Kind(trials.write_review, lambda review: review.studies, _of_review),
    "opinions": _document(opinions.write_opinions),
    "opinion group": Kind(opinions.write_opinion_group, lambda group: group.segments, text_of_group),
    "meeting": Kind(
        lambda seed, length: meeting.write_meeting(seed, length, max(1, min(8, length // 1000))),
        lambda one: one.lines,
        lambda one: one.transcript,
    ),
}
