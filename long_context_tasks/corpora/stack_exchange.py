"""Streaming reader of Stack Exchange data dumps (``Posts.xml``) and of posts in JSON Lines.

A dump can be 100 GB, so nothing here holds more of it than a few hundred kilobytes: :func:`build_index` makes one
pass and keeps numbers only (some 40 bytes a post), :func:`read_bodies` makes a second one and gives the texts of the
posts that are wanted. Files may be plain, ``.gz`` or ``.7z``; a JSON Lines file has one object a line with the names
of the dump's attributes (``Id``, ``PostTypeId``, ``Body`` ...). See the dump's own description of ``Posts.xml``.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from long_context_tasks.corpora._post_rows import InvalidPost, Row, rows
from long_context_tasks.schema import InputError

__all__ = ["Answers", "PostIndex", "Questions", "build_index", "parse_tags", "read_bodies", "read_posts"]

QUESTION = 1
ANSWER = 2
"""Values of ``PostTypeId``; the other types (wikis, nominations ...) are counted and left out."""

# Dates are parsed in batches: one call of NumPy for many rows is ten times faster than one call for each.
_DATE_BATCH = 8192
_BAD_DATE = re.compile(r"(?!\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?Z?$)")


@dataclass(frozen=True, eq=False)
class Questions:
    """Columns of all questions of a dump, in file order; n questions.

    Attributes:
        id: int64 (n,).
        accepted: int64 (n,); Id of the answer that the asker accepted, 0 when there is none.
        score: int32 (n,); votes for minus votes against, 0 when missing.
        views: int64 (n,); 0 when missing.
        created: datetime64[ms] (n,); NaT when missing.
        tag_offsets: int64 (n + 1,); the tags of question i are ``tag_ids[tag_offsets[i]:tag_offsets[i + 1]]``.
        tag_ids: int32; positions in :attr:`PostIndex.tags`.
    """

    id: npt.NDArray[np.int64]
    accepted: npt.NDArray[np.int64]
    score: npt.NDArray[np.int32]
    views: npt.NDArray[np.int64]
    created: npt.NDArray[np.datetime64]
    tag_offsets: npt.NDArray[np.int64]
    tag_ids: npt.NDArray[np.int32]

    def tags(self, i: int) -> npt.NDArray[np.int32]:
        """Tag ids of the i-th question."""
        return self.tag_ids[self.tag_offsets[i] : self.tag_offsets[i + 1]]

    def __len__(self) -> int:
        """Number of posts."""
        return len(self.id)


@dataclass(frozen=True, eq=False)
class Answers:
    """Columns of all answers of a dump, in file order; m answers.

    Attributes:
        id: int64 (m,).
        parent: int64 (m,); Id of the question, 0 when missing.
        score: int32 (m,); 0 when missing.
        created: datetime64[ms] (m,); NaT when missing.
    """

    id: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    score: npt.NDArray[np.int32]
    created: npt.NDArray[np.datetime64]

    def __len__(self) -> int:
        """Number of posts."""
        return len(self.id)


@dataclass(frozen=True, eq=False)
class PostIndex:
    """Everything of a dump but its texts.

    Attributes:
        questions: Columns of the questions.
        answers: Columns of the answers.
        tags: Names of the tags, in the order of their first use; tag ids are positions in it.
        rows: Number of posts of every type.
    """

    questions: Questions
    answers: Answers
    tags: tuple[str, ...]
    rows: int


def read_posts(path: Path) -> Iterator[dict[str, str]]:
    """Yield the attributes of every post in file order, streaming.

    Raises:
        InputError: The file is missing, cut off, damaged or no dump of posts.
    """
    for row in rows(path):
        yield {name: value for name, value in row.items() if value is not None}


def read_bodies(path: Path, wanted: Container[int]) -> Iterator[tuple[int, str]]:
    """Yield ``(Id, HTML body)`` of the wanted posts in file order, streaming.

    A post without a body gives an empty text; a wanted Id that the file lacks gives nothing.

    Raises:
        InputError: As :func:`read_posts`; or an Id is no number.
    """
    for row in rows(path):
        post_id = _number(path, row, "Id")
        if post_id in wanted:
            yield post_id, row.get("Body") or ""


def build_index(path: Path, watch: Callable[[Iterator[Row]], Iterable[Row]] = iter) -> PostIndex:
    """Read a dump once and return its columns of numbers; the texts are not kept.

    Args:
        path: The dump.
        watch: Wraps the rows while they are read, for a progress bar.

    Raises:
        InputError: As :func:`read_posts`; or a number or a date of a row cannot be read; or an Id occurs twice.
    """
    build = _IndexBuilder(path)
    for row in watch(rows(path)):
        build.add(row)
    return build.finish()


def parse_tags(text: str) -> list[str]:
    """Split a ``Tags`` attribute, written ``<a><b>`` or, since 2024, ``|a|b|``.

    >>> parse_tags("<c#><.net>"), parse_tags("|c#|.net|"), parse_tags("")
    (['c#', '.net'], ['c#', '.net'], [])
    """
    separator = "|" if text.startswith("|") else "><"
    return [tag for tag in text.strip("<>|").split(separator) if tag]


class _IndexBuilder:
    """Growing columns; arrays of machine numbers, because lists of Python objects would take eight times the memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = 0
        self._q_id, self._q_accepted, self._q_views = array("q"), array("q"), array("q")
        self._q_score, self._tag_ids = array("i"), array("i")
        self._tag_offsets = array("q", [0])
        self._q_created = _Dates(path)
        self._a_id, self._a_parent, self._a_score = array("q"), array("q"), array("i")
        self._a_created = _Dates(path)
        self._tags: dict[str, int] = {}

    def add(self, row: Row) -> None:
        """Take over one row."""
        path = self._path
        self._rows += 1
        kind = _number(path, row, "PostTypeId")
        try:
            if kind == QUESTION:
                self._q_id.append(_number(path, row, "Id"))
                self._q_accepted.append(_number(path, row, "AcceptedAnswerId", 0))
                self._q_score.append(_number(path, row, "Score", 0))
                self._q_views.append(_number(path, row, "ViewCount", 0))
                self._q_created.append(row)
                tags = self._tags
                for tag in parse_tags(row.get("Tags") or ""):
                    self._tag_ids.append(tags.setdefault(tag, len(tags)))
                self._tag_offsets.append(len(self._tag_ids))
            elif kind == ANSWER:
                self._a_id.append(_number(path, row, "Id"))
                self._a_parent.append(_number(path, row, "ParentId", 0))
                self._a_score.append(_number(path, row, "Score", 0))
                self._a_created.append(row)
        except OverflowError as error:
            raise _bad_row(path, row, f"a number is too large ({error})") from error

    def finish(self) -> PostIndex:
        """The index of all rows that were added."""
        questions = Questions(
            id=np.frombuffer(self._q_id, np.int64),
            accepted=np.frombuffer(self._q_accepted, np.int64),
            score=np.frombuffer(self._q_score, np.int32),
            views=np.frombuffer(self._q_views, np.int64),
            created=self._q_created.finish(),
            tag_offsets=np.frombuffer(self._tag_offsets, np.int64),
            tag_ids=np.frombuffer(self._tag_ids, np.int32),
        )
        answers = Answers(
            id=np.frombuffer(self._a_id, np.int64),
            parent=np.frombuffer(self._a_parent, np.int64),
            score=np.frombuffer(self._a_score, np.int32),
            created=self._a_created.finish(),
        )
        ids = np.sort(np.concatenate([questions.id, answers.id]))
        twice = ids[1:][ids[1:] == ids[:-1]]
        if len(twice):
            raise InputError(
                f"{self._path}: post Id {twice[0]} occurs more than once. Use one site's dump, unchanged, per file."
            )
        return PostIndex(questions=questions, answers=answers, tags=tuple(self._tags), rows=self._rows)


class _Dates:
    """A growing column of creation dates."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pending: list[str] = []
        self._done: list[npt.NDArray[np.datetime64]] = []

    def append(self, row: Row) -> None:
        text = row.get("CreationDate") or "NaT"
        if text != "NaT" and _BAD_DATE.match(text):
            raise _bad_row(
                self._path, row, f"CreationDate is {text!r}, not a date such as 2018-03-12T17:00:45.567"
            )
        self._pending.append(text.rstrip("Z"))
        if len(self._pending) >= _DATE_BATCH:
            self._flush()

    def finish(self) -> npt.NDArray[np.datetime64]:
        self._flush()
        return np.concatenate(self._done)

    def _flush(self) -> None:
        try:
            self._done.append(np.array(self._pending, dtype="datetime64[ms]"))
        except ValueError as error:
            raise InputError(
                f"{self._path}: a CreationDate cannot be read ({error}). Correct or remove it."
            ) from error
        self._pending.clear()


def _number(path: Path, row: Row, name: str, default: int | None = None) -> int:
    """An attribute as a whole number; ``default`` when it is missing and may be."""
    text = row.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError as error:
        problem = "is missing" if text is None else f"is {text!r}, not a whole number"
        raise _bad_row(path, row, f"{name} {problem}") from error


def _bad_row(path: Path, row: Any, problem: str) -> InvalidPost:
    return InvalidPost(path, row.sourceline, row.get("Id"), problem)
