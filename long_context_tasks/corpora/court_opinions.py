"""Readers of court opinions with the cases that they cite: CourtListener rows, or plain texts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from long_context_tasks.corpora.plain_files import (
    Reader,
    field_of,
    read_records,
    read_rows,
    read_text,
    stem_of,
)
from long_context_tasks.schema import InputError

FORMS = (
    '.jsonl[.gz] with "opinion_id", "title" (or "case_slug"), "text", "opinions_cited": [ids] and, if known, '
    '"citation_strings": [[id, "17 F.3d 462"]]; or .txt[.gz] opinions, one a file'
)
# Page numbers of the court's layout: "-3-" or "3" alone on a line; line numbers before a line's text.
_PAGE_NUMBER = re.compile(r"^[ \t]*-?[ \t]*\d{1,4}[ \t]*-?[ \t]*$", re.MULTILINE)
_SMALL = frozenset(("v", "of", "the", "and", "in", "re", "ex", "rel", "for", "et", "al"))


@dataclass(frozen=True)
class Opinion:
    """An opinion.

    Attributes:
        id: of the opinion.
        title: name of the case.
        pages: of the court's layout, one line each; a single one where the text has no page marks.
        cites: ids of the opinions that it cites.
        citation_strings: id of a cited opinion to how it is cited here, e.g. ``17 F.3d 462``.
    """

    id: str
    title: str
    pages: tuple[str, ...]
    cites: tuple[str, ...] = ()
    citation_strings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_opinions(path: Path) -> Iterator[Opinion]:
    """Yield the opinions at a path.

    Args:
        path: a file of one of the :data:`FORMS`, or a folder of such files; JSON Lines without a ``text`` are passed over
            in a folder (CourtListener's own records, say).

    Raises:
        InputError: nothing to read, a row of another form, an opinion without a word, two of one id.
    """
    readers: dict[str, Reader[Opinion]] = {"jsonl": partial(_of_rows, alone=path.is_file()), "txt": _of_text}
    for place, opinion in read_records(path, readers, f"no opinions in it; give {FORMS}"):
        if not opinion.pages:
            raise InputError(f"{place}: the opinion has no words; remove it or replace it")
        yield opinion


def clean_pages(text: str) -> tuple[str, ...]:
    """Pages of a text without line breaks, page numbers and runs of blanks; page ends are form feeds.

    >>> clean_pages("The  court\\n\\nheld\\n   -2-\\n\\fthat it")
    ('The court held', 'that it')
    """
    pages = (" ".join(_PAGE_NUMBER.sub("", page).split()) for page in text.split("\f"))
    return tuple(filter(None, pages))


def _title(slug: str) -> str:
    """Return a case's name from its URL form.

    >>> _title("united-states-v-de-la-cruz")
    'United States v. De La Cruz'
    """
    words = [word if word in _SMALL else word.capitalize() for word in slug.split("-") if word]
    text = " ".join(words)
    text = re.sub(r"\bv\b", "v.", text)
    return text[:1].upper() + text[1:]


def _of_rows(file: Path, *, alone: bool) -> Iterator[tuple[str, Opinion]]:
    for place, row in read_rows(file, "an opinion"):
        if "text" not in row and not alone:
            return
        name = field_of(row, ("opinion_id", "id"), place)
        if not isinstance(row.get("text"), str):
            raise InputError(f'{place}: no "text"; add the opinion\'s text, or remove the row')
        cited = row.get("opinions_cited") or []
        if not isinstance(cited, list) or not all(isinstance(one, str | int) for one in cited):
            raise InputError(f'{place}: "opinions_cited" must be a list of ids')
        title = field_of(row, ("title", "case_name"), place, needed=False) or _title(
            field_of(row, ("case_slug",), place, needed=False)
        )
        strings = _strings(row.get("citation_strings") or [], place)
        yield (
            place,
            Opinion(
                name,
                title or name,
                clean_pages(row["text"]),
                tuple(dict.fromkeys(str(one) for one in cited if str(one) != name)),
                strings,
            ),
        )


def _strings(pairs: Any, place: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    good = isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], str | int)
        and isinstance(pair[1], str)
        for pair in pairs
    )
    if not good:
        raise InputError(f'{place}: "citation_strings" must be a list of [id, "966 F.2d 707"]')
    for number, text in pairs:
        found.setdefault(str(number), []).append(" ".join(text.split()))
    return {number: tuple(dict.fromkeys(texts)) for number, texts in found.items()}


def _of_text(file: Path) -> Iterator[tuple[str, Opinion]]:
    yield str(file), Opinion(stem_of(file), stem_of(file), clean_pages(read_text(file)))
