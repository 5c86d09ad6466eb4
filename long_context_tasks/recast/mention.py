"""A place of a text that names or numbers something."""

from typing import NamedTuple


class Mention(NamedTuple):
    """A place of a text that is replaced.

    Attributes:
        start, end: characters.
        kind: woman or man (first names), surname, place, organisation, acronym, name (unclear), initial; date, count (of people), number;
            citation.
        key: what is the same wherever the same is meant.
        tail: ending behind the replacement (``Londoners``).
    """

    start: int
    end: int
    kind: str
    key: str
    tail: str = ""
