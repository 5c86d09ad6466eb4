"""Sections of a context and of a response that summarizes them."""

import re
from collections.abc import Sequence

_CONTEXT = re.compile(r"### Context:\n(.+?)\n\nNow, respond to the instruction", re.DOTALL)
_MARKERS = {"law": re.compile(r"<Segment \d+>")}
_MARKER = re.compile(r"<Section \d+>")


def context_of(user_message: str) -> str | None:
    """The context in a user message of the summarizing task; None when it is not laid out so."""
    match = _CONTEXT.search(user_message)
    return match[1] if match else None


def find_markers(text: str, domain: str) -> list[str]:
    """The markers in a text, in its order; in law sections are called segments."""
    return _MARKERS.get(domain, _MARKER).findall(text)


def split_sections(text: str, domain: str) -> dict[str, str]:
    """Marker to stripped text, as the official code splits contexts and responses.

    Text before the first marker is dropped; a marker that occurs twice keeps its last text, at the place of its first.

    >>> split_sections("Here: <Section 1> One. <Section 2>\\n", "books")
    {'<Section 1>': 'One.', '<Section 2>': ''}
    """
    pattern = _MARKERS.get(domain, _MARKER)
    texts = [piece.strip() for piece in pattern.split(text)[1:]]
    return dict(zip(find_markers(text, domain), texts, strict=True))


def summaries(response: str, markers: Sequence[str], domain: str) -> dict[str, str]:
    """Marker to summary, in the context's order, of the sections that a response summarizes; others are ignored.

    Where the context is a single section, a response without any marker is its summary; the official code would drop it.
    """
    found = split_sections(response, domain)
    if not found and len(markers) == 1 and response.strip():
        return {markers[0]: response.strip()}
    return {marker: found[marker] for marker in markers if marker in found}
