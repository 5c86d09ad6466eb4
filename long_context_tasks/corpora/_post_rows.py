"""Rows of a forum dump: attributes of one post after the other, from XML or JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from lxml import etree

from long_context_tasks.corpora._post_files import read_chunks
from long_context_tasks.schema import InputError

__all__ = ["InvalidPost", "Row", "rows"]

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
        """An attribute, None when the post lacks it."""

    def items(self) -> Any:
        """All attributes."""


class InvalidPost(InputError):
    """A row that cannot be used, with its line and Id."""

    def __init__(self, path: Path, line: int | None, post_id: str | None, problem: str) -> None:
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
    """Everything up to and including the first chunk with a row, after a look at what stands before it."""
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
