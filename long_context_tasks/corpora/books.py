"""Read novels: texts of Project Gutenberg, folders of chapter files, JSON Lines.

Every form becomes a :class:`Book`: whole paragraphs of the story without front matter, headings and notes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, model_validator

from long_context_tasks.corpora.blocks import Block
from long_context_tasks.corpora.forms import form_of
from long_context_tasks.corpora.gutenberg import clean
from long_context_tasks.corpora.plain_files import (
    Id,
    SourceRow,
    Title,
    kind_of,
    read_checked,
    read_plain,
    stem_of,
    unique,
)
from long_context_tasks.schema import InputError

_FORMS = "a .txt[.gz] or .jsonl[.gz] file, a folder of such files, or a folder of folders with chapter files"


@dataclass(frozen=True)
class Book:
    id: str  # name of its file or folder without the ending, or the id in its JSON line
    title: str  # title in the text's header, or the id
    paragraphs: tuple[str, ...]  # the story in reading order, one line each
    chapters: tuple[int, ...]  # index of the first paragraph of each chapter, ascending from 0
    form: str = "novel"  # "novel" (any prose), "letters", "play" or "verse"
    headings: tuple[str, ...] = ()  # titles of the removed headings
    warnings: tuple[str, ...] = ()  # doubts about the numbers of its headings, one sentence each
    # Number of words of the file that are not in the paragraphs, by reason (REASONS); empty if the paragraphs
    # were given as such.
    dropped: Mapping[str, int] = field(default_factory=dict, compare=False)


# A text or a list of paragraphs.
_Chapter = Annotated[list[str], BeforeValidator(lambda held: [held] if isinstance(held, str) else held)]


class _BookRow(SourceRow):
    id: Id
    title: Title = ""
    text: str | None = None
    paragraphs: list[str] | None = None
    chapters: list[_Chapter] | None = None

    def record(self) -> Book:
        if self.text is not None:
            return _from_text(self.id, self.title, self.text)
        if self.paragraphs is not None:
            blocks = [Block(tuple(text.strip().split("\n")), 1) for text in self.paragraphs if text.strip()]
            kept = tuple(block.text for block in blocks)
            chapters = (0,) if kept else ()
            return Book(self.id, self.title or self.id, kept, chapters, form_of(blocks, blocks, blocks, ()))
        return _from_chapters(self.id, self.title, map("\n\n".join, self.chapters or ()))

    @model_validator(mode="after")
    def _has_a_story(self) -> "_BookRow":
        if self.text is None and self.paragraphs is None and self.chapters is None:
            raise ValueError(
                'has neither "text" (a string) nor "paragraphs" nor "chapters" (lists of strings)'
            )
        return self


def read_books(path: Path) -> Iterator[Book]:
    """Yield the books at a path, one in memory at a time; files are sorted by name, rows keep their order.

    Args:
        path: a ``.txt[.gz]`` file with one book; or a ``.jsonl[.gz]`` file with objects of ``id``, ``title`` (optional) and
            ``text``, ``paragraphs`` or ``chapters``; or a folder of such files, and of folders with a text file for each
            chapter of a book in natural order (2 before 10).

    Raises:
        InputError: there is nothing to read, a file is not text, a book has no story, or two books have the same id.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder. Name {_FORMS}.")
    for place, book in unique(_read(path), f"{path}: no books in it. Name {_FORMS}."):
        if not book.paragraphs:
            raise InputError(
                f"{place}: no story is left after removing headings and notes; paragraphs need a blank line or an indented first line "
                "between them. Replace the file or remove it."
            )
        yield book


def _read(path: Path) -> Iterator[tuple[str, Book]]:
    if not path.is_dir():
        yield from _read_file(path)
        return
    for entry in sorted(path.iterdir(), key=_natural):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            files = [file for file in entry.iterdir() if file.is_file() and kind_of(file) == "txt"]
            if files:
                yield (
                    str(entry),
                    _from_chapters(entry.name, "", map(read_plain, sorted(files, key=_natural))),
                )
        elif not entry.name.lower().startswith("readme") and kind_of(entry) in ("txt", "jsonl"):
            yield from _read_file(entry)


def _read_file(file: Path) -> Iterator[tuple[str, Book]]:
    if kind_of(file) == "jsonl":
        yield from read_checked(file, _BookRow, "a book")
    else:
        yield str(file), _from_text(stem_of(file), "", read_plain(file))


def _from_text(book_id: str, title: str, text: str) -> Book:
    story = clean(text)
    titles = tuple(heading.title for heading in story.headings if heading.title.strip())
    found = (story.paragraphs, story.chapters, story.form, titles, story.warnings, story.dropped)
    return Book(book_id, title or story.title or book_id, *found)


def _from_chapters(book_id: str, title: str, texts: Iterable[str]) -> Book:
    """Build a book from texts, each of which begins a chapter."""
    paragraphs: list[str] = []
    chapters: list[int] = []
    forms: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for story in map(clean, texts):
        title = title or story.title or ""
        chapters += [len(paragraphs) + i for i in story.chapters]
        paragraphs += story.paragraphs
        forms[story.form] += 1
        dropped.update(story.dropped)
    form = forms.most_common(1)[0][0] if forms else "novel"
    return Book(book_id, title or book_id, tuple(paragraphs), tuple(chapters), form, dropped=dropped)


def _natural(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """Return a sort key with 2 before 10 that is the same on every system."""
    pieces = re.split(r"(\d+)", path.name.lower())
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in pieces if p], path.name
