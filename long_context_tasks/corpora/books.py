"""Readers of novels: Project Gutenberg texts, folders of chapter files, JSON Lines.

One call, :func:`read_books`, tells by itself what it was given; every form ends as the same :class:`Book`: whole
paragraphs of the story and nothing else (see :mod:`long_context_tasks.corpora.gutenberg` for what is removed).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from long_context_tasks.corpora.gutenberg import clean
from long_context_tasks.corpora.plain_files import read_text
from long_context_tasks.schema import InputError

__all__ = ["Book", "read_books"]

_TEXT_NAMES = (".txt", ".txt.gz")
_JSON_NAMES = (".jsonl", ".jsonl.gz")
# Control characters that no text has; a few stray ones are forgiven, a file full of them is no text.
_FORMS = "a .txt[.gz] or .jsonl[.gz] file, a folder of such files, or a folder of folders with chapter files"


@dataclass(frozen=True)
class Book:
    """A novel.

    Attributes:
        id: Name of its file or folder without the ending, or the ``id`` of its JSON line.
        title: From the text's header, else the id.
        paragraphs: The story in reading order, one line each.
        chapters: Index of the first paragraph of each chapter, ascending, beginning with 0.
    """

    id: str
    title: str
    paragraphs: tuple[str, ...]
    chapters: tuple[int, ...]


def read_books(path: Path) -> Iterator[Book]:
    """Yield the books at ``path``, files sorted by name, of JSON Lines in file order; one in memory at a time.

    Args:
        path: A ``.txt``/``.txt.gz`` file with one book; or a ``.jsonl``/``.jsonl.gz`` file with objects of ``id``,
            ``title`` (optional) and ``text``, ``paragraphs`` or ``chapters``; or a folder of such files, and of folders
            with a text file for each chapter of a book in natural order (2 before 10). Texts are UTF-8, else ISO-8859-1.

    Raises:
        InputError: Nothing to read, a file that is no text, a book without a story, two books with one id.
    """
    seen: dict[str, str] = {}
    found = False
    for book, place in _read(path):
        if not book.paragraphs:
            raise InputError(
                f"{place}: no story is left after removing headings and notes. Remove it or replace it."
            )
        if book.id in seen:
            raise InputError(
                f"{place}: the book id {book.id!r} is also that of {seen[book.id]}. Rename one of them."
            )
        seen[book.id] = place
        found = True
        yield book
    if not found:
        raise InputError(f"{path}: no books in it. Name {_FORMS}.")


def _read(path: Path) -> Iterator[tuple[Book, str]]:
    if path.is_dir():
        entries = sorted((entry for entry in path.iterdir() if not entry.name.startswith(".")), key=_natural)
        for entry in entries:
            if entry.is_dir():
                if files := sorted(filter(_is_text, entry.iterdir()), key=_natural):
                    yield _from_chapters(entry.name, None, [read_text(file) for file in files]), str(entry)
            elif entry.name.lower().startswith("readme"):
                continue
            elif _is_text(entry):
                yield _from_text(_stem(entry), None, read_text(entry)), str(entry)
            elif entry.name.lower().endswith(_JSON_NAMES):
                yield from _read_lines(entry)
    elif not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Name {_FORMS}.")
    elif path.name.lower().endswith(_JSON_NAMES):
        yield from _read_lines(path)
    else:
        yield _from_text(_stem(path), None, read_text(path)), str(path)


def _from_text(book_id: str, title: str | None, text: str) -> Book:
    story = clean(text)
    return Book(book_id, title or story.title or book_id, story.paragraphs, story.chapters)


def _from_chapters(book_id: str, title: str | None, texts: Sequence[str]) -> Book:
    """A book of chapter texts: each begins a chapter, whatever headings it has."""
    paragraphs: list[str] = []
    chapters: list[int] = []
    for text in texts:
        story = clean(text)
        title = title or story.title
        chapters += [len(paragraphs) + i for i in story.chapters]
        paragraphs += story.paragraphs
    return Book(book_id, title or book_id, tuple(paragraphs), tuple(chapters))


def _read_lines(path: Path) -> Iterator[tuple[Book, str]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise InputError(
                f"{place}: no JSON ({error}). Write one book as one JSON object a line."
            ) from error
        yield _from_fields(place, fields), place


def _from_fields(place: str, fields: Any) -> Book:
    if not isinstance(fields, dict) or not isinstance(fields.get("id"), str | int):
        raise InputError(
            f'{place}: the line is no JSON object with an "id". Give each book an id of its own.'
        )
    book_id, title = str(fields["id"]), fields.get("title")
    title = title if isinstance(title, str) else None
    text = fields.get("text")
    if isinstance(text, str):
        return _from_text(book_id, title, text)
    if _are_texts(paragraphs := fields.get("paragraphs")):
        kept = tuple(line for paragraph in paragraphs if (line := " ".join(paragraph.split())))
        return Book(book_id, title or book_id, kept, (0,) if kept else ())
    if isinstance(chapters := fields.get("chapters"), list):
        # A chapter is a text or a list of paragraphs.
        texts = ["\n\n".join(chapter) if _are_texts(chapter) else chapter for chapter in chapters]
        if _are_texts(texts):
            return _from_chapters(book_id, title, texts)
    raise InputError(
        f'{place}: the book has neither "text" (a string) nor "paragraphs" nor "chapters" (lists of strings). Add one.'
    )


def _are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(_TEXT_NAMES)


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", ".txt"):
        name = name[: -len(ending)] if name.lower().endswith(ending) else name
    return name


def _natural(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """Sorts "2" before "10" and is the same on every system."""
    pieces = re.split(r"(\d+)", path.name.lower())
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in pieces if p], path.name
