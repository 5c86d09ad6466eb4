"""Streaming reader of Stack Exchange data dumps (``Posts.xml``) and of posts in JSON Lines.

A dump can be 100 GB, so nothing here holds more of it than a few hundred kilobytes: :func:`build_index` makes one
pass and keeps numbers only (some 40 bytes a post), :func:`read_bodies` makes a second one and gives the texts of the
posts that are wanted. Files may be plain, ``.gz`` or ``.7z``; a JSON Lines file has one object a line with the names
of the dump's attributes (``Id``, ``PostTypeId``, ``Body`` ...). See the dump's own description of ``Posts.xml``.
"""

from __future__ import annotations

import gzip
import json
import queue
import re
import threading
import zlib
from array import array
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from lxml import etree

from long_context_tasks.schema import InputError

# Chunks that wait between the thread that unpacks and the reader: a few, so that memory stays constant.
_WAITING = 8
_CHUNK = 1 << 18


class _Stopped(Exception):
    """The reader went away: stop unpacking."""


class _Pipe:
    """A bounded queue of unpacked bytes to the reading thread."""

    def __init__(self) -> None:
        self.chunks: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self.stopped = threading.Event()

    def put(self, chunk: bytes | None) -> None:
        while True:
            if self.stopped.is_set():
                raise _Stopped
            try:
                self.chunks.put(chunk, timeout=0.2)
            except queue.Full:
                continue
            return


def _extract(path: Path, member: str, pipe: _Pipe) -> None:
    import py7zr
    from py7zr.io import Py7zIO, WriterFactory

    class Output(Py7zIO):
        """What py7zr writes the unpacked bytes into."""

        length = 0

        def write(self, s: bytes | bytearray) -> int:
            self.length += len(s)
            # py7zr's own pieces are megabytes where a file packs well.
            for start in range(0, len(s), _CHUNK):
                pipe.put(bytes(s[start : start + _CHUNK]))
            return len(s)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def flush(self) -> None:
            return

        def size(self) -> int:
            return self.length

    class Factory(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            return Output()

    with py7zr.SevenZipFile(path) as archive:
        names = archive.getnames()
        wanted = [name for name in names if PurePosixPath(name).name == member]
        if not wanted:
            shown = ", ".join(sorted(names)[:8]) or "nothing"
            raise InputError(
                f"{path}: the archive holds no {member} (it holds {shown}). Name the archive of a site's posts."
            )
        archive.extract(targets=wanted[:1], factory=Factory())


def read_member(path: Path, member: str) -> Iterator[bytes]:
    """Yield the content of the file called ``member`` inside the archive, in chunks.

    py7zr pushes and readers pull, so the unpacking runs in a thread of its own, at most a few chunks ahead. A reader
    that stops early stops the thread.

    Raises:
        InputError: The archive is damaged or holds no such file.
        OSError: The file cannot be read.
    """
    pipe = _Pipe()
    failures: list[Exception] = []

    def unpack() -> None:
        try:
            _extract(path, member, pipe)
            pipe.put(None)
        except _Stopped:
            return
        except Exception as error:  # handed to the reading thread, which sorts it out
            failures.append(error)
            try:
                pipe.put(None)
            except _Stopped:
                return

    thread = threading.Thread(target=unpack, name="lct-unpack", daemon=True)
    thread.start()
    try:
        while (chunk := pipe.chunks.get()) is not None:
            yield chunk
    finally:
        pipe.stopped.set()
        thread.join()
    for error in failures:
        if isinstance(error, (InputError, OSError)):
            raise error
        raise InputError(
            f"{path}: the 7z archive is cut off or damaged ({type(error).__name__}: {error}). Fetch it again."
        ) from error


_GZIP = b"\x1f\x8b"
_SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the unpacked content of ``path`` in chunks; at most a few of them are in memory at once.

    Raises:
        InputError: The file is missing, cannot be read, is cut off or damaged, or the archive has no ``Posts.xml``.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_SEVEN_ZIP))
        if head == _SEVEN_ZIP:
            yield from read_member(path, "Posts.xml")
            return
        with gzip.open(path) if head.startswith(_GZIP) else path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: the compressed file is cut off or damaged ({error}). Fetch it again."
        ) from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder. Name the Posts.xml, .gz, .7z or .jsonl file in it.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}). Check the path.") from error


_REMEDY = (
    "A Stack Exchange dump's Posts.xml (plain, .gz or .7z) or JSON Lines with the same names is expected."
)
# What may stand before the first row; a file that goes on longer without one is no dump of posts.
_LONGEST_PROLOG = 1 << 20
_ROOT = re.compile(rb"<([A-Za-z_][^\s/>]*)")
_NO_ROOT = re.compile(rb"<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>", re.DOTALL)
# Some exports name a DTD file (never loaded); declarations inside the file itself are refused.
_DECLARATIONS = re.compile(rb"<!DOCTYPE[^>\[]*\[|<!ENTITY")
_LONGEST_LINE = 1 << 26


class Row(Protocol):
    """One post: an lxml element or a :class:`JsonRow`. Valid until the next one is asked for."""

    @property
    def sourceline(self) -> Any:
        """Line of the file."""

    def get(self, name: str, /) -> str | None:
        """Return an attribute, None when the post lacks it."""

    def items(self) -> Any:
        """All attributes."""


class InvalidPost(InputError):
    """A row that cannot be used, with its line and Id."""

    def __init__(self, path: Path, line: int | None, post_id: str | None, problem: str) -> None:
        """Name the file, the line and the Id."""
        place = f"{path}, line {line}" + (f", row Id {post_id}" if post_id else "")
        super().__init__(f"{place}: {problem}. {_REMEDY}")


def rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a dump, streaming; each has ``Id`` and ``PostTypeId``.

    Raises:
        InputError: The file is missing, cut off, damaged, empty, or no dump of posts; or it declares
            entities (dumps have none, and they could blow up a small file to gigabytes).
    """
    chunks = read_chunks(path)
    head = b""
    for chunk in chunks:
        head += chunk
        if head.lstrip(b"\xef\xbb\xbf \t\r\n"):
            break
    found = False
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    source = _json_rows if start == b"{" else _xml_rows
    for row in source(path, chain([head], chunks)):
        if row.get("Id") is None or row.get("PostTypeId") is None:
            lacking = "Id" if row.get("Id") is None else "PostTypeId"
            raise InvalidPost(
                path, row.sourceline, row.get("Id"), f"the row has no {lacking}: these are no posts"
            )
        found = True
        yield row
    if not found:
        raise InputError(f"{path}: the file holds no posts. {_REMEDY}")


def _xml_rows(path: Path, chunks: Iterator[bytes]) -> Iterator[Row]:
    prolog = _checked_prolog(path, chunks)
    # Without huge_tree a single post may have 10 MB, and the parser's own guard against entity expansion stays on.
    parser: Any = etree.XMLPullParser(events=("end",), tag="row", resolve_entities=False, no_network=True)
    try:
        for chunk in chain([prolog], chunks):
            parser.feed(chunk)
            row = None
            for _, row in parser.read_events():
                yield row
            # The tree grows with every row: drop all but the last, which the parser still holds.
            if row is not None and (root := row.getparent()) is not None:
                row.attrib.clear()
                del root[:-1]
        parser.close()
    except etree.XMLSyntaxError as error:
        # The parser's message ends in a position of its own; the line is enough.
        text = str(error.msg or "the XML ends too early").split(", line ")[0]
        raise InputError(
            f"{path}, line {error.lineno}: the XML is cut off or damaged ({text}). Fetch or unpack the file again."
        ) from error


def _checked_prolog(path: Path, chunks: Iterator[bytes]) -> bytes:
    """Return everything up to and including the first chunk with a row, after a look at what stands before it."""
    prolog = b""
    for chunk in chunks:
        prolog += chunk
        if (end := prolog.find(b"<row")) >= 0 or len(prolog) > _LONGEST_PROLOG:
            break
    else:
        end = -1
    before = prolog[:end] if end >= 0 else prolog
    if _DECLARATIONS.search(before):
        raise InputError(f"{path}: the XML declares entities of its own, which is refused. {_REMEDY}")
    root = _ROOT.search(_NO_ROOT.sub(b"", before))
    if root is None or root[1] != b"posts":
        name = f"its root is <{root[1].decode('utf-8', 'replace')[:40]}>" if root else "it is no XML"
        raise InputError(f"{path}: not a dump of posts ({name}, not <posts>). {_REMEDY}")
    return prolog


class JsonRow(dict[str, str]):
    """One line of a JSON Lines file, with values as text."""

    __slots__ = ("sourceline",)
    sourceline: int


def _json_rows(path: Path, chunks: Iterator[bytes]) -> Iterator[Row]:
    for number, line in enumerate(_lines(path, chunks), 1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if not text:
            continue
        try:
            post = json.loads(text)
        except ValueError as error:
            raise InvalidPost(path, number, None, f"the line is no JSON ({error})") from error
        if not isinstance(post, dict):
            raise InvalidPost(path, number, None, "the line is no JSON object")
        row = JsonRow()
        row.sourceline = number
        for name, value in post.items():
            if isinstance(value, list):
                row[name] = "".join(f"<{item}>" for item in value)
            elif value is not None:
                row[name] = str(value)
        yield row


def _lines(path: Path, chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *complete, rest = (rest + chunk).split(b"\n")
        yield from complete
        if len(rest) > _LONGEST_LINE:
            raise InputError(f"{path}: a line is longer than {_LONGEST_LINE >> 20} MB. {_REMEDY}")
    if rest:
        yield rest


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
        """Return the index of all rows that were added."""
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
    """Return an attribute as a whole number; ``default`` when it is missing and may be."""
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
